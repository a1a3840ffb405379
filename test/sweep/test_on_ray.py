"""Sweeps on a real Ray cluster with two nodes; one worker is killed on the way."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time

import pytest
from studies import PUSHED, swept, write_study

from sim_bridge.sweep.result_table import rows_of
from sim_bridge.sweep.store import Store
from sim_bridge.sweep.study import Study
from sim_bridge.sweep.sweep import sweep

# Ray's own processes keep sockets and files until the end
pytestmark = [pytest.mark.long, pytest.mark.filterwarnings('ignore')]

RUNS = 2000
TOKEN = secrets.token_hex(32)
RAY = Path(sys.executable).with_name('ray')
NODES = ('--num-cpus', '1', '--object-store-memory', '100000000', '--disable-usage-stats')


# above the ports of Ray's workers, and below the system's ephemeral ports: one may be taken
# before the head listens there
PORTS = range(20_000, 32_000)


def free_port() -> int:
    """Return a port without a listener."""
    first = 97 * os.getpid()
    for number in range(len(PORTS)):
        port = PORTS[(first + number) % len(PORTS)]
        with socket.socket() as own:
            try:
                own.bind(('127.0.0.1', port))
            except OSError:
                continue
            return port
    raise RuntimeError(f'no port of {PORTS} is free')


@pytest.fixture(autouse=True)
def own_token(monkeypatch) -> None:
    """
    Let clusters require a private token.

    Without it `--ray local` would let Ray write a token to the user's folder, and each later
    `ray start` would require it. Set before the import of Ray: it reads these variables once.
    """
    monkeypatch.setenv('RAY_AUTH_MODE', 'token')
    monkeypatch.setenv('RAY_AUTH_TOKEN', TOKEN)


@pytest.fixture
def cluster() -> Iterator[str]:
    """Start a head and a second node on this machine; end them and all their children."""
    # not the test's folder: socket paths are limited to 107 characters
    with tempfile.TemporaryDirectory(prefix='ray', ignore_cleanup_errors=True) as folder:
        address = f'127.0.0.1:{free_port()}'
        environment = {**os.environ, 'RAY_USAGE_STATS_ENABLED': '0', 'RAY_TMPDIR': folder}
        nodes = []
        head = [
            '--head',
            '--port',
            address.rpartition(':')[2],
            '--include-dashboard',
            'false',
            '--temp-dir',
            folder,
            '--node-ip-address',
            '127.0.0.1',
        ]
        try:
            for arguments in (head, ['--address', address, '--node-ip-address', '127.0.0.1']):
                log = Path(folder) / f'node_{len(nodes)}.log'
                with log.open('wb') as output:
                    nodes.append(
                        subprocess.Popen(
                            [RAY, 'start', '--block', *arguments, *NODES],
                            env=environment,
                            stdout=output,
                            stderr=output,
                            start_new_session=True,
                        )
                    )
                wait_for_nodes(address, nodes, log, environment)
            yield address
        finally:
            for node in nodes:
                node.terminate()
            for node in nodes:
                try:
                    node.wait(60.0)
                except subprocess.TimeoutExpired:
                    os.killpg(node.pid, signal.SIGKILL)
                    node.wait()


def wait_for_nodes(
    address: str, nodes: list[subprocess.Popen], log: Path, environment: dict[str, str]
) -> None:
    """Wait until a cluster has all nodes; log: the last one's output."""
    program = (
        'import ray, sys, time\n'
        f'ray.init({address!r}, logging_level="error", log_to_driver=False)\n'
        f'while sum(node["Alive"] for node in ray.nodes()) < {len(nodes)}:\n    time.sleep(0.1)\n'
    )
    end = time.monotonic() + 120.0
    while (
        asked := subprocess.run(
            [sys.executable, '-c', program],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300.0,
        )
    ).returncode:
        told = f'{log.read_text()}\n{asked.stdout[-2000:]}'
        assert nodes[-1].poll() is None, told
        assert time.monotonic() < end, f'no {len(nodes)} nodes at {address}: {told}'


