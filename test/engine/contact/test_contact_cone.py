"""Coulomb's law at one contact, for any coupling of its rows."""

from __future__ import annotations

import numpy as np
import pytest

from sim_bridge.compiler.entry import entry
from sim_bridge.engine.contact.cone import solve_cone

# quadruped foot whose locked legs couple friction and normal: sliding has two solutions
JAMMED = (
    0.3136685610533027,
    -0.31182812245147395,
    1.0271726170637776,
    -0.3643228940038462,
    0.21698608921358906,
    4.52526032469204,
)
JAMMED_VELOCITY = (-0.0007463925931542805, -0.012206688326434307, 0.011121288142838416)
JAMMED_GUESS = (0.017675679350585966, -0.0018741278807032438)


@entry
def solve_at_contact(block, q, mu, guess):
    """Call the kernel `solve_cone`."""
    return solve_cone(block, q, mu, guess)


@pytest.fixture(scope='module')
def solve():
    """Return `solve_cone` as a function callable from Python."""

    def call(block, q, mu, guess):
        return solve_at_contact(
            tuple(map(float, block)), tuple(map(float, q)), float(mu), tuple(map(float, guess))
        )

    return call


def breach(block, q, mu, impulse):
    """Return an impulse's violation of Coulomb's law, as a velocity."""
    a_nn, a_n1, a_11, a_n2, a_12, a_22 = block
    matrix = np.array([[a_nn, a_n1, a_n2], [a_n1, a_11, a_12], [a_n2, a_12, a_22]])
    u, (n, *friction) = np.array(q) + matrix @ impulse, impulse
    size, slip = np.hypot(*friction), np.hypot(*u[1:])
    worst = max(-n * a_nn, -u[0], min(n * a_nn, u[0]), (size - mu * n) * a_nn)
    if n > 0.0 and size < (1.0 - 1e-9) * mu * n:
        return max(worst, slip)
    return max(worst, slip + u[1:] @ friction / size if size > 0.0 else 0.0)


def test_jammed_contact_slides_with_the_least_impulse(solve):
    """Find the sliding solution at a contact almost lifted off by friction (Painlevé)."""
    impulse = np.array(solve(JAMMED, JAMMED_VELOCITY, 1.0, JAMMED_GUESS))
    assert breach(JAMMED, JAMMED_VELOCITY, 1.0, impulse) < 1e-9
    assert impulse[0] < 0.01


@pytest.mark.parametrize('mu', [0.0, 0.3, 1.0])
@pytest.mark.parametrize('coupling', [0.0, 0.3, 0.6])
def test_law_holds(solve, mu, coupling):
    """Separate, stick or slide by the law at moderate coupling; give finite impulses at any."""
    random = np.random.default_rng(0)
    for _ in range(500):
        axes = np.eye(3) + coupling * random.uniform(-0.5, 0.5, (3, 3))
        a = axes @ np.diag(random.uniform(0.5, 2.0, 3)) @ axes.T
        block = (a[0, 0], a[0, 1], a[1, 1], a[0, 2], a[1, 2], a[2, 2])
        q, guess = random.normal(size=3), random.normal(size=2)
        impulse = np.array(solve(block, q, mu, guess))
        assert breach(block, q, mu, impulse) < 1e-7


def test_impulses_are_finite_whatever_the_coupling(solve):
    """Return a finite impulse opposing the approach, even without a solution."""
    random = np.random.default_rng(1)
    solved = 0
    for _ in range(3000):
        rows = random.normal(size=(3, 3)) * np.exp(random.normal(size=(3, 1)))
        a = rows @ rows.T
        block = (a[0, 0], a[0, 1], a[1, 1], a[0, 2], a[1, 2], a[2, 2])
        q, mu = random.normal(size=3), random.choice([0.3, 1.0, 2.0])
        impulse = np.array(solve(block, q, mu, random.normal(size=2)))
        assert np.isfinite(impulse).all()
        assert impulse[0] >= 0.0
        assert np.hypot(*impulse[1:]) <= mu * impulse[0] * (1.0 + 1e-9)
        solved += breach(block, q, mu, impulse) < 1e-6
    assert solved > 2950


@pytest.mark.parametrize('turn', [0.0, 0.7, 2.0, 3.9])
def test_sticking_at_the_edge_of_the_cone_is_kept(solve, turn):
    """An impulse at the very edge of its cone, without sliding, is not dropped by rounding."""
    mu, block = 0.6, (1.5, 0.3, 2.0, -0.2, 0.1, 1.2)
    matrix = np.array(
        [
            [block[0], block[1], block[3]],
            [block[1], block[2], block[4]],
            [block[3], block[4], block[5]],
        ]
    )
    for excess in (-1e-15, 0.0, 1e-15, 3e-15, 1e-14):
        impulse = 2e-3 * np.array([1.0, mu * np.cos(turn), mu * np.sin(turn)])
        impulse[1:] *= 1.0 + excess
        found = solve(block, -matrix @ impulse, mu, impulse[1:])
        np.testing.assert_allclose(found, impulse, rtol=1e-9, atol=1e-13)
