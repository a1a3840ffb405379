"""
Tree joints and loop joints of a robot, from the joints of its tree in the stage.

Each motion of a joint is one joint here; massless links are between the motions. The zero of a
joint is where its two frames coincide, whatever the initial poses of the bodies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
import math

import numpy as np

from sim_bridge.description.model import (
    ConstraintDescription,
    ConstraintType,
    JointDescription,
    JointDynamics,
    JointLimits,
    JointType,
    LinkDescription,
    Pose,
)
from sim_bridge.description.poses import read_only
from sim_bridge.description.report import Findings
from sim_bridge.description.usd.assembly import Series
from sim_bridge.description.usd.joints import (
    BALL,
    DISTANCE,
    FIXED,
    Motion,
    PRISMATIC,
    REVOLUTE,
    UsdJoint,
    WORLD,
)
from sim_bridge.foundation.names import free_name
from sim_bridge.foundation.rotation import matrix_from_axis_angle, rotation_vector

_X = read_only([1.0, 0.0, 0.0])
# greatest misfit by rounding between two joint frames in the initial pose [m; rad]
_MISFIT = 1e-3
_PARALLEL = 1e-6
# frames in single precision differ by this much at position 0
_ROUNDING = 1e-6


@dataclass(eq=False)
class Mechanism:
    """
    Joints of one robot on their way to a description.

    names: link names by body. root, base: root link and its pose in the world. joints: tree
    joints by name. links: massless links by name. of_motion: joint names by the joint's path and
    the motion's name. positions: initial joint positions by name. taken: link names in use.
    """

    names: Mapping[str, str]
    poses: Mapping[str, Pose]
    root: str
    base: Pose
    taken: set[str]
    findings: Findings
    joints: dict[str, JointDescription] = field(default_factory=dict)
    links: dict[str, LinkDescription] = field(default_factory=dict)
    of_motion: dict[tuple[str, str], str] = field(default_factory=dict)
    positions: dict[str, float] = field(default_factory=dict)

    def add(self, series: Series) -> None:
        """Add a joint series between two bodies, directed from the parent to the child."""
        parent = self.names.get(series[0].body0, self.root)
        last = series[-1]
        child = self.names[last.body1]
        # all joints in a series have their zero in this body's frame
        is_turned = _is_turned(series[0])
        for number, joint in enumerate(series):
            own = joint.frame0 if is_turned else joint.frame1
            origin = joint.frame0 if number == 0 else own
            is_last = joint is last
            end = (joint.frame1 if is_last else own).inverse
            link = child if is_last else self._link(joint.prim.name)
            self._add_joint(joint, parent, link, origin, end)
            parent = link
        self._measure(series)

    def _add_joint(
        self, joint: UsdJoint, parent: str, child: str, origin: Pose, end: Pose
    ) -> None:
        """Add one joint's motions. end: the child link's frame in the joint's frame."""
        if not joint.motions:
            kind = JointType.BALL if joint.kind == BALL else JointType.FIXED
            dynamics = JointDynamics()
            if kind is JointType.BALL:
                dynamics = JointDynamics(joint.dynamics.damping, 0.0, joint.dynamics.armature)
            name = self.of_motion[joint.prim.path, ''] = self._joint_name(joint, '')
            self.joints[name] = JointDescription(
                name, kind, parent, child, origin, _X, end, dynamics=dynamics
            )
            return
        if sum(motion.turns for motion in joint.motions) > 1:
            message = 'turns about several axes in series, one after the other'
            self.findings.warning('approximated', joint.prim.place, message)
        for number, motion in enumerate(joint.motions):
            is_last = number == len(joint.motions) - 1
            link = child if is_last else self._link(f'{joint.prim.name}_{motion.name}')
            name = self._joint_name(joint, motion.name if len(joint.motions) > 1 else '')
            self.of_motion[joint.prim.path, motion.name] = name
            self.joints[name] = JointDescription(
                name,
                _type(motion),
                parent,
                link,
                origin @ _moved(motion, -motion.reference),
                motion.axis,
                end if is_last else Pose(),
                motion.limits,
                motion.dynamics,
            )
            parent, origin = link, Pose()

    def _joint_name(self, joint: UsdJoint, motion: str) -> str:
        wanted = f'{joint.prim.name}_{motion}' if motion else joint.prim.name
        return free_name(wanted, self.joints.__contains__)

    def _link(self, wanted: str) -> str:
        name = free_name(f'{wanted}_link', self.taken.__contains__)
        self.taken.add(name)
        self.links[name] = LinkDescription(name)
        return name

    def add_floating(self, body: str) -> None:
        """Add a body without a way to the root."""
        link = self.names[body]
        name = free_name(f'{link}_floating', self.joints.__contains__)
        self.joints[name] = JointDescription(
            name, JointType.FLOATING, self.root, link, self.base.inverse @ self.poses[body], _X
        )

    # --- initial positions -------------------------------------------------------------------

    def _measure(self, series: Series) -> None:
        """Note a series' initial positions."""
        first, last = series[0], series[-1]
        parent = self.poses[first.body0] if first.body0 != WORLD else Pose()
        between = parent.inverse @ self.poses[last.body1]
        if len(series) > 1:
            rest = first.frame0.inverse @ between @ first.frame1
            values: list[float] = []
        else:
            values, rest = _coordinates(first, first.frame0.inverse @ between @ first.frame1)
        ends = np.concatenate([rest.position, rotation_vector(rest.rotation)])
        if first.kind == BALL:
            # a one-axis joint has no position for its initial orientation
            ends[3:] = 0.0
        if np.abs(ends).max() > _MISFIT:
            message = (
                f'its frames are {np.linalg.norm(ends[:3]):.3g} m and '
                f'{np.linalg.norm(ends[3:]):.3g} rad apart in the initial pose; they are joined'
            )
            self.findings.warning('joint-frames', first.prim.place, message)
        for joint in series:
            for number, motion in enumerate(joint.motions):
                value = values[number] if values else 0.0
                name = self.of_motion[joint.prim.path, motion.name]
                value = motion.reference + (value if abs(value) > _ROUNDING else 0.0)
                if value:
                    self.positions[name] = value

    # --- loops -------------------------------------------------------------------------------

    def loop(self, joint: UsdJoint, taken: set[str]) -> ConstraintDescription | None:
        """Return a loop joint; None, named, for types without counterpart."""
        if joint.body0 == WORLD:
            joint = joint.reversed
        found = _constraint(joint)
        if found is None:
            message = 'closes a loop, and this combination of motions is not simulated there'
            self.findings.warning('not-simulated', joint.prim.place, message)
            return None
        kind, axis, axis2, motion = found
        one, other = joint.frame0, joint.frame1
        if joint.body1 == WORLD:
            # a robot's root with a joint to the world stands still
            other = self.base.inverse @ other
        name = free_name(joint.prim.name, (taken | self.joints.keys()).__contains__)
        distance = joint.distance[1] if kind is ConstraintType.DISTANCE else None
        return ConstraintDescription(
            name,
            kind,
            self.names[joint.body0],
            self.names.get(joint.body1, self.root),
            one.position,
            other.position,
            axis=None if axis is None else read_only(one.rotation @ axis),
            axis2=None if axis2 is None else read_only(other.rotation @ axis2),
            rotation=None
            if kind in (ConstraintType.BALL, ConstraintType.DISTANCE)
            else read_only(one.rotation @ other.rotation.T),
            distance=distance,
            limits=JointLimits() if motion is None else motion.limits,
            dynamics=JointDynamics() if motion is None else motion.dynamics,
        )


