"""Common base for tree joints and constraint joints: coordinates, frames, forces."""

from __future__ import annotations

from collections.abc import Callable
import math
from operator import attrgetter
from typing import Any, ClassVar, NoReturn

import numpy as np

from sim_bridge.description.model import JointType, Mimic
from sim_bridge.foundation.arrays import Coordinates, FloatArray, Number, Vector
from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly, Settable
from sim_bridge.foundation.errors import SimBridgeError, StateError
from sim_bridge.foundation.validation import finite_number, finite_vector, unit_quaternion
from sim_bridge.robots.joints.axis import Axis
from sim_bridge.robots.joints.feedback import Feedback, feedback_of
from sim_bridge.robots.joints.joint_backend import JointBackend
from sim_bridge.robots.joints.tree import WITH_QUATERNION
from sim_bridge.robots.owners import Link, Robot, World


class _NoAxis:
    """Stand-in axis for a joint with no axis or several; any use raises StateError."""

    __slots__ = ('_message',)

    def __init__(self, message: str):
        """Store the message of the StateError."""
        object.__setattr__(self, '_message', message)

    def __getattr__(self, name: str) -> NoReturn:
        raise StateError(self._message)

    def __setattr__(self, name: str, value: object) -> None:
        raise StateError(self._message)


def _of_axis(name: str, slot: str = '_only') -> Any:
    """
    Return a joint property that delegates to the same property of its only axis.

    slot: the joint's attribute with the axis.
    """
    declared, own = getattr(Axis, name), attrgetter(slot)

    def set_it(joint: Any, value: object) -> None:
        setattr(own(joint), name, value)

    is_writable = not isinstance(declared, property) or declared.fset is not None
    return property(
        attrgetter(f'{slot}.{name}'), set_it if is_writable else None, doc=declared.__doc__
    )


