"""OpenPLX files on the command line: shown by `check`, recorded and replayed."""

from __future__ import annotations

import json
from pathlib import Path
import subprocess
import sys

import pytest

import sim_bridge as sb
from sim_bridge.cli.main import main
from sim_bridge.ros.params.robot_parameters import robots_of

SEED = Path(__file__).parents[1] / 'description' / 'openplx' / 'scenes' / 'snap_parent.openplx'
PENDULUM = """
Bob is Physics3D.Bodies.RigidBody:
    ball is Physics3D.Geometries.Sphere:
        radius: 0.1
    pin is Physics3D.Interactions.MateConnector:
        position.z: 0.5
        main_axis: Math.Vec3.Y_AXIS()

Swing is Physics3D.System:
    bob is Bob
    base is Physics3D.Interactions.MateConnector:
        main_axis: Math.Vec3.Y_AXIS()
    hinge is Physics3D.Interactions.Hinge:
        connectors: [base, bob.pin]
        initial_angle: 0.3
    motor is Physics3D.Interactions.RotationalVelocityMotor:
        connectors: hinge.connectors
        target_speed: 2
        gain: 0.1

Empty is Physics3D.System
"""


@pytest.fixture
def scene(tmp_path):
    """Return the path of a file with two scenes."""
    path = tmp_path / 'swing.openplx'
    path.write_text(PENDULUM, encoding='utf-8')
    return path


def test_check_lists_the_inputs_that_a_world_has(capsys):
    """Omit velocities of bodies held by joints, and enabling of tree joints."""
    path = Path(__file__).parents[2] / 'urdf' / 'excavator.openplx'
    assert main(['check', str(path), '--json']) == 0
    shown = json.loads(capsys.readouterr().out)['openplx']['inputs']
    assert shown == list(sb.World().load_openplx(path).inputs)


def test_a_model_that_is_a_body_has_its_inputs(tmp_path, capsys):
    """Show the inputs of a root body; the world has the same."""
    path = tmp_path / 'bob.openplx'
    path.write_text(PENDULUM.partition('Swing')[0], encoding='utf-8')
    assert main(['check', str(path), '--json']) == 0
    shown = json.loads(capsys.readouterr().out)['openplx']['inputs']
    assert shown == ['linear_velocity_world_input', 'angular_velocity_world_input']
    assert shown == list(sb.World().load_openplx(path).inputs)


def test_a_model_that_the_file_lacks_is_refused_with_those_that_it_has(scene, capsys):
    """Name the models in the file."""
    assert main(['check', str(scene), '--model', 'Nope']) != 0
    assert "no model 'Nope'; it has 'Bob, Swing, Empty'" in ''.join(capsys.readouterr())


def test_check_shows_poses_and_snap_steps(capsys):
    """Poses in the world and in the parent, the trace, signals, robots, warnings with lines."""
    assert main(['check', str(SEED), '--model', 'SnapRodParent', '--json']) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown['kind'], shown['ok'], shown['errors']) == ('openplx', True, 0)
    assert all(finding['line'] for finding in shown['findings'])
    content = shown['openplx']
    frames = {frame['path']: frame for frame in content['frames']}
    assert frames['rod_system.rod_system.rod']['position'] == pytest.approx([1.1, 0, 0], abs=1e-12)
    assert frames['rod_system.rod_system']['local']['position'] == pytest.approx(
        [0.6350852961085878, -0.6350852961085888, -0.6350852961085887], abs=1e-12
    )
    assert content['snap'] == [
        {'why': 'snapped', 'mate': 'world_lock', 'frames': ['rod_system.rod_system']}
    ]
    assert content['robots'][0]['links'][1]['name'] == 'rod_system_rod_system_rod'
    assert main(['check', str(SEED), '--model', 'SnapRodParent']) == 0
    text = capsys.readouterr().out
    assert 'snapped, world_lock, rod_system.rod_system' in text
    assert 'rod_system.rod_system.rod: 1.1 0 0' in text


def test_check_reports_defects(scene, capsys):
    """Return the defect exit code for an unknown model, and for a defect with its line."""
    assert main(['check', str(scene), '--model', 'Swign']) == 1
    assert "'Swing'" in capsys.readouterr().out
    scene.write_text(PENDULUM.replace('radius: 0.1', 'radius: "big"'), encoding='utf-8')
    assert main(['check', str(scene)]) == 1
    assert f'{scene}:4:' in capsys.readouterr().out


def test_no_controller_is_started_for_a_scene_with_motors_of_its_own(scene):
    """Start controllers for robots from other files, but not for an OpenPLX scene."""
    assert list(robots_of('', str(scene))) == []
    assert list(robots_of('', 'arm')) == [('', 'arm', 'pd', None)]


def test_a_scene_is_recorded_and_replayed_to_the_bit(scene, tmp_path):
    """Record the joint under its name; read the same file again for a replay."""
    bag = tmp_path / 'bag'

    def run(*words: str) -> str:
        return subprocess.run(
            [sys.executable, '-m', 'sim_bridge', *map(str, words)],
            check=True,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ).stdout

    run('record', scene, '--model', 'Swing', '--duration', '0.05', '-o', bag)
    assert run('replay', bag).endswith('the same\n')
    scene.write_text(PENDULUM.replace('0.3', '0.4'), encoding='utf-8')
    refused = subprocess.run(
        [sys.executable, '-m', 'sim_bridge', 'replay', str(bag)],
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert refused.returncode != 0
    assert 'swing.openplx' in refused.stdout
