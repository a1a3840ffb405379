"""Parameters of a run's simulator and controllers: from files, then from the plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from sim_bridge.control.computed_torque_controller import ComputedTorqueParameters
from sim_bridge.control.pd_controller import PdParameters
from sim_bridge.control.velocity_controller import VelocityParameters
from sim_bridge.description.resources import find_scene, names_gallery_scene
from sim_bridge.description.yaml.overlay import path_text
from sim_bridge.ros.params.nearby_files import values_nearby
from sim_bridge.ros.params.parameter_names import check_parameter_name
from sim_bridge.ros.params.parameter_table import from_flat, specifications
from sim_bridge.ros.params.parameter_text import flattened
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.params.robot_parameters import world_parameters
from sim_bridge.sweep.plan import ControllerPlan, Plan

_TABLES: Mapping[str, Any] = {
    'pd': PdParameters,
    'computed_torque': ComputedTorqueParameters,
    'velocity': VelocityParameters,
}


def scene_of(plan: Plan, folder: Path) -> str:
    """Return the path to the plan's scene, '' for none. folder: the study's."""
    if not plan.scene:
        return ''
    return str(find_scene(plan.scene) if names_gallery_scene(plan.scene) else folder / plan.scene)


def robot_of(plan: Plan, folder: Path) -> str:
    """Return the plan's robot as a simulator parameter: files by their paths."""
    if not plan.robot or plan.robot.startswith('package://'):
        return plan.robot
    path = folder / plan.robot
    return str(path) if path.is_file() else plan.robot


def params_of(plan: Plan, folder: Path) -> str | None:
    """Return the path to the plan's parameter file, None for none."""
    return str(folder / plan.params) if plan.params else None


def simulator_parameters(
    plan: Plan,
    folder: Path,
    seed: int = 0,
    bag: str = '',
    warn: Callable[[str], None] = lambda text: None,
) -> SimulatorParameters:
    """
    Return the simulator's parameters.

    folder: the study's. seed: of the noise. bag: folder for a recording, '' for none. warn: called
    with a text for each unknown name in files. Raises InvalidValueError or another SimBridgeError.
    """
    world, robot = scene_of(plan, folder), robot_of(plan, folder)
    given = _in_folder(_given(plan.parameters, 'sim_bridge'), folder)
    values: dict[str, Any] = {'seed': seed, **world_parameters(world)}
    packages = given.get('package_paths', ())
    values.update(values_nearby('/sim_bridge', world, robot, packages, params_of(plan, folder)))
    values.update(given)
    values.update({'world': world, 'robot': robot})
    if plan.world_values:
        values['world_values'] = as_yaml(
            {path_text(path): value for path, value in plan.world_values.items()}
        )
    # replaced after the check: wrong values in files are refused as by the other verbs
    return replace(from_flat(SimulatorParameters, values, warn), lockstep=(), record=bag)


def controller_parameters(
    plan: ControllerPlan,
    from_files: Mapping[str, Any],
    warn: Callable[[str], None] = lambda text: None,
) -> Any:
    """
    Return the parameters of a control law.

    from_files: values by dotted name; the plan's override them. warn: as in
    `simulator_parameters`. Raises InvalidValueError or UnknownNameError.
    """
    values = {**from_files, **_given(plan.parameters, f'{plan.kind}_controller')}
    return from_flat(_TABLES[plan.kind], values, warn)


def as_yaml(value: Any) -> str:
    """Return a value as YAML in one line."""
    text: str = yaml.safe_dump(
        _plain(value), default_flow_style=True, width=10**9, allow_unicode=True, sort_keys=False
    )
    return text.strip()


def _plain(value: Any) -> Any:
    """Return a value with plain dicts and lists."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def _given(parameters: Mapping[str, Any], node: str) -> dict[str, Any]:
    """Return a plan's values by dotted name; raises UnknownNameError."""
    given = dict(flattened(parameters))
    for name in given:
        check_parameter_name(name, node)
    return given


def _in_folder(given: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return values with relative paths below a study's folder, not the working directory."""
    known = specifications(SimulatorParameters)
    for name in ('package_paths', 'extra_joints'):
        if name in given:
            paths = known[name].check(given[name])
            is_text = isinstance(paths, str)
            found = [str(folder / path) for path in ([paths] if is_text else paths) if path]
            given[name] = (found or [''])[0] if is_text else found
    return given
