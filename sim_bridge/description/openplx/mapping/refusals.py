"""What of a scene is not simulated, by name and line."""

from __future__ import annotations

from sim_bridge.description.openplx.objects import Object
from sim_bridge.description.report import Findings

# bundles that a simulation here would be wrong without
_REFUSED = (
    'DriveTrain.', 'Vehicles.', 'Terrain.', 'Sensors.', 'Physics1D.', 'Robotics.EndEffectors.')
_SHOWN = ('Visuals.', 'Physics.Optics.')
_COMPOSITE = ('Robotics.Signals.RobotInput', 'Robotics.Signals.RobotOutput')


def note_unsupported(root: Object, findings: Findings) -> None:
    """Note what is refused as errors, and what is left out as warnings; each outermost object."""
    waiting = [root]
    while waiting:
        found = waiting.pop()
        names = (found.model.name, *found.model.bases)
        refused = next((name for name in names if name.startswith(_REFUSED)), None)
        if refused:
            findings.error(
                'unsupported-bundle', found.place, f'{refused} is not simulated: of the bundles '
                'Physics, Physics3D, Simulation and Robotics are, but for end effectors')
            continue
        if names[0].startswith(_SHOWN):
            findings.warning(
                'unsupported-bundle', found.place,
                f'{names[0]} is not shown, and has no effect on what moves')
            continue
        if any(name in _COMPOSITE for name in names):
            findings.warning('unsupported-signal', found.place,
                             f'{names[0]} is not sent or taken; its parts are, each by itself')
        waiting += [
            child for value in found.members.values()
            for child in (value if isinstance(value, tuple) else (value,))
            if isinstance(child, Object) and child.owner is found]
