"""Replays: the same bits from a bag, or the step of the first difference."""

from __future__ import annotations

from collections.abc import Callable
import json
from pathlib import Path
from types import SimpleNamespace

from bags import messages_on, no_progress, read_bag, Recorded, start_recording
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from rosbags.rosbag2 import Reader
from sensor_msgs.msg import JointState
from std_msgs.msg import String

import sim_bridge as sb
from sim_bridge.cli.main import main
from sim_bridge.foundation.errors import ReplayError
from sim_bridge.ros.bag.bag_writer import Recorder
from sim_bridge.ros.bag.metadata import Topic
from sim_bridge.ros.bag.replay import replay
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.services.entities import Entities
from sim_bridge.ros.session.spawn_request import prepare, SpawnRequest

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

MS = 1_000_000


def efforts(*values: float) -> bytes:
    """Serialize a command to the double pendulum."""
    return serialize_message(JointState(name=['shoulder', 'elbow'], effort=list(values)))


def record(bag: Path, steps: int = 200, **parameters: object) -> str:
    """
    Record a run with commands, control changes and resets between steps.

    Returns its last state hash.
    """
    run = start_recording(bag, record_hash_period=0.05, **parameters)
    simulator = run.simulator
    (interface,) = simulator.interfaces
    take = interface.command_topics[0].take
    for step in range(steps):
        if step % 7 == 3:
            take(efforts(0.1 * step, -0.05 * step))
            take(efforts(0.1 * step, 0.2))
        if step == 50:
            interface.commands.queue.set_control('elbow', 'servo', 20.0, 1.0)
        if step == 90:
            # never takes effect
            take(efforts(7.0, 7.0))
            simulator.reset(clock=False)
        if step == 120:
            simulator.reset(clock=True)
        if step == 150:
            simulator.publish_clock()
        simulator.tick()
    run.recording.close()
    return simulator.world.state_hash()


def rewrite(bag: Path, copy: Path, change: Callable[[int, Recorded], bytes | None]) -> None:
    """Rewrite a bag with each message replaced by `change`; None: left out."""
    recorder = Recorder(copy)
    with Reader(bag) as reader:
        channels = {
            c.topic: recorder.add_topic(Topic(c.topic, c.msgtype, c.digest, ''))
            for c in reader.connections
        }
    for number, each in enumerate(read_bag(bag)):
        data = change(number, each)
        if data is not None:
            recorder.write(channels[each.topic], number, each.time_ns, data)
    recorder.close()


def test_a_replay_gives_the_same_bits(tmp_path):
    """Match every message and state hash, through commands, controls, noise and resets."""
    noisy = {'type': 'imu', 'link': 'lower_rod', 'noise': {'angular_velocity': {'stddev': 0.1}}}
    last = record(tmp_path / 'bag', sensors={'imu': noisy}, seed=5)
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    assert verdict.state_hash == last
    assert verdict.ticks == 200
    assert verdict.hashes == 5
    assert verdict.commands == 2 * 29 + 1 + 3
    states = messages_on(read_bag(tmp_path / 'bag'), '/joint_states', JointState)
    assert len({tuple(state.position) for state in states}) > 150


def test_a_replay_of_servos_gives_the_same_bits(tmp_path):
    """Match messages and hashes while targets move, jump, and continue after a restored state."""
    run = start_recording(
        tmp_path / 'bag',
        record_hash_period=0.005,
        sensors={'imu': {'type': 'imu', 'link': 'lower_rod'}},
    )
    simulator, saved = run.simulator, {}
    (interface,) = simulator.interfaces
    between = {
        0: lambda: [
            interface.commands.queue.set_control(name, 'servo', 50.0, 2.0)
            for name in ('shoulder', 'elbow')
        ],
        43: lambda: saved.update(a=simulator.save()),
        70: lambda: simulator.restore(saved['a'], clock=False),
        90: lambda: simulator.reset(clock=False),
    }
    for step in range(120):
        between.get(step, bool)()
        # every step, then every third one
        if step < 30 or step % 3 == 0:
            interface.command_topics[0].take(
                serialize_message(
                    JointState(
                        name=['shoulder', 'elbow'],
                        position=[0.01 * step, -0.02 * step],
                        velocity=[10.0, -20.0],
                    )
                )
            )
        simulator.tick()
    run.recording.close()
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    assert verdict.state_hash == simulator.world.state_hash()
    assert verdict.hashes == 25
    states = messages_on(read_bag(tmp_path / 'bag'), '/joint_states', JointState)
    assert len({tuple(state.position) for state in states}) > 100


