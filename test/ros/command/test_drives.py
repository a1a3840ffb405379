"""Drives on the graph and in the control step: cmd_vel, wheel odometry, frames."""

from __future__ import annotations

import math
from types import SimpleNamespace

from bags import start_recording
from diagnostic_msgs.msg import DiagnosticArray
from following import LatestMessages, Nowhere, simulator, told
from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from ros_graph import end
from sensor_msgs.msg import JointState
from vehicles import plugin, skid_steered

from sim_bridge.description import DescriptionError
from sim_bridge.foundation.errors import InvalidValueError, ReplayError
from sim_bridge.foundation.rotation import matrix_from_quaternion
from sim_bridge.ros.bag.described_files import portable_description
from sim_bridge.ros.bag.replay import replay
from sim_bridge.ros.publish import frames

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

WHEELS = ['left_wheel_joint', 'right_wheel_joint']


class Heard(LatestMessages):
    """A sink storing the latest messages, odometry among them."""

    def odometry(self, topic):
        return deserialize_message(self.latest[topic], Odometry)


def twist(x=0.0, y=0.0, yaw_rate=0.0) -> Twist:
    message = Twist()
    message.linear.x, message.linear.y, message.angular.z = x, y, yaw_rate
    return message


def send(interface, topic, message):
    """Send a message to a robot, like the graph."""
    (take,) = [each.take for each in interface.command_topics if each.name == topic]
    take(serialize_message(message))


def drive(made, seconds, *, number=0, command=None, topic='cmd_vel', rate=500.0):
    """Take steps, with a command in every tenth of a second."""
    for step in range(round(seconds * rate)):
        if command is not None and step % 50 == 0:
            send(made.interfaces[number], topic, command)
        made.tick()


def speeds(made, number=0):
    """Return the target velocities of the wheels."""
    robot = made.interfaces[number].robot
    return [robot.joint(name).target_velocity for name in WHEELS]


def test_cmd_vel_drives_and_wheels_reckon():
    """Move as commanded; publish wheel odometry beside the truth, with covariances."""
    heard = Heard()
    made = simulator(heard, robot='rover', rate=500.0)
    (interface,) = made.interfaces
    assert {topic.name for topic in interface.command_topics} >= {'cmd_vel', 'diff_drive/cmd_vel'}
    assert interface.robot.hold
    drive(made, 1.5, command=twist(0.5, 0.0, 0.3))
    told_by_wheels, truth = heard.odometry('diff_drive/odom'), heard.odometry('odom')
    for each in (told_by_wheels, truth):
        assert (each.header.frame_id, each.child_frame_id) == ('odom', 'base_link')
    linear, angular = told_by_wheels.twist.twist.linear, told_by_wheels.twist.twist.angular
    assert (linear.x, linear.y) == pytest.approx((0.5, 0.0), abs=1e-6)
    assert angular.z == pytest.approx(0.3, abs=1e-6)
    assert told_by_wheels.pose.pose.position.x == pytest.approx(
        truth.pose.pose.position.x, abs=0.02
    )
    assert told_by_wheels.pose.pose.orientation.z == pytest.approx(
        truth.pose.pose.orientation.z, abs=0.02
    )
    diagonal = np.diag(told_by_wheels.pose.covariance.reshape(6, 6))
    np.testing.assert_array_equal(diagonal, [1e-3, 1e-3, 1e6, 1e6, 1e6, 1e-2])
    assert not truth.pose.covariance.any()
    assert not truth.twist.covariance.any()


