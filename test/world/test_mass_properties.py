"""Link mass properties: shapes counted, changes in a running world, use by all dynamics."""

from __future__ import annotations

import copy
import math
import pickle

from contact_worlds import grounded
import numpy as np
import pytest
from robots import joint, link, robot
from shipped import path_of

import sim_bridge as sb
from sim_bridge import dynamics

BALL = 1000.0 * 4.0 / 3.0 * math.pi * 0.5**3
INERTIA = np.array([[0.4, 0.05, -0.02], [0.05, 0.3, 0.03], [-0.02, 0.03, 0.5]])
CENTER = (0.02, -0.01, 0.03)


# --- shapes counted ------------------------------------------------------------------------------


@pytest.mark.parametrize('without', [{'sensor': True}, {'enabled': False}, {'mass': False}])
def test_shapes_without_weight(without):
    """Skip sensors, disabled shapes and mass=False shapes; count them on request."""
    other = sb.Placed(sb.Sphere(0.5), position=(-1.0, 0.0, 0.0), **without)
    body = sb.World().add_body([sb.Sphere(0.5), other]).root_link
    assert body.m == pytest.approx(BALL, rel=1e-12)
    np.testing.assert_allclose(body.c, 0.0, atol=1e-15)
    np.testing.assert_allclose(body.I, 0.4 * BALL * 0.25 * np.eye(3), rtol=1e-12)
    name, value = next(iter(without.items()))
    setattr(body.geometries[1], name, not value)
    assert body.m == pytest.approx(BALL, rel=1e-12)
    body.update_mass_properties()
    assert body.m == pytest.approx(2.0 * BALL, rel=1e-12)
    np.testing.assert_allclose(body.c, (-0.5, 0.0, 0.0), rtol=1e-12)
    turned = 2.0 * BALL * (0.1 + 0.25)
    np.testing.assert_allclose(np.diag(body.I), (0.2 * BALL, turned, turned), rtol=1e-12)


def test_a_body_without_weighing_shapes_needs_a_mass():
    """Refuse a body without mass; distribute a given mass over the shapes."""
    shape = sb.Placed(sb.Sphere(0.5), mass=False)
    for given in ({}, {'density': 100.0}):
        with pytest.raises(sb.InvalidValueError, match='at least one shape with mass'):
            sb.World().add_body(shape, **given)
    body = sb.World().add_body(shape, mass=2.0).root_link
    assert body.m == 2.0
    np.testing.assert_allclose(body.I, 0.4 * 2.0 * 0.25 * np.eye(3), rtol=1e-12)
    with pytest.raises(sb.InvalidValueError, match='at least one shape with mass'):
        body.update_mass_properties()
    world = sb.World()
    world.load_scene(
        {
            'world': {
                'objects': {
                    'dumbbell': {'shapes': [{'sphere': 0.5}, {'sphere': 0.6, 'mass': False}]}
                }
            }
        }
    )
    assert world.robots['dumbbell'].mass == pytest.approx(BALL)


def test_density_of_a_material_acts_on_request():
    """Use a material's new density, one density for all shapes, or a total mass."""
    world = sb.World()
    body = world.add_body(sb.Sphere(0.5), material=sb.Material('stuff', density=500.0)).root_link
    world.materials.add(sb.Material('stuff', density=2000.0))
    assert body.m == pytest.approx(0.5 * BALL)
    body.update_mass_properties()
    assert body.m == pytest.approx(2.0 * BALL)
    body.geometries[0].material = 'default'
    body.update_mass_properties()
    assert body.m == pytest.approx(BALL)
    body.update_mass_properties(density=100.0)
    assert body.m == pytest.approx(0.1 * BALL)
    body.update_mass_properties(mass=3.0)
    np.testing.assert_allclose(body.I, 0.4 * 3.0 * 0.25 * np.eye(3), rtol=1e-12)
    # a robot's link, from its collision shapes
    arm = world.load_urdf(path_of('arm'))
    own = arm.links[2]
    own.update_mass_properties(density=1000.0)
    shapes = [geometry.shape.mass_properties(1000.0).mass for geometry in own.geometries]
    assert own.m == pytest.approx(sum(shapes))


# --- setting them --------------------------------------------------------------------------------


def test_a_shape_whose_volume_underflows_has_no_mass_properties():
    """Refuse a body whose inertia would be nan; keep its world unchanged."""
    world = sb.World()
    for size in ((1e-320, 1.0, 1.0), (1e-120, 1e-120, 1e-120)):
        with pytest.raises(sb.InvalidValueError, match='nearly 0'):
            world.add_body(sb.Box(size), mass=1.0)
    assert not world.robots


