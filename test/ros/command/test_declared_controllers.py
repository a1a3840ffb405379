"""Controllers of a robot's controller file, tick by tick without a graph, against closed forms."""

from __future__ import annotations

from pathlib import Path

from bags import start_recording
from control_msgs.msg import MultiDOFCommand, SpeedScalingFactor
from controlled_arm import controlled_arm, INERTIA, PLUGIN
from following import LatestMessages, simulator, smooth, trajectory
from geometry_msgs.msg import TwistStamped
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64MultiArray
from vehicles import skid_steered
import yaml

from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.ros.bag.replay import replay
from sim_bridge.ros.command.grip import CANCELED, ENDED, REACHED, STALLED

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

RATE = 500.0
ARM = 'panda_arm_controller/joint_trajectory'


@pytest.fixture
def made(tmp_path):
    """Return a simulator with the robot, at 500 control steps a second."""
    return simulator(robot=controlled_arm(tmp_path), rate=RATE)


def programs(made):
    return {each.declared.name: each for each in made.interfaces[0].programs}


def send(made, topic, message):
    """Send a message like the graph."""
    (take,) = [t.take for t in made.interfaces[0].command_topics if t.name == topic]
    take(serialize_message(message))


def run(made, seconds):
    for _ in range(round(seconds * RATE)):
        made.tick()


def numbers(*values):
    return Float64MultiArray(data=values)


def refusal(made):
    """Return the reason for the latest refused command."""
    return made.interfaces[0].commands.queue.refusal


def q(made, joint):
    return made.interfaces[0].robot.joint(joint).q


def test_controllers_have_their_own_topics_and_control_modes(made):
    """Name topics by the file; set each joint's control mode by the claimed interface."""
    (interface,) = made.interfaces
    topics = {topic.name for topic in interface.command_topics}
    assert {
        'panda_arm_controller/joint_trajectory',
        'arm_forward/commands',
        'turn/commands',
        'spin/reference',
    } <= topics
    assert 'joint_trajectory_controller/joint_trajectory' not in topics
    controls = {name: interface.robot.joint(name).control for name in interface.robot.joint_names}
    assert controls == {
        'shoulder': 'position',
        'elbow': 'position',
        'finger': 'position',
        'claw': 'effort',
        'jaw': 'position',
        'wheel': 'effort',
        'turret': 'velocity',
    }
    assert interface.states.waiting == {'arm_forward': 'panda_arm_controller'}


def test_trajectories_obey_the_settings_of_the_file(made):
    """Follow all joints; refuse a part of them, and other joints."""
    send(made, ARM, trajectory(['shoulder'], (1.0, [0.5], [0.0])))
    assert 'allow_partial_joints_goal is false' in refusal(made)
    send(made, ARM, trajectory(['shoulder', 'turret'], (1.0, [0.5, 0.0], [0.0, 0.0])))
    assert "'turret'" in refusal(made)
    send(made, ARM, trajectory(['elbow', 'shoulder'], (1.0, [0.5, -0.2], [0.0, 0.0])))
    run(made, 0.5)
    assert q(made, 'elbow') == pytest.approx(0.25, abs=1e-6)
    run(made, 0.6)
    assert (q(made, 'elbow'), q(made, 'shoulder')) == pytest.approx((0.5, -0.2), abs=1e-6)


def test_a_trajectory_without_interpolation_jumps(tmp_path):
    """Move to the next point at once, as ros2_control's interpolation method none."""
    settings = {
        'joints': ['elbow'],
        'command_interfaces': ['position'],
        'interpolation_method': 'none',
    }
    made = simulator(robot=controlled_arm(tmp_path, panda_arm_controller=settings), rate=RATE)
    points = (1.0, [0.1], [0.0]), (2.0, [0.3], [0.0])
    send(made, ARM, trajectory(['elbow'], *points))
    run(made, 0.5)
    assert q(made, 'elbow') == pytest.approx(0.1, abs=1e-6)
    run(made, 1.0)
    assert q(made, 'elbow') == pytest.approx(0.3, abs=1e-6)


