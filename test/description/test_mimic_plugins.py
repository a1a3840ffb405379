"""Mimic joint plugins of Gazebo Classic: rules, defects and motion."""

from __future__ import annotations

import pytest
from robots import joint, link, robot
from vehicles import plugin

import sim_bridge as sb
from sim_bridge.description import load_description

FINGERS = {'right': (-1.0, 0.0), 'left_tip': (0.5, 0.1)}


def gripper(plugins, mimic=''):
    """Return a gripper whose joint `left` is commanded; mimic: rule of joint `right`."""
    names = ['left', *FINGERS]
    text = robot(
        link('world', 0.0),
        *(link(f'{name}_link', 0.1, (0.02, 0, 0), (1e-3, 1e-3, 1e-3)) for name in names),
        *(joint(name, 'world', f'{name}_link', 'continuous', (0, 0, 1)) for name in names),
    )
    if mimic:
        head, tail = text.split('name="right"', 1)
        text = f'{head}name="right"{tail.replace("</joint>", mimic + "</joint>", 1)}'
    return text.replace('</robot>', f'{plugins}</robot>')


def following(name, multiplier, offset, followed='left', tags=('joint', 'mimicJoint')):
    return (
        f'<{tags[0]}>{followed}</{tags[0]}><{tags[1]}>{name}</{tags[1]}>'
        f'<multiplier>{multiplier}</multiplier><offset>{offset}</offset>'
        '<maxEffort>10</maxEffort><sensitiveness>0</sensitiveness>'
    )


@pytest.mark.parametrize(
    ('filename', 'tags'),
    [
        ('libroboticsgroup_gazebo_mimic_joint_plugin.so', ('joint', 'mimicJoint')),
        ('libgazebo_mimic_joint_plugin.so', ('joint', 'mimicJoint')),
        ('libgazebo_ros_mimic_joint.so', ('jointName', 'mimicJoint')),
    ],
)
def test_all_fingers_of_a_gripper_close(filename, tags):
    """Follow the commanded finger to the last bit, whatever generation the plugin has."""
    plugins = ''.join(
        plugin(filename, following(name, *rule, tags=tags)) for name, rule in FINGERS.items()
    )
    description = load_description(gripper(plugins))
    assert list(description.report.findings) == []
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    hand = world.add_robot(description)
    hand.joint('left').control = 'velocity'
    hand.joint('left').target_velocity = 0.5
    world.step(1000)
    left = hand.joint('left').q
    assert left == pytest.approx(0.5, abs=1e-3)
    for name, (multiplier, offset) in FINGERS.items():
        assert hand.joint(name).q == pytest.approx(multiplier * left + offset, abs=1e-12)


def test_the_plugin_counts_beside_another_rule():
    """Replace a differing <mimic>, which Gazebo Classic ignores, and tell; keep an equal one."""
    text = gripper(
        plugin('libgazebo_mimic_joint_plugin.so', following('right', -1.0, 0.0)),
        '<mimic joint="left" multiplier="2"/>',
    )
    description = load_description(text)
    assert description.joints['right'].mimic.multiplier == -1.0
    (finding,) = description.report.findings
    assert (finding.code, finding.value) == ('mimic-replaced', 'right')
    equal = text.replace('multiplier="2"', 'multiplier="-1"')
    assert list(load_description(equal).report.findings) == []


@pytest.mark.parametrize(
    ('tags', 'code'),
    [
        (following('right', -1.0, 0.0, 'lefd'), 'mimic-unknown'),
        (following('right', -1.0, 0.0, 'right'), 'mimic-cycle'),
        ('<joint>left</joint>', 'missing-tag'),
        (following('right', 'fast', 0.0), 'not-a-number'),
    ],
)
def test_a_defective_plugin_leaves_the_joint_free(tags, code):
    """Keep the robot, and name plugin and reason."""
    description = load_description(gripper(plugin('libgazebo_mimic_joint_plugin.so', tags)))
    assert description.joints['right'].mimic is None
    (finding,) = description.report.findings
    assert (finding.code, finding.omits) == (code, 'mimic plugin')
