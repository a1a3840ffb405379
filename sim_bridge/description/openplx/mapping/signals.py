"""Inputs and outputs in a scene, with their names from interfaces."""

from __future__ import annotations

from typing import cast

from sim_bridge.description.openplx.assembly import (
    Assembly,
    BODY,
    body_of,
    connectors_of,
    frame_path,
    world_pose,
)
from sim_bridge.description.openplx.mapping.records import Frame, Signal
from sim_bridge.description.openplx.objects import Object
from sim_bridge.description.report import Findings

_S = 'Physics.Signals.'
_INPUT, _OUTPUT, _INTERFACE = f'{_S}Input', f'{_S}Output', f'{_S}SignalInterface'
_CONNECTOR = 'Physics3D.Interactions.MateConnector'
_MATE = 'Physics3D.Interactions.Mate'
_ENABLE = f'{_S}EnableInteractionInput'

_MOTORS = ('RotationalVelocityMotor', 'LinearVelocityMotor')
_SPRINGS = ('TorsionSpring', 'LinearSpring')
_EFFORTS = ('TorqueMotor', 'ForceMotor')
_RANGES = ('RotationalRange', 'LinearRange')
_MATES = ('Hinge', 'Prismatic', 'Cylindrical', 'Ball', 'Lock', 'Distance')
_BODY, _POINT = ('RigidBody',), ('MateConnector',)

# kind for an output reporting the target distance instead of the measured one
TARGET_DISTANCE = 'TargetDistanceOutput'
# models with a signal for each kind; other combinations are not simulated
SOURCES: dict[str, tuple[str, ...]] = {
    'AngleInput': ('TorsionSpring',),
    'Position1DInput': ('LinearSpring', 'Distance'),
    'AngularVelocity1DInput': ('RotationalVelocityMotor',),
    'LinearVelocity1DInput': ('LinearVelocityMotor',),
    'Torque1DInput': ('TorqueMotor',),
    'Force1DInput': ('ForceMotor',),
    'TorqueRangeInput': ('RotationalVelocityMotor',),
    'ForceRangeInput': ('LinearVelocityMotor',),
    'EnableInteractionInput': (*_MATES, *_MOTORS, *_SPRINGS, *_EFFORTS, *_RANGES),
    'InteractionEnabledOutput': (*_MATES, *_MOTORS, *_SPRINGS, *_EFFORTS, *_RANGES),
    'LinearVelocity3DInput': _BODY,
    'AngularVelocity3DInput': _BODY,
    'AngleOutput': ('Hinge', 'Cylindrical', 'TorsionSpring'),
    'Position1DOutput': ('Prismatic', 'Cylindrical', 'LinearSpring', 'Distance'),
    'AngularVelocity1DOutput': ('Hinge', 'Cylindrical', 'RotationalVelocityMotor'),
    'LinearVelocity1DOutput': ('Prismatic', 'Cylindrical', 'LinearVelocityMotor'),
    'Torque1DOutput': (*_MOTORS, *_SPRINGS, *_EFFORTS, *_RANGES),
    'Force1DOutput': (*_MOTORS, *_SPRINGS, *_EFFORTS, *_RANGES, 'Distance'),
    'TorqueRangeOutput': ('RotationalVelocityMotor',),
    'ForceRangeOutput': ('LinearVelocityMotor',),
    'Force3DOutput': _MATES,
    'Torque3DOutput': _MATES,
    'Position3DOutput': _BODY,
    'RPYOutput': (*_BODY, *_POINT),
    'LinearVelocity3DOutput': (*_BODY, *_POINT),
    'AngularVelocity3DOutput': (*_BODY, *_POINT),
    'PositionOutput': _POINT,
    'Acceleration3DOutput': _POINT,
    'AngularAcceleration3DOutput': _POINT,
}


