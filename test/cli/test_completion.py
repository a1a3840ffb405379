"""Shell completion: bash runs the script like for a user."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys

import pytest

from sim_bridge.cli.completers import SHELLS
from sim_bridge.cli.main import main, VERBS

# readline's actions before and after calling a command's completion function
ASK = """
eval "$2"
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9 COMP_KEY=9
read -r -a COMP_WORDS <<< "$1"
[[ $1 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
function=$(complete -p sim_bridge | sed 's/.*-F \\([^ ]*\\).*/\\1/')
"$function" sim_bridge "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2> /dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope='module')
def script():
    """Return the output of `sim_bridge completion bash`."""
    return subprocess.run(
        [sys.executable, '-m', 'sim_bridge', 'completion', 'bash'],
        text=True,
        stdout=subprocess.PIPE,
        check=True,
    ).stdout


@pytest.fixture
def ask(tmp_path, script):
    """Return a function giving bash's completions for a line, in a folder with some files."""
    command = tmp_path / 'bin' / 'sim_bridge'
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m sim_bridge "$@"\n')
    command.chmod(0o755)
    folder = tmp_path / 'work'
    (folder / 'bags').mkdir(parents=True)
    for name in ('quiet.urdf', 'quilt.xacro', 'quiz.yaml', 'quit.txt'):
        (folder / name).touch()
    environment = {
        **os.environ,
        'PATH': f'{command.parent}:{os.environ["PATH"]}',
        'PYTHONPATH': os.pathsep.join(filter(None, sys.path)),
    }

    def ask(line: str) -> set[str]:
        output = subprocess.run(
            ['bash', '--norc', '-c', ASK, 'bash', line, script],
            env=environment,
            cwd=folder,
            text=True,
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        return {word.strip() for word in output.splitlines()}

    return ask


@pytest.mark.parametrize(
    ('line', 'expected'),
    [
        ('sim_bridge ', set(VERBS)),
        ('sim_bridge re', {'record', 'render', 'replay'}),
        ('sim_bridge run --wo', {'--world'}),
        ('sim_bridge run --controller comp', {'computed_torque'}),
        ('sim_bridge run qu', {'quadruped', 'quiet.urdf', 'quilt.xacro', 'quiz.yaml'}),
        ('sim_bridge node flo', {'floating_box'}),
        ('sim_bridge run gallery/wr', {'gallery/wrecking_ball'}),
        ('sim_bridge check qu', {'quadruped', 'quiet.urdf', 'quilt.xacro', 'quiz.yaml'}),
        ('sim_bridge run --world qu', {'quiz.yaml'}),
        ('sim_bridge replay ', {'bags/'}),
        ('sim_bridge record arm -p real', {'real_time_factor:=', 'realtime_priority:='}),
        ('sim_bridge run -p control', {'control.'}),
        ('sim_bridge run --rate ', {''}),
        ('sim_bridge completion ', set(SHELLS)),
    ],
)
def test_bash_completes(ask, line, expected):
    """Offer verbs, options, choices, robots, files of the right kind, and parameter names."""
    assert ask(line) == expected


@pytest.mark.parametrize(
    ('shell', 'word'),
    [('bash', 'complete '), ('zsh', '#compdef sim_bridge'), ('fish', 'complete --command')],
)
def test_every_shell_has_its_script(shell, word, capsys):
    """Print the registration of the command for each shell."""
    assert main(['completion', shell]) == 0
    script = capsys.readouterr().out
    assert word in script
    assert 'sim_bridge' in script
