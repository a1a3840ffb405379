"""`sim_bridge completion`: print the shell script that completes this command."""

from __future__ import annotations

import argparse

from sim_bridge.cli.completers import script, SHELLS
from sim_bridge.cli.help import HelpFormatter

_EPILOG = """\
Verbs, options, robots, files and the names after -p are completed.

for example:
  source <(sim_bridge completion bash)                                 # in ~/.bashrc
  source <(sim_bridge completion zsh)                                  # in ~/.zshrc
  sim_bridge completion fish > ~/.config/fish/completions/sim_bridge.fish
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'completion',
        help='print the shell script that completes this command',
        description='Print the shell script that completes the command sim_bridge.',
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument('shell', choices=SHELLS)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the script; return the exit code."""
    print(script(args.shell))
    return 0
