"""Rows as an Arrow table and in Parquet files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from sim_bridge.foundation.errors import StateError
from sim_bridge.sweep.distributions import FLAG, FLOAT, INTEGER, JSON, TEXT
from sim_bridge.sweep.rows import Row
from sim_bridge.sweep.study import Study

INPUT, MEASURE, CRITERION, VERSION = 'input.', 'measure.', 'criterion.', 'version.'
"""Column prefixes."""

_TYPES: Mapping[str, Any] = {
    FLOAT: pa.float64(),
    INTEGER: pa.int64(),
    FLAG: pa.bool_(),
    TEXT: pa.string(),
    JSON: pa.string(),
}
_VERSIONS = ('sim_bridge', 'hash', 'python', 'numpy', 'llvmlite')
_PLAIN: Mapping[str, Any] = {
    'run': pa.int64(),
    'status': pa.string(),
    'reason': pa.string(),
    'success': pa.bool_(),
    'state_hash': pa.string(),
    'steps': pa.int64(),
    'simulated_s': pa.float64(),
    'noise_seed': pa.int64(),
    'attempts': pa.int64(),
    'wall_s': pa.float64(),
    'load_s': pa.float64(),
    'host': pa.string(),
    'processor': pa.string(),
}
_FILES = 'files'
# schema metadata keys for the rows' study
_DIGEST, _STUDY = b'study_digest', b'study'


def schema_of(study: Study) -> pa.Schema:
    """Return the columns in a study's table."""
    columns = [
        *((name, _PLAIN[name]) for name in ('run', 'status', 'reason', 'success')),
        *((INPUT + name, _TYPES[each.distribution.kind]) for name, each in study.inputs.items()),
        *((MEASURE + name, pa.float64()) for name in study.measures),
        *((CRITERION + name, pa.bool_()) for name in study.criteria),
        *((name, _PLAIN[name]) for name in ('state_hash', 'steps', 'simulated_s', 'noise_seed')),
        # SHA-256, by path, for the run's files; most rows have the same text
        (_FILES, pa.string()),
        *((VERSION + name, pa.string()) for name in _VERSIONS),
        *((name, _PLAIN[name]) for name in ('attempts', 'wall_s', 'load_s', 'host', 'processor')),
    ]
    text = study.source.read_text(encoding='utf-8')
    return pa.schema(columns, metadata={_DIGEST: study.digest.encode(), _STUDY: text.encode()})


def table_of(study: Study, rows: Sequence[Row], schema: pa.Schema | None = None) -> pa.Table:
    """Return rows as a table."""
    schema = schema_of(study) if schema is None else schema
    is_json = {name for name, each in study.inputs.items() if each.distribution.kind == JSON}
    return pa.Table.from_pylist([_record(row, is_json) for row in rows], schema=schema)


def _record(row: Row, is_json: set[str]) -> dict[str, Any]:
    record: dict[str, Any] = {name: getattr(row, name) for name in _PLAIN}
    record.update(
        {
            INPUT + name: json.dumps(value, ensure_ascii=False) if name in is_json else value
            for name, value in row.inputs.items()
        }
    )
    record.update({MEASURE + name: value for name, value in row.measures.items()})
    record.update({CRITERION + name: value for name, value in row.criteria.items()})
    record.update({VERSION + name: value for name, value in row.versions.items()})
    record[_FILES] = json.dumps(dict(row.files), ensure_ascii=False)
    return record


def rows_of(table: pa.Table, study: Study) -> list[Row]:
    """Return the rows in a study's table, the inverse of `table_of`."""
    is_json = {name for name, each in study.inputs.items() if each.distribution.kind == JSON}
    return [_row(record, is_json) for record in table.to_pylist()]


def _row(record: Mapping[str, Any], is_json: set[str]) -> Row:
    def part(prefix: str) -> dict[str, Any]:
        return {
            name[len(prefix) :]: value
            for name, value in record.items()
            if name.startswith(prefix) and value is not None
        }

    inputs = {
        name: json.loads(value) if name in is_json else value
        for name, value in part(INPUT).items()
    }
    return Row(
        **{name: record[name] for name in _PLAIN},
        inputs=inputs,
        measures=part(MEASURE),
        criteria=part(CRITERION),
        versions=part(VERSION),
        files=json.loads(record[_FILES]),
    )


def write_table(table: pa.Table, file: Path) -> None:
    """Write a Parquet file, completely or not at all."""
    partial = file.with_name(f'.{file.name}.{os.getpid()}')
    try:
        parquet.write_table(table, partial, compression='zstd')
        with partial.open('rb') as written:
            os.fsync(written.fileno())
        partial.replace(file)
    finally:
        partial.unlink(missing_ok=True)


def read_table(file: Path) -> pa.Table:
    """Read a Parquet file; raises StateError if it is none."""
    try:
        return parquet.read_table(file)
    except (OSError, pa.ArrowException) as err:
        raise StateError(f'{str(file)!r} is no Parquet file: {err}') from err
