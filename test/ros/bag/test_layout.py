"""Bag storage: compression, splitting, times since 1970; read by others, and replayed."""

from __future__ import annotations

import importlib
from pathlib import Path
from random import Random
import time

from bags import messages_on, no_progress, read_bag, start_recording
from mcap.reader import make_reader
import pytest
from rclpy.qos import qos_profile_sensor_data, QoSProfile
from rosbags.rosbag2 import Reader
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
import yaml

from sim_bridge.foundation.errors import InvalidValueError, MissingPackageError, ReplayError
from sim_bridge.ros.bag import compression
from sim_bridge.ros.bag.bag_files import Layout
from sim_bridge.ros.bag.bag_sink import Selection, WallTime
from sim_bridge.ros.bag.bag_writer import Recorder
from sim_bridge.ros.bag.compression import codec, codec_of
from sim_bridge.ros.bag.mcap_file import McapFile, message_record
from sim_bridge.ros.bag.metadata import qos_to_yaml, Topic
from sim_bridge.ros.bag.reader import examine, read_messages
from sim_bridge.ros.bag.replay import replay

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

MS = 1_000_000
STRING = 'std_msgs/msg/String'


def record(bag: Path, seconds: float = 0.1, **parameters: object) -> str:
    """Record a run with commands; return its last state hash."""
    table = bag.with_suffix('.csv')
    table.write_text('time,elbow\n0,1\n0.03,2\n0.07,-3\n')
    return start_recording(bag, commands=table, **parameters).run(seconds, no_progress)


def sizes(bag: Path) -> dict[str, int]:
    """Return a bag's file sizes by name."""
    return {path.name: path.stat().st_size for path in bag.glob('*.mcap')}


def test_readers_of_mcap_find_all_crcs_right(tmp_path):
    """Let the maintained library check chunks, data and summary, compressed or not."""
    for name in ('none', 'zstd'):
        record(tmp_path / name, record_compression=name)
        with (tmp_path / name / f'{name}_0.mcap').open('rb') as file:
            reader = make_reader(file, validate_crcs=True)
            found = [
                (channel.topic, message.log_time, bytes(message.data))
                for _, channel, message in reader.iter_messages(log_time_order=False)
            ]
            summary = reader.get_summary()
        assert found == [
            (each.topic, each.time_ns, each.data) for each in read_messages(tmp_path / name)
        ]
        assert {chunk.compression for chunk in summary.chunk_indexes} == {name.replace('none', '')}
        assert summary.statistics.message_count == len(found)
    assert read_bag(tmp_path / 'none') == read_bag(tmp_path / 'zstd')
    assert sum(sizes(tmp_path / 'zstd').values()) < sum(sizes(tmp_path / 'none').values()) / 2
    assert replay(tmp_path / 'zstd').is_same


@pytest.mark.parametrize('name', ['backports.zstd', 'zstandard', 'lz4.frame'])
def test_chunks_compressed_by_one_package_are_read_by_another(tmp_path, monkeypatch, name):
    """Write a chunk with each package; read it with `rosbags`, and with this package."""
    module = importlib.import_module(name.replace('backports.zstd', _zstd()))
    kind = 'lz4' if name.startswith('lz4') else 'zstd'
    codec.cache_clear()
    monkeypatch.setitem(compression._MODULES, kind, (module.__name__,))
    file = McapFile(tmp_path / 'x_0.mcap', 'test', kind)
    channel = file.add_channel('/a', STRING, 'string data', {})
    file.add_chunk([message_record(channel, n, n, bytes(1000)) for n in range(1, 101)])
    file.close()
    assert file.size < 5000
    assert [each.time_ns for each in read_messages(tmp_path / 'x_0.mcap')] == list(range(1, 101))
    own = codec_of(module)
    data = own.compress(bytes(1 << 20))
    # a chunk with a small declared size and large content is not decompressed
    assert own.decompress(data, 100) == bytes(100)
    codec.cache_clear()
    with Reader(tmp_path / 'x_0.mcap') as reader:
        assert sum(1 for _ in reader.messages()) == 100


def _zstd() -> str:
    try:
        return importlib.import_module('compression.zstd').__name__
    except ImportError:
        return 'backports.zstd'


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    """Name the package to install, before a bag is created, and when one is read."""
    record(tmp_path / 'bag', record_compression='zstd')
    codec.cache_clear()
    monkeypatch.setitem(compression._MODULES, 'zstd', ('no_such_package',))
    with pytest.raises(MissingPackageError, match='pip install backports.zstd'):
        record(tmp_path / 'other', record_compression='zstd')
    assert not (tmp_path / 'other').exists()
    with pytest.raises(ReplayError, match=r"bag_0.mcap': compression 'zstd' needs a package"):
        list(read_messages(tmp_path / 'bag'))
    codec.cache_clear()


