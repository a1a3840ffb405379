"""An axis of a joint: its coordinate, its motor, its stops, and what else acts along it."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from sim_bridge.engine.data import model as engine
from sim_bridge.foundation.arrays import FloatArray, Number, Vector
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, StateError
from sim_bridge.foundation.validation import finite_number, one_of
from sim_bridge.robots.joints.joint_backend import JointBackend
from sim_bridge.robots.joints.motor import CONTROL_NAMES, CONTROLS, FITTING, POSITION, VELOCITY
from sim_bridge.robots.joints.parameters import GREATEST, Parameter
from sim_bridge.robots.owners import ConstraintJoint, Joint


class Axis(DeclaredAttributes):
    """
    One coordinate of a joint, with its motor, stops, friction, damper and spring.

    q, dq, ddq and u are numbers [rad or m; per s; per s²; N m or N]; setting one to anything but a
    finite number raises InvalidValueError. Angles count full turns. The effort u acts under any
    control.

    control: what the motor does.
        'effort': nothing.
        'velocity': holds `target_velocity`.
        'position': reaches `target_position` within two steps, at `target_velocity`, but no
        faster than `velocity_limit`, which limits nothing else.
        'servo': gives the effort kp (target_position - q) + kd (target_velocity - dq), computed
        implicitly and so stable for any gains.
    min_effort, max_effort: limits of the motor's effort; u, and the sum of both, are limited by
    `lower_effort_limit` and `effort_limit`. Setting `max_effort` or `effort_limit` sets the lower
    one to its negative; set that afterwards where it differs. Without a finite limit 'velocity'
    and 'position' give any effort needed, up to a stop.

    friction: Coulomb friction; setting it sets `back_friction`, that against motion backwards,
    too. Set the latter afterwards where it differs. bearing_friction: how much both grow per force
    that the joint bears across the axis: a coefficient of friction of a sliding axis, times the
    radius of the bearing of a turning one. Only axes of constraint joints can have it; others
    raise StateError.

    bounce: coefficient of restitution of a rigid stop, for velocities above 1e-3 rad/s or m/s.
    stop_cfm: 0 for a rigid stop, else with stop_erp ODE's parameters of a spring kp and a damper
    kd: ERP = h kp / (h kp + kd), CFM = 1 / (h kp + kd), with h the time step. stop_erp of a rigid
    stop: share of the overshoot that a step corrects.
    """

    __slots__ = ('joint', 'number', 'place', 'rows', 'backend')

    internal_names = DeclaredAttributes.internal_names | {
        'check_control',
        'place',
        'rows',
        'backend',
        'view',
        'write_target',
    }

    coordinates: ClassVar[tuple[int, int]] = (1, 1)
    """The numbers of position and of velocity coordinates."""

    damping = Parameter(
        'passive',
        engine.DAMPING,
        'a finite number of at least 0 [N m s/rad or N s/m]',
        0.0,
        GREATEST,
    )
    friction = Parameter(
        'passive',
        engine.FRICTION,
        'a number of at least 0, or inf to lock it [N m or N]',
        0.0,
        both=engine.BACK_FRICTION,
    )
    back_friction = Parameter(
        'passive', engine.BACK_FRICTION, 'a number of at least 0, or inf [N m or N]', 0.0
    )
    bearing_friction = Parameter(
        'passive',
        engine.BEARING,
        'a finite number of at least 0 [m or 1]',
        0.0,
        GREATEST,
        of_loops=True,
    )
    armature = Parameter(
        'passive', engine.ARMATURE, 'a finite number of at least 0 [kg m² or kg]', 0.0, GREATEST
    )
    stiffness = Parameter(
        'passive',
        engine.STIFFNESS,
        'a finite number of at least 0 [N m/rad or N/m]',
        0.0,
        GREATEST,
    )
    reference = Parameter(
        'passive', engine.REFERENCE, 'a finite number [rad or m]', -GREATEST, GREATEST
    )
    lower = Parameter(
        'limits',
        engine.LOWER,
        'a number, or -inf for none [rad or m]',
        maximum=GREATEST,
        other=('at most', engine.UPPER, 'upper'),
    )
    upper = Parameter(
        'limits',
        engine.UPPER,
        'a number, or inf for none [rad or m]',
        minimum=-GREATEST,
        other=('at least', engine.LOWER, 'lower'),
    )
    effort_limit = Parameter(
        'limits',
        engine.EFFORT,
        'a number of at least 0, or inf for none [N m or N]',
        0.0,
        opposite=engine.LOWER_EFFORT,
    )
    lower_effort_limit = Parameter(
        'limits',
        engine.LOWER_EFFORT,
        'a number of at most 0, or -inf for none [N m or N]',
        maximum=0.0,
    )
    velocity_limit = Parameter(
        'limits', engine.VELOCITY, 'a number of at least 0, or inf for none [rad/s or m/s]', 0.0
    )
    kp = Parameter(
        'motor', engine.GAIN_P, 'a finite number of at least 0 [N m/rad or N/m]', 0.0, GREATEST
    )
    kd = Parameter(
        'motor', engine.GAIN_D, 'a finite number of at least 0 [N m s/rad or N s/m]', 0.0, GREATEST
    )
    max_effort = Parameter(
        'motor',
        engine.MAX_EFFORT,
        'a number of at least 0, or inf for the effort limit alone [N m or N]',
        0.0,
        opposite=engine.MIN_EFFORT,
    )
    min_effort = Parameter(
        'motor',
        engine.MIN_EFFORT,
        'a number of at most 0, or -inf for the effort limit alone [N m or N]',
        maximum=0.0,
    )
    bounce = Parameter('stop', engine.BOUNCE, 'a restitution from 0 to 1', 0.0, 1.0)
    stop_erp = Parameter('stop', engine.ERP, 'a share from 0 to 1', 0.0, 1.0)
    stop_cfm = Parameter(
        'stop', engine.CFM, 'a finite number of at least 0 [rad/(N m s) or m/(N s)]', 0.0, GREATEST
    )

    def __init__(
        self,
        joint: Joint | ConstraintJoint,
        backend: JointBackend,
        number: int,
        place: str,
        rows: slice | None = None,
    ):
        """
        Show coordinate `number`, from 0, of a joint; joints make their axes.

        backend: the joint's. place: where it is, for messages. rows: the backend's rows that
        parameters are written to; only its own if None.
        """
        self.joint: Final = joint
        self.backend = backend
        self.number = number
        self.place = place
        self.rows = slice(number, number + 1) if rows is None else rows

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a pickle or a copy keeps: the joint, and the number."""
        return _axis_of, (self.joint, self.number)

    def __repr__(self) -> str:
        """Show the joint, position and velocity."""
        try:
            moving = f': q = {self.q:.6g}, dq = {self.dq:.6g}'
        except SimBridgeError:
            # the robot or the joint was removed
            moving = ''
        return f'<Axis of {self.place}{moving}>'

    @property
    def followed(self) -> str | None:
        """The name of the joint that it follows by a mimic law, if any."""
        return None if self.backend.mimic is None else self.backend.mimic.joint

    @property
    def is_linear(self) -> bool:
        """Whether it is a sliding axis; else it is a turning one."""
        return self.backend.is_linear(self.number)

    @property
    def direction(self) -> FloatArray:
        """
        (3,) unit vector along or about which it moves; world axes.

        Of an axis of an angular motor that is no Euler angle it can be set; what that is fixed on
        stays. Raises StateError for others, and InvalidValueError for no direction.
        """
        return self.backend.direction(self.number)

    @direction.setter
    def direction(self, value: Vector) -> None:
        self.backend.set_direction(self.number, value, self.place)

    @property
    def q(self) -> float:
        """
        Position [rad or m].

        Setting it raises StateError for a constraint joint, whose position follows from its links,
        unless it is an angular motor: angles about its axes count from what is set.
        """
        return float(self.backend.positions()[self.number])

    @q.setter
    def q(self, value: Number) -> None:
        self.backend.check_movable('q', self.place)
        self.backend.set_positions(self.rows, finite_number('q', value, self.place))

    @property
    def dq(self) -> float:
        """Velocity [rad/s or m/s]; set like `q`."""
        return float(self.backend.velocities()[self.number])

    @dq.setter
    def dq(self, value: Number) -> None:
        self.backend.check_movable('dq', self.place)
        self.backend.write('v', self.rows, finite_number('dq', value, self.place))

    @property
    def ddq(self) -> float:
        """
        Acceleration [rad/s² or m/s²] for the present state and efforts.

        For a constraint joint the efforts along its axes are their means over the last step.
        """
        return float(self.backend.accelerations()[self.number])

    @property
    def u(self) -> float:
        """Applied effort [N m or N] under any control; a step clamps it to the effort limit."""
        return float(self.backend.efforts()[self.number])

    @u.setter
    def u(self, value: Number) -> None:
        self.backend.set_efforts(self.rows, finite_number('u', value, self.place))

    # --- motor -----------------------------------------------------------------------------------

    @property
    def control(self) -> str:
        """
        The control mode of the motor: 'effort', 'velocity', 'position' or 'servo'; can be set.

        Setting it sets the target to the present position, at rest, so that nothing jumps. Raises
        InvalidValueError for another word, and for any mode but 'effort' on a joint that follows
        another by a mimic law.
        """
        return CONTROL_NAMES[int(self.backend.states('control')[self.number])]

    @control.setter
    def control(self, value: str) -> None:
        one_of('control', value, CONTROLS, self.place)
        followed = self.followed
        if followed is not None and value != 'effort':
            raise InvalidValueError(
                'control',
                value,
                f"'effort', since it follows joint {followed!r}, whose motor moves both",
                self.place,
            )
        with self.backend.change():
            self.backend.write('control', self.number, CONTROLS[value])
            self._stay()

    @property
    def target_position(self) -> float:
        """
        Target of 'position' and 'servo' control [rad or m]; can be set, beyond stops too.

        Setting it raises StateError under other control, and InvalidValueError for a value that is
        not a finite number.
        """
        return float(self.backend.states('target')[self.number, POSITION])

    @target_position.setter
    def target_position(self, value: Number) -> None:
        number = finite_number('target_position', value, self.place)
        self.check_control(POSITION, 'target_position')
        self.write_target(POSITION, number)

    @property
    def target_velocity(self) -> float:
        """Target velocity of all control but 'effort' [rad/s or m/s]; set like target_position."""
        return float(self.backend.states('target')[self.number, VELOCITY])

    @target_velocity.setter
    def target_velocity(self, value: Number) -> None:
        number = finite_number('target_velocity', value, self.place)
        self.check_control(VELOCITY, 'target_velocity')
        self.write_target(VELOCITY, number)

    @property
    def motor_effort(self) -> float:
        """Effort of the motor in the last step, without u [N m or N]."""
        return float(self.backend.states('motor')[self.number])

    @property
    def friction_effort(self) -> float:
        """Effort of Coulomb friction in the last step [N m or N]."""
        return float(self.backend.states('friction')[self.number])

    @property
    def stop_effort(self) -> float:
        """
        Effort of a stop, or of `robot.hold`, in the last step [N m or N].

        A holding effort is assigned to friction up to its limit, then to the stop, then to the
        motor.
        """
        states, number = self.backend.states, self.number
        return float(states('force')[number] - states('friction')[number])

    def drop_command(self) -> None:
        """Clear the effort u, and set the motor's target to the present position, at rest."""
        with self.backend.change():
            self.u = 0.0
            self._stay()

    def view(self, what: str) -> FloatArray | None:
        """
        Return (1,) 'q', 'dq' or 'motor_effort' in the world's arrays; None where it is computed.

        q of a constraint joint is that after the last step. The view is valid until the layout of
        the world changes.
        """
        return self.backend.view(what, self.number)

    # --- for those who command several axes ------------------------------------------------------

    def check_control(self, column: int, what: str) -> None:
        """Raise StateError if the control does not use the target POSITION or VELOCITY."""
        if not FITTING[column, self.backend.states('control')[self.number]]:
            fitting = [name for name, number in CONTROLS.items() if FITTING[column, number]]
            raise StateError(
                f'{what} of {self.place}: its control is {self.control!r}, which does not go for '
                f'it. Set its control to {" or ".join(map(repr, fitting))} first'
            )

    def write_target(self, column: int, value: float) -> None:
        """Set the target POSITION or VELOCITY to a checked value."""
        self.backend.write('target', (self.number, column), value)

    def _stay(self) -> None:
        """Set the target of an active motor to the present position, at rest."""
        place = 0.0 if self.control == 'effort' else self.q
        self.backend.write('target', self.number, (place, 0.0))
        self.backend.write('course', self.number, 0.0)


def _axis_of(joint: Joint | ConstraintJoint, number: int) -> Axis:
    return joint.axes[number]
