"""
ros2_control's controllers, from a controller manager's parameter file.

Wheel controllers are simulated as drives. Broadcaster values are published in any case.
All other controllers are listed in warnings, with their file and line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sim_bridge.description.report import Findings, Place
from sim_bridge.description.yaml.drives import read_drive, TYPES
from sim_bridge.description.yaml.file import MappingWithLines, read_mapping
from sim_bridge.description.yaml.section import Section

if TYPE_CHECKING:
    from sim_bridge.description.drives import DriveDescription
    from sim_bridge.description.model import RobotDescription

# controller types whose values are published in any case, and advice for the other types
_PUBLISHED = (
    'joint_state_broadcaster/JointStateBroadcaster',
    'imu_sensor_broadcaster/IMUSensorBroadcaster',
    'force_torque_sensor_broadcaster/ForceTorqueSensorBroadcaster',
)
_ADVICE = {
    'joint_trajectory_controller/JointTrajectoryController': (
        'give it in the parameter trajectory_controllers'
    ),
    'effort_controllers/JointGroupEffortController': (
        'send efforts on effort_controller/commands or joint_commands'
    ),
    'velocity_controllers/JointGroupVelocityController': (
        'set the control of the joints to velocity, and send velocities on joint_commands'
    ),
    'position_controllers/JointGroupPositionController': (
        'set the control of the joints to position, and send positions on joint_commands'
    ),
    'forward_command_controller/ForwardCommandController': (
        'set the control of the joints, and send commands on joint_commands'
    ),
}
_MANAGER = 'controller_manager'


def read_controllers(
    path: Path, place: Place, description: RobotDescription, findings: Findings
) -> Iterator[tuple[DriveDescription, Place]]:
    """
    Yield the drives of a controller manager's parameter file, each with its place.

    place: where the file is named. Findings get this place and the line in the file.
    """
    own = Findings()
    content = read_mapping(path, own)
    nodes = {} if content is None else _nodes(content)
    for name, declared in nodes.get(_MANAGER, {}).items():
        if not isinstance(declared, Mapping) or not isinstance(declared.get('type'), str):
            continue
        kind, line = declared['type'], getattr(declared, 'lines', {}).get('type', 0)
        at = Place('controller', str(name), line)
        if kind in TYPES:
            settings = nodes.get(str(name), MappingWithLines())
            section = Section(settings, f'controller.{name}', own, line, str(name))
            drive = read_drive(section, kind, description, own)
            if drive is not None:
                yield drive, Place('controller', str(name), place.line)
        elif kind not in _PUBLISHED:
            advice = _ADVICE.get(kind)
            own.warning(
                'not-simulated',
                at,
                f'is not simulated{f"; {advice}" if advice else ""}',
                'type',
                kind,
            )
    for one in own.found:
        where = f'{path.name}:{one.line}' if one.line else path.name
        findings.add(
            one.severity,
            one.code,
            Place(one.element, one.name, place.line),
            f'{one.message} ({where})',
            one.attribute,
            one.value,
        )


def _nodes(content: Mapping[str, object]) -> dict[str, MappingWithLines]:
    """Return node parameters by the last part of the node names, without namespaces."""
    found: dict[str, MappingWithLines] = {}
    for key, value in content.items():
        if not isinstance(value, Mapping):
            continue
        parameters = value.get('ros__parameters')
        if isinstance(parameters, Mapping):
            name = str(key).rstrip('/').rsplit('/', 1)[-1]
            merged = found.setdefault(name, MappingWithLines())
            merged.update(parameters)
            merged.lines.update(getattr(parameters, 'lines', {}))
        else:
            for name, inner in _nodes(value).items():
                merged = found.setdefault(name, MappingWithLines())
                merged.update(inner)
                merged.lines.update(inner.lines)
    return found
