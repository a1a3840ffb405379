"""Bodies in a world: addition, mass, collision settings."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.engine.data.geometry import ENABLED, SENSOR, STATIC
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.simulation.groups import CollisionGroups


def test_body_mass_follows_from_shape_and_material():
    """Take mass, centre and inertia from shapes, and densities from materials."""
    world = sb.World()
    steel = sb.Material('steel', density=7850)
    body = world.add_body(
        [sb.Box((0.1, 0.2, 0.3)), sb.Placed(sb.Sphere(0.1), (1, 0, 0), material='default')],
        material=steel,
    )
    box, ball = 7850 * 0.006, 1000 * 4 / 3 * np.pi * 0.001
    link = body.root_link
    assert link.m == pytest.approx(box + ball, rel=1e-12)
    np.testing.assert_allclose(link.c, [ball / (box + ball), 0, 0], rtol=1e-12)
    assert world.add_body(sb.Sphere(0.1), density=2.0).mass == pytest.approx(ball / 500, rel=1e-12)


def test_given_mass_scales_the_inertia():
    """Spread a given mass over the shapes, and keep a given inertia unchanged."""
    world = sb.World()
    body = world.add_body(sb.Box((1, 2, 3)), mass=12.0)
    np.testing.assert_allclose(np.diag(body.root_link.I), [13, 10, 5], rtol=1e-12)
    body = world.add_body(
        sb.Box((1, 2, 3)), mass=12.0, inertia=(1, 1, 1), center_of_mass=(0, 0, 0.5)
    )
    np.testing.assert_array_equal(body.root_link.I, np.eye(3))
    np.testing.assert_array_equal(body.root_link.c, [0, 0, 0.5])


def test_bodies_begin_at_their_pose():
    """Put bodies at a pose with a velocity, and back there at a reset."""
    world = sb.World(gravity=(0, 0, 0))
    body = world.add_body(
        sb.Sphere(0.1),
        position=(1, 2, 3),
        orientation=(0, 0, 2, 0),
        linear_velocity=(1, 0, 0),
        angular_velocity=(0, 1, 0),
    )
    np.testing.assert_array_equal(world.state.q, [1, 2, 3, 0, 0, 1, 0])
    world.step(100)
    np.testing.assert_allclose(body.root_link.p, [1.1, 2, 3], atol=1e-12)
    world.reset()
    np.testing.assert_array_equal(world.state.q, [1, 2, 3, 0, 0, 1, 0])
    np.testing.assert_array_equal(world.state.v, [1, 0, 0, 0, 1, 0])


def test_names_are_found_or_given():
    """Number unnamed bodies, and give their link the same name."""
    world = sb.World()
    bodies = [world.add_body(sb.Sphere(0.1), name) for name in (None, 'body_2', None, None)]
    assert [body.name for body in bodies] == ['body', 'body_2', 'body_3', 'body_4']
    assert bodies[2].root_link.name == 'body_3'
    assert [world.add_ground().name for _ in range(2)] == ['ground', 'ground_2']


def test_views_taken_before_more_is_added_are_used_until_then():
    """Keep returned arrays valid until another robot is added."""
    world = sb.World(gravity=(0, 0, 0))
    body = world.add_body(sb.Sphere(0.1), linear_velocity=(1, 0, 0))
    body.set_base_pose((5, 0, 0))
    state = world.state
    world.step()
    assert world.state is state
    world.add_body(sb.Sphere(0.1))
    body.set_base_pose((7, 0, 0))
    assert world.state is not state
    assert world.state.q[0] == 7.0 and world.state.v[0] == 1.0


def test_adding_keeps_existing_robots():
    """Keep state, parameters and geometry settings when robots are added."""

    def build(late: bool) -> sb.World:
        world = sb.World()
        bodies = [{'shapes': sb.Box((1, 1, 1)), 'position': (k, 0, 0)} for k in range(3)]
        world.add_bodies(bodies[:1])
        geometry = world.robots['body'].geometries[0]
        if late:
            world.simulation.cache.settle()
        geometry.surface_velocity = (1, 2, 3)
        geometry.sensor = True
        world.robots['body'].set_base_velocity((0, 0, 4))
        world.add_bodies(bodies[1:])
        return world

    assert build(late=True).state_hash() == build(late=False).state_hash()


def test_a_thousand_bodies_are_joined_once():
    """Join the arrays once for any number of bodies, added one by one or together."""
    world = sb.World()
    before = world.layout
    world.add_bodies({'shapes': sb.Sphere(0.1), 'position': (k, 0, 0)} for k in range(500))
    for k in range(500):
        world.add_body(sb.Sphere(0.1), position=(k, 1, 0)).set_base_velocity((0, 0, 1))
    assert world.layout == before
    assert len(world.state.q) == 7000
    assert world.layout == before + 1


def test_several_bodies_are_added_or_none():
    """Add nothing from a list with one wrong body."""
    world = sb.World()
    with pytest.raises(InvalidValueError, match='mass = -1'):
        world.add_bodies([{'shapes': sb.Sphere(0.1)}, {'shapes': sb.Sphere(0.1), 'mass': -1}])
    with pytest.raises(UnknownNameError, match="argument 'shape' in body 1.*'shapes'"):
        world.add_bodies([{'shapes': sb.Sphere(0.1)}, {'shape': sb.Sphere(0.1)}])
    with pytest.raises(InvalidValueError, match=r'\(body 0\): expected at least shapes'):
        world.add_bodies([{'mass': 1.0}])
    assert not world.robots and len(world.state.q) == 0


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        ({'shapes': sb.Sphere(1), 'motion': 'fixed'}, "motion = 'fixed'.*'static' or 'kinematic'"),
        ({'shapes': sb.Plane()}, "'static', since a Plane has no end"),
        ({'shapes': sb.Plane(), 'motion': 'kinematic'}, "'static', since a Plane has no end"),
        ({'shapes': sb.Sphere(1), 'mass': 0.0}, "mass = 0.0 .*body 'body'"),
        ({'shapes': sb.Sphere(1), 'mass': 1, 'density': 1}, 'no density together with a mass'),
        ({'shapes': sb.Sphere(1), 'density': -1}, 'density'),
        ({'shapes': sb.Sphere(1), 'inertia': (1, 1, 3)}, 'inertia'),
        ({'shapes': sb.Sphere(1), 'inertia': [[1, 1, 0], [0, 1, 0], [0, 0, 1]]}, 'symmetric'),
        ({'shapes': sb.Sphere(1), 'center_of_mass': (0, 0)}, 'center_of_mass'),
        ({'shapes': []}, 'at least one shape with mass.*or a mass and an inertia'),
        ({'shapes': 3}, 'shapes = 3'),
        ({'shapes': sb.Sphere(1), 'position': (0, 0, np.nan)}, 'position'),
        ({'shapes': sb.Sphere(1), 'orientation': (0, 0, 0, 0)}, 'orientation'),
        ({'shapes': sb.Sphere(1), 'linear_velocity': (0, 0)}, 'linear velocity'),
        (
            {'shapes': sb.Sphere(1), 'motion': 'static', 'linear_velocity': (1, 0, 0)},
            'base velocity',
        ),
        ({'shapes': sb.Sphere(1), 'name': 'taken'}, 'not taken yet'),
    ],
)
def test_wrong_bodies_are_refused(arguments, message):
    """Name a body's defect, and add nothing."""
    world = sb.World()
    world.add_body(sb.Sphere(1), 'taken')
    with pytest.raises(InvalidValueError, match=message):
        world.add_body(**arguments)
    assert list(world.robots) == ['taken']


