"""Permitted actions, resources and answers of a hostile reader process."""

from __future__ import annotations

from dataclasses import replace
import os
from pathlib import Path
import platform
import select
import subprocess
import sys
import time

import pytest

from sim_bridge.foreign.reader_process import Limits, read_apart, ReadingError, sharing

LIMITS = Limits(seconds=20.0, memory_bytes=1 << 28, answer_bytes=1 << 20)
# Python raises its own errors if the system refuses threads and limits
REFUSED = 'PermissionError|BlockingIOError|RuntimeError|ValueError'


def do(action: str, path: Path | str = '', data: bytes = b'', limits: Limits = LIMITS):
    """Let a hostile reader act; return its answer."""
    return read_apart('hostile_reader', limits, {'do': action, 'path': str(path)}, data)


@pytest.fixture
def file(tmp_path) -> Path:
    """Return a file to be left unchanged."""
    path = tmp_path / 'file'
    path.write_text('kept')
    path.chmod(0o600)
    return path


def test_data_go_there_and_back():
    """Send a file in several pieces, and get the complete answer."""
    data = os.urandom(1 << 20)
    assert do('count', data=data) == ({'count': 1}, data)


@pytest.mark.parametrize(
    'action',
    [
        'write',
        'append',
        'remove',
        'rename',
        'mode',
        'folder',
        'link',
        'internet',
        'local socket',
        'program',
        'exec',
        'fork',
        'thread',
        'kill',
        'limits',
    ],
)
def test_a_hostile_reader_can_only_compute(file, action):
    """Refuse writing, sockets, programs, threads, signals; leave every file unchanged."""
    with pytest.raises(ReadingError, match=REFUSED):
        do(action, file)
    assert [path.name for path in file.parent.iterdir()] == ['file']
    assert file.read_text() == 'kept'
    assert file.stat().st_mode & 0o777 == 0o600


# keeps one of the two barriers, with the actions it must refuse alone
SCRIPT = """
import os, sys
sys.path[:] = {path!r}
from sim_bridge.foreign import confinement
confinement.{without} = lambda *_: False
import socket
print(confinement.confine(5, 1 << 30, may_read={may_read}))
for action in ({actions}):
    try:
        action()
        print('done')
    except OSError as err:
        print(type(err).__name__)
"""


@pytest.mark.parametrize(
    ('without', 'kept', 'may_read', 'actions'),
    [
        (
            '_forbid_calls',
            'landlock',
            True,
            [
                'lambda: os.open({file!r}, os.O_WRONLY)',
                'lambda: os.truncate({file!r}, 0)',
                'lambda: os.remove({file!r})',
                "lambda: os.mkdir({file!r} + 'x')",
                "lambda: os.execv('/bin/true', ['true'])",
                "lambda: socket.create_connection(('127.0.0.1', 9))",
            ],
        ),
        (
            '_forbid_calls',
            'landlock',
            False,
            ["lambda: os.listdir('/')", 'lambda: open({file!r})'],
        ),
        (
            '_forbid_files',
            'seccomp',
            True,
            [
                'lambda: os.open({file!r}, os.O_WRONLY)',
                'lambda: os.truncate({file!r}, 0)',
                'lambda: os.remove({file!r})',
                "lambda: os.mkdir({file!r} + 'x')",
                "lambda: os.execv('/bin/true', ['true'])",
                'lambda: socket.socket()',
            ],
        ),
    ],
)
def test_each_fence_holds_alone(file, without, kept, may_read, actions):
    """Refuse with Landlock alone actions also refused by seccomp, and vice versa."""
    assert platform.machine() in ('x86_64', 'aarch64')
    script = SCRIPT.format(
        path=sys.path,
        without=without,
        may_read=may_read,
        actions=''.join(f'{action}, ' for action in actions).format(file=str(file)),
    )
    said = subprocess.run(
        [sys.executable, '-c', script], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()
    assert said == [f"('{kept}',)", *['PermissionError'] * len(actions)]
    assert file.read_text() == 'kept'


def test_a_reader_of_bytes_opens_no_file(file):
    """Permit file access only to readers declaring it, and refuse it to the mesh reader."""
    assert do('read', file) == ({}, b'kept')
    script = SCRIPT.format(
        path=sys.path, without='_none', may_read=False, actions=f'lambda: open({str(file)!r}), '
    )
    said = subprocess.run(
        [sys.executable, '-c', script], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.splitlines()
    assert said == ["('landlock', 'seccomp')", 'PermissionError']


@pytest.mark.parametrize(
    ('action', 'said'),
    [
        ('loop', 'not done within 1 s'),
        ('sleep', 'not done within 0.1 s'),
        ('allocate', 'it may take 256 MB of memory'),
        ('crash', 'ended with code 7'),
        ('garbage', 'no answer'),
        ('no end', 'not done within 1 s'),
        ('deep', 'no answer'),
        ('no fields', 'no answer'),
        ('huge', '1152921504606846976 bytes'),
    ],
)
def test_endless_or_silent_readers_are_ended(action, said):
    """End endless computing, waiting or allocating; accept no invalid answer."""
    seconds = {'sleep': 0.1, 'loop': 1.0, 'no end': 1.0}.get(action, LIMITS.seconds)
    limits = replace(LIMITS, seconds=seconds)
    with pytest.raises(ReadingError, match=said):
        do(action, limits=limits)


def test_nothing_of_an_answer_is_run(capfd):
    """Pass bytes unchanged: a pickle to run a program is not loaded."""
    fields, data = do('pickle')
    assert (fields, b'echo trap' in data) == ({}, True)
    assert capfd.readouterr() == ('', '')


def test_reasons_are_one_short_line():
    """Show an error without terminal control characters, and shortened."""
    with pytest.raises(ReadingError) as caught:
        do('terminal')
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 2000


def test_files_share_a_process_and_nothing_else():
    """Start one process for several files; no file affects how the next one is read."""
    with sharing(), sharing():
        assert [do('count')[0] for _ in range(3)] == [{'count': 1}] * 3
        with pytest.raises(ReadingError):
            do('crash')
        assert do('count')[0] == {'count': 1}


def test_processes_end_with_their_block():
    """Leave no process behind, neither after an answer nor after an error."""
    children = Path(f'/proc/self/task/{os.getpid()}/children')
    before = children.read_text()
    with sharing():
        do('count')
        assert children.read_text() != before
    assert children.read_text() == before
    with pytest.raises(ReadingError):
        do('sleep', limits=replace(LIMITS, seconds=0.1))
    assert children.read_text() == before


def test_readers_end_with_a_killed_process():
    """End the process and its waiting child when their starter is killed."""
    code = (
        f'import sys; sys.path[:] = {sys.path!r}\n'
        'from test_reader_process import do, LIMITS, replace\n'
        'do("sleep", limits=replace(LIMITS, seconds=300.0))'
    )
    with subprocess.Popen([sys.executable, '-c', code]) as process:
        ended, descriptors = select.poll(), []
        above = process.pid
        for _ in range(2):
            while not (below := Path(f'/proc/{above}/task/{above}/children').read_text()):
                time.sleep(0.01)
            above = int(below)
            descriptors.append(os.pidfd_open(above))
            ended.register(descriptors[-1])
        process.kill()
        while descriptors:
            for descriptor, _ in ended.poll():
                ended.unregister(descriptor)
                os.close(descriptor)
                descriptors.remove(descriptor)


def test_a_missing_reader_is_reported():
    """Report the import error."""
    with pytest.raises(ReadingError, match="No module named 'no_such_reader'"):
        read_apart('no_such_reader', LIMITS, {})
