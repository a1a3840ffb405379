"""Drives: their wheels derived from a few dimensions, and checks against the robot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
import math
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.description.drives import DriveDescription, SteeringDescription, WheelDescription
from sim_bridge.description.mechanism.loops import link_poses
from sim_bridge.description.mechanism.tree import is_tree
from sim_bridge.description.model import JointType, RobotDescription
from sim_bridge.description.report import Findings, Place, unknown

if TYPE_CHECKING:
    from sim_bridge.description.model import Pose

# relative difference from the robot's own dimension, above which a given one is an error
_TOLERANCE = 0.02


def differential(
    left: Sequence[str],
    right: Sequence[str],
    separation: float,
    left_radius: float,
    right_radius: float,
) -> tuple[WheelDescription, ...]:
    """Return wheels on both sides at a distance `separation` [m]."""
    sides = ((left, 0.5 * separation, left_radius), (right, -0.5 * separation, right_radius))
    return tuple(
        WheelDescription(joint, (0.0, y), radius)
        for joints, y, radius in sides
        for joint in joints
    )


def mecanum(
    joints: Sequence[str],
    length: float,
    width: float,
    radius: float,
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> tuple[WheelDescription, ...]:
    """
    Return four wheels whose rollers form an X, seen from above.

    joints: front left, front right, rear right, rear left. length: distance between the axles [m].
    width: distance between the sides [m]. offset: x, y [m] and yaw [rad] of the drive's frame
    relative to the wheels' centre.
    """
    x, y, yaw = offset
    c, s = math.cos(yaw), math.sin(yaw)
    wheels = []
    for joint, (forward, left) in zip(joints, ((1, 1), (1, -1), (-1, -1), (-1, 1)), strict=True):
        dx, dy = 0.5 * forward * length - x, 0.5 * left * width - y
        wheels.append(
            WheelDescription(
                joint,
                (c * dx + s * dy, c * dy - s * dx),
                radius,
                -yaw,
                0.25 * math.pi * forward * left,
            )
        )
    return tuple(wheels)


def omni(
    joints: Sequence[str], distance: float, offset: float, radius: float
) -> tuple[WheelDescription, ...]:
    """
    Return wheels on a circle, at equal angles; equal positive speeds turn the vehicle right.

    distance: from the middle to the wheels [m]. offset: angle from x to the first wheel [rad].
    """
    wheels = []
    for number, joint in enumerate(joints):
        angle = offset + 2.0 * math.pi * number / len(joints)
        place = distance * math.cos(angle), distance * math.sin(angle)
        wheels.append(WheelDescription(joint, place, radius, angle - 0.5 * math.pi))
    return tuple(wheels)


def steered(
    traction: Sequence[str],
    steering: Sequence[str],
    wheelbase: float,
    tracks: tuple[float, float],
    radius: float,
    driven: str,
) -> tuple[tuple[WheelDescription, ...], tuple[SteeringDescription, ...]]:
    """
    Return the wheels and the steering for a car, tricycle or bicycle.

    traction, steering: one joint in the middle, or the left and the right joint. wheelbase:
    distance from the other axle forwards to the steered axle [m], negative if behind. tracks:
    widths of the driven and the steered axle [m]. driven: driven axle, 'steered' or 'fixed'.
    """
    axles = tuple(
        SteeringDescription(joint, (wheelbase, y))
        for joint, y in zip(steering, _across(steering, tracks[1]), strict=True)
    )
    at = wheelbase if driven == 'steered' else 0.0
    wheels = tuple(
        WheelDescription(
            joint,
            (at, y),
            radius,
            steering=axles[min(k, len(axles) - 1)].joint if driven == 'steered' else '',
        )
        for k, (joint, y) in enumerate(zip(traction, _across(traction, tracks[0]), strict=True))
    )
    return wheels, axles


def with_motor_torques(
    description: RobotDescription, drives: Iterable[DriveDescription]
) -> RobotDescription:
    """Return a description whose wheel joints have the effort limits that their drives give."""
    joints = dict(description.joints)
    for wheel in (wheel for drive in drives for wheel in drive.wheels):
        if wheel.effort is not None:
            joint = joints[wheel.joint]
            limits = replace(joint.limits, effort=wheel.effort, lower_effort=None)
            joints[wheel.joint] = replace(joint, limits=limits)
    return replace(description, joints=MappingProxyType(joints))


def distance_across(
    description: RobotDescription, left: Iterable[str], right: Iterable[str]
) -> float | None:
    """Return the distance between left and right joints along y [m]; None if 0, NaN if unknown."""
    return abs(_apart(description, left, right, 1)) or None


def distance_along(
    description: RobotDescription, front: Iterable[str], rear: Iterable[str]
) -> float | None:
    """Return the distance between front and rear joints along x [m]; None if 0, NaN if unknown."""
    return _apart(description, front, rear, 0) or None


def wheel_radius(description: RobotDescription, joints: Iterable[str]) -> float | None:
    """
    Return the radius [m] of the first wheel with a round collision shape.

    None without such a shape, NaN if a joint is unknown.
    """
    names = list(joints)
    if not description.joints.keys() >= set(names):
        return math.nan
    for name in names:
        for shape in description.links[description.joints[name].child].collisions:
            if shape.kind in ('cylinder', 'sphere', 'capsule'):
                return shape.size[0]
    return None


def check_drives(
    drives: Iterable[tuple[DriveDescription, Place]],
    description: RobotDescription,
    findings: Findings,
) -> tuple[DriveDescription, ...]:
    """Return the drives whose joints exist and belong to no other drive; report the others."""
    kept: list[DriveDescription] = []
    taken = {joint: each.name for each in description.drives for joint in each.joints}
    # only a tree defines poses; other reports cover other mechanisms
    poses = link_poses(description) if is_tree(description) else {}
    for drive, place in drives:
        is_sound = True
        for number, name in enumerate(drive.joints):
            problem = _problem(name, description)
            if name in drive.joints[:number]:
                problem = 'is named twice'
            if name in taken:
                problem = f'drive {taken[name]!r} has this joint already'
            if problem:
                findings.error('drive-joint', place, problem, value=name)
                is_sound = False
        if any(drive.name == other.name for other in (*description.drives, *kept)):
            findings.error('duplicate-name', place, 'a drive has this name already', 'name')
            is_sound = False
        if is_sound:
            _compare(drive, description, poses, place, findings)
            taken |= dict.fromkeys(drive.joints, drive.name)
            kept.append(replace(drive, offset=_offset(drive, description, poses)))
    return tuple(kept)


def _across(joints: Sequence[str], width: float) -> tuple[float, ...]:
    return (0.0,) if len(joints) == 1 else (0.5 * width, -0.5 * width)


def _apart(
    description: RobotDescription, ones: Iterable[str], others: Iterable[str], axis: int
) -> float:
    """Return the distance between the joints' mean positions along a root link axis [m]."""
    groups = list(ones), list(others)
    is_known = description.joints.keys() >= {*groups[0], *groups[1]}
    if not is_known or not is_tree(description):
        return math.nan
    poses = link_poses(description)
    one, other = (
        np.mean([poses[description.joints[name].child].position for name in group], axis=0)
        for group in groups
    )
    return float((one - other)[axis])


