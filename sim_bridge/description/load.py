"""Robot descriptions in all formats for a single robot: URDF, xacro, Choreonoid's body files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from sim_bridge.description.mechanism.sensors import with_sensors
from sim_bridge.description.model import RobotDescription, SensorDescription
from sim_bridge.description.report import DescriptionError, Findings, Report
from sim_bridge.description.resources import BODY_SUFFIXES, shipped_robots
from sim_bridge.description.urdf.load import examine_urdf
from sim_bridge.description.urdf.meshes import with_mesh_files
from sim_bridge.description.xml.document import is_xml_text
from sim_bridge.description.yaml.constraints import add_extra_joints
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import items_of


def load_description(
    source: str | Path,
    *,
    xacro_args: Mapping[str, object] | None = None,
    package_paths: Iterable[str | Path] = (),
    extra_sensors: Iterable[SensorDescription] = (),
    extra_joints: str | Path | Mapping[str, object] | None = None,
    strict: bool = False,
) -> RobotDescription:
    """
    Read a robot description.

    source: path of a .urdf, .xacro, .body or .wrl file, or XML text.
    xacro_args: xacro argument values, by name.
    package_paths: folders searched for `package://` files, before those named by the environment.
    extra_sensors: sensors added to the declared ones.
    extra_joints: loop joints: a YAML file, or a mapping with the same content.
    strict: refuse a robot with a defect in a sensor, drive, collision or controller, instead of
    leaving out this part with a warning.

    Raises DescriptionError, with every defect in its `report`, if the description or the extra
    joints cannot be simulated. Warnings are in the description's own `report`. Raises
    InvalidValueError for arguments with another type.
    """
    description, report = examine_description(
        source, xacro_args=xacro_args, package_paths=package_paths, extra_sensors=extra_sensors
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
) -> Report:
    """Return a description's report; defects raise no DescriptionError."""
    return examine_description(
        source, xacro_args=xacro_args, package_paths=package_paths, extra_sensors=extra_sensors
    )[1]


def examine_description(
    source: str | Path,
    *,
    xacro_args: Mapping[str, object] | None = None,
    package_paths: Iterable[str | Path] = (),
    extra_sensors: Iterable[SensorDescription] = (),
) -> tuple[RobotDescription | None, Report]:
    """Return the readable part of a description (None if there is none) and its report."""
    if xacro_args is not None and not (
        isinstance(xacro_args, Mapping) and all(isinstance(name, str) for name in xacro_args)
    ):
        raise InvalidValueError('xacro_args', xacro_args, 'a mapping from names to values')
    package_paths = items_of('package_paths', package_paths, (str, Path), 'folders')
    extra_sensors = items_of('sensors', extra_sensors, SensorDescription, 'SensorDescriptions')
    body = _body_file(source)
    if body is None:
        return examine_urdf(source, xacro_args, package_paths, extra_sensors)
    # imported here, since most worlds are made without YAML files
    from sim_bridge.description.body.load import read_body

    findings = Findings()
    description = read_body(body, findings)
    if description is not None:
        description = with_mesh_files(description, body.resolve().parent, package_paths, findings)
        description = with_sensors(description, extra_sensors, findings)
    return description, findings.report(str(body))


def _body_file(source: str | Path) -> Path | None:
    """Return the body file named by a source (its path, or a shipped robot); else None."""
    if not isinstance(source, (str, Path)) or is_xml_text(source):
        return None
    path = Path(source)
    if not path.suffix and not path.parent.name:
        path = shipped_robots().get(str(source), path)
    return path if path.suffix.lower() in BODY_SUFFIXES else None
