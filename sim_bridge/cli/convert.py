"""`sim_bridge convert`: write a robot in another format."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
import sys
from typing import Protocol

import numpy as np

from sim_bridge.cli import completers
from sim_bridge.cli.completers import completed
from sim_bridge.cli.help import HelpFormatter
from sim_bridge.cli.simulated import add_description, add_model
from sim_bridge.compilation.exclusions import adjacent_bodies
from sim_bridge.description import examine_description, find_robot
from sim_bridge.description.formats import format_of, OPENPLX
from sim_bridge.description.mechanism.base import AUTO, base_of, FILE, FIXED
from sim_bridge.description.mjcf.write.robot import mjcf_text
from sim_bridge.description.model import RobotDescription
from sim_bridge.description.openplx.write.robot import openplx_text
from sim_bridge.description.report import DescriptionError, Report
from sim_bridge.description.sdf_model.write.robot import sdf_text
from sim_bridge.description.urdf.file_text import urdf_file_text
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.world.world import World

WRITTEN, REFUSED = 0, 1

_EPILOG = """\
exit status:
  0  the file is written, whatever the warnings
  1  it is not: the robot has errors, or parts without a counterpart in the format
  2  wrong usage, or a file that cannot be read or written

for example:
  sim_bridge convert your.urdf your.openplx
  sim_bridge convert your.urdf mujoco.xml            # MJCF
  sim_bridge convert your.urdf gazebo.sdf            # SDF
  sim_bridge convert arm arm.openplx --force         # a shipped robot, over a file
  sim_bridge convert rover on_a_rig.openplx --base fixed
  sim_bridge convert your.xml ball.sdf --model ball  # one robot of a world
  sim_bridge check your.openplx
"""


class Writer(Protocol):
    """Function that writes a robot's text in one format."""

    def __call__(
        self,
        description: RobotDescription,
        *,
        fixed_base: bool,
        folder: Path | None,
        apart: Iterable[tuple[str, str]],
    ) -> tuple[str | None, Report]:
        """
        Return the text, None if the robot would move differently, and a report of its losses.

        fixed_base: whether the root link is fixed to the world. folder: the file's folder. apart:
        pairs of links without collision, in addition to links connected by a joint.
        """


_WRITERS: dict[str, Writer] = {
    '.openplx': openplx_text,
    '.xml': mjcf_text,
    '.mjcf': mjcf_text,
    '.urdf': urdf_file_text,
    '.sdf': sdf_text,
}


def _accepted() -> str:
    return ', '.join(_WRITERS)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'convert',
        help='write a robot as OpenPLX, MJCF, SDF or URDF',
        description='Write a robot as an OpenPLX, MJCF, SDF or URDF file that loads to an equal '
        'model. '
        'Elements without a counterpart are reported: the conversion is refused if the robot '
        'would move differently, otherwise the element is left out.',
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    completed(
        parser.add_argument('robot', help='a shipped robot by name, or a robot file'),
        completers.robots,
    )
    completed(
        parser.add_argument(
            'output',
            metavar='OUTPUT',
            help=f'file to write; its format is chosen by its suffix, {_accepted()}',
        ),
        completers.files,
    )
    parser.add_argument(
        '--base',
        choices=(FILE, AUTO, FIXED),
        default=FILE,
        help="'fixed': fix the root link to the world; 'file': fix only a root link named world; "
        "'auto': fix as run does, also an arm or a gripper",
    )
    # former name, for --base fixed
    parser.add_argument('--fixed-base', action='store_true', help=argparse.SUPPRESS)
    parser.add_argument('--force', action='store_true', help='overwrite an existing file')
    add_description(parser)
    add_model(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the file, and print the report; return the exit status."""
    if args.fixed_base:
        print('--fixed-base is an old name; write --base fixed', file=sys.stderr)
    base = FIXED if args.fixed_base else args.base
    output = Path(args.output)
    path = find_robot(args.robot, package_paths=args.package_path)
    if format_of(path) is OPENPLX:
        raise InvalidValueError('robot', str(path), 'a file in another format: it is OpenPLX')
    _check_output(output, args.force)
    description, report = examine_description(
        path,
        xacro_args=dict(text.split(':=', 1) for text in args.xacro_arg),
        package_paths=args.package_path,
        model=args.model or '',
    )
    if description is None or not report.ok:
        for finding in report.errors:
            if finding.code == 'unreadable':
                raise InvalidValueError('robot', report.source, f'one that {finding.message}')
        return _refused(report)
    is_fixed = base_of(description, base).is_fixed
    try:
        apart = separated_links(description, is_fixed)
    except DescriptionError as err:
        return _refused(err.report)
    write = _WRITERS[output.suffix]
    text, written = write(description, fixed_base=is_fixed, folder=output.parent, apart=apart)
    # parts left out by the reader are missing in the written file, too
    report = replace(report, findings=tuple(dict.fromkeys((*report.findings, *written.findings))))
    if text is None:
        return _refused(report)
    try:
        with output.open('w' if args.force else 'x', encoding='utf-8') as file:
            file.write(text)
    except OSError as err:
        raise InvalidValueError(
            'output', str(output), f'a file that can be written ({err.strerror})'
        ) from err
    if report.findings:
        print(report.to_text(), file=sys.stderr)
    print(f'{output}: written')
    return WRITTEN


def separated_links(description: RobotDescription, is_fixed: bool) -> list[tuple[str, str]]:
    """
    Return the pairs of links excluded from collision, apart from pairs connected by joints.

    These overlap in the initial configuration, or are excluded by `selfCollide`.
    """
    robot = World().add_robot(
        description, base=FIXED if is_fixed else FILE, missing_meshes='warning'
    )
    blueprint = robot.slot.blueprint
    links: dict[int, dict[str, None]] = {}
    for shape in blueprint.shapes:
        links.setdefault(shape.body, {})[shape.link] = None
    has_shape = np.isin(np.arange(len(blueprint.model.parent)), list(links))
    pairs = robot.slot.excluded - adjacent_bodies(blueprint.model, has_shape)
    return [(one, other) for a, b in sorted(pairs) for one in links[a] for other in links[b]]


def _check_output(output: Path, force: bool) -> None:
    if output.suffix not in _WRITERS:
        raise InvalidValueError('output', str(output), f'a name ending in {_accepted()}')
    if not force and output.exists():
        raise InvalidValueError(
            'output', str(output), 'a file that does not exist yet, or --force'
        )


def _refused(report: Report) -> int:
    print(report.to_text(), file=sys.stderr)
    return REFUSED
