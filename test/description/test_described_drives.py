"""Drives declared by Gazebo's plugins, ros2_control's controllers and YAML."""

from __future__ import annotations

import json
import math

import pytest
from shipped import path_of
from vehicles import car, mecanum_friction, plugin, skid_steered

from sim_bridge.cli.main import main
from sim_bridge.description import (
    check_description,
    DescriptionError,
    drives_from_mapping,
    load_description,
)
from sim_bridge.description.drives import ODOMETRY_COVARIANCE

SIDES = {
    'left_wheel_names': ['front_left', 'rear_left'],
    'right_wheel_names': ['front_right', 'rear_right'],
}
TAGS = (
    '<left_joint>front_left</left_joint><left_joint>rear_left</left_joint>'
    '<right_joint>front_right</right_joint><right_joint>rear_right</right_joint>'
)


def loaded(tags, filename='gz-sim-diff-drive-system', more=''):
    """Return the only drive of four wheels under a plugin, and the findings."""
    text = skid_steered().replace('</robot>', plugin(filename, tags) + more + '</robot>')
    description = load_description(text)
    (drive,) = description.drives
    return drive, list(description.report.findings)


def from_yaml(text=None, **parameters):
    """Return the drive for a controller's parameters."""
    description = load_description(text or skid_steered())
    (drive,) = drives_from_mapping({'base': parameters}, description)
    return drive


def test_gazebos_differential_drive_is_read():
    """Use the plugin's joints, dimensions, limits, topics and frames."""
    drive, findings = loaded(
        TAGS + '<wheel_separation>0.4</wheel_separation><wheel_radius>0.1</wheel_radius>'
        '<odom_publish_frequency>20</odom_publish_frequency><topic>/go</topic>'
        '<odom_topic>/reckoned</odom_topic><frame_id>o</frame_id>'
        '<child_frame_id>b</child_frame_id><max_linear_velocity>2</max_linear_velocity>'
        '<min_velocity>-0.5</min_velocity><max_angular_acceleration>3</max_angular_acceleration>'
    )
    assert findings == []
    assert [(wheel.joint, wheel.position[1]) for wheel in drive.wheels] == [
        ('front_left', 0.2),
        ('rear_left', 0.2),
        ('front_right', -0.2),
        ('rear_right', -0.2),
    ]
    assert (drive.name, drive.kind, drive.rate) == ('diff_drive', 'differential', 20.0)
    assert (drive.command_topic, drive.odom_topic) == ('/go', '/reckoned')
    assert (drive.odom_frame, drive.base_frame) == ('o', 'b')
    linear, _, angular = drive.limits
    assert (linear.min_velocity, linear.max_velocity) == (-0.5, 2.0)
    assert (angular.max_acceleration, angular.max_deceleration) == (3.0, 3.0)
    assert linear.max_jerk == math.inf


def test_gazebo_classics_differential_drive_is_read():
    """Use a wheel's diameter and acceleration; they limit both motions."""
    drive, findings = loaded(
        TAGS + '<wheel_separation>0.4</wheel_separation><wheel_diameter>0.2</wheel_diameter>'
        '<max_wheel_acceleration>10</max_wheel_acceleration><command_topic>cmd_vel</command_topic>'
        '<odometry_topic>odom</odometry_topic><publish_odom_tf>true</publish_odom_tf>'
        '<robot_base_frame>base_link</robot_base_frame>',
        'libgazebo_ros_diff_drive.so',
    )
    assert findings == []
    assert drive.wheels[0].radius == 0.1
    # the limit holds for a wheel's rim, as in the plugin [m/s²]
    assert drive.limits[0].max_acceleration == pytest.approx(10.0)
    assert drive.limits[2].max_deceleration == pytest.approx(50.0)
    assert (drive.command_topic, drive.odom_topic) == ('cmd_vel', 'odom')
    assert drive.provides_tf


