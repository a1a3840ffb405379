"""`sim_bridge sweep`: runs, continues after a kill, reports, repeats runs."""

from __future__ import annotations

from collections import Counter
import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

import pyarrow.parquet as parquet
import pytest
from studies import PUSHED, swept, with_controller, write_study

from sim_bridge.cli.main import main
from sim_bridge.sweep.local import LocalExecutor
from sim_bridge.sweep.result_table import rows_of
from sim_bridge.sweep.store import Store
from sim_bridge.sweep.study import read_study
from sim_bridge.sweep.sweep import sweep

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

# time limit for expected events
PATIENCE_S = 240.0

LOGGING = """
def logged(joints, number, log):
    with open(log, 'a') as file:
        file.write(f'{number}\\n')
    return lambda time_s, q, dq: -30.0 * dq
"""


@pytest.fixture
def logging_study(tmp_path) -> Path:
    """Return a study with 30 runs; each logs its begin in a file."""
    (tmp_path / 'logging_controller.py').write_text(LOGGING)
    return write_study(
        tmp_path,
        with_controller(
            {
                'kind': 'function',
                'call': 'logging_controller.py:logged',
                'number': 0,
                'log': str(tmp_path / 'log'),
            },
            vary={'number': {'path': 'controller.number', 'range': [0, 29, 30]}},
        ),
    ).source


