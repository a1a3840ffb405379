"""Joints between links in a world: spanning trees, and loop closures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from sim_bridge.description.model import ConstraintDescription, JointType
from sim_bridge.foundation.errors import InvalidValueError, StateError, UnknownNameError
from sim_bridge.foundation.names import ByName, new_name
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.robots.body_type import body_type
from sim_bridge.robots.joints.any_joint import AnyJoint
from sim_bridge.robots.joints.constraint import ConstraintJointBackend
from sim_bridge.robots.joints.joint import ConstraintJoint, Joint
from sim_bridge.robots.joints.mounted import MountedJointBackend
from sim_bridge.robots.joints.spec import JointSpec, spec_of, SYMMETRIC, TREE_TYPES
from sim_bridge.robots.link import Link
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation.exclusions import link_pair
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.slots import RobotSlot
from sim_bridge.simulation.staleness import LOOP_FORCES, PARTS


class SpanningTree:
    """
    Joints between links in a world, in addition to those in robot descriptions.

    Bodies become parts of trees as long as joints close no loop: their bases are mounted on the
    links they are joined to. Single-body trees are re-rooted if that makes another joint part
    of a tree. All other joints are constraints.
    """

    def __init__(self, simulation: Simulation):
        """Start empty."""
        self._simulation = simulation
        self.mounted: dict[str, MountedJointBackend] = {}
        """Joints carrying robot bases, by name."""

    @property
    def joints(self) -> Mapping[str, Joint | ConstraintJoint]:
        """Joints from `add`, and the robots' loop joints, by name."""
        return MappingProxyType(
            ByName(
                'joint',
                'the world',
                {
                    key: backend.joint
                    for backends in (self.mounted, self._simulation.registry.constraints)
                    for key, backend in backends.items()
                },
            )
        )

    def free_name(self, name: str | None, kind: str) -> str:
        """Return an unused joint name; raise InvalidValueError if the given one is in use."""
        return new_name(name, kind, self.joints, 'add_joint')

    def own_links(
        self, first: object, second: object, place: str
    ) -> tuple[Link | None, Link | None]:
        """Return two links in this world that can move relative to each other, or one and None."""
        links: list[Link | None] = []
        for what, given in (('first', first), ('second', second)):
            link = given
            if isinstance(given, Robot) and len(given.links) == 1:
                link = given.root_link
            if link is None:
                links.append(None)
            elif isinstance(link, Link) and link.robot.simulation is self._simulation:
                links.append(link)
            else:
                raise InvalidValueError(
                    what, given, 'a link or a body of this world, or None for the world', place
                )
        one, other = links
        if one is other or (
            one
            and other
            and one.robot is other.robot
            and one.slot.placement.body == other.slot.placement.body
        ):
            raise InvalidValueError(
                'second',
                second,
                'a link that is not fixed to the first one, or None for the world if '
                'the first is a link',
                place,
            )
        return one, other

    def add(self, spec: JointSpec, tree: bool | None = None) -> Joint | ConstraintJoint:
        """Add a joint with an unused name; part of a tree if possible and `tree` is not False."""
        by_second = None if tree is False or spec.yields else self._mounted_side(spec)
        if by_second is None:
            if tree:
                raise StateError(
                    f'joint {spec.name!r} cannot be part of a tree: it closes a loop, is '
                    'compliant, or neither link is the base of a free robot. Leave out tree=True'
                )
            return self.constrain(spec.name, spec)
        self._match_velocities(spec)
        return self._mount(spec, by_second).joint

    def constrain(
        self, key: str, spec: JointSpec, start: np.ndarray | None = None
    ) -> ConstraintJoint:
        """Add a constraint under a name; start: see `ConstraintJointBackend`."""
        backend = ConstraintJointBackend(self._simulation, key, spec, start)
        joint = ConstraintJoint(backend)
        self._simulation.registry.constraints[key] = backend
        self._simulation.registry.reconnect_joints()
        return joint

    def restore_mounted(self, spec: JointSpec, by_second: bool) -> None:
        """Recreate the joint object for a base mounted already."""
        self.mounted[spec.name] = MountedJointBackend(spec, by_second)

    def remove(self, joint: Joint | ConstraintJoint) -> None:
        """Remove a joint; see `World.remove_joint`."""
        if not isinstance(joint, AnyJoint) or joint.key is None:
            raise InvalidValueError(
                'joint', joint, 'a joint from add_joint or add_angular_motor', 'remove_joint'
            )
        if self.joints.get(joint.key) is not joint:
            raise UnknownNameError('joint', joint.key, self.joints, 'the world')
        first, second = joint.link1, joint.link2
        holds = joint.is_tree or self._simulation.registry.constraints[joint.key].spec.holds
        if first and second and holds:
            self._simulation.registry.separate(first.slot, second.slot, False)
        if isinstance(joint, ConstraintJoint):
            del self._simulation.registry.constraints[joint.key]
            for link in (first, second):
                loops = {} if link is None else link.robot.loop_joints
                if loops.get(joint.name) is joint:
                    del loops[joint.name]
            self._simulation.registry.reconnect_joints()
            return
        robot, root = joint.robot, joint.robot.root_link
        pose, velocity = (root.p, root.R), (root.v, root.w)
        del self.mounted[joint.name]
        self._hang(robot.slot, None)
        robot.set_base_pose(pose[0], quaternion_from_matrix(pose[1]))
        robot.set_base_velocity(*velocity)
        robot.slot.remember()

    def attach(self, joint: ConstraintJoint, links: tuple[Link | None, Link | None]) -> None:
        """Connect other links by a joint; see `World.attach_joint`."""
        if not isinstance(joint, AnyJoint) or joint.key is None:
            raise InvalidValueError('joint', joint, 'a joint from add_joint', 'attach_joint')
        if self.joints.get(joint.key) is not joint:
            raise UnknownNameError('joint', joint.key, self.joints, 'the world')
        if not isinstance(joint, ConstraintJoint):
            raise StateError(
                f'{joint.place} is part of a tree: remove it and add another, or add it with '
                'add_joint(…, tree=False)'
            )
        if joint.key != joint.name:
            raise StateError(
                f"{joint.place} is part of a robot's description: its links are fixed"
            )
        before = joint.link1, joint.link2
        joint.attach(links)
        if self._are_separate(*before):
            for pair, is_separate in ((before, False), (links, True)):
                one, other = pair
                if one is not None and other is not None:
                    self._simulation.registry.separate(one.slot, other.slot, is_separate)

    def add_loops_of(self, robot: Robot, gathers: bool = False) -> None:
        """Add a robot's loop joints. gathers: as in `JointSpec`."""
        links = {link.name: link for link in robot.links}
        for description in robot.description.constraints:
            spec = replace(spec_of(description, links), gathers=gathers)
            joint = self.constrain(f'{robot.name}/{description.name}', spec)
            _describe(joint, description)
            robot.loop_joints[description.name] = joint
            first, second = joint.link1, joint.link2
            if spec.holds and first is not None and second is not None:
                self._simulation.registry.separate(first.slot, second.slot)

    # --- inside ----------------------------------------------------------------------------------

    def _are_separate(self, one: Link | None, other: Link | None) -> bool:
        """Return whether contacts between two links are excluded."""
        return (
            one is not None
            and other is not None
            and link_pair(one.slot, other.slot) in self._simulation.registry.exclusions.links
        )

    def _match_velocities(self, spec: JointSpec) -> None:
        """
        Remove link velocities forbidden by a new tree joint.

        Robots at their start begin with the new velocities after resets too.
        """
        if any(part.any() for part in _relative_motion(spec)):
            registry = self._simulation.registry
            at_start = [slot for slot in registry.slots.values() if slot.is_at_start]
            self.constrain(spec.name, spec)
            self._simulation.cache.begin_joints()
            del registry.constraints[spec.name]
            registry.reconnect_joints()
            for slot in at_start:
                slot.remember()

    def _mounted_side(self, spec: JointSpec) -> bool | None:
        """Return True to mount the second link's robot, False the first's, None for neither."""
        if spec.type not in TREE_TYPES or spec.gapes:
            return None
        one, other = spec.first.link, spec.second.link
        if one and other and _root_of(one.robot.slot) is _root_of(other.robot.slot):
            return None
        if other is not None and self._can_hang(other):
            return True
        if one is not None and spec.type in SYMMETRIC and self._can_hang(one):
            return False
        return None

    def _can_hang(self, link: Link) -> bool:
        """Return whether a link's tree is free and can be re-rooted to this link."""
        path = _path_to_root(link.robot.slot)
        if body_type(path[-1]) != 'dynamic' or path[-1].blueprint.mount:
            return False
        if link.slot.placement.body != link.robot.root_link.slot.placement.body:
            return False
        if len(path) == 1:
            return True
        joints = [self._joint_under(slot) for slot in path[:-1]]
        return all(len(slot.links) == 1 for slot in path) and all(
            joint.spec.type in SYMMETRIC for joint in joints
        )

    def _joint_under(self, slot: RobotSlot) -> MountedJointBackend:
        """Return the joint carrying a robot's base."""
        mount = slot.blueprint.mount
        assert mount is not None, 'it has a carrier'
        return self.mounted[mount.name]

    def _mount(self, spec: JointSpec, by_second: bool) -> MountedJointBackend:
        """Mount one robot of a joint on the other robot, after re-rooting the mounted tree."""
        own: Any = (spec.second if by_second else spec.first).link
        motion = _relative_motion(spec)
        path = _path_to_root(own.robot.slot)
        joints = [self._joint_under(slot) for slot in path[:-1]]
        kept = [joint.values() for joint in joints]
        joint = MountedJointBackend(spec, by_second)
        self._hang(path[0], joint)
        for slot, turned, values in zip(path[1:], joints, kept, strict=True):
            second = turned.spec.second.link
            turned.turn(second is not None and second.robot.slot is slot)
            self._hang(slot, turned)
            turned.restore(values)
        self.mounted[joint.name] = joint
        self._set_rates(joint.joint, motion)
        for slot in path:
            slot.remember()
            slot.added = slot.initial
        return joint

    def _hang(self, slot: RobotSlot, joint: MountedJointBackend | None) -> None:
        """Recompile a robot with its base mounted on a joint, or free."""
        _rebuild(slot, joint)
        for other in self.mounted.values():
            # mount poses are relative to this robot's bodies, which may have changed
            carrier = other.parent_link
            if other is not joint and carrier is not None and carrier.robot.slot is slot:
                kept = other.values()
                _rebuild(other.robot.slot, other)
                other.restore(kept)
        self._simulation.staleness.mark(PARTS | LOOP_FORCES)

    def _set_rates(self, joint: Joint, motion: tuple[np.ndarray, np.ndarray]) -> None:
        """Set a new joint's velocities to the links' relative motion, as far as it allows."""
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


