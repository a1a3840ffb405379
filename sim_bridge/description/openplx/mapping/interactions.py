"""Effects along mate axes: ranges, springs, motors, friction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
import math
from typing import cast

import numpy as np

from sim_bridge.description.model import JointDynamics, JointLimits
from sim_bridge.description.openplx.assembly import (
    Assembly,
    body_of,
    connectors_of,
    coordinates,
    Mate,
    world_pose,
)
from sim_bridge.description.openplx.mapping.laws import damping_of, stiffness_of
from sim_bridge.description.openplx.mapping.records import AxisOf, AxisSettings, Motor
from sim_bridge.description.openplx.objects import Object
from sim_bridge.description.report import Findings

ONE_DOF = 'Physics.Interactions.Interaction1DOF'
_I = 'Physics3D.Interactions.'
_FRICTION = 'Physics.Interactions.Dissipation.'
# whether each mate's axes slide, in order
AXES: Mapping[str, tuple[bool, ...]] = {
    'hinge': (False,),
    'prismatic': (True,),
    'cylindrical': (True, False),
}
# friction members in mates, for each axis
_FRICTIONS = {
    'hinge': ('friction',),
    'prismatic': ('friction',),
    'cylindrical': ('friction_translational', 'friction_rotational'),
}
# tolerance for two lines to count as one axis: angle sine, and metres
_SAME = 1e-6


@dataclass
class _Acting:
    """Effects found along an axis."""

    lower: float = -math.inf
    upper: float = math.inf
    stop: tuple[float, float] | None = None
    springs: list[tuple[str, float, float, float]] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    motors: list[Motor] = field(default_factory=list)
    friction: float = 0.0
    back_friction: float = 0.0
    bearing: float = 0.0
    damping: float = 0.0
    effort: float = 0.0
    efforts: list[tuple[str, float, float]] = field(default_factory=list)


def axis_settings(
    assembly: Assembly, root: Object, findings: Findings
) -> tuple[dict[str, tuple[AxisSettings, ...]], dict[str, AxisOf]]:
    """
    Return the effects along each mate's axes, and each interaction's axis.

    Both by path; the axes name mates by path too. Interactions without simulation are reported by
    name. Interactions disabled initially are included as if enabled, except those that would be
    merged with others.
    """
    acting = {mate.path: [_Acting() for _ in AXES.get(mate.kind, ())] for mate in assembly.mates}
    for mate in assembly.mates:
        members = _FRICTIONS.get(mate.kind, ())
        for own, member in zip(acting[mate.path], members, strict=True):
            _add_friction(own, mate.source, member, findings)
    found = {}
    disabled: list[tuple[_Acting, _Acting]] = []
    for each in root.walk():
        if not each.is_a(ONE_DOF):
            continue
        add, is_linear = next(
            ((add, linear) for name, (add, linear) in _KINDS.items() if each.is_a(name)),
            (None, False),
        )
        if add is None:
            findings.error(
                'unsupported-interaction',
                each.place,
                'no interaction of model '
                f'{each.model.name!r} is simulated; known are {", ".join(_KINDS)}',
            )
            continue
        axis = _axis_of(each, is_linear, assembly, findings)
        if axis is not None:
            found[each.path] = axis
            own = acting[axis.joint][axis.number]
            if each['enabled']:
                add(own, each, axis, findings)
            else:
                alone = _Acting()
                add(alone, each, axis, findings)
                disabled.append((own, alone))
    # servos first: a constant effort cannot be told apart from them afterwards
    for own, alone in sorted(disabled, key=lambda each: not each[1].motors):
        _add_disabled(own, alone)
    return {path: tuple(map(_settings, several)) for path, several in acting.items()}, found


def _axis_of(
    thing: Object, is_linear: bool, assembly: Assembly, findings: Findings
) -> AxisOf | None:
    """Return an interaction's mate axis; None, with an error, if there is none."""
    pair = connectors_of(thing, findings)
    if pair is None:
        return None
    bodies = [body_of(connector) for connector in pair]
    for mate in assembly.mates:
        if is_linear not in AXES.get(mate.kind, ()):
            continue
        number = AXES[mate.kind].index(is_linear)
        given = mate.source['connectors']
        for sign, order in ((1.0, pair), (-1.0, pair[::-1])):
            if all(
                one is other
                for one, other in zip(cast(tuple[Object, ...], given), order, strict=True)
            ):
                return AxisOf(mate.path, number, sign)
    for mate in assembly.mates:
        sides = [side.body for side in mate.sides]
        if is_linear in AXES.get(mate.kind, ()) and sorted(sides) == sorted(bodies):
            axis = _along(mate, pair, sides == bodies, is_linear, assembly)
            if axis is not None:
                return axis
    kinds = 'slides' if is_linear else 'turns'
    findings.error(
        'no-axis',
        thing.place_of('connectors'),
        f'acts along the axis of a mate that {kinds}: no mate has these connectors',
    )
    return None


