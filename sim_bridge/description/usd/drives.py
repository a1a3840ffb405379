"""
Drives and MuJoCo's actuators as actuators of a robot; mimic joints.

A drive is a spring and a damper to a target: force = stiffness (target - position) + damping
(target velocity - velocity), within the greatest force. The actuator's control is added to the
target of the file: to the position, or to the velocity of a drive without stiffness.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
import math

import numpy as np

from sim_bridge.description.actuators import (
    ActuatorDescription,
    ENDLESS,
    JointTransmission,
    Range,
    SiteFrame,
    SiteTransmission,
    Transmission,
)
from sim_bridge.description.mechanism.loops import link_poses
from sim_bridge.description.mechanism.tree import check_mimic_limits, parents_first, resolve_mimics
from sim_bridge.description.model import (
    JointDescription,
    JointType,
    Mimic,
    ONE_AXIS,
    RobotDescription,
)
from sim_bridge.description.report import Findings
from sim_bridge.description.usd.stage import Prim, Stage
from sim_bridge.foundation.names import free_name

_DRIVE, _PHYSX_MIMIC, _NEWTON_MIMIC = 'PhysicsDriveAPI', 'PhysxMimicJointAPI', 'NewtonMimicAPI'
_DYNAMICS = ('none', 'integrator', 'filter', 'filterexact')
_COUNTS = {'none': 0, 'fixed': 1, 'affine': 3}

Names = Mapping[tuple[str, str], str]
"""Joint names by the joint's path in the stage and its motion's name."""


class Drives:
    """Actuators on one robot."""

    def __init__(
        self, stage: Stage, description: RobotDescription, of_motion: Names, findings: Findings
    ):
        """Prepare. of_motion: the robot's joints."""
        self._stage, self._robot, self._names = stage, description, of_motion
        self._findings = findings
        self._taken: set[str] = set()

    def actuators(self, sites: Mapping[str, SiteFrame]) -> tuple[ActuatorDescription, ...]:
        """Return drives and actuators. sites: frames on the robot by path."""
        found: list[ActuatorDescription] = []
        for path in dict.fromkeys(path for path, _ in self._names):
            prim = self._stage.prims[path]
            for word in prim.instances(_DRIVE):
                found += self._drive(prim, word)
        for prim in self._stage.of('MjcActuator'):
            found += self._mujoco(prim, sites)
        return tuple(found)

    def _name(self, wanted: str) -> str:
        name = free_name(wanted, self._taken.__contains__)
        self._taken.add(name)
        return name

    # --- drives ------------------------------------------------------------------------------

    def _drive(self, prim: Prim, word: str) -> Iterator[ActuatorDescription]:
        name = self._names.get((prim.path, word), '')
        if not name or self._robot.joints[name].type not in ONE_AXIS:
            message = 'is not simulated: the joint has no such single motion'
            self._findings.warning('not-simulated', prim.place, message, f'drive:{word}')
            return

        def number(key: str, usual: float = 0.0) -> float:
            return prim.number(f'drive:{word}:physics:{key}', usual)

        turns = self._robot.joints[name].type is not JointType.PRISMATIC
        length, mass = self._stage.meters, self._stage.kilograms
        unit = math.pi / 180.0 if turns else length
        force = mass * length * (length if turns else 1.0)
        stiffness, damping = (max(0.0, number(key)) for key in ('stiffness', 'damping'))
        most = number('maxForce', math.inf)
        if not (stiffness or damping) or most <= 0.0:
            return
        gain = force / unit
        if prim.word(f'drive:{word}:physics:type', 'force') == 'acceleration':
            # per degree, as for forces; the inertia makes it a torque
            gain = self._inertia(name) / (unit if turns else 1.0)
            message = 'its accelerations act on the inertia of the initial pose'
            self._findings.warning('approximated', prim.place, message, f'drive:{word}')
        stiffness, damping = stiffness * gain, damping * gain
        target, speed = number('targetPosition') * unit, number('targetVelocity') * unit
        yield ActuatorDescription(
            self._name(name),
            JointTransmission(name),
            force_range=(-most * force, most * force) if math.isfinite(most) else ENDLESS,
            gain=(stiffness or damping, 0.0, 0.0),
            bias=(stiffness * target + damping * speed, -stiffness, -damping),
        )

    def _inertia(self, name: str) -> float:
        """Return the mass or inertia that a joint moves in the initial pose [kg; kg m²]."""
        robot, joint = self._robot, self._robot.joints[name]
        poses = link_poses(robot, robot.positions)
        below = {joint.child}
        for each in parents_first(robot):
            if each.parent in below:
                below.add(each.child)
        frame = poses[joint.parent] @ joint.origin
        axis, total = frame.rotation @ joint.axis, joint.dynamics.armature
        for link in below:
            own = robot.links[link].inertial
            if own is None:
                continue
            if joint.type is JointType.PRISMATIC:
                total += own.mass
                continue
            placed = poses[link] @ own.pose
            arm = np.cross(axis, placed.position - frame.position)
            inward = placed.rotation.T @ axis
            total += float(inward @ own.inertia @ inward) + own.mass * float(arm @ arm)
        return total

    # --- MuJoCo's actuators ------------------------------------------------------------------

    def _mujoco(self, prim: Prim, sites: Mapping[str, SiteFrame]) -> Iterator[ActuatorDescription]:
        target = prim.target('mjc:target')
        transmission = self._transmission(prim, target, sites)
        if transmission is None:
            return
        words = {
            key: prim.word(f'mjc:{key}Type', usual)
            for key, usual in (('gain', 'fixed'), ('bias', 'none'), ('dyn', 'none'))
        }
        if any(words[key] not in _COUNTS for key in ('gain', 'bias')) or (
            words['dyn'] not in _DYNAMICS
        ):
            message = f'is not simulated: actuators with {", ".join(words.values())}'
            self._findings.warning('not-simulated', prim.place, message)
            return
        constants = prim.numbers('mjc:dynPrm', 10)
        yield ActuatorDescription(
            self._name(prim.name),
            transmission,
            gear=self._gear(prim, transmission),
            control_range=_range(prim, 'ctrl'),
            force_range=_range(prim, 'force'),
            activation_range=_range(prim, 'act'),
            gain=_coefficients(prim, 'gain', words['gain'], 1.0),
            bias=_coefficients(prim, 'bias', words['bias'], 0.0),
            dynamics=words['dyn'],
            time_constant=1.0 if constants is None else float(constants[0]),
            uses_next=prim.flag('mjc:actEarly', False),
        )

    def _transmission(
        self, prim: Prim, target: str, sites: Mapping[str, SiteFrame]
    ) -> Transmission | None:
        if target in sites:
            reference = prim.target('mjc:refSite')
            if prim.target('mjc:sliderSite') or (reference and reference not in sites):
                message = 'is not simulated: its transmission'
                self._findings.warning('not-simulated', prim.place, message)
                return None
            return SiteTransmission(sites[target], sites.get(reference))
        names = [name for (path, _), name in self._names.items() if path == target]
        if len(names) != 1:
            return None
        return JointTransmission(names[0], prim.flag('mjc:jointInParent', False))

    def _gear(self, prim: Prim, transmission: Transmission) -> tuple[float, ...]:
        gear = prim.numbers('mjc:gear', 6)
        values = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0] if gear is None else gear.tolist()
        if isinstance(transmission, SiteTransmission):
            return tuple(values)
        assert isinstance(transmission, JointTransmission)
        is_ball = self._robot.joints[transmission.joint].type is JointType.BALL
        return tuple(values[: 3 if is_ball else 1])