def test_a_set_mass_acts_at_the_next_step_and_stays():
    """Accelerate by F / m; keep the mass in resets, snapshots, copies and pickles."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    body = world.add_body(sb.Sphere(0.5))
    before = world.save()
    body.root_link.m = 2.0
    after = world.save()
    for again in (
        lambda: world,
        lambda: world.reset() or world,
        world.copy,
        lambda: pickle.loads(pickle.dumps(world)),
        lambda: copy.deepcopy(world),
        lambda: world.restore(before) or world.restore(after) or world,
    ):
        present = again()
        root = present.robots['body'].root_link
        assert root.m == 2.0
        root.add_force((3.0, 0.0, 0.0))
        assert root.dv[0] == pytest.approx(1.5, rel=1e-12)
        v = root.v[0]
        present.step()
        assert root.v[0] - v == pytest.approx(1.5e-3, rel=1e-9)
    world.restore(before)
    assert body.mass == pytest.approx(BALL)
    body.root_link.add_force((3.0, 0.0, 0.0))
    assert body.root_link.dv[0] == pytest.approx(3.0 / BALL, rel=1e-12)


def test_a_set_mass_equals_an_initial_mass():
    """Match, bit by bit, a body added with these mass properties, also in contact."""
    hashes = []
    for is_late in (False, True):
        world = grounded()
        given = {'mass': 3.0, 'inertia': INERTIA, 'center_of_mass': CENTER}
        body = world.add_body(
            sb.Box((0.4, 0.3, 0.2)),
            position=(0, 0, 0.3),
            angular_velocity=(3.0, -1.0, 2.0),
            **({'mass': 1.0} if is_late else given),
        )
        if is_late:
            own = body.root_link
            own.m, own.c, own.I = given['mass'], given['center_of_mass'], given['inertia']
        world.step(400)
        hashes.append(world.state_hash())
    assert hashes[0] == hashes[1]


def carrying(payload):
    """Return a URDF of an arm with a payload [kg] fixed to its last link."""
    return robot(
        link('world', 0.0),
        link('upper', 2.0, (0.2, 0, 0)),
        link('fore', 1.0, (0.1, 0.02, 0)),
        link('payload', payload, (0.05, 0.0, 0.01)),
        joint('shoulder', 'world', 'upper', 'continuous', (0, 1, 0)),
        joint('elbow', 'upper', 'fore', 'continuous', (0, 1, 0), (0.4, 0, 0)),
        joint('grip', 'fore', 'payload', 'fixed', (0, 0, 1), (0.3, 0.05, 0.0)),
    )


@pytest.mark.parametrize('gravity', [(0, 0, -9.81), sb.PointGravity((0, 0, -5.0), 20.0, -1.0)])
@pytest.mark.parametrize(
    'medium',
    [
        {},
        {'linear_velocity_damping': (1, 2, 3)},
        {'mass_coefficients': (0.5, 0, 1)},
        {'gravity': False},
    ],
)
def test_all_dynamics_see_the_mass_of_a_merged_link(gravity, medium):
    """Match a robot read with this payload: steps, energies, sb.dynamics."""
    worlds, results = [], []
    for is_late in (False, True):
        world = sb.World(gravity=gravity)
        arm = world.load_urdf(carrying(0.3 if is_late else 1.7))
        for name, value in medium.items():
            setattr(arm.link('payload'), name, value)
        dynamics.mass_matrix(arm)
        if is_late:
            like = worlds[0].robots[arm.name].link('payload')
            world.step(0)
            arm.link('payload').m = 1.7
            arm.link('payload').I = like.I
        arm.q, arm.dq = [0.3, -0.8], [1.0, 2.0]
        worlds.append(world)
        results.append(
            [
                dynamics.mass_matrix(arm),
                dynamics.gravity_forces(arm),
                dynamics.bias_forces(arm),
                dynamics.center_of_mass(arm),
                arm.center_of_mass,
                arm.ddq,
                world.energy(),
                *world.momentum(),
                dynamics.forward_dynamics(arm, np.zeros(2)),
            ]
        )
        world.step(200)
        results[-1] += [arm.q.copy(), arm.dq.copy(), arm.joint('shoulder').reaction[0]]
    for ours, theirs in zip(*reversed(results), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def test_masses_stay_when_bases_change():
    """Keep set masses when the body becomes static, dynamic again, mounted and free."""
    world = sb.World(gravity=(0, 0, 0))
    body, other = (world.add_body(sb.Sphere(0.1), position=(x, 0, 0)) for x in (0.0, 1.0))
    body.root_link.m, body.root_link.I = 2.0, INERTIA

    def accelerates():
        body.root_link.add_force((3.0, 0, 0))
        assert body.root_link.dv[0] == pytest.approx(1.5)
        world.step()

    body.motion = 'static'
    body.motion = 'dynamic'
    accelerates()
    hinge = world.add_joint('hinge', other, body, (0.5, 0, 0))
    assert hinge.is_tree
    about_hinge = INERTIA[2, 2] + 2.0 * 0.25
    np.testing.assert_allclose(dynamics.mass_matrix(body), [[about_hinge]], rtol=1e-5)
    world.remove_joint(hinge)
    body.set_base_velocity((0, 0, 0), (0, 0, 0))
    accelerates()


def test_a_static_body_without_mass_becomes_dynamic_by_one():
    """Name the missing mass; then take the mass from its shapes."""
    world = sb.World()
    body = world.add_body(sb.Sphere(0.5), motion='static')
    with pytest.raises(sb.StateError, match='link.m'):
        body.motion = 'dynamic'
    body.root_link.update_mass_properties()
    body.motion = 'dynamic'
    world.step(100)
    assert body.root_link.v[2] == pytest.approx(-0.981)


def test_a_sleeper_wakes_by_its_mass():
    """Wake the body on top, since the forces have changed."""
    world = grounded(sleep=True)
    body = world.add_body(sb.Box((0.2, 0.2, 0.2)), mass=1.0, position=(0, 0, 0.1))
    world.step(100)
    assert body.is_asleep
    body.root_link.m = 5.0
    world.step(2)
    assert not body.is_asleep
    assert world.contacts.force_on(body)[2] == pytest.approx(5.0 * 9.81, rel=1e-5)


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (
            lambda own: setattr(own, 'm', 0.0),
            r"mass = 0.0 \(robot 'body', link 'body'\).*positive",
        ),
        (lambda own: setattr(own, 'm', float('nan')), 'mass = nan'),
        (lambda own: setattr(own, 'm', 'heavy'), "mass = 'heavy'"),
        (lambda own: setattr(own, 'c', (0, 0)), 'centre of mass = '),
        (lambda own: setattr(own, 'I', (1, 1, 3)), 'inertia = .*principal moment'),
        (lambda own: setattr(own, 'I', -np.eye(3)), '(?s)inertia = .*positive definite'),
        (lambda own: own.update_mass_properties(density=-1.0), 'density = -1.0'),
        (
            lambda own: own.update_mass_properties(mass=1.0, density=2.0),
            'no density together with a mass',
        ),
        (lambda own: setattr(own.geometries[0], 'mass', 5.0), 'mass = 5.0 .*geometry'),
    ],
)
def test_wrong_mass_properties_change_nothing(change, words):
    """Name the link and the wrong value, and keep everything."""
    world = sb.World()
    own = world.add_body(sb.Sphere(0.5)).root_link
    before = world.state_hash()
    with pytest.raises(sb.InvalidValueError, match=words):
        change(own)
    assert world.state_hash() == before
    ground = world.add_ground().root_link
    for name, value in (('c', (0, 0, 1)), ('I', (1, 1, 1))):
        with pytest.raises(sb.InvalidValueError, match='set m first'):
            setattr(ground, name, value)
    with pytest.raises(sb.InvalidValueError, match='shape = Plane'):
        ground.update_mass_properties()


def test_failed_calls_take_masses_back():
    """Restore a mass set in a call that failed later."""
    world = sb.World()
    own = world.add_body(sb.Sphere(0.5)).root_link

    def fail():
        with world.registry.all_or_nothing():
            own.m = 3.0
            world.load_urdf('not there')

    with pytest.raises(sb.SimBridgeError):
        fail()
    assert own.m == pytest.approx(BALL)
    own.add_force((3.0, 0, 0))
    assert own.dv[0] == pytest.approx(3.0 / BALL)


def test_overlaps_weigh_twice():
    """Count the overlap of two shapes for each, unless one has no mass."""
    halves = [sb.Box((1, 1, 1)), sb.Placed(sb.Box((1, 1, 1)), position=(0.5, 0, 0))]
    body = sb.World().add_body(halves, density=3.0)
    assert body.mass == pytest.approx(6.0)
    np.testing.assert_allclose(body.root_link.c, (0.25, 0, 0), atol=1e-15)


@pytest.mark.filterwarnings('error::RuntimeWarning')
@pytest.mark.parametrize('mass', [1e303, 1e308])
@pytest.mark.parametrize('shape', [sb.Sphere(1e5), sb.Box((1e5, 1.0, 1.0))])
def test_inertia_beyond_floats_is_refused(shape, mass):
    """Name the body and its mass; the world stays as it was."""
    world = sb.World()
    before = world.state_hash()
    with pytest.raises(sb.InvalidValueError, match=r"(?s)mass properties = .*inf.*body 'heavy'"):
        world.add_body(shape, 'heavy', mass=mass)
    assert world.state_hash() == before
