"""Actuators in YAML: their laws, and every defect with its key."""

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.description.actuators import CrankTransmission, SiteTransmission

ON_JOINT = {'name': 'a', 'joint': 'joint_1'}


def read(**keys):
    """Return the actuator of the arm with these keys."""
    return sb.load_description('arm', extra_joints={'actuators': [{'name': 'a'} | keys]}).actuators


@pytest.mark.parametrize(
    ('keys', 'gain', 'bias'),
    [
        ({}, (1, 0, 0), (0, 0, 0)),
        ({'type': 'position', 'kp': 5, 'kd': 2}, (5, 0, 0), (0, -5, -2)),
        ({'type': 'velocity', 'kd': 3}, (3, 0, 0), (0, 0, -3)),
        ({'type': 'intvelocity', 'kp': 4}, (4, 0, 0), (0, -4, 0)),
        ({'type': 'damper', 'kd': 3}, (0, 0, -3), (0, 0, 0)),
        ({'type': 'general', 'gain': [1, 2, 3], 'bias': [4, 5, 6]}, (1, 2, 3), (4, 5, 6)),
    ],
)
def test_shortcuts_are_mujocos(keys, gain, bias):
    """Turn each type into gain and bias."""
    (actuator,) = read(joint='joint_1', **keys)
    assert (actuator.gain, actuator.bias) == (gain, bias)
    assert actuator.dynamics == ('integrator' if keys.get('type') == 'intvelocity' else 'none')


def test_sites_ranges_and_dynamics_are_read():
    """Read every key of an actuator at a site."""
    (actuator,) = read(
        site={'link': 'tool0', 'position': [1, 2, 3], 'rpy': [0, 0, np.pi / 2]},
        reference={'link': 'base'},
        gear=[1, 0, 0, 0, 0, 2],
        force_range=[-1, 2],
        control_range=[0, 1],
        activation_range=[-3, 3],
        dynamics='filter',
        time_constant=0.1,
        uses_next=True,
    )
    assert isinstance(actuator.transmission, SiteTransmission)
    assert actuator.transmission.site.position.tolist() == [1, 2, 3]
    assert actuator.transmission.site.rotation[1, 0] == pytest.approx(1.0)
    assert actuator.transmission.reference.link == 'base'
    assert actuator.gear == (1, 0, 0, 0, 0, 2)
    assert actuator.force_range == (-1, 2)
    assert (actuator.control_range, actuator.activation_range) == ((0, 1), (-3, 3))
    assert (actuator.dynamics, actuator.time_constant, actuator.uses_next) == ('filter', 0.1, True)


def test_slider_cranks_are_read():
    """Read pin, slider and rod."""
    (actuator,) = read(pin={'link': 'link_1'}, slider={'link': 'base'}, rod_length=0.3)
    assert isinstance(actuator.transmission, CrankTransmission)
    assert actuator.transmission.rod_length == 0.3


def coupled(coupling, **actuator):
    """Return the arm with a coupling and an actuator on it."""
    source = {'couplings': [coupling], 'actuators': [{'name': 'a', 'coupling': 'pair'} | actuator]}
    return sb.load_description('arm', extra_joints=source)


def test_couplings_are_read():
    """Read a coupling, and an actuator on it."""
    pair = {
        'name': 'pair',
        'joints': ['joint_1', 'joint_2'],
        'factors': [1, -2],
        'stiffness': 3,
        'damping': 0.5,
        'spring_range': [0, 1],
    }
    arm = coupled(pair)
    assert arm.couplings[0].factors == (1, -2)
    assert (arm.couplings[0].stiffness, arm.couplings[0].spring_range) == (3, (0, 1))
    assert arm.actuators[0].transmission.coupling == 'pair'


@pytest.mark.parametrize(
    ('keys', 'words'),
    [
        ({'name': 'other'}, 'pair'),
        ({'joints': ['joint_1', 'joint_x']}, 'joint_x'),
        ({'joints': ['joint_1', 'imu_joint']}, 'not of one axis'),
        ({'joints': []}, 'list the joints'),
        ({'factors': [1]}, 'factors'),
        ({'damping': -1}, 'at least 0'),
        ({'spring_range': [1, 0]}, 'lower limit'),
    ],
)
def test_defects_of_couplings_are_named(keys, words):
    """Refuse each wrong key or value."""
    pair = {'name': 'pair', 'joints': ['joint_1', 'joint_2'], 'factors': [1, -2]}
    with pytest.raises(sb.DescriptionError, match=words):
        coupled(pair | keys)


@pytest.mark.parametrize(
    ('keys', 'words'),
    [
        ({}, 'must be given'),
        ({'joint': 'joint_1', 'site': {'link': 'base'}}, 'one of them'),
        ({'joint': 'joint_x'}, 'joint_x'),
        ({'coupling': 'pair_x'}, 'pair_x'),
        ({'joint': 'imu_joint'}, 'without a coordinate'),
        ({'site': {'link': 'tool'}, 'gear': [0] * 6}, 'tool'),
        ({'site': {'link': 'base'}, 'gear': 2}, 'list of 6'),
        ({'pin': {'link': 'base'}}, 'slider'),
        ({'joint': 'joint_1', 'kp': 3}, 'not used'),
        ({'joint': 'joint_1', 'type': 'position', 'kp': -3}, 'at least 0'),
        ({'joint': 'joint_1', 'gain': [1, 2, 3]}, 'general'),
        ({'joint': 'joint_1', 'force_range': [1, -1]}, 'lower limit'),
        ({'joint': 'joint_1', 'dynamics': 'muscle'}, 'filterexact'),
        ({'joint': 'joint_1', 'dynamics': 'filter', 'time_constant': 0}, 'above 0'),
        ({'joint': 'joint_1', 'stiffness': 1}, 'stiffness'),
    ],
)
def test_defects_are_named(keys, words):
    """Refuse each wrong key or value."""
    with pytest.raises(sb.DescriptionError, match=words):
        read(**keys)


def test_names_are_unique():
    """Refuse two actuators with one name."""
    with pytest.raises(sb.DescriptionError, match='has this name'):
        sb.load_description('arm', extra_joints={'actuators': [ON_JOINT, ON_JOINT]})
