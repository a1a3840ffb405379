"""`sim_bridge optimise`: servo gains by simulation."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
import sys
from typing import TYPE_CHECKING

from sim_bridge.cli import completers
from sim_bridge.cli.completers import completed
from sim_bridge.cli.console import Console
from sim_bridge.cli.environment import set_threads
from sim_bridge.cli.help import HelpFormatter
from sim_bridge.cli.outputs import need_folder
from sim_bridge.cli.progress import Work
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.names import counted

if TYPE_CHECKING:
    from sim_bridge.tuning.optimise import Tuned

DONE, UNFINISHED = 0, 1

_EPILOG = """\
The file defines robot, motion, ranges, measure and constraints; docs/identification.md lists its
keys. The output file holds parameters of the node.

exit status:
  0  the search converged
  1  the search was stopped after --rounds generations; the best result is shown
  2  wrong usage, an unsuitable file, or no candidate fulfilling the constraints

for example:
  sim_bridge optimise tuning.yaml
  sim_bridge optimise tuning.yaml -o gains.yaml --seed 3
  sim_bridge optimise tuning.yaml --json | jq .values
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'optimise',
        help='search the best servo gains for a motion',
        description='Search servo gains that minimise a measure of simulated motion within '
        'constraints, by differential evolution with many candidates at once.',
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    completed(
        parser.add_argument('tuning', metavar='FILE', help='a tuning file (.yaml)'),
        completers.yaml_files,
    )
    completed(
        parser.add_argument(
            '-o', '--output', metavar='FILE', help='write the gains as node parameters'
        ),
        completers.files,
    )
    parser.add_argument('--force', action='store_true', help='overwrite an existing file')
    parser.add_argument('--json', action='store_true', help='print JSON')
    parser.add_argument('--seed', type=int, default=0, help='seed of the search (default: 0)')
    parser.add_argument(
        '--rounds', type=int, default=60, metavar='N', help='maximum generations (default: 60)'
    )
    parser.add_argument(
        '--population',
        type=int,
        metavar='N',
        help='candidates per generation (default: 10 per range, at least 16)',
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Optimise; return the exit code. Raises the errors of `optimise`."""
    set_threads()
    output = Path(args.output) if args.output else None
    if output is not None:
        need_folder(output)
        if output.exists() and not args.force:
            raise InvalidValueError(
                '--output', str(output), 'a file that does not exist, or --force'
            )
    from sim_bridge.tuning.optimise import optimise

    with Work(Console(sys.stderr), 'searched', args.rounds, ' generations') as work:
        found = optimise(
            args.tuning,
            seed=args.seed,
            rounds=args.rounds,
            population=args.population,
            progress=lambda done, cost: work(done, f'least cost {cost:.5g}'),
        )
    if output is not None:
        try:
            output.write_text(found.parameters(), encoding='utf-8')
        except OSError as err:
            raise InvalidValueError(
                '--output', str(output), f'a file that can be written ({err.strerror})'
            ) from err
    if args.json:
        print(json.dumps(found.as_plain(), indent=2, ensure_ascii=False))
    else:
        print('\n'.join(_lines(found)))
        if output is not None:
            print(f'{output}: written')
    return DONE if found.is_converged else UNFINISHED


def _lines(found: Tuned) -> list[str]:
    width = max(map(len, found.values))
    lines = [
        f'{name:{width}}  {value:.6g}' + '  at the end of its range' * (name in found.at_limit)
        for name, value in found.values.items()
    ]
    lines.append(f'cost {found.cost:.6g}, {counted(found.evaluations, "simulation")}')
    lines += [f'{each.text}: {each.value:.6g}' + ', binds' * each.binds for each in found.limits]
    if not found.is_converged:
        lines.append('warning: the search was stopped before it converged; try more --rounds')
    return lines
