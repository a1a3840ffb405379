"""
The devices of a robot, from all the places users declare them.

Gazebo's `<gazebo reference="…"><sensor>` and iDynTree's `<sensor>` say what there is and where
(`sdf_sensors`), `<ros2_control><sensor>` mostly repeats it for the controllers (`ros2_control`),
YAML adds to it (`yaml_sensors`). Two declarations of one device are one device: the first in this
order counts, YAML replaces.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from sim_bridge.description.model import RobotDescription, SensorDescription, SensorKind
from sim_bridge.description.report import DescriptionError, Findings, Place, unknown
from sim_bridge.description.sdf.sensors import read_gazebo_sensors, read_robot_sensors
from sim_bridge.description.urdf.ros2_control import read_ros2_control_sensors

if TYPE_CHECKING:
    from sim_bridge.description.urdf.document import Element


def read_sensors(
    root: Element, description: RobotDescription, findings: Findings
) -> tuple[SensorDescription, ...]:
    """Return the sensors a URDF declares, each on an existing link and with a name of its own."""
    kept: list[SensorDescription] = []
    for sensor in read_gazebo_sensors(root, findings):
        placed = attach(sensor, description, findings)
        if placed is not None:
            kept.append(_with_own_name(placed, kept, findings))
    for sensor in read_robot_sensors(root, findings):
        placed = attach(sensor, description, findings)
        if placed is not None and not any(_same_device(placed, other) for other in kept):
            kept.append(_with_own_name(placed, kept, findings))
    names = {sensor.name for sensor in kept}
    for sensor in read_ros2_control_sensors(root, description, names, findings):
        placed = attach(sensor, description, findings)
        if placed is not None:
            kept.append(_with_own_name(placed, kept, findings))
    return tuple(kept)


def add_sensors(
    description: RobotDescription, extra: Iterable[SensorDescription]
) -> RobotDescription:
    """
    Return the description with more sensors; one of the name of a declared sensor replaces it.

    Raises DescriptionError if one sits on a link or joint that does not exist.
    """
    findings = Findings()
    extended = with_sensors(description, extra, findings)
    report = findings.report(description.source)
    if not report.ok:
        raise DescriptionError(report)
    return extended


def with_sensors(
    description: RobotDescription, extra: Iterable[SensorDescription], findings: Findings
) -> RobotDescription:
    """Do what `add_sensors` does, collecting findings."""
    sensors = {sensor.name: sensor for sensor in description.sensors}
    for sensor in extra:
        placed = attach(sensor, description, findings)
        if placed is not None:
            sensors[placed.name] = placed
    return replace(description, sensors=tuple(sensors.values()))


def attach(
    sensor: SensorDescription, description: RobotDescription, findings: Findings
) -> SensorDescription | None:
    """
    Return the sensor with its link and, for force-torque, its joint, from the one that was given.

    None, with an error noted, if there is no such link or joint.
    """
    place = Place('sensor', sensor.name, sensor.line)
    for kind, name, known in (
        ('joint', sensor.joint, description.joints),
        ('link', sensor.link, description.links),
    ):
        if name and name not in known:
            findings.error('unknown-reference', place, unknown(kind, name, known), kind, name)
            return None
    if sensor.kind is not SensorKind.FORCE_TORQUE:
        link = sensor.link or (description.joints[sensor.joint].child if sensor.joint else '')
        if not link:
            findings.error('unplaced-sensor', place, 'needs a link')
            return None
        return replace(sensor, link=link, joint='')
    if sensor.joint:
        return replace(sensor, link=description.joints[sensor.joint].child)
    joint = next(
        (joint for joint in description.joints.values() if joint.child == sensor.link), None
    )
    if joint is None:
        what = (
            f'the root link {sensor.link!r} has no parent joint to measure'
            if sensor.link
            else 'needs a joint'
        )
        findings.error('unplaced-sensor', place, what)
        return None
    return replace(sensor, joint=joint.name)


def _same_device(sensor: SensorDescription, other: SensorDescription) -> bool:
    where = (sensor.kind, sensor.link, sensor.joint) == (other.kind, other.link, other.joint)
    return where or sensor.name == other.name


def _with_own_name(
    sensor: SensorDescription, others: Iterable[SensorDescription], findings: Findings
) -> SensorDescription:
    """Return the sensor a name of its own: SDF's names need only differ within a link."""
    names = {other.name for other in others}
    name = sensor.name
    place = Place('sensor', sensor.name, sensor.line)
    if name in names:
        name = f'{sensor.link}_{sensor.name}'
        if name in names:
            message = 'the name is taken, with that of the link too'
            findings.error('duplicate-sensor', place, message, 'name', sensor.name)
        else:
            message = f'the name is taken; called {name!r}'
            findings.warning('duplicate-sensor', place, message, 'name', sensor.name)
    return replace(sensor, name=name)
