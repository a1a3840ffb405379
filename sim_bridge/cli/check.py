"""`sim_bridge check`: show the contents and defects of a robot, scene or parameter file."""

from __future__ import annotations

from dataclasses import replace
import os
from pathlib import Path
import re
import sys
from typing import Any, TYPE_CHECKING

from sim_bridge.cli import completers
from sim_bridge.cli.completers import completed
from sim_bridge.cli.help import HelpFormatter
from sim_bridge.cli.openplx_overview import openplx_data, openplx_text
from sim_bridge.cli.overview import loop_data, mobility_data, robot_data, scene_data
from sim_bridge.cli.overview_text import MOST, parameters_text, robot_text, scene_text
from sim_bridge.cli.simulated import add_description, add_model
from sim_bridge.compilation.collisions import HULL
from sim_bridge.description import (
    add_extra_joints,
    DescriptionError,
    examine_description,
    find_robot,
)
from sim_bridge.description.formats import format_of, OPENPLX, YAML
from sim_bridge.description.mechanism.base import base_of, FILE
from sim_bridge.description.openplx.load import examine_openplx
from sim_bridge.description.report import Findings, Place, Report
from sim_bridge.description.resources import find_scene
from sim_bridge.description.scene.load import read_scene
from sim_bridge.description.scene.reader import is_world
from sim_bridge.description.scene.robots import examine_robot
from sim_bridge.description.yaml.file import read_mapping
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.terminal import visible
from sim_bridge.ros.params.parameter_files import read_parameter_file
from sim_bridge.world.world import World

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Mapping

    from sim_bridge.description.model import RobotDescription
    from sim_bridge.ros.params.parameter_files import ParameterFile

SOUND, DEFECTIVE = 0, 1
# [m] smaller gaps are rounding, also in values written with few digits
_CLOSED = 1e-6

_BOLD, _RED, _YELLOW, _PLAIN = '\x1b[1m', '\x1b[31m', '\x1b[33m', '\x1b[0m'

_TEXTS: Mapping[str, Callable[[Any, int | None], str]] = {
    'robot': robot_text,
    'scene': scene_text,
    'parameters': parameters_text,
    'openplx': openplx_text,
    'study': lambda data, most: study_text(data, most),
}

_EPILOG = """\
exit status:
  0  the file can be used, whatever the warnings
  1  it cannot: there are errors
  2  wrong usage, or the file cannot be read, or the output not written

for example:
  sim_bridge check arm                              # a shipped robot
  sim_bridge check your.xacro --xacro-arg arm:=left --package-path ~/src
  sim_bridge check gallery/dominoes                 # a shipped scene
  sim_bridge check config/world_table.yaml          # a scene, with its robots
  sim_bridge check crane.openplx --model Crane      # poses, and how SNAP found them
  sim_bridge check my.params.yaml                   # parameters of nodes
  sim_bridge check your.urdf --json | jq .robot.mass
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'check',
        help='show the contents of a robot, scene or parameter file, and every defect',
        description='Show the contents read from a robot, scene or parameter file: tree, degrees '
        'of freedom, masses, sensors, controls, drives, collision shapes, elements not simulated. '
        'Then report every defect: element, name, value and line.',
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    completed(
        parser.add_argument(
            'file',
            metavar='FILE',
            help='a shipped robot or scene by name; a URDF, xacro, SDF, MJCF, USD, body or '
            'OpenPLX file; a scene, a Choreonoid project, a parameter file or a sweep study',
        ),
        completers.robots,
    )
    parser.add_argument('--json', action='store_true', help='print everything as JSON')
    parser.add_argument(
        '--all', action='store_true', help=f'show lists with more than {MOST} lines in full'
    )
    add_description(parser)
    add_model(parser)
    completed(
        parser.add_argument(
            '--extra-joints', metavar='FILE', help='a YAML file with joints closing loops'
        ),
        completers.yaml_files,
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the file's contents and the report; return the exit status."""
    path = find_scene(args.file)
    if path.is_file() and is_world(path):
        is_yaml = format_of(path) is YAML
        return _show(_check_yaml(path) if is_yaml else _check_scene(path, args.package_path), args)
    path = find_robot(args.file, package_paths=args.package_path)
    if format_of(path) is OPENPLX:
        return _show(_check_openplx(path, args.model), args)
    description, report = examine_description(
        path,
        xacro_args=dict(text.split(':=', 1) for text in args.xacro_arg),
        package_paths=args.package_path,
        model=args.model or '',
    )
    if description is not None and report.ok and args.extra_joints:
        try:
            description = add_extra_joints(replace(description, report=report), args.extra_joints)
            report = description.report
        except DescriptionError as err:
            report = err.report
    return _show(_checked_robot(description, report), args)


