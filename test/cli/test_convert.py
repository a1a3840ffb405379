"""`sim_bridge convert`: written files, and refusal to overwrite."""

from __future__ import annotations

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
        (('arm', 'arm.urdf'), 2, '.openplx'),
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
