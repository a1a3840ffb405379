"""User contacts, added for one step."""

import numpy as np
import pytest

import sim_bridge as sb

G = 9.81


def slab(**velocity):
    """Return a world with a cube on the ground without automatic contacts, and both bodies."""
    world = sb.World(1e-3)
    ground = world.add_ground()
    cube = world.add_body(sb.Box((1.0, 1.0, 1.0)), mass=2.0, position=(0.0, 0.0, 0.5), **velocity)
    world.exclude(ground.root_link, cube.root_link)
    return world, cube, ground


def made(world, a, b, material, direction=None):
    """Return user contacts at the touching points, added in the order a, b."""
    return [
        sb.UserContact(
            each.geometry_a,
            each.geometry_b,
            each.position,
            each.normal,
            -each.gap,
            material,
            direction,
        )
        for each in world.find_contacts(1e-3, pairs=[(a, b)])
    ]


@pytest.mark.parametrize('is_turned', [False, True])
def test_each_contact_has_its_own_law(is_turned):
    """Slide with the given friction, and run with the surface velocity."""
    world, cube, ground = slab(linear_velocity=(2.0, 0.0, 0.0))
    pair = (ground, cube) if is_turned else (cube, ground)
    for _ in range(200):
        world.step(1, made(world, *pair, sb.ContactMaterial(friction=0.5)))
    np.testing.assert_allclose(cube.root_link.v, (2.0 - 0.5 * G * 0.2, 0.0, 0.0), atol=1e-9)
    # of the first relative to the second, along direction and normal × direction
    moving = sb.ContactMaterial(friction=1.0, motion=0.3, motion2=0.2)
    for _ in range(400):
        world.step(1, made(world, *pair, moving, (1.0, 0.0, 0.0)))
    expected = (-0.3, 0.2, 0.0) if is_turned else (0.3, 0.2, 0.0)
    np.testing.assert_allclose(cube.root_link.v, expected, atol=1e-9)


def test_they_last_one_step():
    """Fall in the step after; further steps of the same call have no user contacts."""
    world, cube, ground = slab()
    world.step(1, made(world, cube, ground, sb.ContactMaterial()))
    assert world.contact_count == 4
    np.testing.assert_allclose(cube.root_link.v, 0.0, atol=1e-12)
    world.step(11, made(world, cube, ground, sb.ContactMaterial()))
    np.testing.assert_allclose(cube.root_link.v, (0.0, 0.0, -G * 0.010), atol=1e-12)
    assert world.contact_count == 0


def test_they_join_found_contacts():
    """Hold one body by user contacts, while others stand on found ones, also in warm start."""
    world, cube, ground = slab()
    others = [
        world.add_body(sb.Box((1.0, 1.0, 1.0)), mass=1.0, position=(0.0, 2.0 * k, 0.5))
        for k in (1, 2)
    ]
    for _ in range(5):
        world.step(1, made(world, cube, ground, sb.ContactMaterial()))
    assert world.contact_count == 12
    for body in (cube, *others):
        np.testing.assert_allclose(body.root_link.v, 0.0, atol=1e-9)
    assert abs(world.contacts.forces[:, 2]).sum() == pytest.approx(4.0 * G)


def test_more_than_there_is_room_for():
    """Grow with the number of given contacts, and keep a copy's bits."""
    world, cube, ground = slab()
    contact = made(world, cube, ground, sb.ContactMaterial())
    other = world.copy()
    for one in (world, other):
        near = made(one, one.robots['body'], one.robots['ground'], sb.ContactMaterial())
        one.step(1, near * 40)
    assert world.contact_count == 160 and len(contact) == 4
    assert world.state_hash() == other.state_hash()