class _Checked:
    """Report, and the contents to print: data for JSON, rendered as text on request."""

    def __init__(self, report: Report, data: Mapping[str, Any], summary: str = '') -> None:
        """summary: last line of the output."""
        self.report, self.data, self.summary = report, data, summary

    def text(self, most: int | None) -> str:
        """Return the contents as text; '' if there are errors. most: lines per list."""
        kind = self.data['kind']
        if not self.report.ok or self.data[kind] is None:
            return ''
        return _TEXTS[kind](self.data[kind], most)


def _checked_robot(description: RobotDescription | None, report: Report) -> _Checked:
    loops: list[dict[str, Any]] = []
    ways: dict[str, int] | None = None
    robot, summary = None, ''
    if description is not None and report.ok:
        findings = Findings()
        robot = robot_data(replace(description, report=report), findings)
        report = _joined(report, findings.report(report.source))
        if description.constraints:
            loops, ways = loop_data(description), mobility_data(description)
            summary = _loops_text(loops, ways)
    return _Checked(
        report, {'kind': 'robot', 'robot': robot, 'loops': loops, 'mobility': ways}, summary
    )


def _check_yaml(path: Path) -> _Checked:
    """Check a scene, study or parameter file, distinguished by its keys."""
    findings = Findings()
    parameters = _parameter_file(path)
    if parameters is not None:
        from sim_bridge.cli.parameter_check import parameter_data

        data = parameter_data(parameters, findings)
        return _Checked(findings.report(str(path)), {'kind': 'parameters', 'parameters': data})
    content = read_mapping(path, findings)
    if content is None:
        return _Checked(findings.report(str(path)), {'kind': 'scene', 'scene': None})
    if 'world' in content:
        return _check_scene(path)
    if 'study' in content:
        return _check_study(path)
    known = (
        'world, for a scene; study, for a sweep; NODE containing ros__parameters, for '
        'parameters. Joints closing loops are checked with their robot, by '
        '--extra-joints'
    )
    findings.error(
        'unknown-kind',
        Place('file', path.name),
        f'has none of the keys {known}',
        '',
        ', '.join(map(str, content)),
    )
    return _Checked(findings.report(str(path)), {'kind': 'parameters', 'parameters': None})


def _parameter_file(path: Path) -> ParameterFile | None:
    """Return a parameter file's content; None for a file without a parameter block."""
    try:
        file = read_parameter_file(path)
    except InvalidValueError:
        # the other readers report the defect
        return None
    return file if file.has_blocks else None


def study_text(study: Any, most: int | None) -> str:
    """Return a study's data as text."""
    # imported late, here and below: the import takes time, and few checks need it
    from sim_bridge.cli.study_overview import study_text as text_of

    return text_of(study, most)


def _check_study(path: Path) -> _Checked:
    from sim_bridge.cli.study_overview import study_data
    from sim_bridge.sweep.study import read_study
    from sim_bridge.sweep.study_files import files_report

    try:
        study = read_study(path)
    except DescriptionError as err:
        return _Checked(err.report, {'kind': 'study', 'study': None})
    return _Checked(files_report(study), {'kind': 'study', 'study': study_data(study)})


