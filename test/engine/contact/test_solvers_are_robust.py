"""Every solver at cases beyond sweeps: extreme masses, tiny bodies, falling robots."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb

SOLVERS = ('direct', 'iterative', 'split')


def stacked(solver, sizes, masses):
    """Return a world with stacked cubes, by their sizes [m] and masses [kg]."""
    world, height = sb.World(solver=solver), 0.0
    world.add_ground()
    for size, mass in zip(sizes, masses, strict=True):
        world.add_body(sb.Box((size,) * 3), mass=mass, position=(0.0, 0.0, height + 0.5 * size))
        height += size
    return world


def moved(world, steps):
    """Return the greatest displacement of any body [m]."""
    bodies = [body for body in world.robots.values() if body.root_link.m < np.inf]
    start = np.array([body.root_link.p for body in bodies])
    world.step(steps)
    return float(np.abs(np.array([body.root_link.p for body in bodies]) - start).max())


@pytest.mark.parametrize('solver', SOLVERS)
def test_a_cube_bears_a_million_times_its_mass(solver):
    """Neither crush nor shoot out 1 kg under 1000 t."""
    world = stacked(solver, (0.1, 0.1), (1.0, 1e6))
    assert moved(world, 1000) < (5e-4 if solver == 'iterative' else 1e-7)


@pytest.mark.parametrize('solver', SOLVERS)
def test_a_gram_bears_ten_kilograms(solver):
    """Stay under a larger cube with ten thousand times the mass."""
    world = stacked(solver, (0.02, 0.1), (1e-3, 10.0))
    assert moved(world, 1000) < (1e-5 if solver == 'iterative' else 1e-8)


@pytest.mark.parametrize('solver', SOLVERS)
@pytest.mark.parametrize('size', [1e-2, 1e-3, 1e-4])
def test_tiny_cubes_stay(size, solver):
    """Drift by less than a thousandth of the size in one second."""
    world = stacked(solver, (size,) * 3, (1000.0 * size**3,) * 3)
    assert moved(world, 1000) < 1e-3 * size


@pytest.mark.parametrize('solver', SOLVERS)
def test_a_thrown_robot_is_solved(solver, example_robots):
    """Solve nearly every step of an ANYmal hitting the ground at 5 m/s without control."""
    world = sb.World(solver=solver)
    world.add_ground()
    path = example_robots['anymal_b_simple/anymal']
    robot = world.load_urdf(path, position=(0.0, 0.0, 0.7))
    robot.set_base_velocity((3.5, 0.0, -3.5))
    unsolved = 0
    for _ in range(600):
        world.step()
        unsolved += not world.report.converged
        assert world.report.residual < 0.05
    assert unsolved <= 6
    assert robot.root_link.p[2] > 0.0
