"""Joints between links of a world: the spanning trees they make, and the loops they close."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from sim_bridge.compilation.compile import compile_robot
from sim_bridge.description.model import JointType
from sim_bridge.foundation.errors import InvalidValueError, StateError, UnknownNameError
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.foundation.validation import truth, truth_or_none
from sim_bridge.robots.joints.arguments import described_spec, motor_spec
from sim_bridge.robots.joints.constraint import ConstraintSeat
from sim_bridge.robots.joints.joint import AnyJoint, ConstraintJoint, Joint
from sim_bridge.robots.joints.mounted import MountedSeat
from sim_bridge.robots.joints.spec import JointSpec, spec_of, SYMMETRIC, TREE_TYPES
from sim_bridge.robots.link import Link
from sim_bridge.robots.loop_assembly import close_loops
from sim_bridge.robots.robot import Robot
from sim_bridge.world.joined_robots import JoinedRobots


class Mechanisms(JoinedRobots):
    """
    What `add_joint` adds.

    Bodies become parts of trees as long as joints close no loop: their bases hang on what they are
    joined to, and trees of single bodies are turned round where that lets another joint be part of
    a tree. All other joints are constraints.
    """

    def __init__(self, gravity: np.ndarray):
        """Begin empty. gravity: (3,) [m/s²], used in place."""
        super().__init__(gravity)
        self._mounted: dict[str, MountedSeat] = {}

    @property
    def joints(self) -> Mapping[str, Joint | ConstraintJoint]:
        """What `add_joint` added, and the robots' joints that close loops, by name."""
        return MappingProxyType({
            key: seat.joint for key, seat in (*self._mounted.items(), *self._constraints.items())})

    def joint(self, name: str) -> Joint | ConstraintJoint:
        """Return a joint of `joints`; raises UnknownNameError."""
        if name not in self.joints:
            raise UnknownNameError('joint', name, self.joints, 'the world')
        return self.joints[name]

    def add_joint(
        self,
        kind: str,
        first: Link | Robot | None,
        second: Link | Robot | None,
        anchor: Sequence[float] | None = None,
        axis: Sequence[float] = (0.0, 0.0, 1.0),
        axis2: Sequence[float] | None = None,
        *,
        anchor2: Sequence[float] | None = None,
        name: str | None = None,
        erp: float | None = None,
        cfm: float | None = None,
        suspension: tuple[float, float] | None = None,
        tree: bool | None = None,
        collide: bool = False,
    ) -> Joint | ConstraintJoint:
        """
        Join two links where they are, or a link and the world; after ODE's joints.

        kind: 'ball'; 'hinge', turns about the axis; 'slider', slides along it; 'piston', both;
            'universal', turns about `axis`, fixed on the first link, and `axis2`, fixed on the
            second; 'hinge2', likewise at any angle, with a suspension along `axis`; 'planar', in
            the plane normal to the axis; 'fixed'; 'distance', keeps the anchors as far apart.
        first, second: links, bodies (robots of one link), or None for the world. Coordinates are
            those of the second relative to the first, and 0 now.
        anchor: m, world; the second link's origin if None. anchor2: where it is on the second
            link, if elsewhere: a distance joint's; others close the gap.
        axis, axis2: of any length, world.
        name: unique among the world's joints; the kind, numbered, if None.
        erp, cfm: let it yield, as ODE's parameters do [1; m/(N s), rad/(N m s)]; erp 0.2 if None.
        suspension: of a hinge2: stiffness and damping [N/m, N s/m].
        tree: False: a constraint, even where it closes no loop. True: an error if it closes one.
        collide: whether the two links touch each other.

        A joint that closes no loop is part of a tree: exact, and as cheap as a robot's own joint.
        Velocities that it does not allow are lost, as in an impact. Raises InvalidValueError for
        what no joint is, StateError where `tree` cannot be.
        """
        links = self._own_links(first, second, 'add_joint')
        tree = truth_or_none('tree', tree, 'add_joint')
        collide = truth('collide', collide, 'add_joint')
        spec = described_spec(
            kind, links, anchor, axis, axis2, anchor2=anchor2, erp=erp, cfm=cfm,
            suspension=suspension)
        spec = replace(spec, name=self._free_joint_name(name, kind))
        joint = self._add_joint(spec, tree)
        if not collide and all(links):
            self.exclude(*links)
        return joint

    def add_angular_motor(
        self,
        first: Link | Robot | None,
        second: Link | Robot | None,
        axes: Sequence[Sequence[float]],
        *,
        fixed_on: Sequence[str] | None = None,
        euler: bool = False,
        name: str | None = None,
    ) -> ConstraintJoint:
        """
        Put motors, stops, springs and friction between how two links turn; after ODE's AMotor.

        It holds nothing by itself: `axes` of the joint are to be set. Often beside a ball joint.
        axes: one to three, world, of any length; each 'first' or 'second' in `fixed_on` says on
            which link it stays, the first if None. Their angles are summed up from their rates.
        euler: axes are two, at right angles: one that stays on the first link, the last one, that
            stays on the second; the joint's second axis is the product of the last and the first.
            Its angles are measured, and any; velocities are theirs, which ODE's outer ones are
            only times the cosine of the middle angle.

        Raises InvalidValueError for what no such motor is.
        """
        links = self._own_links(first, second, 'add_angular_motor')
        key = self._free_joint_name(name, 'angular_motor')
        return self._constrain(key, motor_spec(key, links, axes, fixed_on, euler)).joint

    def remove_joint(self, joint: Joint | ConstraintJoint) -> None:
        """
        Take a joint out; what hung on it is free, and moves on as it does.

        Raises InvalidValueError for what `add_joint` never gave, and UnknownNameError for a joint
        that is not, or no longer, of this world.
        """
        if not isinstance(joint, AnyJoint) or joint.key is None:
            raise InvalidValueError(
                'joint', joint, 'one that add_joint or add_angular_motor gave', 'remove_joint')
        if self.joints.get(joint.key) is not joint:
            raise UnknownNameError('joint', joint.key, self.joints, 'the world')
        if joint.link1 and joint.link2:
            self.exclude(joint.link1, joint.link2, False)
        if isinstance(joint, ConstraintJoint):
            del self._constraints[joint.key]
            for robot in self.robots.values():
                if robot.loop_joints.get(joint.name) is joint:
                    del robot.loop_joints[joint.name]
            self.reconnect_joints()
            return
        robot, root = joint.robot, joint.robot.root_link
        pose, velocity = (root.p, root.R), (root.v, root.w)
        del self._mounted[joint.name]
        self._hang(robot, None)
        robot.set_base_pose(pose[0], quaternion_from_matrix(pose[1]))
        robot.set_base_velocity(*velocity)
        robot.remember()

    # --- inside ----------------------------------------------------------------------------------

    def _add_joint(
        self, spec: JointSpec, tree: bool | None = None
    ) -> Joint | ConstraintJoint:
        """Add a joint of a free name; part of a tree if it can be and `tree` is not False."""
        seat = None if tree is False or spec.yields else self._seat(spec)
        if seat is None:
            if tree:
                raise StateError(
                    f'joint {spec.name!r} cannot be part of a tree: it closes a loop, yields, or '
                    'neither link is the base of what is free. Leave out tree=True')
            return self._constrain(spec.name, spec).joint
        self._match_velocities(spec)
        return self._mount(spec, seat).joint

    def _constrain(self, key: str, spec: JointSpec) -> ConstraintSeat:
        """Add a constraint under a name of the world's."""
        joint = ConstraintSeat(self, key, spec)
        self._constraints[key] = joint
        self.reconnect_joints()
        return joint

    def _match_velocities(self, spec: JointSpec) -> None:
        """Let links that a joint is about to hang on each other lose what it does not allow."""
        if any(part.any() for part in _relative_motion(spec)):
            joint = self._constrain(spec.name, spec)
            self.begin_joints()
            del self._constraints[joint.key]
            self.reconnect_joints()

    def _add_loops(self, robot: Robot, kept: Iterable[str]) -> None:
        """
        Add the joints that close a robot's loops, and put it together.

        kept: joints that stay where they are. Raises StateError where a loop cannot be closed.
        """
        links = {link.name: link for link in robot.links}
        for description in robot.description.constraints:
            joint = self._constrain(
                f'{robot.name}/{description.name}', spec_of(description, links))
            joint.describe(description.limits, description.dynamics)
            robot.loop_joints[description.name] = joint.joint
            if joint.joint.link2 is not None:
                self.exclude(joint.joint.link1, joint.joint.link2)
        if robot.loop_joints:
            close_loops(robot, kept)

    def _seat(self, spec: JointSpec) -> bool | None:
        """Return whether the second link's robot can hang (True), or first's; None: neither."""
        if spec.type not in TREE_TYPES or spec.gapes:
            return None
        one, other = spec.first.link, spec.second.link
        if one and other and _root_of(one.robot) is _root_of(other.robot):
            return None
        if other is not None and self._can_hang(other):
            return True
        if one is not None and spec.type in SYMMETRIC and self._can_hang(one):
            return False
        return None

    def _can_hang(self, link: Link) -> bool:
        """Return whether link's tree is free, and can be turned so that this link is its base."""
        path = _path_to_root(link.robot)
        if path[-1].fixed_base or path[-1].motion != 'dynamic' or path[-1].blueprint.mount:
            return False
        if link.placement.body != link.robot.root_link.placement.body:
            return False
        if len(path) == 1:
            return True
        joints = [self._joint_under(robot) for robot in path[:-1]]
        return (all(len(robot.links) == 1 for robot in path)
                and all(joint.spec.type in SYMMETRIC for joint in joints))

    def _joint_under(self, robot: Robot) -> MountedSeat:
        """Return the joint that a robot's base hangs on."""
        return self._mounted[robot.blueprint.mount.joint.name]

    def _mount(self, spec: JointSpec, by_second: bool) -> MountedSeat:
        """Hang one of a joint's robots on the other's, having turned its tree round."""
        own = (spec.second if by_second else spec.first).link
        motion = _relative_motion(spec)
        path = _path_to_root(own.robot)
        joints = [self._joint_under(robot) for robot in path[:-1]]
        kept = [joint.values() for joint in joints]
        joint = MountedSeat(spec, by_second)
        self._hang(own.robot, joint)
        for robot, turned, values in zip(path[1:], joints, kept, strict=True):
            second = turned.spec.second.link
            turned.turn(second is not None and second.robot is robot)
            self._hang(robot, turned)
            turned.restore(values)
        self._mounted[joint.name] = joint
        self._set_rates(joint.joint, motion)
        for robot in path:
            robot.remember()
            robot.added = robot.initial
        return joint

    def _hang(self, robot: Robot, joint: MountedSeat | None) -> None:
        """Compile a robot anew, to hang on a joint or to be free."""
        _rebuild(robot, joint)
        for other in self._mounted.values():
            # where they hang is in the frames of this robot's bodies, which may be others now
            if other is not joint and other.parent_link and other.parent_link.robot is robot:
                kept = other.values()
                _rebuild(other.robot, other)
                other.restore(kept)
        self._forget_parts()

    def _set_rates(
        self, joint: Joint, motion: tuple[np.ndarray, np.ndarray]
    ) -> None:
        """Let a new joint move as its links did, as far as it allows."""
        v, w = motion
        if not v.any() and not w.any():
            return
        if joint.type is JointType.BALL:
            joint.dq = joint.rotation.T @ w
        for linear, velocity in ((True, v), (False, w)):
            axes = [axis for axis in joint.axes if axis.is_linear == linear]
            if axes:
                directions = np.array([axis.direction for axis in axes]).T
                rates = np.linalg.lstsq(directions, velocity, rcond=None)[0]
                for axis, rate in zip(axes, rates, strict=True):
                    axis.dq = float(rate)

    def _own_links(
        self, first: object, second: object, place: str
    ) -> tuple[Link | None, Link | None]:
        """Return two links of this world that can move against each other, or one and None."""
        links = []
        for what, given in (('first', first), ('second', second)):
            if isinstance(given, Robot) and len(given.links) == 1:
                given = given.root_link
            is_own = isinstance(given, Link) and given.robot.world is self
            if given is not None and not is_own:
                raise InvalidValueError(
                    what, given, 'a link or a body of this world, or None for the world', place)
            links.append(given)
        one, other = links
        if one is other or (one and other and one.robot is other.robot
                            and one.placement.body == other.placement.body):
            raise InvalidValueError(
                'second', second, 'a link that is not fixed to the first one, or None for the '
                'world where the first is a link', place)
        return one, other

    def _free_joint_name(self, name: str | None, kind: str) -> str:
        taken = self.joints
        if name is not None:
            if not isinstance(name, str) or not name or name in taken:
                raise InvalidValueError(
                    'name', name, f'a text that is not taken yet (taken: {", ".join(taken)})',
                    'add_joint')
            return name
        number = 1
        while (name := kind if number == 1 else f'{kind}_{number}') in taken:
            number += 1
        return name


def _rebuild(robot: Robot, joint: MountedSeat | None) -> None:
    """Compile a robot anew, its base on a joint or free."""
    mount, carrier = None, None
    if joint is not None:
        mount, carrier = joint.spec.mount(joint.by_second), joint.parent_link
    shapes = robot.collisions.shapes
    robot.rebuild(compile_robot(robot.description, False, shapes, mount=mount), carrier)


def _path_to_root(robot: Robot) -> list[Robot]:
    """List a robot and those that it hangs on."""
    path = [robot]
    while path[-1].carrier is not None:
        path.append(path[-1].carrier.robot)
    return path


def _root_of(robot: Robot) -> Robot:
    return _path_to_root(robot)[-1]


def _relative_motion(spec: JointSpec) -> tuple[np.ndarray, np.ndarray]:
    """Return the second link's velocity at the anchor relative to the first's, and its turning."""
    point = spec.second.pose[1]
    (v, w), (v_second, w_second) = spec.first.velocity(point), spec.second.velocity(point)
    return v_second - v, w_second - w