SCALED = {
    'joints': ['elbow'],
    'command_interfaces': ['position'],
    'speed_scaling': {
        'initial_scaling_factor': 0.5,
        'state_interface': 'speed_scaling/speed_scaling_factor',
    },
}
SPEED = 'panda_arm_controller/speed_scaling_input'


def test_a_scaled_trajectory_runs_through_its_points_with_the_factor(tmp_path):
    """Follow the cubic at the scaled time, with its scaled rate, and stop at 0."""
    made = simulator(robot=controlled_arm(tmp_path, panda_arm_controller=SCALED), rate=RATE)
    send(made, ARM, trajectory(['elbow'], (1.0, [0.4], [0.0])))
    run(made, 0.8)
    assert q(made, 'elbow') == pytest.approx(0.4 * smooth(0.4), abs=1e-6)
    slope = 0.4 * 6.0 * 0.4 * (1.0 - 0.4)
    elbow = made.interfaces[0].robot.joint('elbow')
    assert elbow.dq == pytest.approx(0.5 * slope, rel=1e-2)
    send(made, SPEED, SpeedScalingFactor(factor=0.0))
    run(made, 0.5)
    assert q(made, 'elbow') == pytest.approx(0.4 * smooth(0.401), abs=1e-3)
    assert elbow.dq == pytest.approx(0.0, abs=1e-9)
    saved = made.save()
    send(made, SPEED, SpeedScalingFactor(factor=2.0))
    run(made, 0.1)
    assert q(made, 'elbow') == pytest.approx(0.4 * smooth(0.6), abs=1e-3)
    made.restore(saved, clock=False)
    run(made, 0.1)
    assert elbow.dq == pytest.approx(0.0, abs=1e-9)
    send(made, SPEED, SpeedScalingFactor(factor=-1.0))
    assert 'a number from 0' in refusal(made)
    made.reset(clock=True)
    send(made, ARM, trajectory(['elbow'], (1.0, [0.4], [0.0])))
    run(made, 1.0)
    assert q(made, 'elbow') == pytest.approx(0.2, abs=1e-6)


def test_the_speed_of_a_controller_by_velocity_cannot_be_scaled(tmp_path):
    """Warn of the factor, and open no topic, as in ros2_control."""
    scaled = SCALED | {'command_interfaces': ['velocity']}
    made = simulator(robot=controlled_arm(tmp_path, panda_arm_controller=scaled), rate=RATE)
    (interface,) = made.interfaces
    assert SPEED not in {topic.name for topic in interface.command_topics}
    found = [str(each) for each in interface.robot.description.report.findings]
    assert [each for each in found if 'position must be the only command interface' in each]


def test_an_effort_controller_follows_by_its_gains(tmp_path):
    """Compare with the discrete PD law on the known inertia."""
    settings = {
        'joints': ['turret'],
        'command_interfaces': ['effort'],
        'gains': {'turret': {'p': 20.0, 'd': 2.0, 'u_clamp_max': 1.5}},
        'interpolation_method': 'none',
    }
    path = controlled_arm(tmp_path, panda_arm_controller=settings, types={'turn': ''})
    made = simulator(robot=path, rate=RATE)
    send(
        made, 'panda_arm_controller/joint_trajectory', trajectory(['turret'], (1.0, [0.5], [0.0]))
    )
    position = velocity = 0.0
    for _ in range(200):
        made.tick()
        effort = min(20.0 * (0.5 - position) - 2.0 * velocity, 1.5)
        after = velocity + effort / INERTIA / RATE
        position, velocity = position + 0.5 * (velocity + after) / RATE, after
    assert q(made, 'turret') == pytest.approx(position, abs=1e-9)
    assert position > 0.3


