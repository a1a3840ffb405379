"""
From a model's joints to a tree and loop joints.

A joint between two unconnected parts belongs to the tree; one closing a ring is a loop joint.
Where a link would have two parents, a joint is turned around. Parts without a connection float.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
import math

import numpy as np

from sim_bridge.description.mechanism.constraints import Declared
from sim_bridge.description.mechanism.loops import rigid_groups
from sim_bridge.description.model import (
    ConstraintType,
    JointDescription,
    JointDynamics,
    JointLimits,
    JointType,
    LinkDescription,
    Mimic,
    Pose,
    RobotDescription,
)
from sim_bridge.description.poses import read_only
from sim_bridge.description.report import Findings
from sim_bridge.description.sdf_model.joints import SdfJoint
from sim_bridge.description.sdf_model.scope import WORLD
from sim_bridge.foundation.names import free_name

GEARBOX, SCREW = 'gearbox', 'screw'
_TREE = {
    'revolute': JointType.REVOLUTE,
    'continuous': JointType.CONTINUOUS,
    'prismatic': JointType.PRISMATIC,
    'fixed': JointType.FIXED,
    'ball': JointType.BALL,
    'universal': JointType.UNIVERSAL,
    'revolute2': JointType.HINGE2,
    SCREW: JointType.CONTINUOUS,
}
_LOOPS = {
    'revolute': ConstraintType.HINGE,
    'continuous': ConstraintType.HINGE,
    'prismatic': ConstraintType.SLIDER,
    'fixed': ConstraintType.FIXED,
    'ball': ConstraintType.BALL,
    'universal': ConstraintType.UNIVERSAL,
    'revolute2': ConstraintType.HINGE2,
}
# cosine of the angle between a gearbox axis and the axis of its joint
_ALONG = 1.0 - 1e-6


class Mechanism:
    """
    Links and joints as a tree with one root.

    root: link name. joints: tree joints by name. links: further links without mass, by name.
    loops: joints outside the tree.
    """

    def __init__(
        self,
        poses: Mapping[str, Pose],
        joints: Iterable[SdfJoint],
        canonical: str,
        findings: Findings,
    ):
        """
        Connect the links.

        poses: link poses in the model, by name. canonical: preferred root.
        """
        self._poses, self._findings = dict(poses), findings
        self.links: dict[str, LinkDescription] = {}
        self.joints: dict[str, JointDescription] = {}
        self.loops: list[SdfJoint] = []
        self._taken = {joint.name for joint in joints}
        edges = self._edges(joints)
        if any(WORLD in (edge.parent, edge.child) for edge in edges):
            self._poses.setdefault(WORLD, Pose())
            self.links[WORLD] = LinkDescription(WORLD)
        self.root = self._grow(edges, canonical)

    def _edges(self, joints: Iterable[SdfJoint]) -> list[SdfJoint]:
        """Return the tree's joints; each connects two unconnected parts."""
        part: dict[str, str] = {}

        def top(name: str) -> str:
            while part.setdefault(name, name) != name:
                part[name] = part[part[name]]
                name = part[name]
            return name

        edges = []
        # a screw has no loop joint, so it comes first
        for joint in sorted(joints, key=lambda joint: joint.kind != SCREW):
            if joint.kind == GEARBOX:
                continue
            first, second = top(joint.parent), top(joint.child)
            if first == second:
                self.loops.append(joint)
            else:
                part[second] = first
                edges.append(joint)
        self.loops.sort(key=lambda joint: joint.place.line)
        edges.sort(key=lambda joint: joint.place.line)
        return edges

    def _grow(self, edges: list[SdfJoint], canonical: str) -> str:
        """Add the joints from the root outwards; return the root."""
        at: dict[str, list[SdfJoint]] = {name: [] for name in self._poses}
        children = set()
        for edge in edges:
            at[edge.parent].append(edge)
            at[edge.child].append(edge)
            children.add(edge.child)
        heads = [name for name in self._poses if name not in children]
        start = WORLD if WORLD in self.links else _head(canonical, at, children)
        reached: set[str] = set()
        grown: dict[str, SdfJoint] = {}
        roots = []
        for root in (start, *heads, *self._poses):
            if root in reached:
                continue
            roots.append(root)
            for edge in self._outwards(root, at, reached):
                grown[edge.name] = edge
        floating = roots[1:]
        for edge in edges:
            self._add(grown[edge.name])
        for name in floating:
            self._add_floating(start, name)
        return start

    @staticmethod
    def _outwards(
        root: str, at: Mapping[str, list[SdfJoint]], reached: set[str]
    ) -> Iterator[SdfJoint]:
        reached.add(root)
        pending = [root]
        for name in pending:
            for edge in at[name]:
                joint = edge if edge.parent == name else edge.reversed()
                if joint.parent == name and joint.child not in reached:
                    reached.add(joint.child)
                    pending.append(joint.child)
                    yield joint

    def _add(self, joint: SdfJoint) -> None:
        origin = self._poses[joint.parent].inverse @ joint.pose
        child_pose = joint.pose.inverse @ self._poses[joint.child]
        if joint.in_child is not None:
            # without rounding
            child_pose = Pose() if joint.in_child.is_identity else joint.in_child.inverse
        kind = _TREE[joint.kind]
        limits, dynamics = [*joint.limits, JointLimits()], [*joint.dynamics, JointDynamics()]
        axes = [*joint.axes, None]
        if kind is JointType.REVOLUTE and _is_endless(limits[0]):
            kind = JointType.CONTINUOUS
        if kind is JointType.CONTINUOUS and not _is_endless(limits[0]):
            kind = JointType.REVOLUTE
        made = JointDescription(
            joint.name,
            kind,
            joint.parent,
            joint.child,
            origin,
            read_only([1.0, 0.0, 0.0]) if axes[0] is None else axes[0],
            child_pose,
            limits[0] if joint.axes else JointLimits(),
            dynamics[0],
            joint.mimic,
            line=joint.place.line,
        )
        if len(joint.axes) > 1:
            made = replace(made, axis2=axes[1], limits2=limits[1], dynamics2=dynamics[1])
        elif joint.kind == SCREW:
            made = self._threaded(joint, made)
        self.joints[joint.name] = made

    def _threaded(self, joint: SdfJoint, turning: JointDescription) -> JointDescription:
        """Return a screw's turn; its travel is a following joint, on a massless link."""
        name = free_name(f'{joint.name}_thread', self._taken.__contains__)
        self._taken.add(name)
        between = free_name(f'{joint.name}_thread_frame', self._poses.__contains__)
        self.links[between] = LinkDescription(between, line=joint.place.line)
        self._poses[between] = joint.pose
        pitch = joint.thread / (2.0 * math.pi)
        self.joints[name] = JointDescription(
            name,
            JointType.PRISMATIC,
            joint.parent,
            between,
            turning.origin,
            turning.axis,
            mimic=Mimic(joint.name, pitch),
            line=joint.place.line,
        )
        return replace(turning, parent=between, origin=Pose())

    def _add_floating(self, root: str, link: str) -> None:
        name = free_name(f'{link}_floating', self._taken.__contains__)
        self._taken.add(name)
        self.joints[name] = JointDescription(
            name,
            JointType.FLOATING,
            root,
            link,
            self._poses[root].inverse @ self._poses[link],
            read_only([1.0, 0.0, 0.0]),
        )

    # --- couplings -------------------------------------------------------------------------------

    def couple(self, joints: Iterable[SdfJoint]) -> None:
        """Let joints follow each other as gearboxes demand."""
        for gear in joints:
            if gear.kind != GEARBOX:
                continue
            first, second = (
                self._turn(gear.reference, link, axis, gear.pose)
                for link, axis in zip((gear.parent, gear.child), gear.axes, strict=True)
            )
            if first is None or second is None:
                message = (
                    'is not simulated, left out: it needs joints with these axes between the '
                    'reference body and both links'
                )
                self._findings.warning('not-simulated', gear.place, message, 'type', GEARBOX)
                continue
            ratio = -gear.ratio * first[1] * second[1]
            joint = self.joints[second[0]]
            self.joints[joint.name] = replace(joint, mimic=Mimic(first[0], ratio))

    def _turn(
        self, reference: str, link: str, axis: np.ndarray, frame: Pose
    ) -> tuple[str, float] | None:
        """Return the joint turning a link against another about an axis, and its sign."""
        wanted = frame.rotation @ axis
        for joint in self.joints.values():
            ends = {reference: 1.0, link: -1.0}
            if {joint.parent, joint.child} != set(ends):
                continue
            own = self._poses[joint.parent].rotation @ joint.origin.rotation @ joint.axis
            along = float(own @ wanted) * ends[joint.parent]
            if abs(along) > _ALONG and joint.type in (JointType.REVOLUTE, JointType.CONTINUOUS):
                return joint.name, math.copysign(1.0, along)
        return None


