"""Examples in help texts: every line is taken, and files and fields in them are found."""

from __future__ import annotations

from pathlib import Path
import re
import shlex
import shutil

import pytest

from sim_bridge.cli.main import build_parser, main, VERBS
from sim_bridge.description import find_robot
from sim_bridge.description.resources import find_scene
from sim_bridge.ros.params.parameter_names import check_parameter_name

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

# the user's own files: robots, scenes, studies, parameter files, tables, bags
PLACEHOLDERS = re.compile(
    r'(?:your|my|crane|bag|robot|push|tuning|efforts|on_a_rig)\b.*\.\w+'
    r'|package://bot/.*|swing|before|after|run|monday|tuesday'
)


def examples(verb: str) -> list[list[str]]:
    """Return the words of each `sim_bridge` command among a verb's examples."""
    (action,) = (each for each in build_parser((verb,))._actions if isinstance(each.choices, dict))
    text = action.choices[verb].format_help().partition('for example:')[2]
    joined = text.replace('\\\n', ' ')
    lines = re.findall(r'^ *sim_bridge ([^\n]*)', joined, re.MULTILINE)
    lines += re.findall(r'[$<]\(sim_bridge ([^)\n]*)\)', joined)
    return [shlex.split(re.split(r' \| | > ', line)[0], comments=True) for line in lines]


def every_example() -> list[list[str]]:
    """Return the examples of all verbs."""
    return [words for verb in VERBS for words in examples(verb)]


def test_examples_are_taken():
    """Know every option and parameter, and every shipped file, robot and scene."""
    for words in every_example():
        own = words[: words.index('--')] if '--' in words else words
        own = own[: own.index('--ros-args')] if '--ros-args' in own else own
        # a wrong line ends the parser with its message
        taken = build_parser((words[0],)).parse_args(own)
        for each in getattr(taken, 'parameter', None) or ():
            check_parameter_name(each.partition(':=')[0], 'sim_bridge')
        for name in (getattr(taken, each, None) for each in ('robot', 'world', 'file', 'source')):
            if isinstance(name, str) and not PLACEHOLDERS.fullmatch(name):
                is_scene = name.endswith('.yaml') or name.startswith('gallery/')
                assert (find_scene if is_scene else find_robot)(name).is_file(), words
    assert len(every_example()) > 50


@pytest.fixture
def user_files(tmp_path, monkeypatch, repository) -> Path:
    """Provide the files named in the examples in the working folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'config').symlink_to(repository / 'config')
    shutil.copy(repository / 'urdf' / 'pendulum.urdf', 'your.urdf')
    bags = {
        'swing': ['arm', '-p', 'publish_truth:=true'],
        'run': ['quadruped', '-p', 'publish_tf:=true'],
    }
    for name, words in bags.items():
        assert main(['record', *words, '-o', name, '--duration', '4.1']) == 0
    for name in ('before', 'after'):
        shutil.copytree('swing', name)
    return tmp_path


def test_examples_with_bags_and_files_succeed(user_files, monkeypatch, capsys):
    """Convert and check robots; inspect, plot, replay and show recordings."""
    monkeypatch.setattr('webbrowser.open', lambda *arguments: True)
    done = 0
    for words in [*examples('convert'), *every_example()]:
        verb = words[0]
        offline = verb in ('check', 'convert', 'info', 'plot', 'replay') or '--html' in words
        if offline and not {'crane.openplx', 'your.xacro', 'my.params.yaml'} & set(words):
            again = ['--force'] if verb == 'convert' and '--force' not in words else []
            code = main([*words, *again])
            output = capsys.readouterr()
            assert code == 0, (words, output.out[-500:], output.err)
            done += 1
    assert done > 15
