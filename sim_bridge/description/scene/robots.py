"""Descriptions of the robots in a world."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from sim_bridge.description.load import examine_description
from sim_bridge.description.model import RobotDescription
from sim_bridge.description.report import DescriptionError, Report
from sim_bridge.description.scene.model import SceneRobot


def examine_robot(
    robot: SceneRobot, package_paths: Iterable[str | Path] = ()
) -> tuple[RobotDescription | None, Report]:
    """
    Return the readable part of a robot's description (None if there is none) and its report.

    package_paths: folders searched after those of the robot.
    """
    if robot.description is not None:
        return robot.description, robot.description.report
    given = robot.arguments
    return examine_description(
        robot.urdf,
        xacro_args=given.get('xacro_args'),
        package_paths=[*given.get('package_paths', ()), *package_paths],
        extra_sensors=given.get('sensors', ()),
    )


def robot_described(
    robot: SceneRobot, package_paths: Iterable[str | Path] = ()
) -> RobotDescription:
    """Return a robot's description; see `examine_robot`. Raises DescriptionError."""
    description, report = examine_robot(robot, package_paths)
    if description is None or not report.ok:
        raise DescriptionError(report)
    return replace(description, report=report)
