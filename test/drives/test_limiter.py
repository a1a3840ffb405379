"""Velocity, acceleration and jerk limiter compared with densely simulated fastest motion."""

from __future__ import annotations

import numpy as np
import pytest

from sim_bridge.description.drives import SpeedLimits
from sim_bridge.drives.limiter import SpeedLimiter


def run(limits: SpeedLimits, wanted: list[tuple[float, float]], step: float) -> np.ndarray:
    """Return the velocities for wanted ones, each kept for a time [s]."""
    limiter = SpeedLimiter(limits)
    return np.array(
        [
            limiter.step(velocity, step)
            for velocity, time in wanted
            for _ in range(round(time / step))
        ]
    )


def even(velocity=np.inf, acceleration=np.inf, jerk=np.inf) -> SpeedLimits:
    return SpeedLimits(
        -velocity, velocity, acceleration, acceleration, acceleration, acceleration, jerk, jerk
    )


def fastest(wanted: float, acceleration: float, jerk: float, time: float) -> np.ndarray:
    """
    Return the velocity of the fastest motion from rest, every 10 µs.

    Each step takes the greatest of three jerks for which a simulated decrease of the acceleration
    does not pass the velocity.
    """
    step, v, a, found = 1e-5, 0.0, 0.0, []
    for _ in range(round(time / step)):
        for change in (jerk, 0.0, -jerk):
            then = min(a + change * step, acceleration)
            # decreasing at the jerk limit: the area of a triangle
            if v + then * step + 0.5 * then * then / jerk <= wanted:
                break
        a = max(then, 0.0)
        v += a * step
        found.append(v)
    return np.array(found)


@pytest.mark.parametrize(('acceleration', 'jerk'), [(1.0, 5.0), (2.0, 3.0), (0.4, 50.0)])
def test_the_limits_are_used_up_and_kept(acceleration, jerk):
    """Follow the fastest motion within the limits, up to one step's change."""
    step, wanted = 0.01, 0.73
    found = run(even(10.0, acceleration, jerk), [(wanted, 3.0)], step)
    dense = fastest(wanted, acceleration, jerk, 3.0)[round(step / 1e-5) - 1 :: round(step / 1e-5)]
    assert np.abs(found - dense).max() <= 1.5 * acceleration * step
    a = np.diff(found, prepend=0.0) / step
    j = np.diff(a, prepend=0.0) / step
    assert np.abs(a).max() <= acceleration * (1 + 1e-9)
    assert np.abs(j).max() <= jerk * (1 + 1e-6)
    # reaches the goal to the last bit, without passing it
    assert found.max() == found[-1] == wanted
    # takes the time of the closed form, and one step
    if acceleration**2 / jerk < wanted:
        assert np.argmax(found == wanted) * step <= (
            wanted / acceleration + acceleration / jerk + 1.5 * step
        )


def test_a_change_of_mind_keeps_the_limits():
    """Reverse in the middle of a motion with limited jerk."""
    step = 0.002
    found = run(even(1.0, 2.0, 10.0), [(1.0, 0.2), (-0.6, 1.0), (0.1, 0.15), (0.5, 2.0)], step)
    a = np.diff(found, prepend=0.0) / step
    j = np.diff(a, prepend=0.0) / step
    assert np.abs(a).max() <= 2.0 * (1 + 1e-9)
    assert np.abs(j).max() <= 10.0 * (1 + 1e-6)
    assert found.min() >= -0.6 - 1e-12 and found[-1] == 0.5


def test_slowing_down_has_limits_of_its_own():
    """Speed up and slow down at the four rates, and stop between the directions."""
    limits = SpeedLimits(-1.0, 1.0, 1.0, 4.0, 0.5, 2.0)
    step = 0.01
    found = run(limits, [(1.0, 1.5), (-1.0, 3.0), (0.0, 1.0)], step)
    a = np.diff(found, prepend=0.0) / step
    before = np.concatenate([[0.0], found[:-1]])
    up, down = before >= 0.0, before > 0.0
    assert a[up].max() == pytest.approx(1.0) and a[down].min() == pytest.approx(-4.0)
    assert a[~up].max() == pytest.approx(2.0) and a[~down].min() == pytest.approx(-0.5)
    times = [np.argmax(found == 1.0), np.argmax(found == -1.0)]
    assert times[0] == 99
    assert abs(times[1] * step - (1.5 + 0.25 + 2.0)) <= 2 * step
    assert found[-1] == 0.0


def test_velocities_are_clamped_and_free_ones_follow_at_once():
    """Follow at once without limits."""
    limiter = SpeedLimiter(SpeedLimits())
    assert [limiter.step(v, 0.01) for v in (1.0, -3.0, 0.1)] == [1.0, -3.0, 0.1]
    limiter = SpeedLimiter(SpeedLimits(min_velocity=-0.2, max_velocity=0.5))
    assert [limiter.step(v, 0.01) for v in (1.0, -3.0, 0.1)] == [0.5, -0.2, 0.1]


def test_acceleration_alone_is_a_ramp():
    """Change by the acceleration times the step, like diff_drive_controller."""
    found = run(even(acceleration=2.0), [(0.05, 0.05)], 0.01)
    np.testing.assert_allclose(found, [0.02, 0.04, 0.05, 0.05, 0.05])
