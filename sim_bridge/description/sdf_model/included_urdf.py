"""
URDF files included by SDF: written as an SDF model, then read like one.

Sensors and plugins of `<gazebo>` tags are SDF already; they move into the written model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from sim_bridge.description.model import RobotDescription
from sim_bridge.description.reader import Source
from sim_bridge.description.report import Finding, Findings, LineOfFile, Place
from sim_bridge.description.sdf_model.write.robot import sdf_text
from sim_bridge.description.urdf.load import read_robot
from sim_bridge.description.xml.document import Document, Element, parse_document

ROOT = 'robot'
# kept as written in `<gazebo>`
_KEPT_TAGS = ('plugin', 'sensor')


def sdf_of_urdf(
    path: str,
    document: Document,
    xacro_args: Mapping[str, object],
    package_paths: tuple[str | Path, ...],
    findings: Findings,
) -> Element | None:
    """
    Return a URDF as an `<sdf>` element; None, with errors noted, for a defective one.

    path: the URDF file. document: its elements, after xacro. Losses are among the findings, with
    the lines of the URDF.
    """
    own = Findings()
    robot, _ = read_robot(Source(path, xacro_args, package_paths), own)
    _take(own.found, path, findings)
    if robot is None or own.report('').errors:
        return None
    text, report = sdf_text(_without_tags(robot), folder=None)
    _take(report.findings, path, findings)
    parsed = None if text is None else parse_document(text, findings)
    if parsed is None:
        return None
    model = parsed.root.find('model')
    if model is not None:
        _add_tags(model, document.root)
        if all(link.contact.self_collide is None for link in robot.links.values()):
            # as Gazebo reads a URDF
            model.children = [each for each in model if each.tag != 'self_collide']
    for element in parsed.root.walk():
        # the written model has no lines in the file
        element.line = LineOfFile.of(0, path)
    return parsed.root


def _without_tags(robot: RobotDescription) -> RobotDescription:
    return replace(
        robot,
        sensors=(),
        drives=(),
        force_fields=(),
        inputs=(),
        batteries=(),
        controller_managers=(),
    )


def _add_tags(model: Element, robot: Element) -> None:
    """Add the sensors and plugins of `<gazebo>` tags to a model or to their links."""
    links = {link.get('name'): link for link in model.findall('link')}
    joints = {joint.get('name'): joint for joint in model.findall('joint')}
    for tag in robot.findall('gazebo'):
        name = tag.get('reference')
        owner = links.get(name) or joints.get(name) if name else model
        if owner is not None:
            owner.children += [each for each in tag if each.tag in _KEPT_TAGS]


def _take(own: Iterable[Finding], path: str, findings: Findings) -> None:
    """Note findings about another file."""
    for each in own:
        line = LineOfFile.of(each.line, path)
        place = Place(each.element, each.name, line)
        note = findings.error if each.severity == 'error' else findings.warning
        note(each.code, place, each.message, each.attribute, each.value)