def test_topics_and_frames_have_the_names_in_the_file(monkeypatch, tmp_path):
    """Publish wheel odometry on the file's odom and its frame on /tf; the truth beside it."""
    monkeypatch.setattr(
        frames,
        'optional_messages',
        lambda package: SimpleNamespace(
            TFMessage=lambda transforms: SimpleNamespace(transforms=transforms)
        ),
    )
    pairs = [('left_joint', 'front_left'), ('right_joint', 'front_right')]
    tags = ''.join(f'<{tag}>{joint}</{tag}>' for tag, joint in pairs)
    more = (
        '<odom_topic>odom</odom_topic><topic>"go"</topic><tf_topic>/tf</tf_topic>'
        '<wheel_separation>0.4</wheel_separation><wheel_radius>0.1</wheel_radius>'
    )
    file = tmp_path / 'robot.urdf'
    text = plugin('gz-sim-diff-drive-system', tags + more)
    file.write_text(skid_steered().replace('</robot>', f'{text}</robot>'))
    heard = Heard()
    made = simulator(heard, robot=str(file), rate=500.0)
    (interface,) = made.interfaces
    assert {topic.name for topic in interface.command_topics} >= {'cmd_vel', 'go'}
    drive(made, 0.4, command=twist(0.5))
    wheels = interface.drives[0].drive.pose
    assert heard.odometry('odom').pose.pose.position.x == pytest.approx(wheels[0])
    assert heard.odometry('odom').header.frame_id == 'odom'
    assert heard.odometry('odom/truth').header.frame_id == 'world'
    (frame,) = heard.latest['/tf'].transforms
    assert (frame.header.frame_id, frame.child_frame_id) == ('odom', 'base_link')
    assert frame.transform.translation.x == pytest.approx(wheels[0], abs=0.01)


def test_the_truth_has_the_variances_that_are_set():
    """Publish the set variances for a localizer; leave wheel variances and values unchanged."""
    heard = Heard()
    made = simulator(
        heard,
        robot='rover',
        rate=500.0,
        odom_pose_covariance_diagonal=[1, 2, 3, 4, 5, 6],
        odom_twist_covariance_diagonal=[0.1] * 6,
    )
    drive(made, 0.01)
    truth = heard.odometry('odom')
    np.testing.assert_array_equal(truth.pose.covariance.reshape(6, 6), np.diag([1, 2, 3, 4, 5, 6]))
    np.testing.assert_array_equal(truth.twist.covariance.reshape(6, 6), 0.1 * np.eye(6))
    assert heard.odometry('diff_drive/odom').pose.covariance[0] == 1e-3
    assert truth.pose.pose.position.x == made.interfaces[0].robot.root_link.p[0]
    for wrong in ([1.0], [-1.0] * 6):
        with pytest.raises(InvalidValueError, match='odom_twist_covariance_diagonal.*6 finite'):
            simulator(robot='rover', odom_twist_covariance_diagonal=wrong)


def test_a_drive_stops_within_its_limits_when_commands_cease():
    """Decelerate to rest at 1 m/s², count the timeout, and restart."""
    made = simulator(robot='rover', rate=500.0, command_timeout=0.2)
    (interface,) = made.interfaces
    drive(made, 1.0, command=twist(0.5))
    assert speeds(made) == pytest.approx([5.0, 5.0])
    # the last command came 0.1 s ago
    drive(made, 0.104)
    before = speeds(made)[0]
    drive(made, 0.25)
    assert 0.0 < speeds(made)[0] < before
    assert interface.drives[0].is_timed_out
    drive(made, 0.5)
    assert speeds(made) == [0.0, 0.0]
    assert interface.commands.counts.timeouts == 1
    assert not interface.drives[0].is_active
    assert abs(interface.robot.root_link.v[0]) < 1e-9
    drive(made, 0.2, command=twist(-0.5))
    assert speeds(made)[0] < 0.0


def test_a_drive_may_have_a_timeout_of_its_own():
    """Prefer cmd_vel_timeout over command_timeout; 0 is never."""
    block = {
        'base': {
            'type': 'differential',
            'left_wheel_names': ['front_left', 'rear_left'],
            'right_wheel_names': ['front_right', 'rear_right'],
            'cmd_vel_timeout': 0.0,
        }
    }
    made = simulator(
        robot_description=skid_steered(), rate=500.0, command_timeout=0.1, drives=block
    )
    send(made.interfaces[0], 'base/cmd_vel', twist(0.5))
    drive(made, 0.5)
    assert made.interfaces[0].robot.joint('front_left').target_velocity == pytest.approx(5.0)


