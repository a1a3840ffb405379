"""Changed numbers in a URDF, the rest byte for byte."""

from __future__ import annotations

import numpy as np
import pytest
from shipped import path_of

import sim_bridge as sb
from sim_bridge.description.urdf.amend import amended, InertialValues, JointValues

TEXT = """<?xml version='1.0' encoding='latin-1'?>
<!-- <joint name="a"> é -->
<robot name='r'>\r
  <link name="world"/>
  <link name="b"><inertial><mass value='1.0' /><inertia ixx="1" ixy="0" ixz="0" iyy='1'
      iyz="0" izz="1"/></inertial></link>
\t<joint name="a" type="continuous">
\t\t<parent link="world"/> <child link="b"/>
\t\t<axis xyz="0 0 1"/>
\t</joint>
  <ros2_control name="a > b" type="system"><joint name="a"/></ros2_control>
</robot>
"""


def test_only_numbers_change():
    """Insert missing numbers at the file's indentation, and touch nothing else."""
    body = InertialValues(2.0, np.array([0.1, 0.0, 0.0]), np.diag([1.0, 2.0, 2.5]), np.eye(3))
    text = amended(TEXT, {'a': JointValues(friction=0.5, damping=0.0)}, {'b': body})
    assert text == TEXT.replace("<mass value='1.0' />", "<mass value='2' />").replace(
        "iyy='1'", "iyy='2'"
    ).replace('izz="1"', 'izz="2.5"').replace(
        '</inertial>', '<origin xyz="0.1 0 0"/></inertial>'
    ).replace('\t</joint>\n', '\t\t<dynamics friction="0.5"/>\n\t</joint>\n')
    robot = sb.World().load_urdf(text)
    assert robot.joint('a').friction == 0.5
    assert robot.link('b').m == 2.0
    assert robot.link('b').c.tolist() == [0.1, 0.0, 0.0]


def test_the_same_numbers_change_nothing():
    """Keep the text of numbers that already have the wanted value."""
    path = path_of('arm')
    robot = sb.World().load_urdf(path)
    joints = {
        name: JointValues(robot.joint(name).friction, robot.joint(name).damping, 0.0)
        for name in robot.joint_names
    }
    links = {
        link.name: InertialValues(link.m, link.c, link.I, np.eye(3))
        for link in robot.links
        if link.m > 0.0 and link.name != 'base'
    }
    assert amended(path.read_text(), joints, links) == path.read_text()


def test_an_inertia_is_written_in_the_axes_of_its_origin():
    """Load to the given inertia, whatever the axes in the file."""
    path = path_of('pendulum')
    turned = path.read_text().replace(
        '<origin xyz="0 0 -0.5"/>\n      <mass',
        '<origin xyz="0 0 -0.5" rpy="0.3 0.2 0.1"/>\n      <mass',
    )
    rotation = sb.load_description(turned).links['rod'].inertial.pose.rotation
    wanted = np.array([[0.05, 0.001, 0.002], [0.001, 0.06, 0.003], [0.002, 0.003, 0.04]])
    text = amended(
        turned,
        {},
        {'rod': InertialValues(1.2, np.array([0.0, 0.01, -0.4]), wanted, np.asarray(rotation))},
    )
    link = sb.World().load_urdf(text).link('rod')
    assert np.allclose(link.I, wanted, rtol=1e-7, atol=1e-10)
    assert link.c == pytest.approx([0.0, 0.01, -0.4])
    assert 'rpy="0.3 0.2 0.1"' in text


def test_missing_elements_are_named():
    """Name a missing joint, and a link without inertia."""
    with pytest.raises(sb.UnknownNameError, match="unknown joint 'c'.*a"):
        amended(TEXT, {'c': JointValues(1.0)}, {})
    body = InertialValues(1.0, np.zeros(3), np.eye(3), np.eye(3))
    with pytest.raises(sb.UnknownNameError, match="unknown link 'world'.*b"):
        amended(TEXT, {}, {'world': body})
