"""
ros2_control's controllers, from a controller manager's parameter files.

A controller's type is a parameter of the manager, `NAME.type`, or of the controller itself, as
for spawners that load a file. Wheel controllers are simulated as drives. Controllers of the other
known kinds get their settings (`yaml.controller_kinds`). The rest is listed in warnings, with file
and line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sim_bridge.description.report import Findings, Place
from sim_bridge.description.ros2_control import ControllerDescription, ControllerManagerDescription
from sim_bridge.description.yaml.controller_kinds import read_settings, READERS
from sim_bridge.description.yaml.drives import read_drive, TYPES
from sim_bridge.description.yaml.file import MappingWithLines
from sim_bridge.description.yaml.node_parameters import NodeParameters, ParameterFiles
from sim_bridge.description.yaml.section import number_in, Section

if TYPE_CHECKING:
    from sim_bridge.description.drives import DriveDescription
    from sim_bridge.description.model import RobotDescription

# kinds whose controllers name their topics reference and odometry, not cmd_vel and odom
_WITH_REFERENCE = ('mecanum', 'ackermann', 'tricycle', 'bicycle')


def read_manager(
    paths: Sequence[Path], manager: ControllerManagerDescription, findings: Findings
) -> ControllerManagerDescription:
    """
    Return a controller manager with the controllers in its parameter files.

    manager: name, namespace and remappings. The lines of the findings are lines of the files.
    """
    files = ParameterFiles(paths, findings)
    own = files.of_node(manager.name, manager.namespace)
    return replace(
        manager,
        update_rate=number_in(own.values.get('update_rate')) or 0.0,
        controllers=tuple(_controllers(files, own, manager)),
    )


def _controllers(
    files: ParameterFiles, own: NodeParameters, manager: ControllerManagerDescription
) -> Iterator[ControllerDescription]:
    """Yield the controllers: those with a type in the manager's parameters come first."""
    named = dict.fromkeys(files.names())
    for name in dict.fromkeys([*map(str, own.values), *named]):
        if name == manager.name:
            continue
        given = own.values.get(name)
        parameters = files.of_node(name, manager.namespace)
        sources = [NodeParameters(given, own.path)] if isinstance(given, MappingWithLines) else []
        sources += [parameters] if name in named else []
        for source in sources:
            if isinstance(source.values.get('type'), str):
                yield ControllerDescription(
                    name,
                    source.values['type'],
                    parameters.values,
                    str(source.path),
                    source.values.lines.get('type', 0),
                )
                break


def with_settings(
    manager: ControllerManagerDescription,
    description: RobotDescription,
    place: Place,
    findings: Findings,
) -> ControllerManagerDescription:
    """
    Return a manager whose controllers have their settings.

    place: place of the plugin in the robot's file. A defective controller is left out, with a
    warning for each defect.
    """
    found = []
    for controller in manager.controllers:
        if controller.type in READERS:
            own = Findings()
            name, line = controller.name, controller.line
            section = Section(controller.parameters, f'controller.{name}', own, line, name)
            settings = read_settings(controller, section, description, own)
            in_file(own, Path(controller.path), place, findings, 'controller')
            controller = replace(controller, settings=settings)
        if controller.type not in READERS or controller.settings is not None:
            found.append(controller)
    return replace(manager, controllers=tuple(found))


def read_controller_drives(
    manager: ControllerManagerDescription,
    description: RobotDescription,
    place: Place,
    findings: Findings,
) -> Iterator[tuple[DriveDescription, Place]]:
    """
    Yield the drives among the controllers, each with its place; report the other controllers.

    place: place of the plugin in the robot's file. Findings get its line; their messages have
    file and line of the controller.
    """
    for controller in manager.controllers:
        own = Findings()
        drive = _drive(controller, manager, description, own)
        if drive is None and controller.settings is None and not own.found:
            _report_controller(controller, own)
        in_file(own, Path(controller.path), place, findings, 'controller')
        if drive is not None:
            yield drive, Place('controller', controller.name, place.line)


def _drive(
    controller: ControllerDescription,
    manager: ControllerManagerDescription,
    description: RobotDescription,
    findings: Findings,
) -> DriveDescription | None:
    if controller.type not in TYPES:
        return None
    name, line = controller.name, controller.line
    section = Section(controller.parameters, f'controller.{name}', findings, line, name)
    drive = read_drive(section, controller.type, description, findings)
    if drive is None:
        return None
    if drive.kind in _WITH_REFERENCE:
        drive = replace(
            drive,
            reference_topic=manager.topic(f'{name}/reference'),
            odometry_topic=manager.topic(f'{name}/odometry'),
        )
    topics = manager.topic(f'{name}/cmd_vel'), manager.topic(f'{name}/odom')
    is_usual = topics == (f'{name}/cmd_vel', f'{name}/odom')
    return drive if is_usual else replace(drive, command_topic=topics[0], odom_topic=topics[1])


def _report_controller(controller: ControllerDescription, findings: Findings) -> None:
    place = Place('controller', controller.name, controller.line)
    findings.warning('not-simulated', place, 'is not simulated', 'type', controller.type)


def in_file(own: Findings, path: Path, place: Place, findings: Findings, part: str) -> None:
    """
    Add findings in a parameter file, at the place in the robot's file with the file's name.

    part: see `Findings.take_part`.
    """
    placed = Findings()
    for one in own.found:
        where = f'{path.name}:{one.line}' if one.line else path.name
        placed.add(
            one.severity,
            one.code,
            Place(one.element, one.name, place.line),
            f'{one.message} ({where})',
            one.attribute,
            one.value,
        )
    findings.take_part(placed, part)