def _describe(joint: ConstraintJoint, description: ConstraintDescription) -> None:
    """Set a described joint's axis parameters, if its type has limits and dynamics."""
    if not joint.axes or joint.type in ('universal', 'hinge2', 'planar'):
        return
    axis, limits, dynamics = joint.axes[0], description.limits, description.dynamics
    axis.lower, axis.upper = limits.lower, limits.upper
    axis.effort_limit, axis.velocity_limit = limits.effort, limits.velocity
    axis.lower_effort_limit, _ = limits.efforts
    axis.damping, axis.friction = dynamics.damping, dynamics.friction
    axis.stiffness, axis.reference = dynamics.stiffness, dynamics.reference


def _rebuild(slot: RobotSlot, joint: MountedJointBackend | None) -> None:
    """Recompile a robot with its base mounted on a joint, or free."""
    mount, carrier = None, None
    if joint is not None:
        mount, link = joint.spec.mount(joint.by_second), joint.parent_link
        carrier = None if link is None else link.slot
    slot.rebuild(slot.compiled(False, mount=mount), carrier)


def _path_to_root(slot: RobotSlot) -> list[RobotSlot]:
    """List a robot and the robots carrying it, directly or indirectly."""
    path = [slot]
    while path[-1].carrier is not None:
        path.append(path[-1].carrier.robot)
    return path


def _root_of(slot: RobotSlot) -> RobotSlot:
    return _path_to_root(slot)[-1]


def _relative_motion(spec: JointSpec) -> tuple[np.ndarray, np.ndarray]:
    """Return the second link's relative velocity and angular velocity at the anchor."""
    (v, w), (v_second, w_second) = spec.frames.velocities()
    return v_second - v, w_second - w
