"""
Sensors on a robot, from all places in a URDF that declare them.

Gazebo's `<gazebo reference="…"><sensor>` and iDynTree's `<sensor>` give kind and place
(`sdf.sensors`). `<ros2_control><sensor>` mostly repeats them for the controllers
(`ros2_control`). Two declarations of one sensor count once, the first in this order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sim_bridge.description.mechanism.sensors import attach
from sim_bridge.description.model import RobotDescription, SensorDescription
from sim_bridge.description.rays import RaySettings
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.sensors import read_gazebo_sensors, read_robot_sensors, SENSOR
from sim_bridge.description.urdf.ros2_control import read_ros2_control_sensors
from sim_bridge.description.xml.document import Element


def read_sensors(
    root: Element, description: RobotDescription, findings: Findings
) -> tuple[SensorDescription, ...]:
    """Return a URDF's sensors, each on an existing link and with a unique name."""
    kept: list[SensorDescription] = []

    def add(sensor: SensorDescription, is_repetition: bool) -> None:
        """Keep a sensor on a link or joint of the robot; leave out others and repetitions."""
        own = Findings()
        placed = attach(sensor, description, own)
        if placed is not None and is_repetition:
            same = next((each for each in kept if _same_device(placed, each)), None)
            if same is not None:
                _tell_of_other_name(placed, same, findings)
                return
        named = None if placed is None else _with_own_name(placed, kept, own)
        if findings.take_part(own, SENSOR) and named is not None:
            kept.append(_with_own_topic(named, kept, findings))

    for sensor in read_gazebo_sensors(root, findings):
        add(sensor, is_repetition=False)
    for sensor in read_robot_sensors(root, findings):
        add(sensor, is_repetition=True)
    names = {sensor.name for sensor in kept}
    for sensor in read_ros2_control_sensors(root, description, names, findings):
        add(sensor, is_repetition=False)
    return tuple(kept)


def _with_own_topic(
    sensor: SensorDescription, others: Iterable[SensorDescription], findings: Findings
) -> SensorDescription:
    """Return the sensor, without its topic if another sensor has it."""
    owner = next((each.name for each in others if each.topic == sensor.topic), '')
    if not sensor.topic or not owner:
        return sensor
    message = f'sensor {owner!r} publishes there; its own topics have its name'
    place = Place('sensor/topic', sensor.name, sensor.line)
    findings.warning('duplicate-topic', place, message, value=sensor.topic)
    settings = sensor.settings
    if isinstance(settings, RaySettings):
        settings = replace(settings, cloud_topic='')
    return replace(sensor, topic='', settings=settings)


def _tell_of_other_name(
    sensor: SensorDescription, kept: SensorDescription, findings: Findings
) -> None:
    """Name a repeated sensor with another name; it has no topics."""
    if sensor.name != kept.name:
        message = f'repeats sensor {kept.name!r}, which has the topics'
        place = Place('sensor', sensor.name, sensor.line)
        findings.warning('not-simulated', place, message)


def _same_device(sensor: SensorDescription, other: SensorDescription) -> bool:
    where = (sensor.kind, sensor.link, sensor.joint) == (other.kind, other.link, other.joint)
    return where or sensor.name == other.name


def _with_own_name(
    sensor: SensorDescription, others: Iterable[SensorDescription], findings: Findings
) -> SensorDescription:
    """Return the sensor with a unique name: in SDF, names are unique within a link only."""
    names = {other.name for other in others}
    name = sensor.name
    place = Place('sensor', sensor.name, sensor.line)
    if name in names:
        name = f'{sensor.link}_{sensor.name}'
        if name in names:
            message = 'the name is taken, with the name of the link as prefix too'
            findings.error('duplicate-sensor', place, message, 'name', sensor.name)
        else:
            message = f'the name is taken; called {name!r}'
            findings.warning('duplicate-sensor', place, message, 'name', sensor.name)
    return replace(sensor, name=name)