def test_a_forwarded_velocity_lasts(made):
    """Keep the last velocity long after the timeout of other commands; then stop by command."""
    send(made, 'turn/commands', numbers(0.5))
    run(made, 3.0)
    assert q(made, 'turret') == pytest.approx(1.5, abs=2e-3)
    send(made, 'turn/commands', numbers(0.0))
    run(made, 0.1)
    assert made.interfaces[0].robot.joint('turret').dq == pytest.approx(0.0, abs=1e-9)
    assert (q(made, 'shoulder'), q(made, 'finger')) == pytest.approx((0.0, 0.0), abs=1e-9)


@pytest.mark.parametrize(
    ('values', 'words'),
    [((1.0, 2.0), '1 number, one for each of turret/velocity'), ((np.nan,), 'finite')],
)
def test_wrong_forwarded_commands_are_refused(made, values, words):
    """Refuse a message of the wrong length, and numbers that are not finite."""
    send(made, 'turn/commands', numbers(*values))
    assert words in refusal(made)
    assert made.interfaces[0].commands.counts.rejected == 1


def test_an_inactive_controller_refuses_commands(made):
    """Name the service that activates it, and the controller that has its joints."""
    send(made, 'arm_forward/commands', numbers(0.1, 0.1))
    for words in ("'arm_forward'", 'switch_controller', 'panda_arm_controller'):
        assert words in refusal(made)


def test_a_pid_controller_obeys_its_law(made):
    """Compare with the discrete PI law on the known inertia; add the feedforward on demand."""
    send(made, 'spin/reference', MultiDOFCommand(dof_names=['wheel'], values=[1.5]))
    velocity = integral = 0.0
    for step in range(300):
        if step == 150:
            programs(made)['spin'].set_feedforward(True)
        made.tick()
        error = 1.5 - velocity
        integral += error / RATE
        effort = 2.0 * error + integral + (0.5 * 1.5 if step >= 150 else 0.0)
        velocity += effort / INERTIA / RATE
    assert made.interfaces[0].robot.joint('wheel').dq == pytest.approx(velocity, abs=1e-9)


@pytest.mark.parametrize(
    ('message', 'words'),
    [
        (MultiDOFCommand(dof_names=['turret'], values=[1.0]), "'turret'"),
        (MultiDOFCommand(dof_names=['wheel'], values=[1.0, 2.0]), '1 number'),
        (MultiDOFCommand(dof_names=['wheel'], values=[np.inf]), 'finite'),
    ],
)
def test_wrong_references_are_refused(made, message, words):
    """Refuse unknown names, wrong lengths and numbers that are not finite."""
    send(made, 'spin/reference', message)
    assert words in refusal(made)


def test_a_gripper_reaches_its_goal(made):
    """End as soon as the error is below the tolerance."""
    goal = programs(made)['hand'].grip(0.05, 0.0)
    run(made, 0.5)
    assert goal.outcome == REACHED
    assert abs(goal.ended_at[0] - 0.05) < 0.01
    assert q(made, 'finger') == pytest.approx(0.05, abs=1e-6)


def test_a_blocked_gripper_stalls_after_its_timeout(made):
    """Push against the stop with the greatest effort; end once it has not moved for 0.1 s."""
    claw = programs(made)['claw_controller']
    # the stop is at 0, where the claw stands
    goal = claw.grip(-0.1, 3.0)
    steps = 0
    while not goal.outcome:
        made.tick()
        steps += 1
    # the goal begins with the first step, and time must be above the timeout
    assert steps == round(0.1 * RATE) + 2
    assert goal.outcome == STALLED
    assert claw.targets.is_active
    assert made.interfaces[0].robot.joint('claw').u == pytest.approx(-3.0)