def test_files_end_by_duration(tmp_path):
    """Split like rosbag2, each file readable alone; list the files with counts; replay them."""
    last = record(tmp_path / 'bag', record_split_duration=0.04)
    assert set(sizes(tmp_path / 'bag')) == {'bag_0.mcap', 'bag_1.mcap', 'bag_2.mcap'}
    (content,) = yaml.safe_load((tmp_path / 'bag' / 'metadata.yaml').read_text()).values()
    assert content['version'] == 9
    assert content['relative_file_paths'] == [f'bag_{n}.mcap' for n in range(3)]
    total = 0
    for number, info in enumerate(content['files']):
        name = f'bag_{number}.mcap'
        own = list(read_messages(tmp_path / 'bag' / name))
        times = [each.time_ns for each in own]
        assert info == {
            'path': name,
            'message_count': len(own),
            'starting_time': {'nanoseconds_since_epoch': times[0]},
            'duration': {'nanoseconds': times[-1] - times[0]},
        }
        assert times[-1] - times[0] < 40 * MS
        total += len(own)
    assert content['message_count'] == total == examine(tmp_path / 'bag').messages
    recorded = read_bag(tmp_path / 'bag')
    assert len(messages_on(recorded, '/joint_states', JointState)) == 100
    by_topic = {
        each['topic_metadata']['name']: each for each in content['topics_with_message_count']
    }
    assert by_topic['/joint_states']['message_count'] == 100
    (qos,) = by_topic['/joint_states']['topic_metadata']['offered_qos_profiles']
    assert (qos['history'], qos['reliability'], qos['durability'], qos['liveliness']) == (
        'keep_last',
        'reliable',
        'volatile',
        'automatic',
    )
    described = by_topic['/joint_states']['topic_metadata']
    assert described['type_description_hash'].startswith('RIHS01')
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    assert verdict.state_hash == last
    # commands are taken from all files
    start = start_recording(tmp_path / 'again', commands=tmp_path / 'bag')
    assert start.run(0.1, no_progress) == last


@pytest.mark.parametrize('kind', ['', 'zstd'])
def test_files_end_by_size(tmp_path, kind):
    """Let no file grow far beyond the limit, including files with topics added later."""
    limit = 300_000
    made = Recorder(tmp_path / 'bag', Layout(kind, split_bytes=limit), waits=True)
    channels = [made.add_topic(Topic(f'/{n}', STRING, '', '')) for n in range(2)]
    random = Random(1)
    for number in range(1, 1501):
        if number == 900:
            channels.append(made.add_topic(Topic('/late', STRING, '', '')))
        made.write(channels[-1], number, number, random.randbytes(1000))
    made.close()
    assert made.error is None
    found = sizes(tmp_path / 'bag')
    assert len(found) >= 5
    # plus the summary and a last small chunk
    assert max(found.values()) < limit + 80_000
    assert made.byte_count <= sum(found.values())
    recorded = read_bag(tmp_path / 'bag')
    assert [each.time_ns for each in recorded] == list(range(1, 1501))
    assert sum(each.topic == '/late' for each in recorded) == 601


def test_times_since_1970_leave_a_replay_the_same(tmp_path):
    """Record with the time of day, in order; keep stamps, steps and bits."""
    before = time.time_ns()
    last = record(tmp_path / 'wall', record_epoch='wall')
    plain = record(tmp_path / 'plain')
    assert last == plain
    wall, simulated = (read_bag(tmp_path / name) for name in ('wall', 'plain'))
    offsets = {one.time_ns - other.time_ns for one, other in zip(wall, simulated, strict=True)}
    (offset,) = offsets
    assert before <= offset <= time.time_ns()
    assert [(each.topic, each.data) for each in wall] == [
        (each.topic, each.data) for each in simulated
    ]
    assert len(messages_on(wall, '/clock', Clock)) == 20
    verdict = replay(tmp_path / 'wall')
    assert verdict.is_same, verdict.difference
    assert verdict.ticks == 100
    # commands act at the same steps
    again = start_recording(tmp_path / 'again', commands=tmp_path / 'wall')
    assert again.run(0.1, no_progress) == last


def test_the_time_of_day_never_goes_back():
    """Never stamp a later message with an earlier time, even if a clock is set back."""
    given = iter([5, 7, 3, 8])
    stamp = WallTime(lambda: next(given))
    assert [stamp(1) for _ in range(4)] == [5, 7, 7, 8]


def test_topics_are_chosen_and_left_out(tmp_path):
    """Record included topics that are not excluded; report expressions without a topic."""
    chosen = Selection(['^/imu/', 'clock', 'nobody'], ['accel$', 'nothing'])
    topics = ['/imu/gyro', '/imu/accel', '/clock', '/joint_states']
    assert [each for each in topics if chosen.takes(each)] == ['/imu/gyro', '/clock']
    assert chosen.idle == ["record_topics 'nobody'", "record_exclude 'nothing'"]
    run = start_recording(
        tmp_path / 'bag', record_exclude=['joint_st', '/truth'], record_topics=['.']
    )
    assert run.warnings == ["record_exclude '/truth' matches no topic"]
    run.run(0.05, no_progress)
    found = {each.topic for each in read_bag(tmp_path / 'bag')}
    assert '/joint_states' not in found
    assert {'/clock', '/sim_bridge/setup', '/sim_bridge/state_hash'} <= found
    assert replay(tmp_path / 'bag').is_same
    with pytest.raises(InvalidValueError, match='record_exclude'):
        start_recording(tmp_path / 'other', record_exclude=['('])


def test_qos_has_the_names_of_version_9():
    """Name policies like rosbag2 in Jazzy."""
    (best_effort,) = yaml.safe_load(qos_to_yaml(qos_profile_sensor_data))
    assert best_effort['reliability'] == 'best_effort'
    assert best_effort['durability'] == 'volatile'
    (plain,) = yaml.safe_load(qos_to_yaml(QoSProfile(depth=3)))
    assert (plain['history'], plain['depth']) == ('keep_last', 3)
    assert plain['deadline'] == {'sec': 9223372036, 'nsec': 854775807}