def test_tags_of_ros_1_are_read():
    """Read the tags of the plugin in ROS 1 as those in ROS 2."""
    tags = (
        '<leftJoint>front_left</leftJoint><rightJoint>front_right</rightJoint>'
        '<wheelSeparation>0.4</wheelSeparation><wheelDiameter>0.2</wheelDiameter>'
        '<odometryTopic>reckoned</odometryTopic><publishOdomTF>true</publishOdomTF>'
    )
    drive, findings = loaded(tags, 'libgazebo_ros_diff_drive.so')
    assert findings == []
    assert (drive.wheels[0].radius, drive.wheels[0].position) == (0.1, (0.0, 0.2))
    assert (drive.odom_topic, drive.provides_tf) == ('reckoned', True)


@pytest.mark.parametrize(
    ('ros', 'topics'),
    [
        ('<remapping>cmd_vel:=go</remapping>', ('go', '')),
        ('<namespace>/bot</namespace>', ('/bot/cmd_vel', '/bot/odom')),
        (
            '<namespace>bot</namespace><remapping>odom:=odom/unfiltered</remapping>',
            ('/bot/cmd_vel', '/bot/odom/unfiltered'),
        ),
    ],
)
def test_remapped_topics_of_plugins_are_used(ros, topics):
    """Use the namespace and the remappings of a plugin of gazebo_ros."""
    drive, _ = loaded(
        TAGS + '<wheel_separation>0.4</wheel_separation><wheel_diameter>0.2</wheel_diameter>'
        f'<ros>{ros}</ros>',
        'libgazebo_ros_diff_drive.so',
    )
    assert (drive.command_topic, drive.odom_topic) == topics


def test_gazebos_drive_gives_the_frame_on_the_topic_tf():
    """Publish the odometry's frame if the plugin's topic for it is /tf."""
    for topic, is_given in (('/tf', True), ('tf', True), ('/model/r/tf', False)):
        drive, _ = loaded(TAGS + f'<tf_topic>{topic}</tf_topic>')
        assert drive.provides_tf is is_given


def mecanum(more):
    """Return the mecanum drive of four wheels with more tags, and the findings."""
    tags = ''.join(
        f'<{end}_joint>{joint}</{end}_joint>'
        for end, joint in (
            ('front_left', 'front_left'),
            ('front_right', 'front_right'),
            ('back_left', 'rear_left'),
            ('back_right', 'rear_right'),
        )
    )
    return loaded(
        tags + '<wheel_separation>0.4</wheel_separation><wheelbase>0.3</wheelbase>'
        '<wheel_radius>0.1</wheel_radius>',
        'libignition-gazebo-mecanum-drive-system.so',
        more,
    )


def friction(**others):
    """Return tags for mecanum wheel links; others: by joint, '' for none."""
    signs = {'front_left': 1, 'front_right': -1, 'rear_right': 1, 'rear_left': -1}
    return ''.join(
        others.get(name, mecanum_friction(name, 0.25 * math.pi * sign))
        for name, sign in signs.items()
    )


def test_gazebos_mecanum_drive_is_read():
    """Put the wheels at the corners, with their rollers in an X."""
    drive, findings = mecanum(friction())
    assert findings == []
    assert {
        wheel.joint: (*wheel.position, round(wheel.roller / math.pi, 12)) for wheel in drive.wheels
    } == {
        'front_left': (0.15, 0.2, 0.25),
        'front_right': (0.15, -0.2, -0.25),
        'rear_right': (-0.15, -0.2, 0.25),
        'rear_left': (-0.15, 0.2, -0.25),
    }


@pytest.mark.parametrize(
    'tags',
    [
        '',
        mecanum_friction('rear_left', 0.25 * math.pi),
        mecanum_friction('rear_left', -0.25 * math.pi, 'rear_left_link'),
    ],
)
def test_mecanum_wheels_that_roll_like_others_are_warned_of(tags):
    """Warn about wheels without tags imitating rollers, or with a wrong or rotating direction."""
    _, (finding,) = mecanum(friction(rear_left=tags))
    assert (finding.code, finding.value) == ('drive-geometry', 'rear_left')
    assert '<fdir1 gz:expressed_in="base_link">-1 -1 0</fdir1>' in finding.message


