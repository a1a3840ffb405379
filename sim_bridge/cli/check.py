"""`sim_bridge check`: say what is wrong with a robot description."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from sim_bridge.description import check_description, find_robot
from sim_bridge.errors import SimBridgeError

if TYPE_CHECKING:
    import argparse

SOUND, DEFECTIVE, UNUSABLE = 0, 1, 2

_EPILOG = """\
exit status:
  0  the description can be simulated, whatever the warnings
  1  it cannot: there are errors
  2  wrong usage, or the file cannot be read
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add this verb to the command line."""
    import argparse

    parser = subparsers.add_parser(
        'check',
        help='report every defect of a robot description',
        description='Report every defect of a URDF or xacro file: element, name, value and line.',
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
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the report; give the exit status."""
    malformed = [text for text in args.xacro_arg if ':=' not in text]
    if malformed:
        return _fail(f'--xacro-arg {malformed[0]}: expected NAME:=VALUE')
    try:
        path = find_robot(args.robot)
    except SimBridgeError as err:
        return _fail(str(err))
    xacro_args = dict(text.split(':=', 1) for text in args.xacro_arg)
    report = check_description(path, xacro_args=xacro_args, package_paths=args.package_path)
    if any(finding.code == 'unreadable' for finding in report.errors):
        return _fail(report.errors[0].message, str(path))
    print(report.to_json() if args.json else report.to_text())
    return SOUND if report.ok else DEFECTIVE


def _fail(message: str, subject: str = '') -> int:
    about = f'{subject}: ' if subject else ''
    print(f'sim_bridge check: {about}{message}', file=sys.stderr)
    return UNUSABLE
