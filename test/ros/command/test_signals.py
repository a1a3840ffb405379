"""Signals of OpenPLX scenes on the graph: inputs as commands, outputs as messages."""

from __future__ import annotations

import math

from bags import messages_on, read_bag, start_recording
from diagnostic_msgs.msg import DiagnosticArray
from following import simulator
from geometry_msgs.msg import Vector3, Vector3Stamped
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from ros_graph import nanoseconds
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64, Float64MultiArray
from std_srvs.srv import Trigger

import sim_bridge as sb
from sim_bridge.description import find_robot
from sim_bridge.ros.bag.replay import replay
from sim_bridge.ros.publish.signals import signal_topics
from sim_bridge.ros.wire.messages import FlagMessage

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

# a wheel on a hinge, its motor turning from the start, and a ball in flight
SCENE = """
Scene is Physics3D.System:
    wheel is Physics3D.Bodies.RigidBody:
        shape is Physics3D.Geometries.Cylinder:
            radius: 0.2
            height: 0.05
        hub is Physics3D.Interactions.MateConnector:
            main_axis: Math.Vec3.Y_AXIS()
    axle is Physics3D.Interactions.MateConnector:
        main_axis: Math.Vec3.Y_AXIS()
    hinge is Physics3D.Interactions.Hinge:
        connectors: [axle, wheel.hub]
        angular_velocity_output.enabled: true
        force_output.enabled: true
    motor is Physics3D.Interactions.RotationalVelocityMotor:
        connectors: hinge.connectors
        target_speed: 2
        torque_range_output.enabled: true
    ball is Physics3D.Bodies.RigidBody:
        kinematics.local_transform.position.x: 5
        inertia.mass: 1
        linear_velocity_world_output.enabled: true
"""
ENABLE = 'inputs/motor/enable_interaction_input'
SPEED, LIMITS, THROW = (
    'inputs/motor/target_angular_velocity_input',
    'inputs/motor/torque_range_input',
    'inputs/ball/linear_velocity_world_input',
)
TURNING, TORQUES, FORCE, FLIGHT = (
    'outputs/hinge/angular_velocity_output',
    'outputs/motor/torque_range_output',
    'outputs/hinge/force_output',
    'outputs/ball/linear_velocity_world_output',
)


@pytest.fixture
def file(tmp_path):
    """Return a scene file."""
    path = tmp_path / 'scene.openplx'
    path.write_text(SCENE, encoding='utf-8')
    return str(path)


def send(made, topic, message):
    """Send a message to the scene, like the graph."""
    (take,) = [
        each.take for one in made.interfaces for each in one.command_topics if each.name == topic
    ]
    take(serialize_message(message))


def run(made, ticks):
    for _ in range(ticks):
        made.tick()


def turning(made):
    """Return the wheel's speed [rad/s]."""
    (scene,) = made.world.openplx.values()
    return scene.outputs['hinge/angular_velocity_output'].read()


def test_inputs_act_without_other_commands(file):
    """Turn from the start, then as commanded; a reset restores the speed in the file."""
    made = simulator(robot=file)
    counts = made.interfaces[-1].commands.counts
    run(made, 50)
    assert turning(made) == pytest.approx(2.0, abs=1e-6)
    send(made, SPEED, Float64(data=-1.5))
    run(made, 50)
    assert turning(made) == pytest.approx(-1.5, abs=1e-6)
    assert (counts.accepted, counts.rejected) == (1, 0)
    send(made, LIMITS, Float64MultiArray(data=[0.0, 0.0]))
    send(made, SPEED, Float64(data=5.0))
    run(made, 50)
    assert turning(made) == pytest.approx(-1.5, abs=1e-6)
    made.reset(clock=False)
    run(made, 50)
    assert turning(made) == pytest.approx(2.0, abs=1e-6)


def test_a_motor_is_disabled_by_a_flag(file):
    """Run without drive between a Bool of false and one of true; publish it as a Bool."""
    made = simulator(robot=file)
    run(made, 50)
    send(made, ENABLE, Bool(data=False))
    run(made, 1)
    send(made, SPEED, Float64(data=5.0))
    run(made, 50)
    assert turning(made) == pytest.approx(2.0, abs=1e-6)
    send(made, ENABLE, Bool(data=True))
    run(made, 50)
    assert turning(made) == pytest.approx(5.0, abs=1e-6)


def test_flags_are_messages():
    """Write true and false into the bytes of a Bool."""
    message = FlagMessage()
    for value in (True, False):
        message.blocks[0][:] = value
        assert deserialize_message(message.content(), Bool) == Bool(data=value)