class AnyJoint(DeclaredAttributes):
    """
    Common base for tree joints and constraint joints.

    A joint with a single axis has the properties of this axis; for other joints, see `axes`.
    """

    __slots__ = ('_of_balls', '_only', '_backend', 'axes', 'name')

    internal_names = DeclaredAttributes.internal_names | {'place'}

    is_tree: ClassVar[bool]
    """Whether the joint is part of a tree, and so exact; otherwise it is a constraint."""
    _backend: JointBackend
    name: str
    axes: tuple[Axis, ...]
    """Axes that the joint slides along or turns about; none for a ball joint in a tree."""

    # ball joints in trees have these too, with one value for all directions
    damping: Settable[float, Number] = _of_axis('damping', '_of_balls')
    armature: Settable[float, Number] = _of_axis('armature', '_of_balls')

    friction: Settable[float, Number] = _of_axis('friction')
    back_friction: Settable[float, Number] = _of_axis('back_friction')
    bearing_friction: Settable[float, Number] = _of_axis('bearing_friction')
    stiffness: Settable[float, Number] = _of_axis('stiffness')
    reference: Settable[float, Number] = _of_axis('reference')
    lower: Settable[float, Number] = _of_axis('lower')
    upper: Settable[float, Number] = _of_axis('upper')
    effort_limit: Settable[float, Number] = _of_axis('effort_limit')
    lower_effort_limit: Settable[float, Number] = _of_axis('lower_effort_limit')
    velocity_limit: Settable[float, Number] = _of_axis('velocity_limit')
    kp: Settable[float, Number] = _of_axis('kp')
    kd: Settable[float, Number] = _of_axis('kd')
    max_effort: Settable[float, Number] = _of_axis('max_effort')
    min_effort: Settable[float, Number] = _of_axis('min_effort')
    bounce: Settable[float, Number] = _of_axis('bounce')
    stop_erp: Settable[float, Number] = _of_axis('stop_erp')
    stop_cfm: Settable[float, Number] = _of_axis('stop_cfm')
    control: Settable[str, str] = _of_axis('control')
    target_position: Settable[float, Number] = _of_axis('target_position')
    target_velocity: Settable[float, Number] = _of_axis('target_velocity')
    motor_effort: ReadOnly[float] = _of_axis('motor_effort')
    friction_effort: ReadOnly[float] = _of_axis('friction_effort')
    stop_effort: ReadOnly[float] = _of_axis('stop_effort')
    is_linear: ReadOnly[bool] = _of_axis('is_linear')
    direction: Settable[FloatArray, Vector] = _of_axis('direction')

    def __init__(self, backend: JointBackend):
        """
        Make the view of a joint; only robots and worlds call this.

        backend: reads and writes the joint's values.
        """
        self._backend = backend
        self.name = backend.name
        count, place = backend.axis_count, backend.place
        own: Any = self
        self.axes = tuple(
            Axis(own, backend, number, place if count == 1 else f'{place}, axis {number}')
            for number in range(count)
        )
        if count == 1:
            self._only: Any = self.axes[0]
        else:
            has = 'its `axes` have' if count else 'only one-axis joints and axes have'
            self._only = _NoAxis(f'{place} is {self._type_name}: {has} such parameters')
        self._of_balls = self._only

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the arguments for pickles and copies: the robot or world, and the name."""
        link = self.link2 or self.link1
        assert link is not None, 'a joint between the world and the world'
        if self.key is None:
            return _joint_of, (link.robot, self.name)
        return _joint_of, (link.robot.world, self.key)

    def __repr__(self) -> str:
        """Show the type, name, robot or links, position and velocity."""
        what = f'{type(self).__name__} {self.name!r} ({self._type_name})'
        return f'<{what} of {self._backend.owner}{self._moving}>'

    type = ReadOnly[JointType | str](
        '_backend.type', 'Joint type; for a constraint, its kind in `World.add_joint`.'
    )
    key = ReadOnly[str | None](
        '_backend.key', "Name among the world's joints; None for a joint of a robot's tree."
    )
    place = ReadOnly[str]('_backend.place', 'Robot and joint name, for messages.')
    coordinates = ReadOnly[tuple[int, int]](
        '_backend.coordinates', 'Numbers of position and velocity coordinates.'
    )
    mimic = ReadOnly[Mimic | None](
        '_backend.mimic', 'Mimic law by which it follows another joint; None if it follows none.'
    )

    @property
    def followed(self) -> str | None:
        """Name of the joint followed by a mimic law; None if it follows none."""
        return None if self.mimic is None else self.mimic.joint

    # --- coordinates -----------------------------------------------------------------------------

    @property
    def q(self) -> Coordinates:
        """
        Position [rad or m]: a number for a one-axis joint, otherwise a coordinate array.

        Setting it raises InvalidValueError for values that are not finite. It raises StateError
        for constraint joints, whose positions follow from their links, except angular motors with
        independent axes: their angles count on from the value set.
        """
        return self._read(self._backend.positions)

    @q.setter
    def q(self, value: Number | Vector) -> None:
        self._backend.check_movable('q')
        values = self._checked('q', value, self.coordinates[0])
        if isinstance(values, np.ndarray) and self.type in WITH_QUATERNION:
            values[-4:] = unit_quaternion(values[-4:], self.place, 'quaternion of q')
        self._backend.set_positions(slice(None), values)

    @property
    def dq(self) -> Coordinates:
        """Velocity [rad/s or m/s]; a number or an array, settable like `q`."""
        return self._read(self._backend.velocities)

    @dq.setter
    def dq(self, value: Number | Vector) -> None:
        self._backend.check_movable('dq')
        self._backend.write('v', slice(None), self._checked('dq', value, self.coordinates[1]))

    @property
    def ddq(self) -> Coordinates:
        """
        Acceleration [rad/s² or m/s²] for the current state and efforts; a copy.

        For a constraint joint, the efforts along its axes are means over the last step.
        """
        values = self._backend.accelerations()
        return float(values[0]) if len(values) == 1 else values.copy()

    @property
    def u(self) -> Coordinates:
        """Applied effort [N m or N] in any control mode; steps clamp it to the effort limit."""
        return self._read(self._backend.efforts)

    @u.setter
    def u(self, value: Number | Vector) -> None:
        self._backend.set_efforts(slice(None), self._checked('u', value, self.coordinates[1]))

    # --- frames ----------------------------------------------------------------------------------

    link1 = ReadOnly[Link | None](
        '_backend.frames.first.link', 'First link (parent in a URDF); None for the world.'
    )
    link2 = ReadOnly[Link | None](
        '_backend.frames.second.link', 'Second link (child in a URDF); None for the world.'
    )

    @property
    def anchor(self) -> FloatArray:
        """(3,) joint frame position on the first link [m], world; named after ODE."""
        return self._backend.frames.first.pose[1].copy()

    @property
    def anchor2(self) -> FloatArray:
        """(3,) joint frame position on the second link [m], world."""
        return self._backend.frames.second.pose[1].copy()

    @property
    def axis(self) -> FloatArray:
        """(3,) unit vector along the first axis, fixed to the first link; world axes."""
        frames = self._backend.frames
        return frames.first.pose[0] @ frames.axis

    @property
    def axis2(self) -> FloatArray:
        """(3,) unit vector along the last axis, fixed to the second link; world axes."""
        frames = self._backend.frames
        return frames.second.pose[0] @ frames.axis2

    @property
    def rotation(self) -> FloatArray:
        """(3, 3) joint frame rotation on the first link; takes vectors to world axes."""
        return self._backend.frames.first.pose[0].copy()

    @property
    def error(self) -> tuple[float, float]:
        """
        Position error [m], and angular error's sine; 0 for a tree joint.

        Beyond a right angle, 2 minus the sine, so opposite axes have error 2.
        """
        return self._backend.error()

    # --- forces ----------------------------------------------------------------------------------

    @property
    def reaction(self) -> tuple[FloatArray, FloatArray]:
        """
        Force [N] and torque [N m] of the first link on the second, (3,) each, world axes.

        The torque is about `anchor2`. Both are for the current state and include applied efforts,
        motors, friction, stops and constraint forces. For a constraint joint, compliant rows and
        efforts along the axes are means over the last step; the whole reaction is a mean if
        contacts push its links or an impact struck them. Raises StateError for a robot's fixed
        joint without a force-torque sensor, because it is merged into one body.
        """
        return self._backend.reaction()

    def feedback(
        self, frame: str = 'world', about: str = 'center_of_mass', part: str = 'all'
    ) -> Feedback:
        """
        Return the joint's forces and torques on both links.

        frame: result axes; 'world', or 'joint' for the joint frame on the first link.
        about: torque reference point; each link's 'center_of_mass', or 'joint' for
            `anchor2`.
        part: 'all', or one part, along the axes: 'motor', 'stop' or 'friction'.

        Raises InvalidValueError for other words.
        """
        return feedback_of(self._backend, self.axes, frame, about, part)

    @property
    def potential_energy(self) -> float:
        """Potential energy in the axis springs [J]."""
        return sum(
            0.5 * axis.stiffness * (axis.q - axis.reference) ** 2
            for axis in self.axes
            if axis.stiffness > 0.0
        )

    # --- inside ----------------------------------------------------------------------------------

    def _read(self, values_of: Callable[[], FloatArray]) -> Coordinates:
        """Return one number for a single coordinate, otherwise the up-to-date array."""
        if self._backend.coordinates[1] > 1:
            self._backend.settle()
        values = values_of()
        return float(values[0]) if len(values) == 1 else values

    def _checked(self, what: str, value: object, size: int) -> FloatArray | float:
        """Return `size` finite numbers; raise InvalidValueError otherwise."""
        if size == 1:
            if type(value) is float and math.isfinite(value):
                # usual case, without a text for messages
                return value
            return finite_number(what, value, self.place)
        expected = '' if size else 'nothing: the joint has no coordinates'
        return finite_vector(what, value, size, self.place, expected)

    @property
    def _type_name(self) -> str:
        kind = self._backend.type
        return kind.value if isinstance(kind, JointType) else kind

    @property
    def _moving(self) -> str:
        """Position and velocity as text; empty for a removed joint."""
        if not self.coordinates[0]:
            return ''
        try:
            q, dq = self._backend.positions(), self._backend.velocities()
        except SimBridgeError:
            return ''
        texts = [', '.join(f'{value:.6g}' for value in values) for values in (q, dq)]
        if len(q) > 1:
            texts = [f'[{text}]' for text in texts]
        return f': q = {texts[0]}, dq = {texts[1]}'


def _joint_of(owner: Robot | World, name: str) -> Any:
    return owner.joint(name)
