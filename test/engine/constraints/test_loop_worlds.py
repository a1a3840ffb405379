"""Loops of every kind: redundant, between robots, with followers, on the ground, singular."""

from __future__ import annotations

import math

from linkages import bar, body, frame, G, gripper, imbalance, largest_error, X, Y, Z
import numpy as np
import pytest
import robots
from shipped import path_of

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError

SOLVERS = ('direct', 'iterative', 'split')


# --- redundant rows ------------------------------------------------------------------------------


@pytest.mark.parametrize('kinds', [('hinge', 'hinge'), ('ball', 'ball'), ('fixed', 'fixed')])
def test_twins_share_a_load(kinds):
    """Hang a door on two joints: each bears half its weight, both together the lever."""
    world = sb.World()
    door = body(world, (0.4, 0.0, 1.0), mass=10.0, inertia=(1.0, 1.0, 0.5))
    joints = [
        world.add_joint(kind, None, door, (0.0, 0.0, z), Z, tree=False)
        for kind, z in zip(kinds, (0.5, 1.5), strict=True)
    ]
    world.step(10)
    forces, torques = np.array([joint.reaction for joint in joints]).swapaxes(0, 1)
    np.testing.assert_allclose(forces[:, 2], 5.0 * G, rtol=1e-9)
    np.testing.assert_allclose(torques[0], torques[1], atol=1e-9)
    np.testing.assert_allclose(forces[0, :2], -forces[1, :2], atol=1e-9)
    moment = torques.sum(axis=0) + np.cross([0, 0, 1.0], forces[1] - forces[0]) * 0.5
    np.testing.assert_allclose(moment, 10.0 * G * 0.4 * -Y, atol=1e-9)
    np.testing.assert_array_less(imbalance(world), 1e-9)


def test_swinging_door_of_two_hinges_is_one_of_one_hinge():
    """Rotate on like a single hinge, to rounding."""
    turned = []
    for heights in ((0.5,), (0.5, 1.5), (0.5, 1.0, 1.5)):
        world = sb.World(gravity=(0.0, -3.0, -9.0))
        door = body(world, (0.4, 0.0, 1.0), mass=10.0, inertia=(1.0, 1.0, 0.5))
        joints = [world.add_joint('hinge', None, door, (0.0, 0.0, z), Z) for z in heights]
        assert [joint.is_tree for joint in joints] == [True, *[False] * (len(heights) - 1)]
        joints[0].friction = 0.4
        assert largest_error(world, 20, 100) < 1e-12
        turned.append([joint.q for joint in joints])
    for angles in turned:
        np.testing.assert_allclose(angles, turned[0][0], atol=1e-10)


# --- singular configurations ---------------------------------------------------------------------


@pytest.mark.parametrize('driven', [False, True])
def test_parallelogram_passes_its_change_point(driven):
    """Pass repeatedly through the collinear configuration, staying a parallelogram."""
    world = sb.World()
    a, b, c, d = (
        np.array(point)
        for point in ((0.0, 0.0, 0.0), (0.0, 0.0, 0.2), (0.5, 0.0, 0.2), (0.5, 0.0, 0.0))
    )
    crank, coupler, rocker = bar(world, a, b, 0.2), bar(world, b, c, 0.5), bar(world, d, c, 0.2)
    joints = [
        world.add_joint('hinge', None, crank, a, Y),
        world.add_joint('hinge', crank, coupler, b, Y),
        world.add_joint('hinge', None, rocker, d, Y),
        world.add_joint('hinge', coupler, rocker, c, Y),
    ]
    assert [joint.is_tree for joint in joints] == [True, True, True, False]
    for joint, rate in zip(joints, (7.0, -7.0, 7.0), strict=False):
        joint.dq = rate
    if driven:
        joints[0].control, joints[0].target_velocity = 'velocity', 7.0
    energy = world.energy().total
    assert largest_error(world, 10, 400) < 1e-8
    assert joints[0].q > 4.0 * math.tau
    assert joints[2].q == pytest.approx(joints[0].q, abs=1e-6)
    assert -joints[1].q == pytest.approx(joints[0].q, abs=1e-6)
    if not driven:
        assert world.energy().total == pytest.approx(energy, abs=1e-4)


def test_bars_in_line_bear_a_load_across_them():
    """Stay put although the rows do not determine the support to first order."""
    world = sb.World()
    first, second = (bar(world, (x, 0.0, 0.0), (x + 0.5, 0.0, 0.0)) for x in (0.0, 0.5))
    world.add_joint('hinge', None, first, np.zeros(3), Y)
    world.add_joint('hinge', first, second, 0.5 * X, Y)
    world.add_joint('hinge', None, second, X, Y)
    assert largest_error(world, 10, 100) < 1e-4
    assert abs(first.root_link.p[2]) < 1e-3