def _along(
    mate: Mate,
    pair: tuple[Object, Object],
    is_same_order: bool,
    is_linear: bool,
    assembly: Assembly,
) -> AxisOf | None:
    """Return the mate axis measured by other connectors on its bodies; None if it differs."""
    first, second = (world_pose(connector, assembly.poses) for connector in pair)
    at = assembly.poses[mate.sides[0].body] @ mate.sides[0].pose
    for frame in (first, second):
        away = at.inverse @ frame
        if np.linalg.norm(away.rotation[:2, 2]) > _SAME or (
            not is_linear and np.linalg.norm(away.position[:2]) > _SAME
        ):
            return None
    direction = float(np.sign((at.rotation.T @ first.rotation)[2, 2]))
    own = (mate.angle, mate.position)[is_linear]
    angle, position = coordinates(first.inverse @ second)
    # sign of the interaction's coordinate relative to the mate's
    sign = direction if is_same_order else -direction
    value = position if is_linear else angle
    return AxisOf(mate.path, AXES[mate.kind].index(is_linear), sign, own - sign * value)


# --- effects added to an axis --------------------------------------------------------------------


def _add_friction(acting: _Acting, mate: Object, member: str, findings: Findings) -> None:
    friction = cast(Object, mate[member])
    if friction.is_a(f'{_FRICTION}ConstantLimitFriction'):
        acting.friction += _not_negative(friction, 'limit', findings)
        acting.back_friction += _not_negative(friction, 'limit', findings)
    elif friction.is_a(f'{_FRICTION}AsymmetricLimitFriction'):
        # negative_limit may be written as a negative force
        acting.friction += _not_negative(friction, 'positive_limit', findings)
        acting.back_friction += abs(cast(float, friction['negative_limit']))
    elif friction.is_a(f'{_FRICTION}DryDepthScaledConstantNormalForceFriction'):
        findings.warning(
            'unsupported',
            mate.place_of(member),
            f'friction of model {friction.model.name} is '
            'not simulated along the axis of a mate: it is for contact points, which have a depth',
        )
    elif friction.is_a(f'{_FRICTION}DryConstantNormalForceFriction'):
        limit = _not_negative(friction, 'coefficient', findings) * _not_negative(
            friction, 'normal_force', findings
        )
        acting.friction += limit
        acting.back_friction += limit
    elif friction.is_a(f'{_FRICTION}DefaultDryFriction'):
        acting.bearing += _not_negative(friction, 'coefficient', findings)
    elif friction.is_a(f'{_FRICTION}ConstantViscousSurfaceFriction'):
        acting.damping += _not_negative(friction, 'viscosity', findings)
    elif friction.is_a(f'{_FRICTION}MechanicalDamping'):
        acting.damping += _not_negative(friction, 'damping_constant', findings)
    elif friction.model.name != f'{_FRICTION}DefaultFriction':
        findings.warning(
            'unsupported',
            mate.place_of(member),
            f'friction of model {friction.model.name} is not simulated along the axis of a mate',
        )


def _add_range(acting: _Acting, thing: Object, axis: AxisOf, findings: Findings) -> None:
    start, end = (cast(float, thing[name]) for name in ('start', 'end'))
    if not start <= end:
        findings.error(
            'lower-above-upper',
            thing.place_of('start'),
            f'must be at most end, which is {end:g}',
            'start',
            f'{start:g}',
        )
        return
    acting.ranges.append(thing.path)
    ends = sorted(axis.offset + axis.sign * value for value in (start, end))
    acting.lower, acting.upper = max(acting.lower, ends[0]), min(acting.upper, ends[1])
    if acting.lower > acting.upper:
        findings.error(
            'lower-above-upper', thing.place, 'does not overlap the other ranges of this axis'
        )
        acting.lower, acting.upper = -math.inf, math.inf
    if math.isfinite(cast(float, thing['max_effort'])):
        findings.warning(
            'unsupported',
            thing.place_of('max_effort'),
            'stops hold with any effort: its limit is not simulated',
            'max_effort',
        )
    stiffness = stiffness_of(thing['flexibility'])
    if math.isfinite(stiffness):
        own = stiffness, damping_of(thing['dissipation'], stiffness, findings)
        if acting.stop not in (None, own):
            findings.warning(
                'unsupported',
                thing.place_of('flexibility'),
                'the stops of an axis share one compliance: that of this range is used',
            )
        acting.stop = own


def _add_spring(acting: _Acting, thing: Object, axis: AxisOf, findings: Findings) -> None:
    stiffness = stiffness_of(thing['flexibility'])
    if not math.isfinite(stiffness):
        findings.error('no-stiffness', thing.place_of('flexibility'), 'a spring needs a stiffness')
        return
    damping = damping_of(thing['dissipation'], stiffness, findings)
    rest = 'angle' if 'angle' in thing.members else 'position'
    reference = axis.offset + axis.sign * cast(float, thing[rest])
    lower, upper = _efforts(thing, axis, findings)
    if math.isinf(lower) and math.isinf(upper):
        acting.springs.append((thing.path, stiffness, damping, reference))
    else:
        acting.motors.append(Motor(thing.path, stiffness, damping, reference, 0.0, lower, upper))


