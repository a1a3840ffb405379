"""Output of `info` for a bag: topics, run, events, and whether a replay is possible."""

from __future__ import annotations

import json
from pathlib import Path

from bags import messages_on, read_bag, start_recording
import pytest
from rclpy.serialization import serialize_message
from rosbags.rosbag2 import Reader
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from sim_bridge.cli.main import main
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.version import __version__
from sim_bridge.ros.bag.reader import Bag, examine
from sim_bridge.ros.bag.replay import replay
from sim_bridge.ros.bag.summary import summarize

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")


@pytest.fixture(scope='module')
def bag(tmp_path_factory) -> Path:
    """Provide a run with a reset, a control change, refused commands and missed deadlines."""
    bag = tmp_path_factory.mktemp('info') / 'run'
    run = start_recording(bag, record_hash_period=0.05)
    (interface,) = run.simulator.interfaces
    take, missed = interface.command_topics[0].take, [0]
    run.recording.watch_deadlines(lambda: missed[0])
    take(serialize_message(JointState(name=['shoulder'], effort=[0.1])))
    for _ in range(100):
        run.simulator.tick()
    take(serialize_message(JointState(name=['nobody'], effort=[1.0])))
    take(b'nothing')
    missed[0] = 7
    interface.commands.queue.set_control('elbow', 'servo', 20.0, 1.0)
    for _ in range(200):
        run.simulator.tick()
    run.simulator.reset(clock=False)
    run.simulator.tick()
    run.recording.close()
    return bag


def test_topics_are_those_of_another_reader(bag):
    """Compare names, types, counts and times with `rosbags`."""
    summary = summarize(bag)
    with Reader(bag) as reader:
        assert {topic.name: (topic.type_name, topic.count) for topic in summary.topics} == {
            each.topic: (each.msgtype, each.msgcount)
            for each in reader.connections
            if each.msgcount
        }
        assert summary.end == pytest.approx(1e-9 * (reader.end_time - 1), abs=1e-8)
    states = next(topic for topic in summary.topics if topic.name == '/joint_states')
    assert states.rate == pytest.approx(1000.0)
    assert [topic.name for topic in summary.topics if topic.is_command] == ['/joint_commands']


def test_events_are_reported(bag):
    """Report refused commands with the reason, missed deadlines, a reset and a control change."""
    happened = summarize(bag).events
    assert happened.counts == {
        'command refused': 2,
        'missed deadlines': 7,
        'reset': 1,
        'control changed': 1,
    }
    told = {each.kind: each for each in happened.kept}
    assert told['control changed'].text == 'double_pendulum/elbow: servo'
    assert 'joint_commands' in told['command refused'].text
    assert told['command refused'].time == pytest.approx(0.12, abs=1e-6)
    assert told['reset'].time == pytest.approx(0.3, abs=1e-6)


def test_events_do_not_disturb_a_replay(bag):
    """Replay a bag with events, bit by bit."""
    assert messages_on(read_bag(bag), '/sim_bridge/events', String)
    assert replay(bag).is_same


def test_contacts_are_reported(tmp_path):
    """Report each pair of geometries once when it begins to touch."""
    world = tmp_path / 'world.yaml'
    world.write_text(
        'world: {ground: {}, objects: {ball: {sphere: 0.1, mass: 1, position: [0, 0, 0.101]}}}',
        encoding='utf-8',
    )
    run = start_recording(tmp_path / 'drop', robot='', world=str(world))
    for _ in range(60):
        run.simulator.tick()
    run.recording.close()
    (event, *_) = summarize(tmp_path / 'drop').events.kept
    assert event.kind == 'contact' and 'ball' in event.text and 'ground' in event.text
    # falls 1 mm in 14 ms
    assert event.time == pytest.approx(0.0143, abs=2e-3)


def test_the_verb_prints_text_and_json(bag, capsys):
    """Print the same facts in both forms."""
    assert main(['info', str(bag)]) == 0
    text = capsys.readouterr().out
    assert f'version {__version__}: double_pendulum' in text
    assert 'can be replayed' in text and 'command refused: 2' in text
    assert main(['info', str(bag), '--json']) == 0
    content = json.loads(capsys.readouterr().out)
    assert content['replay'] == {'possible': True, 'obstacle': None}
    assert content['simulation']['robots'] == ['double_pendulum']
    assert content['counts']['missed deadlines'] == 7
    assert content['messages'] == sum(topic['messages'] for topic in content['topics'])


def test_a_damaged_bag_is_reported(bag, tmp_path, capsys):
    """Show the readable part of a truncated file, and end with 1."""
    (file,) = bag.glob('*.mcap')
    cut = tmp_path / 'cut.mcap'
    cut.write_bytes(file.read_bytes()[:-200])
    assert main(['info', str(cut)]) == 1
    assert 'warning' in capsys.readouterr().out
    (tmp_path / 'empty').mkdir()
    assert main(['info', str(tmp_path / 'empty')]) == 2
    assert 'folder with .mcap files' in capsys.readouterr().err


def test_a_path_is_a_text_or_a_path(bag):
    """Read a bag by either, in every reader; name other values."""
    assert Bag(str(bag)).topics == Bag(bag).topics
    assert summarize(str(bag)).messages == examine(str(bag)).messages
    assert replay(str(bag)).is_same
    for call in (Bag, summarize, examine, replay):
        for value in (5, None, b'bag'):
            with pytest.raises(InvalidValueError, match='bag = .*: expected a path'):
                call(value)
