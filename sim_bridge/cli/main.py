"""Command `sim_bridge`: finds the verb and runs it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
import os
import sys

from sim_bridge.cli.help import HelpFormatter
from sim_bridge.cli.standard_streams import discard, prepare_streams, tell
from sim_bridge.foundation.early_signals import interrupt_on_signals, quit_command_on_signals
from sim_bridge.foundation.errors import OutputError, SimBridgeError
from sim_bridge.foundation.version import __version__

VERBS = (
    'run',
    'view',
    'gallery',
    'node',
    'record',
    'replay',
    'info',
    'plot',
    'render',
    'sweep',
    'identify',
    'optimise',
    'qos',
    'check',
    'convert',
    'compile',
    'interfaces',
    'completion',
    'version',
)

_EPILOG = """\
`sim_bridge VERB --help` explains a verb, with examples.

for example:
  sim_bridge check your.urdf      # show its contents and defects
  sim_bridge run your.urdf        # simulate it on the ROS graph, with a controller
  sim_bridge record arm -o swing --duration 10
"""

USAGE_ERROR = 2
INTERRUPTED = 130
UNREAD = 141


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run the command with the arguments `argv` and return its exit code.

    argv: arguments without the program name; None for the process arguments.

    Arguments after a bare `--`, and `--ros-args` with all arguments after it, are passed to the
    verb as `args.forwarded` if its parser has the default `forwards=True`.
    """
    if argv is None:
        quit_command_on_signals()
        prepare_streams()
        if '_ARGCOMPLETE' in os.environ:
            # a shell requests completion
            from sim_bridge.cli.completers import complete

            complete(build_parser())
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv), is_process=argv is None)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # the reader has gone, as after `| head`
        discard(sys.stdout)
        return UNREAD
    except OutputError as err:
        tell(f'sim_bridge: {err}')
        discard(sys.stdout)
        return USAGE_ERROR
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(arguments: list[str], *, is_process: bool) -> int:
    """
    Run a verb; return the exit code. is_process: whether the process belongs to the command.

    Raises OutputError, and SystemExit after a help or usage text.
    """
    arguments, forwarded = _split(arguments)
    verb = arguments[0] if arguments and arguments[0] in VERBS else None
    parser = build_parser((verb,) if verb else VERBS)
    try:
        args = parser.parse_args(arguments)
        if forwarded and not getattr(args, 'forwards', False):
            parser.error(f'unrecognized arguments: {" ".join(forwarded)}')
        args.forwarded = forwarded
        if is_process and args.verb != 'node':
            interrupt_on_signals()
        code: int = args.run(args)
        return code
    except OutputError:
        raise
    except SystemExit:
        sys.stdout.flush()
        raise
    except SimBridgeError as err:
        # for an unknown name, too, the usage text would not help
        tell(f'sim_bridge {verb}: {err}')
        return USAGE_ERROR


def _split(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the arguments of this program, and the arguments forwarded to another or to ROS."""
    for at, word in enumerate(words):
        if word == '--':
            return words[:at], words[at + 1 :]
        if word == '--ros-args':
            return words[:at], words[at:]
    return words, []


def build_parser(verbs: Sequence[str] = VERBS) -> argparse.ArgumentParser:
    """Return the command line parser with these verbs."""
    parser = argparse.ArgumentParser(
        prog='sim_bridge',
        description='Simulate robots on a ROS 2 graph.',
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        '-V',
        '--version',
        action='version',
        version=f'%(prog)s {__version__}',
        help='print only the version of this package',
    )
    subparsers = parser.add_subparsers(dest='verb', metavar='VERB', required=True)
    for verb in verbs:
        import_module(f'sim_bridge.cli.{verb}').add_parser(subparsers)
    return parser
