"""Inverse kinematics: reachable poses within limits are found; others are named."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from robots import joint, link, robot

import sim_bridge as sb


@pytest.fixture
def arm():
    """Return the arm with seven joints."""
    return sb.World().load_urdf('arm')


def test_reachable_poses_are_reached_within_limits(arm, repository):
    """Find configurations for reachable random poses; Pinocchio places the tool there."""
    model = pin.buildModelFromUrdf(str(repository / 'urdf' / 'arm.urdf'))
    data, frame = model.createData(), model.getFrameId('tool0')
    before = arm.world.state_hash()
    for q in sb.dynamics.random_configuration(arm, 8, 20):
        pose = sb.dynamics.forward_kinematics(arm, 'tool0', q)
        found = sb.laws.inverse_kinematics(arm, 'tool0', pose)
        assert ((arm.lower <= found) & (found <= arm.upper)).all()
        pin.framesForwardKinematics(model, data, found)
        np.testing.assert_allclose(data.oMf[frame].homogeneous, pose, atol=3e-8)
    assert arm.world.state_hash() == before


def test_a_solution_near_the_start_is_kept_near_it(arm):
    """Move only as far as the pose requires, from the given configuration."""
    q = np.array([0.3, 0.9, 0.2, -1.2, 0.1, 0.8, 0.0])
    pose = sb.dynamics.forward_kinematics(arm, 'tool0', q)
    near = sb.laws.inverse_kinematics(arm, 'tool0', pose, q=q + 0.05)
    assert np.abs(near - q).max() < 0.2
    np.testing.assert_array_equal(sb.laws.inverse_kinematics(arm, 'tool0', pose, q=q), q)


def test_a_point_is_put_at_a_position(arm):
    """Put a tool point at a position, with free orientation."""
    point, position = [0.0, 0.05, 0.1], np.array([0.4, -0.3, 0.5])
    q = sb.laws.inverse_kinematics(arm, 'tool0', position, point=point)
    placement = sb.dynamics.forward_kinematics(arm, 'tool0', q)
    np.testing.assert_allclose(placement @ [*point, 1.0], [*position, 1.0], atol=1e-8)


def test_a_pose_out_of_reach_is_named(arm):
    """State the least error: beyond the stretched arm's reach."""
    with pytest.raises(sb.InfeasibleError, match=r"robot 'arm', link 'tool0'.* m away"):
        sb.laws.inverse_kinematics(arm, 'tool0', [4.0, 0.0, 0.5])


ELBOW = robot(
    link('base'),
    link('upper'),
    link('lower'),
    link('tip'),
    joint(
        'a',
        'base',
        'upper',
        'revolute',
        (0, 1, 0),
        inside='<limit lower="-0.5" upper="0.5" effort="9" velocity="9"/>',
    ),
    joint(
        'b',
        'upper',
        'lower',
        'revolute',
        (0, 1, 0),
        (1, 0, 0),
        inside='<limit lower="-0.4" upper="2" effort="9" velocity="9"/>'
        '<mimic joint="a" multiplier="2" offset="0.1"/>',
    ),
    joint('c', 'lower', 'tip', 'fixed', xyz=(1, 0, 0)),
)


def reach(a):
    """Return ELBOW's tip position at a first joint angle."""
    b = 2.0 * a + 0.1
    return [np.cos(a) + np.cos(a + b), 0.0, -np.sin(a) - np.sin(a + b)]


def test_followers_follow_and_keep_within_their_limits():
    """Find the closed form's angles; reject poses beyond the follower's limit alone."""
    elbow = sb.World().load_urdf(ELBOW, base='fixed')
    for a in (0.4, 0.0, -0.25):
        found = sb.laws.inverse_kinematics(elbow, 'tip', reach(a))
        np.testing.assert_allclose(found, [a, 2.0 * a + 0.1], atol=1e-7)
    with pytest.raises(sb.InfeasibleError, match='joints at their limits: a$'):
        sb.laws.inverse_kinematics(elbow, 'tip', reach(-0.4))


def test_a_leg_steps_while_the_base_stays():
    """Move a free robot's foot with its leg alone."""
    quadruped = sb.World().load_urdf('quadruped', base='free')
    start = sb.dynamics.configuration(quadruped)
    bent = sb.dynamics.random_configuration(quadruped, 3)
    bent[:7] = start[:7]
    foot = sb.dynamics.forward_kinematics(quadruped, 'lf_foot', bent)[:3, 3]
    q = sb.laws.inverse_kinematics(quadruped, 'lf_foot', foot)
    np.testing.assert_allclose(
        sb.dynamics.forward_kinematics(quadruped, 'lf_foot', q)[:3, 3], foot, atol=1e-8
    )
    moved = np.flatnonzero(q != start) - 7
    assert all(quadruped.joint_names[k].startswith('lf_') for k in moved)


def test_bad_input_is_named(arm):
    """Reject invalid poses, and unknown links."""
    with pytest.raises(sb.InvalidValueError, match=r"(?s)pose = .*'arm'.*\(4, 4\)"):
        sb.laws.inverse_kinematics(arm, 'tool0', np.zeros((4, 4)))
    with pytest.raises(sb.UnknownNameError, match="Did you mean 'tool0'"):
        sb.laws.inverse_kinematics(arm, 'tool', [0.0, 0.0, 1.0])
    with pytest.raises(sb.InvalidValueError, match='tolerance'):
        sb.laws.inverse_kinematics(arm, 'tool0', [0.0, 0.0, 1.0], tolerance=0.0)
