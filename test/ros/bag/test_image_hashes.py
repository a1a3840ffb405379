"""Hashes of pictures in bags, compared by replays."""

from __future__ import annotations

import json

from bags import messages_on, no_progress, read_bag, start_recording
import pytest
from ros_graph import end
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String
import yaml

from sim_bridge.cli.main import main
from sim_bridge.ros.bag.replay import replay

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

SENSORS = {
    'eye': {
        'type': 'camera',
        'link': 'world',
        'position': [1.0, 1.0, 1.0],
        'look_at': [0.0, 0.0, 0.5],
        'size': [32, 24],
        'update_rate': 50,
        'noise': {'image': {'stddev': 0.01}},
        'outputs': ['image', 'depth', 'points', 'labels'],
    }
}


def notes_in(bag):
    """Return the recorded hashes."""
    return [
        json.loads(each.data)
        for each in messages_on(read_bag(bag), '/sim_bridge/image_hash', String)
    ]


@pytest.fixture(scope='module')
def recorded(tmp_path_factory):
    """Return a bag with hashes of a camera's pictures."""
    bag = tmp_path_factory.mktemp('run') / 'bag'
    start_recording(bag, record_images=True, sensors=SENSORS).run(0.2, no_progress)
    return bag


def test_each_picture_has_hashes(recorded):
    """Name the camera, the sample's step and a hash for each picture but the points."""
    notes = notes_in(recorded)
    assert [each['step'] for each in notes] == list(range(20, 201, 20))
    assert {each['camera'] for each in notes} == {'double_pendulum/eye'}
    assert all(set(each['hashes']) == {'image', 'depth', 'labels'} for each in notes)
    # the noise differs in each
    assert len({each['hashes']['image'] for each in notes}) == len(notes)


def test_a_replay_compares_pictures_if_asked(recorded, capsys):
    """Render and compare them with --images only, and say so otherwise."""
    verdict = replay(recorded, images=True)
    assert verdict.is_same and (verdict.pictures, verdict.unseen) == (10, 0)
    assert main(['replay', str(recorded), '--images']) == 0
    assert '; 10 pictures' in capsys.readouterr().out
    assert main(['replay', str(recorded)]) == 0
    assert '10 pictures not compared; --images compares them' in capsys.readouterr().out


def test_another_picture_is_a_difference(recorded, monkeypatch):
    """Name the camera, the step and the picture that differs."""
    monkeypatch.setattr('sim_bridge.sensors.picture_hashes._DIGITS', 15)
    difference = replay(recorded, images=True).difference
    assert "camera 'double_pendulum/eye', sample of step 20: the 'image' is now" in difference


def test_a_node_records_the_librarys_hashes(graph, start_node, recorded, tmp_path):
    """Let the camera process hash all pictures, without a subscriber; they replay."""
    bag = tmp_path / 'bag'
    scene = tmp_path / 'scene.yaml'
    standing = {'eye': {**SENSORS['eye'], 'link': 'world'}}
    ball = {'sphere': 0.2, 'position': [0.0, 0.0, 5.0], 'label': 1}
    scene.write_text(
        yaml.safe_dump({'world': {'ground': {}, 'objects': {'ball': ball}, 'sensors': standing}})
    )
    node = start_node(world=str(scene), record=str(bag), record_images=True)
    clock = graph.listen(Clock, '/clock')
    graph.wait_for_next(clock, 300)
    end(node)
    notes = notes_in(bag)
    assert [each['step'] for each in notes[:3]] == [20, 40, 60]
    verdict = replay(bag, images=True)
    assert verdict.difference == '' and verdict.pictures == len(notes)
