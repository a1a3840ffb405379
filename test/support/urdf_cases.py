"""
Malformed descriptions for the tests of errors and warnings: a valid robot with changed lines.

A case contains the changed lines by number, then the expected finding: element, name, attribute,
value, line.
"""

from __future__ import annotations

import pytest

INERTIAL = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="2"/>'
ENDS = '<parent link="base"/><child link="arm"/>'

# the lines of a valid robot; a case replaces or inserts some of them
SOUND = [
    '<robot name="r">',  # 1
    f'<link name="base">{INERTIAL}</link>',  # 2
    f'<link name="arm">{INERTIAL}</link>',  # 3
    '<joint name="elbow" type="revolute">',  # 4
    ENDS,  # 5
    LIMIT,  # 6
    '<axis xyz="0 0 1"/>',  # 7
    '</joint>',  # 8
    '</robot>',  # 9
]


def robot(lines: dict[int, str]) -> str:
    """Return the valid robot with some lines replaced, by number from 1."""
    return '\n'.join(lines.get(number, line) for number, line in enumerate(SOUND, 1))


def joint(
    name: str, kind: str = 'revolute', parent: str = 'base', child: str = 'hand', more: str = LIMIT
) -> str:
    """Return a joint in one line."""
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{more}</joint>'


def link(name: str, content: str = INERTIAL) -> str:
    """Return a link in one line."""
    return f'<link name="{name}">{content}</link>'


def inertial(mass: str = '1', origin: str = '', **moments: str) -> str:
    """Return an inertial element with some values changed."""
    values = {'ixx': '1', 'iyy': '1', 'izz': '1', 'ixy': '0', 'ixz': '0', 'iyz': '0', **moments}
    written = ' '.join(f'{key}="{value}"' for key, value in values.items() if value is not None)
    return f'<inertial>{origin}<mass value="{mass}"/><inertia {written}/></inertial>'


def gazebo(content: str, reference: str = 'elbow') -> str:
    """Return a gazebo element in one line."""
    return f'<gazebo reference="{reference}">{content}</gazebo></robot>'


def sensor(content: str, kind: str = 'imu', reference: str = 'arm') -> str:
    """Return a Gazebo sensor called s in one line."""
    return gazebo(f'<sensor name="s" type="{kind}">{content}</sensor>', reference)


def ros2_control(interface: str) -> str:
    """Return a ros2_control sensor called s, in the second of two lines."""
    content = f'<sensor name="s"><state_interface name="{interface}"/></sensor>'
    return f'<ros2_control>\n{content}</ros2_control></robot>'


def cases(*tables: dict[str, list[tuple]]) -> list:
    """Flatten tables into test parameters."""
    codes = dict.fromkeys(code for table in tables for code in table)
    return [
        pytest.param(code, *case, id=f'{code}-{number}')
        for code in codes
        for number, case in enumerate(case for table in tables for case in table.get(code, ()))
    ]


def find(findings, code):
    """Return a code's findings as tuples."""
    return [
        (found.element, found.name, found.attribute, found.value, found.line)
        for found in findings
        if found.code == code
    ]


# one robot with everything the reader supports
WHOLE = """<?xml version="1.0"?>
<robot name="r" version="1.0">
  <link name="world"/>
  <link name="a"><inertial><origin xyz="0 0 1" rpy="0 0 1"/><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial> <visual name="v"><origin
    xyz="0 0 0"/><geometry><mesh filename="package://p/a.stl" scale="1 1 1"/></geometry>
      <material name="m"><color rgba="1 0 0 1"/></material></visual>
    <collision><geometry><capsule radius="1" length="2"/></geometry></collision></link>
  <link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
  iyz="0"/></inertial></link> <link name="c"><inertial><mass value="1"/><inertia ixx="1" iyy="1"
  izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link> <joint name="f" type="fixed"><parent
  link="world"/><child link="a"/><origin quat_xyzw="0 0 0 1"/></joint> <joint name="j"
  type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="5" velocity="inf"/><dynamics damping="1" friction="1"
    armature="1"/> <mimic joint="k" multiplier="2" offset="1"/><safety_controller k_velocity="1"
    k_position="2"/></joint>
  <joint name="k" type="prismatic"><parent link="b"/><child link="c"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="5" velocity="3"/></joint>
  <gazebo reference="j"><springStiffness>3</springStiffness><springReference>1</springReference>
    <sensor name="ft" type="force_torque"><pose>0 0 1 0 0
    0</pose><update_rate>100</update_rate><force_torque> <frame>child</frame><force><x><noise
    type="gaussian"><stddev>1</stddev></noise></x></force></force_torque></sensor>
  </gazebo>
  <gazebo reference="c"><turnGravityOff>true</turnGravityOff><sensor name="i" type="imu"><imu>
    <noise><type>gaussian</type><rate><stddev>1</stddev></rate></noise></imu></sensor></gazebo>
  <sensor name="s" type="gyroscope"><parent link="c"/><origin xyz="0 0 0" rpy="0 0 0"/></sensor>
  <ros2_control name="x" type="system"><sensor name="y"><state_interface name="force.x"/>
    <param name="joint">k</param></sensor></ros2_control>
  <sim_bridge><joint name="loop" type="universal"><link1 name="b" xyz="0 0 1" rpy="0 0 1"/><link2
    name="c" quat_xyzw="0 0 0 1"/><axis xyz="0 0 1"/><axis2 xyz="1 0 0"/><limit lower="-1"
    upper="inf"/><dynamics damping="1"/><compliance erp="0.2" cfm="1e-6"/></joint>
    <crawler link="a" axis="0 1 0"/></sim_bridge>
  <gazebo><joint name="sdf" type="revolute"><parent>a</parent><child>c</child><pose
    relative_to="j">0 0 1 0 0 0</pose><axis><xyz expressed_in="k">0 0 1</xyz><limit><lower>-1
    </lower></limit><dynamics><damping>1</damping></dynamics></axis></joint>
    <plugin filename="gz-sim-track-controller-system"><link>c</link></plugin></gazebo>
</robot>
"""