@pytest.mark.parametrize('wrong', [math.nan, math.inf, 1e300])
def test_absurd_commands_are_refused(wrong):
    """Reject and count the command, and go on as before."""
    made = simulator(robot='rover', rate=500.0)
    (interface,) = made.interfaces
    drive(made, 1.0, command=twist(0.4))
    for message in (twist(wrong), twist(0.0, wrong), twist(0.0, 0.0, wrong)):
        send(interface, 'cmd_vel', message)
    made.tick()
    assert interface.commands.counts.rejected == 3
    assert speeds(made) == pytest.approx([4.0, 4.0])


def test_twists_may_have_stamps():
    """Take TwistStamped if a parameter requires it, and measure its stamp's age."""
    made = simulator(robot='rover', rate=500.0, cmd_vel_stamped=True)
    (interface,) = made.interfaces
    message = TwistStamped(twist=twist(0.3))
    for _ in range(3):
        made.tick()
    message.header.stamp.nanosec = 2_000_000
    drive(made, 0.002, command=message)
    assert interface.commands.timing.ages()['max'] == pytest.approx(0.004)
    drive(made, 0.5, command=message)
    assert speeds(made) == pytest.approx([3.0, 3.0])
    types = {each.name: each.message_type for each in interface.command_topics}
    assert types['cmd_vel'] is types['diff_drive/cmd_vel'] is TwistStamped


def test_other_commands_take_the_wheels_and_give_them_back():
    """Follow the last command, wheel velocities or a twist, from the current speed."""
    made = simulator(robot='rover', rate=500.0)
    (interface,) = made.interfaces
    drive(made, 0.5, command=twist(0.3))
    send(interface, 'joint_commands', JointState(name=WHEELS, velocity=[2.0, 1.0]))
    drive(made, 0.3)
    assert speeds(made) == [2.0, 1.0]
    assert not interface.drives[0].is_active
    send(interface, 'cmd_vel', twist(0.3))
    made.tick()
    # its limits start at 0.15 m/s and 0.1 / 0.32 rad/s to the right
    assert speeds(made) == pytest.approx([2.0, 1.0], abs=0.1)
    interface.commands.queue.set_control('left_wheel_joint', 'effort', 0.0, 0.0)
    made.tick()
    assert not interface.drives[0].is_active
    send(interface, 'cmd_vel', twist(0.3))
    assert interface.commands.counts.rejected == 1


def test_the_wheels_of_a_drive_are_its_own():
    """Exclude them from the default trajectory controller, and refuse them in another."""
    made = simulator(robot='rover')
    (controller,) = made.interfaces[0].trajectories.controllers
    assert controller.joints == ('caster_swivel_joint', 'caster_wheel_joint')
    with pytest.raises(InvalidValueError, match="'left_wheel_joint' is driven by 'diff_drive'"):
        simulator(robot='rover', trajectory_controllers={'arm': {'joints': WHEELS}})
    with pytest.raises(DescriptionError, match="drive 'diff_drive' has this joint already"):
        simulator(
            robot='rover',
            drives={
                'base': {
                    'type': 'differential',
                    'left_wheel_names': WHEELS[:1],
                    'right_wheel_names': WHEELS[1:],
                }
            },
        )


SCENE = """
world:
  ground: {}
  robots:
    a: {urdf: rover, namespace: a, position: [0, 1, 0.1]}
    b: {urdf: rover, namespace: b, position: [0, -1, 0.1]}
"""


@pytest.fixture
def two(tmp_path):
    """Return the path to a world with two rovers."""
    path = tmp_path / 'scene.yaml'
    path.write_text(SCENE)
    return str(path)


def test_two_robots_drive_in_their_namespaces(two):
    """Command each robot alone, with its own odometry and frames."""
    heard = Heard()
    made = simulator(heard, world=two, rate=500.0)
    drive(made, 1.0, number=1, command=twist(0.4), topic='b/cmd_vel')
    assert speeds(made, 0) == [0.0, 0.0]
    assert speeds(made, 1) == pytest.approx([4.0, 4.0])
    own = heard.odometry('b/diff_drive/odom')
    assert (own.header.frame_id, own.child_frame_id) == ('b/odom', 'b/base_link')
    assert own.pose.pose.position.x > 0.2
    assert heard.odometry('a/diff_drive/odom').pose.pose.position.x == 0.0


