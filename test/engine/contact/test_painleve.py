"""
Rods sliding on one end with so much friction that rigid-body accelerations have no solution.

Painlevé (1895): above a friction of 4/3, a slender rod leaning against its motion has no finite
contact force (Génot and Brogliato 1999). In time steps, impulses end the sliding at once (Stewart
2000): an impact without a collision.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import sim_bridge as sb

LENGTH, HALF = 1.0, 0.01


def slide(friction: float, angle: float, speed: float, h: float, solver: str) -> sb.World:
    """Let a rod slide on its front end, `angle` [rad] below its rear end."""
    world = sb.World(time_step=h, solver=solver)
    world.add_ground()
    world.set_contact_material('default', 'default', sb.ContactMaterial(friction=friction))
    rod = world.add_body(sb.Box((LENGTH, 2 * HALF, 2 * HALF)), mass=1.0)
    height = 0.5 * LENGTH * math.sin(angle) + HALF * math.cos(angle)
    rod.set_base_pose((0.0, 0.0, height), (0.0, math.sin(0.5 * angle), 0.0, math.cos(0.5 * angle)))
    rod.set_base_velocity((speed, 0.0, 0.0), (0.0, 0.0, 0.0))
    return world


@pytest.mark.parametrize('solver', ['direct', 'iterative', 'split'])
@pytest.mark.parametrize('friction', [1.4, 2.0, 20.0])
@pytest.mark.parametrize('degrees', [45.0, 60.0, 75.0, 85.0])
def test_jammed_rods_stay_bounded(solver: str, friction: float, degrees: float):
    """End sliding without a solution at once, without gaining energy."""
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    # contact-point acceleration per normal force, times the mass, including sliding friction
    is_paradox = 1.0 + 3.0 * cosine**2 - 3.0 * friction * sine * cosine < 0.0
    for speed in (2.0, 10.0):
        world = slide(friction, math.radians(degrees), speed, 1e-3, solver)
        start, link = sum(world.energy()), world.robots['body'].root_link
        slowed = 0.0
        for _ in range(300):
            before = link.v[0]
            world.step()
            slowed = max(slowed, before - link.v[0])
            # the jam's share is of second order, see below
            assert sum(world.energy()) < (1.0 + 2e-3) * start
            assert world.report.residual < 1e-4
        assert np.isfinite(link.p).all()
        if is_paradox:
            assert slowed > 0.02 * speed, 'an impact without a collision'


def test_energy_of_a_jam_is_of_second_order():
    """Gain energy by the squared time step only, in the step that ends the sliding."""
    gains = []
    for h in (4e-3, 2e-3, 1e-3):
        world = slide(2.0, math.radians(60.0), 10.0, h, 'direct')
        start = sum(world.energy())
        world.step(2)
        gains.append(sum(world.energy()) - start)
    assert gains[0] < 5e-3 * start
    assert gains[1] < gains[0] / 3.0 and gains[2] < gains[1] / 3.0
