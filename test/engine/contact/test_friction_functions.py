"""Friction decided by a Python function, within a step."""

from __future__ import annotations

import copy
import pickle

from contact_worlds import add_block, G
import numpy as np
import pytest

import sim_bridge as sb

MU = 0.3


def with_friction(function, pair=('load', 'floor'), **law):
    """Return a world with a block on the ground whose friction a function decides."""
    world = sb.World()
    for name in ('floor', 'load'):
        world.materials.add(sb.Material(name))
    world.set_contact_material(*pair, sb.ContactMaterial(friction_model=function, **law))
    world.add_ground(material='floor')
    block = add_block(world, name='block', material='load')
    world.step(20)
    return world, block


def half(pair):
    """Halve the contact material's coefficient."""
    return sb.PairFriction(0.5 * pair.friction)


@pytest.mark.parametrize(
    ('result', 'expected'),
    [
        (sb.PairFriction(MU), (MU * np.sqrt(0.5), MU * np.sqrt(0.5))),
        (sb.PairFriction(np.full(4, MU)), (MU * np.sqrt(0.5), MU * np.sqrt(0.5))),
        (sb.PairFriction(MU, 0.1, direction=(1, 0, 0)), (MU, 0.1)),
        (sb.PairFriction(MU, 0.1, direction=(0, 3, 0)), (0.1, MU)),
        (
            sb.PairFriction(MU * 2.0 * G / 4, 0.0, is_force=True, direction=[(1, 0, 0)] * 4),
            (MU, 0.0),
        ),
        (sb.PairFriction(0.0), (0.0, 0.0)),
        (None, (np.sqrt(0.5), np.sqrt(0.5))),
    ],
)
def test_function_gives_coefficients_bounds_and_directions(result, expected):
    """Brake a diagonally sliding block by the function's result."""
    world, block = with_friction(lambda pair: result)
    block.set_base_velocity((1.5, 1.5, 0.0), (0.0, 0.0, 0.0))
    world.step(100)
    np.testing.assert_allclose(
        block.root_link.v[:2], 1.5 - 0.1 * G * np.array(expected), atol=1e-6
    )


def test_friction_by_velocity():
    """Brake by c |v| m g, step by step with the velocity at its start."""
    rate = 0.2
    world, block = with_friction(
        lambda pair: sb.PairFriction(rate * np.linalg.norm(pair.velocities[:, :2], axis=1))
    )
    block.set_base_velocity((1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    world.step(300)
    expected = (1.0 - rate * G * world.time_step) ** 300
    assert block.root_link.v[0] == pytest.approx(expected, rel=1e-6)


def test_friction_by_place():
    """Slide on ice beyond a line without losing speed."""
    world, block = with_friction(
        lambda pair: sb.PairFriction(np.where(pair.positions[:, 0] > 1.0, 0.0, 0.5))
    )
    block.set_base_velocity((4.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    world.step(500)
    assert block.root_link.p[0] > 1.3
    speed = block.root_link.v[0]
    world.step(100)
    assert block.root_link.v[0] == pytest.approx(speed, abs=1e-9)
    assert speed < np.sqrt(16.0 - 2 * 0.5 * G * 0.7)


@pytest.mark.parametrize('pair', [('load', 'floor'), ('floor', 'load')])
def test_function_gets_the_touching_pair(pair):
    """Pass names, points, velocities and the last forces, in the author's order."""
    given = []
    world, block = with_friction(given.append, pair, friction=0.4)
    assert len(given) == 20
    block.set_base_velocity((0.5, 0.0, 0.0), (0.0, 0.0, 0.0))
    world.robots['block'].geometries[0].surface_velocity = (0.0, 0.2, 0.0)
    world.step()
    last, sign = given[-1], 1.0 if pair[0] == 'load' else -1.0
    assert len(given) == 21
    assert {last.a[0], last.b[0]} == {'block', 'ground'}
    assert (last.a[0] == 'block') == (pair[0] == 'load')
    assert last.positions.shape == last.normals.shape == last.velocities.shape == (4, 3)
    np.testing.assert_allclose(last.normals, [(0.0, 0.0, sign)] * 4, atol=1e-12)
    np.testing.assert_allclose(last.velocities, [(sign * 0.5, sign * 0.2, 0.0)] * 4, atol=1e-9)
    np.testing.assert_allclose(last.depths, 0.0, atol=2e-9)
    assert last.normal_forces.sum() == pytest.approx(2.0 * G, rel=1e-9)
    assert (last.friction, last.time_step) == (0.4, world.time_step)


@pytest.mark.parametrize(
    ('result', 'words'),
    [
        (0.5, 'a PairFriction or None'),
        (sb.PairFriction(-1.0), 'friction = -1.*block/block/'),
        (sb.PairFriction(np.nan), 'friction = nan'),
        (sb.PairFriction(0.1, [1, 2]), 'friction2'),
        (sb.PairFriction(0.1, direction=(1, 2)), 'direction'),
        (sb.PairFriction('much'), 'friction'),
    ],
)
def test_invalid_friction_results_are_refused(result, words):
    """Name the function's result, and keep the state before the step."""
    results = [None]
    world, block = with_friction(lambda pair: results[0])
    results[0] = result
    before = world.state_hash()
    with pytest.raises(sb.InvalidValueError, match=words):
        world.step(5)
    assert world.state_hash() == before
    results[0] = None
    world.step(5)
    assert world.step_count == 25


def test_errors_of_a_function_come_through():
    """Raise the function's exception, from its step."""
    calls = []

    def fails(pair):
        calls.append(pair)
        if len(calls) == 24:
            raise ZeroDivisionError('by nothing')

    world, _ = with_friction(fails)
    with pytest.raises(ZeroDivisionError, match='by nothing'):
        world.step(10)
    assert world.step_count == 23
    world.step(10)
    assert world.step_count == 33


@pytest.mark.parametrize(
    'use',
    [
        lambda world, block: world.step(),
        lambda world, block: block.root_link.p,
        lambda world, block: world.add_body(sb.Sphere(0.1)),
        lambda world, block: world.save(),
    ],
)
def test_function_may_not_use_its_world(use):
    """Refuse to step or change the world during its step."""
    there = []
    world, block = with_friction(lambda pair: use(*there) and None if there else None)
    there += [world, block]
    for ask in (world.step, lambda: world.contact_problem(world.find_contacts())):
        with pytest.raises(sb.StateError, match='in the middle of a step.*friction'):
            ask()
    there.clear()
    world.step()


def test_functions_go_with_copies_and_snapshots():
    """Compute the same bits in copies, pickles and after a restore."""
    world, block = with_friction(half, friction=0.6)
    block.set_base_velocity((1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    saved, others = world.save(), [copy.deepcopy(world), pickle.loads(pickle.dumps(world))]
    world.step(50)
    expected = world.state_hash()
    assert block.root_link.v[0] == pytest.approx(1.0 - 0.05 * 0.3 * G, abs=1e-6)
    world.restore(saved)
    for each in (world, *others):
        each.step(50)
        assert each.state_hash() == expected


def test_contact_problem_has_the_friction_of_functions():
    """Call the function for the laws of a contact problem, too."""
    world, _ = with_friction(half, friction=0.6)
    problem = world.contact_problem(world.find_contacts())
    np.testing.assert_allclose(problem.friction, 0.3)