def test_goals_of_a_gripper_end_each_other(made):
    """Replace a goal by the next, cancel it, and end it when its joint gets another command."""
    hand = programs(made)['hand']
    first, second = hand.grip(0.1, 0.0), hand.grip(0.09, 0.0)
    run(made, 0.02)
    assert (first.outcome, second.outcome) == (ENDED, '')
    hand.cancel(second.number)
    made.tick()
    assert second.outcome == CANCELED
    held = q(made, 'finger')
    run(made, 0.1)
    assert q(made, 'finger') == pytest.approx(held, abs=1e-3)
    third = hand.grip(0.1, 0.0)
    made.tick()
    made.interfaces[0].commands.queue.accept_named(['finger'], position=[0.02])
    run(made, 0.01)
    assert third.outcome == ENDED
    with pytest.raises(InvalidValueError, match='finite'):
        hand.check(np.nan, 0.0)


def test_a_reset_ends_goals_and_keeps_active_controllers(made):
    """Start again without commands."""
    goal = programs(made)['hand'].grip(0.1, 0.0)
    made.tick()
    made.reset(clock=True)
    assert (goal.outcome, goal.words) == (ENDED, 'the simulation was reset')
    run(made, 0.1)
    assert q(made, 'finger') == 0.0
    with pytest.raises(StateError):
        made.interfaces[0].states.check_active('arm_forward')


def test_a_snapshot_contains_the_controllers(made):
    """Repeat the motion to the bit after a snapshot was restored."""
    send(made, 'turn/commands', numbers(0.5))
    send(made, 'spin/reference', MultiDOFCommand(dof_names=['wheel'], values=[1.5]))
    programs(made)['claw_controller'].grip(0.05, 5.0)
    run(made, 0.05)
    snapshot = made.save()
    run(made, 0.2)
    first = made.world.state_hash()
    made.restore(snapshot, clock=False)
    run(made, 0.2)
    assert made.world.state_hash() == first


def test_a_recording_is_replayed_exactly(tmp_path):
    """Record messages and goals of all kinds, and replay them with equal states."""
    bag = tmp_path / 'bag'
    robot = controlled_arm(tmp_path)
    offline = start_recording(bag, robot=robot, rate=RATE, record_hash_period=0.05)
    made = offline.simulator
    send(made, 'turn/commands', numbers(0.5))
    send(made, 'spin/reference', MultiDOFCommand(dof_names=['wheel'], values=[1.5]))
    hand = programs(made)['hand']
    hand.grip(0.1, 0.0)
    run(made, 0.02)
    hand.cancel(hand.grip(0.09, 0.0).number)
    programs(made)['spin'].set_feedforward(True)
    run(made, 0.3)
    offline.recording.close()
    verdict = replay(bag)
    assert verdict.is_same, verdict.difference
    assert verdict.hashes


def test_broadcasters_have_their_own_topics(tmp_path):
    """Publish an IMU and local joint states below the names of the file, with the file's frame."""
    path = controlled_arm(
        tmp_path,
        types={'imu_broadcaster': 'imu_sensor_broadcaster/IMUSensorBroadcaster'},
        imu_broadcaster={'sensor_name': 'gyroscope', 'frame_id': 'body'},
        joint_state_broadcaster={
            'use_local_topics': True,
            'joints': ['elbow'],
            'interfaces': ['position'],
        },
    )
    text = Path(path).read_text()
    sensor = '<gazebo reference="elbow_link"><sensor name="gyroscope" type="imu"/></gazebo>'
    Path(path).write_text(text.replace('</robot>', f'{sensor}</robot>'))
    heard = LatestMessages()
    made = simulator(heard, robot=path, rate=RATE)
    run(made, 0.1)
    imu = deserialize_message(heard.latest['imu_broadcaster/imu'], Imu)
    own = deserialize_message(heard.latest['gyroscope/imu'], Imu)
    assert (imu.header.frame_id, own.header.frame_id) == ('body', 'elbow_link')
    assert imu.header.stamp == own.header.stamp
    assert imu.linear_acceleration == own.linear_acceleration
    local = heard.latest['joint_state_broadcaster/joint_states']
    assert (list(local.name), list(local.position)) == (['elbow'], [0.0])
    assert np.isnan(local.velocity).all()
    dynamic = heard.latest['joint_state_broadcaster/dynamic_joint_states']
    assert list(dynamic.joint_names) == ['elbow']
    assert list(dynamic.interface_values[0].interface_names) == ['position']


