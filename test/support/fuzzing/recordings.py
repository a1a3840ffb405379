"""Bags: damaged bytes, and valid files with messages that were never recorded."""

from __future__ import annotations

from functools import cache
import json
from pathlib import Path
from random import Random
import tempfile
from typing import Any

import bags
from rclpy.serialization import serialize_message
from std_msgs.msg import String

from fuzzing.damage import damaged_bytes, damaged_data, HUGE_INTEGER, TEXTS
from sim_bridge.foundation.errors import MalformedMessageError
from sim_bridge.ros.bag.mcap_file import McapFile, message_record
from sim_bridge.ros.bag.mcap_reader import McapReader, Message
from sim_bridge.ros.bag.replay import replay
from sim_bridge.ros.wire.cdr import deserialize

_TIMES = (0, 1, -1, 1000, 10**9, 2**63 - 1, 2**64 - 1)
_MOST_CHANGES = 3
# one of each kind, as in `sim_bridge.ros.bag.notes`
_NOTES: tuple[dict[str, Any], ...] = (
    {
        'control': {
            'robot': 'double_pendulum',
            'axis': 'elbow',
            'control': 'servo',
            'kp': 1.0,
            'kd': 0.1,
        }
    },
    {
        'follow_trajectory': {
            'robot': 'double_pendulum',
            'joints': ['elbow'],
            'times': [0.01],
            'positions': [[0.1]],
            'velocities': [None],
            'accelerations': [None],
            'start_ns': 0,
            'path': [[0.0]] * 3,
            'goal': [[0.0]] * 3,
            'goal_time': 0.0,
        }
    },
    {'cancel_trajectory': {'robot': 'double_pendulum', 'number': 1}},
    {'reset': {'clock': False, 'time': True, 'state': True}},
    {'save': {}},
    {'restore': {'number': 1, 'clock': False}},
    {'publish_state': {}},
    {'complete_state': {}},
    {'move': {'name': 'double_pendulum', 'pose': [[0, 0, 1], [0, 0, 0, 1]], 'twist': None}},
    {'delete': {'name': 'double_pendulum'}},
    {
        'spawn': {
            'name': 'x',
            'made': {
                'description': '<robot name="x"><link name="a"/></robot>',
                'namespace': None,
                'position': [0, 0, 0],
                'orientation': [0, 0, 0, 1],
                'files': {},
            },
        }
    },
)


@cache
def recording() -> bytes:
    """Return a short run's bag."""
    with tempfile.TemporaryDirectory() as folder:
        bag = Path(folder) / 'bag'
        run = bags.start_recording(bag, record_hash_period=0.005, rate=500.0)
        run.run(0.03, bags.no_progress)
        (file,) = bag.glob('*.mcap')
        return file.read_bytes()


@cache
def messages() -> tuple[Message, ...]:
    """Return the recording's messages."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'bag.mcap'
        path.write_bytes(recording())
        return tuple(McapReader(path).messages())


@cache
def _place_of_setup() -> int:
    return [each.topic for each in messages()].index('/sim_bridge/setup')


def make(rng: Random) -> bytes:
    """Return damaged bytes, or a valid file with some changed messages."""
    if not rng.randrange(4):
        return damaged_bytes(rng, recording())
    changed = list(messages())
    for _ in range(rng.randint(1, _MOST_CHANGES)):
        at, how = rng.randrange(len(changed)), rng.randrange(8)
        if how < 3:
            # without a valid setup nothing is replayed
            at = rng.choice((at, at, _place_of_setup()))
            changed[at] = _changed(rng, changed[at])
        elif how < 6:
            note = json.dumps(rng.choice(_NOTES))
            given = Message(
                '/sim_bridge/inputs',
                'std_msgs/msg/String',
                *changed[at][2:4],
                serialize_message(String(data=note)),
            )
            changed.insert(at + 1, given if rng.randrange(3) else _changed(rng, given))
        elif how == 6:
            changed[at] = changed[at]._replace(topic=rng.choice(TEXTS[1:]))
        else:
            time_ns = rng.choice(_TIMES) % 2**64
            changed[at] = changed[at]._replace(time_ns=time_ns, publish_ns=time_ns)
    return written(changed)


def run(case: bytes, folder: Path) -> None:
    """Replay a bag."""
    path = folder / 'bag.mcap'
    path.write_bytes(case)
    replay(path)


def _changed(rng: Random, message: Message) -> Message:
    """Return a message with another content: other JSON if it holds JSON, else other bytes."""
    data = damaged_bytes(rng, message.data)
    if message.type_name == 'std_msgs/msg/String' and rng.randrange(5):
        try:
            content = json.loads(deserialize(message.data, String).data)
        except (MalformedMessageError, ValueError):
            # of another kind, or changed before
            content = None
        if isinstance(content, dict):
            text = json.dumps(damaged_data(rng, content), default=repr)
            text = text.replace(f'"{HUGE_INTEGER}"', '9' * 5000)
        else:
            text = rng.choice((*TEXTS, '[' * 100_000))
        data = serialize_message(String(data=text.encode(errors='replace').decode()))
    return message._replace(data=data)


def written(messages: list[Message]) -> bytes:
    """Return a file of messages with valid checksums."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'bag.mcap'
        file, channels = McapFile(path, 'fuzzer'), {}
        for each in messages:
            key = each.topic, each.type_name
            if key not in channels:
                channels[key] = file.add_channel(*key, '', {})
        file.add_chunk(
            [
                message_record(
                    channels[each.topic, each.type_name],
                    number,
                    each.time_ns,
                    each.data,
                    each.publish_ns,
                )
                for number, each in enumerate(messages)
            ]
        )
        file.close()
        return path.read_bytes()
