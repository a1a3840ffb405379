"""The MCAP container: complete at every moment, whatever happens to the writer."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from rosbags.rosbag2.storage_mcap import McapReader

from sim_bridge.foundation.errors import DamagedBagError, ReplayError
from sim_bridge.ros.bag import mcap_file
from sim_bridge.ros.bag.mcap_file import McapFile, message_record
from sim_bridge.ros.bag.reader import read_messages

MS = 1_000_000


@pytest.fixture
def file(tmp_path):
    """Provide a file with one channel."""
    made = McapFile(tmp_path / 'x.mcap', 'test')
    made.add_channel('/a', 'std_msgs/msg/String', 'string data', {'key': 'value'})
    yield made
    made.close()


def read(path: Path) -> list[tuple[str, int, bytes]]:
    """Read a file with `rosbags`, by its indexes; check that this package's reader agrees."""
    reader = McapReader(path)
    reader.open()
    found = [(c.topic, time, bytes(data)) for c, time, data in reader.messages(reader.connections)]
    reader.close()
    ours = [(each.topic, each.time_ns, each.data) for each in read_messages(path)]
    assert sorted(found, key=lambda each: each[1]) == sorted(ours, key=lambda each: each[1])
    return ours


def test_the_file_is_whole_after_every_chunk(file, tmp_path):
    """Let an independent reader find all messages, each time, on topics old and new."""
    path, expected = tmp_path / 'x.mcap', []
    assert read(path) == expected
    other = None
    for number in range(4):
        if number == 2:
            other = file.add_channel('/b', 'std_msgs/msg/String', 'string data', {})
        entries = [
            (other if other and n % 2 else 1, n, (10 * number + n) * MS, bytes([n]))
            for n in range(3)
        ]
        file.add_chunk([message_record(*entry) for entry in entries])
        expected += [('/b' if c == other else '/a', time, data) for c, _, time, data in entries]
        assert read(path) == expected
    assert file.counts == [10, 2]
    assert file.message_count == len(expected)


def test_large_chunks_are_indexed(file, tmp_path):
    """Find every message of a chunk joined from portions, on topics old and new."""
    other = file.add_channel('/b', 'std_msgs/msg/String', 'string data', {})
    entries = [
        (other if n % 3 else 1, n, (n + 1) * MS, bytes([n % 256]) * (n % 50)) for n in range(2500)
    ]
    file.add_chunk([message_record(*entry) for entry in entries])
    assert read(tmp_path / 'x.mcap') == [
        ('/b' if channel == other else '/a', time, data) for channel, _, time, data in entries
    ]


def test_a_failed_write_leaves_the_file_unchanged(file, tmp_path, monkeypatch):
    """Keep the file unchanged when the disk is full midway; go on when there is room again."""
    path = tmp_path / 'x.mcap'
    file.add_chunk([message_record(1, 0, MS, b'first')])
    before = read(path)
    write, steps = os.pwritev, ['full', 'in part']

    def write_in_part(descriptor, pieces, place):
        step = steps.pop() if steps else ''
        if step == 'full':
            raise OSError(errno.ENOSPC, 'No space left on device')
        data = b''.join(pieces)
        return write(descriptor, [data[: len(data) // 2 if step else None]], place)

    monkeypatch.setattr(mcap_file.os, 'pwritev', write_in_part)
    with pytest.raises(OSError, match='No space left'):
        file.add_chunk([message_record(1, 1, 2 * MS, b'lost')])
    assert read(path) == before
    assert file.message_count == 1
    file.add_chunk([message_record(1, 1, 3 * MS, b'second')])
    assert read(path) == [*before, ('/a', 3 * MS, b'second')]


@pytest.mark.parametrize('share', [0.3, 0.6, 0.95])
def test_a_truncated_file_is_read_up_to_its_end(file, tmp_path, share):
    """Return the complete chunks of a truncated file, then report its end."""
    entries = [(1, number, number * MS, os.urandom(500)) for number in range(1, 21)]
    for entry in entries:
        file.add_chunk([message_record(*entry)])
    path = tmp_path / 'x.mcap'
    data = path.read_bytes()
    path.write_bytes(data[: int(share * 20 * 560)])
    found = []
    messages = read_messages(path)
    end = path.stat().st_size
    with pytest.raises(DamagedBagError, match=f'truncated at byte {end}, ') as said:
        found.extend((each.time_ns, each.data) for each in messages)
    assert f'the {len(found)} messages before it can be read' in str(said.value)
    assert 3 < len(found) < 20
    assert found == [(time, data) for _, _, time, data in entries[: len(found)]]


def test_other_files_are_refused(tmp_path):
    """Name the expected and the actual contents."""
    with pytest.raises(ReplayError, match='nothing. does not exist'):
        list(read_messages(tmp_path / 'nothing'))
    with pytest.raises(ReplayError, match=r'expected a folder with \.mcap files'):
        list(read_messages(tmp_path))
    (tmp_path / 'bag_0.db3').write_bytes(b'SQLite')
    with pytest.raises(ReplayError, match=r'\.db3; `ros2 bag convert`'):
        list(read_messages(tmp_path))
    text = tmp_path / 'text.mcap'
    text.write_text('hello')
    with pytest.raises(ReplayError, match='not an MCAP file'):
        list(read_messages(text))
