"""The central path of contact problems: Coulomb's law at its end, and scenes that need it."""

from __future__ import annotations

from contact_worlds import grounded
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.engine.contact.central_path import follow_path, has_path
from sim_bridge.engine.contact.velocity_newton import order_coordinates
from sim_bridge.engine.data.contact_problem import Bound, TREE_WORK
from sim_bridge.engine.data.world_table import direct, islands, laws, rows, solution

TOLERANCE = 1e-10


def two_boxes(law):
    """Return a world after one step with a box on another one."""
    world = grounded(law)
    for k in range(2):
        world.add_body(
            sb.Box((0.2, 0.3, 0.1)), mass=1.0 + k, position=(0.03 * k, 0, 0.05 + 0.1 * k)
        )
    world.step()
    assert world.report.contacts == 8
    return world


def tilted_boxes(count):
    """Return a world with tilted boxes above one another."""
    world, rng = grounded({'friction': 0.6}), np.random.default_rng(5)
    for k in range(count):
        turn = 0.15 * rng.normal(size=3)
        place = (*rng.uniform(-0.02, 0.02, 2), 0.15 + 0.25 * k)
        orientation = np.array([*(0.5 * turn), 1.0]) / np.sqrt(1.0 + 0.25 * turn @ turn)
        world.add_body(sb.Box((0.2, 0.2, 0.2)), mass=1.0, position=place, orientation=orientation)
    return world


@pytest.mark.parametrize(
    'law',
    [
        {'friction': 0.6},
        {'friction': 1.5},
        {'friction': 0.0},
        {'friction': 0.4, 'stiffness': 1e4, 'damping': 30.0},
    ],
)
def test_the_path_ends_at_coulombs_law(law):
    """Hit two boxes in random directions: impulses and velocities obey the law at all contacts."""
    table = two_boxes(law).simulation.cache.handles.probe
    own, found, near, rng = solution(table), rows(table), direct(table), np.random.default_rng(2)
    parts = laws(table), islands(table), found, own
    order_coordinates(islands(table), found, near, 0)
    near.size[TREE_WORK] = -1
    assert has_path(laws(table), islands(table), found, near, 0)
    order, most = islands(table).order[:8], []
    for _ in range(4):
        own.impulse[:], own.z[:] = 0.0, 0.0
        hit = rng.normal(size=own.z.size)
        for contact in order:
            span = slice(found.first[contact], found.first[contact + 1])
            own.bias[contact, :3] = found.linear[:, span] @ hit[found.support[span]]
        most.append(follow_path(*parts, near, 0, TOLERANCE, 10**9))
        pressing = 0
        for contact in order:
            span = slice(found.first[contact], found.first[contact + 1])
            impulse = own.impulse[contact, :3]
            u = own.bias[contact, :3] + laws(table).softness[contact, :3] * impulse
            u = u + found.linear[:, span] @ own.z[found.support[span]]
            if laws(table).rows[contact] == 1:
                u[1:] = 0.0
            mu, (n, *t) = laws(table).radius[contact, Bound.TANGENT], impulse
            pressing += n > 1e-6
            assert n >= 0.0
            assert u[0] > -1e-8
            assert min(n, u[0]) < 1e-8
            assert np.hypot(*t) <= mu * n + 1e-8
            # friction opposes sliding, with all its strength
            assert mu * n * np.hypot(*u[1:]) + t @ u[1:] < 1e-8
        assert pressing > 0
    assert max(most) < 25


@pytest.mark.parametrize('law', [{'friction_model': 'pyramid'}, {'rolling_friction': 1e-3}])
def test_other_laws_have_no_path(law):
    """Leave friction pyramids and rolling friction to Newton steps."""
    table = two_boxes({'friction': 0.5, **law}).simulation.cache.handles.probe
    order_coordinates(islands(table), rows(table), direct(table), 0)
    assert not has_path(laws(table), islands(table), rows(table), direct(table), 0)


def test_tilted_boxes_land_converged():
    """Drop ten tilted boxes on each other: nearly every step of the impacts is solved."""
    world, missed = tilted_boxes(10), 0
    for _ in range(500):
        world.step()
        missed += not world.report.converged
    assert world.report.contacts > 10
    assert missed < 25
