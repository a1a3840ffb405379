"""Bags from the real writer: their content, and the command from a bag to a URDF."""

from __future__ import annotations

import json
from pathlib import Path
import subprocess
import sys

from identified import commands_that_follow, record_commands, swings, with_noise
import numpy as np
import pytest
from shipped import path_of
import yaml

import sim_bridge as sb
from sim_bridge.cli.main import main
from sim_bridge.description.urdf.amend import amended, JointValues
from sim_bridge.ros.bag.joint_motion import read_joint_motion

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

TRUTH = {'friction': 0.03, 'damping': 0.08, 'armature': 0.02}


@pytest.fixture(scope='module')
def bags(tmp_path_factory) -> Path:
    """Return a folder with a pendulum of known parameters, its bag, and a noisy bag."""
    folder = tmp_path_factory.mktemp('bags')
    true = folder / 'true.urdf'
    true.write_text(amended(path_of('pendulum').read_text(), {'pivot': JointValues(**TRUTH)}, {}))
    robot = sb.World().load_urdf(true)
    times, efforts = commands_that_follow(robot, swings(robot, 1, 0.8), 6.0)
    record_commands(folder / 'own', true, times, efforts, robot.joint_names)
    with_noise(folder / 'own', folder / 'noisy', (2e-4, 3e-3), 0)
    return folder


def test_commands_act_from_when_they_are_recorded(bags):
    """Find exactly the parameters of a simulated run from its commands."""
    motion = read_joint_motion(bags / 'own', ['pivot'])
    assert motion.hold == 'next'
    assert not motion.notes
    assert len(motion.times) == len(motion.effort_times)
    found = sb.identify('pendulum', motion, folds=0)
    for name, value in TRUTH.items():
        assert found.estimates[f'pivot.{name}'].value == pytest.approx(value, rel=1e-8)


def test_efforts_of_states_are_means_of_the_step_before(bags):
    """Find exactly the same from the efforts in the joint states."""
    motion = read_joint_motion(bags / 'own', ['pivot'], inputs='states')
    assert motion.hold == 'previous'
    found = sb.identify('pendulum', motion, folds=0)
    for name, value in TRUTH.items():
        assert found.estimates[f'pivot.{name}'].value == pytest.approx(value, rel=1e-8)


def test_stamps_count_in_bags_of_others(bags):
    """Take times from headers, so that late messages do no harm."""
    own, noisy = (read_joint_motion(bags / name, ['pivot']) for name in ('own', 'noisy'))
    # up to the time origin
    assert np.ptp(noisy.times - own.times) < 1e-9
    assert np.ptp(noisy.effort_times - own.effort_times) < 1e-9
    assert noisy.noise()[0] == pytest.approx([2e-4], rel=0.1)
    assert noisy.noise()[1] == pytest.approx([3e-3], rel=0.1)


@pytest.mark.parametrize(
    ('joints', 'options', 'error', 'text'),
    [
        (['knee'], {}, sb.InvalidValueError, 'pivot.*those of the robot: knee'),
        (['pivot', 'knee'], {}, sb.UnknownNameError, "unknown joint 'knee'.*pivot"),
        (['pivot'], {'states': 'states'}, sb.UnknownNameError, "topic of joint states 'states'"),
        (
            ['pivot'],
            {'commands': 'efforts', 'inputs': 'commands'},
            sb.UnknownNameError,
            "topic of commands 'efforts'.*joint_commands",
        ),
        (
            ['pivot'],
            {'commands': 'efforts'},
            sb.UnknownNameError,
            "topic of commands 'efforts'.*joint_commands",
        ),
        (['pivot'], {'inputs': 'states'}, sb.InvalidValueError, "efforts of joint 'pivot'"),
        (['pivot'], {'inputs': 'motor'}, sb.SimBridgeError, "input.*'motor'"),
    ],
)
def test_missing_items_in_a_bag_are_named(bags, joints, options, error, text):
    """Name missing joints, topics and efforts, and the available ones."""
    with pytest.raises(error, match=text):
        read_joint_motion(bags / 'noisy', joints, **options)


def identify(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    return subprocess.run(
        [sys.executable, '-m', 'sim_bridge', 'identify', *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_from_a_bag_to_a_urdf(bags, tmp_path):
    """Find known parameters by the command, and write them into the file."""
    robot = path_of('pendulum')
    urdf, values = tmp_path / 'fitted.urdf', tmp_path / 'fitted.yaml'
    done = identify(bags / 'noisy', robot, '-o', urdf, '-o', values, '--folds', '2')
    assert done.returncode == 0, done.stderr
    assert 'the model explains the motion' in done.stdout
    assert 'held out' in done.stdout
    told = yaml.safe_load(values.read_text())['joints']['pivot']
    fitted = sb.World().load_urdf(urdf).joint('pivot')
    for name, value in TRUTH.items():
        assert abs(told[name]['value'] - value) < 3.5 * told[name]['error']
        assert getattr(fitted, name) == pytest.approx(told[name]['value'], rel=1e-8)
    lines, before = urdf.read_text().split('\n'), robot.read_text().split('\n')
    (added,) = set(lines) - set(before)
    assert added.strip().startswith('<dynamics damping="0.0')
    assert [line for line in lines if line != added] == before
    refused = identify(bags / 'noisy', robot, '-o', urdf)
    assert refused.returncode == 2
    assert '--force' in refused.stderr


def test_json_of_the_command(bags, capsys):
    """Print the whole result as JSON, and classify the residuals as noise."""
    assert (
        main(
            [
                'identify',
                str(bags / 'noisy'),
                'pendulum',
                '--what',
                'damping',
                '--folds',
                '0',
                '--json',
            ]
        )
        == 0
    )
    content = json.loads(capsys.readouterr().out)
    assert content['estimates'][0]['name'] == 'pivot.damping'
    assert not content['explained']


@pytest.mark.parametrize(
    ('arguments', 'text'),
    [
        (['--what', 'dampng'], "'dampng'"),
        (['-o', 'x.txt'], '.urdf, .yaml'),
        (['--from', '100'], 'at least 20'),
        (['--window', '-1'], 'above 0'),
        (['--from', '5.93'], 'record more'),
        (['-o', 'nowhere/x.urdf'], "'nowhere' does not"),
        (['-o', str(path_of('pendulum')), '--force'], 'a file other than the robot'),
    ],
)
def test_wrong_arguments_are_named(bags, arguments, text, capsys):
    """End with 2, and name accepted values."""
    assert main(['identify', str(bags / 'noisy'), 'pendulum', *arguments]) == 2
    assert text in capsys.readouterr().err


def test_another_robot_is_refused(bags, capsys):
    """Name the joints in the robot and in the bag."""
    assert main(['identify', str(bags / 'noisy'), 'double_pendulum']) == 2
    error = capsys.readouterr().err
    assert 'pivot' in error
    assert 'those of the robot: shoulder, elbow' in error
