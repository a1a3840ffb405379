"""An axis of a joint: what it turns about or slides along, with all that acts there."""

from __future__ import annotations

from typing import ClassVar, Protocol, TYPE_CHECKING

import numpy as np

from sim_bridge.engine.data import model as engine
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, StateError
from sim_bridge.foundation.validation import finite_number
from sim_bridge.robots.joints.motor import CONTROL_NAMES, CONTROLS, FITTING, POSITION, VELOCITY
from sim_bridge.robots.joints.parameters import GREATEST, LowerStop, Parameter, UpperStop

if TYPE_CHECKING:
    from sim_bridge.robots.joints.seat import Seat


class JointOfAxis(Protocol):
    """The joint that an axis belongs to: a `Joint` or a `ConstraintJoint`."""

    name: str
    axes: tuple[Axis, ...]


class Axis(DeclaredAttributes):
    """
    A coordinate of a joint, and what drives and stops it beside the effort u, which always acts.

    q, dq, ddq, u are numbers [rad or m, and N m or N], which raise InvalidValueError where they
    are set to what is no finite number. Angles count their turns. velocity_limit holds what
    position control does, and nothing else.

    control: what the motor does.
        'effort': nothing.
        'velocity': keeps `target_velocity`.
        'position': goes to `target_position`, where it is after two steps, at `target_velocity`;
        no faster than `velocity_limit`.
        'servo': gives kp (target_position - q) + kd (target_velocity - dq), implicitly and so
        stable for any gains.
    max_effort: what the motor gives at most; with u it keeps to `effort_limit`. Where neither is
    finite, 'velocity' and 'position' give whatever it takes, and end at stops.

    bounce: share of a velocity above 1e-3 rad/s or m/s that a rigid stop gives back. stop_cfm: 0
    for a rigid stop; else stop_erp and it are ODE's: a spring kp and a damper kd with
    ERP = h kp / (h kp + kd) and CFM = 1 / (h kp + kd) for a time step of h. stop_erp of a rigid
    stop: share of an excess that a step takes back.
    """

    __slots__ = ('joint', 'number', 'place', 'rows', 'seat')

    internal_names = DeclaredAttributes.internal_names | {
        'check_control', 'place', 'rows', 'seat', 'write_target'}

    coordinates: ClassVar[tuple[int, int]] = (1, 1)
    """The numbers of position and of velocity coordinates."""

    damping = Parameter(
        'passive', engine.DAMPING, 'a finite number of at least 0 [N m s/rad or N s/m]', 0.0,
        GREATEST)
    friction = Parameter(
        'passive', engine.FRICTION, 'a number of at least 0, or inf to lock it [N m or N]', 0.0)
    armature = Parameter(
        'passive', engine.ARMATURE, 'a finite number of at least 0 [kg m² or kg]', 0.0, GREATEST)
    stiffness = Parameter(
        'passive', engine.STIFFNESS, 'a finite number of at least 0 [N m/rad or N/m]', 0.0,
        GREATEST)
    reference = Parameter(
        'passive', engine.REFERENCE, 'a finite number [rad or m]', -GREATEST, GREATEST)
    lower = LowerStop(
        'limits', engine.LOWER, 'a number, or -inf for none [rad or m]', maximum=GREATEST)
    upper = UpperStop(
        'limits', engine.UPPER, 'a number, or inf for none [rad or m]', minimum=-GREATEST)
    effort_limit = Parameter(
        'limits', engine.EFFORT, 'a number of at least 0, or inf for none [N m or N]', 0.0)
    velocity_limit = Parameter(
        'limits', engine.VELOCITY, 'a number of at least 0, or inf for none [rad/s or m/s]', 0.0)
    kp = Parameter(
        'motor', engine.GAIN_P, 'a finite number of at least 0 [N m/rad or N/m]', 0.0, GREATEST)
    kd = Parameter(
        'motor', engine.GAIN_D, 'a finite number of at least 0 [N m s/rad or N s/m]', 0.0,
        GREATEST)
    max_effort = Parameter(
        'motor', engine.MAX_EFFORT,
        'a number of at least 0, or inf for the effort limit alone [N m or N]', 0.0)
    bounce = Parameter('stop', engine.BOUNCE, 'a restitution from 0 to 1', 0.0, 1.0)
    stop_erp = Parameter('stop', engine.ERP, 'a share from 0 to 1', 0.0, 1.0)
    stop_cfm = Parameter(
        'stop', engine.CFM, 'a finite number of at least 0 [rad/(N m s) or m/(N s)]', 0.0,
        GREATEST)

    def __init__(
        self, joint: JointOfAxis, seat: Seat, number: int, place: str, rows: slice | None = None
    ):
        """
        Belong to a joint, as its coordinate `number` from 0; joints make their axes.

        seat: the joint's. place: where it is, for messages. rows: those of the seat that
        parameters are written to; if None, its own alone.
        """
        self.joint = joint
        self.seat = seat
        self.number = number
        self.place = place
        self.rows = slice(number, number + 1) if rows is None else rows

    def __repr__(self) -> str:
        """Show the joint, and how it moves."""
        try:
            moving = f': q = {self.q:.6g}, dq = {self.dq:.6g}'
        except SimBridgeError:
            # the robot, or the joint, was taken out of the world
            moving = ''
        return f'<Axis of {self.place}{moving}>'

    @property
    def followed(self) -> str | None:
        """The joint whose mimic the axis is, if any."""
        law = self.seat.mimic
        return None if law is None else law.joint

    @property
    def is_linear(self) -> bool:
        """Whether it slides; else it turns."""
        return self.seat.is_linear(self.number)

    @property
    def direction(self) -> np.ndarray:
        """(3,) unit vector along which, or about which, it moves; world."""
        return self.seat.direction(self.number)

    @property
    def q(self) -> float:
        """
        Position.

        Raises StateError where it is set for an axis of a joint that closes a loop, or yields: it
        is for the links to move.
        """
        return float(self.seat.positions()[self.number])

    @q.setter
    def q(self, value: float) -> None:
        self.seat.check_movable('q', self.place)
        self.seat.set_positions(self.rows, finite_number('q', value, self.place))

    @property
    def dq(self) -> float:
        """Velocity; raises StateError where it is set, as above."""
        return float(self.seat.velocities()[self.number])

    @dq.setter
    def dq(self, value: float) -> None:
        self.seat.check_movable('dq', self.place)
        self.seat.set_velocities(self.rows, finite_number('dq', value, self.place))

    @property
    def ddq(self) -> float:
        """
        Acceleration, at the present state under the present efforts.

        Where the joint closes a loop, or yields, under what acted along its axes, on average, in
        the last step.
        """
        return float(self.seat.accelerations()[self.number])

    @property
    def u(self) -> float:
        """Applied effort, whatever the control; a step clamps it to the limit."""
        return float(self.seat.efforts()[self.number])

    @u.setter
    def u(self, value: float) -> None:
        self.seat.set_efforts(self.rows, finite_number('u', value, self.place))

    # --- its motor -------------------------------------------------------------------------------

    @property
    def control(self) -> str:
        """
        How the motor drives the joint: 'effort', 'velocity', 'position' or 'servo'; to be set.

        What is selected begins without a jerk: the target is the present position, at rest. Raises
        InvalidValueError for another word, and for a motor on a joint that follows another one;
        StateError for a joint that is not a one-axis one.
        """
        return CONTROL_NAMES[int(self.seat.states('control')[self.number])]

    @control.setter
    def control(self, value: str) -> None:
        if not isinstance(value, str) or value not in CONTROLS:
            raise InvalidValueError(
                'control', value, ' or '.join(map(repr, CONTROLS)), self.place)
        followed = self.followed
        if followed is not None and value != 'effort':
            raise InvalidValueError(
                'control', value,
                f"'effort', since it follows joint {followed!r}, whose motor moves both",
                self.place)
        self.seat.states('control')[self.number] = CONTROLS[value]
        self._stay()

    @property
    def target_position(self) -> float:
        """
        Where 'position' and 'servo' control go [rad or m]; to be set, beyond stops too.

        Raises StateError under other control, and InvalidValueError for what is not finite.
        """
        return float(self.seat.states('target')[self.number, POSITION])

    @target_position.setter
    def target_position(self, value: float) -> None:
        number = finite_number('target_position', value, self.place)
        self.check_control(POSITION, 'target_position')
        self.write_target(POSITION, number)

    @property
    def target_velocity(self) -> float:
        """Velocity that all but 'effort' control go for [rad/s or m/s]; to be set, as above."""
        return float(self.seat.states('target')[self.number, VELOCITY])

    @target_velocity.setter
    def target_velocity(self, value: float) -> None:
        number = finite_number('target_velocity', value, self.place)
        self.check_control(VELOCITY, 'target_velocity')
        self.write_target(VELOCITY, number)

    @property
    def motor_effort(self) -> float:
        """What the motor gave in the last step, beside u [N m or N]."""
        return float(self.seat.states('motor')[self.number])

    @property
    def friction_effort(self) -> float:
        """What Coulomb friction gave in the last step [N m or N]."""
        return float(self.seat.states('friction')[self.number])

    @property
    def stop_effort(self) -> float:
        """
        What the stops, or `robot.hold`, gave in the last step [N m or N].

        Where several could have held the joint, friction did what it can, then a stop, and the
        motor the rest.
        """
        states, number = self.seat.states, self.number
        return float(states('force')[number] - states('friction')[number])

    def drop_command(self) -> None:
        """Clear the effort, and set the motor's target to the axis' present position."""
        self.u = 0.0
        self._stay()

    # --- for those who command several axes ------------------------------------------------------

    def check_control(self, column: int, what: str) -> None:
        """Raise StateError where the motor does not go for a target, POSITION or VELOCITY."""
        if not FITTING[column, self.seat.states('control')[self.number]]:
            fitting = [name for name, number in CONTROLS.items() if FITTING[column, number]]
            raise StateError(
                f'{what} of {self.place}: its control is {self.control!r}, which does not go for '
                f'it. Set its control to {" or ".join(map(repr, fitting))} first')

    def write_target(self, column: int, value: float) -> None:
        """Set the target POSITION or VELOCITY, which has been checked."""
        self.seat.states('target')[self.number, column] = value
        self.seat.wake()

    def _stay(self) -> None:
        """Set the target of an active motor to the axis' present position."""
        self.seat.states('target')[self.number] = (
            0.0 if self.control == 'effort' else self.q), 0.0
        self.seat.states('course')[self.number] = 0.0
        self.seat.wake()