def workers(study: Study) -> list[int]:
    """Return the Ray processes whose children make runs."""
    found = []
    for entry in Path('/proc').iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / 'cmdline').read_bytes().split(b'\0')
            parent = int((entry / 'stat').read_text().rpartition(')')[2].split()[1])
        except OSError:
            continue
        if b'sim_bridge.sweep.worker' in words and str(study.source).encode() in words:
            found.append(parent)
    return found


def test_a_cluster_gives_the_rows_of_this_machine(cluster, tmp_path):
    """Make 2000 runs on two nodes, and lose none after a worker is killed with its runs."""
    from sim_bridge.sweep.on_ray import RayExecutor

    study = write_study(tmp_path, {**PUSHED, 'samples': RUNS})
    here = swept(study, tmp_path / 'here')
    killed: list[int] = []
    seen: set[int] = set()

    def kill(progress: object) -> None:
        """Kill a worker during the sweep, with SIGKILL."""
        seen.update(workers(study) if len(seen) < 2 else ())
        if not killed and store.count > RUNS // 4 and (busy := workers(study)):
            killed.append(busy[0])
            os.kill(busy[0], signal.SIGKILL)

    with Store(study, tmp_path / 'there') as store:
        progress = sweep(store, RayExecutor(cluster, 120.0), kill)
        there = rows_of(store.table(), study)
    assert killed
    assert len(seen) == 2, 'both nodes make runs'
    assert progress.statuses == {'done': RUNS}
    assert [row.run for row in there] == list(range(RUNS))
    assert max(row.attempts for row in there) >= 2
    assert [row.same() for row in there] == [row.same() for row in here]


def test_a_missing_cluster_is_reported(tmp_path):
    """Print how to start a cluster."""
    study = write_study(tmp_path, PUSHED)
    told = subprocess.run(
        [
            sys.executable,
            '-m',
            'sim_bridge',
            'sweep',
            study.source,
            '--ray',
            f'127.0.0.1:{free_port()}',
        ],
        capture_output=True,
        text=True,
        timeout=300.0,
    )
    assert told.returncode == 2
    assert 'there is no Ray cluster at' in told.stderr and 'ray start --head' in told.stderr


def test_a_missing_token_is_reported(cluster, tmp_path):
    """Name the missing token."""
    study = write_study(tmp_path, PUSHED)
    environment = {**os.environ, 'RAY_AUTH_MODE': 'disabled'}
    told = subprocess.run(
        [sys.executable, '-m', 'sim_bridge', 'sweep', study.source, '--ray', cluster],
        capture_output=True,
        text=True,
        timeout=300.0,
        env=environment,
    )
    assert told.returncode == 2
    assert 'asks for a token' in told.stderr and 'RAY_AUTH_MODE=token' in told.stderr


def test_a_cluster_is_started_and_runs_that_crash_are_rows(tmp_path):
    """Start a cluster for one sweep, and end it afterwards; a crash costs only its own run."""
    (tmp_path / 'fragile.py').write_text(
        'import os\n\n\ndef make(joints, number):\n    def answer(time_s, q, dq):\n'
        '        if number == 3:\n            os.abort()\n        return -30.0 * dq\n'
        '    return answer\n'
    )
    study = write_study(
        tmp_path,
        {
            'design': 'list',
            'vary': {'number': {'path': 'controller.number', 'values': list(range(12))}},
            'run': {
                **PUSHED['run'],
                'disturbances': {},
                'controller': {'kind': 'function', 'call': 'fragile.py:make', 'number': 0},
            },
            'measure': {'sag': PUSHED['measure']['sag']},
        },
    )
    told = subprocess.run(
        [sys.executable, '-m', 'sim_bridge', 'sweep', study.source, '--ray', 'local', '--ship'],
        capture_output=True,
        text=True,
        timeout=600.0,
    )
    assert told.returncode == 1, told.stderr
    assert '11 done, 1 crashed' in told.stdout
    with Store(study, tmp_path / 'study_results') as store:
        rows = rows_of(store.table(), study)
    assert [row.run for row in rows if row.status == 'crashed'] == [3]
    assert 'SIGABRT' in rows[3].reason
    others = [row.same() for row in rows if row.run != 3]
    assert others == [row.same() for row in swept(study, tmp_path / 'here') if row.run != 3]
