"""Joints for users: those of trees, and constraints beside them."""

from __future__ import annotations

from typing import overload

import numpy as np

from sim_bridge.description.compliance import Compliance, GivenCompliance
from sim_bridge.description.model import JointDescription
from sim_bridge.engine.data.loops import BREAK_ALONG, BREAK_FORCE, BREAK_TORQUE
from sim_bridge.foundation.arrays import Coordinates, FloatArray, Number, Vector
from sim_bridge.foundation.attributes import ReadOnly
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.foundation.validation import finite_number, real_array, truth
from sim_bridge.robots.joints.any_joint import AnyJoint
from sim_bridge.robots.joints.arguments import checked_cfm, checked_erp, compliance_of, of_rows
from sim_bridge.robots.joints.axis import Axis
from sim_bridge.robots.joints.placeable import PlaceableJoint
from sim_bridge.robots.joints.tree import TreeJointBackend
from sim_bridge.robots.owners import Link, Robot

_OF_CONSTRAINTS = (
    'anchor',
    'anchor2',
    'axis',
    'axis2',
    'break_force',
    'break_torque',
    'break_limits',
    'broken_directions',
    'is_broken',
    'erp',
    'cfm',
    'compliance',
    'distance',
)


class Joint(AnyJoint):
    """
    A joint of a tree: of a robot's description, or of `World.add_joint` where it closes no loop.

    A joint with a single axis has the properties of its axis; those of other joints are in `axes`.
    q, dq, ddq and u are numbers for one-axis joints [rad or m; per s; per s²; N m or N], and
    arrays for others:

    - planar (3,): along the plane's x and y, about its normal;
    - piston (2,): along the axis, about the axis;
    - universal (2,): about axis 1, fixed on the parent, about axis 2, fixed on the child;
    - hinge2 (2,): as universal; with a suspension (3,), the third along axis 1;
    - ball: q (4,) is the quaternion x y z w of the child's frame in the joint frame on the parent;
      dq, ddq and u (3,) are angular velocity and acceleration of the child relative to the parent,
      and torque, in the axes of that joint frame;
    - floating: q (7,) is position and quaternion x y z w of the child's frame in the world; dq,
      ddq and u (6,) are linear, then angular, in world axes.

    Setting them to anything but that many finite numbers raises InvalidValueError. Quaternions are
    normalised. The coordinates are those of the second link, the child, relative to the first, the
    parent, whichever of the two is nearer to the root of the tree.
    """

    __slots__ = ()
    advice = dict.fromkeys(
        _OF_CONSTRAINTS,
        'the joint is part of a tree; add_joint(…, tree=False) makes a constraint, which has it',
    )

    is_tree = True
    _backend: TreeJointBackend

    def __init__(self, backend: TreeJointBackend):
        """Show what a backend in a tree provides."""
        super().__init__(backend)
        if backend.is_ball:
            self._of_balls = Axis(self, backend, 0, backend.place, rows=slice(0, 3))

    robot = ReadOnly[Robot](
        '_backend.robot', 'The robot that it is part of, or whose base is mounted on it.'
    )
    description = ReadOnly[JointDescription](
        '_backend.description', 'The description that it was made from.'
    )
    parent_link = ReadOnly[Link | None](
        '_backend.parent_link', 'The link nearer to the root of the tree; None for the world.'
    )
    child_link = ReadOnly[Link](
        '_backend.child_link', 'The link farther from the root of the tree.'
    )
    by_second = ReadOnly[bool](
        '_backend.by_second', 'Whether the second link is the child; else the first one is.'
    )


_LIMITS = 'a number above 0, or inf where none does, or six of them [N; N m]'


