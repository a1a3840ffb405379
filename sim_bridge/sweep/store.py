"""
Result store: a folder that never loses a stored row.

    study.yaml            copy of the study
    results.json          digest of the study, files that runs were made from, versions
    part-000000.parquet   rows, in order of arrival
    rows.jsonl            latest rows, one a line, not yet in a part
    results.parquet       all rows, ordered by run; written at the end of a sweep

A row is in `rows.jsonl` before the next run begins in its place. From time to time these rows
become a part, written completely or not at all. So a killed sweep can continue.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
import contextlib
import fcntl
import json
import os
from pathlib import Path
import shutil
from typing import Any

import pyarrow as pa

from sim_bridge.foundation.digest import sha256
from sim_bridge.foundation.errors import shortened, StateError
from sim_bridge.sweep.result_table import read_table, rows_of, schema_of, table_of, write_table
from sim_bridge.sweep.rows import Row
from sim_bridge.sweep.study import Study

RESULTS, STUDY = 'results.parquet', 'study.yaml'
_ABOUT, _LATEST, _LOCK = 'results.json', 'rows.jsonl', 'lock'
_OF_ABOUT = ('format', 'digest', 'study', 'files', 'versions')
_FORMAT = 1
# rows in a part
_PART = 5000


class Store:
    """Results of a study. As a context, it locks the folder for other processes."""

    def __init__(self, study: Study, folder: Path, part_size: int = _PART) -> None:
        """Set up the store; part_size: rows in a part."""
        self.study, self.folder = study, folder
        self._schema = schema_of(study)
        self._part_size = part_size
        self._latest: list[Row] = []
        self._done: set[int] = set()
        self._files: dict[str, str] = {}
        self._written: dict[str, str] = {}
        self._versions: dict[str, str] = {}
        self._parts = 0
        self._is_finished = False
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Store:
        """
        Open the folder, or create it.

        Raises StateError if another process writes to it, or if it contains results of another
        study, of other files or of another version.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock()
            self._load()
        except OSError as err:
            self._stack.close()
            raise StateError(
                f'results cannot be written to {str(self.folder)!r}: {err.strerror}'
            ) from err
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the store; all rows stay."""
        self._stack.close()

    @property
    def count(self) -> int:
        """How many runs have a row."""
        return len(self._done)

    def missing(self) -> Iterator[int]:
        """Yield the runs without a row, in order."""
        return (run for run in range(self.study.design.count) if run not in self._done)

    def add(self, rows: Iterable[Row]) -> None:
        """
        Add rows for further runs.

        Raises StateError if a run has other files or versions than the runs before it.
        """
        for row in rows:
            if row.run in self._done:
                raise StateError(f'run {row.run} has a row already')
            self._check(row)
            # `asdict` copies deeply and would take four times as long as the rest
            self._journal.write(json.dumps(vars(row), ensure_ascii=False) + '\n')
            self._latest.append(row)
            self._done.add(row.run)
            self._is_finished = False
        self._journal.flush()
        if len(self._latest) >= self._part_size:
            self._close_part()

    def finish(self) -> Path:
        """Write all present rows into one file; return its path."""
        target = self.folder / RESULTS
        if not self._is_finished:
            write_table(self.table(), target)
            self._is_finished = True
        return target

    def table(self) -> pa.Table:
        """Return all present rows, ordered by run."""
        tables = [read_table(file) for file in self._part_files()]
        if self._latest:
            tables.append(table_of(self.study, self._latest, self._schema))
        return pa.concat_tables(
            [*(each.cast(self._schema) for each in tables), self._schema.empty_table()]
        ).sort_by('run')

    def _lock(self) -> None:
        file = self._stack.enter_context((self.folder / _LOCK).open('w'))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StateError(
                f'another sweep is writing to {str(self.folder)!r}: wait for its end, or name '
                'another folder with --results'
            ) from None
        except OSError:
            # the file system has no locks
            return

    def _load(self) -> None:
        """Load the existing results, or begin."""
        about = self.folder / _ABOUT
        if about.exists():
            self._check_about(_read_about(self.folder))
        else:
            strangers = [each.name for each in self.folder.iterdir() if each.name != _LOCK]
            if strangers:
                raise StateError(
                    f'{str(self.folder)!r} holds other files, for example '
                    f'{shortened(strangers[0])}: name an empty or new folder with --results'
                )
            shutil.copyfile(self.study.source, self.folder / STUDY)
            self._write_about()
        for file in self._part_files():
            self._done.update(read_table(file).column('run').to_pylist())
        self._parts = len(self._part_files())
        self._read_latest()
        self._journal = self._stack.enter_context(
            (self.folder / _LATEST).open('a', encoding='utf-8')
        )
        self._is_finished = self._is_whole()

    def _is_whole(self) -> bool:
        """Return whether all rows are in the one file."""
        file = self.folder / RESULTS
        with contextlib.suppress(StateError):
            return file.exists() and len(read_table(file)) == len(self._done)
        # damaged; `finish` writes it again
        return False

    def _read_latest(self) -> None:
        """Read the rows outside all parts, and cut off an incomplete last line."""
        path = self.folder / _LATEST
        if not path.exists():
            return
        found, kept = _latest_rows(path)
        for row in found:
            # the process was killed after it wrote a part, before it deleted these rows
            if row.run not in self._done:
                self._latest.append(row)
                self._done.add(row.run)
        os.truncate(path, kept)

    def _close_part(self) -> None:
        """Write the latest rows as a part."""
        write_table(
            table_of(self.study, self._latest, self._schema),
            self.folder / f'part-{self._parts:06}.parquet',
        )
        self._parts += 1
        self._latest.clear()
        self._journal.truncate(0)

    def _part_files(self) -> list[Path]:
        return _parts_of(self.folder)

    def _check(self, row: Row) -> None:
        """Raise StateError for a row with other files or versions; remember its own."""
        changed = [
            path for path, own in row.files.items() if self._files.setdefault(path, own) != own
        ]
        if changed:
            raise StateError(
                f'files have changed since the first runs: {shortened(", ".join(changed))}. '
                'Their results cannot be compared'
            )
        if not row.versions:
            # its process ended without a result
            return
        is_first = not self._versions
        if is_first:
            self._versions = dict(row.versions)
        elif self._versions != row.versions:
            raise StateError(
                f'run {row.run} was made by {_differing(row.versions, self._versions)}, the runs '
                f'before it by {_differing(self._versions, row.versions)}: hashes cannot be '
                'compared. Install the same versions on all machines'
            )
        if is_first or any(path not in self._written for path in row.files):
            self._write_about()

    def _check_about(self, about: Mapping[str, Any]) -> None:
        """Raise StateError for results of another study, other files or another version."""
        where = str(self.folder)
        advice = 'name another folder with --results, or delete this one'
        if about.get('format') != _FORMAT:
            raise StateError(
                f'{where!r} holds results in a format that this version does not know: {advice}'
            )
        if about['digest'] != self.study.digest:
            raise StateError(
                f'the study {str(self.study.source)!r} has changed since results were written to '
                f'{where!r}; {STUDY} there is a copy of the old study: {advice}'
            )
        self._files, self._versions = dict(about['files']), dict(about['versions'])
        self._written = dict(self._files)
        folder = self.study.folder
        changed = [
            path
            for path, known in self._files.items()
            if not path.startswith(OF_DESCRIPTIONS) and sha256(folder / path) != known
        ]
        if changed:
            raise StateError(
                f'files have changed since results were written to {where!r}: '
                f'{shortened(", ".join(changed))}: {advice}'
            )

    def _write_about(self) -> None:
        self._written = dict(self._files)
        partial = self.folder / f'.{_ABOUT}'
        partial.write_text(
            json.dumps(
                {
                    'format': _FORMAT,
                    'digest': self.study.digest,
                    'study': str(self.study.source.resolve()),
                    'runs': self.study.design.count,
                    'files': self._files,
                    'versions': self._versions,
                },
                indent=1,
            ),
            encoding='utf-8',
        )
        partial.replace(self.folder / _ABOUT)


OF_DESCRIPTIONS = 'description of '
"""Prefix of entries in `files` that are expanded descriptions instead of files."""


def source_of(folder: Path) -> Path:
    """Return the study of a results folder; raises StateError if the folder has no results."""
    if not (folder / _ABOUT).is_file():
        raise StateError(f'{str(folder)!r} holds no results of a sweep: it has no {_ABOUT}')
    return Path(_read_about(folder)['study'])


def _read_about(folder: Path) -> dict[str, Any]:
    """Return the results' metadata; raises StateError if they cannot be read."""
    file = folder / _ABOUT
    try:
        about: dict[str, Any] = json.loads(file.read_text(encoding='utf-8'))
        if missing := [key for key in _OF_ABOUT if key not in about]:
            raise ValueError(f'it has no {missing[0]!r}')
    except ValueError as err:
        raise StateError(
            f'{str(file)!r} is damaged ({err}): restore it from a copy, or name another folder '
            'with --results'
        ) from err
    return about


