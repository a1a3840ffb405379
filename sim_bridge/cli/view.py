"""`sim_bridge view`: show a simulation or a recorded run on a page."""

from __future__ import annotations

import argparse
from pathlib import Path

from sim_bridge.cli import run as running
from sim_bridge.cli.help import HelpFormatter
from sim_bridge.cli.simulated import add_simulated
from sim_bridge.cli.view_bag import add_arguments, is_bag, view_bag
from sim_bridge.description.controllers import CONTROLLERS
from sim_bridge.foundation.errors import UnknownNameError

_EPILOG = """\
The page is on this machine only; its address contains a token. Its contents: docs/view_node.md.

for example:
  sim_bridge view quadruped
  sim_bridge view config/world_table.yaml --no-browser
  sim_bridge view arm --controller pd        # as `sim_bridge run arm --view`
  sim_bridge view swing                      # a bag: with its time and events
  sim_bridge view swing --html swing.html    # one file to share
  sim_bridge view after --with before        # the second run as a ghost
  sim_bridge view swing --output swing.mp4 --from 2 --to 4 --speed 0.5
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'view',
        help='show a robot, a world or a bag in a page',
        description='Simulate a robot, or a world from a scene file, and show it on a live page '
        'with controls for the joints; Ctrl-C ends both. Or show the run in a bag, or '
        'write it as one page, picture or film.',
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    add_simulated(parser)
    parser.add_argument(
        '--controller',
        choices=(*CONTROLLERS, 'none'),
        default='none',
        help='source of commands beside the page (default: none)',
    )
    parser.add_argument('--paused', action='store_true', help='start paused')
    running.add_page(parser)
    add_arguments(parser)
    parser.set_defaults(
        run=run, forwards=True, view=True, record=None, duration=None, real_time_factor=None
    )


def run(args: argparse.Namespace) -> int:
    """
    Show a bag, or run like `sim_bridge run --view`; raises the same errors.

    Raises UnknownNameError for an unknown robot name, also listing the bags in this folder.
    """
    if is_bag(args.robot):
        return view_bag(args, args.robot)
    try:
        return running.run(args)
    except UnknownNameError as err:
        if (err.kind, err.name) != ('robot', args.robot):
            raise
        bags = sorted(each.name for each in Path().iterdir() if is_bag(str(each)))
        raise UnknownNameError('robot, world file or bag', err.name, [*bags, *err.known]) from None
