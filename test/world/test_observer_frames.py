"""Frames on links: point motion, forces in their axes, and contact forces between bodies."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import sim_bridge as sb

QUARTER_ABOUT_Z = (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5))
SLOPE = 0.3


@pytest.fixture
def top():
    """Return a freely tumbling body, without gravity, under a new push."""
    world = sb.World(gravity=(0.0, 0.0, 0.0), time_step=1e-4)
    body = world.add_body(
        sb.Box((0.2, 0.5, 0.9)),
        mass=3.0,
        center_of_mass=(0.1, -0.2, 0.3),
        inertia=(0.4, 0.3, 0.2),
        position=(1.0, 2.0, 3.0),
        orientation=(0.1, 0.2, 0.3, 0.9),
        linear_velocity=(0.3, -0.2, 0.5),
        angular_velocity=(2.0, -3.0, 4.0),
    )
    world.step(100)
    return body.root_link


def test_a_rotor_accelerates_its_rim_by_omega_squared_r():
    """Measure a = ω²r towards the axis, and the same in the frame's own axes."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    rotor = world.add_body(
        sb.Cylinder(0.5, 0.1), motion='kinematic', angular_velocity=(0.0, 0.0, 7.0)
    )
    rim = sb.ObserverFrame(rotor, (0.5, 0.0, 0.0), QUARTER_ABOUT_Z, name='rim')
    world.step(123)
    assert rim.vector_from_world(rim.v) == pytest.approx([7.0 * 0.5, 0.0, 0.0], abs=1e-12)
    assert rim.vector_from_world(rim.dv) == pytest.approx([0.0, 49.0 * 0.5, 0.0], abs=1e-12)
    assert rim.w == pytest.approx([0.0, 0.0, 7.0]) and rim.dw == pytest.approx([0.0] * 3)
    assert np.allclose(rim.T @ [0.0, 0.0, 0.0, 1.0], [*rim.p, 1.0])
    assert np.linalg.norm(rim.p) == pytest.approx(0.5, abs=1e-12)
    assert "'rim' on link 'body'" in repr(rim)


def test_motion_of_points_is_that_of_differences(top):
    """Match central differences of positions and velocities over steps."""
    world, point = top.robot.world, (0.4, -0.3, 0.7)
    places, velocities, accelerations = [], [], []
    for _ in range(3):
        places.append(top.point_to_world(point))
        velocities.append(top.velocity_at(rel_point=point))
        accelerations.append(top.acceleration_at(top.point_to_world(point)))
        world.step()
    h = world.time_step
    assert (places[2] - places[0]) / (2.0 * h) == pytest.approx(velocities[1], abs=1e-5)
    assert (velocities[2] - velocities[0]) / (2.0 * h) == pytest.approx(accelerations[1], abs=1e-4)
    assert top.velocity_at() == pytest.approx(top.v)


def test_points_and_vectors_go_there_and_back(top):
    """Transform points and vectors to the world and back, and forces into the frame's axes."""
    point = np.array([0.4, -0.3, 0.7])
    assert top.point_from_world(top.point_to_world(point)) == pytest.approx(point, abs=1e-14)
    assert top.vector_from_world(top.vector_to_world(point)) == pytest.approx(point, abs=1e-14)
    assert np.linalg.norm(top.vector_to_world(point)) == pytest.approx(np.linalg.norm(point))


def test_relative_motion_has_centrifugal_and_coriolis_terms(top):
    """Match differences of the relative pose between two tumbling frames."""
    world = top.robot.world
    other = world.add_body(
        sb.Sphere(0.1),
        mass=1.0,
        inertia=(0.1, 0.2, 0.25),
        angular_velocity=(1.0, -2.0, 1.5),
        linear_velocity=(0.1, 0.2, -0.4),
    )
    eye = sb.ObserverFrame(other, (0.2, 0.1, -0.3), QUARTER_ABOUT_Z)
    seen = []
    for _ in range(3):
        seen.append(sb.ObserverFrame(top, (0.4, 0.0, 0.1)).relative_to(eye))
        world.step()
    h, now = world.time_step, seen[1]
    assert (seen[2].p - seen[0].p) / (2.0 * h) == pytest.approx(now.v, abs=1e-5)
    assert (seen[2].v - seen[0].v) / (2.0 * h) == pytest.approx(now.dv, abs=1e-4)
    assert (seen[2].w - seen[0].w) / (2.0 * h) == pytest.approx(now.dw, abs=1e-4)
    turned = (seen[2].R - seen[0].R) / (2.0 * h) @ now.R.T
    assert [turned[2, 1], turned[0, 2], turned[1, 0]] == pytest.approx(now.w, abs=1e-4)