def _problem(name: str, description: RobotDescription) -> str:
    """Return the reason why a joint cannot be driven, '' if it can."""
    joint = description.joints.get(name)
    if joint is None:
        return unknown('joint', name, description.joints)
    if joint.type not in (JointType.CONTINUOUS, JointType.REVOLUTE):
        return f'a {joint.type.value} joint turns no wheel'
    if joint.mimic is not None:
        return f'mimics joint {joint.mimic.joint!r}'
    return ''


def _offset(
    drive: DriveDescription, description: RobotDescription, poses: dict[str, Pose]
) -> tuple[float, float]:
    """Return x, y of the drive's frame in the base frame [m], from its joint positions."""
    if not poses:
        return 0.0, 0.0
    base = poses[drive.base_frame if drive.base_frame in poses else description.root]
    # a steered wheel is placed at its steering joint
    places = [(wheel.steering or wheel.joint, wheel.position) for wheel in drive.wheels]
    places += [(each.joint, each.position) for each in drive.steering]
    if not places:
        return 0.0, 0.0
    described = np.mean([place for _, place in places], axis=0)
    own = np.mean([poses[description.joints[name].child].position for name, _ in places], axis=0)
    x, y = np.round((base.rotation.T @ (own - base.position))[:2] - described, 12).tolist()
    return x, y