def test_controllers_hold_their_joints_once_the_robot_is_unlocked(tmp_path):
    """Hold a load with effort control against gravity by its gains, while another joint moves."""
    settings = {
        'joints': ['lift'],
        'command_interfaces': ['effort'],
        'gains': {'lift': {'p': 4000.0, 'd': 200.0}},
    }
    path = Path(controlled_arm(tmp_path, panda_arm_controller=settings))
    lift = (
        '<link name="load"><inertial><mass value="2"/><inertia ixx="0.1" ixy="0" ixz="0" '
        'iyy="0.1" iyz="0" izz="0.1"/></inertial></link><joint name="lift" type="prismatic">'
        '<parent link="base"/><child link="load"/><axis xyz="0 0 1"/>'
        '<limit lower="-1" upper="1" effort="100" velocity="1"/></joint></robot>'
    )
    path.write_text(path.read_text().replace('</robot>', lift))
    made = simulator(robot=str(path), rate=RATE)
    send(made, 'turn/commands', numbers(0.5))
    run(made, 2.0)
    # the weight over the gain
    assert q(made, 'lift') == pytest.approx(-2.0 * 9.80665 / 4000.0, abs=2e-5)


@pytest.mark.parametrize(
    'inside', ['', '<ros><remapping>/base/reference:=/cmd_vel</remapping></ros>']
)
def test_a_mecanum_drive_takes_references(tmp_path, inside):
    """Drive by TwistStamped on the controller's own topic, or on its new name."""
    wheels = ['front_left', 'front_right', 'rear_right', 'rear_left']
    settings = {
        **{f'{each}_wheel_command_joint_name': each for each in wheels},
        'kinematics': {'wheels_radius': 0.1, 'sum_of_robot_center_projection_on_X_Y_axis': 0.5},
    }
    content = {
        'controller_manager': {
            'ros__parameters': {
                'base': {'type': 'mecanum_drive_controller/MecanumDriveController'}
            }
        },
        'base': {'ros__parameters': settings},
    }
    (tmp_path / 'controllers.yaml').write_text(yaml.safe_dump(content))
    path = tmp_path / 'robot.urdf'
    path.write_text(skid_steered().replace('</robot>', f'{PLUGIN.format(inside)}</robot>'))
    made = simulator(robot=str(path), rate=RATE)
    (interface,) = made.interfaces
    topic = 'cmd_vel' if inside else 'base/reference'
    names = [each.name.lstrip('/') for each in interface.command_topics]
    assert names.count(topic) == 1 and names.count('cmd_vel') == 1
    (take,) = [t.take for t in interface.command_topics if t.name.lstrip('/') == topic]
    message = TwistStamped()
    message.twist.linear.x = 0.5
    take(serialize_message(message))
    run(made, 0.1)
    assert interface.drives[0].is_active, refusal(made)
    assert interface.robot.joint('front_left').target_velocity == pytest.approx(5.0)
    assert 'base/odometry' in interface.topics and 'base/odom' in interface.topics


def test_a_forwarded_velocity_survives_the_timeout_of_other_commands(tmp_path):
    """Go on after the timeout of joint_commands has dropped all motor targets."""
    made = simulator(robot=controlled_arm(tmp_path), rate=RATE, command_timeout=0.05)
    send(made, 'turn/commands', numbers(0.5))
    made.interfaces[0].commands.queue.accept_named(['shoulder'], position=[0.1])
    run(made, 1.0)
    assert made.interfaces[0].commands.is_timed_out
    assert q(made, 'turret') == pytest.approx(0.5, abs=2e-3)
