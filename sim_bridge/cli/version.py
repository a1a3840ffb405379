"""`sim_bridge version`: print the installed versions, for bug reports."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
from pathlib import Path
import platform

from sim_bridge.foundation.version import __version__


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'version',
        help='print the versions of this package and its dependencies',
        description='Print the versions of this package and its dependencies.',
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the versions; return the exit code."""
    print(f'sim_bridge {__version__} in {Path(__file__).parents[1]}')
    print(f'Python {platform.python_version()} on {platform.platform()}')
    for distribution in ('numpy', 'llvmlite', 'rclpy'):
        print(f'{distribution} {_describe(distribution)}')
    return 0


def _describe(distribution: str) -> str:
    spec = importlib.util.find_spec(distribution)
    if spec is None or spec.origin is None:
        return 'missing'
    return f'{importlib.metadata.version(distribution)} in {Path(spec.origin).parent}'