def _compare(
    drive: DriveDescription,
    description: RobotDescription,
    poses: dict[str, Pose],
    place: Place,
    findings: Findings,
) -> None:
    """Warn of wheels whose distance, radius or direction differs from the robot's."""
    if not poses or not drive.wheels:
        return
    at = {name: poses[description.joints[name].child] for name in drive.joints}
    middle = np.mean([at[wheel.joint].position[:2] for wheel in drive.wheels], axis=0)
    described = np.mean([wheel.position for wheel in drive.wheels], axis=0)
    for wheel in drive.wheels:
        across = np.array([-math.sin(wheel.heading), math.cos(wheel.heading), 0.0])
        axis = at[wheel.joint].rotation @ description.joints[wheel.joint].axis
        own = abs(float((at[wheel.joint].position[:2] - middle) @ across[:2]))
        given = abs(float((np.array(wheel.position) - described) @ across[:2]))
        if wheel.steering == '' and float(axis @ across) < -0.5:
            findings.warning(
                'drive-geometry',
                place,
                'turns backwards: its axis points to the right of the '
                'drive direction at positive speeds',
                value=wheel.joint,
            )
        if wheel.roller == 0.5 * math.pi and own and abs(given - own) > _TOLERANCE * own:
            findings.warning(
                'drive-geometry',
                place,
                f'is {given:.4g} m off the middle in the drive, and {own:.4g} m in the robot',
                value=wheel.joint,
            )
        radius = wheel_radius(description, [wheel.joint])
        if radius is not None and abs(wheel.radius - radius) > _TOLERANCE * radius:
            findings.warning(
                'drive-geometry',
                place,
                f'has the radius {wheel.radius:.4g} m in the drive, and {radius:.4g} m in its '
                'collision geometry',
                value=wheel.joint,
            )
        if radius is not None and wheel.roller != 0.5 * math.pi:
            _compare_roller(wheel, description, poses, place, findings)


def _compare_roller(
    wheel: WheelDescription,
    description: RobotDescription,
    poses: dict[str, Pose],
    place: Place,
    findings: Findings,
) -> None:
    """Warn of a mecanum wheel with neither rollers nor the friction that imitates rollers."""
    link = description.joints[wheel.joint].child
    contact = description.links[link].contact
    rolls = wheel.heading + wheel.roller
    free = np.array([math.cos(rolls), math.sin(rolls), 0.0])
    given = (
        poses[contact.direction_link].rotation @ contact.direction
        if (contact.direction and contact.direction_link not in ('', link))
        else free
    )
    if abs(float(given @ free)) > _TOLERANCE * float(np.linalg.norm(given)):
        x, y = (round(math.sqrt(2.0) * each, 3) for each in (free[1], -free[0]))
        findings.warning(
            'drive-geometry',
            place,
            'has neither rollers nor friction imitating rollers: <mu2>0</mu2> and <fdir1 '
            f'gz:expressed_in="{description.root}">{x:g} {y:g} 0</fdir1> for its link',
            value=wheel.joint,
        )
