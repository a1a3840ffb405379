"""Bags from runs without a graph: their contents, and failed writes."""

from __future__ import annotations

import os
from pathlib import Path
import resource
import shlex
import signal
import subprocess
import sys
import threading
import time

from bags import messages_on, no_progress, read_bag, start_recording
from geometry_msgs.msg import WrenchStamped
import pytest
from rclpy.serialization import deserialize_message
from rosbags.rosbag2 import Reader
from rosbags.typesys import get_types_from_msg, get_typestore, Stores
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState, PointCloud2

from sim_bridge.cli.main import main
from sim_bridge.foundation.errors import InvalidValueError, RecordingError, UnknownNameError
from sim_bridge.ros.bag.bag_writer import Recorder
from sim_bridge.ros.bag.mcap_file import McapFile
from sim_bridge.ros.bag.metadata import Topic
from sim_bridge.ros.bag.replay import replay

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

MS = 1_000_000
PATIENCE_S = 280.0


def record(bag: Path, seconds: float = 0.1, **arguments: object) -> str:
    """Record a run; return its last state hash."""
    return start_recording(bag, **arguments).run(seconds, no_progress)


def nanoseconds(stamp: object) -> int:
    """Return a stamp in ns."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def until(condition: object, what: str) -> None:
    """Wait for an expected condition."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f'waited in vain for {what}'
        time.sleep(0.01)


def test_every_message_is_there_once_in_order_with_the_stamp_of_its_step(tmp_path):
    """Contain each topic's messages at its rate, recorded with their stamps."""
    record(tmp_path / 'bag', robot='arm', clock_rate=250.0, namespace='left')
    recorded = read_bag(tmp_path / 'bag')
    steps = [step * MS for step in range(1, 101)]
    for topic, kind in (('joint_states', JointState), ('imu/imu', Imu), ('imu/gyro', Imu)):
        messages = messages_on(recorded, f'/left/{topic}', kind)
        assert [nanoseconds(message.header.stamp) for message in messages] == steps
    clock = messages_on(recorded, '/clock', Clock)
    assert [nanoseconds(message.clock) for message in clock] == steps[3::4]
    kinds = {
        'joint_states': JointState,
        'wrench': WrenchStamped,
        'imu': Imu,
        'gyro': Imu,
        'accel': Imu,
        'contacts': PointCloud2,
    }
    stamped = [
        (kinds[name], each)
        for each in recorded
        if (name := each.topic.rsplit('/', 1)[-1]) in kinds
    ]
    assert {kind for kind, _ in stamped} == set(kinds.values())
    for kind, each in stamped:
        assert each.time_ns == nanoseconds(deserialize_message(each.data, kind).header.stamp)
    times = [each.time_ns for each in recorded]
    assert times == sorted(times)
    # in each step the clock comes last, except for unpublished topics
    of_step = [each.topic for each in recorded if each.time_ns == 4 * MS]
    assert of_step[0] == '/left/joint_states'
    assert of_step[-1] == '/clock'


def test_others_understand_the_messages(tmp_path):
    """Embed definitions that give a reader without ROS the same numbers, types and QoS."""
    record(tmp_path / 'bag', robot='arm')
    store = get_typestore(Stores.EMPTY)
    with Reader(tmp_path / 'bag') as reader:
        by_topic = {connection.topic: connection for connection in reader.connections}
        for connection in reader.connections:
            store.register(
                {
                    name: kind
                    for name, kind in get_types_from_msg(
                        connection.msgdef.data, connection.msgtype
                    ).items()
                    if name not in store.fielddefs
                }
            )
        states = by_topic['/joint_states']
        _, _, data = next(reader.messages(connections=[states]))
        theirs, ours = (
            store.deserialize_cdr(data, states.msgtype),
            deserialize_message(data, JointState),
        )
        assert theirs.name == ours.name
        assert theirs.effort.tolist() == list(ours.effort)
        assert states.digest == get_typestore(Stores.ROS2_JAZZY).hash_rihs01(states.msgtype)
        (qos,) = states.ext.offered_qos_profiles
        assert qos.reliability.name == 'RELIABLE'
        assert qos.durability.name == 'VOLATILE'
        (latched,) = by_topic['/robot_description'].ext.offered_qos_profiles
        assert latched.durability.name == 'TRANSIENT_LOCAL'
        assert reader.message_count == sum(1 for _ in reader.messages())
        assert states.msgcount == 100


