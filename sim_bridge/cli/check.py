"""`sim_bridge check`: report the defects of a robot description."""

from __future__ import annotations

from dataclasses import replace
import sys
from typing import TYPE_CHECKING, TypedDict

from sim_bridge.description import (
    add_extra_joints,
    DescriptionError,
    examine_description,
    find_robot,
    gap,
    link_poses,
    Mobility,
    mobility,
)
from sim_bridge.foundation.errors import SimBridgeError

if TYPE_CHECKING:
    import argparse

    from sim_bridge.description.model import RobotDescription

SOUND, DEFECTIVE, UNUSABLE = 0, 1, 2
# m: a gap below this is rounding, also of values that were written with few digits
_CLOSED = 1e-6


class _Loop(TypedDict):
    """A loop joint, as in the JSON report; `gap_at_zero` in m."""

    name: str
    type: str
    link1: str
    link2: str
    gap_at_zero: float
    line: int


_EPILOG = """\
exit status:
  0  the description can be simulated, whatever the warnings
  1  it cannot: there are errors
  2  wrong usage, or the file cannot be read
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    import argparse

    parser = subparsers.add_parser(
        'check',
        help='report every defect of a robot description',
        description=(
            'Report every defect of a URDF or xacro file: element, name, value and line. '
            'Of a robot with closed loops, say in how many ways it can move.'
        ),
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('robot', help='a URDF or xacro file, or the name of a shipped robot')
    parser.add_argument('--json', action='store_true', help='print the report as JSON')
    parser.add_argument(
        '--package-path',
        action='append',
        default=[],
        metavar='DIR',
        help='where to look for package:// files first; may be repeated',
    )
    parser.add_argument(
        '--xacro-arg',
        action='append',
        default=[],
        metavar='NAME:=VALUE',
        help='an argument of the xacro file; may be repeated',
    )
    parser.add_argument(
        '--extra-joints', metavar='FILE', help='a YAML file of joints that close loops')
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the report; return the exit status."""
    malformed = [text for text in args.xacro_arg if ':=' not in text]
    if malformed:
        return _fail(f'--xacro-arg {malformed[0]}: expected NAME:=VALUE')
    try:
        path = find_robot(args.robot)
    except SimBridgeError as err:
        return _fail(str(err))
    xacro_args = dict(text.split(':=', 1) for text in args.xacro_arg)
    description, report = examine_description(
        path, xacro_args=xacro_args, package_paths=args.package_path)
    if description is not None and report.ok and args.extra_joints:
        try:
            description = add_extra_joints(
                replace(description, report=report), args.extra_joints)
            report = description.report
        except DescriptionError as err:
            report = err.report
    if any(finding.code == 'unreadable' for finding in report.errors):
        return _fail(report.errors[0].message, report.source)
    loops: list[_Loop] = []
    ways: Mobility | None = None
    if description is not None and report.ok and description.constraints:
        loops, ways = _loops(description), mobility(description)
    if args.json:
        print(report.to_json(loops=loops, mobility=None if ways is None else _as_json(ways)))
        return SOUND if report.ok else DEFECTIVE
    print(report.to_text())
    if ways is not None:
        print(f'{report.source}: {_loops_text(loops, ways)}')
    return SOUND if report.ok else DEFECTIVE


def _loops(description: RobotDescription) -> list[_Loop]:
    """Return every loop joint, with how far it is from closed where all joints are at 0 [m]."""
    poses = link_poses(description)
    return [
        {
            'name': constraint.name,
            'type': constraint.type.value,
            'link1': constraint.link1,
            'link2': constraint.link2 or 'world',
            'gap_at_zero': gap(constraint, poses),
            'line': constraint.line,
        }
        for constraint in description.constraints
    ]


def _as_json(ways: Mobility) -> dict[str, int]:
    return {
        'freedoms': ways.freedoms,
        'constraints': ways.constraints,
        'independent_constraints': ways.independent,
        'mobility': ways.actual,
    }


def _loops_text(loops: list[_Loop], ways: Mobility) -> str:
    """Return what closes the loops, which of them are open at zero, and what can still move."""
    count = f'{len(loops)} loop joint{"s" if len(loops) > 1 else ""}'
    open_ones = [
        f'{loop["name"]!r} by {loop["gap_at_zero"]:.3g} m' for loop in loops
        if loop['gap_at_zero'] > _CLOSED]
    opened = f'; open where all joints are at 0: {", ".join(open_ones)}' if open_ones else ''
    spare = ways.constraints - ways.independent
    redundant = f', {spare} of them redundant' if spare else ''
    return (
        f'{count}{opened}; freedoms {ways.freedoms}, constraints {ways.constraints}{redundant}: '
        f'mobility {ways.actual}')


def _fail(message: str, subject: str = '') -> int:
    about = f'{subject}: ' if subject else ''
    print(f'sim_bridge check: {about}{message}', file=sys.stderr)
    return UNUSABLE
