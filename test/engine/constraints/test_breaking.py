"""Constraint joints that break under a load above their toughness."""

from __future__ import annotations

import math
import pickle

from linkages import body, G, X, Y, Z
import numpy as np
import pytest
import robots
from shipped import path_of

import sim_bridge as sb

M = 2.0


def hung(kind='fixed', gravity=(0.0, 0.0, -G), arm=0.0, **options):
    """Hang a body on a constraint joint to the world, `arm` beside its centre of mass."""
    world = sb.World(gravity=gravity)
    one = body(world, (arm, 0.0, 0.0), mass=M)
    joint = world.add_joint(kind, None, one, np.zeros(3), Y, tree=False, **options)
    return world, joint, one.root_link


@pytest.mark.parametrize(('name', 'load'), [('break_force', M * G), ('break_torque', M * G * 0.3)])
def test_it_breaks_above_the_limit_and_not_below(name, load):
    """Bear slightly less than the load, or break in the first step and fall freely."""
    for share in (1.001, 0.999):
        world, joint, link = hung(arm=0.3)
        setattr(joint, name, share * load)
        world.step(200)
        assert joint.is_broken == (share < 1.0)
        assert world.broken_joints == (['fixed'] if share < 1.0 else [])
        expected = -G * 0.2 if joint.is_broken else 0.0
        np.testing.assert_allclose(link.v, (0.0, 0.0, expected), atol=1e-9)
        np.testing.assert_allclose(
            joint.reaction[0], (0.0, 0.0, 0.0 if joint.is_broken else M * G), atol=1e-9
        )
        assert world.report.converged


@pytest.mark.parametrize('cfm', [0.0, 1e-7])
def test_it_breaks_in_the_step_of_the_load(cfm):
    """Follow a growing pull, on rigid and compliant rows, to the critical step."""
    world, joint, link = hung('ball', gravity=(0.0, 0.0, 0.0), cfm=cfm, erp=0.5)
    joint.break_force = 7.05
    for k in range(1, 100):
        link.add_force(0.1 * k * X)
        world.step()
        if joint.is_broken:
            break
    # compliant rows lag slightly behind the force
    assert k == 71 if cfm == 0.0 else 71 <= k <= 75
    before = link.v[0]
    world.step(10)
    assert link.v[0] == before