def test_a_friction_direction_in_the_axes_of_no_link_is_warned_of():
    """Report it, with the link probably meant."""
    tags = mecanum_friction('rear_left', -0.25 * math.pi, 'base_lnk')
    _, (finding, _) = mecanum(friction(rear_left=tags))
    assert (finding.code, finding.value) == ('unknown-reference', 'base_lnk')
    assert "did you mean 'base_link'" in finding.message


def test_dimensions_that_are_not_given_are_the_robots():
    """Measure separation, radius and wheelbase in the description."""
    drive = from_yaml(type='diff_drive_controller/DiffDriveController', **SIDES)
    assert [wheel.position for wheel in drive.wheels] == [(0, 0.2), (0, 0.2), (0, -0.2), (0, -0.2)]
    assert drive.wheels[0].radius == 0.1
    assert drive.pose_covariance == drive.twist_covariance == ODOMETRY_COVARIANCE
    names = {
        'traction_joints_names': ['rear_right', 'rear_left'],
        'steering_joints_names': ['steer_right', 'steer_left'],
    }
    drive = from_yaml(
        car(), type='ackermann_steering_controller/AckermannSteeringController', **names
    )
    assert [(one.joint, one.position) for one in drive.steering] == [
        ('steer_left', pytest.approx((0.4, 0.15))),
        ('steer_right', pytest.approx((0.4, -0.15))),
    ]
    # earlier key names
    old = from_yaml(
        car(),
        type='ackermann',
        front_steering=True,
        rear_wheels_names=names['traction_joints_names'],
        front_wheels_names=names['steering_joints_names'],
        wheelbase=0.4,
        front_wheel_track=0.3,
        rear_wheel_track=0.3,
        front_wheels_radius=0.1,
        rear_wheels_radius=0.1,
    )
    assert [each.joint for each in old.wheels] == [each.joint for each in drive.wheels]
    assert old.steering[0].position == pytest.approx(drive.steering[0].position)


def test_parameters_of_the_controllers_are_read():
    """Accept the names in diff_drive_controller, including those in earlier releases."""
    drive = from_yaml(
        type='differential',
        **SIDES,
        wheel_separation=0.4,
        wheel_radius=0.1,
        wheel_separation_multiplier=1.5,
        left_wheel_radius_multiplier=1.01,
        cmd_vel_timeout=0.25,
        open_loop=True,
        position_feedback=False,
        velocity_rolling_window_size=7,
        publish_rate=50,
        enable_odom_tf=True,
        odom_frame_id='o',
        base_frame_id='b',
        use_stamped_vel=True,
        pose_covariance_diagonal=[1, 2, 3, 4, 5, 6],
        linear={
            'x': {
                'has_velocity_limits': False,
                'max_velocity': 1.0,
                'max_acceleration': 2.0,
                'min_acceleration': -3.0,
                'max_jerk': math.nan,
            }
        },
        angular={
            'z': {
                'max_velocity': 2.0,
                'max_acceleration': 1.0,
                'max_deceleration': -4.0,
                'max_acceleration_reverse': -5.0,
                'max_deceleration_reverse': 6.0,
                'max_jerk': 7.0,
                'min_jerk': -8.0,
            }
        },
    )
    assert drive.wheels[0].radius == pytest.approx(0.101)
    assert drive.separation_multiplier == 1.5
    assert (drive.timeout, drive.rate, drive.velocity_window) == (0.25, 50.0, 7)
    assert drive.open_loop and not drive.position_feedback and drive.provides_tf
    assert (drive.odom_frame, drive.base_frame, drive.is_stamped) == ('o', 'b', True)
    assert drive.pose_covariance == (1, 2, 3, 4, 5, 6)
    linear, _, angular = drive.limits
    assert linear.max_velocity == math.inf
    assert (linear.max_acceleration, linear.max_deceleration) == (2.0, 3.0)
    assert linear.max_jerk == math.inf
    assert (angular.min_velocity, angular.max_velocity) == (-2.0, 2.0)
    assert (
        angular.max_acceleration,
        angular.max_deceleration,
        angular.max_acceleration_reverse,
        angular.max_deceleration_reverse,
        angular.max_jerk,
        angular.min_jerk,
    ) == (1, 4, 5, 6, 7, 8)