def _constraint(
    joint: UsdJoint,
) -> tuple[ConstraintType, np.ndarray | None, np.ndarray | None, Motion | None] | None:
    """Return type, axes in the joint's frame, and the motion with limits."""
    simple = {FIXED: ConstraintType.FIXED, BALL: ConstraintType.BALL}
    if joint.kind in simple:
        return simple[joint.kind], None, None, None
    if joint.kind == DISTANCE:
        least, most = joint.distance
        if most == 0.0:
            return ConstraintType.BALL, None, None, None
        return (ConstraintType.DISTANCE, None, None, None) if least == most else None
    first = joint.motions[0]
    if joint.kind == REVOLUTE:
        return ConstraintType.HINGE, first.axis, None, first
    if joint.kind == PRISMATIC:
        return ConstraintType.SLIDER, first.axis, None, first
    turns = [motion for motion in joint.motions if motion.turns]
    slides = [motion for motion in joint.motions if not motion.turns]
    if len(turns) == 2 and not slides:
        return ConstraintType.UNIVERSAL, turns[0].axis, turns[1].axis, None
    if len(turns) == 1 and len(slides) == 1 and _along(turns[0], slides[0]):
        return ConstraintType.PISTON, slides[0].axis, None, slides[0]
    if len(turns) == 1 and len(slides) == 2 and not any(_along(turns[0], s) for s in slides):
        return ConstraintType.PLANAR, turns[0].axis, None, None
    return None