def test_a_replay_repeats_all_actions_between_steps(tmp_path):
    """Take snapshots, move, delete and reset like the run, whatever /clock does."""
    run = start_recording(tmp_path / 'bag', record_hash_period=0.005)
    simulator, saved = run.simulator, {}
    take = simulator.interfaces[0].command_topics[0].take
    between = {
        20: lambda: saved.update(a=simulator.save()),
        40: lambda: simulator.restore(saved['a'], clock=False),
        60: lambda: simulator.restore(saved['a'], clock=True),
        70: lambda: simulator.move('double_pendulum', ((0.0, 0.0, 1.0), (0.6, 0.0, 0.0, 0.8))),
        71: simulator.publish_state,
        75: simulator.complete_state,
        80: lambda: simulator.reset(clock=True, state=False),
        90: lambda: simulator.remove('double_pendulum'),
        91: simulator.publish_state,
    }
    for step in range(100):
        if step % 7 == 3 and step < 90:
            take(efforts(0.1 * step, -0.05 * step))
        between.get(step, bool)()
        simulator.tick()
    run.recording.close()
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    assert verdict.state_hash == simulator.world.state_hash()
    assert verdict.ticks == 100
    assert verdict.commands == 13 + len(between)


def test_a_replay_switches_settings_when_the_run_did(tmp_path):
    """Match messages and hashes while solver, integrator, sleep and gravity change."""
    run = start_recording(tmp_path / 'bag', record_hash_period=0.005)
    simulator, saved = run.simulator, {}
    between = {
        20: lambda: simulator.configure({'integrator': 'rk5', 'gravity': [0.0, 1.0, -3.0]}),
        40: lambda: saved.update(a=simulator.save()),
        50: lambda: simulator.configure({'solver': 'iterative', 'sleep': True}),
        70: lambda: simulator.restore(saved['a'], clock=False),
    }
    for step in range(100):
        between.get(step, bool)()
        simulator.tick()
    world = simulator.world
    assert (world.integrator, world.solver, world.sleep) == ('rk5', 'direct', None)
    run.recording.close()
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    assert verdict.state_hash == world.state_hash()
    assert verdict.commands == len(between)


def test_a_replay_repeats_spawns(tmp_path):
    """Add robots and objects with topics and commands at the same steps, and delete them."""
    run = start_recording(
        tmp_path / 'bag', record_hash_period=0.005, collisions='none', namespace='lab'
    )
    simulator, parameters = run.simulator, SimulatorParameters(collisions='none')
    # the node's own object, here on one thread
    entities = Entities(
        simulator,
        SimpleNamespace(add=lambda one: None, remove=lambda one: None),
        None,
        SimpleNamespace(call=lambda function: function()),
        parameters,
        None,
    )
    box = (Path(__file__).parents[3] / 'urdf' / 'floating_box.urdf').read_text()

    def spawn(*given, **more) -> None:
        request = SpawnRequest(*given, **more)
        assert entities._admit(request, prepare(request, parameters, [])) == request.name

    between = {
        10: lambda: spawn(
            'double_pendulum',
            'guest',
            position=(0.1, 2.0, 1 / 3),
            orientation=(0.3, 0.1, -0.2, 0.9),
        ),
        20: lambda: spawn(box.split('<gazebo')[0] + '</robot>', 'crate', frame='guest'),
        50: lambda: simulator.remove('guest'),
        60: lambda: spawn('pendulum', 'guest', namespace='other'),
    }
    for step in range(80):
        between.get(step, bool)()
        guest = next((one for one in simulator.interfaces if one.robot.name == 'guest'), None)
        if guest is not None and step % 7 == 3:
            name = guest.robot.joint_names[0]
            guest.command_topics[0].take(
                serialize_message(JointState(name=[name], effort=[0.1 * step]))
            )
        simulator.tick()
    run.recording.close()
    recorded = [each.topic for each in read_bag(tmp_path / 'bag')]
    assert recorded.count('/lab/guest/joint_states') == 40
    assert recorded.count('/lab/other/joint_states') == 20
    assert recorded.count('/lab/guest/joint_commands') == 6
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    assert verdict.state_hash == simulator.world.state_hash()
    assert verdict.messages > 80 + 60


def test_a_replay_finds_the_meshes_of_a_description(tmp_path, example_robots):
    """Replay a robot whose description has mesh names resolved only by the recording."""
    urdf = example_robots['ur/ur5_robot']
    assert 'package://' in urdf.read_text()
    start_recording(tmp_path / 'bag', robot=str(urdf), collisions='none').run(0.01, no_progress)
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    assert verdict.ticks == 10


def test_a_replay_ends_where_a_program_added_something(tmp_path):
    """Name the step, and an alternative."""
    run = start_recording(tmp_path / 'bag')
    run.simulator.tick()
    ball = run.simulator.world.add_body(sb.Sphere(0.1), 'ball')
    run.simulator.add(ball, None)
    run.simulator.tick()
    run.recording.close()
    with pytest.raises(ReplayError, match="after step 1 'ball' was added by a program"):
        replay(tmp_path / 'bag')