WRONG = [
    ({'type': 'diferential'}, "must be one of .*did you mean 'differential'"),
    ({'left_wheel_names': ['front_left', 'rear_lft']}, "did you mean 'rear_left'"),
    ({'left_wheel_names': 'front_left'}, 'must be a list'),
    ({'left_wheel_names': ['front_left', 'front_left']}, 'each joint once'),
    ({'left_wheel_names': ['front_left', 'front_right']}, 'front_right'),
    ({'wheel_radius': -1.0}, 'wheel_radius.*must be 1e-06 to'),
    ({'wheel_radius': 'big'}, 'wheel_radius.*must be a number'),
    ({'linear': {'x': {'max_jerk': -1.0}}}, 'max_jerk.*must be at least 0'),
    ({'cmd_vel_timeout': -1.0}, 'cmd_vel_timeout'),
    ({'pose_covariance_diagonal': [1.0]}, '6 finite numbers'),
    ({'velocity_rolling_window_size': 1.5}, 'whole number'),
    ({'wheel_radius': math.nan}, 'wheel_radius'),
    ({'velocity_rolling_window_size': math.nan}, 'must be 1 to'),
]


@pytest.mark.parametrize(('wrong', 'words'), WRONG)
def test_wrong_parameters_are_named(wrong, words):
    """Report every wrong key with its value and the expected value, all at once."""
    good = {'type': 'differential', **SIDES, 'wheel_separation': 0.4, 'wheel_radius': 0.1}
    with pytest.raises(DescriptionError, match=f'(?s)base.*{words}|{words}.*base'):
        drives_from_mapping({'base': {**good, **wrong}}, load_description(skid_steered()))


def test_two_drives_do_not_share_a_joint():
    """Name the drive using the joint."""
    good = {'type': 'differential', **SIDES}
    with pytest.raises(DescriptionError, match="drive 'one' has this joint already"):
        drives_from_mapping({'one': good, 'two': good}, load_description(skid_steered()))


def test_a_drive_that_does_not_fit_the_robot_is_reported():
    """Warn about dimensions that differ from the robot's, and about reversed axes."""
    text = skid_steered().replace(
        '</robot>',
        plugin(
            'gz-sim-diff-drive-system',
            TAGS + '<wheel_separation>0.5</wheel_separation>'
            '<wheel_radius>0.2</wheel_radius><glitter>1</glitter>',
        )
        + '</robot>',
    )
    text = text.replace(
        '<origin xyz="0.15 0.2 0"/><axis xyz="0 1 0"/>',
        '<origin xyz="0.15 0.2 0"/><axis xyz="0 -1 0"/>',
    )
    words = [finding.message for finding in load_description(text).report.warnings]
    assert 'is 0.25 m off the middle in the drive, and 0.2 m in the robot' in words
    assert any('has the radius 0.2 m' in each for each in words)
    assert any('turns backwards' in each for each in words)
    codes = {finding.code for finding in load_description(text).report.warnings}
    assert codes == {'drive-geometry', 'unknown-tag'}


def test_a_drive_on_links_apart_from_the_root_is_reported():
    """Report the second root; the drive's joints have no poses then."""
    text = skid_steered().replace(
        '</robot>', plugin('gz-sim-diff-drive-system', TAGS) + '<link name="apart"/></robot>'
    )
    before, joint, after = text.partition('<joint name="front_left"')
    apart = after.replace('<parent link="base_link"/>', '<parent link="apart"/>', 1)
    report = check_description(before + joint + apart)
    assert {each.code for each in report.errors} == {'several-roots'}


def test_defects_of_plugins_leave_out_the_drive():
    """Report missing tags, malformed numbers and unknown joints, with their lines."""
    text = skid_steered().replace(
        '</robot>',
        '\n'
        + plugin(
            'gz-sim-diff-drive-system',
            '\n<left_joint>front_lft</left_joint><right_joint>front_right</right_joint>',
        )
        + '</robot>',
    )
    assert load_description(text).drives == ()
    (error,) = check_description(text).strict().errors
    assert (error.code, error.value, error.line) == ('drive-joint', 'front_lft', 2)
    assert error.omits == 'drive'
    assert "did you mean 'front_left'" in error.message
    text = skid_steered().replace(
        '</robot>',
        '\n'
        + plugin(
            'gz-sim-diff-drive-system',
            '\n<left_joint>front_left</left_joint><wheel_radius>wide</wheel_radius>',
        )
        + '</robot>',
    )
    report = check_description(text)
    assert report.ok
    assert [(error.code, error.line) for error in report.strict().errors] == [
        ('missing-tag', 2),
        ('not-a-number', 3),
    ]


