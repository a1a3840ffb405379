"""`sim_bridge render`: pictures of a recorded run by its cameras, or by other ones."""

from __future__ import annotations

import argparse
from pathlib import Path
import sys
from typing import TYPE_CHECKING

from sim_bridge.cli import completers
from sim_bridge.cli.completers import completed
from sim_bridge.cli.console import Console
from sim_bridge.cli.environment import require_extra, require_ros, set_prefix
from sim_bridge.cli.help import HelpFormatter
from sim_bridge.cli.progress import Work
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.foundation.names import counted

if TYPE_CHECKING:
    from sim_bridge.view.camera_files import CameraPicture

FILM = '.mp4'
_EPILOG = """\
The run is simulated again, so a camera may be one that the run did not have: give a YAML file with
one camera, in the form of the parameter `sensors`, with `link: world`, or a link of a robot.

for example:
  sim_bridge record rover -o drive --duration 10
  sim_bridge render drive --camera above.yaml -o above.mp4
  sim_bridge render drive --camera rover/eye --picture depth -o depth   # PNG files, in mm
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'render',
        help='write the pictures of a camera in a recorded run',
        description='Simulate a recorded run again and write the pictures of a camera: a film, '
        'or a folder of PNG files named by their times in milliseconds.',
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
    )
    completed(parser.add_argument('bag', help='a bag that can be replayed'), completers.folders)
    completed(
        parser.add_argument(
            '--camera',
            required=True,
            metavar='NAME|FILE',
            help='a recorded camera, as eye or robot/eye; or a YAML file with another one',
        ),
        completers.files,
    )
    parser.add_argument(
        '--picture', choices=('image', 'depth'), default='image', help='default: image'
    )
    completed(
        parser.add_argument(
            '-o', '--output', required=True, metavar='FILE', help='a film (.mp4), or a folder'
        ),
        completers.files,
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """
    Write the pictures; return the exit code.

    Raises MissingRosError, MissingPackageError, ReplayError, UnknownNameError, DescriptionError,
    InvalidValueError for an output that cannot be written, StateError without a picture.
    """
    require_ros('sim_bridge render')
    set_prefix()
    output = Path(args.output)
    is_film = output.suffix.lower() == FILM
    if is_film and args.picture != 'image':
        raise InvalidValueError('--output', args.output, 'a folder: films have images only')
    require_extra('a film', 'film', *(['imageio_ffmpeg'] if is_film else ['PIL']))
    console = Console(sys.stdout)
    try:
        count = _write(args, output, is_film, console)
    except OSError as err:
        raise InvalidValueError(
            '--output', args.output, f'one that can be written: {err.strerror}'
        ) from err
    if not count:
        raise StateError(f'bag {args.bag!r} ends before the first picture of {args.camera!r}')
    console.line(f'{args.output}: {counted(count, "picture")}')
    return 0


def _write(args: argparse.Namespace, output: Path, is_film: bool, console: Console) -> int:
    """Write all pictures; return how many."""
    from sim_bridge.ros.bag.reader import Bag
    from sim_bridge.ros.bag.rendering import render
    from sim_bridge.view.camera_files import Film, PictureFolder

    sink = Film(output) if is_film else PictureFolder(output)
    count = 0

    def take(picture: CameraPicture) -> None:
        nonlocal count
        sink.add(picture)
        count += 1

    try:
        with Work(console, 'rendered', Bag(Path(args.bag)).duration) as work:
            verdict = render(args.bag, args.camera, args.picture, take, work)
    finally:
        sink.close()
    if verdict.difference:
        console.line(f'warning: the replay differs from the recording: {verdict.difference}')
    return count
