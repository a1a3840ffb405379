"""Parts that fit into each other: pegs in bores, nuts on bolts; mesh wheels; thin things."""

from __future__ import annotations

import numpy as np
import pytest
from support.meshes import prism, thread

import sim_bridge as sb

RADIUS, BORE, PLAY = 0.01, 0.01005, 5e-5
TUBE = sb.HollowCylinder(0.04, 0.1, BORE)
VERTICES, TRIANGLES = prism(RADIUS, 0.015, 24)
PEGS = {
    'cylinder': sb.Cylinder(RADIUS, 0.03),
    'hull': sb.ConvexHull(VERTICES),
    'mesh': sb.TriangleMesh(VERTICES, TRIANGLES),
    'tube': sb.HollowCylinder(RADIUS, 0.03, 0.006),
    'cone': sb.Cone(RADIUS, 0.03, 0.008),
    'capsule': sb.Capsule(RADIUS, 0.02),
    'box': sb.Box((1.4 * RADIUS, 1.4 * RADIUS, 0.03)),
}


def world_with_peg(shape, position, **options):
    """Return a world with a tube and a peg without friction, and the peg's link."""
    world = sb.World(**options)
    world.materials.add(sb.Material('ice', friction=0.0))
    world.add_body(TUBE, 'tube', motion='static', material='ice')
    peg = world.add_body(
        shape,
        mass=0.1,
        inertia=(2e-5, 2e-5, 2e-5),
        center_of_mass=(0, 0, 0),
        position=position,
        material='ice',
    )
    return world, peg.root_link


def play_of(name):
    """Return how far a peg moves along x in the bore until it touches [m]."""
    if name == 'box':
        half = 0.7 * RADIUS
        return np.sqrt(BORE**2 - half**2) - half
    if name in ('hull', 'mesh'):
        # its edges on both sides of the x axis touch first
        x, y = RADIUS * np.cos(np.pi / 24), RADIUS * np.sin(np.pi / 24)
        return np.sqrt(BORE**2 - y**2) - x
    return PLAY


@pytest.mark.parametrize('name', PEGS)
def test_contacts_in_a_bore_are_no_deeper_than_the_overlap(name):
    """Let a peg at three heights overlap the wall by up to 10 um; no contact is much deeper."""
    for height in (0.045, 0.04, 0.0, -0.035 if name == 'cone' else -0.045):
        for overlap in (1e-9, 1e-6, 1e-5):
            place = (play_of(name) + overlap, 0, height)
            world, link = world_with_peg(PEGS[name], place, gravity=(0, 0, 0))
            found = [contact.gap for contact in world.find_contacts()]
            assert found, (height, overlap)
            # the wall is inclined to the way of a corner beside the x axis
            assert 0.7 * overlap - 1e-9 < -min(found) < 1.001 * overlap + 1e-9, (height, overlap)
            distance = world.distance(link, world.robots['tube'].root_link).distance
            assert distance == pytest.approx(min(found), abs=1e-9), (height, overlap)


@pytest.mark.parametrize('time_step', [0.001, 0.005])
@pytest.mark.parametrize('name', PEGS)
def test_a_peg_pressed_sideways_falls_through_a_bore(name, time_step):
    """Press a frictionless peg, half inside, against the wall; its fall is g t² / 2."""
    world, link = world_with_peg(PEGS[name], (0.0, 0.0, 0.045), time_step=time_step)
    for _ in range(round(0.1 / time_step)):
        link.add_force((5.0, 1.5, 0.0))
        world.step()
    assert 0.045 - link.p[2] == pytest.approx(0.5 * 9.81 * 0.01, rel=0.03)
    # at 5 ms the first step presses 25 times as far as the play; the cone tilts until its side
    # touches
    tilt = 0.002 if name == 'cone' else 0.0
    assert np.hypot(*link.p[:2]) < play_of(name) + tilt + 2e-4


@pytest.mark.parametrize('offset', [(0.11, 0.03, 0.0), (0.06, 0.0, 0.02), (0.2, 0.1, -0.05)])
def test_hollow_shapes_that_overlap_by_more_than_half_are_pushed_apart(offset):
    """Let two thick-walled cylinders overlap sideways; contacts exist, and lead them out."""
    shape = sb.HollowCylinder(radius=0.2, inner_radius=0.05, length=0.4)
    world = sb.World(gravity=(0, 0, 0))
    fixed = world.add_body(shape, 'fixed', motion='static').root_link
    link = world.add_body(shape, 'free', mass=1.0, position=offset).root_link
    assert world.distance(fixed, link).distance < 0.0
    assert world.find_contacts(margin=0.0)
    world.step(500)
    # a correction moves with at most 0.1 m/s
    assert np.linalg.norm(link.p) > np.linalg.norm(offset) + 0.04
    assert np.linalg.norm(link.v) < 1e-9


@pytest.mark.parametrize(('sides', 'time_step'), [(12, 0.001), (24, 0.002), (48, 0.001)])
def test_a_nut_hangs_on_a_bolt_of_triangle_meshes(sides, time_step):
    """Hang a nut's thread on a bolt's with 0.1 mm play; it sinks by its play and no more."""
    pitch = 0.004
    world = sb.World(time_step=time_step)
    world.materials.add(sb.Material('steel', friction=0.5))
    bolt = sb.TriangleMesh(*thread(0.008, 0.01, 8, pitch, 0.0019, 0.0, sides))
    nut = sb.TriangleMesh(*thread(0.0082, 0.0102, 2, pitch, 0.0019, 0.014, sides))
    world.add_body(bolt, 'bolt', motion='static', material='steel')
    link = world.add_body(
        nut,
        'nut',
        mass=0.1,
        inertia=(2e-5, 2e-5, 3e-5),
        center_of_mass=(0, 0, 0.018),
        material='steel',
    ).root_link
    world.step(round(0.06 / time_step))
    assert -2e-4 < link.p[2] < -5e-5
    assert np.linalg.norm(link.v) < 0.01


