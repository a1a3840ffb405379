"""
Joints of a stage, before trees and loops are found.

A joint is a list of motions between two frames: none for a fixed joint, one for a revolute or
prismatic joint, up to six for a generic one. Frames are without scale; angles are in rad.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
import math
from types import MappingProxyType

import numpy as np

from sim_bridge.description.model import JointDynamics, JointLimits, Mimic, Pose
from sim_bridge.description.poses import read_only
from sim_bridge.description.report import Findings
from sim_bridge.description.usd.stage import Prim, quaternion_pose, Stage
from sim_bridge.foundation.arrays import FloatArray

FIXED, BALL, DISTANCE, GENERIC = 'fixed', 'ball', 'distance', 'generic'
REVOLUTE, PRISMATIC = 'revolute', 'prismatic'
_KINDS = {
    'PhysicsFixedJoint': FIXED,
    'PhysicsRevoluteJoint': REVOLUTE,
    'PhysicsPrismaticJoint': PRISMATIC,
    'PhysicsSphericalJoint': BALL,
    'PhysicsDistanceJoint': DISTANCE,
    'PhysicsJoint': GENERIC,
}
# degree-of-freedom names in UsdPhysics, by PhysX and in drives
_SLIDES, _TURNS = ('transX', 'transY', 'transZ'), ('rotX', 'rotY', 'rotZ')
_AXIS_NAMES = 'XYZ'
WORLD = ''


@dataclass(frozen=True, eq=False)
class Motion:
    """
    One degree of freedom of a joint.

    name: unique in the joint, as in drives: 'angular', 'linear', 'transX' … 'rotZ'. turns: whether
    it is a rotation. axis: (3,) unit vector in the joint's frame.
    """

    name: str
    turns: bool
    axis: FloatArray
    limits: JointLimits = JointLimits()
    dynamics: JointDynamics = JointDynamics()
    # added to the angle or travel between the frames: MuJoCo's `ref`
    reference: float = 0.0


@dataclass(frozen=True, eq=False)
class UsdJoint:
    """
    Joint of a stage.

    body0, body1: paths of rigid bodies; WORLD for the world. frame0, frame1: joint frames in the
    bodies' frames, in the world for WORLD. motions: in the order in which they act from body0 to
    body1. distance: of a distance joint: least and greatest [m]. collides: whether its bodies
    collide. closes: whether it stays out of the tree.
    """

    prim: Prim
    kind: str
    body0: str
    body1: str
    frame0: Pose
    frame1: Pose
    motions: tuple[Motion, ...] = ()
    dynamics: JointDynamics = JointDynamics()
    distance: tuple[float, float] = (0.0, math.inf)
    collides: bool = False
    closes: bool = False
    mimics: Mapping[str, Mimic] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def reversed(self) -> UsdJoint:
        """The same joint from body1 to body0."""
        return replace(
            self,
            body0=self.body1,
            body1=self.body0,
            frame0=self.frame1,
            frame1=self.frame0,
            motions=tuple(
                replace(motion, axis=read_only(-motion.axis)) for motion in self.motions[::-1]
            ),
        )


def read_joints(stage: Stage, findings: Findings) -> Iterator[UsdJoint]:
    """Yield a stage's joints, in file order; those without effect are named."""
    for prim in stage.prims.values():
        if prim.kind in _KINDS:
            joint = _Reader(stage, prim, findings).read()
            if joint is not None:
                yield joint
        elif prim.kind.startswith('Physics') and prim.kind.endswith('Joint'):
            message = 'is not simulated: an unknown type of joint'
            findings.warning('not-simulated', prim.place, message)


