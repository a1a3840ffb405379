"""Studies and functions in the documents: they run."""

from __future__ import annotations

from pathlib import Path
import re

import pandas
import pytest
from studies import swept, write_study
import yaml

from sim_bridge.sweep.host import run_apart
from sim_bridge.sweep.store import Store
from sim_bridge.sweep.study import read_study


def block(page: Path, language: str) -> str:
    """Return the first block in a language on a page."""
    return re.search(rf'^```{language}\n(.*?)^```', page.read_text(), re.M | re.S)[1]


def test_the_study_of_the_page_is_the_file_beside_it(repository):
    """Compare docs/sweeps.md with docs/pushes.yaml, and make its runs."""
    file = repository / 'docs' / 'pushes.yaml'
    assert block(repository / 'docs' / 'sweeps.md', 'yaml') == file.read_text()
    study = read_study(file)
    rows = [run_apart(study, run, 120.0) for run in range(3)]
    assert [row.reason for row in rows] == [''] * 3
    assert len({row.state_hash for row in rows}) == 3


def test_the_function_of_the_page_controls(repository, tmp_path):
    """Hold the arm with the function in docs/sweeps.md."""
    page = repository / 'docs' / 'sweeps.md'
    (tmp_path / 'mine.py').write_text(block(page, 'python'))
    content = yaml.safe_load(block(page, 'yaml'))['study']
    goal = content['run']['parameters']['initial_positions']
    study = write_study(
        tmp_path,
        {
            **content,
            'design': 'list',
            'samples': None,
            'vary': {'gain': {'path': 'controller.gain', 'values': [100.0, 400.0]}},
            'run': {
                **content['run'],
                'duration': 0.3,
                'controller': {'kind': 'function', 'call': 'mine.py:hold', 'goal': goal},
            },
            'succeed': {},
        },
    )
    soft, stiff = swept(study, tmp_path / 'results', 1)
    assert soft.reason == stiff.reason == ''
    assert soft.measures['sag'] > 2.0 * stiff.measures['sag'] > 0.001


def test_the_recipe_finds_the_important_inputs(repository, tmp_path):
    """Sweep the study in docs/howto/sweep.md, and read it like the recipe."""
    page = repository / 'docs' / 'howto' / 'sweep.md'
    (tmp_path / 'robust.yaml').write_text(block(page, 'yaml'))
    study = read_study(tmp_path / 'robust.yaml')
    rows = swept(study, tmp_path / 'results')
    assert {row.status for row in rows} == {'done'} and {row.success for row in rows} == {
        True,
        False,
    }
    with Store(study, tmp_path / 'results') as store:
        file = store.finish()
    names: dict[str, object] = {}
    exec(compile(block(page, 'python'), str(page), 'exec'), names)
    found = names['what_matters'](str(file))
    assert isinstance(found, pandas.Series)
    assert found.index[-1] == 'input.push' and found.iloc[-1] > 0.7


@pytest.mark.parametrize(
    'kind',
    [
        'push',
        'move',
        'change',
        'silence',
        'freeze',
        'delay',
        'loss',
        'death',
        'settings',
        'force_fields',
    ],
)
def test_every_disturbance_is_in_the_page(repository, kind):
    """Document each disturbance kind."""
    assert f'`{kind}`' in (repository / 'docs' / 'sweeps.md').read_text()