def test_a_blow_breaks_it_and_passes_nothing_on():
    """Keep the velocities of two bodies if the joint cannot bear the impact."""
    for toughness, passed in ((math.inf, True), (1000.0, False)):
        world = sb.World(gravity=(0.0, 0.0, 0.0))
        first, second = body(world, mass=M), body(world, X, mass=M)
        joint = world.add_joint('ball', first, second, 0.5 * X, tree=False)
        joint.break_force = toughness
        first.set_base_velocity((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        second.root_link.add_force(5000.0 * X)
        world.step()
        v = first.root_link.v[0]
        # half the impulse, 2.5 N s, on each of two bodies
        assert v == pytest.approx(2500.0 * 1e-3 / M if passed else 0.0, abs=1e-12)
        assert joint.is_broken is not passed


def test_the_weakest_breaks_first_and_the_others_bear_the_rest():
    """Break one of three joints sharing a load, or one after the other within the step."""
    for limits, broken in (
        ((5.0, 12.0, 12.0), ['ball']),
        ((5.0, 9.0, 9.0), ['ball', 'ball_2', 'ball_3']),
        ((7.0, 7.0, 7.0), []),
    ):
        world = sb.World()
        one = body(world, mass=M)
        joints = [world.add_joint('ball', None, one, np.zeros(3), tree=False) for _ in limits]
        for joint, limit in zip(joints, limits, strict=True):
            joint.break_force = limit
        world.step()
        assert world.broken_joints == broken
        held = sum(joint.reaction[0][2] for joint in joints)
        assert held == pytest.approx(0.0 if len(broken) == 3 else M * G, abs=1e-9)


def test_nothing_acts_on_the_axes_of_a_broken_joint():
    """Fall and rotate free of motor, command, friction, spring and stop."""
    world, joint, link = hung('hinge')
    joint.friction, joint.stiffness, joint.damping, joint.reference = 3.0, 50.0, 2.0, 1.0
    joint.lower, joint.upper = -0.01, 0.01
    joint.control, joint.target_velocity, joint.u = 'velocity', 5.0, 4.0
    joint.is_broken = True
    link.robot.set_base_velocity((0.0, 0.0, 0.0), 2.0 * Y)
    world.step(500)
    np.testing.assert_allclose(link.w, 2.0 * Y, atol=1e-12)
    assert link.v[2] == pytest.approx(-G * 0.5, rel=1e-9)
    assert (joint.motor_effort, joint.friction_effort, joint.stop_effort) == (0.0, 0.0, 0.0)
    np.testing.assert_array_equal(joint.reaction, np.zeros((2, 3)))
    assert world.report.converged


def test_a_linkage_without_its_closing_joint_is_a_tree():
    """Move, to rounding, like the robot without the joint."""
    ends = []
    for closed in (True, False):
        world = sb.World()
        robot = world.load_urdf(path_of('four_bar'))
        (joint,) = robot.loop_joints.values()
        if closed:
            joint.is_broken = True
        else:
            world.remove_joint(joint)
        world.step(500)
        ends.append([*robot.q, *robot.dq])
    np.testing.assert_allclose(*ends, atol=1e-9)


def test_it_is_mended():
    """Hold again at the body's current pose after a repair, and after a world reset."""
    world, joint, link = hung('slider')
    joint.break_force = 1.0
    world.step(100)
    assert joint.is_broken
    joint.break_force = math.inf
    world.reset()
    assert not joint.is_broken
    world.step(100)
    np.testing.assert_allclose(link.p, 0.0, atol=1e-12)
    joint.is_broken = True
    world.step(10)
    fallen = link.p[2]
    assert fallen < -1e-4
    joint.is_broken = False
    world.step(100)
    # closed, and at rest
    np.testing.assert_allclose([*link.p, *link.v], 0.0, atol=1e-9)


def test_it_stays_broken_in_snapshots_copies_and_larger_worlds():
    """Keep the broken state and its limit after every renewal of the arrays."""
    world, joint, _ = hung()
    whole = world.save()
    joint.break_force = 5.0
    world.step()
    kept, digest = world.save(), world.state_hash()
    twins = [world.copy(), pickle.loads(pickle.dumps(world))]
    body(world, X)
    world.add_joint('ball', None, joint.link2, Z, tree=False)
    world.step(5)
    assert joint.is_broken
    assert joint.break_force == 5.0
    for twin in twins:
        assert twin.state_hash() == digest
        assert twin.joint('fixed').is_broken
        twin.restore(whole)
        assert not twin.joint('fixed').is_broken
        assert twin.joint('fixed').break_force == math.inf
        twin.restore(kept)
        assert twin.broken_joints == ['fixed']


@pytest.mark.parametrize(
    ('name', 'wrong'),
    [
        ('break_force', 0.0),
        ('break_force', math.nan),
        ('break_torque', -1.0),
        ('break_torque', 'much'),
        ('is_broken', 1),
    ],
)
def test_wrong_values_are_named(name, wrong):
    """Refuse wrong limits, and keep the previous ones."""
    _, joint, _ = hung()
    before = getattr(joint, name)
    with pytest.raises(sb.InvalidValueError, match=name):
        setattr(joint, name, wrong)
    assert getattr(joint, name) == before


def test_files_set_the_limits():
    """Read the limits from a URDF's extension and from YAML."""
    text = robots.double_pendulum()
    element = (
        '<sim_bridge><joint name="l" type="ball"><link1 name="lower"/><link2 name="world"/>'
        '<toughness force="30" torque="4"/></joint></sim_bridge>'
    )
    entry = {'name': 'l', 'type': 'ball', 'link1': 'lower', 'link2': 'world', 'break_force': 30}
    for robot, expected in (
        (sb.World().load_urdf(text.replace('</robot>', f'{element}</robot>')), (30.0, 4.0)),
        (sb.World().load_urdf(text, extra_joints={'joints': [entry]}), (30.0, math.inf)),
    ):
        joint = robot.joint('l')
        assert (joint.break_force, joint.break_torque) == expected


def test_one_direction_breaks_alone():
    """Break one overloaded axis, and keep holding the others."""
    for kind, axis in (('fixed', Y), ('ball', Z)):
        world, joint, link = hung(kind)
        R = joint.rotation
        way = int(np.argmax(np.abs(R.T @ Z)))
        limits = np.full(6, 1e3)
        limits[way] = 0.999 * M * G
        joint.break_limits = limits
        assert joint.break_limits.tolist() == limits.tolist()
        link.add_force(0.5 * M * G * X)
        world.step()
        link.add_force(0.5 * M * G * X)
        world.step(100)
        assert not joint.is_broken and world.broken_joints == []
        assert np.flatnonzero(joint.broken_directions).tolist() == [way]
        # falls along the broken axis, held in the others
        assert link.v == pytest.approx([0.0, 0.0, -G * 0.101], abs=1e-9), (kind, axis)
        assert joint.reaction[0] == pytest.approx([0.0, 0.0, 0.0], abs=1e-9)
        joint.break_limits = 1e-3
        for push in (X, Y, Z):
            link.add_force(1e3 * push), link.add_torque(1e3 * push)
        world.step(3)
        assert joint.is_broken
        assert world.broken_joints == [kind]
        world.reset()
        assert not joint.is_broken and not joint.broken_directions.any()


def test_a_torque_breaks_its_direction():
    """Rotate about the axis with the overload, and stay in place."""
    world, joint, link = hung('fixed', gravity=(0.0, 0.0, 0.0))
    joint.break_limits = [9.0, 9.0, 9.0, 2.0, 2.0, 2.0]
    torque = joint.rotation @ (1.0, 2.1, 1.0)
    for _ in range(50):
        link.add_torque(torque)
        world.step()
    assert joint.broken_directions.tolist() == [False, False, False, False, True, False]
    turn = joint.rotation.T @ link.w
    assert turn[1] > 0.01
    assert np.abs(turn[[0, 2]]).max() < 0.05 * turn[1]
    assert np.abs(link.p).max() < 1e-9


@pytest.mark.parametrize('value', [0.0, -1.0, math.nan, [1.0, 2.0], 'much'])
def test_limits_of_directions_are_checked(value):
    """Refuse invalid limits."""
    _, joint, _ = hung()
    with pytest.raises(sb.InvalidValueError, match='break_limits'):
        joint.break_limits = value
