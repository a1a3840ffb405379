"""Impacts through touching bodies: Newton's cradle, and the energy of elastic heaps."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb

SPEED = 2.0


def cradle(masses, restitution, gap=0.0):
    """Shoot the first ball of a row at the others; return the world."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    world.set_contact_material(
        'default', 'default', sb.ContactMaterial(friction=0.0, restitution=restitution)
    )
    for k, mass in enumerate(masses):
        place = k * (0.2 + gap) - (0.0105 if k == 0 else 0.0)
        world.add_body(sb.Sphere(0.1), f'ball{k}', mass=mass, position=(place, 0.0, 0.0))
    world.robots['ball0'].set_base_velocity((SPEED, 0.0, 0.0))
    return world


def speeds(world):
    """Return the balls' velocities along the row, in order."""
    return np.array([body.root_link.v[0] for body in world.robots.values()])


def one_after_the_other(masses, restitution):
    """Return the velocities after successive pair collisions, from the first ball on."""
    v = np.zeros(len(masses))
    v[0] = SPEED
    while (approaching := np.flatnonzero(v[:-1] - v[1:] > 1e-10)).size:
        k = approaching[0]
        a, b = masses[k], masses[k + 1]
        p = (1.0 + restitution) * (v[k] - v[k + 1]) / (1.0 / a + 1.0 / b)
        v[k] -= p / a
        v[k + 1] += p / b
    return v


@pytest.mark.parametrize(
    ('masses', 'restitution'),
    [
        ((1.0,) * 5, 1.0),
        ((1.0,) * 20, 1.0),
        ((1.0, 2.0, 4.0), 1.0),
        ((4.0, 2.0, 1.0), 1.0),
        ((1.0,) * 3, 0.9),
        ((1.0,) * 5, 0.9),
        ((4.0, 2.0, 1.0), 0.5),
    ],
)
def test_row_of_touching_balls(masses, restitution):
    """Pass on an impact as with gaps: of five equal elastic balls only the last moves."""
    world = cradle(masses, restitution)
    world.step(30)
    np.testing.assert_allclose(speeds(world), one_after_the_other(masses, restitution), atol=1e-8)


def test_two_balls_come_out_if_two_go_in():
    """Split into two and three, as Newton's cradle does."""
    world = cradle((1.0,) * 5, 1.0)
    body = world.robots['ball1']
    body.set_base_pose((0.2 - 0.0105, 0.0, 0.0))
    body.set_base_velocity((SPEED, 0.0, 0.0))
    world.step(30)
    np.testing.assert_allclose(speeds(world), [0.0, 0.0, 0.0, SPEED, SPEED], atol=1e-9)


@pytest.mark.parametrize(('time_step', 'error'), [(1e-3, 1e-5), (1e-2, 1e-3)])
def test_heap_of_elastic_balls_keeps_its_energy(time_step, error):
    """Keep the energy almost exactly while balls fall on each other and on the ground."""
    world, rng = sb.World(time_step=time_step), np.random.default_rng(0)
    world.add_ground()
    world.set_contact_material(
        'default', 'default', sb.ContactMaterial(friction=0.0, restitution=1.0)
    )
    for place in np.ndindex(4, 4, 4):
        aside = 0.001 * rng.random(3)
        world.add_body(
            sb.Sphere(0.1),
            mass=1.0,
            position=(
                0.201 * place[0] + aside[0],
                0.201 * place[1] + aside[1],
                0.4 + 0.21 * place[2],
            ),
        )
    start = world.energy().total
    for _ in range(round(1.5 / (10 * time_step))):
        world.step(10)
        assert world.energy().total == pytest.approx(start, rel=error)


def test_box_bounces_flat():
    """Bounce on four corners at once, without turning."""
    world = sb.World()
    world.add_ground()
    world.set_contact_material('default', 'default', sb.ContactMaterial(restitution=0.7))
    box = world.add_body(sb.Box((0.4, 0.3, 0.2)), mass=3.0, position=(0.0, 0.0, 0.5))
    fastest = 0.0
    for _ in range(800):
        world.step()
        fastest = max(fastest, box.root_link.v[2])
        assert np.abs(box.root_link.w).max() < 1e-9
    assert fastest == pytest.approx(0.7 * np.sqrt(2.0 * 9.81 * 0.4), rel=5e-3)
