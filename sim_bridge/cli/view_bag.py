"""Bags in `sim_bridge view`: pages playing them, pictures and films."""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path
import sys
from typing import TYPE_CHECKING
import webbrowser

from sim_bridge.cli import completers
from sim_bridge.cli.completers import completed
from sim_bridge.cli.console import Console
from sim_bridge.cli.environment import require_extra, require_ros, set_prefix
from sim_bridge.cli.progress import Work
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.foundation.names import bytes_text

if TYPE_CHECKING:
    from sim_bridge.page.tape import Tape

PAGE, PICTURE, FILM = '.html', '.png', '.mp4'


def is_bag(text: str | None) -> bool:
    """Return whether an argument is a bag: a folder with .mcap files, or one .mcap file."""
    if not text:
        return False
    path = Path(text)
    return (
        path.suffix == '.mcap'
        or path.is_dir()
        and ((path / 'metadata.yaml').is_file() or any(path.glob('*.mcap')))
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for bags to the verb `view`."""
    group = parser.add_argument_group('of a bag')
    completed(
        group.add_argument(
            '--with',
            dest='others',
            action='append',
            default=[],
            metavar='BAG',
            help='a second run, as a ghost in the first; may be repeated',
        ),
        completers.files,
    )
    group.add_argument(
        '--beside',
        type=float,
        default=0.0,
        metavar='M',
        help='show the runs of --with beside the first at this distance along y [m], not as '
        'ghosts',
    )
    completed(
        group.add_argument(
            '--html', metavar='FILE', help='write one self-contained page that plays the bag'
        ),
        completers.files,
    )
    group.add_argument(
        '--forces', action='store_true', help='with --html: draw contacts and their forces'
    )
    completed(
        group.add_argument(
            '--output',
            metavar='FILE',
            help='write a picture (.png) or a film (.mp4), no display needed',
        ),
        completers.files,
    )
    group.add_argument(
        '--at', type=float, metavar='S', help='time of the picture [s] (default: the end)'
    )
    group.add_argument(
        '--from', dest='begin', type=float, default=-math.inf, metavar='S', help='begin [s]'
    )
    group.add_argument(
        '--to', dest='end', type=float, default=math.inf, metavar='S', help='end [s]'
    )
    group.add_argument(
        '--fps', type=float, default=30.0, metavar='HZ', help='frames per second (default: 30)'
    )
    group.add_argument(
        '--speed', type=float, default=1.0, metavar='X', help='seconds of the bag per second'
    )
    group.add_argument(
        '--size', default='960x720', metavar='WxH', help='pixels of a picture (default: 960x720)'
    )


def view_bag(args: argparse.Namespace, bag: str) -> int:
    """
    Show a bag, or write the requested files; return the exit code.

    args: those of `add_arguments`, `port` and `browser`. Raises MissingRosError, ReplayError,
    MissingPackageError, InvalidValueError, StateError.
    """
    require_ros('sim_bridge view')
    set_prefix()
    _check(args)
    console = Console(sys.stdout)
    tapes = [_read(Path(each), args, console) for each in (bag, *args.others)]
    tape = tapes[0]
    if len(tapes) > 1:
        from sim_bridge.page.tape import together

        tape = together(tapes, args.beside)
    if not args.html and not args.output:
        return _play(tape, args, console)
    length = tape.end - tape.begin
    try:
        if args.html:
            from sim_bridge.page.export import html

            with Work(console, 'written', length) as work:
                page = html(
                    tape,
                    args.forces,
                    lambda time: work(time - tape.begin),
                    lambda notice: console.line(f'warning: {notice.text}'),
                )
            Path(args.html).write_text(page, encoding='utf-8')
            console.line(f'{args.html}: {length:.6g} s, {bytes_text(len(page))}')
        if args.output:
            _draw(tape, args, console)
    except OSError as err:
        raise InvalidValueError(
            'file',
            err.filename or args.output or args.html,
            f'one that can be written: {err.strerror}',
        ) from err
    return 0


def _check(args: argparse.Namespace) -> None:
    """
    Raise InvalidValueError for wrong arguments, before anything is read.

    Raises MissingPackageError if a requested output needs a package that is not installed.
    """
    for name, file, kinds in (
        ('--html', args.html, (PAGE,)),
        ('--output', args.output, (PICTURE, FILM)),
    ):
        if file and Path(file).suffix.lower() not in kinds:
            raise InvalidValueError(name, file, f'a file ending in {" or ".join(kinds)}')
    for name, value, most in (('--fps', args.fps, 1000.0), ('--speed', args.speed, 1000.0)):
        if not 0.0 < value <= most:
            raise InvalidValueError(name, value, f'a number above 0, at most {most:g}')
    _pixels(args.size)
    for other in args.others:
        if not is_bag(other):
            raise InvalidValueError('--with', other, 'a folder with .mcap files, or an .mcap file')
    if args.html or not args.output:
        require_extra('the page', 'view', 'viser')
    if args.output:
        is_film = Path(args.output).suffix.lower() == FILM
        require_extra(
            'a film' if is_film else 'a picture',
            'film',
            'vtkmodules',
            *(['imageio_ffmpeg'] if is_film else []),
        )


def _pixels(text: str) -> tuple[int, int]:
    width, _, height = text.partition('x')
    if (
        not (
            width.isdigit()
            and height.isdigit()
            and 16 <= int(width) <= 7680
            and 16 <= int(height) <= 7680
        )
        or int(width) % 2
        or int(height) % 2
    ):
        raise InvalidValueError('--size', text, 'two even numbers from 16 to 7680, as 960x720')
    return int(width), int(height)


def _read(bag: Path, args: argparse.Namespace, console: Console) -> Tape:
    from sim_bridge.ros.bag.reader import Bag
    from sim_bridge.ros.bag.taped import tape_of

    with Work(console, f'of {bag.name} replayed', Bag(bag).duration) as work:
        tape, warnings = tape_of(bag, args.fps, work)
    for text in warnings:
        console.line(f'warning: {text}')
    kept = tape.cut(args.begin, args.end)
    if kept is None:
        raise StateError(
            f'bag {str(bag)!r} has nothing from {args.begin:g} to {args.end:g} s; it goes from '
            f'{tape.begin:g} to {tape.end:g} s'
        )
    return kept


def _draw(tape: Tape, args: argparse.Namespace, console: Console) -> None:
    """Write a picture or a film."""
    from sim_bridge.view.film import write_film, write_picture

    file = Path(args.output)
    if file.suffix.lower() == PICTURE:
        write_picture(tape, tape.end if args.at is None else args.at, _pixels(args.size), file)
    else:
        with Work(console, 'drawn', tape.end - tape.begin) as work:
            write_film(
                tape,
                args.fps,
                args.speed,
                _pixels(args.size),
                file,
                lambda time: work(time - tape.begin),
            )
    console.line(f'{file}: {bytes_text(file.stat().st_size)}')


def _play(tape: Tape, args: argparse.Namespace, console: Console) -> int:
    """Show a tape on the page until it is interrupted."""
    from sim_bridge.view.player import Player

    with Player(tape, args.port or 0, args.speed) as player:
        console.line(f'{tape.title}: {player.url}')
        if args.browser and any(os.environ.get(name) for name in ('DISPLAY', 'WAYLAND_DISPLAY')):
            webbrowser.open(player.url)
        player.run()
    return 0