class _Reader:
    """One joint on its way to plain data."""

    def __init__(self, stage: Stage, prim: Prim, findings: Findings):
        self._stage, self._prim, self._findings = stage, prim, findings

    def read(self) -> UsdJoint | None:
        prim, kind = self._prim, _KINDS[self._prim.kind]
        if not prim.flag('physics:jointEnabled', True):
            self._say('is disabled, and stays so')
            return None
        ends = prim.data.get('ends') or {}
        bodies, frames = [], []
        for number in (0, 1):
            end = ends.get(f'physics:body{number}')
            if end is not None and end['body'] is None:
                self._say(f'there is no prim {end["path"]!r}')
                return None
            bodies.append(WORLD if end is None else str(end['body']))
            frames.append(self._frame(number, end))
        if bodies[0] == bodies[1]:
            self._say('joins a body to itself, or the world to the world')
            return None
        joint = UsdJoint(
            prim,
            kind,
            bodies[0],
            bodies[1],
            frames[0],
            frames[1],
            self._motions(kind),
            self._dynamics(turns=True),
            self._distance(),
            prim.flag('physics:collisionEnabled', False),
            prim.flag('physics:excludeFromArticulation', False),
        )
        self._name_others(kind)
        return _simplified(joint)

    def _frame(self, number: int, end: Mapping[str, object] | None) -> Pose:
        """Return a joint frame in its body's frame; in the world without a body."""
        stage, prim = self._stage, self._prim
        position = prim.numbers(f'physics:localPos{number}', 3)
        rotation = prim.numbers(f'physics:localRot{number}', 4)
        position = np.zeros(3) if position is None else position
        if end is None:
            world = Pose(np.zeros(3), stage.up)
            return world @ quaternion_pose(position * stage.meters, rotation)
        matrix = np.array(end['matrix'], dtype=float).reshape(4, 4).T
        placed = stage.frame_of(matrix)
        scale = np.linalg.norm(matrix[:3, :3], axis=0)
        frame = placed @ quaternion_pose(position * scale * stage.meters, rotation)
        body = str(end['body'] or '')
        return stage.frame(stage.prims[body]).inverse @ frame if body else frame

    # --- motions -----------------------------------------------------------------------------

    def _motions(self, kind: str) -> tuple[Motion, ...]:
        prim = self._prim
        if kind in (REVOLUTE, PRISMATIC):
            axis = np.eye(3)[prim.axis('physics:axis', 'X')]
            turns = kind == REVOLUTE
            lower, upper = (
                prim.number(f'physics:{side}Limit', usual)
                for side, usual in (('lower', -math.inf), ('upper', math.inf))
            )
            name = 'angular' if turns else 'linear'
            return (self._motion(name, turns, read_only(axis), lower, upper),)
        if kind == GENERIC:
            return tuple(self._generic())
        return ()

    def _generic(self) -> Iterator[Motion]:
        """Yield a generic joint's free and limited motions: slides, then turns."""
        prim = self._prim
        for names, turns in ((_SLIDES, False), (_TURNS, True)):
            for number, name in enumerate(names):
                lower, upper = (
                    prim.number(f'limit:{name}:physics:{side}', usual)
                    for side, usual in (('low', -math.inf), ('high', math.inf))
                )
                # a lower limit above the upper one locks the motion
                if lower <= upper:
                    axis = read_only(np.eye(3)[number])
                    yield self._motion(name, turns, axis, lower, upper)
        if prim.instances('PhysicsLimitAPI').count('distance'):
            self._say('its distance limit is not simulated', 'limit:distance')

    def _motion(
        self, name: str, turns: bool, axis: FloatArray, lower: float, upper: float
    ) -> Motion:
        prim = self._prim
        unit = math.pi / 180.0 if turns else self._stage.meters
        own = {'lower': lower * unit, 'upper': upper * unit}
        if own['lower'] > own['upper']:
            # both schemas lock such a joint
            own = {'lower': 0.0, 'upper': 0.0}
        effort_unit = self._effort_unit(turns)
        effort = prim.number('urdf:limit:effort', math.inf)
        least: float | None = None
        low, high = (prim.number(f'mjc:actuatorfrcrange:{side}') for side in ('min', 'max'))
        if low < high:
            least, effort = (None, high) if low == -high else (low, high)
        elif effort > 0.0:
            effort *= effort_unit
        speed = min(
            prim.number('newton:velocityLimit', math.inf),
            prim.number('physxJoint:maxJointVelocity', math.inf),
        )
        if not 0.0 < speed < 1e6:
            speed = math.inf
        limits = JointLimits(
            own['lower'], own['upper'], effort if effort > 0.0 else math.inf, speed * unit
        )
        if least is not None and least <= 0.0 <= effort:
            limits = replace(limits, lower_effort=least)
        # MuJoCo's angles are in degrees, as limits are
        reference = prim.number('mjc:ref') * unit
        return Motion(name, turns, axis, limits, self._dynamics(turns, name), reference)

    def _effort_unit(self, turns: bool) -> float:
        """Return the stage's torque unit [N m] or force unit [N]."""
        length = self._stage.meters
        return self._stage.kilograms * length * (length if turns else 1.0)

    def _dynamics(self, turns: bool, motion: str = '') -> JointDynamics:
        """Return the passive properties by Newton's and PhysX's attributes, or by MuJoCo's."""
        prim = self._prim
        per = 180.0 / math.pi if turns else 1.0
        mass = self._stage.kilograms
        inertia = mass * self._stage.meters**2 if turns else mass
        effort = self._effort_unit(turns)
        armature = _first(prim, ('newton:armature', 'physxJoint:armature', 'mjc:armature'))
        friction = _first(prim, ('newton:friction', 'mjc:frictionloss'))
        stiffness = max(0.0, prim.number('mjc:stiffness'))
        unit = math.pi / 180.0 if turns else self._stage.meters
        damping = prim.number('newton:damping') * per * (inertia if turns else mass)
        if 'newton:damping' not in prim.values:
            damping = prim.number('mjc:damping')
        return JointDynamics(
            damping=max(0.0, damping),
            friction=friction * effort,
            armature=armature * inertia,
            stiffness=stiffness,
            reference=prim.number('mjc:springref') * unit if stiffness else 0.0,
        )

    def _distance(self) -> tuple[float, float]:
        least = self._prim.number('physics:minDistance', -1.0)
        most = self._prim.number('physics:maxDistance', -1.0)
        unit = self._stage.meters
        return max(0.0, least) * unit, most * unit if most >= 0.0 else math.inf

    def _name_others(self, kind: str) -> None:
        """Name the attributes without effect here."""
        prim = self._prim
        for name in ('breakForce', 'breakTorque'):
            if math.isfinite(prim.number(f'physics:{name}', math.inf)):
                self._say('joints of trees do not break', f'physics:{name}')
        if kind == BALL:
            for name in ('coneAngle0Limit', 'coneAngle1Limit'):
                if prim.number(f'physics:{name}', -1.0) >= 0.0:
                    self._say('ball joints have no limit here', f'physics:{name}')
        if prim.number('physxJoint:jointFriction') > 0.0:
            message = "PhysX's friction grows with the load by a number without unit"
            self._say(message, 'physxJoint:jointFriction')
        for name in ('newton:limitStiffness', 'newton:limitDamping'):
            if math.isfinite(prim.number(name, math.inf)):
                self._say('stops are rigid', name)
        for each in prim.apis:
            if each.startswith('PhysxLimitAPI') or each == 'MjcEqualityAPI':
                self._say('stops are rigid', each)

    def _say(self, message: str, attribute: str = '') -> None:
        self._findings.warning('not-simulated', self._prim.place, message, attribute)


def _first(prim: Prim, names: tuple[str, ...]) -> float:
    """Return the first authored number that is not negative."""
    return next((max(0.0, prim.number(name)) for name in names if name in prim.values), 0.0)


def _simplified(joint: UsdJoint) -> UsdJoint | None:
    """Return a generic joint by its proper kind: free, fixed, ball, revolute or prismatic."""
    if joint.kind != GENERIC:
        return joint
    is_driven = bool(joint.prim.instances('PhysicsDriveAPI'))
    turns = [motion for motion in joint.motions if motion.turns]
    if len(joint.motions) == 6 and not is_driven and all(map(_is_endless, joint.motions)):
        return None
    if not joint.motions:
        return replace(joint, kind=FIXED)
    if len(turns) == len(joint.motions) == 3 and not is_driven and all(map(_is_endless, turns)):
        return replace(joint, kind=BALL, motions=())
    if len(joint.motions) == 1:
        return replace(joint, kind=REVOLUTE if turns else PRISMATIC)
    return joint


def _is_endless(motion: Motion) -> bool:
    return math.isinf(motion.limits.lower) and math.isinf(motion.limits.upper)
