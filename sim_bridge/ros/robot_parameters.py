"""Parameters of the nodes that go with a robot: a file beside its description."""

from __future__ import annotations

from pathlib import Path

from sim_bridge.description import find_robot
from sim_bridge.errors import InvalidValueError, UnknownNameError

DEFAULT_ROBOT = 'arm'

_SUFFIX = '.params.yaml'


def parameter_file_beside(robot: str) -> Path | None:
    """
    Give `quadruped.params.yaml` that lies beside `quadruped.urdf`; None where there is none.

    robot: name of a shipped robot, or a URDF or xacro file. There is nothing beside what does not
    exist; the node will say what is wrong with the name.
    """
    try:
        description = find_robot(robot)
    except (UnknownNameError, InvalidValueError):
        return None
    file = description.with_name(description.name.split('.')[0] + _SUFFIX)
    return file if file.is_file() else None