def start(*arguments: object) -> subprocess.Popen:
    """Start the command."""
    return subprocess.Popen(
        [sys.executable, '-m', 'sim_bridge', 'sweep', *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def wait_for_rows(process: subprocess.Popen, folder: Path, count: int) -> None:
    """Wait until a results folder has enough rows."""
    end = time.monotonic() + PATIENCE_S
    file = folder / 'rows.jsonl'
    while not file.exists() or file.read_bytes().count(b'\n') < count:
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize(
    ('number', 'code'), [(signal.SIGKILL, -9), (signal.SIGINT, 130)], ids=['killed', 'interrupted']
)
def test_a_sweep_goes_on_where_it_was(logging_study, tmp_path, number, code):
    """Repeat no run with a row, lose none, and have the rows of an undisturbed sweep."""
    folder = logging_study.with_name('study_results')
    process = start(logging_study, '--processes', 2)
    wait_for_rows(process, folder, 5)
    process.send_signal(number)
    told = process.communicate(timeout=PATIENCE_S)[0]
    assert process.returncode == code, told
    assert ('the same command continues' in told) is (number == signal.SIGINT)
    kept = [json.loads(line)['run'] for line in (folder / 'rows.jsonl').read_text().splitlines()]
    assert 5 <= len(kept) < 30
    process = start(logging_study, '--processes', 2)
    told = process.communicate(timeout=PATIENCE_S)[0]
    assert process.returncode == 0, told
    assert f'{30 - len(kept)} runs of 30, the others were made before' in told
    begun = Counter(float(line) for line in (tmp_path / 'log').read_text().split())
    assert set(begun) == set(range(30))
    assert {begun[run] for run in kept} == {1}
    # two more runs were in progress
    assert sum(begun.values()) <= 32
    study = read_study(logging_study)
    rows = rows_of(parquet.read_table(folder / 'results.parquet'), study)
    undisturbed = swept(study, tmp_path / 'undisturbed', 1)
    assert [row.same() for row in rows] == [row.same() for row in undisturbed]


def test_a_killed_process_costs_no_run(logging_study, tmp_path):
    """Repeat a run whose process is killed, for example by the system out of memory."""
    study = read_study(logging_study)
    executor = LocalExecutor(2, 120.0)
    killed: list[int] = []

    def kill(progress: object) -> None:
        busy = [host for host in executor.hosts if host.job is not None]
        if not killed and busy:
            killed.append(busy[0].pid)
            os.kill(busy[0].pid, signal.SIGKILL)

    with Store(study, tmp_path / 'results') as store:
        progress = sweep(store, executor, kill)
        rows = rows_of(store.table(), study)
    assert killed and progress.statuses == {'done': 30}
    assert [row.run for row in rows] == list(range(30))
    assert not executor.hosts


def test_first_runs_that_all_fail_are_a_mistake(tmp_path, capsys):
    """End a sweep if its first runs all fail, with the reason; continue on request."""
    study = write_study(
        tmp_path,
        {**PUSHED, 'samples': 15, 'measure': {'worst': 'max(abs(joint_state.position[a]))'}},
    )
    assert main(['sweep', str(study.source), '--processes', '1']) == 2
    told = capsys.readouterr()
    assert "Did you mean '/joint_states'?" in told.err and '--keep-going' in told.err
    assert main(['sweep', str(study.source), '--processes', '1', '--keep-going']) == 0
    told = capsys.readouterr().out
    assert '15 failed; 0 succeeded' in told and "unknown topic 'joint_state'" in told


def test_few_runs_that_all_fail_are_a_mistake(tmp_path, capsys):
    """Report a small study whose runs all fail, also at the next call."""
    study = write_study(
        tmp_path, with_controller({'kind': 'function', 'call': 'nowhere:hold', 'number': 0})
    )
    assert main(['sweep', str(study.source), '--processes', '1']) == 2
    told = capsys.readouterr().err
    assert 'all 3 runs failed, run 0 by: ' in told and 'nowhere' in told and 'Delete' in told
    assert main(['sweep', str(study.source)]) == 0
    told = capsys.readouterr().out
    assert '3 failed' in told and 'run 0 as the first: ' in told and "'nowhere'" in told


def test_a_study_is_swept_reported_and_replayed(tmp_path, capsys):
    """Do everything by the command, and reject wrong arguments."""
    study = write_study(tmp_path, {**PUSHED, 'samples': 8, 'design': 'sobol'})
    file, folder = str(study.source), tmp_path / 'study_results'

    def run(*arguments: str) -> tuple[int, str]:
        code = main(['sweep', *arguments])
        told = capsys.readouterr()
        return code, told.out + told.err

    code, told = run(file)
    assert code == 0 and '8 done' in told and 'succeeded' in told
    code, again = run(file)
    assert code == 0 and again.startswith(
        f'{folder}/results.parquet: all 8 runs were made before\n8 done; '
    )
    code, told = run('report', file, '--replays', '1', '--by=-sag')
    assert code == 0 and 'report.html: 8 runs' in told
    page = (folder / 'report.html').read_text()
    (worst,) = (folder / 'replays').glob('*.html')
    assert f'href="replays/{worst.name}"' in page and 'Rank correlation' in page
    assert 'worst &lt; 0.01' in page and 'sim_bridge sweep replay' in page
    assert 'http' not in page.split('Plotly', 1)[0]
    number = next(k for k in range(8) if f'{k:06}' not in worst.name)
    code, told = run('replay', str(folder), '--run', str(number))
    assert code == 0 and told.endswith('the same\n')
    assert (folder / 'replays' / f'run_{number:06}' / 'metadata.yaml').is_file()
    assert run('replay', file, '--run', '8')[0] == 2
    assert run(file, '--run', '3') == (
        2,
        'sim_bridge sweep: --run = 3: expected a run of sweep replay\n',
    )
    assert '--results names the folder' in run(file, '-o', 'there')[1]
    assert run('replay', file)[0] == 2
    code, told = run('report', file, '--by', 'wurst')
    assert code == 2 and "Did you mean 'worst'?" in told
    study.source.write_text(study.source.read_text().replace('seed: 1', 'seed: 2'))
    for arguments in ((file,), ('report', file), ('replay', file, '--run', '1')):
        code, told = run(*arguments)
        assert code == 2 and 'changed since' in told
    assert run(str(tmp_path / 'nothing.yaml'))[0] == 2


def test_a_timed_out_run_is_the_same_for_any_timeout(tmp_path, capsys):
    """Compare for a timed-out run only the timeout itself, not its length."""
    (tmp_path / 'slow.py').write_text(
        'import time\n\ndef law(joints, number):\n    return lambda t, q, dq: time.sleep(100)\n'
    )
    study = write_study(
        tmp_path,
        with_controller(
            {'kind': 'function', 'call': 'slow.py:law', 'number': 0},
            vary={'number': {'path': 'controller.number', 'values': [0]}},
        ),
    )
    assert main(['sweep', str(study.source), '--timeout', '2']) == 1
    assert 'hung, run 0 as the first: took longer than 2 s' in capsys.readouterr().out
    assert main(['sweep', 'replay', str(study.source), '--run', '0', '--timeout', '1']) == 0


def test_a_changed_row_is_reported(tmp_path, capsys):
    """Report a run different from its row."""
    study = write_study(tmp_path, {**PUSHED, 'samples': 1})
    folder = tmp_path / 'study_results'
    swept(study, folder, 1)
    lines = (folder / 'rows.jsonl').read_text()
    (folder / 'rows.jsonl').write_text(lines.replace('"noise_seed": ', '"noise_seed": 1'))
    (folder / 'results.parquet').unlink()
    with Store(study, folder) as store:
        store.finish()
    assert main(['sweep', 'replay', str(study.source), '--run', '0']) == 1
    assert 'different from the row: noise_seed' in capsys.readouterr().out


def test_sobol_indices_are_reported(tmp_path, capsys):
    """Report for a saltelli design how measures depend on inputs: a push moves its own arm."""
    study = write_study(
        tmp_path,
        {
            **PUSHED,
            'design': 'saltelli',
            'samples': 8,
            'vary': {
                'push': {'path': 'disturbances.push.force[1]', 'uniform': [0.0, 60.0]},
                'friction': {'path': 'disturbances.push.force[2]', 'uniform': [0.0, 1e-6]},
            },
        },
    )
    assert main(['sweep', str(study.source)]) == 0
    assert main(['sweep', 'report', str(study.source)]) == 0
    capsys.readouterr()
    from sim_bridge.sweep.findings import find
    from sim_bridge.sweep.store import read_results

    rows = read_results(study, tmp_path / 'study_results')
    push, nothing = find(study, rows).indices['worst']
    assert push.total > 0.9 and nothing.total < 0.01 and push.used == 8
    assert (
        '<h3>worst, of 8 samples</h3>' in (tmp_path / 'study_results' / 'report.html').read_text()
    )