def test_a_wheel_takes_its_contact_along():
    """Roll without loss: the point moves with the centre, not with the surface."""
    world = sb.World(1e-2)
    ground = world.add_ground()
    ball = world.add_body(
        sb.Sphere(0.5),
        mass=1.0,
        position=(0.0, 0.0, 0.5),
        linear_velocity=(1.0, 0.0, 0.0),
        angular_velocity=(0.0, 2.0, 0.0),
    )
    world.exclude(ground.root_link, ball.root_link)
    for _ in range(100):
        world.step(1, made(world, ball, ground, sb.ContactMaterial(friction=1.0)))
    np.testing.assert_allclose(ball.root_link.v, (1.0, 0.0, 0.0), atol=1e-9)


def test_bad_contacts_are_named():
    """Refuse invalid contacts; the world continues."""
    world, cube, ground = slab()
    other = sb.World()
    strange = other.add_body(sb.Sphere(1.0), mass=1.0).root_link.geometries[0]
    own, below = cube.root_link.geometries[0], ground.root_link.geometries[0]
    point, up = (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)
    with pytest.raises(sb.InvalidValueError, match='normal'):
        sb.UserContact(own, below, point, (0.0, 0.0, 2.0), 0.0)
    with pytest.raises(sb.InvalidValueError, match='depth'):
        sb.UserContact(own, below, point, up, np.nan)
    with pytest.raises(sb.InvalidValueError, match='a geometry of this world'):
        world.step(1, [sb.UserContact(own, strange, point, up, 0.0)])
    with pytest.raises(sb.InvalidValueError, match='another body'):
        world.step(1, [sb.UserContact(own, own, point, up, 0.0)])
    with pytest.raises(sb.InvalidValueError, match='adhesion'):
        world.step(
            1,
            [
                sb.UserContact(
                    own,
                    below,
                    point,
                    up,
                    0.0,
                    sb.ContactMaterial(adhesion=1.0, adhesive_overlap=0.0),
                )
            ],
        )
    with pytest.raises(sb.InvalidValueError, match="solver = 'iterative'"):
        world.step(
            1, [sb.UserContact(own, below, point, up, 0.0, sb.ContactMaterial(solver='iterative'))]
        )
    with pytest.raises(sb.InvalidValueError, match='contacts'):
        world.step(1, [own])
    world.step(1)


def test_listeners_hear_of_them_and_remove_them():
    """Remove the contacts of one pair; the remaining ones keep their own laws."""
    world = sb.World(1e-3)
    ground = world.add_ground()
    cubes = [
        world.add_body(
            sb.Box((1.0, 1.0, 1.0)),
            mass=2.0,
            position=(0.0, 3.0 * k, 0.5),
            linear_velocity=(1.0, 0.0, 0.0),
        )
        for k in range(3)
    ]
    for cube in cubes:
        world.exclude(ground.root_link, cube.root_link)
    world.on_contact(lambda event: 'remove', cubes[1])
    world.step(
        1,
        [
            each
            for k, cube in enumerate(cubes)
            for each in made(world, cube, ground, sb.ContactMaterial(friction=0.1 + 0.1 * k))
        ],
    )
    assert world.contact_count == 8
    for cube, friction, fall in zip(cubes, (0.1, 0.0, 0.3), (0.0, G, 0.0), strict=True):
        np.testing.assert_allclose(
            cube.root_link.v, (1.0 - 1e-3 * friction * G, 0.0, -1e-3 * fall), atol=1e-9
        )


def test_a_failing_step_leaves_none():
    """Drop the contacts of a step ended by a listener or a hook; add contacts after hooks."""
    world, cube, ground = slab()

    def fail(_):
        raise ValueError('no')

    for listen in (world.on_contact, world.before_step):
        failing = listen(fail)
        with pytest.raises(ValueError, match='no'):
            world.step(1, made(world, cube, ground, sb.ContactMaterial()))
        failing.remove()
        world.step(1)
        assert world.contact_count == 0
    contacts = made(world, cube, ground, sb.ContactMaterial())
    world.before_step(lambda world: world.materials.add(sb.Material(f'new {world.step_count}')))
    world.step(2, contacts)
    assert world.contact_count == 0
