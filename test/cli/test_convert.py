"""`sim_bridge convert`: written files, and refusal to overwrite."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.cli.main import main


def test_a_robot_is_written_once(tmp_path, capsys):
    """The file loads; a second time it takes --force."""
    path = tmp_path / 'swing.openplx'
    assert main(['convert', 'double_pendulum', str(path)]) == 0
    shown = capsys.readouterr()
    assert shown.out == f'{path}: written\n'
    [robot] = sb.World().load_openplx(path).robots
    assert robot.fixed_base
    before = path.read_text(encoding='utf-8')
    assert main(['convert', 'floating_box', str(path)]) == 2
    assert '--force' in capsys.readouterr().err
    assert path.read_text(encoding='utf-8') == before
    assert main(['convert', 'floating_box', str(path), '--force', '--base', 'fixed']) == 0
    [robot] = sb.World().load_openplx(path).robots
    assert (robot.name, robot.fixed_base) == ('floating_box', True)
    capsys.readouterr()
    assert main(['convert', 'floating_box', str(path), '--force', '--fixed-base']) == 0
    assert 'write --base fixed' in capsys.readouterr().err


@pytest.mark.parametrize(
    ('words', 'code', 'what'),
    [
        (('arm', 'arm.usd'), 2, '.openplx, .xml, .mjcf, .urdf, .sdf'),
        (('arm', 'none/arm.openplx'), 2, 'none'),
        (('planar.urdf', 'planar.openplx'), 1, "joint 'slide'"),
        (('wrong.urdf', 'wrong.openplx'), 1, '"nothing"'),
        (('amr', 'amr.openplx'), 2, "'arm'"),
    ],
)
def test_nothing_is_written_for_wrong_input(tmp_path, monkeypatch, capsys, words, code, what):
    """Refuse wrong names, and robots with errors or without a counterpart."""
    monkeypatch.chdir(tmp_path)
    for name, kind, child in (('planar', 'planar', 'b'), ('wrong', 'fixed', 'nothing')):
        (tmp_path / f'{name}.urdf').write_text(
            '<robot name="bot"><link name="a"/><link name="b"/>'
            f'<joint name="slide" type="{kind}"><parent link="a"/><child link="{child}"/></joint>'
            '</robot>',
            encoding='utf-8',
        )
    assert main(['convert', *words]) == code
    assert what in capsys.readouterr().err
    assert not list(tmp_path.glob('**/*.openplx'))
    assert not list(tmp_path.glob('**/*.usd'))


def test_the_suffix_chooses_the_format(tmp_path, capsys):
    """Write one robot as MJCF, loaded by MuJoCo, and as URDF, loaded here."""
    assert main(['convert', 'hand', str(tmp_path / 'hand.xml'), '--base', 'fixed']) == 0
    model = mujoco.MjModel.from_xml_path(str(tmp_path / 'hand.xml'))
    robot = sb.World().load_urdf('hand', base='fixed')
    assert model.nv == len(robot.joint_names)
    assert 'its velocity limit' in capsys.readouterr().err
    assert main(['convert', 'biped', str(tmp_path / 'biped.urdf')]) == 0
    assert 'armature: left out' in capsys.readouterr().err
    one, other = sb.load_description('biped'), sb.load_description(tmp_path / 'biped.urdf')
    robots = [sb.World().add_robot(each) for each in (one, other)]
    for robot in robots:
        robot.q = np.linspace(0.1, 0.4, len(robot.joint_names))
    matrices = [sb.dynamics.mass_matrix(robot) for robot in robots]
    rotors = np.diag([0.0] * 6 + [each.dynamics.armature for each in one.joints.values()])
    np.testing.assert_allclose(matrices[1], matrices[0] - rotors, atol=1e-12)


def test_urdf_is_refused_where_the_motion_would_differ(tmp_path, capsys):
    """Name the loop joint, and write nothing."""
    assert main(['convert', 'crank_slider', str(tmp_path / 'crank.urdf')]) == 1
    assert 'close loops' in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_base_is_fixed_by_a_link_world(tmp_path):
    """Load the written URDF: its root is the world."""
    path = tmp_path / 'box.urdf'
    assert main(['convert', 'floating_box', str(path), '--base', 'fixed']) == 0
    written = sb.load_description(path)
    assert (written.root, written.fixed_base) == ('world', True)


def test_parts_left_out_by_the_reader_are_told(tmp_path, capsys):
    """Convert one robot of a world: name the other objects, and choose by --model."""
    body = '<body name="{0}"><joint/><geom size="0.1"/></body>'
    one, two = tmp_path / 'one.xml', tmp_path / 'two.xml'
    floor = '<geom type="plane" size="1 1 1"/>'
    one.write_text(f'<mujoco><worldbody>{floor}{body.format("a")}</worldbody></mujoco>')
    both = body.format('a') + body.format('b')
    two.write_text(f'<mujoco><worldbody>{both}</worldbody></mujoco>')
    assert main(['convert', str(one), str(tmp_path / 'one.sdf')]) == 0
    assert '1 object of its world left out' in capsys.readouterr().err
    assert main(['convert', str(two), str(tmp_path / 'two.sdf')]) == 1
    assert 'has 2 robots: a, b' in capsys.readouterr().err
    assert main(['convert', str(two), str(tmp_path / 'two.sdf'), '--model', 'b']) == 0
    assert 'b' in sb.load_description(tmp_path / 'two.sdf').links
