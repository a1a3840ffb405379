"""Springs with restitution: the coefficient holds at any stiffness, damping and step length."""

from __future__ import annotations

from contact_worlds import G, grounded
import numpy as np
import pytest

import sim_bridge as sb

SPEED = 3.0
LYING = (0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5))
# shape of the falling body, of the body below (None: the ground), and the initial orientation
FALLS = {
    'ball': (sb.Sphere(0.1), None, (0, 0, 0, 1)),
    'box': (sb.Box((0.3, 0.2, 0.2)), None, (0, 0, 0, 1)),
    'cylinder': (sb.Cylinder(0.1, 0.2), None, (0, 0, 0, 1)),
    'lying capsule': (sb.Capsule(0.1, 0.3), None, LYING),
    'two balls': (sb.Sphere(0.1), sb.Sphere(0.1), (0, 0, 0, 1)),
    'two boxes': (sb.Box((0.2, 0.2, 0.2)), sb.Box((0.2, 0.3, 0.2)), (0, 0, 0, 1)),
}


@pytest.mark.parametrize('fall', FALLS)
@pytest.mark.parametrize('restitution', [0.3, 1.0])
def test_rebound_is_the_coefficient_at_any_stiffness(fall, restitution):
    """Rebound without rotation at the coefficient times the approach, without gravity."""
    shape, other, turn = FALLS[fall]
    for stiffness, damping in ((1e8, 0.0), (1e6, 300.0), (1e4, 10.0), (1e3, 0.0)):
        for step in (4e-3, 1e-3, 2.5e-4):
            law = {'restitution': restitution, 'stiffness': stiffness, 'damping': damping}
            world = grounded(law, time_step=step, gravity=(0, 0, 0))
            # the impact is somewhere in a step
            height = 0.1 + SPEED * step * 2.3
            if other is not None:
                world = sb.World(time_step=step, gravity=(0, 0, 0))
                world.set_contact_material('default', 'default', sb.ContactMaterial(**law))
            body = world.add_body(
                shape,
                mass=1.0,
                position=(0, 0, height),
                orientation=turn,
                linear_velocity=(0, 0, -SPEED),
            )
            below = other and world.add_body(other, mass=2.0, position=(0, 0, -0.1))
            world.step(20)
            speed = body.root_link.v[2] - (below.root_link.v[2] if below else 0.0)
            assert speed == pytest.approx(restitution * SPEED, abs=1e-9)
            np.testing.assert_allclose(body.root_link.w, 0.0, atol=1e-9)


@pytest.mark.parametrize('step', [4e-3, 1e-3])
@pytest.mark.parametrize('stiffness', [1e8, 1e6, 1e4])
def test_bounces_end_on_the_spring(stiffness, step):
    """Bounce as on rigid ground, then rest at the depth m g / k."""
    tracks = []
    for law in ({}, {'stiffness': stiffness, 'damping': 0.01 * stiffness}):
        world = grounded({'restitution': 0.7, **law}, time_step=step)
        ball = world.add_body(sb.Sphere(0.1), mass=1.0, position=(0, 0, 0.6))
        track = np.empty(round(1.2 / step))
        for k in range(len(track)):
            world.step()
            track[k] = ball.root_link.p[2]
        tracks.append(track)
    np.testing.assert_allclose(*tracks, atol=1e-3)
    world.step(round(5.0 / step))
    assert ball.root_link.p[2] == pytest.approx(0.1 - G / stiffness, abs=1e-9)
    assert abs(ball.root_link.v[2]) < 1e-7


def test_young_modulus_of_the_manual_keeps_the_coefficient():
    """Rebound at 0.6 between materials with 0.1 GPa and a damper, as in AGX's manual."""
    world = sb.World(gravity=(0, 0, 0))
    rubber = sb.Material('rubber', restitution=0.6, youngs_modulus=1e8, damping=0.045)
    world.add_ground(rubber)
    ball = world.add_body(
        sb.Sphere(0.1),
        density=1000.0,
        position=(0, 0, 0.102),
        linear_velocity=(0, 0, -2.0),
        material=rubber,
    )
    world.step(50)
    assert ball.root_link.v[2] == pytest.approx(1.2, abs=1e-9)


@pytest.mark.parametrize('layer', [0.0, 1e-4, 1e-2])
def test_spring_begins_at_the_surface(layer):
    """Sink by m g / k, and store m g x / 2, whatever the surface layer."""
    law = {'stiffness': 1e5, 'damping': 1e3, 'surface_layer': layer}
    world = grounded(law)
    ball = world.add_body(sb.Sphere(0.1), mass=1.0, position=(0, 0, 0.1))
    world.step(2000)
    sunk = G / 1e5
    assert ball.root_link.p[2] == pytest.approx(0.1 - sunk, abs=1e-10)
    energy = world.energy().potential
    world.set_contact_material('default', 'default', sb.ContactMaterial())
    assert energy - world.energy().potential == pytest.approx(0.5 * G * sunk, rel=1e-6)
