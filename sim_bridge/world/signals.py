"""
An OpenPLX scene's inputs and outputs in a world, for controllers, by name.

They act on axes and bodies in the world and have no own state. Snapshots, copies and
world resets therefore include them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from sim_bridge.description.openplx.mapping.records import Motor, Signal
from sim_bridge.description.openplx.mapping.signals import TARGET_DISTANCE
from sim_bridge.foundation.arrays import Coordinates, Number, Vector
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import InvalidValueError, StateError, UnknownNameError
from sim_bridge.foundation.rotation import rpy_from_matrix
from sim_bridge.foundation.validation import finite_number, finite_vector, real_array, truth
from sim_bridge.robots.joints.axis import Axis
from sim_bridge.robots.joints.joint import ConstraintJoint
from sim_bridge.robots.link import Link
from sim_bridge.world.connectors import motion_of_connector
from sim_bridge.world.owners import OpenPlxScene
from sim_bridge.world.switches import company_of, ENABLE, is_driven, motor_of, set_gains, Switch

Reading = Coordinates
_Made = TypeVar('_Made', 'Input', 'Output')


class Input(DeclaredAttributes):
    """
    An input signal to a scene.

    size: 1 for a number, 2 for a range (minimum, maximum), 3 for a vector in world axes. unit:
    the value's unit; FLAG for true or false.
    """

    __slots__ = ('_place', 'signal', 'size', 'unit', 'write')
    # for values that `checked` returns
    internal_names = DeclaredAttributes.internal_names | {'checked', 'write'}

    def __init__(self, scene: OpenPlxScene, signal: Signal):
        """Create a scene's input for a signal."""
        self.signal = signal
        self.unit, self.size, prepare = _INPUTS[signal.kind]
        self._place = f'input {signal.name!r}'
        self.write: Callable[[np.ndarray], None] = prepare(scene, signal)

    @property
    def name(self) -> str:
        """The signal's name, with / between its parts."""
        return self.signal.name

    def set(self, value: Number | Vector) -> None:
        """
        Set the value; it acts from the next step on.

        Raises InvalidValueError and changes nothing for nonfinite values and for ranges
        without 0. A range's ends may be infinite.
        """
        self.write(self.checked(value))

    def checked(self, value: object) -> np.ndarray:
        """Return a value (size,) for `write`; raise InvalidValueError as in `set`."""
        if self.size == 2:
            return _checked_range(value, self._place, self.unit)
        if self.unit == FLAG:
            return np.array([float(truth('value', value, self._place))])
        if self.size == 1:
            return np.array([finite_number('value', value, self._place)])
        return finite_vector('value', value, 3, self._place)

    def __repr__(self) -> str:
        """Show the name, kind and unit."""
        return f'<Input {self.name!r}: {self.signal.kind} [{self.unit}]>'


class Output(DeclaredAttributes):
    """
    An output signal from a scene.

    size: 1 for a number, 2 for a range (minimum, maximum), 3 for a vector. unit: the value's
    value; FLAG for true or false.
    """

    __slots__ = ('_read', 'signal', 'size', 'unit')

    def __init__(self, scene: OpenPlxScene, signal: Signal):
        """Create a scene's output for a signal."""
        self.signal = signal
        self.unit, self.size, prepare = _OUTPUTS[signal.kind]
        self._read: Callable[[], Reading] = prepare(scene, signal)

    @property
    def name(self) -> str:
        """The signal's name, with / between its parts."""
        return self.signal.name

    def read(self) -> Reading:
        """
        Return the value for the current state: a float, a bool, or an array (size,).

        Motor, stop and friction efforts are from the last step.
        """
        return self._read()

    def source(self) -> tuple[np.ndarray, float, float] | None:
        """
        Return a source number view (1,), an offset and a sign.

        The value is sign * (number - offset); the view is as from `Axis.view`. None for computed
        values, which have no source number.
        """
        read = self._read
        if not isinstance(read, _Number):
            return None
        view = read.axis.view(read.what)
        return None if view is None else (view, read.offset, read.sign)

    def __repr__(self) -> str:
        """Show the name, kind and unit."""
        return f'<Output {self.name!r}: {self.signal.kind} [{self.unit}]>'


