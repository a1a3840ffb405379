"""Robot descriptions in all formats for a single robot; `formats` lists them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from sim_bridge.description.formats import format_of, is_xml_text, URDF
from sim_bridge.description.mechanism.mesh_files import with_mesh_files
from sim_bridge.description.mechanism.sensors import with_sensors
from sim_bridge.description.model import RobotDescription, SensorDescription
from sim_bridge.description.reader import robot_reader, Source
from sim_bridge.description.report import DescriptionError, Findings, Report
from sim_bridge.description.resources import shipped_file
from sim_bridge.description.yaml.constraints import add_extra_joints
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import items_of


def load_description(
    source: str | Path,
    *,
    xacro_args: Mapping[str, object] | None = None,
    package_paths: Iterable[str | Path] = (),
    extra_sensors: Iterable[SensorDescription] = (),
    model: str = '',
    extra_joints: str | Path | Mapping[str, object] | None = None,
    strict: bool = False,
) -> RobotDescription:
    """
    Read a robot description.

    source: path of a robot file in one of `formats.FORMATS`, a shipped robot's name, or XML text.
    xacro_args: xacro argument values, by name.
    package_paths: folders searched for `package://` files, before those named by the environment.
    model: name of the model, in a file with several models.
    extra_sensors: sensors added to the declared ones.
    extra_joints: loop joints: a YAML file, or a mapping with the same content.
    strict: refuse a robot with a defect in a sensor, drive, collision or controller, instead of
    leaving out this part with a warning.

    Raises DescriptionError, with every defect in its `report`, if the description or the extra
    joints cannot be simulated. Warnings are in the description's own `report`. Raises
    InvalidValueError for arguments with another type.
    """
    description, report = examine_description(
        source,
        xacro_args=xacro_args,
        package_paths=package_paths,
        extra_sensors=extra_sensors,
        model=model,
    )
    report = report.strict() if strict else report
    if description is None or not report.ok:
        raise DescriptionError(report)
    description = replace(description, report=report)
    return description if extra_joints is None else add_extra_joints(description, extra_joints)


def check_description(
    source: str | Path,
    *,
    xacro_args: Mapping[str, object] | None = None,
    package_paths: Iterable[str | Path] = (),
    extra_sensors: Iterable[SensorDescription] = (),
    model: str = '',
) -> Report:
    """Return a description's report; defects raise no DescriptionError."""
    return examine_description(
        source,
        xacro_args=xacro_args,
        package_paths=package_paths,
        extra_sensors=extra_sensors,
        model=model,
    )[1]


def examine_description(
    source: str | Path,
    *,
    xacro_args: Mapping[str, object] | None = None,
    package_paths: Iterable[str | Path] = (),
    extra_sensors: Iterable[SensorDescription] = (),
    model: str = '',
) -> tuple[RobotDescription | None, Report]:
    """Return the readable part of a description (None if there is none) and its report."""
    if xacro_args is not None and not (
        isinstance(xacro_args, Mapping) and all(isinstance(name, str) for name in xacro_args)
    ):
        raise InvalidValueError('xacro_args', xacro_args, 'a mapping from names to values')
    package_paths = items_of('package_paths', package_paths, (str, Path), 'folders')
    extra_sensors = items_of('sensors', extra_sensors, SensorDescription, 'SensorDescriptions')
    if not isinstance(source, (str, Path)):
        expected = 'the path of a robot file, a shipped robot, or XML text'
        raise InvalidValueError('source', source, expected)
    if not is_xml_text(source):
        source = shipped_file(source)
    given = Source(source, xacro_args or {}, package_paths, model)
    chosen = format_of(source)
    findings = Findings()
    reader = robot_reader(chosen if chosen.robots else URDF)
    description, label = reader.read_robot(given, findings)
    if description is not None:
        description = with_mesh_files(description, given.folder, package_paths, findings)
        description = with_sensors(description, extra_sensors, findings)
    return description, findings.report(label)