def test_kinematic_body_arrives():
    """Move and rotate a kinematic body to a pose in a given time, under any gravity."""
    world = sb.World()
    body = world.add_body(sb.Box((1, 1, 1)), motion='kinematic', position=(0, 0, 1))
    assert body.motion == 'kinematic'
    turn = (0.0, np.sin(0.6), 0.0, np.cos(0.6))
    body.move_to((1, 2, 3), turn, dt=0.25)
    world.step(250)
    np.testing.assert_allclose(world.state.q, [1, 2, 3, *turn], atol=1e-12)
    np.testing.assert_allclose(body.root_link.w, [0, 1.2 / 0.25, 0], atol=1e-12)
    # it continues until the next command, and without dt arrives within one step
    body.move_to((1, 2, 3), turn)
    world.step(10)
    np.testing.assert_allclose(world.state.q, [1, 2, 3, *turn], atol=1e-12)


@pytest.mark.parametrize('motion', ['static', 'dynamic'])
def test_only_kinematic_bodies_are_moved(motion):
    """Refuse to move dynamic or static bodies."""
    body = sb.World().add_body(sb.Box((1, 1, 1)), motion=motion)
    with pytest.raises(InvalidValueError, match="'kinematic': move_to moves"):
        body.move_to((0, 0, 1))


def test_immobile_bodies_are_marked():
    """Mark immobile bodies: static and kinematic ones, and robots' fixed bases."""
    world = sb.World()
    for motion in ('dynamic', 'static', 'kinematic'):
        world.add_body(sb.Sphere(1), motion=motion)
    flags = world.simulation.cache.geometry.flags
    assert [int(each) & STATIC for each in flags] == [0, STATIC, STATIC]