def test_equal_runs_give_equal_bytes(tmp_path):
    """Write the same messages, padding included, in another process."""
    record(tmp_path / 'one', 0.05)
    subprocess.run(
        [
            sys.executable,
            '-m',
            'sim_bridge',
            'record',
            'double_pendulum',
            '-o',
            tmp_path / 'two',
            '--duration',
            '0.05',
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    assert read_bag(tmp_path / 'one') == read_bag(tmp_path / 'two')


def test_selected_topics_alone_are_recorded_and_replayed(tmp_path):
    """Keep matching topics, and the topics needed for a replay."""
    record(tmp_path / 'bag', record_topics=['joint_st', '^/clock$'])
    found = {each.topic for each in read_bag(tmp_path / 'bag')}
    assert found == {'/joint_states', '/clock', '/sim_bridge/setup', '/sim_bridge/state_hash'}
    assert replay(tmp_path / 'bag').is_same
    with pytest.raises(InvalidValueError, match='record_topics'):
        record(tmp_path / 'other', record_topics=['('])


def test_commands_of_a_table_act_at_their_steps(tmp_path):
    """Feed each row at the first step not before its time; record it there."""
    table = tmp_path / 'commands.csv'
    table.write_text('time,shoulder,elbow.effort\n0,1.5,\n0.0105,,2\n0.02,3,4\n')
    record(tmp_path / 'bag', commands=table)
    recorded = read_bag(tmp_path / 'bag')
    assert [each.time_ns for each in recorded if each.topic == '/joint_commands'] == [
        1,
        11 * MS,
        20 * MS,
    ]
    efforts = [list(m.effort) for m in messages_on(recorded, '/joint_states', JointState)]
    assert efforts[:11] == [[1.5, 0.0]] * 11
    assert efforts[11:20] == [[1.5, 2.0]] * 9
    assert efforts[20:] == [[3.0, 4.0]] * 80
    # a bag drives a robot exactly like the table it came from
    record(tmp_path / 'again', commands=tmp_path / 'bag')
    assert read_bag(tmp_path / 'again') == recorded


def test_the_readme_records_a_motion(repository, tmp_path, monkeypatch):
    """Record one second with README.md's command: the arm falls by more than half a radian."""
    text = (repository / 'README.md').read_text().replace('\\\n', ' ')
    (line,) = (line for line in text.splitlines() if line.startswith('sim_bridge record'))
    words = shlex.split(line)[1:]
    words[words.index('--duration') + 1] = '1.0'
    monkeypatch.chdir(tmp_path)
    assert main(words) == 0
    states = messages_on(read_bag(tmp_path / 'swing'), '/joint_states', JointState)
    elbow = [state.position[3] for state in states]
    assert max(elbow) - min(elbow) > 0.5


def test_commands_after_the_end_are_reported(tmp_path, capsys):
    """Report how many commands in a file came after the end of the run."""
    table = tmp_path / 'commands.csv'
    table.write_text('time,elbow\n0,1\n0.01,2\n0.02,3\n0.5,4\n')
    assert (
        main(
            [
                'record',
                'double_pendulum',
                '-o',
                str(tmp_path / 'bag'),
                '--duration',
                '0.02',
                '--commands',
                str(table),
            ]
        )
        == 0
    )
    assert '2 of 4 commands' in capsys.readouterr().out
    assert (
        main(
            [
                'record',
                'double_pendulum',
                '-o',
                str(tmp_path / 'whole'),
                '--duration',
                '0.6',
                '--commands',
                str(table),
            ]
        )
        == 0
    )
    assert 'of 4 commands' not in capsys.readouterr().out


def test_typed_parameters_must_be_known(tmp_path, capsys):
    """Refuse an unknown -p; a file causes only a warning."""
    words = ['record', 'pendulum', '-o', str(tmp_path / 'bag'), '--duration', '0.01', '-p']
    assert main([*words, 'gravty:=[0.0, 0.0, 0.0]']) == 2
    assert "unknown parameter 'gravty' in node 'sim_bridge'. Did you mean 'gravity'?" in (
        capsys.readouterr().err
    )
    assert main([*words, 'control.pivot:=velocity']) == 0


@pytest.mark.parametrize(
    ('text', 'error', 'said'),
    [
        ('', InvalidValueError, "'time' and a column"),
        ('elbow\n1\n', InvalidValueError, "'time' and a column"),
        ('time,elbwo.velocity\n0,1\n', UnknownNameError, "joint 'elbwo'.*Did you mean 'elbow'"),
        ('time,left/elbow\n0,1\n', UnknownNameError, "namespace 'left'"),
        ('time,elbow\n0,one\n', InvalidValueError, "line 2.*'one'|'one'.*line 2"),
        ('time,elbow\n1,1\n0,1\n', InvalidValueError, 'line 3.*times in order'),
        ('time,elbow\n0\n', InvalidValueError, 'line 2.*2 values'),
    ],
)
def test_a_wrong_table_is_refused(tmp_path, text, error, said):
    """Name the line or column and the expected value."""
    table = tmp_path / 'commands.csv'
    table.write_text(text)
    with pytest.raises(error, match=said):
        record(tmp_path / 'bag', commands=table)
    assert not (tmp_path / 'bag').exists()


def test_no_bag_is_overwritten(tmp_path):
    """Refuse an existing folder, and an impossible one."""
    (tmp_path / 'bag').mkdir()
    (tmp_path / 'file').write_text('')
    with pytest.raises(RecordingError, match='exists already'):
        Recorder(tmp_path / 'bag')
    with pytest.raises(RecordingError, match='Not a directory'):
        Recorder(tmp_path / 'file' / 'bag')


def test_a_killed_recording_is_whole_up_to_its_last_chunk(tmp_path, capsys):
    """SIGKILL: every reader finds a bag without a gap, and a replay gives the same."""
    bag = tmp_path / 'bag'
    process = subprocess.Popen(
        [sys.executable, '-m', 'sim_bridge', 'record', 'pendulum', '-o', bag, '--duration', '1e6'],
        stdout=subprocess.DEVNULL,
    )
    storage = bag / 'bag_0.mcap'
    until(lambda: storage.is_file() and storage.stat().st_size > 8_000_000, 'a few chunks')
    # a stopped process has finished its write; a killed one may not
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)
    process.kill()
    process.wait()
    recorded = read_bag(bag)
    stamps = [
        nanoseconds(m.header.stamp) for m in messages_on(recorded, '/joint_states', JointState)
    ]
    assert stamps == [step * MS for step in range(1, len(stamps) + 1)]
    assert len(recorded) > 2_000_000 / 600
    verdict = replay(bag)
    assert verdict.is_same
    assert verdict.ticks == len(stamps)
    assert "'bag_0.mcap' has no end: its recording was killed" in verdict.note
    assert main(['info', str(bag)]) == 1
    assert "warning: 'bag_0.mcap' has no end" in capsys.readouterr().out


def test_a_full_disk_ends_a_recording_and_keeps_its_messages(tmp_path):
    """Report it, with exit code 1; leave a readable and replayable bag."""
    bag, limit = tmp_path / 'bag', 700_000
    result = subprocess.run(
        [sys.executable, '-m', 'sim_bridge', 'record', 'pendulum', '-o', bag, '--duration', '60'],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert result.returncode == 1, result.stderr
    recorded = read_bag(bag)
    assert f"'{bag}': File too large; the bag is readable and holds {len(recorded)} messages" in (
        result.stderr
    )
    stamps = [
        nanoseconds(m.header.stamp) for m in messages_on(recorded, '/joint_states', JointState)
    ]
    assert stamps == [step * MS for step in range(1, len(stamps) + 1)]
    assert replay(bag).is_same


@pytest.fixture
def stuck_disk(monkeypatch):
    """Allow writing of chunks only while the returned event is set."""
    released, write = threading.Event(), McapFile.add_chunk

    def add_chunk(file, entries):
        released.wait(PATIENCE_S)
        write(file, entries)

    monkeypatch.setattr(McapFile, 'add_chunk', add_chunk)
    yield released
    released.set()


def test_a_slow_disk_ends_a_recording_without_delays(tmp_path, stuck_disk):
    """Never wait in `write`; report a full queue, and still write all accepted messages."""
    errors = []
    recorder = Recorder(tmp_path / 'bag', queue_bytes=100_000, on_error=errors.append)
    channel = recorder.add_topic(Topic('/a', 'std_msgs/msg/String', '', ''))
    for number in range(1, 1001):
        recorder.write(channel, number, number, bytes(1000))
    assert not recorder.is_open
    assert [error.reason for error in errors] == [recorder.error.reason]
    assert 'the disk does not keep up' in recorder.error.reason
    stuck_disk.set()
    recorder.close()
    times = [each.time_ns for each in read_bag(tmp_path / 'bag')]
    assert times == list(range(1, len(times) + 1))
    assert 90 < len(times) < 110


def test_a_run_without_deadlines_waits_for_a_slow_disk(tmp_path, stuck_disk):
    """Lose nothing in a run without real-time deadlines."""
    recorder = Recorder(tmp_path / 'bag', queue_bytes=50_000, waits=True)
    channel = recorder.add_topic(Topic('/a', 'std_msgs/msg/String', '', ''))
    threading.Timer(0.1, stuck_disk.set).start()
    for number in range(1, 101):
        recorder.write(channel, number, number, bytes(1000))
    recorder.close()
    assert recorder.error is None
    assert [each.time_ns for each in read_bag(tmp_path / 'bag')] == list(range(1, 101))