def _along(one: Motion, other: Motion) -> bool:
    return bool(abs(float(one.axis @ other.axis)) > 1.0 - _PARALLEL)


def _is_turned(joint: UsdJoint) -> bool:
    """Return whether a joint leads from the second body in the file to the first."""
    end = (joint.prim.data.get('ends') or {}).get('physics:body0')
    return joint.body0 != ('' if end is None else str(end['body'] or ''))


def _type(motion: Motion) -> JointType:
    if not motion.turns:
        return JointType.PRISMATIC
    is_endless = math.isinf(motion.limits.lower) and math.isinf(motion.limits.upper)
    return JointType.CONTINUOUS if is_endless else JointType.REVOLUTE


def _moved(motion: Motion, value: float) -> Pose:
    """Return the child frame in the joint frame for a motion's value."""
    if motion.turns:
        return Pose(np.zeros(3), read_only(matrix_from_axis_angle(motion.axis, value)))
    return Pose(read_only(value * motion.axis))


def _coordinates(joint: UsdJoint, displaced: Pose) -> tuple[list[float], Pose]:
    """
    Return the values of a joint's motions, and the displacement that is left.

    displaced: frame1 in frame0. Slides come before turns, so that they are its position; the
    turns are angles in series.
    """
    values = []
    turns = [motion for motion in joint.motions if motion.turns]
    angles = iter(_angles(turns, displaced.rotation))
    for motion in joint.motions:
        if motion.turns:
            values.append(next(angles))
        else:
            # turned around, slides come after the turns
            position = displaced.position
            if joint.motions[0].turns:
                position = displaced.rotation.T @ position
            values.append(float(motion.axis @ position))
    reached = Pose()
    for motion, value in zip(joint.motions, values, strict=True):
        reached = reached @ _moved(motion, value)
    return values, reached.inverse @ displaced


def _angles(turns: list[Motion], rotation: np.ndarray) -> Iterator[float]:
    """Yield the angles for up to three turns about different axes, one after the other."""
    for number, motion in enumerate(turns):
        others = turns[number + 1 :]
        if not others:
            yield float(motion.axis @ rotation_vector(rotation))
            return
        second, last = others[0].axis, np.cross(motion.axis, others[0].axis)
        if len(others) == 1:
            # turned by the first angle alone
            column = rotation @ second
            angle = math.atan2(
                float(np.cross(second, column) @ motion.axis), float(second @ column)
            )
        else:
            third = others[1].axis
            # turned about the second axis, it stays at right angles to it
            column = rotation @ third
            sign = math.copysign(1.0, float(np.cross(motion.axis, second) @ third))
            angle = math.atan2(-sign * float(column @ second), sign * float(column @ last))
        yield angle
        rotation = matrix_from_axis_angle(motion.axis, -angle) @ rotation
