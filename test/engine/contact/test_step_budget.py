"""Step budget: bounded work at equal quality of motion."""

from itertools import pairwise

import numpy as np
import pytest

import sim_bridge as sb

SIZE, COUNT, STEPS = (0.4, 0.3, 0.2), 10, 700
TILT = 1e-5


def dropped(**settings):
    """Return ten boxes above each other, 2 cm apart, tilted to land on corners."""
    world, axes = sb.World(**settings), np.random.default_rng(0)
    world.add_ground()
    for k in range(COUNT):
        world.add_body(
            sb.Box(SIZE),
            f'box{k}',
            mass=10.0,
            position=(0.0, 0.0, (k + 0.5) * SIZE[2] + (k + 1) * 0.02),
            orientation=(*axes.normal(0.0, TILT, 3), 1.0),
        )
    return world


@pytest.fixture(scope='module')
def runs():
    """Return worlds after a drop with and without a budget, and their reports."""
    found = {}
    for budget in (sb.World().step_budget, None):
        world, reports, energies = dropped(step_budget=budget), [], []
        for _ in range(STEPS):
            world.step()
            reports.append(world.report)
            energies.append(world.energy().total)
        found[budget] = world, reports, energies
    return list(found.values())


def test_the_worst_step_takes_a_part_of_the_newton_steps(runs):
    """Bound the Newton steps of the landing, the most expensive steps without a budget."""
    bounded, free = (max(report.newton_steps for report in reports) for _, reports, _ in runs)
    assert 0 < bounded <= 50 < 100 < free


def test_energy_and_penetration_match_a_run_without_budget(runs):
    """Gain almost no energy, sink no deeper, leave small residuals, and come to rest alike."""
    for world, reports, energies in runs:
        gains = [later - sooner for sooner, later in pairwise(energies)]
        # the residual of a step changes far less energy than the drop releases
        assert max(gains) < 2e-5 * energies[0] and max(energies) < (1.0 + 1e-9) * energies[0]
        assert max(report.penetration for report in reports) < 2e-5
        assert max(report.residual for report in reports) < 0.05
        assert reports[-1].residual < 1e-9
        for k in range(COUNT):
            link = world.robots[f'box{k}'].root_link
            assert link.p == pytest.approx((0.0, 0.0, (k + 0.5) * SIZE[2]), abs=1e-4)
            assert np.abs(link.v).max() < 1e-6


def test_unsolved_steps_are_reported_and_continued():
    """Report steps not solved to the tolerance; continue from their impulses."""
    world, unsolved = dropped(step_budget=5_000), []
    for _ in range(STEPS):
        world.step()
        unsolved.append(not world.report.converged)
    assert any(unsolved) and not any(unsolved[-100:])


def test_the_default_budget_solves_a_landing(runs):
    """Solve every step of the landing to the accepted residual."""
    _, reports, _ = runs[0]
    assert all(report.converged for report in reports)


def test_a_budget_counts_and_does_not_time():
    """Take the same decisions again: the same bits from the start, a snapshot and in a copy."""
    world = dropped(step_budget=20_000)
    world.step(150)
    saved, twin = world.save(), world.copy()
    world.step(150)
    world_hash = world.state_hash()
    for other in (world, twin):
        other.restore(saved)
        other.step(150)
        assert other.state_hash() == world_hash
    anew = dropped(step_budget=20_000)
    anew.step(300)
    assert anew.state_hash() == world_hash
    assert dropped(step_budget=None).step_budget is None


def test_scenes_set_the_budget():
    """Set the budget by a scene key."""
    world = sb.World()
    world.load_scene({'world': {'step_budget': 20_000}})
    assert world.step_budget == 20_000
    with pytest.raises(sb.DescriptionError, match='step_budget'):
        world.load_scene({'world': {'step_budget': 5}})
