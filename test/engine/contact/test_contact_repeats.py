"""Runs with contacts, islands and sleepers repeat bit for bit, also from snapshots."""

from __future__ import annotations

from pathlib import Path

from contact_worlds import add_ball, add_block, grounded
import numpy as np
import pytest

import sim_bridge as sb

QUADRUPED = Path(__file__).parents[3] / 'urdf' / 'quadruped.urdf'
SOLVERS = ('direct', 'iterative', 'split')
# each solver and each moment once in the usual tests, all combinations in the long ones
USUAL_MOMENTS = {(5, 'direct'), (560, 'iterative'), (1200, 'split')}
MOMENTS = [
    pytest.param(
        moment,
        solver,
        id=f'{name}-{solver}',
        marks=() if (moment, solver) in USUAL_MOMENTS else pytest.mark.long,
    )
    for moment, name in ((5, 'flight'), (560, 'impacts'), (1200, 'rest'))
    for solver in SOLVERS
]
ONE_SOLVER = ['direct', *(pytest.param(each, marks=pytest.mark.long) for each in SOLVERS[1:])]


def busy_world(solver):
    """Return a world with several islands: a tower, balls hitting it, a quadruped, sleepers."""
    world = grounded({'restitution': 0.2}, solver=solver, sleep=True, seed=3)
    for k in range(4):
        add_block(world, size=(0.3, 0.3, 0.2), lift=0.201 * k)
    add_block(world, at=(5.0, 0.0))  # falls asleep at once
    for k, (x, y) in enumerate(((0.1, 0.0), (-0.1, 0.1), (3.0, 0.0), (3.05, 0.02))):
        add_ball(world, at=(x, y), lift=1.2 + 0.1 * k)
    tray = world.add_body(
        sb.Box((0.5, 0.5, 0.02)), motion='kinematic', position=(-3.0, 0.0, 0.3), name='tray'
    )
    world.add_body(sb.Capsule(0.05, 0.2), density=800.0, position=(-3.0, 0.0, 0.42))
    tray.set_base_velocity((0.05, 0.0, 0.0), (0.0, 0.0, 0.1))
    world.load_urdf(QUADRUPED, position=(0.0, 3.0, 0.4))
    return world


def run(world, steps):
    """Step; return the state hash after every tenth step."""
    hashes = []
    for _ in range(10):
        world.step(steps // 10)
        hashes.append(world.state_hash())
    return hashes


def sleepers(world):
    """Return sleeping robots' names."""
    return {name for name, robot in world.robots.items() if robot.is_asleep}


@pytest.mark.parametrize('solver', SOLVERS)
def test_runs_repeat(solver):
    """Compute the same bits for the same world."""
    first, second = busy_world(solver), busy_world(solver)
    assert run(first, 800) == run(second, 800)
    assert sleepers(first)
    assert first.report.islands > 1
    assert len(first.contacts) > 10


@pytest.mark.parametrize(('moment', 'solver'), MOMENTS)
def test_runs_go_on_from_snapshots(moment, solver):
    """Repeat from a snapshot, in the same world and in a new one."""
    world = busy_world(solver)
    world.step(moment)
    snapshot = world.save()
    onward = run(world, 300)
    world.restore(snapshot)
    assert run(world, 300) == onward
    other = busy_world(solver)
    other.restore(snapshot)
    assert run(other, 300) == onward


@pytest.mark.parametrize('solver', ONE_SOLVER)
def test_resets_repeat(solver):
    """Compute the same bits after a reset as the first time."""
    world = busy_world(solver)
    world.step()
    world.reset(time=True)
    first = run(world, 600)
    world.reset(time=True)
    assert run(world, 600) == first


def test_one_call_or_many_do_the_same():
    """Compute the same bits for any number of steps per call."""
    one, many = busy_world('direct'), busy_world('direct')
    one.step(600)
    for steps in (1, 99, 250, 250):
        many.step(steps)
    assert one.state_hash() == many.state_hash()


def test_reading_changes_nothing():
    """Compute the same bits with and without reading contacts and energies."""
    read, unread = busy_world('direct'), busy_world('direct')
    for _ in range(60):
        read.step(10)
        assert np.isfinite(read.energy().total)
        assert len(read.contacts) >= 0
        read.distance(read.geometries[1], read.geometries[2])
    unread.step(600)
    assert read.state_hash() == unread.state_hash()
