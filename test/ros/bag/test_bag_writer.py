"""The recorder's thread: writing times, cost, and stalled disks."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
import shutil
import signal
import threading
import time
from types import SimpleNamespace

from bags import read_bag
import pytest
from rclpy.qos import QoSProfile
from std_msgs.msg import String

from sim_bridge.ros.bag import bag_writer, mcap_file
from sim_bridge.ros.bag.bag_files import Layout
from sim_bridge.ros.bag.bag_sink import BagSink
from sim_bridge.ros.bag.bag_writer import chunk_limits, Recorder
from sim_bridge.ros.bag.mcap_file import McapFile, message_record
from sim_bridge.ros.bag.metadata import Topic
from sim_bridge.ros.bag.reader import examine

NANO = 1_000_000_000
PATIENCE_S = 100.0
STRING = 'std_msgs/msg/String'

# an arm at 1 kHz: joint states, a wrench, three IMU topics, /clock
ARM_TOPICS, ARM_RATE = 6, 2_100_000.0


def test_the_summaries_of_a_day_cost_no_more_than_its_messages(tmp_path):
    """In every minute, write no more summary bytes than message bytes, and a chunk every 4 s."""
    file = McapFile(tmp_path / 'x.mcap', 'test')
    channels = [file.add_channel(f'/{n}', STRING, 'string data', {}) for n in range(ARM_TOPICS)]
    sizes = []
    for _ in range(2):
        file.add_chunk([message_record(channel, 0, 1, b'') for channel in channels])
        sizes.append(file.summary_size)
    file.close()
    entry = sizes[1] - sizes[0]
    assert entry > 50
    now = summaries = messages = 0.0
    summary = sizes[0]
    until = 60.0
    while now < 86_400.0:
        period, most = chunk_limits(summary)
        period = min(period, most / ARM_RATE)
        assert 0.0 < period <= 4.0
        now += period
        summary += entry
        summaries += summary
        messages += period * ARM_RATE
        if now > until:
            assert summaries <= 1.05 * messages
            summaries, messages, until = 0.0, 0.0, now + 60.0
    assert now - 86_400.0 < 4.0


@pytest.mark.parametrize(('summary', 'period'), [(0, 0.5), (4 << 20, 2.0), (100 << 20, 4.0)])
def test_messages_wait_as_long_as_the_summary_is_large(tmp_path, monkeypatch, summary, period):
    """Write seldom enough for a cheap summary of this size, with no message older than 4 s."""
    times, done = [], threading.Event()
    clock = SimpleNamespace(now=0.0, taken=0)

    def sleep(seconds: float) -> None:
        """Advance simulated time and add a message."""
        clock.now += seconds
        if clock.now < 60.0:
            clock.taken += 1
            made.write(1, clock.taken, clock.taken, b'')
        else:
            done.set()
            threading.Event().wait(seconds)

    def add_chunk(file: McapFile, entries: list) -> None:
        if entries:
            times.append(clock.now)
        write(file, entries)

    write = McapFile.add_chunk
    monkeypatch.setattr(McapFile, 'add_chunk', add_chunk)
    monkeypatch.setattr(
        McapFile,
        'summary_size',
        property(lambda file: summary, lambda file, value: None),
        raising=False,
    )
    ready = threading.Event()
    monkeypatch.setattr(
        bag_writer,
        'time',
        SimpleNamespace(
            monotonic=lambda: clock.now, sleep=lambda s: ready.wait(PATIENCE_S) and sleep(s)
        ),
    )
    made = Recorder(tmp_path / 'bag')
    made.add_topic(Topic('/a', STRING, '', ''))
    ready.set()
    assert done.wait(PATIENCE_S)
    made.close()
    assert made.error is None
    # the first few are smaller
    waits = [after - before for before, after in zip(times[4:-2], times[5:-1], strict=True)]
    assert waits == pytest.approx([period] * len(waits), abs=0.05)
    assert len(read_bag(tmp_path / 'bag')) == clock.taken


class Disk:
    """A disk that stalls from `stop` to `awake`. waits: set while a writer waits."""

    def __init__(self) -> None:
        self._awake, self.waits = threading.Event(), threading.Event()
        self._write = os.pwritev
        self.awake()

    def stop(self) -> None:
        """Block all writes."""
        self._awake.clear()

    def awake(self) -> None:
        """Resume writing."""
        self._awake.set()

    @property
    def is_awake(self) -> bool:
        """Whether the disk writes, possibly after a wait that was too long."""
        return self._awake.is_set()

    def write(self, *arguments: object) -> int:
        """Write once awake."""
        if not self.is_awake:
            self.waits.set()
            self._awake.wait(PATIENCE_S)
            self.awake()
        return self._write(*arguments)


@pytest.fixture
def disk(monkeypatch):
    """Provide the disk for all bags."""
    made = Disk()
    monkeypatch.setattr(mcap_file.os, 'pwritev', made.write)
    yield made
    made.awake()


def stuck_recording(bag, disk: Disk, **arguments: object) -> tuple[Recorder, object]:
    """Start a recording whose thread waits for the disk; return it with an outlet."""
    made = Recorder(bag, **arguments)
    outlet = BagSink(made).open('/a', String, QoSProfile(depth=1))
    disk.stop()
    outlet.publish(b'first')
    assert disk.waits.wait(PATIENCE_S)
    return made, outlet


def test_topics_are_opened_while_the_disk_is_stuck(tmp_path, disk):
    """Spawn a robot without waiting for the disk; number and keep all topics in order."""
    made, outlet = stuck_recording(tmp_path / 'bag', disk)
    sink = BagSink(made)
    others = [sink.open(f'/other_{number}', String, QoSProfile(depth=1)) for number in range(3)]
    for other in [*others[::-1], outlet]:
        other.publish(other.topic.encode())
    assert not disk.is_awake
    disk.awake()
    made.close()
    assert made.error is None
    assert [(each.topic, each.data) for each in read_bag(tmp_path / 'bag')] == [
        ('/a', b'first'),
        ('/other_2', b'/other_2'),
        ('/other_1', b'/other_1'),
        ('/other_0', b'/other_0'),
        ('/a', b'/a'),
    ]


@pytest.mark.parametrize('waits', [False, True])
def test_a_stuck_disk_holds_up_no_end(tmp_path, disk, waits):
    """End after a while, with the number of lost messages; write them if the disk recovers."""
    errors = []
    made, outlet = stuck_recording(
        tmp_path / 'bag', disk, close_s=0.1, waits=waits, on_error=errors.append
    )
    for _ in range(9):
        outlet.publish(b'later')
    made.close()
    assert not disk.is_awake
    assert errors == [made.error]
    assert ': 10 messages lost, unless' in str(made.error)
    assert 'readable' not in str(made.error)
    disk.awake()
    made.close()
    assert len(read_bag(tmp_path / 'bag')) == 10


def test_an_unneeded_bag_on_a_stalled_disk_is_kept(tmp_path, disk):
    """Do not wait for the disk to delete the bag."""
    made, _ = stuck_recording(tmp_path / 'bag', disk, close_s=0.1)
    made.discard()
    assert not disk.is_awake
    assert (tmp_path / 'bag').exists()
    disk.awake()
    made.discard()
    assert not (tmp_path / 'bag').exists()


def test_a_forked_child_leaves_the_bag_to_its_parent(tmp_path):
    """Write, close and discard in a child: the parent records on, and alone."""
    recorder = Recorder(tmp_path / 'bag', waits=True, queue_bytes=10_000)
    channel = recorder.add_topic(Topic('/a', STRING, '', ''))
    recorder.write(channel, 1, 1, bytes(100))
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            for number in range(200):
                recorder.write(channel, number, number, bytes(100))
            recorder.discard()
            os._exit(0 if 'before its fork' in str(recorder.error) else 2)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    recorder.write(channel, 2, 2, bytes(100))
    recorder.close()
    assert recorder.error is None
    assert [each.time_ns for each in read_bag(tmp_path / 'bag')] == [1, 2]


def wait_until(condition):
    """Wait for the recorder's thread."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def remove(path):
    """Remove a bag, whose writer may rename a file meanwhile."""
    while path.parent.exists():
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(path.parent)


