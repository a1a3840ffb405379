"""Clients as MoveIt and Nav2 in the corpus test."""

from __future__ import annotations

import math

from controlled_arm import controlled_arm
from vehicles import vehicle, wheel

from corpus.clients import request, try_clients
from corpus.robot_files import RobotFile
from sim_bridge.description import load_description

_DRIVE = (
    '<gazebo><plugin name="wheels" filename="libgazebo_ros_diff_drive.so">'
    '<left_joint>left</left_joint><right_joint>right</right_joint><publish_odom_tf>true</publish_odom_tf>'
    '<wheel_separation>0.4</wheel_separation><wheel_diameter>0.2</wheel_diameter>'
    '<command_topic>cmd_vel</command_topic><odometry_topic>odom</odometry_topic></plugin></gazebo>'
    '<gazebo reference="base_link"><sensor name="eye" type="ray"><topic>scan</topic><ray><scan>'
    '<horizontal><samples>11</samples><min_angle>-1</min_angle><max_angle>1</max_angle>'
    '</horizontal></scan><range><min>0.1</min><max>5</max></range></ray></sensor></gazebo>'
)


def rover(folder) -> RobotFile:
    """Write a vehicle with a drive and a lidar."""
    wheels = (('left', 0.0, 0.2), ('right', 0.0, -0.2), ('front', 0.15, 0.0), ('rear', -0.15, 0.0))
    file = folder / 'rover.urdf'
    file.write_text(vehicle(''.join(wheel(name, x, y) for name, x, y in wheels), _DRIVE))
    return RobotFile(file, folder, file.name)


def test_tasks_have_the_names_of_the_files(tmp_path):
    """Take actions and joints from parameter files, topics from plugins and sensors."""
    asked = request(load_description(controlled_arm(tmp_path)))
    [arm] = asked['trajectories']
    assert arm['action'] == '/panda_arm_controller/follow_joint_trajectory'
    assert arm['joints'] == ['shoulder', 'elbow']
    kinds = {each['action']: each['kind'] for each in asked['grippers']}
    assert kinds['/hand/gripper_cmd'] == 'GripperCommand'
    assert kinds['/jaw_controller/gripper_cmd'] == 'ParallelGripperCommand'
    asked = request(load_description(rover(tmp_path).path))
    [drive] = asked['drives']
    assert (drive['command'], drive['odometry'], drive['tf']) == ('/cmd_vel', '/odom', True)
    assert (asked['scans'], asked['clouds']) == (['/scan'], [])


def test_tasks_of_gz_lidars_and_drives_without_wheels(tmp_path):
    """Ask a lidar of gz-sim for scan and cloud, and a base without wheels for its speed."""
    file = rover(tmp_path).path
    text = file.read_text().replace('type="ray"', 'type="gpu_lidar"')
    start, end = text.index('<plugin'), text.index('</plugin>')
    planar = '<plugin name="move" filename="libgazebo_ros_planar_move.so">'
    asked = request(load_description(text[:start] + planar + text[end:]))
    assert (asked['scans'], asked['clouds']) == (['/scan'], ['/scan/points'])
    [drive] = asked['drives']
    assert drive['speed'] == math.inf


def test_both_clients_run_against_robots_as_they_are(tmp_path, ros_environment):
    """Move an arm and a gripper, drive a vehicle, and hear its odometry, transform and scans."""
    arm = RobotFile(tmp_path / 'robot.urdf', tmp_path, 'robot.urdf')
    controlled_arm(tmp_path)
    results = try_clients(arm)
    assert results['panda_arm_controller'] == results['hand'] == 'reached', results
    results = try_clients(rover(tmp_path))
    assert results == {'diff_drive': 'drives, tf', '/scan': 'scans'}