class _Toughness:
    """What a constraint joint bears at most: a column of its backend's `toughness`."""

    def __init__(self, column: int, unit: str):
        """Declare a column. unit: of it, for messages."""
        self._column, self._expected = column, f'a number above 0, or inf where none does [{unit}]'
        self.__doc__ = f'What breaks the joint. Can be set to {self._expected}.'

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name of the attribute."""
        self._name = name

    @overload
    def __get__(self, joint: None, owner: type) -> _Toughness: ...
    @overload
    def __get__(self, joint: ConstraintJoint, owner: type | None = None) -> float: ...

    def __get__(
        self, joint: ConstraintJoint | None, owner: type | None = None
    ) -> float | _Toughness:
        """Return the present value."""
        return self if joint is None else float(joint._backend.toughness[self._column])

    def __set__(self, joint: ConstraintJoint, value: Number) -> None:
        """Set it; raises InvalidValueError for what is not above 0."""
        array = real_array(self._name, value, self._expected, joint.place)
        if array.ndim or not array > 0.0:
            raise InvalidValueError(self._name, value, self._expected, joint.place)
        joint._backend.set_toughness(self._column, array)


class ConstraintJoint(PlaceableJoint):
    """
    A joint outside the trees: bilateral constraints with Lagrange multipliers, after ODE's joints.

    It closes a loop, or is compliant. With cfm = 0 it is rigid and holds to rounding; else its
    velocity error is ERP / h times its position error, less CFM times its force, with h the time
    step. That is a spring and a damper, implicit and so stable for any: `compliance` says which,
    in each direction.

    A joint with a single axis has the properties of its axis; those of other joints are in `axes`.
    q, dq, ddq and u are numbers or arrays over the axes, in the order of a tree's joint of that
    type; the suspension of a hinge-2 is not an axis. For ball joints they raise StateError: an
    angular motor measures the angles. Setting q or dq raises StateError: they follow from the
    links.
    """

    __slots__ = ()

    @property
    def erp(self) -> Coordinates:
        """
        Error reduction parameter: share of the error that a step corrects [1]; can be set.

        A number for all rows, or (n,) one for each where they differ. The rows are those of the
        joint type, in the order of docs/closed_loops.md.
        """
        return _as_array(self._backend.softness[0])

    @erp.setter
    def erp(self, value: Number | Vector) -> None:
        erp = of_rows(checked_erp, value, self._backend.row_count, self.place)
        self._backend.softness = erp, self._backend.softness[1]

    @property
    def cfm(self) -> Coordinates:
        """
        Constraint force mixing [m/(N s), rad/(N m s)]; can be set; as `erp`.

        0: the joint, or the row, is rigid.
        """
        return _as_array(self._backend.softness[1])

    @cfm.setter
    def cfm(self, value: Number | Vector) -> None:
        cfm = of_rows(checked_cfm, value, self._backend.row_count, self.place)
        self._backend.softness = self._backend.softness[0], cfm

    @property
    def compliance(self) -> Compliance:
        """
        Stiffness and damping in each direction, six each; can be set, with numbers for all too.

        Along x, y and z of the joint's axes (`rotation`) [N/m; N s/m], then about them [N m/rad;
        N m s/rad]. Infinite where the joint is rigid, 0 where it is free; see `Compliance`. What
        is set for free directions is not used. The same as `erp` and `cfm`, in other words.
        Raises InvalidValueError where a direction would have neither spring nor damper.
        """
        return self._backend.compliance

    @compliance.setter
    def compliance(self, value: GivenCompliance) -> None:
        self._backend.compliance = compliance_of(value, self.place)

    break_force = _Toughness(BREAK_FORCE, 'N')
    break_torque = _Toughness(BREAK_TORQUE, 'N m')

    @property
    def break_limits(self) -> FloatArray:
        """
        (6,) What breaks the joint in one direction alone [N; N m]; can be set, one for all too.

        Along x, y and z of the joint's axes, then about them, as of `compliance`; inf where none
        does. The joint goes on holding the other directions.
        """
        limits = self._backend.toughness[BREAK_ALONG:].view()
        limits.flags.writeable = False
        return limits

    @break_limits.setter
    def break_limits(self, value: Number | Vector) -> None:
        array = real_array('break_limits', value, _LIMITS, self.place)
        if array.shape not in ((), (6,)) or not (array > 0.0).all():
            raise InvalidValueError('break_limits', value, _LIMITS, self.place)
        self._backend.set_toughness(slice(BREAK_ALONG, None), array)

    @property
    def broken_directions(self) -> np.ndarray:
        """(6,) The directions in which it is broken, as of `break_limits`."""
        return (self._backend.broken >> np.arange(1, 7) & 1).astype(bool)

    @property
    def distance(self) -> float:
        """
        The distance that a distance joint keeps [m]; can be set.

        A rigid one is closed to the new distance in the next step. Raises StateError for a joint
        of another type, and InvalidValueError for what is not above 0 and finite.
        """
        self._check_distance()
        return self._backend.distance

    @distance.setter
    def distance(self, value: float) -> None:
        self._check_distance()
        number = finite_number('distance', value, self.place)
        if not number > 0.0:
            raise InvalidValueError('distance', value, 'a number above 0 [m]', self.place)
        self._backend.distance = number

    def _check_distance(self) -> None:
        if self.type != 'distance':
            raise StateError(f'{self.place} is of type {self.type} and keeps no distance')

    @property
    def is_broken(self) -> bool:
        """
        Whether the joint holds nothing any more, and nothing acts on its axes; can be set.

        It breaks in a step in which its rows would have to transmit more than `break_force` or,
        about `anchor2`, more than `break_torque`, or when all its directions are broken; efforts
        along its axes do not count. That step is solved without it; of several the most overloaded
        breaks first. Its links stay excluded from contact. `World.reset` mends it, as setting
        False does.
        """
        return self._backend.is_broken

    @is_broken.setter
    def is_broken(self, value: bool) -> None:
        self._backend.is_broken = truth('is_broken', value, self.place)


def _as_array(values: float | tuple[float, ...]) -> Coordinates:
    return np.array(values) if isinstance(values, tuple) else values
