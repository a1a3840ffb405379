"""Findings about malformed loop joints, in addition to test_urdf_errors."""

from __future__ import annotations

from loop_cases import loop
from urdf_cases import INERTIAL, joint, robot

from sim_bridge.description import check_description


def test_defects_of_the_tree_and_of_a_loop_come_to_light_together():
    """Report an unknown link in a loop together with links that form no tree."""
    lines = {5: '<parent link="base"/><child link="x"/>'}
    report = check_description(robot(lines | loop(link2='<link2 name="leg"/>')))
    assert [finding.value for finding in report.errors] == ['x', 'leg']


def test_messages_name_alternatives():
    """Suggest the link probably meant, and list the types."""
    (finding,) = check_description(robot(loop(link2='<link2 name="amr"/>'))).errors
    assert finding.message == "no link has this name; did you mean 'arm'?"
    (finding,) = check_description(robot(loop('bolt'))).errors
    assert finding.message == (
        'unknown; the types are ball, hinge, slider, universal, hinge2, fixed, piston, planar, '
        'distance, hinge_motor, slider_motor'
    )


def test_a_tree_joint_that_closes_a_loop_gets_a_hint():
    """For a link with two parents, point to the element for loop joints."""
    second = '<joint name="again" type="fixed"><parent link="base"/><child link="arm"/></joint>'
    (finding,) = check_description(robot({9: f'{second}</robot>'})).errors
    assert finding.code == 'two-parents'
    assert '<sim_bridge>' in finding.message


def test_a_ring_that_the_root_reaches_is_reported():
    """Terminate, and name the joint that leads back to a link above it."""
    ring = (
        f'<link name="hand">{INERTIAL}</link>{joint("wrist", parent="arm", child="hand")}'
        f'{joint("back", parent="hand", child="arm")}</robot>'
    )
    (finding,) = check_description(robot({9: ring})).errors
    assert (finding.code, finding.value) == ('two-parents', 'arm')


def test_a_gazebo_joint_of_a_gazebo_link_leaves_the_robot_whole():
    """Leave out links in <gazebo> elements and their joints, with warnings."""
    extra = (
        '<gazebo><link name="bar"/><joint name="pin" type="revolute"><parent>bar</parent>'
        '<child>base</child><axis><xyz>0 0 1</xyz></axis></joint></gazebo>'
    )
    report = check_description(
        f'<robot name="r"><link name="base">{INERTIAL}</link>{extra}</robot>'
    )
    assert not report.errors
    link, pin = report.warnings
    assert (link.attribute or link.subject, link.code) == ('gazebo <link>', 'unknown-tag')
    assert (pin.name, pin.message) == ('pin', "is not simulated, left out: nor is its link 'bar'")


def test_a_gazebo_joint_with_the_name_of_a_robot_joint_is_left_out():
    """Keep the joint of the robot, as Gazebo does, with a warning."""
    extra = (
        '<gazebo><joint name="turn" type="revolute"><parent>base</parent><child>arm</child>'
        '<axis><xyz>0 0 1</xyz></axis></joint></gazebo>'
    )
    links = f'<link name="base">{INERTIAL}</link><link name="arm">{INERTIAL}</link>'
    turn = '<joint name="turn" type="fixed"><parent link="base"/><child link="arm"/></joint>'
    report = check_description(f'<robot name="r">{links}{turn}{extra}</robot>')
    assert not report.errors
    [warning] = report.warnings
    assert (warning.code, warning.name) == ('duplicate-name', 'turn')
