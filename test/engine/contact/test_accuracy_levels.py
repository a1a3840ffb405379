"""Islands that Newton's method solves only at great cost are solved coarsely for some steps."""

from contact_worlds import leaning_books
import numpy as np
import pytest

from sim_bridge.engine.contact.accuracy import (
    CHEAP,
    COARSE,
    COSTLY,
    FINE,
    MISSED,
    next_level,
    next_missed,
    ROUGH,
    SETTLING,
    SWEPT,
)


def speed(world):
    """Return the greatest velocity coordinate of all bodies."""
    links = [robot.root_link for robot in world.robots.values()]
    return max(np.abs(np.r_[link.v, link.w]).max() for link in links)


@pytest.mark.parametrize('time_step', [1e-3, 2e-3, 5e-3])
def test_leaning_books_come_to_rest(time_step):
    """Solve almost every step, within bounded Newton steps, and rest to rounding."""
    world, newtons, unsolved = leaning_books(time_step), [], 0
    for _ in range(round(0.5 / time_step)):
        world.step()
        newtons.append(world.report.newton_steps)
        unsolved += not world.report.converged
    # steps on the central path count, too; four hundred iterations of ADMM count as one
    assert max(newtons) < 150
    assert unsolved <= 0.1 * len(newtons)
    assert not any(newtons[-5:])
    assert speed(world) < 1e-11
    assert world.report.converged


def test_a_copy_takes_the_same_steps():
    """Carry the levels over to a copy: its motion is the same to the bit."""
    world = leaning_books()
    world.step(60)
    copy = world.copy()
    world.step(40)
    copy.step(40)
    assert world.state_hash() == copy.state_hash()


@pytest.mark.parametrize(
    ('level', 'result', 'before', 'after'),
    [
        (FINE, CHEAP, (FINE, 0, 0), (FINE, 0, 0)),
        (FINE, COSTLY, (FINE, 0, 0), (COARSE, 2, 1)),
        (FINE, MISSED, (FINE, 0, 0), (ROUGH, 2, 1)),
        (COARSE, CHEAP, (COARSE, 3, 1), (COARSE, 2, 1)),
        (ROUGH, SWEPT, (ROUGH, 3, 2), (ROUGH, 2, 2)),
        (ROUGH, CHEAP, (ROUGH, 3, 2), (COARSE, 0, 1)),
        (COARSE, COSTLY, (COARSE, 3, 1), (COARSE, 2, 1)),
        (FINE, CHEAP, (COARSE, 0, 1), (FINE, 0, 0)),
        (FINE, COSTLY, (COARSE, 0, 1), (COARSE, 4, 2)),
        (COARSE, CHEAP, (ROUGH, 0, 2), (COARSE, 4, 2)),
        (COARSE, MISSED, (ROUGH, 0, 8), (ROUGH, 256, 8)),
        (FINE, SETTLING, (FINE, 0, 0), (FINE, 0, 1)),
        (FINE, SETTLING, (FINE, 0, 100), (ROUGH, 256, 0)),
    ],
)
def test_levels_follow_the_results(level, result, before, after):
    """Wait twice as long after each failure, try the next finer level after the wait."""
    assert next_level(level, result, *before) == after


def test_the_missed_residual_rises_only_by_newton_steps():
    """Let sweeps lower the residual that they may leave slowly, and never raise it."""
    assert next_missed(1e-6, 3e-6, MISSED) == 3e-6
    assert next_missed(1e-6, 3e-6, CHEAP) == 1e-6
    assert next_missed(1e-6, 1e-9, CHEAP) == pytest.approx(0.9e-6)
