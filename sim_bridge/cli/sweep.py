"""`sim_bridge sweep`: the many runs of a study, a report of them, and any of them again."""

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
A study says what varies, what runs, what is measured (docs/sweeps.md). Each run is a row of
STUDY_results/results.parquet: inputs, measures, state hash, versions, why it failed. A sweep that
was interrupted or killed goes on where it was, by the same command.

exit status:
  0  every run was made; of replay: the run is the same to the bit
  1  runs crashed or took too long; of replay: the run is not the same
  2  the study cannot be run, all of its first runs failed, or results are of another one

for example:
  sim_bridge sweep push.yaml
  sim_bridge sweep push.yaml --processes 8 --timeout 60
  sim_bridge sweep push.yaml --ray auto           # on the cluster that this machine is in
  sim_bridge sweep report push.yaml
  sim_bridge sweep replay push.yaml --run 17 -o worst
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'sweep',
        help='many runs of a study into a table, on this machine or a Ray cluster',
        description='Make the runs of a study that have no row yet; or report on them; or make '
        'one again, to the same bits.',
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    completed(
        parser.add_argument(
            'what',
            nargs='+',
            metavar='[report | replay] STUDY',
            help='a study (.yaml), or the folder of its results',
        ),
        completers.studies,
    )
    completed(
        parser.add_argument(
            '--results',
            metavar='DIR',
            help='folder of results (default: STUDY_results beside the study)',
        ),
        completers.folders,
    )
    group = parser.add_argument_group('of runs')
    group.add_argument(
        '--processes',
        type=int,
        metavar='N',
        help='runs at once on this machine (default: its processors)',
    )
    group.add_argument(
        '--timeout',
        type=float,
        default=600.0,
        metavar='S',
        help='wall time after which a run is given up, once its world is built [s] (default: 600)',
    )
    group.add_argument(
        '--ray',
        nargs='?',
        const='auto',
        metavar='ADDRESS',
        help='make runs on a Ray cluster: its address, or that of this machine (auto, the '
        'default); `local` starts one here',
    )
    group.add_argument(
        '--ship',
        action='store_true',
        help="send the study's folder to the nodes of the cluster, which do not share files",
    )
    group.add_argument(
        '--keep-going', action='store_true', help='also where all of the first runs fail'
    )
    group = parser.add_argument_group('of reports and replays')
    completed(
        group.add_argument(
            '-o',
            '--output',
            metavar='PATH',
            help='the page of a report (default: report.html with '
            'the results), the bag of a replay (default: replays/run_K there)',
        ),
        completers.files,
    )
    group.add_argument('--run', dest='number', type=int, metavar='K', help='the run to make again')
    group.add_argument(
        '--by',
        metavar='MEASURE',
        help='measure whose greatest values are the worst (default: '
        'the first); --by=-MEASURE: its least',
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
        help='make bags, and pages that play them, of so many of the worst cases',
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
    """Return what to do, '' for runs, and with which study or results."""
    action = words[0] if words[0] in (REPORT, REPLAY) and len(words) > 1 else ''
    rest = words[1:] if action else words
    if len(rest) != 1:
        raise InvalidValueError('study', rest, 'one study, or the folder of its results')
    path = Path(rest[0])
    if not path.exists():
        raise InvalidValueError('study', rest[0], 'a file that exists' + (path_meant(path) or ''))
    return action, path


def _sweep(args: argparse.Namespace, where: Path, console: Console) -> int:
    """Make runs; return the exit code."""
    from sim_bridge.sweep.store import Store
    from sim_bridge.sweep.study import read_study
    from sim_bridge.sweep.study_files import check_files
    from sim_bridge.sweep.sweep import outcome, sweep

    if where.is_dir():
        raise InvalidValueError('study', str(where), 'the study itself (.yaml), to make its runs')
    if not args.timeout > 0.0:
        raise InvalidValueError('--timeout', args.timeout, 'a time above 0 [s]')
    study = read_study(where)
    check_files(study)
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
                'goes on with the others'
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
    """Tell what became of all runs of a study; return the exit code."""
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
                '--processes', args.processes, 'none with --ray, whose nodes say how many'
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
    """Return rates, failures and the time left."""
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
