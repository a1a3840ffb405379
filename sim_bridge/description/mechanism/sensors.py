"""Links and joints carrying a robot's sensors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
import re
from typing import Any

from sim_bridge.description.mechanism.camera_frames import check_camera_frames
from sim_bridge.description.model import RobotDescription, SensorDescription
from sim_bridge.description.report import DescriptionError, Findings, Place, unknown
from sim_bridge.description.sensor_kinds import CAMERA, ContactSettings


def add_sensors(
    description: RobotDescription, extra: Iterable[SensorDescription]
) -> RobotDescription:
    """
    Return the description with more sensors; one with the name of a declared sensor replaces it.

    Raises DescriptionError if one names a link or joint that does not exist.
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
    """Add sensors as `add_sensors` does, but add errors to the findings."""
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
    Return the sensor with its link and, for a kind on a joint, with its joint.

    None, with an error noted, if the robot has no link or joint of this name.
    """
    place = Place('sensor', sensor.name, sensor.line)
    for kind, name, known in (
        ('joint', sensor.joint, description.joints),
        ('link', sensor.link, description.links),
    ):
        if name and name not in known:
            findings.error('unknown-reference', place, unknown(kind, name, known), kind, name)
            return None
    if not sensor.kind.on_joint:
        link = sensor.link or (description.joints[sensor.joint].child if sensor.joint else '')
        if not link:
            findings.error('unplaced-sensor', place, 'needs a link')
            return None
        settings = _own_collisions(sensor, link, description, findings)
        placed = replace(sensor, link=link, joint='', settings=settings)
        if sensor.kind is CAMERA:
            check_camera_frames(placed, description, findings)
        return placed
    if sensor.joint:
        return replace(sensor, link=description.joints[sensor.joint].child)
    joint = next(
        (joint for joint in description.joints.values() if joint.child == sensor.link), None
    )
    if joint is None:
        message = (
            f'the root link {sensor.link!r} has no parent joint to measure'
            if sensor.link
            else 'needs a joint'
        )
        findings.error('unplaced-sensor', place, message)
        return None
    return replace(sensor, joint=joint.name)


def _own_collisions(
    sensor: SensorDescription, link: str, description: RobotDescription, findings: Findings
) -> Any:
    """Return the settings; a contact sensor that names a collision the link lacks watches all."""
    if not isinstance(sensor.settings, ContactSettings):
        return sensor.settings
    own = {each.name for each in description.links[link].collisions if each.name}
    missing = [name for name in sensor.settings.collisions if name not in own]
    # Gazebo's names for unnamed collisions, including links lumped with another link
    usual = re.compile(rf'(.*_fixed_joint_lump__)?{re.escape(link)}_collision(_\d+)?')
    strange = [name for name in missing if not usual.fullmatch(name)]
    if strange:
        message = f'no collision {strange[0]!r} of link {link!r}; the whole link is watched'
        place = Place('sensor', sensor.name, sensor.line)
        findings.warning('unknown-reference', place, message, 'collision', strange[0])
    return ContactSettings() if missing else sensor.settings
