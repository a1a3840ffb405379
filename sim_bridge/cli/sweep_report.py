"""Result actions of `sim_bridge sweep`: the report, and repeated runs."""

from __future__ import annotations

import argparse
import contextlib
import json
from pathlib import Path
import sys

from sim_bridge.cli.console import Console
from sim_bridge.cli.environment import require_extra, require_ros, set_prefix
from sim_bridge.cli.outputs import need_folder
from sim_bridge.cli.progress import Work
from sim_bridge.cli.results import results_folder
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, StateError
from sim_bridge.foundation.names import bytes_text, counted
from sim_bridge.sweep.rows import CRASHED, HUNG, Row
from sim_bridge.sweep.study import read_study, Study

SAME, DIFFERENT = 0, 1


def report(args: argparse.Namespace, where: Path) -> int:
    """Write a report on a study's results; return the exit code."""
    require_extra('the report of a sweep', 'plot', 'plotly')
    from sim_bridge.sweep.findings import find, replay_page
    from sim_bridge.sweep.report import write_report

    console = Console(sys.stdout)
    study, folder, rows = _results(args, where)
    for name, value in (('--worst', args.worst), ('--replays', args.replays)):
        if value < 0:
            raise InvalidValueError(name, value, 'a number, 0 or more')
    file = Path(args.output) if args.output else folder / 'report.html'
    need_folder(file)
    found = find(study, rows, args.by or '', max(args.worst, args.replays))
    if args.replays:
        require_ros('sim_bridge sweep report --replays')
        require_extra('pages of replays', 'view', 'viser')
        set_prefix()
        with Work(console, 'of the worst cases made again', args.replays, '', digits=0) as work:
            for number, row in enumerate(found.worst[: args.replays]):
                if not replay_page(folder, row.run).exists():
                    _play(study, row, folder, args.timeout, console)
                work(number + 1)
    try:
        write_report(found, folder, file)
    except OSError as err:
        raise InvalidValueError(
            'file', str(file), f'one that can be written: {err.strerror}'
        ) from err
    console.line(f'{file}: {counted(len(rows), "run")}, {bytes_text(file.stat().st_size)}')
    return 0


def replay(args: argparse.Namespace, where: Path, console: Console) -> int:
    """Repeat a run into a bag, and compare it; return the exit code."""
    from sim_bridge.sweep.findings import replay_bag

    if args.number is None:
        raise InvalidValueError('--run', 'none', 'the number of the run to repeat')
    study, folder, rows = _results(args, where)
    row = next((each for each in rows if each.run == args.number), None)
    if row is None:
        raise InvalidValueError(
            '--run',
            args.number,
            f'a run that has a row, one of {len(rows)} from 0 to {study.design.count - 1}',
        )
    bag = Path(args.output) if args.output else replay_bag(folder, row.run)
    if bag.exists():
        raise InvalidValueError('--output', str(bag), 'a folder that does not exist yet')
    bag.parent.mkdir(parents=True, exist_ok=True)
    made = _made_again(study, row, bag, args.timeout)
    difference = _difference(row, made)
    console.line(
        f'{bag}: run {row.run}, {made.simulated_s:g} s, {made.status}, state hash '
        f'{made.state_hash or "none"}'
    )
    if made.reason:
        console.line(f'{made.status}: {made.reason}')
    if difference:
        console.line(f'different from the row: {difference}')
        return DIFFERENT
    console.line('the same')
    return SAME


def _results(args: argparse.Namespace, where: Path) -> tuple[Study, Path, list[Row]]:
    """Return study, results folder and rows; raises StateError."""
    from sim_bridge.sweep.store import read_results, source_of

    folder = where if where.is_dir() else results_folder(where, args.results)
    source = source_of(folder)
    study = read_study(where if where.is_file() else source)
    return study, folder, read_results(study, folder)


def _made_again(study: Study, row: Row, bag: Path, timeout_s: float) -> Row:
    """Repeat a run with the inputs in its row; return its new row."""
    from sim_bridge.sweep.host import run_apart

    own = study.design.of(row.run)
    if json.loads(json.dumps(own)) != json.loads(json.dumps(dict(row.inputs))):
        raise StateError(
            f'run {row.run} has the inputs {dict(row.inputs)} in its row, but {own} with this '
            'version of numpy and scipy: these versions cannot repeat it'
        )
    return run_apart(study, row.run, timeout_s, str(bag.resolve()))


def _difference(row: Row, made: Row) -> str:
    """Return the differences between a row and its repeated run; '' if there are none."""
    before, now = row.same(), made.same()
    if row.status == made.status and row.status in (CRASHED, HUNG):
        # elapsed time and last output of a dying process depend on the machine
        del before['reason'], now['reason']
    different = [name for name in before if not _are_equal(before[name], now[name])]
    text = ', '.join(different)
    if different and row.processor != made.processor:
        text += (
            f' (it was made on another processor, {row.processor}; equal bits are certain on one)'
        )
    return text


def _are_equal(one: object, other: object) -> bool:
    """Return whether values are equal; NaN equals itself."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _play(study: Study, row: Row, folder: Path, timeout_s: float, console: Console) -> None:
    """Make a run's bag and the page playing it; report a failure."""
    from sim_bridge.page.export import html
    from sim_bridge.ros.bag.taped import tape_of
    from sim_bridge.sweep.findings import replay_bag, replay_page

    bag, page = replay_bag(folder, row.run), replay_page(folder, row.run)
    bag.parent.mkdir(exist_ok=True)
    try:
        if not bag.exists():
            made = _made_again(study, row, bag, timeout_s)
            difference = _difference(row, made)
            if difference:
                console.line(f'warning: run {row.run} is not as in its row: {difference}')
        tape, warnings = tape_of(bag, 30.0, lambda time: None)
        for text in warnings:
            console.line(f'warning: run {row.run}: {text}')
        page.write_text(html(tape), encoding='utf-8')
    except SimBridgeError as err:
        with contextlib.suppress(OSError):
            page.unlink(missing_ok=True)
        console.line(f'warning: run {row.run} has no replay: {err}')
