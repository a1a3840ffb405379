"""Resting islands with hundreds of contacts: solved to the tolerance, bearing their weight."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb

BRICK = (0.2, 0.1, 0.1)
BEAMS = ((0.09, 0.3, 0.06), (0.3, 0.09, 0.06))


def wall(world, courses=10, length=10, pitch=0.201):
    """Lay bricks in courses, each shifted by a third of a brick; return their number."""
    for course in range(courses):
        for k in range(length):
            place = (pitch * (k + 0.3 * (course % 2)), 0.0, 0.05 + 0.1 * course)
            world.add_body(sb.Box(BRICK), mass=2.0, position=place)
    return courses * length


def tower(world, layers=30):
    """Stack layers of three beams, each across the one below; return their number."""
    for layer in range(layers):
        for side in (-0.1, 0.0, 0.1):
            place = [0.0, 0.0, 0.03 + 0.06 * layer]
            place[layer % 2] = side
            world.add_body(sb.Box(BEAMS[layer % 2]), mass=2.0, position=place)
    return 3 * layers


def carried_by(world, ground):
    """Return the vertical force on the ground."""
    return sum(
        contact.force[2] * (1.0 if contact.link_b.robot is ground else -1.0)
        for contact in world.contacts
        if ground in (contact.link_a.robot, contact.link_b.robot)
    )


@pytest.mark.parametrize('pile', [wall, tower])
def test_piles_rest(pile):
    """Solve every step to 1e-9 m/s, stand still, and press on the ground by the weight."""
    world = sb.World()
    ground = world.add_ground()
    count = pile(world)
    bodies = [body for body in world.robots.values() if body is not ground]
    start = np.array([body.root_link.p for body in bodies])
    for _ in range(30):
        world.step()
        assert world.report.converged
        assert world.report.residual <= 1e-9
    assert world.report.contacts > 700
    moved = np.array([body.root_link.p for body in bodies]) - start
    assert np.abs(moved).max() < 1e-9
    assert carried_by(world, ground) == pytest.approx(2.0 * count * 9.81, rel=1e-6)


def test_touching_bricks_stand_from_the_first_step_on():
    """Stand with brick ends touching: solve the first step, and the next ones from there."""
    world = sb.World()
    world.add_ground()
    wall(world, courses=4, length=4, pitch=BRICK[0])
    for _ in range(200):
        world.step()
        assert world.report.residual <= 1e-9
    speeds = [np.abs(body.root_link.v).max() for body in world.robots.values()]
    assert max(speeds) < 1e-10


@pytest.mark.parametrize('side', [8, 10])
def test_walls_of_touching_bricks_rest_from_the_first_step_on(side):
    """Solve every step to the tolerance, the first one included, and carry the weight."""
    world = sb.World()
    ground = world.add_ground()
    count = wall(world, courses=side, length=side, pitch=BRICK[0])
    for _ in range(20):
        world.step()
        assert world.report.residual <= 1e-9
    assert world.report.contacts > 10 * count
    speeds = [np.abs(body.root_link.v).max() for body in world.robots.values()]
    assert max(speeds) < 1e-10
    assert carried_by(world, ground) == pytest.approx(2.0 * count * 9.81, rel=1e-9)


@pytest.mark.parametrize('gap', [0.0, 1e-9, 1e-4])
@pytest.mark.parametrize('side', [3, 6])
def test_columns_side_by_side_rest_from_the_first_step_on(side, gap):
    """Carry each column by its own bricks, almost without forces on the sides that touch."""
    world = sb.World()
    ground = world.add_ground()
    for row in range(side):
        for k in range(side):
            place = (k * (BRICK[0] + gap), 0.0, (row + 0.5) * BRICK[2])
            world.add_body(sb.Box(BRICK), mass=2.0, position=place)
    for _ in range(10):
        world.step()
        assert world.report.residual <= 1e-10
    pushes = [c.force for c in world.contacts if abs(c.normal[0]) > 0.5]
    assert len(pushes) >= 4 * side * (side - 1)
    # less than a hundredth of a brick's weight
    assert np.abs(pushes).max() < 0.2
    speeds = [np.abs(body.root_link.v).max() for body in world.robots.values()]
    assert max(speeds) < 1e-12
    assert carried_by(world, ground) == pytest.approx(2.0 * side**2 * 9.81, rel=1e-9)


def test_pushed_columns_come_to_rest_again():
    """Bring columns that push each other sideways to rest, within the default budget."""
    world = sb.World()
    ground = world.add_ground()
    wall_of = 5
    for row in range(wall_of):
        for k in range(wall_of):
            place = (k * BRICK[0], 0.0, (row + 0.5) * BRICK[2])
            world.add_body(sb.Box(BRICK), mass=2.0, position=place)
    world.step(5)
    bodies = [body for body in world.robots.values() if body is not ground]
    for k, body in enumerate(bodies):
        if k % 3 == 1:
            body.set_base_velocity((0.05 * np.sin(k), 0.1 * np.cos(k), 0.0))
    world.step(500)
    world.step()
    assert world.report.converged
    assert max(np.abs(body.root_link.v).max() for body in bodies) < 1e-10


def test_a_tower_at_rest_keeps_its_positions():
    """Leave positions at rest as they are, to the bit, soon after the start."""
    world = sb.World()
    world.add_ground()
    for k in range(10):
        world.add_body(sb.Box((0.4, 0.3, 0.2)), mass=10.0, position=(0.0, 0.0, 0.2 * k + 0.1))
    world.step(20)
    start = world.state.q.copy()
    world.step(980)
    np.testing.assert_array_equal(world.state.q, start)


def test_a_wall_slides_as_one_block():
    """Slow down all touching bricks equally, by the friction of the ground."""
    world, speed, friction = sb.World(), np.array([1.0, 0.3, 0.0]), 0.3
    ground = world.add_ground()
    world.set_contact_material('default', 'default', sb.ContactMaterial(friction=friction))
    wall(world, courses=4, length=6, pitch=BRICK[0])
    bodies = [body for body in world.robots.values() if body is not ground]
    for body in bodies:
        body.set_base_velocity(speed)
    world.step(50)
    end = speed * (1.0 - friction * 9.81 * 0.05 / np.linalg.norm(speed))
    for body in bodies:
        np.testing.assert_allclose(body.root_link.v, end, atol=5e-4)


def test_a_hit_pile_comes_to_rest_again():
    """Keep bricks apart, lose energy, and reach the tolerance again, after a ball hit them."""
    world = sb.World()
    world.add_ground()
    wall(world, courses=5, length=4)
    ball = world.add_body(sb.Sphere(0.12), mass=5.0, position=(0.4, -0.5, 0.3))
    ball.set_base_velocity((0.0, 5.0, 0.0))
    before = world.energy().total
    for _ in range(15):
        world.step(100)
        assert world.report.penetration < 1e-3
        now = world.energy().total
        # steps that end with their budget leave residuals, whose work has either sign
        assert now < before + 3e-6 * before
        before = now
    world.step(1500)
    world.step()
    assert world.report.residual < 1e-7