def _check_scene(path: Path, package_paths: Iterable[str] = ()) -> _Checked:
    try:
        scene = read_scene(path, package_paths=package_paths)
    except DescriptionError as err:
        return _Checked(err.report, {'kind': 'scene', 'scene': None})
    report, robots = scene.report, {}
    for each in scene.robots:
        options: Mapping[str, Any] = each.arguments
        description, own = examine_robot(each)
        findings = Findings()
        if description is not None and own.ok:
            robots[each.name] = robot_data(
                replace(description, report=own),
                findings,
                base=base_of(description, options.get('base', FILE)),
                collisions=options.get('collisions', HULL),
            )
        # the lines refer to the robot's file, not to the scene
        for finding in (*own.findings, *findings.report('').findings):
            where = f'{own.source}:{finding.line}: {finding.subject}: {finding.message}'
            findings_of = Findings()
            findings_of.add(
                finding.severity, finding.code, Place('robots', each.name, each.line), where
            )
            report = _joined(report, findings_of.report(report.source))
    if report.ok:
        # only a world can resolve names of materials, joints and the like
        try:
            World().load_scene(path, package_paths)
        except DescriptionError as err:
            report = _joined(report, err.report)
    return _Checked(report, {'kind': 'scene', 'scene': scene_data(scene, robots)})


def _check_openplx(path: Path, model: str | None) -> _Checked:
    scene, report = examine_openplx(path, model)
    if scene is not None:
        try:
            World().loader.add(scene, None, ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)))
        except DescriptionError as err:
            # only a world can determine whether loops close
            scene, report = None, err.report
    data = None if scene is None else openplx_data(scene)
    return _Checked(report, {'kind': 'openplx', 'openplx': data})


def _joined(report: Report, more: Report) -> Report:
    return replace(report, findings=(*report.findings, *more.findings))


def _show(checked: _Checked, args: argparse.Namespace) -> int:
    report = checked.report.strict() if args.strict else checked.report
    checked.report = report
    for finding in report.errors:
        # an unreadable file imported by OpenPLX has a line number
        if finding.code == 'unreadable' and not finding.line:
            raise InvalidValueError('file', report.source, f'one that {finding.message}')
    code = SOUND if report.ok else DEFECTIVE
    if args.json:
        print(report.to_json(**checked.data))
        return code
    overview = visible(checked.text(None if args.all else MOST))
    defects = visible(report.to_text())
    if _has_colours():
        overview = re.sub(r'(\A|\n\n)(\S.*)', rf'\1{_BOLD}\2{_PLAIN}', overview)
        for word, colour in (('error', _RED), ('warning', _YELLOW)):
            defects = defects.replace(f': {word}: ', f': {colour}{word}{_PLAIN}: ')
    if overview:
        print(overview)
        print()
    print(defects)
    if checked.summary:
        print(visible(f'{report.source}: {checked.summary}'))
    return code


def _has_colours() -> bool:
    return (
        sys.stdout.isatty() and not os.environ.get('NO_COLOR') and os.environ.get('TERM') != 'dumb'
    )


def _loops_text(loops: list[dict[str, Any]], ways: Mapping[str, int]) -> str:
    """Return the loop joints as text: their number, the ones open at zero, and the mobility."""
    open_ones = [
        f'{loop["name"]!r} by {loop["gap_at_zero"]:.3g} m'
        for loop in loops
        if loop['gap_at_zero'] > _CLOSED
    ]
    opened = f'; open where all joints are at 0: {", ".join(open_ones)}' if open_ones else ''
    spare = ways['constraints'] - ways['independent_constraints']
    redundant = f', {spare} of them redundant' if spare else ''
    return (
        f'{counted(len(loops), "loop joint")}{opened}; freedoms {ways["freedoms"]}, constraints '
        f'{ways["constraints"]}{redundant}: mobility {ways["mobility"]}'
    )