# --- rings ---------------------------------------------------------------------------------------


def ring(world, count, kind):
    """Close a ring of bars in the x-z plane; return bars and joints."""
    angles = math.tau / count * np.arange(count + 1)
    points = np.array([np.cos(angles), np.zeros(count + 1), np.sin(angles)]).T
    bars = [bar(world, *ends, 0.1) for ends in zip(points, points[1:], strict=False)]
    joints = [
        world.add_joint(kind, bars[k], bars[(k + 1) % count], points[k + 1], Y)
        for k in range(count)
    ]
    return bars, joints


def ring_change(time_step, kind):
    """Let a ring of twenty float for a second; return the change of energy and momentum."""
    world = sb.World(time_step=time_step, gravity=(0.0, 0.0, 0.0))
    _, joints = ring(world, 20, kind)
    rng = np.random.default_rng(0)
    for joint in joints[:-1]:
        joint.dq = rng.normal(size=None if kind == 'hinge' else 3)
    # the first step removes velocities forbidden by the ring
    world.step()
    before, energy = world.momentum(), world.energy().total
    assert largest_error(world, round(0.05 / time_step), 20) < 1e-12
    np.testing.assert_array_less(imbalance(world), 1e-9)
    after = world.momentum()
    lost = np.concatenate([after.linear - before.linear, after.angular - before.angular])
    return abs(world.energy().total / energy - 1.0), np.linalg.norm(lost)


@pytest.mark.parametrize('kind', ['hinge', 'ball'])
def test_ring_of_twenty_keeps_energy_and_momentum(kind):
    """Lose only energy and momentum that shrink with the squared time step; balance forces."""
    coarse, fine = ring_change(1e-3, kind), ring_change(2.5e-4, kind)
    assert fine[0] < 1e-3
    assert fine[1] < 1e-3
    assert coarse[1] / fine[1] > 10.0


def test_reactions_of_a_long_chain_are_exact():
    """Hang a chain of twenty by both ends; these bear its weight and its momentum's rate."""
    world = sb.World()
    bars, joints = ring(world, 20, 'ball')
    world.remove_joint(joints[-1])
    ends = [world.add_joint('ball', None, one, X) for one in (bars[0], bars[-1])]
    assert [end.is_tree for end in ends] == [True, False]
    weight = 20 * 0.1 * G
    world.step(100)
    np.testing.assert_array_less(imbalance(world), 1e-10)
    total = sum(link.m * link.dv for link in (one.root_link for one in bars))
    forces = np.array([end.reaction[0] for end in ends])
    np.testing.assert_allclose(forces.sum(axis=0), total + weight * Z, atol=1e-9)


# --- several robots ------------------------------------------------------------------------------


def arm(name, at, towards):
    """Return the URDF of a planar arm with two bars, standing at x."""
    return robots.robot(
        robots.link('world', 0.0),
        robots.link('upper', 1.0, (0, 0, 0.25), (0.02, 0.02, 1e-3)),
        robots.link('lower', 0.8, (0.15 * towards, 0, 0.15), (0.01, 0.01, 1e-3)),
        robots.joint('shoulder', 'world', 'upper', axis=(0, 1, 0), xyz=(at, 0, 0)),
        robots.joint('elbow', 'upper', 'lower', axis=(0, 1, 0), xyz=(0, 0, 0.5)),
        name=name,
    )


@pytest.mark.parametrize('solver', SOLVERS)
def test_two_arms_hold_one_bar(solver):
    """Carry a bar grasped by two servo-driven arms; each shoulder bears half of all weight."""
    world = sb.World(solver=solver)
    arms = [
        world.load_urdf(arm(name, x, -math.copysign(1.0, x)))
        for name, x in (('left', -0.6), ('right', 0.6))
    ]
    held = bar(world, (-0.3, 0.0, 0.8), (0.3, 0.0, 0.8), 2.0)
    grasps = [
        world.add_joint('fixed', one.link('lower'), held, (x, 0.0, 0.8))
        for one, x in zip(arms, (-0.3, 0.3), strict=True)
    ]
    assert [grasp.is_tree for grasp in grasps] == [True, False]
    for one in arms:
        for joint in one.joints:
            joint.control, joint.kp, joint.kd = 'servo', 400.0, 30.0
    assert largest_error(world, 10, 100) < 1e-12
    np.testing.assert_array_less(imbalance(world), 1e-9)
    assert abs(held.root_link.p[0]) < 1e-9
    for one in arms:
        force, _ = one.joint('shoulder').reaction
        assert force[2] == pytest.approx((1.8 + 1.0) * G, rel=1e-3)
    for one in arms:
        one.joint('shoulder').target_position = 0.2
    assert largest_error(world, 10, 100) < 1e-12
    assert held.root_link.p[0] > 0.02


