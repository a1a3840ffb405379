"""Joint axis: coordinate, motor, stops, friction, damper and spring."""

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
    One joint coordinate, with its motor, stops, friction, damper and spring.

    q, dq, ddq and u are numbers [rad or m; per s; per s²; N m or N]; setting one to anything
    except a finite number raises InvalidValueError. Angles count full turns. The effort u acts in
    any control mode.

    control: the motor's control mode.
        'effort': no motor effort.
        'velocity': holds `target_velocity`.
        'position': reaches `target_position` within two steps, at `target_velocity`, no faster
        than `velocity_limit`. This limit affects no other mode.
        'servo': effort kp (target_position - q) + kd (target_velocity - dq), computed implicitly
        and therefore stable for any gains.
    min_effort, max_effort: motor effort limits. `lower_effort_limit` and `effort_limit`
    limit u, and the sum of u and motor effort. Setting `max_effort` or `effort_limit` sets the
    lower limit to its negative; set a different lower limit afterwards. Without a finite limit,
    'velocity' and 'position' use any effort needed, up to a stop.

    friction: Coulomb friction. Setting it also sets `back_friction`, the friction against backward
    motion; set a different `back_friction` afterwards. bearing_friction: growth of both per force
    that the joint bears across the axis; for a linear axis a friction coefficient, for a revolute
    axis the coefficient times the bearing radius. Only axes of constraint joints can have it;
    others raise StateError.

    bounce: restitution coefficient at a rigid stop, for velocities above 1e-3 rad/s or m/s.
    stop_cfm: 0 for a rigid stop; otherwise stop_cfm and stop_erp are ODE's parameters of a spring
    kp and a damper kd: ERP = h kp / (h kp + kd), CFM = 1 / (h kp + kd), with the time step h.
    stop_erp at a rigid stop: overshoot share corrected in one step.
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
    """Position and velocity coordinate counts."""

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
        'a number of at least 0, or inf for a locked axis [N m or N]',
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
        Make the view of coordinate `number` of a joint, from 0; only joints call this.

        backend: the joint's backend. place: robot, joint and axis name, for messages. rows: rows
        of the backend's arrays that writes change; only the axis' own row if None.
        """
        self.joint: Final = joint
        self.backend = backend
        self.number = number
        self.place = place
        self.rows = slice(number, number + 1) if rows is None else rows

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the arguments for pickles and copies: the joint and the axis number."""
        return _axis_of, (self.joint, self.number)

    def __repr__(self) -> str:
        """Show the joint, the position and the velocity."""
        try:
            moving = f': q = {self.q:.6g}, dq = {self.dq:.6g}'
        except SimBridgeError:
            # the robot or the joint was removed
            moving = ''
        return f'<Axis of {self.place}{moving}>'

    @property
    def followed(self) -> str | None:
        """Name of the joint followed by a mimic law; None if it follows none."""
        return None if self.backend.mimic is None else self.backend.mimic.joint

    @property
    def is_linear(self) -> bool:
        """Whether the axis is linear; otherwise it is revolute."""
        return self.backend.is_linear(self.number)

    @property
    def direction(self) -> FloatArray:
        """
        (3,) unit vector along or about which the axis moves; world axes.

        Can be set for an angular motor's independent axes (not Euler angles); the axis stays
        fixed to the same link or the world. Raises StateError for other axes, and
        InvalidValueError unless given three finite numbers that are not all 0.
        """
        return self.backend.direction(self.number)

    @direction.setter
    def direction(self, value: Vector) -> None:
        self.backend.set_direction(self.number, value, self.place)

    @property
    def q(self) -> float:
        """
        Position [rad or m].

        Setting it raises StateError for constraint joints, whose positions follow from their
        links, except for angular motors with independent axes: their angles count on from the
        value set.
        """
        return float(self.backend.positions()[self.number])

    @q.setter
    def q(self, value: Number) -> None:
        self.backend.check_movable('q', self.place)
        self.backend.set_positions(self.rows, finite_number('q', value, self.place))

    @property
    def dq(self) -> float:
        """Velocity [rad/s or m/s]; settable like `q`."""
        return float(self.backend.velocities()[self.number])

    @dq.setter
    def dq(self, value: Number) -> None:
        self.backend.check_movable('dq', self.place)
        self.backend.write('v', self.rows, finite_number('dq', value, self.place))

    @property
    def ddq(self) -> float:
        """
        Acceleration [rad/s² or m/s²] for the current state and efforts.

        For a constraint joint, the efforts along its axes are means over the last step.
        """
        return float(self.backend.accelerations()[self.number])

    @property
    def u(self) -> float:
        """Applied effort [N m or N] in any control mode; steps clamp it to the effort limit."""
        return float(self.backend.efforts()[self.number])

    @u.setter
    def u(self, value: Number) -> None:
        self.backend.set_efforts(self.rows, finite_number('u', value, self.place))

    # --- motor -----------------------------------------------------------------------------------

    @property
    def control(self) -> str:
        """
        Control mode of the motor: 'effort', 'velocity', 'position' or 'servo'; can be set.

        Setting it sets the target to the current position, at rest, so nothing jumps. Raises
        InvalidValueError for another word, and for a mode other than 'effort' if the joint follows
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
                f"'effort': it follows joint {followed!r}, whose motor moves both",
                self.place,
            )
        with self.backend.change():
            self.backend.write('control', self.number, CONTROLS[value])
            self._stay()

    @property
    def target_position(self) -> float:
        """
        Target of 'position' and 'servo' control [rad or m]; can be set, also beyond stops.

        Setting it raises StateError in other control modes, and InvalidValueError unless given a
        finite number.
        """
        return float(self.backend.states('target')[self.number, POSITION])

    @target_position.setter
    def target_position(self, value: Number) -> None:
        number = finite_number('target_position', value, self.place)
        self.check_control(POSITION, 'target_position')
        self.write_target(POSITION, number)

    @property
    def target_velocity(self) -> float:
        """Target velocity in all modes except 'effort' [rad/s or m/s]; can be set."""
        return float(self.backend.states('target')[self.number, VELOCITY])

    @target_velocity.setter
    def target_velocity(self, value: Number) -> None:
        number = finite_number('target_velocity', value, self.place)
        self.check_control(VELOCITY, 'target_velocity')
        self.write_target(VELOCITY, number)

    @property
    def motor_effort(self) -> float:
        """Motor effort in the last step, without u [N m or N]."""
        return float(self.backend.states('motor')[self.number])

    @property
    def friction_effort(self) -> float:
        """Coulomb friction effort in the last step [N m or N]."""
        return float(self.backend.states('friction')[self.number])

    @property
    def stop_effort(self) -> float:
        """
        Effort from a stop, or from `robot.hold`, in the last step [N m or N].

        A holding effort is assigned to friction up to its limit, then to the stop, then to the
        motor.
        """
        states, number = self.backend.states, self.number
        return float(states('force')[number] - states('friction')[number])

    def drop_command(self) -> None:
        """Clear the effort u, and set the motor target to the current position, at rest."""
        with self.backend.change():
            self.u = 0.0
            self._stay()

    def view(self, what: str) -> FloatArray | None:
        """
        Return a view (1,) of 'q', 'dq' or 'motor_effort' in the world's arrays.

        None if the value is computed. q of a constraint joint is its position after the last step.
        The view is valid until the layout of the world changes.
        """
        return self.backend.view(what, self.number)

    # --- for commands to several axes ------------------------------------------------------------

    def check_control(self, column: int, what: str) -> None:
        """Raise StateError if the control mode does not use target POSITION or VELOCITY."""
        if not FITTING[column, self.backend.states('control')[self.number]]:
            fitting = [name for name, number in CONTROLS.items() if FITTING[column, number]]
            raise StateError(
                f'{what} of {self.place}: control mode {self.control!r} does not use it. '
                f'Set its control to {" or ".join(map(repr, fitting))} first'
            )

    def write_target(self, column: int, value: float) -> None:
        """Set the target POSITION or VELOCITY to a checked value."""
        self.backend.write('target', (self.number, column), value)

    def _stay(self) -> None:
        """Set an active motor's target to the current position, at rest."""
        place = 0.0 if self.control == 'effort' else self.q
        self.backend.write('target', self.number, (place, 0.0))
        self.backend.write('course', self.number, 0.0)


def _axis_of(joint: Joint | ConstraintJoint, number: int) -> Axis:
    return joint.axes[number]
