"""Loops under impacts: random colliding mechanisms, immobile structures."""

from __future__ import annotations

import math

from linkages import largest_error, X, Y, Z
import numpy as np
import pytest
from shipped import path_of

import sim_bridge as sb

SOLVERS = ('direct', 'iterative', 'split')
KINDS = ('ball', 'hinge', 'slider', 'universal', 'hinge2', 'fixed', 'piston', 'planar', 'distance')


def random_mechanism(seed, solver):
    """Return a world of overlapping, rotating boxes, and the joints between them."""
    rng = np.random.default_rng(seed)
    world = sb.World(solver=solver)
    boxes = [
        world.add_body(
            sb.Box(tuple(rng.uniform(0.1, 0.4, 3))),
            mass=float(rng.uniform(0.5, 3.0)),
            position=(*rng.uniform(-1.0, 1.0, 2), float(rng.uniform(1.0, 2.0))),
            linear_velocity=tuple(0.5 * rng.normal(size=3)),
            angular_velocity=tuple(rng.normal(size=3)),
        )
        for _ in range(rng.integers(3, 7))
    ]
    joints = []
    for _ in range(rng.integers(2, len(boxes) + 3)):
        first, second = rng.choice(len(boxes) + 1, 2, replace=False)
        kind, axis, other = KINDS[rng.integers(len(KINDS))], rng.normal(size=3), rng.normal(size=3)
        anchor, more = rng.uniform(-1.0, 1.0, 3) + 1.5 * Z, {}
        if kind in ('universal', 'hinge2'):
            more['axis2'] = np.cross(axis, other)
        if kind == 'distance':
            more['anchor2'] = anchor + 0.3 * other
        links = [None if at == len(boxes) else boxes[at] for at in (first, second)]
        joints.append(world.add_joint(kind, *links, anchor, axis, **more))
    return world, joints


@pytest.mark.parametrize('seed', range(12))
def test_random_mechanisms_stay_closed(seed):
    """Join boxes at random, also overconstrained, and let them collide."""
    world, joints = random_mechanism(seed, SOLVERS[seed % 3])
    world.step(2)
    energy = world.energy().total
    for _ in range(10):
        world.step(20)
        assert max(max(joint.error) for joint in joints) < 1e-9
        assert world.energy().total < energy + 1e-2 * max(1.0, abs(energy))


@pytest.mark.parametrize('solver', SOLVERS)
def test_truss_stands_a_blow(solver):
    """Throw a box at a triangle of hinged bars: it does not move, and its feet bear the impact."""
    world = sb.World(solver=solver, gravity=(0.0, 0.0, 0.0))
    feet, top = ((-0.5, 0.0, 0.0), (0.5, 0.0, 0.0)), np.array([0.0, 0.0, math.sqrt(0.75)])
    bars = []
    for foot in feet:
        way = top - foot
        bars.append(
            world.add_body(
                sb.Box((1.0, 0.05, 0.05)),
                mass=1.0,
                position=0.5 * (top + foot),
                orientation=inclination(way),
            )
        )
        world.add_joint('hinge', None, bars[-1], foot, Y)
    world.add_joint('hinge', *bars, top, Y)
    box = world.add_body(
        sb.Box((0.2, 0.2, 0.2)),
        mass=2.0,
        position=(0.05, 0.0, 1.3),
        linear_velocity=(0.0, 0.0, -3.0),
        angular_velocity=(0.0, 2.0, 0.5),
    )
    before = [bar.root_link.p.copy() for bar in bars]
    assert largest_error(world, 30, 10) < 1e-9
    assert box.root_link.v[2] > -2.0  # it was hit
    np.testing.assert_allclose([bar.root_link.p for bar in bars], before, atol=1e-9)


def inclination(way):
    """Return the quaternion that rotates x towards a vector in the x-z plane."""
    angle = math.atan2(-way[2], way[0])
    return 0.0, math.sin(0.5 * angle), 0.0, math.cos(0.5 * angle)


def test_contradicting_motors_without_limits_are_reported():
    """Rotate a four-bar's crank and rocker at rates not allowed by its loop."""
    world = sb.World()
    robot = world.load_urdf(path_of('four_bar'), collisions='none')
    for name, velocity in (('crank_joint', 2.0), ('rocker_joint', -1.0)):
        joint = robot.joint(name)
        joint.effort_limit, joint.control, joint.target_velocity = math.inf, 'velocity', velocity
    world.step()
    assert not world.report.converged
    robot.joint('rocker_joint').control = 'effort'
    world.step(100)
    world.step()
    assert world.report.converged
    assert max(robot.joint('coupler_rocker').error) < 1e-12


def test_body_welded_twice_is_not_thrown_by_an_overlap():
    """Let a loop hold two overlapping bodies: no impulse moves them, and none is applied."""
    world = sb.World()
    first, second = (
        world.add_body(sb.Box((0.2, 0.2, 0.2)), mass=1.0, position=(x, 0.0, 1.0))
        for x in (0.0, 0.15)
    )
    for anchor in (X, Y):
        world.add_joint('fixed', first, second, anchor, X, tree=False)
    world.exclude(first.root_link, second.root_link, False)
    world.step(200)
    np.testing.assert_allclose(second.root_link.p - first.root_link.p, (0.15, 0.0, 0.0), atol=1e-9)
    assert world.report.contacts > 0