def test_geometries_can_be_set():
    """Disable geometries, make them sensors, change material, groups and belt, while running."""
    world = sb.World()
    geometry = world.add_body(
        sb.Placed(sb.Sphere(1), name='shell', enabled=False, sensor=True), mass=1
    ).geometries[0]
    assert (geometry.name, geometry.enabled, geometry.sensor) == ('shell', False, True)
    geometry.enabled, geometry.sensor = True, False
    assert world.simulation.cache.geometry.flags[0] & (ENABLED | SENSOR) == ENABLED
    geometry.material = sb.Material('steel', friction=0.3)
    world.materials['steel']
    assert geometry.material.friction == 0.3
    geometry.surface_velocity = (1, 0, 0)
    np.testing.assert_array_equal(world.simulation.cache.geometry.belt, [[1, 0, 0]])
    with pytest.raises(UnknownNameError, match="'gold'"):
        geometry.material = 'gold'
    with pytest.raises(InvalidValueError, match='surface_velocity'):
        geometry.surface_velocity = (1, 0)


def test_snapshot_holds_geometries_settings():
    """Restore the geometries' settings from a snapshot."""
    world = sb.World()
    geometry = world.add_body(sb.Sphere(1)).geometries[0]
    snapshot, before = world.save(), world.state_hash()
    geometry.enabled, geometry.surface_velocity = False, (1, 0, 0)
    assert world.state_hash() != before
    world.restore(snapshot)
    assert geometry.enabled and not geometry.surface_velocity.any()
    assert world.state_hash() == before


def test_excluded_links_are_the_engines_pairs():
    """Pass exclusions to the engine, once, in either order, and remove them."""
    world = sb.World()
    a, b, c = (world.add_body(sb.Sphere(1)).root_link for _ in range(3))
    world.exclude(b, a)
    world.exclude(a, b)
    world.exclude(a, a)
    assert world.simulation.cache.geometry.excluded.tolist() == [(0 + 1) << 32 | (1 + 1)]
    world.exclude(a, b, excluded=False)
    assert not len(world.simulation.cache.geometry.excluded)
    with pytest.raises(InvalidValueError, match='geometry of this world'):
        world.exclude(c, sb.World().add_body(sb.Sphere(1)).root_link)


def collide(world: sb.World, a: int, b: int) -> bool:
    """Return whether the engine lets the groups of two geometries collide."""
    arrays = world.simulation.cache.geometry
    return bool(arrays.group[a] & arrays.mask[b] and arrays.group[b] & arrays.mask[a])


def test_groups_exclude_collisions():
    """Separate geometries if any group of one excludes any group of the other."""
    world = sb.World()
    memberships = [(), ('feet',), ('tools',), ('feet', 'tools')]
    bodies = [world.add_body(sb.Placed(sb.Sphere(1), groups=names)) for names in memberships]
    assert all(collide(world, a, b) for a in range(4) for b in range(4))
    world.set_group_collision('feet', 'tools', False)
    apart = {(a, b) for a in range(4) for b in range(4) if not collide(world, a, b)}
    assert apart == {(1, 2), (2, 1), (1, 3), (3, 1), (2, 3), (3, 2), (3, 3)}
    bodies[3].geometries[0].groups = {'feet'}
    apart = {(a, b) for a in range(4) for b in range(4) if not collide(world, a, b)}
    assert apart == {(1, 2), (2, 1), (3, 2), (2, 3)}
    world.set_group_collision('feet', 'feet', False)
    assert not collide(world, 1, 3) and collide(world, 2, 2)
    world.set_group_collision('feet', 'tools', True)
    assert collide(world, 1, 2) and not collide(world, 1, 1)


def test_groups_are_as_many_as_the_engine_has_bits():
    """Accept any number of names without effect, and refuse more than the bits allow."""
    groups = CollisionGroups()
    names = [frozenset({f'g{k}'}) for k in range(100)]
    assert len(set(groups.bits(names).values())) == 1
    for k in range(99):
        groups.set_collision(f'g{k}', f'g{k + 1}', False)
    with pytest.raises(InvalidValueError, match='at most 63'):
        groups.bits(names)


@pytest.mark.parametrize('values', [(np.nan, 0.0, 1.0), (np.inf, 0.0, 1.0)])
def test_non_finite_positions_are_refused(values):
    """Keep the state, and name the robot."""
    world = sb.World()
    world.add_ground()
    ball = world.add_body(sb.Sphere(0.1), 'ball', mass=1.0, position=(0.0, 0.0, 1.0))
    world.step()
    world.state.q[:3] = values
    with pytest.raises(sb.SimulationError, match="base of robot 'ball'"):
        world.step()
    ball.set_base_pose((0.0, 0.0, 1.0))
    world.step()


def test_robots_are_not_removed_by_hand():
    """Return a read-only view of the robots."""
    world = sb.World()
    world.add_body(sb.Sphere(0.1), 'ball', mass=1.0)
    with pytest.raises(TypeError):
        del world.robots['ball']
