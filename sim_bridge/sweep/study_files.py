"""Check of the files and parameters in a study, before the first run or by `check`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import importlib.util
from pathlib import Path

from sim_bridge.description.report import Findings, Report
from sim_bridge.description.resources import find_robot, find_scene, names_gallery_scene
from sim_bridge.description.yaml.section import Section
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError
from sim_bridge.foundation.near_files import path_meant
from sim_bridge.sweep.plan import FUNCTION, LAWS, Plan
from sim_bridge.sweep.study import Study, StudyError
from sim_bridge.sweep.user_code import file_of


def check_files(study: Study) -> Report:
    """
    Return the report of `files_report`, which may have warnings.

    Raises StudyError if the first run lacks a file or has a wrong parameter.
    """
    report = files_report(study)
    if not report.ok:
        raise StudyError(report)
    return report


def files_report(study: Study) -> Report:
    """
    Return a report about a study's first run: missing files, and wrong parameters.

    Parameters are checked only with ROS, as their tables need it.
    """
    findings = Findings()
    run, folder = Section(study.run, 'run', findings), study.folder
    plan = study.plan(study.design.of(0))
    if plan.robot and '://' not in plan.robot and not (folder / plan.robot).is_file():
        _note(run, 'robot', plan.robot, lambda: find_robot(plan.robot))
    if plan.scene:
        _note(
            run,
            'scene',
            plan.scene,
            lambda: (
                find_scene(plan.scene)
                if names_gallery_scene(plan.scene)
                else _need_file(folder / plan.scene)
            ),
        )
    if plan.params:
        _note(run, 'params', plan.params, lambda: _need_file(folder / plan.params))
    for name, each in plan.controllers.items():
        file = file_of(each.call, folder) if each.kind == FUNCTION else None
        if file is not None:
            _note(
                run, 'controllers' if name else 'controller', each.call, partial(_need_file, file)
            )
    if findings.report('').ok and importlib.util.find_spec('rclpy') is not None:
        _check_parameters(run, plan, folder)
    return findings.report(str(study.source))


def _check_parameters(run: Section, plan: Plan, folder: Path) -> None:
    """Report refused and unknown parameters of the simulator and of control laws."""
    # imported here, since the tables need ROS
    from sim_bridge.sweep.controllers import Situation
    from sim_bridge.sweep.run_parameters import (
        controller_parameters,
        params_of,
        robot_of,
        scene_of,
        simulator_parameters,
    )

    key = next((key for key in ('parameters', 'params', 'scene') if run.has(key)), 'robot')

    def warn(text: str) -> None:
        run.findings.warning('unknown-parameter', run.place(key), text)

    try:
        simulator_parameters(plan, folder, warn=warn)
    except SimBridgeError as err:
        run.error(key, '', str(err))
    world, robot, params = scene_of(plan, folder), robot_of(plan, folder), params_of(plan, folder)
    for name, each in plan.controllers.items():
        if each.kind in LAWS:
            situation = Situation(name, (), world, robot, params, folder)
            try:
                from_files = situation.parameters_of(f'{each.kind}_controller')
                controller_parameters(each, from_files, warn)
            except SimBridgeError as err:
                run.error(f'controllers.{name}' if name else 'controller', '', str(err))


def _note(run: Section, key: str, value: str, find: Callable[[], object]) -> None:
    """Report the error of a function that looks for a file."""
    try:
        find()
    except InvalidValueError as err:
        run.error(key, value, f'must be {err.expected}')
    except SimBridgeError as err:
        run.error(key, value, str(err))


def _need_file(path: Path) -> None:
    if not path.is_file():
        raise InvalidValueError(
            'file', str(path), f'a file that exists; {path} does not{path_meant(path) or ""}'
        )