def inputs_of(scene: OpenPlxScene, signals: tuple[Signal, ...]) -> Mapping[str, Input]:
    """
    Return a scene's inputs by name.

    Inputs without effect are left out: velocities of bodies held by a joint, enable inputs of
    mates that became tree joints, and distances of zero, whose joints are not distance joints.
    """
    return MappingProxyType(
        {
            each.name: each
            for each in _present(scene, Input, (s for s in signals if s.is_input))
            if _acts(scene, each.signal)
        }
    )


def _acts(scene: OpenPlxScene, signal: Signal) -> bool:
    """Return whether an input has an effect in the world."""
    if signal.model == 'RigidBody':
        return not _is_held(scene.link(signal.source))
    if signal.kind == ENABLE:
        return not Switch(scene, signal.source, signal.model).is_fixed
    return signal.model != 'Distance' or scene.joint(signal.source).type == 'distance'


def outputs_of(scene: OpenPlxScene, signals: tuple[Signal, ...]) -> Mapping[str, Output]:
    """Return all outputs of a scene by name, enabled for sending or not."""
    return MappingProxyType(
        {
            each.name: each
            for each in _present(scene, Output, (s for s in signals if not s.is_input))
        }
    )


def _present(
    scene: OpenPlxScene, make: Callable[[OpenPlxScene, Signal], _Made], signals: Iterable[Signal]
) -> Iterator[_Made]:
    """Yield the signals, except those on robots removed from the world."""
    for each in signals:
        try:
            yield make(scene, each)
        except UnknownNameError:
            if scene.is_whole:
                raise


# --- inputs ------------------------------------------------------------------------------------

_Write = Callable[[np.ndarray], None]


def _target_position(scene: OpenPlxScene, signal: Signal) -> _Write:
    """Set a spring's rest position."""
    if signal.model == 'Distance':
        joint = scene.joint(signal.source)
        return lambda value: setattr(joint, 'distance', float(value[0]))
    axis, sign, offset = scene.axis(signal.source)
    is_motor = _motor(scene, signal) is not None
    is_one = is_motor or _company(scene, signal) == (signal.source,)
    name = 'target_position' if is_motor else 'reference'

    def rest(value: np.ndarray) -> None:
        if not is_one:
            raise StateError(
                f'input {signal.name!r}: several springs act along {axis.place} as one sum. '
                'Give them effort limits (min_effort, max_effort) to move one of them'
            )
        setattr(axis, name, offset + sign * float(value[0]))

    return rest


def _target_velocity(scene: OpenPlxScene, signal: Signal) -> _Write:
    """Set a motor's target velocity."""
    axis, sign, _ = scene.axis(signal.source)
    motor = _motor(scene, signal)

    def aim(value: np.ndarray) -> None:
        with axis.backend.change():
            turn(sign * float(value[0]))

    def turn(velocity: float) -> None:
        axis.target_velocity = velocity
        if motor is not None and motor.hold is not None:
            # a holding motor has a spring only at target velocity 0
            set_gains(axis, motor, is_driven(axis))

    return aim


def _company(scene: OpenPlxScene, signal: Signal) -> tuple[str, ...]:
    """Return the paths of all interactions merged along the axis with the signal's own."""
    return company_of(scene.settings(signal.source), signal.model)


def _effort(scene: OpenPlxScene, signal: Signal) -> _Write:
    """Set a torque or force motor's effort."""
    axis, sign, _ = scene.axis(signal.source)
    (lower, upper) = next(
        (each[1:] for each in scene.settings(signal.source).efforts if each[0] == signal.source),
        (0.0, 0.0),
    )
    is_there = signal.source in _company(scene, signal)

    def push(value: np.ndarray) -> None:
        if not is_there:
            raise StateError(
                f'input {signal.name!r}: {signal.source} is disabled and cannot be enabled, '
                f'because other interactions act along {axis.place}'
            )
        axis.u = min(max(sign * float(value[0]), lower), upper)

    return push


def _effort_range(scene: OpenPlxScene, signal: Signal) -> _Write:
    """Set a motor's minimum and maximum effort."""
    axis, sign, _ = scene.axis(signal.source)

    def limit(value: np.ndarray) -> None:
        least, most = value if sign > 0.0 else -value[::-1]
        with axis.backend.change():
            axis.max_effort = max(most, 0.0)
            axis.min_effort = min(least, 0.0)

    return limit


