"""`sim_bridge sweep`: run a study, report on it, and repeat single runs."""

from __future__ import annotations

import argparse
from pathlib import Path
import sys
import time
from typing import TYPE_CHECKING

from sim_bridge.cli import completers
from sim_bridge.cli.completers import completed
from sim_bridge.cli.console import Console
from sim_bridge.cli.environment import require_extra, require_ros, set_prefix
from sim_bridge.cli.help import HelpFormatter
from sim_bridge.cli.progress import Work
from sim_bridge.cli.results import results_folder
from sim_bridge.foundation.errors import InvalidValueError, shortened
from sim_bridge.foundation.names import bytes_text, counted
from sim_bridge.foundation.near_files import path_meant

if TYPE_CHECKING:
    from sim_bridge.sweep.local import Executor
    from sim_bridge.sweep.study import Study
    from sim_bridge.sweep.sweep import Outcome, Progress

REPORT, REPLAY = 'report', 'replay'
FAILED, INTERRUPTED = 1, 130


_EPILOG = """\
A study defines inputs, simulation and measures (docs/sweeps.md). Each run is a row of
STUDY_results/results.parquet: inputs, measures, state hash, versions, reason of a failure. The
same command continues an interrupted or killed sweep.

exit status:
  0  every run was made; replay: the run is equal to the bit
  1  runs crashed or timed out; replay: the run differs
  2  the study cannot be run, its first runs all failed, or the results belong to another study

for example:
  sim_bridge sweep push.yaml
  sim_bridge sweep push.yaml --processes 8 --timeout 60
  sim_bridge sweep push.yaml --ray auto           # on this machine's cluster
  sim_bridge sweep report push.yaml
  sim_bridge sweep replay push.yaml --run 17 -o worst
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'sweep',
        help='run a study into a table, on this machine or a Ray cluster',
        description='Make the runs of a study that have no row yet, report on them, or repeat '
        'one with equal bits.',
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    completed(
        parser.add_argument(
            'what',
            nargs='+',
            metavar='[report | replay] STUDY',
            help='a study (.yaml), or its results folder',
        ),
        completers.studies,
    )
    completed(
        parser.add_argument(
            '--results',
            metavar='DIR',
            help='results folder (default: STUDY_results beside the study)',
        ),
        completers.folders,
    )
    group = parser.add_argument_group('of runs')
    group.add_argument(
        '--processes',
        type=int,
        metavar='N',
        help='parallel runs on this machine (default: its processors)',
    )
    group.add_argument(
        '--timeout',
        type=float,
        default=600.0,
        metavar='S',
        help='wall time limit of a run once its world is built [s] (default: 600)',
    )
    group.add_argument(
        '--ray',
        nargs='?',
        const='auto',
        metavar='ADDRESS',
        help='make runs on a Ray cluster: its address, or auto (default) for the cluster of this '
        'machine; `local` starts one here',
    )
    group.add_argument(
        '--ship',
        action='store_true',
        help="send the study's folder to the cluster nodes, for nodes that do not share files",
    )
    group.add_argument(
        '--keep-going', action='store_true', help='continue even if all of the first runs fail'
    )
    group = parser.add_argument_group('of reports and replays')
    completed(
        group.add_argument(
            '-o',
            '--output',
            metavar='PATH',
            help='page of a report (default: report.html with '
            'the results), bag of a replay (default: replays/run_K there)',
        ),
        completers.files,
    )
    group.add_argument('--run', dest='number', type=int, metavar='K', help='the run to repeat')
    group.add_argument(
        '--by',
        metavar='MEASURE',
        help='measure whose greatest values count as worst (default: '
        'the first); --by=-MEASURE: its least values',
    )
    group.add_argument(
        '--worst',
        type=int,
        default=10,
        metavar='N',
        help='worst cases in the report (default: 10)',
    )
    group.add_argument(
        '--replays',
        type=int,
        default=0,
        metavar='N',
        help='make bags, and pages playing them, for this many of the worst cases',
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """
    Sweep, report or replay; return the exit code.

    Raises MissingRosError, MissingPackageError, StudyError, InvalidValueError, StateError.
    """
    action, where = _split(args.what)
    if args.number is not None and action != REPLAY:
        raise InvalidValueError('--run', args.number, 'a run of sweep replay')
    if args.output is not None and not action:
        raise InvalidValueError(
            '--output', args.output, 'not with runs: --results names the folder of results'
        )
    require_extra('a sweep', 'sweep', 'pyarrow')
    if action == REPORT:
        from sim_bridge.cli.sweep_report import report

        return report(args, where)
    require_ros('sim_bridge sweep')
    set_prefix()
    console = Console(sys.stdout)
    if action == REPLAY:
        from sim_bridge.cli.sweep_report import replay

        return replay(args, where, console)
    return _sweep(args, where, console)


def _split(words: list[str]) -> tuple[str, Path]:
    """Return the action ('' for runs), and the path of the study or results."""
    action = words[0] if words[0] in (REPORT, REPLAY) and len(words) > 1 else ''
    rest = words[1:] if action else words
    if len(rest) != 1:
        raise InvalidValueError('study', rest, 'one study, or the folder of its results')
    path = Path(rest[0])
    if not path.exists():
        raise InvalidValueError('study', rest[0], 'a file that exists' + (path_meant(path) or ''))
    return action, path


def _sweep(args: argparse.Namespace, where: Path, console: Console) -> int:
    """Make the runs; return the exit code."""
    from sim_bridge.sweep.store import Store
    from sim_bridge.sweep.study import read_study
    from sim_bridge.sweep.study_files import check_files
    from sim_bridge.sweep.sweep import outcome, sweep

    if where.is_dir():
        raise InvalidValueError('study', str(where), 'the study itself (.yaml), to make its runs')
    if not args.timeout > 0.0:
        raise InvalidValueError('--timeout', args.timeout, 'a time above 0 [s]')
    study = read_study(where)
    for finding in check_files(study).findings:
        console.line(f'{finding.severity}: {finding.message}')
    folder = results_folder(where, args.results)
    with Store(study, folder) as store:
        before, total = store.count, study.design.count
        if before == total:
            file = store.finish()
            console.line(f'{file}: all {counted(total, "run")} were made before')
            return _told_of_all(outcome(store), study, console)
        executor = _executor(args, study)
        console.line(
            f'{study.source}: {counted(total - before, "run")}'
            + (f' of {total}, the others were made before' if before else '')
            + f', on {executor.describe()}'
        )
        begun = time.monotonic()
        try:
            with Work(console, 'made', total, ' runs', digits=0) as work:
                progress = sweep(
                    store,
                    executor,
                    lambda now: work(now.done, _progress_text(now)),
                    args.keep_going,
                )
        except KeyboardInterrupt:
            console.line(
                f'interrupted: {store.count} of {total} runs are in {folder}; the same command '
                'continues with the others'
            )
            return INTERRUPTED
        found = outcome(store)
    took = time.monotonic() - begun
    file = folder / 'results.parquet'
    console.line(
        f'{file}: {counted(total, "run")}, {bytes_text(file.stat().st_size)}; '
        f'{counted(progress.made, "run")} in {took:.1f} s, {progress.made / took:.1f} a second'
    )
    return _told_of_all(found, study, console)


def _told_of_all(found: Outcome, study: Study, console: Console) -> int:
    """Report the outcome of all runs; return the exit code."""
    from sim_bridge.sweep.rows import CRASHED, HUNG

    statuses = ', '.join(f'{count} {name}' for name, count in found.statuses.most_common())
    console.line(statuses + (f'; {found.succeeded} succeeded' if study.criteria else ''))
    for status, (number, reason) in found.first.items():
        console.line(f'{status}, run {number} as the first: {shortened(reason)}')
    return FAILED if found.statuses[CRASHED] + found.statuses[HUNG] else 0


def _executor(args: argparse.Namespace, study: Study) -> Executor:
    from sim_bridge.sweep.local import LocalExecutor, processors

    if args.ray is not None:
        require_extra('a sweep on a cluster', 'ray', 'ray')
        if args.processes is not None:
            raise InvalidValueError(
                '--processes', args.processes, 'no number with --ray: its nodes determine it'
            )
        from sim_bridge.sweep.on_ray import RayExecutor

        return RayExecutor(args.ray, args.timeout, ships=args.ship)
    if args.ship:
        raise InvalidValueError('--ship', True, 'not without --ray')
    count = processors() if args.processes is None else args.processes
    if count < 1:
        raise InvalidValueError('--processes', count, 'a number from 1')
    return LocalExecutor(min(count, study.design.count), args.timeout)


def _progress_text(progress: Progress) -> str:
    """Return rate, failures and remaining time."""
    failed = progress.made - progress.statuses['done']
    left = progress.left_s
    return ', '.join(
        filter(
            None,
            (
                f'{progress.rate:.1f} a second' if progress.rate else '',
                f'{failed} failed' if failed else '',
                f'{_duration(left)} left' if left is not None else '',
            ),
        )
    )


def _duration(seconds: float) -> str:
    """Return a time in words, such as 2 h 05 min."""
    if seconds < 90.0:
        return f'{seconds:.0f} s'
    minutes = round(seconds / 60.0)
    return f'{minutes} min' if minutes < 90 else f'{minutes // 60} h {minutes % 60:02} min'
