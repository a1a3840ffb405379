"""Settings of declared controllers: kinds, defaults, and defects."""

from __future__ import annotations

import math

from controlled_arm import controlled_arm
import pytest

from sim_bridge.description import load_description
from sim_bridge.description.controller_settings import (
    ForwardSettings,
    GripperSettings,
    JointStateSettings,
    PidGains,
    PidSettings,
    TrajectorySettings,
)

ACCELERATION = 'acceleration'


def settings_of(path):
    """Return the settings by controller name."""
    (manager,) = load_description(path).controller_managers
    return {each.name: each.settings for each in manager.controllers}


def test_every_kind_has_its_settings(tmp_path):
    """Read one controller of each kind, with ros2_controllers' defaults for missing parameters."""
    path = controlled_arm(tmp_path)
    found = settings_of(path)
    assert load_description(path).report.findings == ()
    assert found['panda_arm_controller'] == TrajectorySettings(
        ('shoulder', 'elbow'), ('position',), {'shoulder': (0.2, 0.01)}, goal_time=0.5
    )
    assert found['hand'] == GripperSettings('finger', allows_stalling=True, stall_timeout=0.2)
    assert found['claw_controller'] == GripperSettings(
        'claw',
        'effort',
        # without i_clamp, the effort gripper's integral term is 0
        PidGains(100.0, 0.0, 20.0, -0.0, 0.0),
        goal_tolerance=0.002,
        stall_timeout=0.1,
    )
    assert found['jaw_controller'] == GripperSettings('jaw', max_effort=10.0, is_parallel=True)
    assert found['spin'] == PidSettings(
        ('wheel',),
        ('wheel',),
        'effort',
        'velocity',
        gains={'wheel': PidGains(2.0, 1.0, feedforward=0.5)},
    )
    assert found['turn'] == ForwardSettings((('turret', 'velocity'),))
    assert found['arm_forward'].claims == ('shoulder/position', 'elbow/position')
    assert found['joint_state_broadcaster'] == JointStateSettings()


def test_several_interfaces_of_one_joint(tmp_path):
    """Read the interfaces of a multi-interface controller in their order."""
    kind = 'forward_command_controller/MultiInterfaceForwardCommandController'
    path = controlled_arm(
        tmp_path,
        types={'turn': kind},
        turn={'joint': 'turret', 'interface_names': ['effort', 'velocity']},
    )
    assert settings_of(path)['turn'].targets == (('turret', 'effort'), ('turret', 'velocity'))


def test_gains_of_every_form(tmp_path):
    """Read limits of integral term and output, old and new, and the velocity feedforward."""
    gains = {
        'shoulder': {'p': 1, 'i': 2, 'd': 3, 'i_clamp': 4, 'ff_velocity_scale': 1.0},
        'elbow': {'p': 1.0, 'i_clamp_min': -1.0, 'i_clamp_max': 2.0, 'u_clamp_max': 5.0},
    }
    path = controlled_arm(
        tmp_path,
        panda_arm_controller={
            'joints': ['shoulder', 'elbow'],
            'command_interfaces': ['effort'],
            'state_interfaces': ['position', 'velocity'],
            'gains': gains,
            'interpolation_method': 'none',
            'open_loop_control': True,
            'state_publish_rate': 50.0,
            'allow_partial_joints_goal': True,
        },
    )
    found = settings_of(path)['panda_arm_controller']
    assert found.gains == {
        'shoulder': PidGains(1.0, 2.0, 3.0, -4.0, 4.0, feedforward=1.0),
        'elbow': PidGains(1.0, 0.0, 0.0, -1.0, 2.0, -math.inf, 5.0),
    }
    assert (found.interpolates, found.state_rate, found.allows_part) == (False, 50.0, True)


@pytest.mark.parametrize(
    ('changes', 'attribute', 'words'),
    [
        ({'turn': {'joints': ['turet']}}, 'joints', "did you mean 'turret'"),
        ({'turn': {'joints': ['mount']}}, 'joints', 'is a fixed joint'),
        ({'turn': {'joints': []}}, 'joints', 'must be a list of joints'),
        (
            {'arm_forward': {'joints': ['elbow'], 'interface_name': 'torque'}},
            'interface_name',
            'position, velocity, effort',
        ),
        (
            {
                'panda_arm_controller': {
                    'joints': ['elbow'],
                    'command_interfaces': ['acceleration'],
                }
            },
            'command_interfaces',
            'needs position, velocity or effort',
        ),
        ({'hand': {'joint': 'finger', 'goal_tolerance': -1.0}}, 'goal_tolerance', 'at least 0'),
        (
            {
                'spin': {
                    'dof_names': ['wheel'],
                    'reference_and_state_dof_names': ['wheel', 'turret'],
                    'command_interface': 'effort',
                    'reference_and_state_interfaces': ['velocity'],
                }
            },
            'reference_and_state_dof_names',
            'one for each of dof_names',
        ),
    ],
)
def test_a_defective_controller_is_left_out(tmp_path, changes, attribute, words):
    """Warn about the parameter with its place, and keep robot and other controllers."""
    path = controlled_arm(tmp_path, **changes)
    (name,) = changes
    found = settings_of(path)
    assert name not in found and len(found) == 7
    (warning,) = load_description(path).report.findings
    assert (warning.severity, warning.omits) == ('warning', 'controller')
    assert (warning.name, warning.attribute) == (name, attribute)
    assert words in warning.message and 'controllers.yaml:' in warning.message


def test_parameters_without_effect_are_named(tmp_path):
    """Warn about values that change ros2_control's motion but not the simulated one."""
    path = controlled_arm(
        tmp_path,
        panda_arm_controller={
            'joints': ['shoulder'],
            'command_interfaces': ['position'],
            'cmd_timeout': 2.0,
            'allow_integration_in_goal_trajectories': False,
            'sparkle': 1,
        },
    )
    told = {each.attribute: each.code for each in load_description(path).report.findings}
    assert told == {'sparkle': 'unknown-key'}