CONTROLLERS = """\
/**:
  controller_manager:
    ros__parameters:
      update_rate: 100
      joint_state_broadcaster:
        type: joint_state_broadcaster/JointStateBroadcaster
      gripper:
        type: gripper_controllers/GripperActionController
      arm:
        type: joint_trajectory_controller/JointTrajectoryController
      wheels:
        type: diff_drive_controller/DiffDriveController
  wheels:
    ros__parameters:
      left_wheel_names: [front_left, rear_left]
      right_wheel_names: [front_right, rear_right]
      wheel_separation: 0.4
      wheel_radius: 0.1
      sparkle: true
"""
CONTROL = (
    '<gazebo><plugin filename="libgz_ros2_control-system.so" name="c">'
    '<parameters>controllers.yaml</parameters></plugin></gazebo>'
)


def test_controllers_of_ros2_control_are_simulated_or_named(tmp_path):
    """Simulate drives; name the other controllers with file, line, name and type."""
    (tmp_path / 'controllers.yaml').write_text(CONTROLLERS)
    robot = tmp_path / 'robot.urdf'
    robot.write_text(skid_steered().replace('</robot>', CONTROL + '</robot>'))
    description = load_description(robot)
    (drive,) = description.drives
    assert (drive.name, len(drive.wheels)) == ('wheels', 4)
    told = {(found.name, found.value): found.message for found in description.report.findings}
    assert told.keys() == {
        ('gripper', 'gripper_controllers/GripperActionController'),
        ('arm', '[]'),
        ('arm', ''),
        ('wheels', 'True'),
    }
    gripper = told['gripper', 'gripper_controllers/GripperActionController']
    assert gripper == 'is not simulated (controllers.yaml:8)'
    assert 'controllers.yaml:10' in told['arm', '[]']
    assert 'controllers.yaml:19' in told['wheels', 'True']


def test_missing_and_broken_controller_files_are_reported(tmp_path):
    """Continue without a missing file, and without an unreadable one unless strict."""
    robot = tmp_path / 'robot.urdf'
    robot.write_text(skid_steered().replace('</robot>', CONTROL + '</robot>'))
    (found,) = load_description(robot).report.findings
    assert (found.code, found.value) == ('unread-controllers', 'controllers.yaml')
    (tmp_path / 'controllers.yaml').write_text('a: [')
    report = check_description(robot)
    assert report.ok
    (error,) = report.strict().errors
    assert error.code == 'not-yaml' and 'controllers.yaml:' in error.message


def test_every_plugin_that_is_not_simulated_is_named():
    """Ignore plugins whose effect exists without them, and name the others, with their lines."""
    text = skid_steered().replace(
        '</robot>',
        ''.join(
            f'\n{plugin(name, "")}'
            for name in (
                'gz-sim-joint-state-publisher-system',
                'libgazebo_ros_p3d.so',
                'libfancy_lights.so',
                'gz-sim-spacecraft-thruster-model-system',
            )
        )
        + '</robot>',
    )
    found = [
        (each.code, each.value, each.name, each.line) for each in check_description(text).findings
    ]
    assert found == [
        ('not-simulated', 'libgazebo_ros_p3d.so', 'p', 3),
        ('not-simulated', 'libfancy_lights.so', 'p', 4),
        ('not-simulated', 'gz-sim-spacecraft-thruster-model-system', 'p', 5),
    ]


