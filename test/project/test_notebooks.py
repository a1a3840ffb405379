"""Notebooks in docs/notebooks: their stored form, and the results of their cells."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / 'docs' / 'notebooks'
# rosbags reads message definitions with lark
pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

BOOKS = sorted(FOLDER.glob('*.ipynb'))


def code_of(book):
    """Return each code cell's source."""
    return [
        ''.join(cell['source'])
        for cell in json.loads(book.read_text())['cells']
        if cell['cell_type'] == 'code'
    ]


def run(name, monkeypatch):
    """
    Run the cells of a notebook as a kernel does, in this process.

    Returns the final names, and each cell's output as HTML if available, else as text.
    """
    monkeypatch.setenv('MPLBACKEND', 'Agg')
    (book,) = FOLDER.glob(f'{name}.ipynb')
    names, shown = {'__name__': '__main__'}, []
    for number, code in enumerate(code_of(book), 1):
        tree, place = ast.parse(code), f'{book.name}, cell {number}'
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, place, 'exec'), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), place, 'eval'), names)
            html = getattr(type(value), '_repr_html_', None)
            shown.append(repr(value) if html is None else html(value))
    return names, shown


@pytest.mark.parametrize('book', BOOKS, ids=lambda book: book.stem)
def test_notebooks_are_kept_without_outputs(book):
    """Store only sources, in the format of `jupyter nbconvert --clear-output`."""
    text = book.read_text()
    content = json.loads(text)
    assert text == json.dumps(content, indent=1, ensure_ascii=False) + '\n'
    for cell in content['cells']:
        assert cell['metadata'] == {}
        if cell['cell_type'] == 'code':
            assert (cell['execution_count'], cell['outputs']) == (None, [])


def test_first_robot(monkeypatch):
    """Stay in place under gravity compensation, lose energy in a fall, restore; show tables."""
    names, shown = run('1_first_robot', monkeypatch)
    assert max(np.diff(names['energies'])) < 1e-6
    assert names['energies'][-1] < -0.01
    assert np.linalg.norm(names['before'] - names['fallen']) > 0.03
    assert not names['viewer'].is_open
    assert shown[0].count('<tr>') == 1 + 7
    assert 'tool_flange' in shown[1]
    assert '<iframe' in shown[3]
    assert '1 robot (arm)' in shown[4]


def test_sensors_and_noise(monkeypatch):
    """Find the spread of the noise declared in the scene; the IMU measures gravity."""
    names, shown = run('2_sensors_and_noise', monkeypatch)
    assert names['spread'] == pytest.approx(0.005, rel=0.1)
    assert names['imu'].truth['linear_acceleration'][2] == pytest.approx(9.81, abs=1e-3)
    assert 'range' in shown[0]


def test_contact(monkeypatch):
    """Slide by the closed form; bounce by the squared restitution."""
    names, _ = run('3_contact', monkeypatch)
    assert np.abs(names['measured'] - names['expected']).max() < 1e-2
    peaks = names['peaks']
    assert len(peaks) >= 2
    assert peaks[:2] == pytest.approx([0.5 * 0.64, 0.5 * 0.64**2], rel=0.02)


def test_control_and_grasp(monkeypatch):
    """Follow the sinusoids; lift the box and bear it."""
    names, _ = run('4_control_and_grasp', monkeypatch)
    assert names['error'][-500:].max() < 2e-3
    assert names['heights'][-1] > 0.035 + 0.05
    assert all(force > 0.3 for force in names['forces'][-1])


def test_bags_to_pandas(monkeypatch):
    """Read all states of two seconds; velocities are the slopes of positions."""
    names, shown = run('5_bags_to_pandas', monkeypatch)
    assert len(names['table']) == pytest.approx(2000, abs=2)
    assert names['off'] < 1e-2
    assert 'joint_states' in shown[0]


def test_what_the_robot_sees(monkeypatch):
    """Compute the points from depth and intrinsics; show obstacles ahead and above."""
    names, shown = run('6_what_the_robot_sees', monkeypatch)
    assert names['difference'] < 1e-5
    assert names['near'].sum() > 1000
    assert names['above'].shape == (360, 480, 3)
    assert 'camera' in shown[0]


@pytest.mark.long
@pytest.mark.parametrize('book', BOOKS, ids=lambda book: book.stem)
def test_notebooks_run_in_a_kernel(book, tmp_path):
    """Run each in its own kernel, as Jupyter does."""
    import nbclient
    import nbformat

    content = nbformat.read(book, as_version=4)
    nbclient.NotebookClient(
        content, timeout=300, resources={'metadata': {'path': tmp_path}}
    ).execute()
    assert all(cell['execution_count'] for cell in content.cells if cell.cell_type == 'code')
