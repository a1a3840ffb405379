"""The command `sim_bridge`: finds the verb and runs it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
import sys

from sim_bridge.foundation.early_signals import interrupt_on_signals, quit_on_signals
from sim_bridge.foundation.errors import SimBridgeError

VERBS = (
    'run', 'node', 'record', 'replay', 'qos', 'check', 'compile', 'interfaces', 'version')

USAGE_ERROR = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run the command with the arguments `argv` and return its exit code.

    argv: without the name of the program; those of the process if None.

    What follows a bare `--` reaches the verb as `args.forwarded`; a verb whose parser has the
    default `forwards_unknown=True` gets the arguments it does not know in front of these.
    """
    if argv is None:
        quit_on_signals()
    arguments = list(sys.argv[1:] if argv is None else argv)
    forwarded: list[str] = []
    if '--' in arguments:
        at = arguments.index('--')
        arguments, forwarded = arguments[:at], arguments[at + 1:]

    verb = arguments[0] if arguments and arguments[0] in VERBS else None
    parser = _build_parser((verb,) if verb else VERBS)
    args, unknown = parser.parse_known_args(arguments)
    if unknown and not getattr(args, 'forwards_unknown', False):
        parser.error(f'unrecognized arguments: {" ".join(unknown)}')
    args.forwarded = unknown + forwarded
    if argv is None:
        # a node that is told to end while it starts has ended as it was told to
        quit_on_signals(0) if args.verb == 'node' else interrupt_on_signals()
    try:
        code: int = args.run(args)
        return code
    except SimBridgeError as err:
        print(f'sim_bridge {args.verb}: {err}', file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        return INTERRUPTED


def _build_parser(verbs: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='sim_bridge',
        description='Simulate robots on a ROS 2 graph.',
        epilog='`sim_bridge VERB --help` tells what a verb takes.',
        allow_abbrev=False,
    )
    subparsers = parser.add_subparsers(dest='verb', metavar='VERB', required=True)
    for verb in verbs:
        import_module(f'sim_bridge.cli.{verb}').add_parser(subparsers)
    return parser