def test_check_names_them_too(capsys, tmp_path):
    """Print the plugin on the command line, as text and as JSON."""
    robot = tmp_path / 'robot.urdf'
    robot.write_text(skid_steered().replace('</robot>', plugin('libx.so', '') + '</robot>'))
    assert main(['check', str(robot), '--json']) == 0
    (finding,) = json.loads(capsys.readouterr().out)['findings']
    assert (finding['code'], finding['value']) == ('not-simulated', 'libx.so')


def test_the_rover_has_a_drive():
    """Find one drive, with its wheels' dimensions."""
    description = load_description(path_of('rover'))
    (drive,) = description.drives
    assert [wheel.position for wheel in drive.wheels] == [(0.0, 0.16), (0.0, -0.16)]
    assert drive.limits[0].max_velocity == 1.2


def test_a_drive_of_another_robot_is_skipped():
    """Use the drives whose joints the robot has, and skip those for other robots."""
    both = {
        'base': {'type': 'differential', **SIDES},
        'other': {'type': 'differential', 'left_wheel_names': ['l'], 'right_wheel_names': ['r']},
    }
    description = load_description(skid_steered())
    drives = drives_from_mapping(both, description, [*description.joints, 'l', 'r'])
    assert [drive.name for drive in drives] == ['base']
    with pytest.raises(DescriptionError, match='no joint has this name') as caught:
        drives_from_mapping(both, description)
    assert [error.code for error in caught.value.report.errors] == ['drive-joint'] * 2


def test_planar_move_is_read_in_both_generations():
    """Use the tags, rates and topics of ROS 2 and ROS 1; level the base at their rates."""
    name = 'libgazebo_ros_planar_move.so'
    drive, findings = loaded(
        '<ros><remapping>odom:=moved</remapping></ros><update_rate>10</update_rate>'
        '<publish_rate>5</publish_rate><covariance_x>0.5</covariance_x>'
        '<odometry_frame>o</odometry_frame><robot_base_frame>base_link</robot_base_frame>',
        name,
    )
    assert findings == []
    assert (drive.kind, drive.wheels, drive.rate, drive.is_true) == ('planar', (), 5.0, True)
    assert (drive.odom_topic, drive.provides_tf, drive.odom_frame) == ('moved', True, 'o')
    assert drive.pose_covariance == (0.5, 1e-5, 1e12, 1e12, 1e12, 1e-3)
    assert drive.base_motion.level_period == 0.1
    old, findings = loaded(
        '<commandTopic>go</commandTopic><odometryRate>50</odometryRate>'
        '<cmdTimeout>0.5</cmdTimeout><robotBaseFrame>base_link</robotBaseFrame>',
        name,
    )
    assert findings == []
    assert (old.command_topic, old.odom_topic, old.rate) == ('go', 'odom', 50.0)
    assert (old.timeout, old.base_motion.level_period) == (0.5, 0.0)


def test_wheel_pairs_have_their_own_sizes():
    """Pair sizes in order; a pair without one has the last; the torque is the motor's."""
    drive, findings = loaded(
        TAGS + '<num_wheel_pairs>2</num_wheel_pairs><wheel_separation>0.4</wheel_separation>'
        '<wheel_diameter>0.2</wheel_diameter><wheel_diameter>0.202</wheel_diameter>'
        '<max_wheel_torque>7</max_wheel_torque><publish_odom>true</publish_odom>',
        'libgazebo_ros_diff_drive.so',
    )
    assert findings == []
    assert [(wheel.joint, wheel.radius, wheel.position[1]) for wheel in drive.wheels] == [
        ('front_left', 0.1, 0.2),
        ('rear_left', 0.101, 0.2),
        ('front_right', 0.1, -0.2),
        ('rear_right', 0.101, -0.2),
    ]
    assert {wheel.effort for wheel in drive.wheels} == {7.0}
    assert (drive.odom_topic, drive.is_true, drive.rate) == ('odom', True, 100.0)


def test_parts_of_plugins_that_are_not_simulated_are_told():
    """Warn of links of VelocityControl and of topics of a car, by tag and line."""
    _, findings = loaded('<link_name>chassis</link_name>', 'gz-sim-velocity-control-system')
    assert [(each.element, each.code) for each in findings] == [
        ('gazebo/plugin/link_name', 'not-simulated')
    ]