def _base_velocity(scene: OpenPlxScene, signal: Signal, is_linear: bool) -> _Write:
    """Set the centre-of-mass velocity or a free body's angular velocity."""
    link = scene.link(signal.source)
    robot = link.robot

    def move(value: np.ndarray) -> None:
        if _is_held(link):
            raise StateError(f'input {signal.name!r}: a joint holds body {signal.source!r} now')
        arm = link.wc - link.p
        w = link.w if is_linear else value
        v = value if is_linear else link.v + np.cross(link.w, arm)
        robot.set_base_velocity(v - np.cross(w, arm), w)

    return move


def _is_held(link: Link) -> bool:
    return link.parent is not None or link.robot.fixed_base


def _enabling(scene: OpenPlxScene, signal: Signal) -> _Write:
    """Enable or disable an interaction."""
    switch = Switch(scene, signal.source, signal.model)
    return lambda value: switch.set(bool(value[0]))


FLAG = 'true or false'

_INPUTS: Mapping[str, tuple[str, int, Callable[[OpenPlxScene, Signal], _Write]]] = {
    'AngleInput': ('rad', 1, _target_position),
    'Position1DInput': ('m', 1, _target_position),
    'AngularVelocity1DInput': ('rad/s', 1, _target_velocity),
    'LinearVelocity1DInput': ('m/s', 1, _target_velocity),
    'Torque1DInput': ('N m', 1, _effort),
    'Force1DInput': ('N', 1, _effort),
    'TorqueRangeInput': ('N m', 2, _effort_range),
    'ForceRangeInput': ('N', 2, _effort_range),
    ENABLE: (FLAG, 1, _enabling),
    'LinearVelocity3DInput': ('m/s', 3, lambda scene, signal: _base_velocity(scene, signal, True)),
    'AngularVelocity3DInput': (
        'rad/s',
        3,
        lambda scene, signal: _base_velocity(scene, signal, False),
    ),
}


# --- outputs -----------------------------------------------------------------------------------

_Read = Callable[[], Reading]


@dataclass(frozen=True)
class _Number:
    """Reads sign * (number - offset) for 'q', 'dq' or 'motor_effort' of an axis."""

    axis: Axis
    what: str
    sign: float = 1.0
    offset: float = 0.0

    def __call__(self) -> float:
        number: float = getattr(self.axis, self.what)
        return self.sign * (number - self.offset)


def _coordinate(scene: OpenPlxScene, signal: Signal) -> _Read:
    """Return the position of a mate's axis, or a spring's rest position."""
    if signal.model == 'Distance':
        joint = scene.joint(signal.source)
        return lambda: float(np.linalg.norm(joint.anchor2 - joint.anchor))
    if signal.model not in _WITH_AXES:
        axis, sign, offset = scene.axis(signal.source)
        name = 'reference' if _motor(scene, signal) is None else 'target_position'
        return lambda: sign * (getattr(axis, name) - offset)
    return _Number(_axis_of_mate(scene, signal), 'q')


def _target_distance(scene: OpenPlxScene, signal: Signal) -> _Read:
    """Return a mate's target distance."""
    joint = scene.joint(signal.source)
    if not isinstance(joint, ConstraintJoint) or joint.type != 'distance':
        return lambda: 0.0
    return lambda: float(joint.distance)


def _speed(scene: OpenPlxScene, signal: Signal) -> _Read:
    """Return the velocity of a mate's axis, or its motor's target velocity."""
    if signal.model not in _WITH_AXES:
        axis, sign, _ = scene.axis(signal.source)
        return lambda: sign * axis.target_velocity
    return _Number(_axis_of_mate(scene, signal), 'dq')


def _effort_given(scene: OpenPlxScene, signal: Signal) -> _Read:
    """Return the effort of a motor, a spring, a stop or a distance mate along its axis."""
    if signal.model == 'Distance':
        return _pressure(scene, signal)
    axis, sign, _ = scene.axis(signal.source)
    if _motor(scene, signal) is not None:
        return _Number(axis, 'motor_effort', sign)
    if signal.source not in _company(scene, signal):
        return lambda: 0.0
    if signal.model.endswith('Range'):
        return lambda: sign * axis.stop_effort
    if signal.model.endswith('Spring'):
        return lambda: sign * (axis.stiffness * (axis.reference - axis.q) - axis.damping * axis.dq)
    return lambda: sign * axis.u


def _pressure(scene: OpenPlxScene, signal: Signal) -> _Read:
    """Return the force with which a distance mate pushes its connectors apart."""
    joint = scene.joint(signal.source)

    def press() -> float:
        along = joint.anchor2 - joint.anchor
        length = float(np.linalg.norm(along))
        return float(joint.reaction[0] @ along) / length if length > 0.0 else 0.0

    return press


