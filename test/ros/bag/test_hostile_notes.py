"""Bags with intact files and invalid notes."""

from __future__ import annotations

import json

from fuzzing import recordings
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import String

from sim_bridge.foundation.errors import SimBridgeError
from sim_bridge.ros.bag.mcap_reader import Message
from sim_bridge.ros.bag.replay import replay

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")


def replayed(tmp_path, note, time_ns=None, **changes):
    """Replay a recording with other values in its setup, then a note, at a time [ns]."""
    changed = list(recordings.messages())
    at = [each.topic for each in changed].index('/sim_bridge/setup')
    setup = json.loads(deserialize_message(changed[at].data, String).data) | changes
    text = note if isinstance(note, str) else json.dumps(note)
    first, last = (serialize_message(String(data=each)) for each in (json.dumps(setup), text))
    changed[at] = changed[at]._replace(data=first)
    now = changed[at].time_ns if time_ns is None else time_ns
    changed[at + 1 :] = [Message('/sim_bridge/inputs', changed[at].type_name, now, now, last)]
    path = tmp_path / 'bag.mcap'
    path.write_bytes(recordings.written(changed))
    return replay(path)


@pytest.mark.parametrize(
    ('note', 'said'),
    [
        ([1], r'content = \[1\]: expected a JSON object'),
        pytest.param('[' * 100_000, 'recursion', id='deep'),
        ({'move': 5}, 'move = 5: expected a JSON object'),
        ({'move': {'name': 'x'}}, r"names in move = \['name'\]: expected name, pose, twist"),
        (
            {'move': {'name': 'x', 'pose': [[0, 0, 1]], 'twist': None}},
            r'move.pose = .*a list of 2',
        ),
        ({'move': {'name': 'x', 'pose': None, 'twist': None}}, "unknown robot 'x'"),
        ({'reset': {'clock': 1}}, 'reset.clock = 1: expected true or false'),
        ({'restore': {'number': 7, 'clock': False}}, "unknown snapshot '7' in the recording"),
        ({'cancel_trajectory': {'robot': [], 'number': 1}}, r'cancel_trajectory.robot = \[\]'),
        ({'cancel_trajectory': {'robot': 'x', 'number': 1}}, "unknown robot 'x' in the replay"),
        (
            {
                'control': {
                    'robot': 'double_pendulum',
                    'axis': 'x',
                    'control': 'servo',
                    'kp': 1,
                    'kd': 1,
                }
            },
            "unknown axis 'x'",
        ),
        (
            {
                'control': {
                    'robot': 'double_pendulum',
                    'axis': 'elbow',
                    'control': 'x',
                    'kp': 1,
                    'kd': 1,
                }
            },
            "control = 'x' .*: expected 'effort'",
        ),
        ({'format_disk': {}}, 'knows control, follow_trajectory'),
    ],
)
def test_invalid_notes_are_refused(note, said, tmp_path):
    """Name the message, the wrong part and the accepted values."""
    with pytest.raises(SimBridgeError, match=said):
        replayed(tmp_path, note)


@pytest.mark.parametrize(
    ('changes', 'said'),
    [
        ({'parameters': []}, r'content.parameters = \[\]: expected a JSON object'),
        ({'descriptions': {}}, 'the description of'),
        ({'files': {'/dev/zero': 'x', 'a\0b': 'x'}}, 'these files were changed or removed'),
        ({'commands': {'/sim_bridge/inputs': 'x'}}, "unknown command topic 'x'"),
        ({'format': 'x' * 10_000}, 'has format'),
    ],
)
def test_invalid_setups_are_refused(changes, said, tmp_path):
    """Read no device, and do not search for missing robots."""
    with pytest.raises(SimBridgeError, match=said) as caught:
        replayed(tmp_path, {'save': {}}, **changes)
    assert len(str(caught.value)) < 5000


def test_an_invalid_time_ends_a_replay(tmp_path):
    """Report messages missing in the bag before that time, instead of stepping to it."""
    verdict = replayed(tmp_path, {'save': {}}, time_ns=2**62)
    assert 'is not in the bag' in verdict.difference
    assert verdict.ticks <= 1000
