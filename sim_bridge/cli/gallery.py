"""`sim_bridge gallery`: list the shipped scenes."""

from __future__ import annotations

import argparse

from sim_bridge.cli.help import HelpFormatter
from sim_bridge.description.resources import gallery_scenes
from sim_bridge.description.scene.load import read_scene

_EPILOG = """\
for example:
  sim_bridge run gallery/dominoes
  sim_bridge check gallery/dominoes
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'gallery',
        help='list the shipped scenes, by their names for `run`',
        description='List the shipped scenes with a description each.',
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print names and descriptions; return the exit code."""
    scenes = gallery_scenes()
    width = max(map(len, scenes))
    for name, file in scenes.items():
        print(f'{name:{width}}  {read_scene(file).description}')
    return 0
