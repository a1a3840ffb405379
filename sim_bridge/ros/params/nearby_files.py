"""Node parameter values from the files beside the simulated robot and scene."""

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
    Return a node's parameters from the files beside robot and scene, then from the user's file.

    Later files override earlier ones. node: full name, for example '/left/sim_bridge'. world:
    scene, '' for none. robot: '' for none, or for the default robot if there is no world. params:
    the user's file. Raises InvalidValueError.
    """
    robot = robot or ('' if world else DEFAULT_ROBOT)
    beside = parameter_file_beside(robot, package_paths) if robot else None
    found: dict[str, Any] = {}
    for file in (beside, parameter_file_of_scene(world), params):
        if file is not None:
            found.update(parameters_in(file, node))
    return found
