"""Random damage to a description: a report or a robot comes out, never anything else."""

from __future__ import annotations

from pathlib import Path
import random
import re

import pytest

from sim_bridge.description import DescriptionError, load_description

# everything the reader knows, once
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
TOKEN = re.compile(r'<[^>]*>|"[^"]*"|[^<>"]+')
WORDS = re.compile(r'[A-Za-z_0-9.]+')
NASTY = [
    '',
    '0',
    '-1',
    'nan',
    'inf',
    '1e999',
    '1e-320',
    '1e300',
    '-1e-160',
    '1 2',
    '\u0661',
    '\u00bd',
    'a b',
    '&amp;',
    '&x;',
    '\0',
    '\ud800',
    '<',
    '>',
    '"',
    '--',
    ']]>',
    '<!--',
    '<![CDATA[',
    '<!DOCTYPE r>',
    '<?x?>',
    'world',
    'j',
    'x' * 300,
    '${1/0}',
    '\U0001f916',
]


def damage(rng: random.Random) -> str:
    """Return whole description with one to four pieces swapped, doubled, dropped or replaced."""
    text = WHOLE
    for _ in range(rng.randint(1, 4)):
        pattern = rng.choice((TOKEN, WORDS))
        pieces = [match.span() for match in pattern.finditer(text)]
        start, end = rng.choice(pieces)
        other = slice(*rng.choice(pieces))
        replacement = rng.choice(
            (
                '',
                text[start:end] * 2,
                text[other],
                rng.choice(NASTY),
                text[start:end] + rng.choice(NASTY),
            )
        )
        text = text[:start] + replacement + text[end:]
    return text


def outcome(source: str | Path) -> bool:
    """Load; tell whether it worked. A refusal must say why, in words and in a report."""
    try:
        report = load_description(source).report
    except DescriptionError as err:
        report = err.report
    assert all(finding.message and finding.code for finding in report.findings)
    assert report.to_json()
    return report.ok


def test_the_whole_description_loads():
    """Start from something sound."""
    assert outcome(WHOLE)


@pytest.mark.parametrize('seed', range(6))
def test_damaged_descriptions_load_or_are_refused(seed):
    """Load hundreds of damaged descriptions; see that both outcomes occur."""
    rng = random.Random(seed)
    outcomes = [outcome(damage(rng)) for _ in range(100)]
    assert {True, False} == set(outcomes)


def test_damaged_bytes_load_or_are_refused(tmp_path):
    """Flip bytes of a file, the encoding's too; see that both outcomes occur."""
    rng = random.Random(0)
    path = tmp_path / 'damaged.urdf'
    for encoding in ('utf-8', 'utf-16'):
        outcomes = []
        for _ in range(100):
            data = bytearray(WHOLE.encode(encoding))
            for _ in range(rng.randint(1, 5)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            path.write_bytes(data)
            outcomes.append(outcome(path))
        assert {True, False} == set(outcomes)


def test_deep_and_wide_files_end():
    """Read thousands of nested tags, of links in a chain, and of attributes."""
    deep = '<a>' * 20_000 + '</a>' * 20_000
    assert outcome(f'<robot name="r"><link name="l">{deep}</link></robot>')
    count = 400
    ball = (
        '<inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    links = ''.join(f'<link name="l{i}">{ball}</link>' for i in range(count))
    joints = ''.join(
        f'<joint name="j{i}" type="continuous">'
        f'<parent link="l{i - 1}"/><child link="l{i}"/></joint>'
        for i in range(1, count)
    )
    assert outcome(f'<robot name="r">{links}{joints}</robot>')
    wide = ' '.join(f'a{i}="1"' for i in range(5000))
    assert outcome(f'<robot name="r"><link name="l" {wide}/></robot>')
