"""Adding a scene's joints to a world, and their settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
import math
from typing import Any, TypeVar

from sim_bridge.description.scene.joints import (
    ANGULAR_MOTOR,
    JointSettings,
    MOTOR,
    OF_CONSTRAINTS,
    SceneJoint,
    WORLD,
)
from sim_bridge.description.scene.values import Values
from sim_bridge.foundation.errors import InvalidValueError, StateError, UnknownNameError
from sim_bridge.foundation.names import counted
from sim_bridge.robots.joints.any_joint import AnyJoint
from sim_bridge.robots.joints.axis import Axis
from sim_bridge.robots.joints.joint import ConstraintJoint, Joint
from sim_bridge.robots.joints.spec import TYPES
from sim_bridge.robots.link import Link
from sim_bridge.robots.owners import World
from sim_bridge.robots.robot import Robot

_Found = TypeVar('_Found')
SetAll = Callable[[object, Values], None]
"""Sets an object's attributes, and records refused values with their place in the file."""


def add_scene_joint(world: World, joint: SceneJoint, set_all: SetAll) -> Joint | ConstraintJoint:
    """Add a joint, without its groups; errors name the scene file's keys."""
    try:
        added = _added(world, joint)
    except InvalidValueError as err:
        if err.quantity in ('first', 'second'):
            raise InvalidValueError(
                'between',
                joint.between,
                f'two links that can move relative to each other, or a link and {WORLD}',
            ) from None
        raise
    for key in OF_CONSTRAINTS & joint.settings.own.items.keys():
        if isinstance(added, Joint):
            raise InvalidValueError(
                key,
                joint.settings.own.items[key],
                'tree: false beside it, because the joint is part of a tree',
            )
    set_joint(added, joint.settings, set_all)
    if not joint.enabled:
        if not isinstance(added, ConstraintJoint):
            raise StateError(f'enabled: joint {joint.name!r} is part of a tree; add tree: false')
        added.is_broken = True
    return added


def join_groups(world: World, joint: SceneJoint) -> None:
    """Add a world joint to its groups."""
    for name in joint.groups:
        if name not in world.joint_groups:
            world.joint_groups.add(name)
        world.joint_groups[name].add(world.joints[joint.name])


def set_joint(joint: AnyJoint, settings: JointSettings, set_all: SetAll) -> None:
    """Set the attributes of a joint and its axes given in a scene."""
    targets: list[tuple[AnyJoint | Axis, Values]] = [(joint, settings.own)]
    for target, values in (*targets, *zip(joint.axes, settings.axes, strict=False)):
        if {'lower', 'upper'} <= set(values.items):
            target.lower = -math.inf
        set_all(target, values)
    if len(settings.axes) > len(joint.axes):
        raise InvalidValueError(
            'axes', len(settings.axes), f'at most {counted(len(joint.axes), "entry", "entries")}'
        )


def part_of(robots: Mapping[str, Robot], name: str) -> Robot | Link:
    """Return a robot, or a link given as robot/link; names may contain a /."""
    if name in robots:
        return robots[name]
    robot, _, link = name.rpartition('/')
    if robot in robots:
        return robots[robot].link(link)
    raise UnknownNameError('robot or robot/link', name, robots, 'the world')


def _added(world: World, joint: SceneJoint) -> Joint | ConstraintJoint:
    if joint.kind == MOTOR:
        name, number = joint.beside
        beside = _named('beside', name, partial(_joint_of, world))
        if number not in range(len(beside.axes)):
            raise InvalidValueError(
                'axis_number',
                number,
                f'a number from 0 to below {len(beside.axes)}, the axes of joint {name!r}',
            )
        return world.add_motor(beside.axes[int(number)], name=joint.name)
    first, second = (
        None if name == WORLD else _named('between', name, partial(link_of, world.robots))
        for name in joint.between
    )
    arguments: dict[str, Any] = dict(joint.arguments.items)
    if joint.kind == ANGULAR_MOTOR:
        return world.add_angular_motor(first, second, name=joint.name, **arguments)
    if joint.kind not in TYPES:
        raise InvalidValueError(
            'type', joint.kind, f'one of {", ".join((*TYPES, ANGULAR_MOTOR, MOTOR))}'
        )
    return world.add_joint(joint.kind, first, second, name=joint.name, **arguments)


def link_of(robots: Mapping[str, Robot], name: str) -> Link:
    """Return a link given as robot/link, or a robot's only link."""
    part = part_of(robots, name)
    if isinstance(part, Link):
        return part
    if len(part.links) > 1:
        raise UnknownNameError(
            'robot/link', name, [f'{name}/{link.name}' for link in part.links], 'the world'
        )
    return part.root_link


def _named(key: str, name: str, find: Callable[[str], _Found]) -> _Found:
    """Return the object with a name given at a key; raise InvalidValueError if unknown."""
    try:
        return find(name)
    except UnknownNameError as err:
        raise InvalidValueError(key, name, f'a known name; {err}') from None


def _joint_of(world: World, name: str) -> Joint | ConstraintJoint:
    """Return a world joint, or a robot's joint given as robot/joint."""
    robot, _, own = name.rpartition('/')
    if name not in world.joints and robot in world.robots:
        return world.robots[robot].joint(own)
    return world.joints[name]
