"""Efforts with different limits in each direction, in trees and in rows."""

from __future__ import annotations

from dataclasses import replace
import math

from contact_worlds import push
from linkages import body, X
import numpy as np
import pytest
from robots import double_pendulum

import sim_bridge as sb
from sim_bridge.description.model import JointLimits

M = 2.0
LEAST, MOST = -30.0, 10.0


def slid(tree, least=LEAST, most=MOST, sign=1.0):
    """Put a body of 2 kg on a slider along x, or along -x."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    one = body(world, mass=M)
    joint = world.add_joint('slider', None, one, np.zeros(3), sign * X, tree=tree)
    joint.effort_limit, joint.lower_effort_limit = most, least
    return world, joint


both = pytest.mark.parametrize('tree', [True, False], ids=['tree', 'rows'])


@both
@pytest.mark.parametrize(
    ('u', 'applied'),
    [(50.0, MOST), (-50.0, LEAST), (-20.0, -20.0), (7.0, 7.0), (math.nextafter(MOST, 20), MOST)],
)
def test_commands_are_clamped_to_either_limit(tree, u, applied):
    """Gain v = F t / m by the clamped command; the clamped command is also read back."""
    world, joint = slid(tree)
    joint.u = u
    if tree:
        assert joint.ddq == pytest.approx(applied / M, rel=1e-12)
    world.step(100)
    assert joint.dq == pytest.approx(applied / M * 0.1, rel=1e-12)
    assert joint.u == applied


@both
@pytest.mark.parametrize('by', ['motor', 'limit'])
@pytest.mark.parametrize('control', ['velocity', 'servo'])
def test_motors_drive_and_brake_by_their_own_limits(tree, by, control):
    """Gain MOST t / m up to the target, and lose LEAST t / m down to the next target."""
    world, joint = slid(tree)
    if by == 'motor':
        joint.effort_limit = math.inf
        joint.max_effort, joint.min_effort = MOST, LEAST
        assert (joint.lower_effort_limit, joint.effort_limit) == (-math.inf, math.inf)
    joint.control, joint.kd, joint.target_velocity = control, 1e6, 1.0
    world.step(100)
    assert joint.dq == pytest.approx(0.5, rel=1e-12)
    assert joint.motor_effort == MOST
    world.step(150)
    assert joint.dq == pytest.approx(1.0, rel=1e-6)
    joint.target_velocity = -2.0
    # a servo's target takes one step to get there
    world.step(101 if control == 'servo' else 100)
    assert joint.dq == pytest.approx(1.0 - 1.5, abs=0.016 if control == 'servo' else 1e-9)
    assert joint.motor_effort == LEAST
    world.step(200)
    assert joint.dq == pytest.approx(-2.0, rel=1e-6)


@both
def test_command_and_motor_keep_to_the_range_together(tree):
    """Leave the motor the range unused by the command, and no more than its own limits."""
    world, joint = slid(tree)
    joint.control, joint.target_velocity, joint.u = 'velocity', 100.0, 4.0
    world.step()
    assert joint.motor_effort == pytest.approx(MOST - 4.0)
    joint.target_velocity = -100.0
    world.step()
    assert joint.motor_effort == pytest.approx(LEAST - 4.0)
    joint.min_effort = -12.0
    world.step()
    assert joint.motor_effort == -12.0
    # max_effort sets both limits
    joint.max_effort = 3.0
    assert (joint.min_effort, joint.max_effort) == (-3.0, 3.0)


@both
@pytest.mark.parametrize('control', ['velocity', 'position', 'servo'])
def test_reversed_axes_and_limits_are_the_same_motion(tree, control):
    """Move, to the last bit, like the reversed axis with the reversed range."""
    moved = []
    for sign in (1.0, -1.0):
        least, most = (LEAST, MOST) if sign > 0.0 else (-MOST, -LEAST)
        world, joint = slid(tree, least, most, sign)
        joint.friction, joint.lower, joint.upper = 1.0, *sorted((-0.3 * sign, 0.2 * sign))
        joint.control, joint.kp, joint.kd = control, 2e3, 30.0
        path = []
        for goal in (0.15, -0.4, 0.5, 0.0):
            if control != 'velocity':
                joint.target_position = sign * goal
            joint.target_velocity = 0.0 if control != 'velocity' else 10.0 * sign * goal
            joint.u = sign * 20.0 * goal
            for _ in range(20):
                world.step(10)
                path.append((sign * joint.q, sign * joint.dq, sign * joint.motor_effort))
        moved.append(path)
    assert np.ptp([q for q, _, _ in moved[0]]) > 0.2
    np.testing.assert_allclose(moved[1], moved[0], rtol=0.0, atol=0.0 if tree else 1e-9)


@both
def test_unlimited_one_way_keeps_its_velocity_that_way_alone(tree):
    """Bear any load below the target; above it, brake by the limit only."""
    world, joint = slid(tree, -3.0, math.inf)
    joint.control, joint.target_velocity = 'velocity', 1.0
    link = joint.link2
    for load in (0.0, -500.0, 2.0):
        push(world, link, load * X, 20)
        assert joint.dq == pytest.approx(1.0, abs=1e-12)
        assert joint.motor_effort == pytest.approx(
            -load + (M / 1e-3 if load == 0.0 else 0.0) * (world.step_count == 1), abs=1e-6
        )
    push(world, link, 7.0 * X, 50)
    assert joint.dq == pytest.approx(1.0 + (7.0 - 3.0) / M * 0.05, rel=1e-9)
    assert joint.motor_effort == -3.0
    if tree:
        assert joint.ddq == pytest.approx(-1.5, rel=1e-9)
    world.step(20)
    assert joint.dq == pytest.approx(1.1 - 1.5 * 0.02, rel=1e-9)
    world.step(1000)
    assert joint.dq == pytest.approx(1.0, abs=1e-12)


@both
def test_unlimited_one_way_rests_at_its_stop(tree):
    """Press against no stop with unlimited effort, but with a limited one."""
    world, joint = slid(tree, -3.0, math.inf)
    joint.lower, joint.upper = -0.01, 0.01
    joint.control, joint.target_velocity = 'velocity', 5.0
    world.step(50)
    assert (joint.q, joint.dq) == (pytest.approx(0.01, abs=1e-12), pytest.approx(0.0, abs=1e-12))
    assert abs(joint.stop_effort) < 1e-9
    joint.target_velocity = -5.0
    world.step(500)
    assert (joint.q, joint.dq) == (pytest.approx(-0.01, abs=1e-12), pytest.approx(0.0, abs=1e-12))
    assert joint.motor_effort == pytest.approx(-3.0)
    assert joint.stop_effort == pytest.approx(3.0)


def test_every_part_of_the_effort_is_accounted_for():
    """Match the summed efforts with each step's momentum change, and stay within the range."""
    rng = np.random.default_rng(3)
    world, joint = slid(True, -9.0, 4.0)
    joint.friction, joint.lower, joint.upper = 1.5, -0.05, 0.08
    joint.max_effort, joint.min_effort, joint.kp, joint.kd = 6.0, -2.5, 300.0, 8.0
    for _ in range(200):
        joint.control = ('effort', 'velocity', 'position', 'servo')[rng.integers(4)]
        joint.u = rng.normal(scale=6.0)
        if joint.control != 'effort':
            joint.target_velocity = rng.choice([0.0, rng.normal()])
        if joint.control in ('position', 'servo'):
            joint.target_position = rng.normal(scale=0.1)
        for _ in range(20):
            before = joint.dq
            world.step()
            assert world.report.converged
            parts = joint.u + joint.motor_effort + joint.friction_effort + joint.stop_effort
            assert parts == pytest.approx(M * (joint.dq - before) / 1e-3, abs=1e-9)
            assert -2.5 - 1e-9 <= joint.motor_effort <= 6.0 + 1e-9
            assert -9.0 - 1e-9 <= joint.u + joint.motor_effort <= 4.0 + 1e-9


