"""Solve types for pairs of materials, mixed within one island."""

from __future__ import annotations

import copy

from contact_worlds import add_ball, add_block, G, grounded, push, tilt
import numpy as np
import pytest

import sim_bridge as sb

TYPES = ('direct', 'iterative', 'split', 'direct_and_iterative')
MU = 0.4


def tower(pairs, solver='direct', masses=(1.0, 10.0, 100.0)):
    """Stack blocks of materials 0, 1, 2 … on ground; pairs: the solve type of each interface."""
    world = sb.World(solver=solver)
    names = ['ground', *(f'block{k}' for k in range(len(masses)))]
    for name in names:
        world.materials.add(sb.Material(name, friction=MU))
    for one, other, own in zip(names, names[1:], pairs, strict=False):
        world.set_contact_material(one, other, sb.ContactMaterial(solver=own))
    world.add_ground(material='ground')
    for k, mass in enumerate(masses):
        add_block(world, mass=mass, lift=0.1 * k, name=names[k + 1], material=names[k + 1])
    return world


@pytest.mark.parametrize('solver', TYPES[:3])
@pytest.mark.parametrize('own', TYPES)
def test_block_slides_and_sticks_by_any_type(own, solver):
    """Hold a block below mu m g, and brake a sliding one by mu g, with every solver."""
    world = grounded({'friction': MU, 'solver': own}, solver=solver)
    block = add_block(world)
    world.step(20)
    push(world, block.root_link, (0.95 * MU * 2.0 * G, 0.0, 0.0), 50)
    assert np.abs(block.root_link.v).max() < 1e-5
    block.set_base_velocity((1.0, 0.5, 0.0), (0.0, 0.0, 0.0))
    world.step(100)
    along = np.array([1.0, 0.5]) / np.hypot(1.0, 0.5)
    np.testing.assert_allclose(block.root_link.v[:2], (1.0, 0.5) - 0.1 * MU * G * along, atol=2e-4)
    assert world.contacts.force_on(block.root_link)[2] == pytest.approx(2.0 * G, rel=1e-4)


@pytest.mark.parametrize(
    'pairs',
    [
        ('direct', 'iterative', 'split'),
        ('split', 'split', 'direct'),
        ('iterative', 'direct', None),
        ('direct_and_iterative', 'direct', 'iterative'),
        ('direct_and_iterative',) * 3,
    ],
)
def test_mixed_island_has_the_direct_solution(pairs):
    """Push a tower with different types at its interfaces as one direct solution does."""
    worlds = tower(pairs, masses=(4.0, 2.0, 3.0)), tower((), masses=(4.0, 2.0, 3.0))
    for world in worlds:
        top = world.robots['block2'].root_link
        push(world, top, (6.0, 2.0, 0.0), 100)
        push(world, top, (20.0, 2.0, 0.0), 50)
    for name in worlds[0].robots:
        one, other = (world.robots[name].root_link for world in worlds)
        np.testing.assert_allclose(one.v, other.v, atol=1e-5)
        np.testing.assert_allclose(one.p, other.p, atol=1e-6)


def test_types_decide_how_exactly_a_heavy_tower_stands():
    """Sweep or solve directly by the pairs' types, under any type of the world."""
    residuals, newtons = {}, {}
    for solver, own in (
        ('direct', None),
        ('direct', 'iterative'),
        ('iterative', None),
        ('iterative', 'direct'),
        ('split', 'direct'),
    ):
        world = tower((own,) * 3, solver)
        world.step(20)
        report = world.report
        residuals[solver, own], newtons[solver, own] = report.residual, report.newton_steps
    # a mass ratio of 100 is too much for 50 sweeps; in a whole island Newton steps complete them
    assert residuals['direct', 'iterative'] > 1e-6
    assert newtons['direct', 'iterative'] == 0
    assert residuals['iterative', None] < 1e-6
    assert residuals['direct', None] < 1e-9
    assert residuals['iterative', 'direct'] < 1e-6
    assert residuals['split', 'direct'] < 1e-6


def test_iterative_friction_bounds_the_direct_solution():
    """Slide sideways down a slope within the cone's edge, both on a cone and on a pyramid."""
    for model in ('cone', 'pyramid'):
        world = grounded(
            {'friction': 0.2, 'friction_model': model, 'solver': 'direct_and_iterative'}
        )
        block = add_block(world, fdir1=(1.0, 0.0, 0.0))
        tilt(world, 0.5, np.pi / 4)
        world.step(200)
        share = 1.0 if model == 'cone' else np.sqrt(2.0)
        expected = 0.2 * G * (np.sin(0.5) - 0.2 * share * np.cos(0.5))
        assert np.linalg.norm(block.root_link.v) == pytest.approx(expected, abs=1e-5)


def test_solve_types_are_kept():
    """Compute the same bits from snapshots and copies, with contacts of all types."""
    world = tower(('split', 'iterative', 'direct_and_iterative'), masses=(4.0, 2.0, 3.0))
    add_ball(world, lift=0.3, material='block2', linear_velocity=(0.4, 0.1, 0.0))
    world.step(30)
    saved, other = world.save(), copy.deepcopy(world)
    world.step(100)
    expected = world.state_hash()
    world.restore(saved)
    for each in (world, other):
        each.step(100)
        assert each.state_hash() == expected


def test_unknown_solve_type_is_refused():
    """Name the valid types."""
    with pytest.raises(sb.InvalidValueError, match="'split' or 'direct_and_iterative'"):
        sb.ContactMaterial(solver='drect')


@pytest.mark.parametrize('solver', ['direct', 'iterative', 'split'])
def test_friction_holds_beside_constraints_by_any_type(solver):
    """Hold rigidly joined blocks with unequal masses on a slope, without creep."""
    world = grounded({'friction': 0.5}, solver=solver)
    tilt(world, 0.3, 0.0)
    blocks = [
        world.add_body(
            sb.Box((0.2, 0.2, 0.1)), f'block{k}', mass=mass, position=(0.3 * k, 0.0, 0.05)
        )
        for k, mass in enumerate((1, 20, 1))
    ]
    for a, b in zip(blocks, blocks[1:], strict=False):
        world.add_joint('fixed', a, b, tree=False)
    world.step(500)
    found = [each.root_link.p[0] for each in blocks]
    np.testing.assert_allclose(found, (0.0, 0.3, 0.6), atol=1e-8)