def test_snapshots_and_resets_include_the_drive():
    """Repeat to the bit from a snapshot in mid-motion; restart odometry after a reset."""
    made = simulator(robot='rover', rate=500.0)
    (interface,) = made.interfaces
    drive(made, 0.5, command=twist(0.6, 0.0, 1.0))
    snapshot, results = made.save(), []
    for _ in range(2):
        made.restore(snapshot, clock=False)
        drive(made, 0.3)
        results.append((made.world.state_hash(), interface.drives[0].drive.odometry.save()))
    assert results[0] == results[1]
    made.reset(clock=False)
    assert interface.drives[0].drive.odometry.pose == (0.0, 0.0, 0.0)
    drive(made, 0.2)
    assert speeds(made) == [0.0, 0.0]
    assert interface.robot.hold


@pytest.mark.parametrize('robot', ['rover', 'tracked_vehicle'])
def test_a_recorded_drive_is_replayed_to_the_bit(robot, tmp_path):
    """Take twists, timeouts, resets and snapshots from the bag, and publish the same bytes."""
    run = start_recording(
        tmp_path / 'bag', robot=robot, record_hash_period=0.05, rate=500.0, command_timeout=0.1
    )
    made = run.simulator
    drive(made, 0.3, command=twist(0.5, 0.0, 0.7))
    snapshot = made.save()
    drive(made, 0.3)
    made.restore(snapshot, clock=False)
    drive(made, 0.1, command=twist(-0.2))
    made.reset(clock=False)
    drive(made, 0.2, command=twist(0.2))
    run.recording.close()
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    assert verdict.commands >= 6
    assert verdict.state_hash == made.world.state_hash()


def test_frames_are_one_tree_in_which_the_odom_frame_drifts(monkeypatch):
    """Publish odom -> base by wheel odometry, world -> odom by the rest, like a localizer."""
    monkeypatch.setattr(
        frames,
        'optional_messages',
        lambda package: SimpleNamespace(
            TFMessage=lambda transforms: SimpleNamespace(transforms=transforms)
        ),
    )
    parents, poses = {}, {}

    class Frames(Nowhere):
        def open(self, topic, message_type, qos):
            def take(message):
                for each in message.transforms if topic.startswith('/tf') else ():
                    p, q = each.transform.translation, each.transform.rotation
                    pose = np.eye(4)
                    pose[:3, 3] = p.x, p.y, p.z
                    pose[:3, :3] = matrix_from_quaternion((q.x, q.y, q.z, q.w))
                    parents.setdefault(each.child_frame_id, set()).add(each.header.frame_id)
                    poses[each.child_frame_id] = pose

            return SimpleNamespace(
                topic=topic,
                is_wanted=lambda: topic.startswith('/tf'),
                publish=take,
                close=lambda: None,
            )

    made = simulator(
        Frames(),
        robot_description=skid_steered(),
        rate=500.0,
        publish_tf=True,
        tf_rate=0.0,
        position=[1.0, 2.0, 0.1],
        drives={
            'base': {
                'type': 'differential',
                'left_wheel_names': ['front_left', 'rear_left'],
                'right_wheel_names': ['front_right', 'rear_right'],
                'enable_odom_tf': True,
            }
        },
    )
    drive(made, 0.8, command=twist(0.3, 0.0, 1.0))
    (interface,) = made.interfaces
    assert parents == {'base_link': {'odom'}, 'odom': {'world'}, 'ground': {'world'}}
    own, root = interface.drives[0].drive.odometry.pose, interface.robot.root_link
    np.testing.assert_allclose(poses['base_link'][:2, 3], own[:2], atol=1e-12)
    assert math.atan2(*poses['base_link'][1::-1, 0]) == pytest.approx(own.yaw)
    in_world = poses['odom'] @ poses['base_link']
    np.testing.assert_allclose(in_world[:3, 3], root.p, atol=1e-12)
    np.testing.assert_allclose(in_world[:3, :3], root.R, atol=1e-12)
    # it skids: the odom frame has drifted
    assert abs(math.atan2(*poses['odom'][1::-1, 0])) > 0.05