def _head(name: str, at: Mapping[str, list[SdfJoint]], children: set[str]) -> str:
    """Return a link without parent joint from which a link hangs; the link itself in a ring."""
    if name not in at:
        return next(iter(at), '')
    seen: set[str] = set()
    start = name
    while name in children and name not in seen:
        seen.add(name)
        name = next(edge.parent for edge in at[name] if edge.child == name)
    return start if name in seen else name


def _is_endless(limits: JointLimits) -> bool:
    return limits.lower == -math.inf and limits.upper == math.inf


def declared_loops(
    joints: Iterable[SdfJoint],
    poses: Mapping[str, Pose],
    description: RobotDescription,
    findings: Findings,
) -> Iterator[Declared]:
    """Yield the loop joints for the common checks."""
    groups = rigid_groups(description)
    for joint in joints:
        kind = _LOOPS.get(joint.kind)
        if groups[joint.parent] == groups[joint.child]:
            message = f'left out: {joint.child!r} is fixed to {joint.parent!r} already'
            findings.warning('same-body', joint.place, message)
            continue
        if kind is None:
            message = 'closes a loop and is not simulated there, left out'
            findings.warning('not-simulated', joint.place, message, 'type', joint.kind)
            continue
        if joint.mimic is not None:
            message = 'a joint that closes a loop follows no other joint, ignored'
            findings.warning(
                'not-simulated', joint.place.child('mimic', joint.place.line), message
            )
        # the robot has a world link if any joint names it
        one = Declared(joint.name, kind, joint.place, joint.parent, joint.child)
        for number, name in enumerate((joint.parent, joint.child)):
            frame = poses[name].inverse @ joint.pose
            one.positions[number], one.rotations[number] = frame.position, frame.rotation
        one.axes[: len(joint.axes)] = joint.axes
        for key in ('axis', 'axis2')[: len(joint.axes)]:
            one.spots[key] = joint.place.child(key, joint.place.line)
        if kind in (ConstraintType.HINGE, ConstraintType.SLIDER):
            one.limits, one.dynamics = joint.limits[0], joint.dynamics[0]
        yield one