def _range(scene: OpenPlxScene, signal: Signal) -> _Read:
    axis, sign, _ = scene.axis(signal.source)

    def limits() -> np.ndarray:
        ends = np.array([axis.min_effort, axis.max_effort])
        return ends if sign > 0.0 else -ends[::-1]

    return limits


def _reaction(scene: OpenPlxScene, signal: Signal, number: int) -> _Read:
    """Return a mate's force or torque on its first connector's body, world axes."""
    joint, *play = scene.parts(signal.source)
    body = signal.frames[0].body
    on_second = joint.link2 is not None and body and joint.link2.name == scene.link(body).name
    sign = 1.0 if on_second else -1.0
    return lambda: sign * sum((part.reaction[number] for part in play), joint.reaction[number])


def _of_body(scene: OpenPlxScene, signal: Signal, read: Callable[[Link], np.ndarray]) -> _Read:
    link = scene.link(signal.source)
    return lambda: read(link)


def _motion(
    what: str, of_body: Callable[[Link], np.ndarray]
) -> Callable[[OpenPlxScene, Signal], _Read]:
    """Return a reader for a quantity common to bodies and connectors."""
    return lambda scene, signal: (
        motion_of_connector(scene, signal, what)
        if signal.model == 'MateConnector'
        else _of_body(scene, signal, of_body)
    )


def _center_velocity(link: Link) -> np.ndarray:
    return link.v + np.cross(link.w, link.wc - link.p)


_OUTPUTS: Mapping[str, tuple[str, int, Callable[[OpenPlxScene, Signal], _Read]]] = {
    'AngleOutput': ('rad', 1, _coordinate),
    'Position1DOutput': ('m', 1, _coordinate),
    TARGET_DISTANCE: ('m', 1, lambda scene, signal: _target_distance(scene, signal)),
    'InteractionEnabledOutput': (
        FLAG,
        1,
        lambda scene, signal: Switch(scene, signal.source, signal.model).is_on,
    ),
    'AngularVelocity1DOutput': ('rad/s', 1, _speed),
    'LinearVelocity1DOutput': ('m/s', 1, _speed),
    'Torque1DOutput': ('N m', 1, _effort_given),
    'Force1DOutput': ('N', 1, _effort_given),
    'TorqueRangeOutput': ('N m', 2, _range),
    'ForceRangeOutput': ('N', 2, _range),
    'Force3DOutput': ('N', 3, lambda scene, signal: _reaction(scene, signal, 0)),
    'Torque3DOutput': ('N m', 3, lambda scene, signal: _reaction(scene, signal, 1)),
    'Position3DOutput': ('m', 3, _motion('p', lambda link: link.p)),
    'PositionOutput': ('m', 3, _motion('p', lambda link: link.p)),
    'RPYOutput': ('rad', 3, _motion('rpy', lambda link: rpy_from_matrix(link.R))),
    'LinearVelocity3DOutput': ('m/s', 3, _motion('v', _center_velocity)),
    'AngularVelocity3DOutput': ('rad/s', 3, _motion('w', lambda link: link.w)),
    'Acceleration3DOutput': ('m/s²', 3, _motion('dv', lambda link: link.dv)),
    'AngularAcceleration3DOutput': ('rad/s²', 3, _motion('dw', lambda link: link.dw)),
}

# mates with own axes; other interactions act along these axes
_WITH_AXES = ('Hinge', 'Prismatic', 'Cylindrical')


def _axis_of_mate(scene: OpenPlxScene, signal: Signal) -> Axis:
    """Return a mate's axis, linear or revolute according to the signal's kind."""
    is_linear = signal.kind.startswith(('Position', 'Linear'))
    axes = scene.joint(signal.source).axes
    return next(axis for axis in axes if axis.is_linear == is_linear)


def _motor(scene: OpenPlxScene, signal: Signal) -> Motor | None:
    """Return the source's servo; None if it has none."""
    return motor_of(scene.settings(signal.source), signal.source)


def _checked_range(value: object, place: str, unit: str) -> np.ndarray:
    expected = f'two numbers [{unit}], the first at most 0 and the second at least 0'
    ends = real_array('value', value, expected, place)
    if ends.shape != (2,) or not (ends[0] <= 0.0 <= ends[1]):
        raise InvalidValueError('value', value, expected, place)
    return ends
