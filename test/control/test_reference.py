"""Controller references: continuous, with correct derivatives and values."""

from __future__ import annotations

import numpy as np
import pytest

from sim_bridge.control import reference

START = np.array([0.3, -1.0, 2.0])
CENTER = np.array([1.0, -1.0, 1.5])
AMPLITUDE = np.array([0.2, 0.5, 0.0])
FREQUENCY = np.array([0.5, 2.0, 1.0])
RAMP_S = 1.5


@pytest.fixture
def follow():
    """Return a moving and swinging reference."""
    return reference.Reference(START, CENTER, AMPLITUDE, FREQUENCY, RAMP_S)


def test_it_starts_from_a_standstill_where_the_robot_is(follow):
    """Begin at the start without velocity and acceleration."""
    q, dq, ddq = follow.at(0.0)
    np.testing.assert_array_equal(q, START)
    np.testing.assert_array_equal(dq, 0.0)
    np.testing.assert_array_equal(ddq, 0.0)


def test_derivatives_are_those_of_the_position(follow):
    """Equal central differences, in the ramp, at its end and after it."""
    h = 1e-5
    for time in [*np.linspace(0.01, 3.0, 60), RAMP_S - 2 * h, RAMP_S + 2 * h]:
        before, now, after = (follow.at(time + step) for step in (-h, 0.0, h))
        np.testing.assert_allclose(now[1], (after[0] - before[0]) / (2 * h), atol=1e-6)
        np.testing.assert_allclose(now[2], (after[1] - before[1]) / (2 * h), atol=1e-5)


def test_after_the_ramp_it_is_the_sinusoid(follow):
    """Swing about the centre by the amplitude."""
    for time in (RAMP_S, 2.0, 7.3):
        expected = CENTER + AMPLITUDE * np.sin(2 * np.pi * FREQUENCY * time)
        np.testing.assert_allclose(follow.at(time)[0], expected, atol=1e-12)


def test_without_amplitude_it_holds_the_centre():
    """Stand still at the end."""
    hold = reference.Reference(START, CENTER, np.zeros(3), FREQUENCY, RAMP_S)
    q, dq, ddq = hold.at(10.0)
    np.testing.assert_allclose(q, CENTER, atol=1e-15)
    np.testing.assert_array_equal(dq, 0.0)
    np.testing.assert_array_equal(ddq, 0.0)