def test_cmd_vel_drives_a_rover_on_the_graph(graph, start_node):
    """Drive by messages, and report the drive's state on /diagnostics."""
    start_node(robot='rover', command_timeout=0.2, diagnostics_rate=20.0)
    odometry = graph.listen(Odometry, '/diff_drive/odom')
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    commands = graph.advertise(Twist, '/cmd_vel')

    def speed():
        return odometry[-1].twist.twist.linear.x if odometry else 0.0

    graph.wait(
        lambda: abs(speed() - 0.4) < 1e-6, 'the speed', also=lambda: commands.publish(twist(0.4))
    )
    graph.wait(lambda: abs(speed()) < 1e-9, 'rest')
    # more than one if commands were late
    graph.wait(
        lambda: int(told(diagnostics, 'commands of rover').get('timeouts since start', 0)) > 0,
        'the timeout',
    )
    commands.publish(twist(math.nan))
    graph.wait(
        lambda: told(diagnostics, 'commands of rover').get('rejected since start') == '1',
        'a rejected command',
    )


def test_run_drives_the_rover_along_a_square(graph, start_process):
    """Start the processes of `make run ROBOT=rover`: a metre ahead, then to the left."""
    odometry = graph.listen(Odometry, '/odom')
    process = start_process(
        '-m',
        'sim_bridge',
        'run',
        'rover',
        '--real-time-factor',
        '0',
        '-p',
        'rate:=200.0',
        '-p',
        'substeps:=5',
    )

    def is_round_the_corner() -> bool:
        position = odometry[-1].pose.pose.position if odometry else None
        return position is not None and position.x > 0.9 and position.y > 0.5

    graph.wait(is_round_the_corner, 'the second side')
    code, output = end(process)
    assert code == 0, output
    assert 'Traceback' not in output


def test_a_drive_of_a_file_of_controllers_is_replayed_from_anywhere(tmp_path):
    """Store the path of the file with the description, and its fingerprint, in the bag."""
    folder = tmp_path / 'robot'
    folder.mkdir()
    (folder / 'c.yaml').write_text(
        'controller_manager:\n  ros__parameters:\n'
        '    base: {type: diff_drive_controller/DiffDriveController}\n'
        'base:\n  ros__parameters:\n    left_wheel_names: [front_left, rear_left]\n'
        '    right_wheel_names: [front_right, rear_right]\n'
    )
    (folder / 'robot.urdf').write_text(
        skid_steered().replace(
            '</robot>',
            '<gazebo><plugin filename="gz_ros2_control-system" name="c">'
            '<parameters> c.yaml</parameters></plugin></gazebo></robot>',
        )
    )
    run = start_recording(tmp_path / 'bag', robot=str(folder / 'robot.urdf'), rate=500.0)
    (robot,) = [each.robot for each in run.simulator.interfaces]
    assert f'<parameters> {folder}/c.yaml</parameters>' in portable_description(robot.description)
    drive(run.simulator, 0.1, command=twist(0.5), topic='base/cmd_vel')
    run.recording.close()
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same and verdict.commands == 1
    (folder / 'c.yaml').write_text('{}')
    with pytest.raises(ReplayError, match=r'c\.yaml'):
        replay(tmp_path / 'bag')


