"""Base of a robot without a setting, in nodes and verbs."""

from __future__ import annotations

import pytest

from sim_bridge.cli.main import main
from sim_bridge.description import load_description
from sim_bridge.description.mechanism.base import base_of

MASS = (
    '<inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>'
    '</inertial>'
)
BOX = '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>'
WHEEL = '<collision><geometry><cylinder radius="0.1" length="0.1"/></geometry></collision>'


def link(name, shape=''):
    """Return a link with mass."""
    return f'<link name="{name}">{MASS}{shape}</link>'


def joint(parent, child, kind='revolute'):
    """Return a joint."""
    return (
        f'<joint name="{child}_joint" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
    )


def limb(name, length, shape=BOX, kind='revolute'):
    """Return the links and joints of a limb of the base."""
    names = ['base', *(f'{name}{number}' for number in range(length))]
    parts = [link(each, shape) for each in names[1:]]
    parts += [joint(above, below, kind) for above, below in zip(names, names[1:], strict=False)]
    return ''.join(parts)


def robot(*limbs, root='base', shape=BOX):
    """Return a robot."""
    return f'<robot name="r">{link(root, shape)}{"".join(limbs)}</robot>'


ARM = robot(limb('a', 6))
CASES = {
    'world': (
        f'<robot name="r"><link name="world"/>{link("base")}'
        f'{joint("world", "base", "fixed")}</robot>',
        True,
        "'world'",
    ),
    'arm': (ARM, True, 'one limb of 6 joints'),
    'gripper': (robot(limb('a', 1), limb('b', 1), shape=''), True, 'no collision shape'),
    'massless': (
        f'<robot name="r"><link name="base"/>{limb("a", 1)}</robot>',
        True,
        'has no mass',
    ),
    'box': (robot(), False, "root link 'base'"),
    'door': (robot(limb('a', 1)), False, "root link 'base'"),
    'vehicle': (
        robot(limb('a', 1, WHEEL, 'continuous'), limb('b', 1, WHEEL, 'continuous')),
        False,
        'base:=fixed',
    ),
    'wheels alone': (
        robot(limb('a', 1, WHEEL, 'continuous'), limb('b', 1, WHEEL, 'continuous'), shape=''),
        False,
        'base:=fixed',
    ),
    'biped': (robot(limb('a', 6), limb('b', 6), shape=''), False, 'base:=fixed'),
    'no collisions': (
        robot(limb('a', 3, ''), limb('b', 3, ''), shape=''),
        False,
        'falls without end',
    ),
}


@pytest.mark.parametrize(('text', 'is_fixed', 'reason'), CASES.values(), ids=CASES)
def test_arms_and_grippers_are_held_and_robots_that_stand_are_free(text, is_fixed, reason):
    """Decide by limbs, wheels and collisions, and give the reason."""
    base = base_of(load_description(text))
    assert base.is_fixed is is_fixed
    assert reason in base.reason


def test_the_user_decides():
    """Follow the setting, whatever the robot."""
    description = load_description(ARM)
    assert not base_of(description, 'free').is_fixed
    assert base_of(load_description(robot()), 'fixed').is_fixed


def test_check_tells_the_base_and_its_reason(capsys, tmp_path):
    """Print kind and reason for an arm, and for a file of macros alone."""
    file = tmp_path / 'arm.urdf'
    file.write_text(ARM)
    assert main(['check', str(file)]) == 0
    assert 'base: fixed, since it is an arm: one limb of 6 joints' in capsys.readouterr().out
    macros = tmp_path / 'macros.urdf.xacro'
    macros.write_text(
        '<robot name="m" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:macro name="n" params=""><link name="a"/></xacro:macro></robot>'
    )
    assert main(['check', str(macros)]) == 0
    assert 'has no link' in capsys.readouterr().out


def test_strict_checks_refuse_a_part_with_defects(capsys, tmp_path):
    """End with 1 for a flat collision box if strict, with a warning otherwise."""
    file = tmp_path / 'flat.urdf'
    file.write_text(ARM.replace('0.1 0.1 0.1', '0.1 0.1 0', 1))
    assert main(['check', str(file)]) == 0
    assert 'the collision is left out' in capsys.readouterr().out
    assert main(['check', str(file), '--strict']) == 1
    assert ': error: link' in capsys.readouterr().out


def test_a_robot_without_any_mass_stays_in_place():
    """Hold a file with frames alone, as for a viewer; the user's choice goes before."""
    text = (
        '<robot name="frames"><link name="base"/><link name="camera"/><joint name="j" '
        'type="fixed"><parent link="base"/><child link="camera"/></joint></robot>'
    )
    base = base_of(load_description(text))
    assert base.is_fixed and 'has no mass' in base.reason
    assert not base_of(load_description(text), 'free').is_fixed


def test_a_free_robot_with_missing_meshes_alone_falls():
    """Tell of a robot whose only collision shapes are missing meshes."""
    missing = '<collision><geometry><mesh filename="package://no/a.stl"/></geometry></collision>'
    reason = base_of(load_description(robot(shape=missing))).reason
    assert reason.endswith('no collision shape whose file is there, so it falls without end')
    assert 'falls' not in base_of(load_description(robot(limb('a', 1), shape=missing))).reason
