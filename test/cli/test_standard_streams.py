"""Standard streams of the command: closed, full, and in encodings without all characters."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest

from sim_bridge.cli.console import Console
from sim_bridge.cli.main import main
from sim_bridge.foundation.errors import InvalidValueError, StateError, UnknownNameError
from sim_bridge.foundation.terminal import visible

ROBOT = '<robot name="Käfer €"><link name="a"/></robot>'
VERBS = ['version', 'check arm', 'gallery', 'completion bash', '--help', 'check --help']


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a shell command, where $S is the command `sim_bridge`."""
    return subprocess.run(
        ['sh', '-c', command.replace('$S', f'{sys.executable} -m sim_bridge')],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize('verb', VERBS)
def test_full_output_is_an_error(verb):
    """Name the reason in one line, and fail."""
    done = shell(f'$S {verb} > /dev/full')
    said = 'sim_bridge: the output cannot be written: No space left on device\n'
    assert (done.returncode, done.stderr) == (2, said)


@pytest.mark.parametrize(
    ('verb', 'code'), [('check arm', 2), ('record pendulum --duration 0.01 -o', 0)]
)
def test_full_streams_end_no_work(verb, code, tmp_path):
    """Finish the work of verbs with a status, say once that its lines are lost; end in order."""
    bag = f'{tmp_path}/bag' if verb.endswith('-o') else ''
    done = shell(f'$S {verb} {bag} > /dev/full')
    assert done.returncode == code
    assert done.stderr == 'sim_bridge: the output cannot be written: No space left on device\n'
    bag += bag and '2'
    done = shell(f'$S {verb} {bag} > /dev/full 2> /dev/full')
    assert (done.returncode, done.stdout, done.stderr) == (code, '', '')


@pytest.mark.parametrize('closed', ['>&-', '2>&-', '<&-', '>&- 2>&- <&-'])
def test_closed_streams_change_no_result(closed, tmp_path):
    """Give the same exit code, without a traceback."""
    (tmp_path / 'broken.urdf').write_text('<robot name="broken"><link name="a"/>')
    for robot, code in {'arm': 0, f'{tmp_path}/broken.urdf': 1}.items():
        done = shell(f'$S check {robot} {closed}')
        assert done.returncode == code
        assert 'Traceback' not in done.stderr


@pytest.mark.parametrize('options', ['', ' --json'])
def test_characters_missing_in_the_encoding_are_escaped(options, tmp_path):
    """Write them as JSON does, in texts, in JSON and in errors."""
    path = tmp_path / 'robot.urdf'
    path.write_text(ROBOT, encoding='utf-8')
    done = shell(f'$S check {path}{options}', PYTHONIOENCODING='ascii')
    assert (done.returncode, done.stderr) == (0, '')
    if options:
        assert json.loads(done.stdout)['robot']['name'] == 'Käfer €'
    else:
        assert 'K\\u00e4fer \\u20ac' in done.stdout
    done = shell(f'$S check {tmp_path}/nö.urdf', PYTHONIOENCODING='ascii')
    assert done.returncode == 2 and 'n\\u00f6.urdf' in done.stderr


def test_names_that_are_no_text_are_shown(tmp_path):
    """Show a file name with bytes outside UTF-8."""
    done = shell(f'$S check "{tmp_path}/$(printf "a\\377b").urdf"')
    assert done.returncode == 2 and 'a\\udcffb.urdf' in done.stderr
    assert 'Traceback' not in done.stderr


def test_foreign_texts_cannot_control_the_terminal(tmp_path, capsys):
    """Show control characters in names as escapes."""
    assert visible('a\x1b]0;t\x07\u202eb\x9b€ä\n\t') == 'a\\x1b]0;t\\x07\\u202eb\\x9b€ä\n\t'
    (tmp_path / 'scene.yaml').write_text('world: {"\\e[31mred": 5}\n')
    for path in (tmp_path / 'scene.yaml', tmp_path / '\x1b[31m.urdf'):
        assert main(['check', str(path)]) in {1, 2}
        out, err = capsys.readouterr()
        assert '\x1b' not in out + err and '\\x1b[31m' in out + err


def test_errors_cannot_control_the_terminal():
    """Show control characters in names as escapes, wherever an error is printed or logged."""
    name = 'a\x1b]0;title\x07\x1b[2J'
    for error in (
        UnknownNameError('joint', name, [name, 'b'], f'robot {name}'),
        InvalidValueError(f'effort of {name}', name, f'one of {name}', name),
        StateError(f'{name} runs'),
    ):
        assert '\x1b' not in str(error) and '\x07' not in str(error)
        assert 'a\\x1b]0;title\\x07' in str(error)


def test_output_of_programs_keeps_its_colours_only():
    """Let the lines of child processes set colours, and nothing else; let a status set nothing."""
    stream = io.StringIO()
    console = Console(stream)
    console.line('\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b[2J\x1b[10;10H\r')
    console.status('robot \x1b[31m')
    assert stream.getvalue() == (
        '\x1b[31mred\x1b[0m\\x1b]0;title\\x07\\x1b[2J\\x1b[10;10H\\r\nrobot \\x1b[31m\n'
    )
