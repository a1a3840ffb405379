"""Ropes and chains in contact: Newton steps along their trees."""

from __future__ import annotations

from contact_worlds import add_rope, grounded
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.engine.contact.newton import list_unknowns
from sim_bridge.engine.contact.proximal import soften
from sim_bridge.engine.contact.rows import build_rows
from sim_bridge.engine.contact.tree_newton import lay_out_trees, solve_along_trees
from sim_bridge.engine.contact.velocity_newton import order_coordinates, solve_for_velocities
from sim_bridge.engine.data.contact_problem import TREE_WORK
from sim_bridge.engine.data.world_table import (
    contacts,
    direct,
    geometry,
    islands,
    laws,
    model,
    rows,
    solution,
    state,
    workspace,
)
from sim_bridge.engine.dynamics.articulated import factorize
from sim_bridge.engine.dynamics.kinematics import place
from sim_bridge.engine.dynamics.whitening import find_whitening


def velocities(world):
    """Return the velocities of all links, (n, 6)."""
    links = [link for robot in world.robots.values() for link in robot.links]
    return np.array([[*link.v, *link.w] for link in links])


def newton_steps(world):
    """
    Return the changes of impulses in a Newton step about the last step's solution.

    The first by the matrix of the whitened coordinates, the second along the trees.
    """
    table = world.simulation.cache.handles.probe
    own, found, near = model(table), rows(table), direct(table)
    place(own, state(table).q, workspace(table))
    factorize(own, workspace(table), world.time_step)
    find_whitening(own, workspace(table), found.whitening)
    build_rows(
        own, workspace(table), geometry(table), contacts(table), laws(table), found.mimic, found
    )
    parts = laws(table), islands(table), found, solution(table)
    soften(*parts, 0, 1e-3, 0.0, 1.0, near.kept)
    size = list_unknowns(*parts, near.unknown, 0)
    problem = laws(table), found, solution(table), near, size
    order_coordinates(islands(table), found, near, 0)
    assert solve_for_velocities(*problem)
    changes = [near.right[:size].copy()]
    lay_out_trees(table, 0, 10**9)
    assert near.size[TREE_WORK] > 0
    assert solve_along_trees(*problem)
    return [*changes, near.right[:size].copy()]


def test_steps_along_trees_are_newton_steps():
    """Slide a rope on another one: both ways to solve the same equations agree."""
    world = grounded({'friction': 0.3, 'rolling_friction': 1e-4})
    for start, speed in (((0.0, 0.0, 0.01), 0.2), ((0.01, 0.0, 0.03), -0.3)):
        links, _ = add_rope(world, 6, start, heading=5.0 * start[2])
        links[0].set_base_velocity((speed, 0.5, -0.2), (1.0, 0.0, 2.0))
    world.step()
    by_matrix, along_trees = newton_steps(world)
    assert by_matrix.size > 40
    np.testing.assert_allclose(along_trees, by_matrix, rtol=0, atol=1e-9 * np.abs(by_matrix).max())


def test_a_rope_rests_on_the_ground():
    """Lay down a rope; every step is solved, and nothing moves."""
    world = grounded({'friction': 0.6})
    add_rope(world, 30)
    for _ in range(20):
        world.step()
        assert world.report.residual < 1e-9
    assert world.report.contacts == 60
    assert np.abs(velocities(world)).max() < 1e-9


def test_a_rope_slides_over_an_edge():
    """Let half of a rope hang over an edge: it slides down, and every step is solved."""
    world = grounded({'friction': 0.3})
    world.add_body(sb.Box((2.0, 1.0, 0.3)), motion='static', position=(-1.0, 0.0, 0.15))
    links, _ = add_rope(world, 30, (-0.3, 0.0, 0.31))
    energy, newtons = world.energy().total, []
    for _ in range(150):
        world.step()
        newtons.append(world.report.newton_steps)
        assert world.report.converged
    assert links[-1].root_link.p[2] < 0.25
    assert world.energy().total < energy
    assert np.mean(newtons) < 12.0


@pytest.mark.parametrize('friction', [0.0, 0.003])
def test_a_chain_with_stops_and_friction_obeys_its_joints(friction):
    """Drop a chain of hinges: joint laws among its contacts are solved along the tree, too."""
    world = grounded({'friction': 0.5})
    links, hinges = add_rope(world, 40, (0.0, 0.0, 0.05), kind='hinge')
    for hinge in hinges:
        hinge.friction, hinge.lower, hinge.upper = friction, -0.2, 0.2
    links[0].set_base_velocity((0.3, 0.8, -1.0), (0.5, -1.5, 2.0))
    missed = 0
    for _ in range(150):
        world.step()
        missed += not world.report.converged
        assert max(abs(hinge.q) for hinge in hinges) < 0.2 + 1e-6
    assert missed <= 15