def test_gripper_moves_its_fingers_alike_and_parallel():
    """Close both by the one motor: mirrored, upright, all followers and loops to rounding."""
    world = sb.World()
    robot = world.load_urdf(gripper())
    motor = robot.joint('left')
    motor.control, motor.kp, motor.kd, motor.target_position = 'servo', 50.0, 1.0, -0.5
    for _ in range(20):
        world.step(20)
        assert len(world.joints) == 2
        assert max(map(max, (joint.error for joint in world.joints.values()))) < 1e-12
        assert robot.joint('right').q == pytest.approx(-motor.q, abs=1e-12)
        left, right = robot.link('left_tip'), robot.link('right_tip')
        np.testing.assert_allclose(left.p, right.p * (-1.0, 1.0, 1.0), atol=1e-12)
        np.testing.assert_allclose(left.R, np.eye(3), atol=1e-12)
        np.testing.assert_array_less(imbalance(world), 1e-9)
    assert motor.q < -0.4


# --- on the ground -------------------------------------------------------------------------------


@pytest.mark.parametrize('solver', SOLVERS)
def test_dropped_frame_comes_to_rest(solver):
    """Gain momentum by weight alone, hit the ground, stand there: contacts bear the weight."""
    world = sb.World(solver=solver)
    world.add_ground()
    low, high, _ = frame(world)
    world.step(200)
    momentum = world.momentum()
    np.testing.assert_allclose(momentum.linear, 4.0 * world.gravity * 0.2, atol=1e-9)
    np.testing.assert_allclose(momentum.angular, 0.0, atol=1e-9)
    high.root_link.add_force((300.0, 0.0, 0.0))
    assert largest_error(world, 50, 60) < 1e-9
    assert low.root_link.p[2] == pytest.approx(0.05, abs=1e-4)
    force = world.contacts.force_on(low.root_link)
    np.testing.assert_allclose(force, -4.0 * world.gravity, atol=1e-3)
    np.testing.assert_array_less(imbalance(world), 1e-8)


@pytest.mark.parametrize('solver', SOLVERS)
def test_loops_repeat_and_are_restored_to_the_bit(solver):
    """Return the same hashes again from the start, from a snapshot, and after a reset."""

    def build():
        world = sb.World(solver=solver)
        world.add_ground()
        robot = world.load_urdf(path_of('four_bar'))
        frame(world)
        return world, robot

    def drive(robot):
        crank = robot.joint('crank_joint')
        crank.control, crank.target_velocity = 'velocity', 7.0

    hashes = []
    for _ in range(2):
        world, robot = build()
        drive(robot)
        world.step(300)
        snapshot, middle = world.save(), world.state_hash()
        world.step(200)
        end = world.state_hash()
        world.restore(snapshot)
        assert world.state_hash() == middle
        world.step(200)
        assert world.state_hash() == end
        hashes.append(end)
    assert hashes[0] == hashes[1]
    world.reset(time=True)
    drive(robot)
    world.step(500)
    assert world.state_hash() == hashes[0]


def held(**compliance):
    """Throw a body held to the world by a new ball joint, violated so far."""
    world = sb.World()
    one = body(world, X, linear_velocity=(1.0, 2.0, 3.0))
    return world, world.add_joint('ball', None, one, np.zeros(3), tree=False, **compliance)


@pytest.mark.parametrize('change', [{'cfm': 1e-4}, {'cfm': 0.0}, {'erp': 0.9}])
@pytest.mark.parametrize('steps', [0, 100], ids=['new', 'old'])
def test_snapshots_know_how_joints_yield(steps, change):
    """Restore the joints' compliance, bit by bit, after any change."""
    world, joint = held(cfm=0.0 if change.get('cfm') else 1e-3, erp=0.3)
    compliance = joint.erp, joint.cfm
    world.step(steps)
    snapshot, before = world.save(), world.state_hash()
    world.step(50)
    after = world.state_hash()
    for name, value in change.items():
        setattr(joint, name, value)
    world.step(5)
    world.restore(snapshot)
    assert (joint.erp, joint.cfm) == compliance
    assert world.state_hash() == before
    world.step(50)
    assert world.state_hash() == after


def test_snapshots_do_not_fit_other_joints():
    """Refuse a snapshot after a joint was replaced, though sizes are equal, and change nothing."""
    world, joint = held()
    world.step(10)
    snapshot = world.save()
    world.remove_joint(joint)
    for anchor in ((0.0, 0.1, 0.0), np.zeros(3)):
        other = world.add_joint('ball', None, joint.link2, anchor, tree=False)
        state = world.state_hash()
        with pytest.raises(InvalidValueError, match='snapshot = .*geometries and joints'):
            world.restore(snapshot)
        assert world.state_hash() == state
        world.remove_joint(other)