def signals_of(root: Object, assembly: Assembly, findings: Findings) -> tuple[Signal, ...]:
    """
    Return the simulated inputs and outputs, in definition order.

    Of the others, enabled outputs and signals named by an interface are reported.
    """
    renamed, enabled = _interfaces(root)
    found = []
    for each in root.walk():
        is_input = each.is_a(_INPUT)
        if not (is_input or each.is_a(_OUTPUT)):
            continue
        is_sent = not is_input and (bool(each['enabled']) or id(each) in enabled)
        signal = _signal(each, assembly)
        if signal is None:
            if is_sent or id(each) in renamed:
                findings.warning(
                    'unsupported-signal',
                    each.place,
                    f'{each.model.name} of {_source_model(each)} is not supported',
                )
            continue
        kind, source, model, frames = signal
        found.append(
            Signal(
                renamed.get(id(each), each.path.replace('.', '/')),
                each.path,
                kind,
                is_input,
                source,
                model,
                is_input or is_sent,
                frames,
                each.place.line,
            )
        )
    return tuple(found)


def switched_mates(root: Object) -> set[str]:
    """Return the paths of mates with an enable input in an interface, unfit for trees."""
    named = _interfaces(root)[0]
    return {
        source.path
        for each in root.walk()
        if id(each) in named
        and each.is_a(_ENABLE)
        and isinstance(source := each.members.get('source'), Object)
        and source.is_a(_MATE)
    }


def disabled_in(root: Object) -> dict[str, str]:
    """Return the model names for disabled mates and interactions, by path."""
    known = SOURCES[_ENABLE.rpartition('.')[2]]
    return {
        each.path: next(name for name in known if _is_a(each, name))
        for each in root.walk()
        if any(_is_a(each, name) for name in known) and not each['enabled']
    }


_Parts = tuple[str, str, str, tuple[Frame, ...]]


def _signal(signal: Object, assembly: Assembly) -> _Parts | None:
    """Return kind, source, its model and frames; None for a signal without simulation."""
    source = signal.members.get('source')
    names = (signal.model.name, *signal.model.bases)
    kind = next((end for name in names if (end := name.rpartition('.')[2]) in SOURCES), None)
    if kind is None or not isinstance(source, Object):
        return None
    model = next((name for name in SOURCES[kind] if _is_a(source, name)), None)
    if model is None:
        return None
    frames: tuple[Frame, ...] = ()
    if source.is_a(_CONNECTOR):
        others = (source, signal.members.get('relative_to'))
        frames = tuple(_frame(each, assembly) for each in others if isinstance(each, Object))
    elif source.is_a(_MATE):
        frames = tuple(_frame(each, assembly) for each in connectors_of(source, Findings()) or ())
    if signal is source.members.get('target_distance_output'):
        kind = TARGET_DISTANCE
    path = frame_path(source) if source.is_a(BODY) else source.path
    return kind, path, model, frames


def _frame(connector: Object, assembly: Assembly) -> Frame:
    """Return a connector on its body."""
    body, pose = body_of(connector), world_pose(connector, assembly.poses)
    return Frame(body, assembly.poses[body].inverse @ pose if body else pose)


def _is_a(source: Object, model: str) -> bool:
    """Whether an object has a Physics3D model with a name without namespace."""
    spaces = ('Interactions', 'Bodies')
    return any(source.is_a(f'Physics3D.{space}.{model}') for space in spaces)


def _source_model(signal: Object) -> str:
    source = signal.members.get('source')
    return source.model.name if isinstance(source, Object) else 'no source'


def _interfaces(root: Object) -> tuple[dict[int, str], set[int]]:
    """Return names by signal identity, and the identities for signals enabled by interfaces."""
    names: dict[int, str] = {}
    enabled = set()
    for each in root.walk():
        if not each.is_a(_INTERFACE):
            continue
        for member, value in each.members.items():
            if isinstance(value, Object) and (value.is_a(_INPUT) or value.is_a(_OUTPUT)):
                names.setdefault(id(value), f'{each.path}.{member}'.strip('.').replace('.', '/'))
                if cast(bool, each['enable']):
                    enabled.add(id(value))
    return names, enabled
