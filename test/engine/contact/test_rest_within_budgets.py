"""Scenes at rest stand with every step budget; sweeps are as many as given."""

from itertools import pairwise

import numpy as np
import pytest

import sim_bridge as sb

LENGTH, WIDTH, HEIGHT = 0.12, 0.024, 0.008
RADIUS = 0.1


def crossed_tower(levels, time_step=0.01, **settings):
    """Return a world with levels of three flat blocks each, laid crosswise, and the blocks."""
    world = sb.World(time_step, **settings)
    world.materials.add(sb.Material('default', friction=0.8))
    world.add_ground()
    blocks = []
    for level in range(levels):
        for side in (-1, 0, 1):
            offset, height = side * (LENGTH - WIDTH) / 2, HEIGHT * (level + 0.5)
            size, position = (LENGTH, WIDTH, HEIGHT), (0.0, offset, height)
            if level % 2 == 1:
                size, position = (WIDTH, LENGTH, HEIGHT), (offset, 0.0, height)
            blocks.append(world.add_body(sb.Box(size), density=600.0, position=position))
    return world, blocks


def pyramid(rows, **settings):
    """Return a world with a pyramid of lying cylinders between two stops, and the cylinders."""
    world, upright = sb.World(0.005, **settings), np.sqrt(3.0)
    world.materials.add(sb.Material('default', friction=0.5))
    world.add_ground()
    for side in (-1, 1):
        world.add_body(
            sb.Box((0.05, 1.0, 0.1)),
            motion='static',
            position=(side * (rows * RADIUS + 0.025), 0.0, 0.05),
        )
    cylinders = [
        world.add_body(
            sb.Cylinder(RADIUS, 0.6),
            mass=5.0,
            position=((2 * k - rows + 1 + row) * RADIUS, 0.0, RADIUS * (1.0 + row * upright)),
            orientation=(np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)),
        )
        for row in range(rows)
        for k in range(rows - row)
    ]
    return world, cylinders


def positions(bodies):
    """Return the bodies' positions."""
    return np.array([body.root_link.p for body in bodies])


@pytest.mark.parametrize('budget', [1000, 20_000, sb.World().step_budget, None])
@pytest.mark.parametrize(('make', 'size'), [(crossed_tower, 10), (pyramid, 4)])
def test_what_rests_stands_with_every_budget(make, size, budget):
    """Solve every step, take few Newton steps, and move nothing."""
    world, bodies = make(size, step_budget=budget)
    start, newtons = positions(bodies), []
    for _ in range(150):
        world.step()
        assert world.report.converged
        newtons.append(world.report.newton_steps)
    assert np.abs(positions(bodies) - start).max() < 1e-7
    # the impulses of one step solve the next, though rounding renames the cylinders' features
    assert max(newtons[1:]) <= 6 and np.mean(newtons[50:]) <= 0.5


@pytest.mark.parametrize('solver', ['direct', 'iterative', 'split'])
@pytest.mark.parametrize(('levels', 'time_step'), [(5, 0.01), (12, 0.01), (12, 0.001)])
def test_what_rests_stands_under_every_solver(levels, time_step, solver):
    """Stand without settings: `iterative` used to let a tower sink by a centimetre."""
    world, blocks = crossed_tower(levels, time_step, solver=solver)
    start = positions(blocks)
    for _ in range(30):
        world.step()
        assert world.report.converged
    assert np.abs(positions(blocks) - start).max() < 1e-6


def test_more_iterations_leave_less():
    """Take the given number of sweeps, and leave a smaller residual with each more of them."""
    residuals = []
    for iterations in (5, 20, 80, 320):
        world, _ = crossed_tower(12, solver='iterative', iterations=iterations)
        world.step()
        assert world.report.sweeps == iterations
        residuals.append(world.report.residual)
    assert all(later < 0.5 * sooner for sooner, later in pairwise(residuals))