@pytest.mark.parametrize('time_step', [0.001, 0.005])
@pytest.mark.parametrize('ground', ['box', 'mesh', 'heights'])
def test_polygonal_wheels_roll_as_on_a_plane(ground, time_step):
    """Roll a prism of 32 sides, as hull and as mesh; its speed is that of the hull on a plane."""
    vertices, triangles = prism(0.05, 0.015, 32)
    vertices = vertices[:, [1, 2, 0]]  # its axis along y
    hull, mesh = sb.ConvexHull(vertices), sb.TriangleMesh(vertices, triangles)
    floor, height = {
        'box': (sb.Box((10, 2, 0.1)), -0.05),
        'mesh': (sb.TriangleMesh(*slab_mesh()), 0.0),
        'heights': (sb.HeightField(np.zeros((3, 3)), (4.0, 4.0)), 0.0),
    }[ground]
    speed, _ = roll(hull, sb.Plane(), 0.0, time_step)
    assert 0.75 < speed < 0.8
    for shape in (hull, mesh):
        end, sideways = roll(shape, floor, height, time_step)
        assert end == pytest.approx(speed, rel=1e-4)
        assert abs(sideways) < 1e-6


def roll(shape, floor, height, time_step):
    """Roll a wheel for 0.6 s over a floor at a height; return its speed and its way sideways."""
    world = sb.World(time_step=time_step)
    world.materials.add(sb.Material('rubber', friction=0.8))
    world.add_body(floor, motion='static', position=(0, 0, height), material='rubber')
    link = world.add_body(
        shape,
        mass=1.0,
        inertia=(7e-4, 1.25e-3, 7e-4),
        center_of_mass=(0, 0, 0),
        position=(-1.0, 0.003, 0.0501),
        linear_velocity=(1.0, 0.0, 0.0),
        angular_velocity=(0.0, 20.0, 0.0),
        material='rubber',
    ).root_link
    world.step(round(0.6 / time_step))
    return link.v[0], link.p[1] - 0.003


def slab_mesh():
    """Return a slab 10 x 2 x 0.1 below z = 0, as a closed mesh."""
    corners = np.array([(x, y, z) for x in (-5.0, 5.0) for y in (-1.0, 1.0) for z in (-0.1, 0.0)])
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, np.array([t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))])


THIN = {
    'rod': (sb.Cylinder(0.01, 0.2), 0.01),
    'plate': (sb.Box((0.004, 0.2, 0.2)), 0.002),
    'ball': (sb.Sphere(0.005), 0.005),
}


@pytest.mark.parametrize('time_step', [0.001, 0.002, 0.005])
@pytest.mark.parametrize('name', THIN)
def test_a_finger_pushed_from_rest_stops_at_a_thin_thing(name, time_step):
    """Push 50 g with 20 N towards a thing some mm away, where it arrives within few steps."""
    shape, half = THIN[name]
    for gap in (0.0005, 0.002, 0.0045, 0.007, 0.012):
        world = sb.World(time_step=time_step, gravity=(0, 0, 0))
        world.add_body(shape, motion='static')
        finger = world.add_body(
            sb.Box((0.01, 0.03, 0.03)), mass=0.05, position=(half + gap + 0.005, 0, 0)
        )
        joint = world.add_joint('slider', None, finger, axis=(-1, 0, 0))
        for _ in range(round(0.05 / time_step)):
            joint.u = 20.0
            world.step()
            assert finger.root_link.p[0] > half + 0.005 - 1e-6, gap
        assert finger.root_link.p[0] == pytest.approx(half + 0.005, abs=1e-6), gap


def ring_mesh(inner, outer, half, sides):
    """Return a closed ring around the z axis: vertices and triangles."""
    corners = ((inner, -half), (outer, -half), (outer, half), (inner, half))
    angle = 2.0 * np.pi * np.arange(sides) / sides
    vertices = [(r * np.cos(a), r * np.sin(a), z) for a in angle for r, z in corners]
    triangles = []
    for k in range(sides):
        for c in range(4):
            a, b = 4 * k + c, 4 * k + (c + 1) % 4
            d, e = 4 * ((k + 1) % sides) + (c + 1) % 4, 4 * ((k + 1) % sides) + c
            triangles += [(a, e, d), (a, d, b)]
    return np.array(vertices), np.array(triangles)


@pytest.mark.parametrize('time_step', [0.001, 0.002, 0.005])
def test_landing_meshes_overlap_by_no_more_than_their_motion(time_step):
    """Drop two inclined mesh rings on a box; no contact is deeper than half a step's way."""
    world = sb.World(time_step=time_step)
    world.materials.add(sb.Material('m', friction=0.5))
    world.add_body(sb.Box((1, 1, 0.02)), motion='static', position=(0, 0, -0.01), material='m')
    shape = sb.TriangleMesh(*ring_mesh(0.04, 0.06, 0.01, 32))
    for axis, height, angle in ((0, 0.05, 20.0), (1, 0.12, 30.0)):
        turn = np.zeros(4)
        turn[axis], turn[3] = np.sin(np.radians(angle) / 2), np.cos(np.radians(angle) / 2)
        world.add_body(shape, mass=0.2, position=(0, 0, height), orientation=turn, material='m')
    for _ in range(round(0.5 / time_step)):
        world.step()
        # it falls at up to 1.3 m/s, and its rim turns as fast
        assert max((c.depth for c in world.contacts), default=0.0) < 0.8 * time_step
    assert world.energy().kinetic < 1e-3