def pushed(push):
    """Return a body's acceleration and angular acceleration under a push, and its frame."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    body = world.add_body(
        sb.Sphere(0.1),
        mass=2.0,
        center_of_mass=(0.1, 0.2, 0.3),
        inertia=(0.1, 0.2, 0.3),
        position=(1.0, -2.0, 0.5),
        orientation=(0.3, -0.1, 0.5, 0.7),
    ).root_link
    push(body)
    return body.dv, body.dw, body


def test_forces_at_relative_points_match_world_points():
    """Apply ODE's four kinds of forces at points, and torques, in either frame alike."""
    f, r = np.array([3.0, -1.0, 2.0]), np.array([0.4, 0.5, -0.2])
    of_world = pushed(lambda link: link.add_force(link.R @ f, link.p + link.R @ r))
    for push in (
        lambda link: link.add_force(link.R @ f, rel_point=r),
        lambda link: link.add_rel_force(f, link.p + link.R @ r),
        lambda link: link.add_rel_force(f, rel_point=r),
    ):
        assert np.allclose(pushed(push)[:2], of_world[:2], rtol=0.0, atol=1e-12)
    at_center, _, link = pushed(lambda link: link.add_rel_force(f))
    assert at_center == pytest.approx(link.R @ f / 2.0, abs=1e-12)
    _, turning, link = pushed(lambda link: link.add_rel_torque(f))
    assert link.vector_from_world(turning) == pytest.approx(f / [0.1, 0.2, 0.3], abs=1e-12)


def test_normal_and_friction_forces_on_a_slope_are_read_by_pair():
    """Read N = m g cos θ and T = m g sin θ for a pair of geometries, in a frame's axes."""
    world = sb.World()
    turn = (0.0, np.sin(SLOPE / 2.0), 0.0, np.cos(SLOPE / 2.0))
    ground = world.add_body(sb.Plane(), motion='static', orientation=turn)
    up = np.array([np.sin(SLOPE), 0.0, np.cos(SLOPE)])
    box = world.add_body(
        sb.Box((0.4, 0.3, 0.2)),
        mass=5.0,
        position=0.1 * up,
        orientation=turn,
        material=sb.Material('rough', friction=2.0),
    )
    world.set_contact_material('rough', 'default', sb.ContactMaterial(friction=0.9))
    world.step(500)
    weight, frame = 5.0 * 9.81, sb.ObserverFrame(ground)
    reader = sb.ContactForceReader(box.geometries[0], ground.geometries[0], frame)
    normal, along = weight * np.cos(SLOPE), weight * np.sin(SLOPE)
    assert reader.count == 4
    assert reader.normal_force == pytest.approx([0.0, 0.0, normal], abs=1e-5)
    assert reader.tangential_force == pytest.approx([-along, 0.0, 0.0], abs=1e-5)
    assert reader.force == pytest.approx(reader.normal_force + reader.tangential_force)
    assert sb.ContactForceReader(box).force == pytest.approx([0.0, 0.0, weight], abs=1e-5)
    back = sb.ContactForceReader(ground, box.root_link, frame)
    assert back.force == pytest.approx(-reader.force)
    # the forces on a body at rest have no torque about its centre of mass
    assert sb.ContactForceReader(box, ground, box.root_link).torque == pytest.approx(
        [0.0] * 3, abs=1e-5
    )
    assert world.contacts.force_on(box) == pytest.approx([0.0, 0.0, weight], abs=1e-5)


def test_frames_follow_pickled_worlds():
    """Keep link and pose when a frame and its world are pickled together."""
    world = sb.World()
    world.add_ground()
    body = world.add_body(sb.Sphere(0.1), position=(0.0, 0.0, 1.0))
    frame = sb.ObserverFrame(body, (0.1, 0.2, 0.3), QUARTER_ABOUT_Z, 'eye')
    reader = sb.ContactForceReader(body, world.robots['ground'], frame)
    other, copied, its_reader = pickle.loads(pickle.dumps((world, frame, reader)))
    for each in (world, other):
        each.step(700)
    assert copied.link.robot.world is other and its_reader.frame is copied
    assert np.array_equal(copied.p, frame.p) and np.array_equal(copied.dv, frame.dv)
    assert np.array_equal(its_reader.force, reader.force) and reader.force.any()


@pytest.mark.parametrize(
    ('use', 'said'),
    [
        (lambda body: sb.ObserverFrame('wrist'), "link = 'wrist'"),
        (lambda body: sb.ObserverFrame(body, (0.0, np.nan, 0.0)), 'position.*nan'),
        (lambda body: sb.ObserverFrame(body, name=3), 'name = 3'),
        (lambda body: body.root_link.velocity_at((0.0, 0.0)), 'point = '),
        (
            lambda body: body.root_link.velocity_at((0, 0, 0), rel_point=(0, 0, 0)),
            'rel_point.*None',
        ),
        (
            lambda body: body.root_link.add_rel_force((0, 0, 1), (0, 0, 0), rel_point=(0, 0, 0)),
            'rel_point.*None',
        ),
        (lambda body: body.root_link.add_rel_torque('much'), "torque = 'much'"),
        (lambda body: body.root_link.relative_to('world'), "other = 'world'"),
        (lambda body: sb.ContactForceReader(body, 'ground'), "b = 'ground'"),
        (lambda body: sb.ContactForceReader(None), 'a = None'),
        (lambda body: sb.ContactForceReader(body, sb.World().add_ground()), 'of this world'),
        (lambda body: sb.ContactForceReader(body, frame='world'), "frame = 'world'"),
    ],
)
def test_wrong_frames_and_points_are_named(use, said):
    """Name the wrong value, its place, and the valid ones."""
    body = sb.World().add_body(sb.Sphere(0.1))
    with pytest.raises(sb.InvalidValueError, match=f'(?s){said}'):
        use(body)
