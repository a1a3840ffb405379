"""Results folder: each row is kept once, for one study only."""

from __future__ import annotations

import hashlib
import json
import math

import pyarrow.parquet as parquet
import pytest
from studies import PUSHED, write_study

from sim_bridge.foundation.errors import StateError
from sim_bridge.sweep.result_table import rows_of
from sim_bridge.sweep.rows import Row
from sim_bridge.sweep.store import read_results, source_of, Store
from sim_bridge.sweep.study import read_study, Study


@pytest.fixture
def study(tmp_path) -> Study:
    """Return a study with 40 runs and inputs of all kinds."""
    return write_study(
        tmp_path,
        {
            **PUSHED,
            'design': 'grid',
            'samples': None,
            'repeats': 2,
            'vary': {
                **PUSHED['vary'],
                'solver': {'path': 'parameters.solver', 'values': ['direct', 'split']},
                'gravity': {'path': 'parameters.gravity', 'values': [[0, 0, -9.81], [0, 0, -1.6]]},
                'steps': {'path': 'parameters.substeps', 'values': [1, 2, 3, 4, 5]},
                'sleep': {'path': 'parameters.sleep', 'values': [True, False]},
            },
        },
        'kept.yaml',
    )


def row(study: Study, run: int, **changes: object) -> Row:
    """Return a row like a real run's."""
    values = {
        'success': True,
        'inputs': study.design.of(run),
        'criteria': {'holds': True},
        'measures': {'worst': 0.1 * run, 'sag': math.inf if run else math.nan},
        'state_hash': f'{run:064x}',
        'steps': 40,
        'simulated_s': 0.2,
        'noise_seed': 7,
        'files': {'description of arm': 'a'},
        'versions': {'sim_bridge': '1', 'python': '3'},
    }
    return Row(run, **{'status': 'done', **values, **changes})


def shown(rows: list[Row]) -> list[str]:
    """Return rows as texts: NaN then equals itself."""
    return [repr(each) for each in rows]


def test_rows_are_stored_bit_by_bit(study, tmp_path):
    """Keep each bit in each column, in parts and in the one file, by run."""
    rows = [row(study, run) for run in range(study.design.count)]
    assert len(rows) == 80
    with Store(study, tmp_path / 'results', part_size=30) as store:
        for k in range(0, 80, 7):
            store.add(reversed(rows[k : k + 7]))
        store.finish()
    assert shown(read_results(study, tmp_path / 'results')) == shown(rows)
    assert source_of(tmp_path / 'results') == study.source
    assert len(list((tmp_path / 'results').glob('part-*.parquet'))) == 2
    read = parquet.read_table(tmp_path / 'results' / 'results.parquet')
    assert shown(rows_of(read, study)) == shown(rows)
    assert read.column('input.solver').to_pylist()[:2] == ['direct', 'direct']
    assert json.loads(read.column('input.gravity')[0].as_py()) == [0, 0, -9.81]
    assert {str(read.schema.field(f'input.{name}').type) for name in ('steps', 'sleep')} == {
        'int64',
        'bool',
    }


def test_runs_without_measures_have_rows(study, tmp_path):
    """Keep a failed run's reason."""
    crashed = Row(3, 'crashed', 'its process was ended by SIGSEGV', False, study.design.of(3))
    with Store(study, tmp_path / 'results') as store:
        store.add([crashed])
        assert shown(rows_of(store.table(), study)) == shown([crashed])


def test_a_store_goes_on_where_it_was(study, tmp_path):
    """Find all rows again after any interrupted write; drop an incomplete line."""
    folder = tmp_path / 'results'
    with Store(study, folder, part_size=10) as store:
        store.add(row(study, run) for run in range(10))
        store.add(row(study, run) for run in range(10, 15))
    with (folder / 'rows.jsonl').open('a') as file:
        file.write('{"run": 15, "status": "do')
    with Store(study, folder, part_size=10) as store:
        assert store.count == 15
        assert list(store.missing()) == list(range(15, 80))
        store.add([row(study, 15)])
    # killed after a part was written and before its rows were deleted
    latest = (folder / 'rows.jsonl').read_text()
    with Store(study, folder, part_size=1) as store:
        store.add([row(study, 16)])
    (folder / 'rows.jsonl').write_text(latest)
    with Store(study, folder) as store:
        assert store.count == 17
        store.finish()
        assert [each.run for each in rows_of(store.table(), study)] == list(range(17))
        with pytest.raises(StateError, match='run 16 has a row already'):
            store.add([row(study, 16)])


def test_damage_is_reported_or_repaired(study, tmp_path):
    """Leave out damaged rows, rebuild the one file; name irreparable files."""
    folder = tmp_path / 'results'
    with Store(study, folder) as store:
        store.add([row(study, 0), row(study, 1), row(study, 2)])
        store.finish()
    first, _, last = (folder / 'rows.jsonl').read_text().splitlines()
    (folder / 'rows.jsonl').write_text('\n'.join([first, '\0' * 40, '{"rnu": 1}', last, '']))
    (folder / 'results.parquet').write_bytes(b'PAR1')
    with Store(study, folder) as store:
        assert list(store.missing())[:2] == [1, 3]
        store.add([row(study, 1)])
        assert len(parquet.read_table(store.finish())) == 3
    about = (folder / 'results.json').read_text()
    for damaged in (about[:20], '', '{}'):
        (folder / 'results.json').write_text(damaged)
        for use in (lambda: Store(study, folder).__enter__(), lambda: source_of(folder)):
            with pytest.raises(StateError, match=r'results\.json.* is damaged'):
                use()


def test_results_are_of_one_study(study, tmp_path):
    """Refuse another study, other files, other versions, another writer, a folder in use."""
    folder = tmp_path / 'results'
    (tmp_path / 'hall.yaml').write_text('world: {}')
    digest = hashlib.sha256(b'world: {}').hexdigest()
    with Store(study, folder) as store:
        store.add([row(study, 0, files={'hall.yaml': digest})])
        with pytest.raises(StateError, match='another sweep is writing'), Store(study, folder):
            pass
        with pytest.raises(StateError, match=r'hall\.yaml'):
            store.add([row(study, 1, files={'hall.yaml': 'b'})])
        with pytest.raises(
            StateError, match='run 2 was made by sim_bridge 2, the runs before it by sim_bridge 1'
        ):
            store.add([row(study, 2, versions={'sim_bridge': '2', 'python': '3'})])
        assert store.count == 1
    study.source.write_text(study.source.read_text().replace('seed: 1', 'seed: 5'))
    other = read_study(study.source)
    with (
        pytest.raises(StateError, match='has changed since results were written'),
        Store(other, folder),
    ):
        pass
    (tmp_path / 'hall.yaml').write_text('world: {ground: true}')
    with pytest.raises(StateError, match=r'files have changed.*hall\.yaml'), Store(study, folder):
        pass
    (tmp_path / 'mine').mkdir()
    (tmp_path / 'mine' / 'notes.txt').write_text('')
    with (
        pytest.raises(StateError, match=r'holds other files, for example notes\.txt'),
        Store(study, tmp_path / 'mine'),
    ):
        pass
    with pytest.raises(StateError, match='holds no results'):
        read_results(study, tmp_path / 'mine')
