"""Commands of `sim_bridge` in documents and help texts: all are taken, offline ones are run."""

from __future__ import annotations

from pathlib import Path
import re
import shutil

import pytest
from shown import provide_files, REPOSITORY, shown_commands

from sim_bridge.cli.main import build_parser, main
from sim_bridge.description import find_robot
from sim_bridge.description.resources import find_scene
from sim_bridge.foundation.errors import UnknownNameError
from sim_bridge.ros.params.parameter_names import check_parameter_name

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

COMMANDS = {source: commands for source, commands in shown_commands() if commands}

# the user's own files: robots, scenes, studies, parameter files, tables, bags
PLACEHOLDERS = re.compile(
    r'(?:your(?:_robot|_world)?|my|crane|bag|robot|robust|push|pushes|tuning|efforts|on_a_rig)\b.*\.\w+'
    r'|package://bot/.*|swing|before|after|run|monday|tuesday|tag/scene.yaml'
)

# bags that are shown without the command that records them
BAGS = {
    'swing': ['arm', '-p', 'publish_truth:=true'],
    'run': ['quadruped', '-p', 'publish_tf:=true'],
}

# without a graph, a browser or other packages; sweeps and fits have tests of their own
OFFLINE = {'check', 'compile', 'convert', 'gallery', 'info', 'plot', 'record', 'replay'}
ABSENT = {'crane.openplx', 'your.xacro', 'my.params.yaml', 'efforts.csv'}


@pytest.mark.parametrize('source', COMMANDS)
def test_commands_are_taken(source):
    """Know every option and parameter, and every shipped robot and scene."""
    for words in COMMANDS[source]:
        ends = [words.index(each) for each in ('--', '--ros-args') if each in words]
        # a wrong line ends the parser with its message
        taken = build_parser((words[0],)).parse_args(words[: min(ends, default=len(words))])
        for each in getattr(taken, 'parameter', None) or ():
            check_parameter_name(each.partition(':=')[0], 'sim_bridge')
        for name in (getattr(taken, each, None) for each in ('robot', 'world', 'file', 'source')):
            if isinstance(name, str) and not PLACEHOLDERS.fullmatch(name):
                is_scene = name.endswith('.yaml') or name.startswith('gallery/')
                assert (find_scene if is_scene else find_robot)(name).is_file(), words


def test_enough_commands_are_found():
    """Find those of documents and help texts."""
    assert sum(map(len, COMMANDS.values())) > 120


@pytest.fixture(scope='module')
def bags(tmp_path_factory) -> dict[str, Path]:
    """Record the bags named in the commands, by name."""
    folder = tmp_path_factory.mktemp('bags')
    for name, words in BAGS.items():
        assert main(['record', *words, '-o', str(folder / name), '--duration', '4.1']) == 0
    for name in ('before', 'after'):
        shutil.copytree(folder / 'swing', folder / name)
    return {each.name: each for each in folder.iterdir()}


def runs_offline(words: list[str]) -> bool:
    """Return whether a command needs nothing beside the files of this test."""
    is_offline = words[0] in OFFLINE or '--html' in words
    return is_offline and not ABSENT & set(words) and '~' not in ' '.join(words)


@pytest.mark.parametrize('source', [s for s in COMMANDS if any(map(runs_offline, COMMANDS[s]))])
def test_offline_commands_succeed(source, bags, tmp_path, monkeypatch, capsys):
    """Run them in turn; a recording takes two seconds."""
    monkeypatch.setattr('webbrowser.open', lambda *arguments: True)
    monkeypatch.chdir(tmp_path)
    provide_files(tmp_path)
    for words in filter(runs_offline, COMMANDS[source]):
        if words[0] == 'record':
            at = words.index('--duration') + 1
            words = [*words[:at], '2.0', *words[at + 1 :]]
            # another page's block may show the same bag
            shutil.rmtree(words[words.index('-o') + 1], ignore_errors=True)
        else:
            for name in bags.keys() & set(words):
                if not Path(name).exists():
                    shutil.copytree(bags[name], name)
        if words[:3] == ['convert', 'your.urdf', 'your.openplx']:
            Path(words[2]).unlink(missing_ok=True)
        code = main(words)
        output = capsys.readouterr()
        assert code == 0, (words, output.out[-500:], output.err)


def test_the_document_names_all_shipped_robots():
    """List in command_line.md the names known to every verb."""
    text = (REPOSITORY / 'docs' / 'command_line.md').read_text().partition('\nShipped are ')[2]
    named = set(re.findall(r'`(\w+)`', text.partition('Node parameters')[0]))
    with pytest.raises(UnknownNameError) as refusal:
        find_robot('no_such_robot')
    shipped = re.findall(r'\w+', str(refusal.value).rpartition('Known: ')[2])
    assert named == set(shipped)