def truncate(path):
    """Empty a file."""
    path.write_bytes(b'')


def extend(path):
    """Append to a file."""
    with path.open('ab') as file:
        file.write(b'x')


def replace(path):
    """Put another file in its place."""
    path.rename(path.with_suffix('.moved'))
    path.write_bytes(b'other')


CHANGES = {remove: 'removed or moved', truncate: 'changed', extend: 'changed', replace: 'changed'}


@pytest.mark.parametrize('change', CHANGES, ids=lambda each: each.__name__)
@pytest.mark.parametrize('is_last', [False, True], ids=['between writes', 'after the last write'])
def test_a_file_changed_by_another_program_ends_the_recording(tmp_path, change, is_last):
    """Name the change, count no messages in the bag, and leave the file alone."""
    recorder = Recorder(tmp_path / 'bag', waits=True)
    channel = recorder.add_topic(Topic('/a', STRING, '', ''))
    path = tmp_path / 'bag' / 'bag_0.mcap'
    recorder.write(channel, 1, 1, bytes(100))
    wait_until(lambda: recorder.message_count == 1)
    change(path)
    found = path.read_bytes() if path.exists() else None
    if not is_last:
        recorder.write(channel, 2, 2, bytes(100))
        wait_until(lambda: not recorder.is_open)
    recorder.close()
    said = str(recorder.error)
    assert f'another program {CHANGES[change]} bag_0.mcap' in said and 'readable' not in said
    assert (path.read_bytes() if path.exists() else None) == found
    recorder.discard()


def split_recording(folder: Path) -> tuple[Recorder, int]:
    """Return the recorder of a bag split into files, with 199 messages, and its channel."""
    recorder = Recorder(folder, Layout(split_bytes=2000), waits=True)
    channel = recorder.add_topic(Topic('/a', STRING, '', ''))
    for number in range(1, 200):
        recorder.write(channel, number, number, bytes(1000))
    wait_until(lambda: recorder.message_count == 199)
    return recorder, channel


def test_the_end_of_a_recording_is_marked(tmp_path):
    """Say whether a recording ended; say nothing about other bags."""
    recorder, _ = split_recording(tmp_path / 'bag')
    assert 'has no end' in examine(tmp_path / 'bag').note
    recorder.close()
    found = examine(tmp_path / 'bag')
    assert (found.messages, found.damage, found.note) == (199, None, '')
    last = sorted((tmp_path / 'bag').glob('*.mcap'), key=lambda path: path.stat().st_mtime_ns)[-1]
    assert examine(last).note == ''
    McapFile(tmp_path / 'other.mcap', 'test').close()
    assert examine(tmp_path / 'other.mcap').note == ''


def test_an_ended_file_is_watched_too(tmp_path):
    """Record on if an earlier file in a split bag is moved away, and report it in the end."""
    recorder, channel = split_recording(tmp_path / 'bag')
    assert (tmp_path / 'bag' / 'bag_1.mcap').exists()
    (tmp_path / 'bag' / 'bag_0.mcap').unlink()
    recorder.write(channel, 200, 200, bytes(1000))
    wait_until(lambda: recorder.message_count == 200)
    recorder.close()
    assert 'another program removed or moved bag_0.mcap' in str(recorder.error)