# --- descriptions and snapshots ------------------------------------------------------------------


def test_descriptions_have_a_range():
    """Take a least effort for tree and loop joints; a single number is symmetric."""
    assert JointLimits(effort=5.0).efforts == (-5.0, 5.0)
    description = sb.load_description(double_pendulum())
    first, *rest = description.joints.values()
    limits = replace(first.limits, effort=8.0, lower_effort=-3.0)
    described = replace(
        description,
        joints={first.name: replace(first, limits=limits), **{each.name: each for each in rest}},
    )
    robot = sb.World().add_robot(described)
    joint = robot.joint(first.name)
    assert (joint.lower_effort_limit, joint.effort_limit) == (-3.0, 8.0)
    assert robot.lower_effort_limits[0] == -3.0
    assert robot.effort_limits[0] == 8.0


@pytest.mark.parametrize(
    ('given', 'expected'),
    [
        ({'effort': 8, 'lower_effort': -3}, (-3.0, 8.0)),
        ({'effort': 8}, (-8.0, 8.0)),
        ({'effort': 8, 'lower_effort': 0}, (0.0, 8.0)),
        ({'lower_effort': -3}, (-3.0, math.inf)),
    ],
)
def test_files_of_loop_joints_have_a_range(given, expected):
    """Read it from YAML and from a URDF extension."""
    extra = {
        'name': 'l',
        'type': 'hinge',
        'link1': 'lower',
        'link2': 'world',
        'axis': [0, 1, 0],
        'limits': given,
    }
    words = ' '.join(f'{key}="{value}"' for key, value in given.items())
    element = (
        f'<sim_bridge><joint name="l" type="hinge"><link1 name="lower"/><link2 '
        f'name="world"/><axis xyz="0 1 0"/><limit {words}/></joint></sim_bridge>'
    )
    text = double_pendulum()
    for robot in (
        sb.World().load_urdf(text, extra_joints={'joints': [extra]}),
        sb.World().load_urdf(text.replace('</robot>', f'{element}</robot>')),
    ):
        joint = robot.joint('l')
        assert (joint.lower_effort_limit, joint.effort_limit) == expected


@pytest.mark.parametrize(
    ('name', 'wrong'),
    [
        ('lower_effort_limit', 1.0),
        ('lower_effort_limit', math.nan),
        ('min_effort', 0.5),
        ('min_effort', 'much'),
    ],
)
def test_wrong_limits_are_named(name, wrong):
    """Refuse a least effort above 0, and keep the earlier one."""
    _, joint = slid(True)
    before = getattr(joint, name)
    with pytest.raises(sb.InvalidValueError, match=name):
        setattr(joint, name, wrong)
    assert getattr(joint, name) == before


@both
def test_snapshots_and_copies_know_the_range(tree):
    """Restore the earlier range, and copy it."""
    world, joint = slid(tree)
    joint.max_effort, joint.min_effort = 6.0, -2.0
    kept, digest, twin = world.save(), world.state_hash(), world.copy()
    joint.max_effort = joint.effort_limit = 1.0
    assert world.state_hash() != digest
    world.restore(kept)
    for each in (world, twin):
        other = each.joint(joint.name)
        assert each.state_hash() == digest
        assert (other.min_effort, other.max_effort) == (-2.0, 6.0)
        assert (other.lower_effort_limit, other.effort_limit) == (LEAST, MOST)