def _add_velocity_motor(acting: _Acting, thing: Object, axis: AxisOf, findings: Findings) -> None:
    speed = axis.sign * cast(float, thing['target_speed'])
    lower, upper = _efforts(thing, axis, findings)
    gain = _not_negative(thing, 'gain', findings)
    motor = Motor(thing.path, 0.0, gain, 0.0, speed, lower, upper, gain)
    if thing['zero_speed_as_spring']:
        stiffness = stiffness_of(thing['zero_speed_spring_flexibility'])
        damping = damping_of(thing['zero_speed_spring_dissipation'], stiffness, findings)
        motor = replace(motor, hold=(stiffness, damping))
        if speed == 0.0:
            # it holds its initial position, which is set once it is known
            motor = replace(motor, kp=stiffness, kd=damping, target_position=math.nan)
    acting.motors.append(motor)


def _add_effort(acting: _Acting, thing: Object, axis: AxisOf, findings: Findings) -> None:
    name = 'default_torque' if 'default_torque' in thing.members else 'default_force'
    effort = axis.sign * cast(float, thing[name])
    lower, upper = _efforts(thing, axis, findings)
    acting.effort += min(max(effort, lower), upper)
    acting.efforts.append((thing.path, lower, upper))


def _add_disabled(own: _Acting, alone: _Acting) -> None:
    """Add disabled effects that can be enabled later: a servo, or the only effect of its kind."""
    own.motors += alone.motors
    if alone.springs and not own.springs:
        own.springs = alone.springs
    elif alone.ranges and not own.ranges:
        own.ranges, own.stop = alone.ranges, alone.stop
        own.lower, own.upper = alone.lower, alone.upper
    elif alone.efforts and not own.efforts and not own.motors:
        own.efforts, own.effort = alone.efforts, alone.effort


_Add = Callable[[_Acting, Object, AxisOf, Findings], None]
_KINDS: Mapping[str, tuple[_Add, bool]] = {
    f'{_I}RotationalRange': (_add_range, False),
    f'{_I}LinearRange': (_add_range, True),
    f'{_I}TorsionSpring': (_add_spring, False),
    f'{_I}LinearSpring': (_add_spring, True),
    f'{_I}RotationalVelocityMotor': (_add_velocity_motor, False),
    f'{_I}LinearVelocityMotor': (_add_velocity_motor, True),
    f'{_I}TorqueMotor': (_add_effort, False),
    f'{_I}ForceMotor': (_add_effort, True),
}


def _settings(acting: _Acting) -> AxisSettings:
    """Return the combined effects; springs without limits add up to one."""
    stiffness = sum(spring[1] for spring in acting.springs)
    reference = 0.0
    if stiffness > 0.0:
        reference = sum(k * at for _, k, _, at in acting.springs) / stiffness
    damping = acting.damping + sum(spring[2] for spring in acting.springs)
    limits = JointLimits(acting.lower, acting.upper)
    if acting.efforts and not acting.motors:
        # a servo's effort limits are axis limits
        least = sum(lower for _, lower, _ in acting.efforts)
        most = sum(upper for *_, upper in acting.efforts)
        limits = replace(limits, effort=most, lower_effort=None if least == -most else least)
    return AxisSettings(
        limits,
        JointDynamics(
            damping,
            acting.friction,
            0.0,
            stiffness,
            reference,
            None if acting.back_friction == acting.friction else acting.back_friction,
            acting.bearing,
        ),
        acting.stop,
        tuple(acting.motors),
        acting.effort,
        tuple(acting.efforts),
        springs=tuple(spring[:3] for spring in acting.springs),
        ranges=tuple(acting.ranges),
    )


def _efforts(thing: Object, axis: AxisOf, findings: Findings) -> tuple[float, float]:
    """Return the least and the greatest effort along the mate's axis."""
    least, most = (cast(float, thing[name]) for name in ('min_effort', 'max_effort'))
    if not least <= most:
        findings.error(
            'lower-above-upper',
            thing.place_of('min_effort'),
            f'must be at most max_effort, which is {most:g}',
            'min_effort',
            f'{least:g}',
        )
        return -math.inf, math.inf
    if least > 0.0 or most < 0.0:
        findings.error(
            'effort-range',
            thing.place_of('min_effort'),
            f'the range of effort, {least:g} to {most:g}, must hold 0',
        )
        return -math.inf, math.inf
    return (least, most) if axis.sign > 0.0 else (-most, -least)


def _not_negative(thing: Object, name: str, findings: Findings) -> float:
    value = cast(float, thing[name])
    if value >= 0.0:
        return value
    findings.error('out-of-range', thing.place_of(name), 'must be at least 0', name, f'{value:g}')
    return 0.0
