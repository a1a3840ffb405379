"""Objects and joints from scene files in the node: their topics and poses."""

from __future__ import annotations

import numpy as np
import pytest

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.ros.params.parameter_table import checked
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.publish.base_motion import BaseMotion
from sim_bridge.ros.session.loading import load_world

URDF = """
<robot name="swing">
  <link name="world"/>
  <link name="rod"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
    iyz="0"/></inertial></link>
  <joint name="pivot" type="continuous"><parent link="world"/><child link="rod"/>
    <axis xyz="0 1 0"/></joint>
  <ros2_control name="c" type="system"><joint name="pivot">
    <state_interface name="position"><param name="initial_value">0.7</param></state_interface>
  </joint></ros2_control>
</robot>
"""

SCENE = """
world:
  objects:
    ball: {sphere: 0.1, position: [0, 0, 1], sensors: {imu: {type: imu}}, namespace: b}
    stone: {box: [0.2, 0.2, 0.2], position: [3, 0, 1], mass: 2}
    leaf: {box: [0.1, 0.1, 0.1], position: [5, 0, 1], mass: 1}
  robots:
    swing: {urdf: swing.urdf}
  joints:
    tie: {type: ball, between: [swing/rod, ball], anchor: [0, 0, 1], tree: false}
    rail: {type: hinge, between: [world, stone], anchor: [2.5, 0, 2], axis: [0, 1, 0]}
"""


@pytest.fixture(scope='module')
def loaded(tmp_path_factory):
    """Return the scene's world, as loaded by the node."""
    folder = tmp_path_factory.mktemp('scene')
    (folder / 'swing.urdf').write_text(URDF)
    (folder / 'scene.yaml').write_text(SCENE)
    return load_world(checked(SimulatorParameters, {'world': str(folder / 'scene.yaml')}))


def test_robots_start_at_initial_values_before_they_are_joined(loaded):
    """Join a robot at its initial values, and give objects with sensors topics."""
    assert {each.robot.name: each.namespace for each in loaded.robots} == {
        'swing': 'swing',
        'ball': 'b',
    }
    assert loaded.world.robots['swing'].joint('pivot').q == 0.7
    assert max(loaded.world.joint('tie').error) < 1e-12


def test_objects_on_joints_are_published_at_their_links(loaded):
    """Publish poses and twists of free objects and of objects on joints."""
    world = loaded.world
    world.step(300)
    robots = [world.robots[name] for name in ('ball', 'stone', 'leaf')]
    assert [robot.blueprint.mount is None for robot in robots] == [True, False, True]
    motion = BaseMotion(world, robots)
    for robot, pose, twist in zip(robots, motion.poses(), motion.twists(), strict=True):
        link = robot.root_link
        np.testing.assert_allclose(pose[:3], link.p, atol=1e-12)
        turned = quaternion_from_matrix(link.R)
        np.testing.assert_allclose(abs(pose[3:] @ turned), 1.0, atol=1e-12)
        np.testing.assert_allclose(twist, [*link.v, *link.w], atol=1e-12)
    assert abs(motion.twists()[1, 4]) > 0.5


def test_a_robot_of_a_scene_may_be_without_a_namespace(tmp_path):
    """Give it the topics of the simulator's own robot; refuse another robot with these."""
    file = tmp_path / 'scene.yaml'
    file.write_text("world: {robots: {left: {urdf: pendulum, namespace: ''}}}\n")
    (robot,) = load_world(checked(SimulatorParameters, {'world': str(file)})).robots
    assert (robot.robot.name, robot.namespace, robot.prefix) == ('left', '', '')
    both = {'world': str(file), 'robot': 'pendulum'}
    with pytest.raises(InvalidValueError, match="robot 'left' has this one"):
        load_world(checked(SimulatorParameters, both))
