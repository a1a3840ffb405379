"""`sim_bridge replay`: simulate a recording again and prove that the bits are equal."""

from __future__ import annotations

import argparse
from pathlib import Path
import sys
import time

from sim_bridge.cli import completers
from sim_bridge.cli.completers import completed
from sim_bridge.cli.console import Console
from sim_bridge.cli.environment import require_ros, set_prefix
from sim_bridge.cli.help import HelpFormatter
from sim_bridge.cli.progress import Work
from sim_bridge.foundation.names import counted

SAME, DIFFERENT = 0, 1

_EPILOG = """\
exit status:
  0  every message and every state hash is as recorded
  1  something differs; the first differing step is named
  2  the bag cannot be replayed, or is damaged: the part before the damage was compared

for example:
  sim_bridge record arm -o swing --duration 10
  sim_bridge replay swing
  sim_bridge replay swing --images    # pictures too, with record_images
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'replay',
        help='simulate a recorded run again and compare it bit by bit',
        description='Simulate a recorded run again, from the description, parameters and commands '
        'in the bag, and compare every message and state hash.',
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
    )
    completed(
        parser.add_argument(
            'bag', help='a bag from `sim_bridge record`, `run --record` or the parameter `record`'
        ),
        completers.folders,
    )
    parser.add_argument(
        '--images',
        action='store_true',
        help='also render the pictures whose hashes are in the bag (record_images), and compare',
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """
    Replay; return the exit code.

    Raises MissingRosError, ReplayError, or another SimBridgeError if the world cannot be built.
    """
    require_ros('sim_bridge replay')
    set_prefix()
    from sim_bridge.foundation.version import __version__
    from sim_bridge.ros.bag.reader import Bag
    from sim_bridge.ros.bag.replay import replay

    console = Console(sys.stdout)
    begun = time.monotonic()
    with Work(console, 'replayed', Bag(Path(args.bag)).duration) as work:
        verdict = replay(Path(args.bag), work, images=args.images)
    took = time.monotonic() - begun
    console.line(
        f'{counted(verdict.ticks, "control step")}, {counted(verdict.commands, "input")} in '
        f'{took:.1f} s; as recorded: {counted(verdict.messages, "message")}, '
        f'{counted(verdict.hashes, "state hash", "state hashes")}'
        + (f', the last {verdict.state_hash}' if verdict.state_hash else '')
        + (f'; {counted(verdict.pictures, "picture")}' if verdict.pictures else '')
    )
    if verdict.unseen:
        console.line(f'{counted(verdict.unseen, "picture")} not compared; --images compares them')
    for said in filter(None, (verdict.note, verdict.left_out)):
        console.line(f'warning: {said}')
    if verdict.difference:
        version = (
            ''
            if verdict.version == __version__
            else (f' (recorded by version {verdict.version}, replayed by {__version__})')
        )
        console.line(f'different from {verdict.difference}{version}')
    if verdict.damage is not None:
        raise verdict.damage
    if verdict.difference:
        return DIFFERENT
    console.line('the same')
    return SAME
