"""Signals to `make`: they end the programs that it runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

# in place of the environment's Python; tells that it runs, and that it has ended in order
_PROGRAM = """\
#!{python}
import os, pathlib, signal, sys, time
def end(number, frame):
    time.sleep(0.3)
    pathlib.Path({ended!r}).write_text(str(number))
    sys.exit(0)
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, end)
print(os.getpid(), *sys.argv[1:], flush=True)
signal.pause()
"""


@pytest.mark.parametrize('goal', ['run', 'fuzz', 'test'])
def test_a_terminated_make_ends_its_program(repository, tmp_path, goal):
    """Pass SIGTERM on, and wait for the program; SIGINT from a terminal reaches both."""
    folder, ended = tmp_path / 'venv', tmp_path / 'ended'
    (folder / 'bin').mkdir(parents=True)
    python = folder / 'bin' / 'python'
    python.write_text(_PROGRAM.format(python=sys.executable, ended=str(ended)))
    python.chmod(0o755)
    stamps = [folder / name for name in ('.created', '.run', '.test')]
    for stamp in stamps:
        stamp.touch()
    # -o: an older stamp counts as new, so that nothing is installed
    options = [word for stamp in stamps for word in ('-o', str(stamp))]
    make = subprocess.Popen(
        ['make', '--no-print-directory', *options, goal, f'VENV={folder}', 'ARGS=--seconds 1'],
        cwd=repository,
        env={name: value for name, value in os.environ.items() if not name.startswith('MAKE')},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert make.stdout is not None
    process, *_ = make.stdout.readline().split()
    make.terminate()
    make.wait()
    try:
        assert ended.read_text() == str(int(signal.SIGTERM))
        with pytest.raises(ProcessLookupError):
            os.kill(int(process), 0)
    finally:
        make.stdout.close()
        if not ended.exists():
            os.kill(int(process), signal.SIGKILL)