def test_a_parameter_file_declares_a_drive(graph, start_node, tmp_path):
    """Read the block in ros2_control's format, and refuse invalid parts by name."""
    robot = tmp_path / 'robot.urdf'
    robot.write_text(skid_steered())
    given = tmp_path / 'given.yaml'
    given.write_text(
        '/**/sim_bridge:\n  ros__parameters:\n    cmd_vel_stamped: true\n    drives:\n'
        '      base:\n        type: diff_drive_controller/DiffDriveController\n'
        '        left_wheel_names: [front_left, rear_left]\n'
        '        right_wheel_names: [front_right, rear_right]\n'
        '        linear: {x: {max_velocity: 0.25, max_acceleration: 1.0}}\n'
        '        pose_covariance_diagonal: [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]\n'
    )
    start_node('--params-file', str(given), robot=str(robot))
    odometry = graph.listen(Odometry, '/base/odom')
    commands = graph.advertise(TwistStamped, '/base/cmd_vel')
    graph.wait(
        lambda: odometry and abs(odometry[-1].twist.twist.linear.x - 0.25) < 1e-6,
        'the limit',
        also=lambda: commands.publish(TwistStamped(twist=twist(2.0))),
    )
    assert odometry[-1].pose.covariance[::7].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_wrong_drives_end_the_start_with_a_reason(refusals, tmp_path):
    """Name the parameter, the drive and the joint."""
    robot = tmp_path / 'robot.urdf'
    robot.write_text(skid_steered())
    given = tmp_path / 'given.yaml'
    given.write_text(
        '/**/sim_bridge:\n  ros__parameters:\n    drives:\n      base:\n'
        '        type: differential\n        left_wheel_names: [front_lft]\n'
        '        right_wheel_names: [front_right]\n'
    )
    (output,) = refusals(('--params-file', str(given), '-p', f'robot:={robot}'))
    assert "parameter 'drives'" in output
    assert "did you mean 'front_left'" in output


@pytest.mark.parametrize('policy', ['hold', 'zero', 'last'])
def test_a_drive_outlasts_other_commands(policy):
    """Keep driving after the timeout of joint commands; hold only the commanded joints."""
    made = simulator(robot='rover', rate=500.0, command_timeout=0.2, command_timeout_policy=policy)
    (interface,) = made.interfaces
    robot = interface.robot
    send(interface, 'joint_commands', JointState(name=WHEELS, velocity=[1.0, 1.0]))
    send(interface, 'joint_commands', JointState(name=['caster_wheel_joint'], effort=[0.0]))
    drive(made, 0.1)
    drive(made, 1.0, command=twist(0.4))
    assert interface.commands.is_timed_out
    assert not robot.hold
    assert speeds(made) == pytest.approx([4.0, 4.0])
    held = 'velocity' if policy == 'hold' else 'effort'
    assert robot.joint('caster_wheel_joint').control == held
    assert robot.joint('caster_swivel_joint').control == 'effort'


def test_a_moved_base_shares_commands_with_its_wheels(tmp_path):
    """
    Pass a command on a shared topic to the wheels and to the base, with the wheels' type.

    Gazebo moves the base by VelocityControl while a controller turns the wheels and counts.
    """
    wheels = (
        '<left_joint>front_left</left_joint><left_joint>rear_left</left_joint>'
        '<right_joint>front_right</right_joint><right_joint>rear_right</right_joint>'
        '<wheel_separation>0.4</wheel_separation><wheel_radius>0.1</wheel_radius>'
        '<topic>base/cmd_vel</topic>'
    )
    plugins = plugin('gz-sim-velocity-control-system', '<topic>base/cmd_vel</topic>')
    plugins += plugin('gz-sim-diff-drive-system', wheels)
    file = tmp_path / 'robot.urdf'
    file.write_text(skid_steered().replace('</robot>', plugins + '</robot>'))
    made = simulator(robot=str(file), rate=500.0, command_timeout=0.0)
    (interface,) = made.interfaces
    topics = [topic.name for topic in interface.command_topics]
    assert topics.count('base/cmd_vel') == topics.count('cmd_vel') == 1
    for topic in ('base/cmd_vel', 'cmd_vel'):
        drive(made, 0.4, command=twist(0.4, yaw_rate=0.5), topic=topic)
    poses = {each.name: each.drive.pose for each in interface.drives}
    assert poses['velocity_control'].yaw == pytest.approx(0.4, rel=0.02)
    assert poses['diff_drive'].yaw == pytest.approx(0.4, rel=0.02)
    assert {each.is_active for each in interface.drives} == {True}
