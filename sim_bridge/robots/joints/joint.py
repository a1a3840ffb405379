"""Public joints: tree joints and constraint joints."""

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
    A tree joint, from a robot's description or from `World.add_joint` if it closes no loop.

    A joint with a single axis has the properties of that axis; others have `axes`. q, dq,
    ddq and u are numbers for one-axis joints [rad or m; per s; per s²; N m or N], and arrays for
    others:

    - planar (3,): along x and y of the plane, about its normal;
    - piston (2,): along the axis, about the axis;
    - universal (2,): about axis 1, fixed to the parent, about axis 2, fixed to the child;
    - hinge2 (2,): as universal; with a suspension (3,), the third coordinate along axis 1;
    - ball: q (4,) is the quaternion x y z w of the child's frame in the joint frame on the parent;
      dq, ddq and u (3,) are angular velocity and acceleration of the child relative to the parent,
      and torque, in the axes of that joint frame;
    - floating: q (7,) is position and quaternion x y z w of the child's frame in the world; dq,
      ddq and u (6,) are linear, then angular components, in world axes.

    Setting them raises InvalidValueError unless given as many finite numbers. Quaternions are
    normalized. The coordinates are those of the second link (child) relative to the first
    (parent), whichever of the two is nearer to the tree's root.
    """

    __slots__ = ()
    advice = dict.fromkeys(
        _OF_CONSTRAINTS,
        'the joint is part of a tree; add_joint(…, tree=False) makes a constraint with it',
    )

    is_tree = True
    _backend: TreeJointBackend

    def __init__(self, backend: TreeJointBackend):
        """Make the view of a tree joint; the backend reads and writes its values."""
        super().__init__(backend)
        if backend.is_ball:
            self._of_balls = Axis(self, backend, 0, backend.place, rows=slice(0, 3))

    robot = ReadOnly[Robot](
        '_backend.robot', 'Robot that the joint is part of, or whose base is mounted on it.'
    )
    description = ReadOnly[JointDescription](
        '_backend.description', 'Description from which the joint was made.'
    )
    parent_link = ReadOnly[Link | None](
        '_backend.parent_link', 'Link nearer to the root of the tree; None for the world.'
    )
    child_link = ReadOnly[Link]('_backend.child_link', 'Link farther from the root of the tree.')
    by_second = ReadOnly[bool](
        '_backend.by_second', 'Whether the second link is the child; otherwise the first is.'
    )


_LIMITS = 'a number above 0, or inf for no limit, or six of them [N; N m]'


class _Toughness:
    """Constraint joint break limit: a column in its backend's `toughness`."""

    def __init__(self, column: int, unit: str):
        """Declare a column. unit: for messages."""
        self._column, self._expected = column, f'a number above 0, or inf for no limit [{unit}]'
        self.__doc__ = f'Load that breaks the joint. Can be set to {self._expected}.'

    def __set_name__(self, owner: type, name: str) -> None:
        """Store the attribute's name."""
        self._name = name

    @overload
    def __get__(self, joint: None, owner: type) -> _Toughness: ...
    @overload
    def __get__(self, joint: ConstraintJoint, owner: type | None = None) -> float: ...

    def __get__(
        self, joint: ConstraintJoint | None, owner: type | None = None
    ) -> float | _Toughness:
        """Return the current value."""
        return self if joint is None else float(joint._backend.toughness[self._column])

    def __set__(self, joint: ConstraintJoint, value: Number) -> None:
        """Set the value; raise InvalidValueError unless it is above 0."""
        array = real_array(self._name, value, self._expected, joint.place)
        if array.ndim or not array > 0.0:
            raise InvalidValueError(self._name, value, self._expected, joint.place)
        joint._backend.set_toughness(self._column, array)


class ConstraintJoint(PlaceableJoint):
    """
    A joint outside the trees: bilateral constraints with Lagrange multipliers, after ODE's joints.

    It closes a loop, or is compliant. With cfm = 0 it is rigid, up to rounding. Otherwise its
    velocity error is ERP / h times its position error, minus CFM times its force, with the time
    step h. This is a spring and a damper, integrated implicitly and stable for any values;
    `compliance` gives their values for each direction.

    A joint with a single axis has the properties of that axis; others have `axes`. q, dq,
    ddq and u are numbers or arrays over the axes, in the same order as for a tree joint with that
    type; a hinge-2's suspension is not an axis. For ball joints they raise StateError: an
    angular motor measures the angles. Setting q or dq raises StateError, because they follow from
    the links, except an angular motor's q with independent axes.
    """

    __slots__ = ()

    @property
    def erp(self) -> Coordinates:
        """
        Error reduction parameter: error share corrected in one step [1]; can be set.

        One number for all rows, or (n,) one per row if they differ. The rows are those of the
        joint type, in the order given in docs/closed_loops.md.
        """
        return _as_array(self._backend.softness[0])

    @erp.setter
    def erp(self, value: Number | Vector) -> None:
        erp = of_rows(checked_erp, value, self._backend.row_count, self.place)
        self._backend.softness = erp, self._backend.softness[1]

    @property
    def cfm(self) -> Coordinates:
        """
        Constraint force mixing [m/(N s), rad/(N m s)]; can be set; shape as `erp`.

        0 for a rigid joint or row.
        """
        return _as_array(self._backend.softness[1])

    @cfm.setter
    def cfm(self, value: Number | Vector) -> None:
        cfm = of_rows(checked_cfm, value, self._backend.row_count, self.place)
        self._backend.softness = self._backend.softness[0], cfm

    @property
    def compliance(self) -> Compliance:
        """
        Stiffness and damping in each direction, six each; can be set, also with single numbers.

        Along x, y and z of the joint's axes (`rotation`) [N/m; N s/m], then about them [N m/rad;
        N m s/rad]. Infinite in rigid directions, 0 in free directions; see `Compliance`. Values
        given for free directions are ignored. Equivalent to `erp` and `cfm`. Setting it raises
        InvalidValueError if a constrained direction has neither spring nor damper.
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
        (6,) loads that break the joint in one direction [N; N m]; can be set, also with a number.

        Along x, y and z of the joint's axes, then about them, as for `compliance`; inf for no
        limit. The joint still holds the other directions.
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
        """(6,) whether each direction is broken, as in `break_limits`."""
        return (self._backend.broken >> np.arange(1, 7) & 1).astype(bool)

    @property
    def distance(self) -> float:
        """
        Distance kept by a distance joint [m]; can be set.

        A rigid joint moves to the new distance in the next step. Raises StateError for other joint
        types. Setting it raises InvalidValueError unless the value is above 0 and finite.
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
        Whether the joint is broken: it holds nothing, and its axes have no effect; can be set.

        It breaks in a step in which its rows would have to transmit more than `break_force` or,
        about `anchor2`, more than `break_torque`, or when all its directions are broken; efforts
        along its axes do not count. That step is solved without the joint; if several are
        overloaded, the most overloaded joint breaks first. Contacts between its links stay
        excluded. `World.reset` repairs it, as does setting False.
        """
        return self._backend.is_broken

    @is_broken.setter
    def is_broken(self, value: bool) -> None:
        self._backend.is_broken = truth('is_broken', value, self.place)


def _as_array(values: float | tuple[float, ...]) -> Coordinates:
    return np.array(values) if isinstance(values, tuple) else values