@pytest.mark.parametrize(
    ('topic', 'message'),
    [
        (SPEED, Float64(data=math.nan)),
        (SPEED, Float64(data=math.inf)),
        (LIMITS, Float64MultiArray(data=[-1.0])),
        (LIMITS, Float64MultiArray(data=[1.0, 2.0])),
        (LIMITS, Float64MultiArray(data=[math.nan, 2.0])),
        (THROW, Vector3(x=1.0, y=math.nan)),
        (THROW, Float64(data=1.0)),
    ],
)
def test_wrong_values_are_refused_whole(file, topic, message):
    """Count the message, and go on without it."""
    made, other = simulator(robot=file), simulator(robot=file)
    counts = made.interfaces[0].commands.counts
    send(made, topic, message)
    for each in (made, other):
        run(each, 3)
    assert (counts.accepted, counts.rejected) == (0, 1)
    assert made.world.state_hash() == other.world.state_hash()


def test_a_reset_and_a_snapshot_drop_pending_inputs(file):
    """Earlier commands have no effect afterwards."""
    made = simulator(robot=file)
    ball = made.world.openplx['Scene'].link('ball')
    run(made, 5)
    snapshot, speed = made.save(), ball.v
    send(made, THROW, Vector3(x=7.0))
    made.restore(snapshot, clock=False)
    assert ball.v.tolist() == speed.tolist()
    send(made, THROW, Vector3(x=7.0))
    made.reset(clock=False)
    assert ball.v.tolist() == [0.0, 0.0, 0.0]


def test_scenes_have_signals_in_namespaces_of_their_names(tmp_path, file):
    """In a scene without joints, a body carries them."""
    (tmp_path / 'ball.openplx').write_text(
        f'Scene is Physics3D.System:\n    ball is{SCENE.partition("ball is")[2]}', encoding='utf-8'
    )
    world = tmp_path / 'world.yaml'
    world.write_text(
        'world: {openplx: {one: {file: ball.openplx}, two: {file: scene.openplx}}}\n',
        encoding='utf-8',
    )
    one, two = simulator(world=str(world)).interfaces
    assert f'one/{FLIGHT}' in one.topics
    assert f'one/{THROW}' in [each.name for each in one.command_topics]
    assert {f'two/{each}' for each in (TURNING, TORQUES, FORCE, FLIGHT)} <= set(two.topics)
    assert {f'two/{each}' for each in (SPEED, LIMITS, THROW)} <= {
        each.name for each in two.command_topics
    }


def test_lockstep_refuses_messages_without_a_stamp(file):
    """Name the topic with stamps."""
    made = simulator(robot=file, lockstep=['joint_commands'])
    send(made, SPEED, Float64(data=1.0))
    assert made.interfaces[0].commands.counts.rejected == 1


def test_robots_that_leave_take_their_signals_along(tmp_path):
    """Remove the robot that carries the signals in a scene with two robots."""
    two = 'Wheel is' + SCENE.partition('Scene is')[2].partition('    ball is')[0]
    (tmp_path / 'two.openplx').write_text(
        f'{two}Pair is Physics3D.System:\n    left is Wheel\n    right is Wheel:\n'
        '        axle.position.x: 1\n',
        encoding='utf-8',
    )
    made = simulator(robot=str(tmp_path / 'two.openplx'))
    run(made, 2)
    right = next(name for name in made.world.robots if name.endswith('right'))
    made.remove(right)
    send(made, SPEED.replace('motor', 'right/motor'), Float64(data=1.0))
    send(made, SPEED.replace('motor', 'left/motor'), Float64(data=1.0))
    run(made, 50)
    scene = made.world.openplx['Pair']
    assert scene.outputs['left/hinge/angular_velocity_output'].read() == pytest.approx(1.0)
    assert made.interfaces[0].commands.counts.rejected == 1


