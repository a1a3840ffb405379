"""`sim_bridge plot`: curves from recorded topics, as a page or a picture."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
import sys
import webbrowser

from sim_bridge.cli import completers
from sim_bridge.cli.completers import completed
from sim_bridge.cli.console import Console
from sim_bridge.cli.curves import Panel
from sim_bridge.cli.environment import require_extra, require_ros, set_prefix
from sim_bridge.cli.help import HelpFormatter
from sim_bridge.cli.progress import Work
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.foundation.names import bytes_text, counted
from sim_bridge.foundation.near_files import path_meant

PAGE, PICTURES = '.html', ('.png', '.svg', '.pdf')

_EPILOG = """\
A curve is a field of a topic: /joint_states.velocity[joint_4]. The brackets contain an item's
name (joint, link, frame, key) or its number. A field with many numbers gives a curve for each.
Curves can be computed with + - * / % **, numbers, pi, g and functions: d(x) is the derivative
with respect to time, integral(x) the integral; norm abs sqrt exp log sin cos tan asin acos atan
atan2 hypot min max sign degrees radians. Topics may omit their namespace if that is unambiguous.
Each argument is a panel; commas put several curves into one. Quote them: shells read [ ] ( ) *.

for example:
  sim_bridge plot swing 'joint_states.position[joint_4]' 'd(joint_states.position[joint_4])'
  sim_bridge plot before after '/joint_states.effort' --output efforts.png
  sim_bridge plot swing 'imu/imu.linear_acceleration.x - imu/imu/truth.linear_acceleration.x'
  sim_bridge plot run '/tf.transforms[base_link].transform.translation.z' --from 2 --to 4
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'plot',
        help='plot curves from recorded topics, as a page or a picture',
        description='Plot fields of recorded topics over time, from one bag or from several '
        'overlaid, as a self-contained page or as a picture.',
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    completed(
        parser.add_argument(
            'what',
            nargs='+',
            metavar='BAG… CURVE…',
            help='bags (folders, .mcap files), then curves',
        ),
        completers.files,
    )
    completed(
        parser.add_argument(
            '-o',
            '--output',
            metavar='FILE',
            help='a page (.html) or a picture (.png, .svg, .pdf); '
            'default: BAG_plot.html beside the first bag, opened in a browser',
        ),
        completers.files,
    )
    completed(
        parser.add_argument('--html', metavar='FILE', help='a page, possibly besides a picture'),
        completers.files,
    )
    parser.add_argument(
        '--from', dest='begin', type=float, default=-math.inf, metavar='S', help='begin [s]'
    )
    parser.add_argument(
        '--to', dest='end', type=float, default=math.inf, metavar='S', help='end [s]'
    )
    parser.add_argument(
        '--title', metavar='TEXT', help='text above the curves (default: the bags)'
    )
    parser.add_argument(
        '--no-browser', action='store_true', help='write the page without opening it'
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """
    Plot; return the exit code.

    Raises MissingRosError, MissingPackageError, and the errors of `read_series` and `Expression`.
    """
    require_ros('sim_bridge plot')
    set_prefix()
    bags, curves = _split(args.what)
    files = [Path(each) for each in (args.output, args.html) if each]
    for file in files:
        if file.suffix.lower() not in (PAGE, *PICTURES) or (
            str(file) == args.html and file.suffix.lower() != PAGE
        ):
            raise InvalidValueError(
                '--html' if str(file) == args.html else '--output',
                str(file),
                f'a file ending in {PAGE}'
                if str(file) == args.html
                else f'a file ending in {", ".join((PAGE, *PICTURES))}',
            )
    is_shown = not files and not args.no_browser
    files = files or [bags[0].with_name(f'{bags[0].stem}_plot{PAGE}')]
    for file in files:
        if file.suffix.lower() == PAGE:
            require_extra('a page of curves', 'plot', 'plotly')
        else:
            require_extra('a picture of curves', 'plot', 'matplotlib')
    console = Console(sys.stdout)
    panels = _read(bags, curves, (args.begin, args.end), console)
    title = args.title or ', '.join(bag.name for bag in bags)
    for file in files:
        if file.suffix.lower() == PAGE:
            from sim_bridge.cli.curves_page import write_page as write
        else:
            from sim_bridge.cli.curves_picture import write_picture as write
        is_replaced = file.exists()
        try:
            write(panels, title, file)
        except OSError as err:
            raise InvalidValueError(
                'file', str(file), f'one that can be written: {err.strerror}'
            ) from err
        console.line(
            f'{file}: {counted(sum(len(panel.curves) for panel in panels), "curve")}, '
            f'{bytes_text(file.stat().st_size)}{", replaced" * is_replaced}'
        )
    if is_shown:
        webbrowser.open(files[0].resolve().as_uri())
    return 0


def _split(words: list[str]) -> tuple[list[Path], list[str]]:
    """Return bags and curves; raises InvalidValueError if there are no bags or no curves."""
    count = next((k for k, word in enumerate(words) if not Path(word).exists()), len(words))
    if not count:
        raise InvalidValueError(
            'bag', words[0], 'a folder or an .mcap file that exists' + path_meant(Path(words[0]))
        )
    if count == len(words):
        raise InvalidValueError(
            'curves',
            'none',
            'fields of topics after the bag, such as '
            "'joint_states.position[joint_4]'; `sim_bridge info BAG` lists the topics",
        )
    return [Path(word) for word in words[:count]], words[count:]


def _check_is_no_topic(text: str, bag: Path) -> None:
    """Raise InvalidValueError, listing the available fields, for a topic without a field."""
    from sim_bridge.ros.bag.reader import Bag
    from sim_bridge.ros.wire.message_types import message_class

    name = text.strip().lstrip('/')
    for topic in Bag(bag).topics:
        if name and f'/{topic.name.lstrip("/")}'.endswith(f'/{name}'):
            fields = message_class(topic.type_name).get_fields_and_field_types()  # type: ignore[attr-defined]
            raise InvalidValueError(
                'curve',
                text,
                'a field of this topic: ' + ', '.join(f'{name}.{each}' for each in fields),
            )


def _read(
    bags: list[Path], curves: list[str], span: tuple[float, float], console: Console
) -> list[Panel]:
    """Return the curves from all bags, one panel per argument."""
    from sim_bridge.ros.bag.expressions import Expression
    from sim_bridge.ros.bag.fields import read_series
    from sim_bridge.ros.bag.reader import Bag

    for text in curves:
        _check_is_no_topic(text, bags[0])
    expressions = [Expression(text) for text in curves]
    references = [each for expression in expressions for each in expression.references]
    panels = [Panel(expression.text, []) for expression in expressions]
    for bag in bags:
        with Work(console, f'of {bag.name} read', Bag(bag).duration) as work:
            data, warning = read_series(bag, dict.fromkeys(references), work)
        if warning:
            console.line(f'warning: {warning}')
        for expression, panel in zip(expressions, panels, strict=True):
            for name, series in expression.evaluate(data):
                kept = (series.times >= span[0]) & (series.times <= span[1])
                if not kept.any():
                    raise StateError(
                        f'{name} of bag {str(bag)!r} has no values from {span[0]:g} to '
                        f'{span[1]:g} s; it has them from {series.times[0]:.6g} to '
                        f'{series.times[-1]:.6g} s'
                    )
                own = f'{bag.name}: {name}' if len(bags) > 1 else name
                panel.add(
                    own, series.times[kept], series.values[kept, 0], str(series.unit(0) or '')
                )
    return panels