def _range(prim: Prim, name: str) -> Range:
    lower, upper = (prim.number(f'mjc:{name}Range:{side}') for side in ('min', 'max'))
    limited = prim.word(f'mjc:{name}Limited', 'auto')
    if limited == 'false' or not (lower < upper):
        return ENDLESS
    return lower, upper


def _coefficients(prim: Prim, name: str, word: str, usual: float) -> tuple[float, float, float]:
    values = prim.numbers(f'mjc:{name}Prm', 10)
    given = [usual, 0.0, 0.0] if values is None else values[:3].tolist()
    count = _COUNTS[word]
    first, second, third = (given[k] if k < count else 0.0 for k in range(3))
    return first, second, third


# --- mimic joints ------------------------------------------------------------------------------


def with_mimics(
    joints: Mapping[str, JointDescription], stage: Stage, of_motion: Names, findings: Findings
) -> dict[str, JointDescription]:
    """Return a robot's joints with Newton's and PhysX's mimic rules."""
    found = dict(joints)
    for (path, _), name in of_motion.items():
        prim = stage.prims[path]
        for leader, factor, offset, attribute in _rules(prim):
            names = [each for (other, _), each in of_motion.items() if other == leader]
            if len(names) != 1 or any(found[each].type not in ONE_AXIS for each in (name, *names)):
                message = 'a joint follows one other joint of its robot, and both have one axis'
                findings.warning('not-simulated', prim.place, message, attribute)
                continue
            turns = found[name].type is not JointType.PRISMATIC
            unit = math.pi / 180.0 if turns else stage.meters
            found[name] = replace(found[name], mimic=Mimic(names[0], factor, offset * unit))
    if any(joint.mimic is not None for joint in found.values()):
        found = resolve_mimics(found, findings)
        check_mimic_limits(found, findings)
    return found


def _rules(prim: Prim) -> Iterator[tuple[str, float, float, str]]:
    """Yield each rule's leader path, factor, offset and attribute."""
    leader = prim.target('newton:mimicJoint')
    if prim.has(_NEWTON_MIMIC) and leader and prim.flag('newton:mimicEnabled', True):
        factor, offset = prim.number('newton:mimicCoef1', 1.0), prim.number('newton:mimicCoef0')
        yield leader, factor, offset, 'newton:mimicJoint'
    for word in prim.instances(_PHYSX_MIMIC):
        leader = prim.target(f'physxMimicJoint:{word}:referenceJoint')
        if leader:
            gearing = prim.number(f'physxMimicJoint:{word}:gearing', 1.0)
            offset = prim.number(f'physxMimicJoint:{word}:offset')
            yield leader, -gearing, -offset, f'physxMimicJoint:{word}'
