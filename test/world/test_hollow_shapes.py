"""Hollow cylinders in a world: bodies passing through the bore, bodies resting on the rim."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb

RING = sb.HollowCylinder(0.08, 0.1, 0.05)


def drop(shape, height, steps, x=0.0, target=RING):
    """Let a shape fall onto a static ring; return its link and the world."""
    world = sb.World()
    world.add_body(target, 'ring', motion='static')
    body = world.add_body(shape, 'body', density=1000.0, position=(x, 0.0, height))
    world.step(steps)
    return body.root_link, world


def test_a_ball_passes_the_bore_and_a_larger_one_rests_on_its_rim():
    """Let a 0.045 m ball fall by g t² / 2 through a 0.05 m bore; a 0.055 m ball rests."""
    link, _ = drop(sb.Sphere(0.045), 0.15, 400)
    assert link.p[2] == pytest.approx(0.15 - 0.5 * 9.81 * 0.4**2, abs=1e-3)
    for x in (0.0, 0.01):
        link, _ = drop(sb.Sphere(0.055), 0.08, 4000, x)
        height = 0.05 + np.sqrt(0.055**2 - 0.05**2)
        np.testing.assert_allclose(link.p, (0.0, 0.0, height), atol=1e-6)


def test_a_peg_goes_into_the_bore_and_a_plug_into_the_cone():
    """Let a peg slide through the bore, also off-centre; a plug stops at equal width."""
    link, _ = drop(sb.Cylinder(0.045, 0.2), 0.16, 600, x=0.004)
    assert link.p[2] < -0.5
    funnel = sb.HollowCone(0.06, 0.1, 0.03, 0.09, 0.07)
    link, _ = drop(sb.Cone(0.03, 0.1, 0.05), 0.1, 2000, target=funnel)
    # the bore's radius is 0.05 + 0.4 z; the plug's, 0.05 lower, is 0.03 + 0.2 (z + 0.05)
    assert -0.06 < link.p[2] < 0.06
    assert np.linalg.norm(link.v) < 1e-6
    np.testing.assert_allclose(link.p[:2], 0.0, atol=1e-4)


def test_a_ring_falls_over_a_pin():
    """Let a ring fall around a pin, down to the ground."""
    world = sb.World()
    world.add_ground()
    world.add_body(sb.Cylinder(0.04, 0.4), 'pin', motion='static', position=(0, 0, 0.2))
    ring = world.add_body(RING, 'ring', density=1000.0, position=(0.005, 0.0, 0.45)).root_link
    twin = world.copy()
    world.step(1500)
    assert ring.p[2] == pytest.approx(0.05, abs=1e-5)
    assert np.hypot(*ring.p[:2]) <= 0.01 + 1e-5
    twin.step(1500)
    assert twin.state_hash() == world.state_hash()


def test_a_chain_of_rings_hangs_and_swings():
    """Hang ring from ring at the corners of their rims, and hold when the last one is pulled."""
    h = np.sqrt(0.5)
    ring, turns = sb.HollowCylinder(0.1, 0.02, 0.08), [(0, h, 0, h), (h, 0, 0, h)]
    world = sb.World()
    chain = [
        world.add_body(
            ring, f'ring{k}', mass=0.1, position=(0, 0, -0.155 * k), orientation=turns[k % 2]
        )
        for k in range(4)
    ]
    chain[0].motion = 'static'
    reach = 2.0 * np.sqrt(0.08**2 - 0.01**2)
    world.step(300)
    gaps = -np.diff([each.root_link.p[2] for each in chain])
    np.testing.assert_allclose(gaps, reach, atol=1e-5)
    borne = []
    for _ in range(200):
        world.step()
        borne.append(world.contacts.force_on(chain[1], by=chain[0])[2])
    assert np.mean(borne) == pytest.approx(0.3 * 9.81, rel=0.01)
    for _ in range(400):
        chain[-1].root_link.add_force((3.0, 1.5, 0.0))
        world.step()
        assert world.contacts.depths.max(initial=0.0) < 2e-3
    ends = np.diff([each.root_link.p for each in chain], axis=0)
    assert np.linalg.norm(ends, axis=1).max() < 0.17