def test_time_goes_on_in_a_bag_when_the_clock_is_reset(tmp_path):
    """Keep messages in order while stamps restart; record no message twice."""
    record(tmp_path / 'bag')
    recorded = [each for each in read_bag(tmp_path / 'bag') if each.topic == '/joint_states']
    # a reset publishes its result and takes a step on /clock, unless /clock returns to 0
    assert [each.time_ns // MS for each in recorded] == [*range(1, 122), *range(121, 202)]
    stamps = [
        message.header.stamp.nanosec // MS
        for message in messages_on(recorded, '/joint_states', JointState)
    ]
    assert stamps == [*range(1, 122), *range(81)]
    clock = [each for each in read_bag(tmp_path / 'bag') if each.topic == '/clock']
    assert len(clock) == 120 // 5 + 1 + 1 + 80 // 5


def test_a_changed_command_is_found_at_its_step(tmp_path, capsys):
    """Name the first step with a different outcome: the one after the command."""
    record(tmp_path / 'bag', 100)

    def change(number: int, each: Recorded) -> bytes:
        is_it = each.topic == '/joint_commands' and each.time_ns == 45 * MS
        return efforts(3.0, 1.0) if is_it else each.data

    rewrite(tmp_path / 'bag', tmp_path / 'tampered', change)
    assert main(['replay', str(tmp_path / 'tampered')]) == 1
    said = capsys.readouterr().out
    assert (
        'different from control step 46 (0.046 s): /joint_states has a different message' in said
    )
    assert main(['replay', str(tmp_path / 'bag')]) == 0
    assert capsys.readouterr().out.endswith('the same\n')


def test_a_changed_or_missing_message_is_found(tmp_path):
    """Name topic and step of a published message that is changed or missing in the bag."""
    record(tmp_path / 'bag', 100)
    (at,) = (
        number
        for number, each in enumerate(read_bag(tmp_path / 'bag'))
        if each.topic == '/joint_states' and each.time_ns == 30 * MS
    )

    def flip(number: int, each: Recorded) -> bytes:
        return each.data[:-1] + bytes([each.data[-1] ^ 1]) if number == at else each.data

    rewrite(tmp_path / 'bag', tmp_path / 'changed', flip)
    verdict = replay(tmp_path / 'changed')
    assert verdict.difference == (
        'control step 30 (0.03 s): /joint_states has a different message'
    )

    def leave_out(number: int, each: Recorded) -> bytes | None:
        return None if number == at else each.data

    rewrite(tmp_path / 'bag', tmp_path / 'shorter', leave_out)
    assert 'control step 30 (0.03 s)' in replay(tmp_path / 'shorter').difference


def test_a_changed_state_hash_is_found(tmp_path):
    """Name the step with another state than recorded."""
    record(tmp_path / 'bag', 100)

    def change(number: int, each: Recorded) -> bytes:
        if each.topic == '/sim_bridge/state_hash' and each.time_ns == 50 * MS:
            return serialize_message(String(data='{"step": 50, "hash": "0000"}'))
        return each.data

    rewrite(tmp_path / 'bag', tmp_path / 'tampered', change)
    verdict = replay(tmp_path / 'tampered')
    assert verdict.difference.startswith('control step 50 (0.05 s): the state hash is ')
    assert verdict.hashes == 1


def test_hashes_of_another_kind_are_not_compared(tmp_path, capsys):
    """Compare the messages in a bag of another version; report why its hashes are not compared."""
    record(tmp_path / 'bag', 60)

    def change(number: int, each: Recorded) -> bytes:
        if each.topic == '/sim_bridge/state_hash':
            return serialize_message(String(data='{"step": 50, "hash": "0000"}'))
        if each.topic == '/sim_bridge/setup':
            setup = json.loads(deserialize_message(each.data, String).data)
            del setup['hash_version']
            return serialize_message(String(data=json.dumps(setup)))
        return each.data

    rewrite(tmp_path / 'bag', tmp_path / 'older', change)
    assert main(['replay', str(tmp_path / 'older')]) == 0
    said = capsys.readouterr().out
    assert 'warning: state hashes are not compared: the bag, made by version' in said
    assert ', 0 state hashes' in said


def test_a_bag_without_a_recording_is_refused(tmp_path, capsys):
    """Name the missing topic; end with 2."""
    recorder = Recorder(tmp_path / 'bag')
    recorder.write(recorder.add_topic(Topic('/a', 'std_msgs/msg/String', '', '')), 0, 1, b'')
    recorder.close()
    with pytest.raises(ReplayError, match='no topic …/sim_bridge/setup'):
        replay(tmp_path / 'bag')
    assert main(['replay', str(tmp_path / 'bag')]) == 2
    assert 'contains no recording' in capsys.readouterr().err


def test_a_changed_world_is_refused(tmp_path):
    """Name the changed scene file; take the robot's description from the bag."""
    scene, robot = tmp_path / 'scene.yaml', tmp_path / 'mine.urdf'
    scene.write_text('world: {objects: {ball: {sphere: 0.1, mass: 1.0, position: [0, 0, 1]}}}\n')
    robot.write_text((Path(__file__).parents[3] / 'urdf' / 'pendulum.urdf').read_text())
    start_recording(tmp_path / 'bag', world=str(scene), robot=str(robot)).run(0.05, no_progress)
    robot.write_text('gone')
    assert replay(tmp_path / 'bag').is_same
    scene.write_text(scene.read_text().replace('1.0', '2.0'))
    with pytest.raises(ReplayError, match=r'scene\.yaml'):
        replay(tmp_path / 'bag')
