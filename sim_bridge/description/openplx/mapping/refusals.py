"""Scene parts without simulation, reported by name and line."""

from __future__ import annotations

import math

from sim_bridge.description.numbers import LARGEST
from sim_bridge.description.openplx.objects import Object
from sim_bridge.description.report import Findings

# bundles whose omission would make a simulation wrong
REFUSED = (
    'DriveTrain.',
    'Vehicles.',
    'Terrain.',
    'Sensors.',
    'Physics1D.',
    'Robotics.EndEffectors.',
)
_SHOWN = ('Visuals.', 'Physics.Optics.')
_BODY, _RIGID_BODY = 'Physics.Bodies.Body', 'Physics3D.Bodies.RigidBody'
_COMPOSITE = ('Robotics.Signals.RobotInput', 'Robotics.Signals.RobotOutput')
_VECTORS = ('Math.Vec2', 'Math.Vec3', 'Math.Quat', 'Math.Matrix3x3', 'Math.Matrix4x4')


def note_unsupported(root: Object, findings: Findings) -> None:
    """Report refused objects as errors and omitted ones as warnings; only the outermost ones."""
    waiting, great = [root], set[float]()
    while waiting:
        found = waiting.pop()
        names = (found.model.name, *found.model.bases)
        _check_numbers(found, great, findings)
        refused = next((name for name in names if name.startswith(REFUSED)), None)
        if refused:
            findings.error(
                'unsupported-bundle',
                found.place,
                f'{refused} is not simulated; the simulated bundles are '
                'Physics, Physics3D, Simulation and Robotics without end effectors',
            )
            continue
        if names[0].startswith(_SHOWN):
            findings.warning(
                'unsupported-bundle',
                found.place,
                f'{names[0]} is not shown, and has no effect on motion',
            )
            continue
        if _BODY in names and _RIGID_BODY not in names:
            findings.error(
                'not-a-rigid-body',
                found.place,
                f'{names[0]} has no mass properties; simulated bodies are {_RIGID_BODY}',
            )
            continue
        if any(name in _COMPOSITE for name in names):
            findings.warning(
                'unsupported-signal',
                found.place,
                f'{names[0]} is not supported as a whole; its parts are signals of their own',
            )
        waiting += [
            child
            for value in found.members.values()
            for child in (value if isinstance(value, tuple) else (value,))
            if isinstance(child, Object) and child.owner is found
        ]


def _check_numbers(found: Object, great: set[float], findings: Findings) -> None:
    """
    Report too large numbers, and infinite or undefined vector components.

    great: reported numbers; other numbers may be computed from them.
    """
    for name, value in found.members.items():
        if not isinstance(value, float) or abs(value) <= LARGEST or value in great:
            continue
        if math.isfinite(value):
            code, message = 'out-of-range', f'must be at most {LARGEST:g}'
        elif found.model.name in _VECTORS:
            code, message = 'not-finite', 'must be finite'
        else:
            # an infinite number means no limit
            continue
        great.add(value)
        findings.error(code, found.place_of(name), f'{found.path}.{name} is {value:g}: {message}')
