"""The motor of an axis, its stops, and what they and friction gave in the last step."""

from __future__ import annotations

import numpy as np

from sim_bridge.engine.data import model as engine
from sim_bridge.engine.data.state import BY_EFFORT, BY_POSITION, BY_SERVO, BY_VELOCITY
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.foundation.validation import finite_vector
from sim_bridge.robots.joints.parameters import GREATEST, Parameter

CONTROLS = {
    'effort': BY_EFFORT, 'velocity': BY_VELOCITY, 'position': BY_POSITION, 'servo': BY_SERVO}
_NAMES = {number: name for name, number in CONTROLS.items()}

# columns of State.target, and which controls go for each, by their numbers
POSITION, VELOCITY = range(2)
FITTING = np.array([
    [number in going for number in range(len(CONTROLS))]
    for going in ({BY_POSITION, BY_SERVO}, {BY_VELOCITY, BY_POSITION, BY_SERVO})])


class Motor:
    """
    What drives and stops an axis beside the effort u, which always acts.

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

    @property
    def control(self) -> str:
        """
        How the motor drives the joint: 'effort', 'velocity', 'position' or 'servo'; to be set.

        What is selected begins without a jerk: the target is the present position, at rest. Raises
        InvalidValueError for another word, and for a motor on a joint that follows another one;
        StateError for a joint that is not a one-axis one.
        """
        return _NAMES[int(self.state_rows('control')[0])]

    @control.setter
    def control(self, value: str) -> None:
        control = self.state_rows('control')
        if not isinstance(value, str) or value not in CONTROLS:
            raise InvalidValueError(
                'control', value, ' or '.join(map(repr, CONTROLS)), self.place)
        followed = self.followed
        if followed is not None and value != 'effort':
            raise InvalidValueError(
                'control', value,
                f"'effort', since it follows joint {followed!r}, whose motor moves both",
                self.place)
        control[0] = CONTROLS[value]
        self.state_rows('target')[0] = (0.0 if value == 'effort' else self.q), 0.0
        self.wake()

    @property
    def target_position(self) -> float:
        """
        Where 'position' and 'servo' control go [rad or m]; to be set, beyond stops too.

        Raises StateError under other control, and InvalidValueError for what is not finite.
        """
        return float(self.state_rows('target')[0, POSITION])

    @target_position.setter
    def target_position(self, value: float) -> None:
        self._set_target(POSITION, 'target_position', value)

    @property
    def target_velocity(self) -> float:
        """Velocity that all but 'effort' control go for [rad/s or m/s]; to be set, as above."""
        return float(self.state_rows('target')[0, VELOCITY])

    @target_velocity.setter
    def target_velocity(self, value: float) -> None:
        self._set_target(VELOCITY, 'target_velocity', value)

    @property
    def motor_effort(self) -> float:
        """What the motor gave in the last step, beside u [N m or N]."""
        return float(self.state_rows('motor')[0])

    @property
    def friction_effort(self) -> float:
        """What Coulomb friction gave in the last step [N m or N]."""
        return float(self.state_rows('friction')[0])

    @property
    def stop_effort(self) -> float:
        """
        What the stops, or `robot.hold`, gave in the last step [N m or N].

        Where several could have held the joint, friction did what it can, then a stop, and the
        motor the rest.
        """
        return float(self.state_rows('force')[0] - self.state_rows('friction')[0])

    def drop_command(self) -> None:
        """Let no effort act, and the motor keep the axis where it is."""
        self.u = 0.0
        self.state_rows('target')[0] = (0.0 if self.control == 'effort' else self.q), 0.0
        self.wake()

    def check_control(self, column: int, what: str) -> None:
        """Raise StateError where the motor does not go for a target, POSITION or VELOCITY."""
        if not FITTING[column, CONTROLS[self.control]]:
            fitting = [name for name, number in CONTROLS.items() if FITTING[column, number]]
            raise StateError(
                f'{what} of {self.place}: its control is {self.control!r}, which does not go for '
                f'it. Set its control to {" or ".join(map(repr, fitting))} first')

    def _set_target(self, column: int, what: str, value: float) -> None:
        number = finite_vector(what, value, 1, self.place, 'a finite number')[0]
        self.check_control(column, what)
        self.state_rows('target')[0, column] = number
        self.wake()

    # --- what axes provide -----------------------------------------------------------------------

    place: str
    q: float
    u: float

    @property
    def followed(self) -> str | None:
        """The joint whose mimic the axis is, if any."""
        return None

    def state_rows(self, array: str) -> np.ndarray:
        """Return the view of the axis' rows of one of State's arrays by velocity."""
        raise NotImplementedError

    def wake(self) -> None:
        """Let what the axis moves be simulated, if it was asleep."""
        raise NotImplementedError
