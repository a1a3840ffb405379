"""
Try every robot file below a folder with clones, and write a result table.

    make corpus DIR=~/clones
    python -m corpus ~/clones --limit 60 --output results.md
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import time

from corpus.clients import told
from corpus.robot_files import PART, robot_files, RobotFile, spread
from corpus.rows import Row, summary, table

_ROOT = Path(__file__).resolve().parents[1]
# search paths for packages outside of the workspace
_SEARCH_PATHS = (
    'GZ_SIM_RESOURCE_PATH',
    'IGN_GAZEBO_RESOURCE_PATH',
    'GAZEBO_MODEL_PATH',
    'ROS_PACKAGE_PATH',
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Try the files, print each row at once, and write the table."""
    parser = argparse.ArgumentParser(
        prog='python -m corpus',
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument('folder', type=Path, help='folder of clones')
    parser.add_argument(
        '--limit',
        type=float,
        default=120.0,
        metavar='SECONDS',
        help='time limit for each file (default: %(default)s)',
    )
    parser.add_argument(
        '--output',
        type=Path,
        default=_ROOT / 'build' / 'corpus.md',
        help='file for the table (default: %(default)s)',
    )
    parser.add_argument(
        '--together',
        action='store_true',
        help='find packages in the other clones too, as in one workspace',
    )
    parser.add_argument(
        '--clients',
        action='store_true',
        help='also run clients as MoveIt and Nav2 against the node of each loaded robot',
    )
    parser.add_argument(
        '--each',
        type=_count,
        metavar='NUMBER',
        help='try at most so many files of a clone, spread over their names (default: all)',
    )
    given = parser.parse_args(arguments)
    if not given.folder.is_dir():
        parser.error(f'{str(given.folder)!r} is no folder')
    files = robot_files(given.folder)
    if given.each is not None:
        files = spread(files, given.each)
    others = (given.folder.resolve(),) if given.together else ()
    rows: list[Row] = []
    for place, each in enumerate(files):
        if not each.skipped:
            row = try_file(each, given.limit, others)
            if each.may_be_part and not row.loads:
                files[place] = replace(each, skipped=PART)
                continue
            rows.append(row)
            if given.clients and row.loads:
                rows[-1].clients = told(each, others)
            print(f'| {" | ".join(rows[-1].cells())} |', flush=True)
    text = summary(rows, [each.skipped for each in files if each.skipped])
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(_page(rows, files, text), encoding='utf-8')
    print(text)
    print(given.output)


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _page(rows: Sequence[Row], files: Sequence[RobotFile], text: str) -> str:
    skipped = [f'- {each.name}: {each.skipped}' for each in files if each.skipped]
    parts = [table(rows), text, *(['Skipped:', '\n'.join(skipped)] if skipped else [])]
    return '\n\n'.join(parts) + '\n'


def try_file(file: RobotFile, limit: float, others: Sequence[Path] = ()) -> Row:
    """
    Try a robot file in its own process.

    limit: time [s], after which the process ends. others: package folders beside its workspace.
    """
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        result, errors = Path(folder, 'row.json'), Path(folder, 'errors.txt')
        command = [
            sys.executable,
            '-m',
            'corpus.trial',
            file.path,
            result,
            file.workspace,
            *others,
        ]
        end = _end_of_process(command, errors, limit)
        row = Row.from_json(result.read_text(encoding='utf-8')) if result.exists() else Row('')
    row.file = file.name
    if end:
        row.reason, row.seconds = end, time.perf_counter() - begun
    row.reason = row.reason.replace(f'{file.workspace}{os.sep}', '')
    return row


def _end_of_process(command: Sequence[str | Path], errors: Path, limit: float) -> str:
    """Run a command; return the reason for an early end, '' for none. errors: its messages."""
    environment = {name: text for name, text in os.environ.items() if name not in _SEARCH_PATHS}
    with open(errors, 'wb') as stream:
        process = subprocess.Popen(
            command,
            cwd=_ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stream,
            start_new_session=True,
        )
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            return f'no end after {limit:g} s'
        finally:
            # readers of foreign files are in the same group
            _kill(process)
    if status == 0:
        return ''
    lines = errors.read_text(encoding='utf-8', errors='replace').strip().splitlines()
    return f'crash with status {status}: {lines[-1] if lines else "no message"}'


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()


if __name__ == '__main__':
    main()