def test_a_recorded_run_is_replayed_to_the_bit(file, tmp_path):
    """Take inputs, resets and snapshots from the bag, and publish the same bytes."""
    recorded = start_recording(tmp_path / 'bag', robot=file, record_hash_period=0.05)
    made = recorded.simulator
    run(made, 20)
    send(made, SPEED, Float64(data=-1.5))
    send(made, THROW, Vector3(x=0.5, z=3.0))
    run(made, 20)
    snapshot = made.save()
    send(made, LIMITS, Float64MultiArray(data=[-0.5, 0.25]))
    run(made, 20)
    send(made, THROW, Vector3(x=7.0))
    made.restore(snapshot, clock=False)
    run(made, 10)
    made.reset(clock=False)
    run(made, 10)
    recorded.recording.close()
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    assert verdict.commands >= 3
    assert verdict.state_hash == made.world.state_hash()
    found = read_bag(tmp_path / 'bag')
    assert messages_on(found, f'/{TURNING}', Float64)[39].data == pytest.approx(-1.5, abs=1e-6)
    assert list(messages_on(found, f'/{TORQUES}', Float64MultiArray)[59].data) == [-0.5, 0.25]
    flight = messages_on(found, f'/{FLIGHT}', Vector3Stamped)
    assert flight[20].vector.x == 0.5
    states = messages_on(found, '/joint_states', JointState)
    assert [each.header.stamp for each in flight] == [each.header.stamp for each in states]
    assert {each.header.frame_id for each in flight} == {'world'}


def test_messages_have_the_values_of_the_outputs(tmp_path):
    """For joints in trees and in loops, through a reset and after a new array layout."""
    path = tmp_path / 'scene.openplx'
    path.write_text(
        find_robot('excavator')
        .read_text()
        .replace('        angle_output.enabled: true\n', '')
        .replace(
            'Interactions.Hinge:\n',
            'Interactions.Hinge:\n        angle_output.enabled: true\n'
            '        angular_velocity_output.enabled: true\n',
        )
    )
    recorded = start_recording(tmp_path / 'bag', robot=str(path))
    made, expected = recorded.simulator, {}
    (scene,) = made.world.openplx.values()
    sent = {name: each for name, each in scene.outputs.items() if each.signal.enabled}
    assert {
        type(axis.backend).__name__
        for axis in (
            scene.joint(each.signal.source).axes[0]
            for each in sent.values()
            if each.signal.model in ('Hinge', 'Prismatic')
        )
    } == {'TreeJointBackend', 'ConstraintJointBackend'}

    def tick(count):
        for _ in range(count):
            made.tick()
            for name, each in sent.items():
                expected.setdefault(name, []).append(each.read())

    send(made, 'inputs/signals/boom_speed', Float64(data=0.1))
    tick(20)
    made.reset(clock=False)
    for name, each in sent.items():
        expected[name].append(each.read())
    tick(5)
    made.add(made.world.add_copy(sb.World().load_urdf('pendulum'), 'pendulum'), None)
    tick(20)
    recorded.recording.close()
    found = read_bag(tmp_path / 'bag')
    for name, values in expected.items():
        heard = [each.data for each in messages_on(found, f'/outputs/{name}', Float64)]
        # loop-closing joints were measured before the step closed them up to rounding
        assert heard == pytest.approx(values, rel=1e-12, abs=1e-9), name
    lengths = expected['signals/boom_length']
    assert lengths[19] > lengths[0] + 1e-3


def test_inputs_become_outputs_on_the_graph(graph, start_node, file):
    """Command a speed and read it back, be refused, and reset."""
    start_node(robot=file, diagnostics_rate=20.0, command_timeout=0.0)
    speeds = graph.listen(Float64, f'/{TURNING}')
    forces = graph.listen(Vector3Stamped, f'/{FORCE}')
    states = graph.listen(JointState, '/joint_states')
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    command = graph.advertise(Float64, f'/{SPEED}')

    def moves_at(speed):
        graph.wait(lambda: speeds and abs(speeds[-1].data - speed) < 1e-6, f'a speed of {speed}')

    def refused():
        return [
            status.values
            for array in diagnostics[-1:]
            for status in array.status
            if any(
                each.key == 'rejected since start' and each.value == '1' for each in status.values
            )
        ]

    moves_at(2.0)
    command.publish(Float64(data=-0.75))
    moves_at(-0.75)
    command.publish(Float64(data=math.nan))
    graph.wait(refused, 'a rejected command')
    moves_at(-0.75)
    graph.wait(lambda: forces and states, 'forces and states')
    assert forces[-1].header.frame_id == 'world'
    assert nanoseconds(forces[-1].header.stamp) > 0
    assert graph.call(Trigger, '/sim_bridge/reset', Trigger.Request()).success
    moves_at(2.0)


def test_names_of_topics_are_valid_and_distinct():
    """Indices lose their brackets; equal names are numbered."""
    assert signal_topics(['motors[0]/torque', 'motors_0/torque', 'a/2b', 'ä/x']) == {
        'motors[0]/torque': 'motors_0/torque',
        'motors_0/torque': 'motors_0/torque_2',
        'a/2b': 'a/_2b',
        'ä/x': '_/x',
    }
