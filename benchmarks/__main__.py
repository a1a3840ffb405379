"""
Run the benchmarks.

    python -m benchmarks                     all of them except those on the ROS graph
    python -m benchmarks step energy         some of them
    python -m benchmarks bridge messages     benchmarks on the ROS graph
    python -m benchmarks --plot              and draw the documentation's figures
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from benchmarks import (
    batch,
    boxes,
    broad_phase,
    cameras,
    cold_start,
    collision,
    dynamics,
    energy,
    friction,
    loops,
    piles,
    rays,
    simbenchmark,
    stack,
    stand,
    step,
    view,
    worlds,
    worst,
)

_BENCHMARKS = {
    'step': step.run,
    'dynamics': dynamics.run,
    'energy': energy.run,
    'loops': loops.run,
    'batch': batch.run,
    'cold_start': cold_start.run,
    # with contacts
    'simbenchmark': simbenchmark.run,
    'boxes': boxes.run,
    'friction': friction.run,
    'stack': stack.run,
    'stand': stand.run,
    'piles': piles.run,
    'worst': worst.run,
    # contact detection alone
    'collision': collision.run,
    'broad_phase': broad_phase.run,
    'rays': rays.run,
    # pictures
    'cameras': cameras.run,
    # loading
    'worlds': worlds.run,
    # live page cost
    'view': view.run,
}
# on the ROS graph: need ROS 2, run only on request
_ROS_BENCHMARKS = ('bridge', 'messages')
_ROOT = Path(__file__).parent.parent


def main() -> None:
    """Run the benchmarks named on the command line, print the tables and save them with data."""
    names = (*_BENCHMARKS, *_ROS_BENCHMARKS)
    parser = argparse.ArgumentParser(
        prog='python -m benchmarks',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        'names',
        nargs='*',
        metavar='NAME',
        help=f'{", ".join(names)} (default: all but the last '
        f'{len(_ROS_BENCHMARKS)}, which need ROS 2)',
    )
    parser.add_argument(
        '--output',
        type=Path,
        default=_ROOT / 'build' / 'benchmarks',
        help='folder for NAME.txt and NAME.json (default: %(default)s)',
    )
    parser.add_argument('--plot', action='store_true', help='draw the results into docs/')
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in names:
            parser.error(f'no benchmark {name!r}: choose from {", ".join(names)}')
    for name in arguments.names or _BENCHMARKS:
        run = _BENCHMARKS.get(name) or importlib.import_module(f'benchmarks.{name}').run
        report = run()
        path = report.save(arguments.output)
        print(f'{report.text()}\n{path}\n', flush=True)
        if arguments.plot:
            from benchmarks import plot  # matplotlib is only needed here

            for figure in plot.draw(report, _ROOT / 'docs'):
                print(figure)


if __name__ == '__main__':
    main()
