"""The values of a node's parameters in the files that belong to what is simulated."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sim_bridge.ros.params.parameter_files import parameters_in
from sim_bridge.ros.params.robot_parameters import (
    DEFAULT_ROBOT,
    parameter_file_beside,
    parameter_file_of_scene,
)


def values_nearby(
    node: str,
    world: str,
    robot: str,
    package_paths: Iterable[str | Path] = (),
    params: str | Path | None = None,
) -> dict[str, Any]:
    """
    Return parameters of a node from the files beside robot and scene, and the user's, in order.

    node: full name, such as '/left/sim_bridge'. world: scene, '' for none. robot: '' for none, or
    without a world for the default. params: the user's file. Raises InvalidValueError.
    """
    robot = robot or ('' if world else DEFAULT_ROBOT)
    beside = parameter_file_beside(robot, package_paths) if robot else None
    found: dict[str, Any] = {}
    for file in (beside, parameter_file_of_scene(world), params):
        if file is not None:
            found.update(parameters_in(file, node))
    return found
