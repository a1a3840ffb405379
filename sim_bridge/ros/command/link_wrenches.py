"""Forces and torques on links by messages (gz-sim's ApplyLinkWrench, gazebo_ros_force)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TYPE_CHECKING

from geometry_msgs.msg import Wrench as WrenchMessage
import numpy as np

from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.ros.command.plugin_parts import Accept, Change
from sim_bridge.ros.wire.qos import optional_messages

if TYPE_CHECKING:
    from sim_bridge.description.plugin_inputs import EntityWrenchInput, LinkWrenchInput
    from sim_bridge.foundation.arrays import FloatArray
    from sim_bridge.robots.robot import Robot

_GREATEST = 1e9  # greater forces and torques are mistakes [N, N m]
_MODEL, _LINK = 2, 3  # types in ros_gz_interfaces/Entity


def accept_link_wrench(entry: LinkWrenchInput, robot: Robot, accept: Accept) -> None:
    """Let messages set one field's force and torque."""
    name = f'{robot.name}/{entry.field}'

    def prepare(message: WrenchMessage) -> Change:
        force, torque = _vectors(message, entry.topic)

        def obey() -> None:
            _set(robot, name, force, torque)

        return obey

    accept(entry.topic, WrenchMessage, prepare)


def accept_entity_wrenches(entry: EntityWrenchInput, robot: Robot, accept: Accept) -> None:
    """Let messages push links by name, if ros_gz_interfaces is installed."""
    messages = optional_messages('ros_gz_interfaces')
    if messages is None:
        return
    fields = {link: f'{robot.name}/{field}' for link, field in entry.fields}

    def push(message: Any) -> Change:
        link = robot.link(_link_of(message.entity, robot))
        force, torque = _vectors(message.wrench, entry.topic)

        def obey() -> None:
            link.add_force(force, rel_point=(0.0, 0.0, 0.0))
            link.add_torque(torque)

        return obey

    def keep(message: Any) -> Change:
        name = fields[_link_of(message.entity, robot)]
        force, torque = _vectors(message.wrench, entry.persistent_topic)

        def obey() -> None:
            known: Any = robot.world.force_fields[name]
            _set(robot, name, np.add(known.force, force), np.add(known.torque, torque))

        return obey

    def clear(message: Any) -> Change:
        name = fields[_link_of(message, robot)]
        return lambda: _set(robot, name, np.zeros(3), np.zeros(3))

    accept(entry.topic, messages.EntityWrench, push)
    accept(entry.persistent_topic, messages.EntityWrench, keep)
    accept(entry.clear_topic, messages.Entity, clear)


def _set(robot: Robot, name: str, force: FloatArray, torque: FloatArray) -> None:
    known: Any = robot.world.force_fields[name]
    robot.world.set_force_field(
        name, replace(known, force=tuple(force.tolist()), torque=tuple(torque.tolist()))
    )


def _vectors(message: WrenchMessage, topic: str) -> tuple[FloatArray, FloatArray]:
    """Return force [N] and torque [N m]; raises InvalidValueError."""
    force, torque = (
        np.array([each.x, each.y, each.z]) for each in (message.force, message.torque)
    )
    for what, vector in (('force', force), ('torque', torque)):
        if not (np.abs(vector) <= _GREATEST).all():
            expected = f'finite numbers of at most {_GREATEST:g}'
            raise InvalidValueError(what, vector.tolist(), expected, topic)
    return force, torque


def _link_of(entity: Any, robot: Robot) -> str:
    """Return the link named by an entity: robot::link, or a robot's root link."""
    owner, _, name = str(entity.name).rpartition('::')
    if entity.type == _MODEL and entity.name == robot.name:
        return str(robot.root_link.name)
    links = [link.name for link in robot.links]
    if entity.type != _LINK or name not in links or owner not in ('', robot.name):
        known = [robot.name, *(f'{robot.name}::{link}' for link in links)]
        raise UnknownNameError('robot or robot::link', entity.name, known, 'entity')
    return name