def read_results(study: Study, folder: Path) -> list[Row]:
    """
    Return all rows in a results folder by run, even while a sweep adds rows.

    Raises StateError for results of another study.
    """
    source_of(folder)
    about = _read_about(folder)
    if about['digest'] != study.digest:
        raise StateError(
            f'the study {str(study.source)!r} has changed since {str(folder)!r} was written; '
            f'{STUDY} there is a copy of the old study'
        )
    found = {row.run: row for row in _latest_rows(folder / _LATEST)[0]}
    for file in _parts_of(folder):
        found.update({row.run: row for row in rows_of(read_table(file), study)})
    return [found[run] for run in sorted(found)]


def _parts_of(folder: Path) -> list[Path]:
    return sorted(folder.glob('part-*.parquet'))


def _latest_rows(path: Path) -> tuple[list[Row], int]:
    """
    Return the rows in a file's complete lines, and their length in bytes.

    A complete line that is no row, for example after a power loss, is left out: its run is
    repeated.
    """
    found: list[Row] = []
    kept = 0
    if path.exists():
        with path.open('rb') as file:
            for line in file:
                if not line.endswith(b'\n'):
                    break
                kept += len(line)
                with contextlib.suppress(ValueError, TypeError):
                    found.append(Row(**json.loads(line)))
    return found, kept


def _differing(one: Mapping[str, str], other: Mapping[str, str]) -> str:
    """Return the differing versions in words."""
    return ', '.join(f'{name} {value}' for name, value in one.items() if other.get(name) != value)
