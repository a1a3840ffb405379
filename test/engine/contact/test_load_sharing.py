"""Redundant contacts share loads as slightly compliant ones do."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb

G = 9.81
STEP = 2e-3


def rough_world(solver, friction):
    """Return a world with one material."""
    world = sb.World(time_step=STEP, solver=solver)
    world.materials.add(sb.Material('rough', friction=friction))
    return world


def greatest(values):
    """Return the greatest absolute value."""
    return float(np.abs(np.ravel(values)).max())


@pytest.mark.parametrize('friction', [0.3, 1.0])
@pytest.mark.parametrize('angle', [0.3, 0.8])
@pytest.mark.parametrize(
    ('solver', 'most'), [('direct', 1e-9), ('split', 1e-7), ('iterative', 1e-6)]
)
def test_parcel_between_belts_stays_in_the_middle(solver, most, angle, friction):
    """A parcel amid two converging belts moves with them, without turning."""
    world = rough_world(solver, friction)
    along, across = 0.5 * np.cos(angle), 0.5 * np.sin(angle)
    for side in (-1.0, 1.0):
        world.add_body(
            sb.Placed(sb.Box((20.0, 1.0, 0.2)), surface_velocity=(along, -side * across, 0.0)),
            motion='static',
            position=(0.0, 0.5 * side, -0.1),
            material='rough',
        )
    parcel = world.add_body(
        sb.Box((0.4, 0.6, 0.2)), mass=2.0, material='rough', position=(-2.0, 0.0, 0.1)
    )
    world.step(600)
    link = parcel.root_link
    # `split` and `iterative` accept last step's impulses up to their tolerance
    assert greatest([link.p[1], *link.w, *link.v[1:]]) < most
    assert link.v[0] == pytest.approx(along, abs=2e-3)


def plate_on_rails(solver, friction, length, height, mass):
    """Return a world with a plate across two rails along x, and the plate."""
    world = rough_world(solver, friction)
    for side in (-1.0, 1.0):
        world.add_body(
            sb.Box((20.0, 0.1, 0.3)),
            motion='static',
            position=(0.0, 0.3 * side, 0.15),
            material='rough',
        )
    plate = world.add_body(
        sb.Box((length, 0.7, height)), mass=mass, material='rough', position=(0.0, 0.0, 0.35)
    )
    return world, plate


@pytest.mark.parametrize('friction', [0.2, 0.5])
@pytest.mark.parametrize('solver', ['direct', 'split', 'iterative'])
def test_load_on_two_rails_is_affine(solver, friction):
    """
    A plate sliding along two rails loads both equally, more ahead than behind.

    All points are at the plate's ends: compliant points share the weight in equal parts, plus and
    minus the part balancing friction's moment about the centre.
    """
    length, height, mass = 0.3, 0.1, 1.0
    world, plate = plate_on_rails(solver, friction, length, height, mass)
    plate.set_base_velocity((3.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    world.step(50)
    points = world.contacts
    ahead = np.array([point.position[0] > plate.root_link.p[0] for point in points])
    loads = np.array([abs(point.force[2]) for point in points])
    tilt = friction * height / length
    assert len(points) == 8
    np.testing.assert_allclose(
        loads, mass * G / 8 * np.where(ahead, 1 + tilt, 1 - tilt), rtol=1e-3
    )
    assert greatest(loads[ahead] - loads[ahead].mean()) < 1e-9 * mass * G
    assert greatest([plate.root_link.p[1], *plate.root_link.w]) < 1e-11


@pytest.mark.parametrize('solver', ['direct', 'split', 'iterative'])
def test_plate_forgets_how_it_stopped(solver):
    """After a plate has slid to rest its corners carry equal loads, without any friction."""
    world, plate = plate_on_rails(solver, 0.5, 0.3, 0.1, 1.0)
    plate.set_base_velocity((1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    world.step(200)
    forces = np.abs([point.force for point in world.contacts])
    np.testing.assert_allclose(forces, np.tile([0.0, 0.0, G / 8], (8, 1)), atol=2e-4)


def test_block_sliding_between_jaws_does_not_turn():
    """A block pulled through two pressing jaws keeps its direction, and the jaws their places."""
    world = rough_world('direct', 0.2)
    block = world.add_body(
        sb.Box((0.3, 0.2, 0.1)), mass=1.0, material='rough', position=(0.0, 0.0, 0.0)
    )
    jaws = [
        world.add_body(
            sb.Box((0.2, 0.1, 0.2)), mass=1.0, material='rough', position=(0.0, 0.15 * side, 0.0)
        )
        for side in (-1.0, 1.0)
    ]
    block.set_base_velocity((3.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    for _ in range(100):
        for side, jaw in zip((-1.0, 1.0), jaws, strict=True):
            jaw.root_link.add_force((0.0, -30.0 * side, 0.0))
        world.step()
        assert greatest([*block.root_link.w, block.root_link.v[1]]) < 1e-11
