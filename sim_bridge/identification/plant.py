"""Robot to identify: alone in a world, without sensors and collisions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sim_bridge.description.load import load_description
from sim_bridge.description.model import JointType, RobotDescription
from sim_bridge.foundation.arrays import Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_vector
from sim_bridge.robots.robot import Robot
from sim_bridge.world.world import World

_ONE_AXIS = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC)


class Plant:
    """
    Fixed-base robot in its own world, without sensors and collisions.

    description: as read. world, robot: with the description's parameters.
    """

    def __init__(
        self,
        source: str | Path | RobotDescription,
        time_step: float = 1e-3,
        gravity: Vector = (0.0, 0.0, -9.81),
    ) -> None:
        """
        Read a robot.

        source: as for `World.load_urdf`, or a description. Raises DescriptionError, and
        InvalidValueError for a robot with multi-axis joints, mimic joints or closed loops: their
        inverse dynamics differ from a tree's.
        """
        self.description = (
            source if isinstance(source, RobotDescription) else load_description(source)
        )
        place = f'robot {self.description.name!r}'
        _check(self.description, place)
        self.world = World(time_step, finite_vector('gravity', gravity, 3, place))
        self.robot: Robot = self.world.add_robot(
            replace(self.description, sensors=()), base='fixed', collisions='none'
        )
        self.joint_names = self.robot.joint_names
        if not self.joint_names:
            raise InvalidValueError('robot', 'one without joints', 'one whose joints move', place)

    @property
    def notes(self) -> list[str]:
        """Assumptions about the robot."""
        if self.description.fixed_base:
            return []
        return [f'the base of robot {self.description.name!r} is taken as fixed to the world']

    def bodies(self) -> dict[str, list[str]]:
        """
        Return the moving rigid bodies: links with mass, heaviest first, by joint.

        Links connected by fixed joints move as one; only summed inertias act. The key is
        the joint carrying the body.
        """
        found: dict[str, list[str]] = {name: [] for name in self.joint_names}
        links, joints = self.description.links, self.description.joints
        above = {joint.child: joint for joint in joints.values()}
        for name, link in links.items():
            if link.inertial is None or link.inertial.mass <= 0.0:
                continue
            joint = above.get(name)
            while joint is not None and joint.type is JointType.FIXED:
                joint = above.get(joint.parent)
            if joint is not None:
                found[joint.name].append(name)
        for names in found.values():
            names.sort(key=lambda name: -self.robot.link(name).m)
        return {joint: names for joint, names in found.items() if names}


def _check(description: RobotDescription, place: str) -> None:
    several = [
        joint.name
        for joint in description.joints.values()
        if joint.type is not JointType.FIXED and joint.type not in _ONE_AXIS
    ]
    mimics = [joint.name for joint in description.joints.values() if joint.mimic is not None]
    loops = [constraint.name for constraint in description.constraints]
    for names, what in (
        (several, 'joints of several axes'),
        (mimics, 'mimic joints'),
        (loops, 'joints that close loops'),
    ):
        if names:
            raise InvalidValueError(
                what,
                ', '.join(names),
                'a tree of revolute, continuous and prismatic joints, '
                'each moved by its own effort',
                place,
            )
