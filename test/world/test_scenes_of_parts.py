"""Scenes of parts: stacked, fitted, gripped and carried, without energy gain, creep or jam."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.meshes import prism

import sim_bridge as sb

STEPS = (0.002, 0.005)


def world_of(time_step, friction=0.5, **options):
    """Return a world with the default material `m`, and a function that adds bodies of it."""
    world = sb.World(time_step=time_step, **options)
    world.materials.add(sb.Material('m', friction=friction))

    def add(shape, position, mass=None, name=None, **given):
        kind = {'motion': 'static'} if mass is None else {'mass': mass}
        return world.add_body(shape, name, position=position, material='m', **kind, **given)

    return world, add


def run(world, seconds, links=(), misses=0.0):
    """
    Step without drives; return the ways of links.

    The energy never rises. misses: greatest share of steps that may miss the tolerance.
    """
    before = [link.p.copy() for link in links]
    energy, missed = float(world.energy().total), 0
    steps = round(seconds / world.time_step)
    for _ in range(steps):
        world.step()
        now = float(world.energy().total)
        assert now < energy + 1e-6 * abs(energy) + 1e-9
        energy, missed = now, missed + (not world.report.converged)
    assert missed <= misses * steps
    return [link.p - start for link, start in zip(links, before, strict=True)]


@pytest.mark.parametrize('time_step', STEPS)
def test_cartons_stay_on_a_pallet(time_step):
    """Stack cartons in crossed layers on a pallet of boards; nothing moves in half a second."""
    world, add = world_of(time_step)
    add(sb.Box((4, 4, 0.2)), (0, 0, -0.1))
    runners = [sb.Placed(sb.Box((1.2, 0.1, 0.1)), position=(0, y, 0.05)) for y in (-0.35, 0, 0.35)]
    boards = [
        sb.Placed(sb.Box((0.1, 0.8, 0.022)), position=(x, 0, 0.111))
        for x in np.linspace(-0.55, 0.55, 7)
    ]
    add([*runners, *boards], (0, 0, 0), 20.0)
    links = []
    for layer in range(3):
        size = (0.58, 0.25, 0.3) if layer % 2 == 0 else (0.38, 0.38, 0.3)
        spots = [(-0.3, y) for y in (-0.26, 0, 0.26)] + [(0.3, y) for y in (-0.26, 0, 0.26)]
        if layer % 2:
            spots = [(x, y) for x in (-0.4, 0, 0.4) for y in (-0.2, 0.2)]
        links += [add(sb.Box(size), (x, y, 0.272 + 0.3 * layer), 8.0).root_link for x, y in spots]
    for way in run(world, 0.5, links):
        assert np.linalg.norm(way) < 1e-6


@pytest.mark.parametrize(('friction', 'stands'), [(0.7, True), (0.05, False)])
def test_an_arch_stands_by_its_friction(friction, stands):
    """Put seven voussoirs together without mortar: with smooth joints the arch collapses."""
    world, add = world_of(0.005, friction)
    add(sb.Box((4, 4, 0.2)), (0, 0, -0.1))
    angle, links = np.linspace(0.0, np.pi, 8), []
    for k in range(7):
        corners = np.array(
            [
                (r * np.cos(a), y, r * np.sin(a))
                for r in (0.3, 0.42)
                for a in (angle[k], angle[k + 1])
                for y in (-0.05, 0.05)
            ]
        )
        middle = corners.mean(axis=0)
        links.append(add(sb.ConvexHull(corners - middle), middle, 2.0).root_link)
    if stands:
        assert max(np.linalg.norm(way) for way in run(world, 0.5, links)) < 1e-6
    else:
        world.step(100)
        assert links[3].p[2] < 0.3


@pytest.mark.parametrize('time_step', STEPS)
def test_pegs_of_four_shapes_fall_into_holes(time_step):
    """Drop a cylinder, prism, box and capsule into bores with play; they stand on the ground."""
    world, add = world_of(time_step)
    add(sb.Box((4, 4, 0.2)), (0, 0, -0.1))
    bore = sb.HollowCylinder(0.05, 0.04, 0.0102)
    add([sb.Placed(bore, position=(0.12 * k, 0, 0.02)) for k in range(4)], (0, 0, 0))
    shapes = [
        sb.Cylinder(0.01, 0.08),
        sb.ConvexHull(prism(0.01, 0.04, 24)[0]),
        sb.Box((0.014, 0.014, 0.08)),
        sb.Capsule(0.01, 0.06),
    ]
    links = [add(s, (0.12 * k, 0, 0.09), 0.1).root_link for k, s in enumerate(shapes)]
    run(world, 0.5)
    for k, link in enumerate(links):
        assert np.linalg.norm(link.p - (0.12 * k, 0, 0.04)) < 3e-4
        assert np.linalg.norm(link.v) < 1e-6


@pytest.mark.parametrize('time_step', STEPS)
def test_a_table_is_put_together(time_step):
    """Lower a plate with four bores on the pins of four legs; a box on it comes to rest too."""
    world, add = world_of(time_step)
    add(sb.Box((4, 4, 0.2)), (0, 0, -0.1))
    places = [(x, y) for x in (-0.3, 0.3) for y in (-0.2, 0.2)]
    pin = sb.Placed(sb.Cylinder(0.02, 0.04), position=(0, 0, 0.17))
    for x, y in places:
        add([sb.Placed(sb.Box((0.06, 0.06, 0.3))), pin], (x, y, 0.15), 1.0)
    bores = [
        sb.Placed(sb.HollowCylinder(0.05, 0.04, 0.0205), position=(x, y, 0)) for x, y in places
    ]
    slab = sb.Placed(sb.Box((0.7, 0.5, 0.02)), position=(0, 0, 0.031))
    plate = add([*bores, slab], (0, 0, 0.345), 6.0).root_link
    box = add(sb.Box((0.2, 0.2, 0.2)), (-0.1, 0, 0.487), 3.0).root_link
    # 88 contacts at the landing
    run(world, 0.6, misses=0.1)
    # the plate lies on the legs, 0.3 m high, and the pins end 1 mm below its slab
    assert plate.p[2] == pytest.approx(0.32, abs=1e-4)
    assert box.p[2] == pytest.approx(0.32 + 0.041 + 0.1, abs=1e-4)
    assert np.linalg.norm(plate.v) < 1e-6


@pytest.mark.parametrize('time_step', STEPS)
def test_hooks_swing_on_a_bar(time_step):
    """Push loads hanging on a bar by hooks of capsules; they swing below it, and lose energy."""
    world, add = world_of(time_step, 0.4)
    along = Rotation.from_euler('x', 90, degrees=True).as_quat()
    add(sb.Cylinder(0.01, 1.0), (0, 0, 1.0), orientation=along)
    hook = [sb.Placed(sb.Capsule(0.004, 0.1), position=(0.02, 0, -0.05))]
    for k in range(6):
        ends = [
            np.array((0.02 * np.cos(a), 0, 0.02 * np.sin(a)))
            for a in (np.pi * k / 6, np.pi * (k + 1) / 6)
        ]
        way = ends[1] - ends[0]
        turn = Rotation.align_vectors([way], [[0, 0, 1]])[0].as_quat()
        shape = sb.Capsule(0.004, float(np.linalg.norm(way)))
        hook.append(sb.Placed(shape, position=0.5 * (ends[0] + ends[1]), orientation=turn))
    links = []
    for k, load in enumerate((sb.Sphere(0.03), sb.Box((0.06, 0.06, 0.06)))):
        whole = [*hook, sb.Placed(load, position=(0, 0, -0.13))]
        velocity = (0.1 + 0.2 * k, 0, 0)
        body = add(whole, (0, 0.3 * k - 0.2, 0.9951), 0.5, linear_velocity=velocity)
        links.append(body.root_link)
    for way in run(world, 1.0, links):
        assert np.linalg.norm(way) < 0.08


BELTS = {
    'straight': [((0.5 * k, 0), (0.5, 0.5), (0.5, 0)) for k in range(3)],
    'transfer': [((0, 0), (1, 0.5), (0.5, 0)), ((0.75, 0.5), (0.5, 1.5), (0, 0.5))],
}
PARCELS = {
    'box': sb.Box((0.2, 0.15, 0.1)),
    'puck': sb.Cylinder(0.08, 0.1),
    'tube': sb.HollowCylinder(0.08, 0.1, 0.06),
    'hull': sb.ConvexHull(prism(0.08, 0.05, 7)[0]),
    'mesh': sb.TriangleMesh(*prism(0.08, 0.05, 7)),
}


@pytest.mark.parametrize('course', BELTS)
@pytest.mark.parametrize('name', PARCELS)
def test_parcels_pass_from_belt_to_belt(name, course):
    """Carry parcels over seams: straight on at the belts' speed, and round a corner."""
    for time_step in STEPS:
        world, add = world_of(time_step)
        for (x, y), (length, width), velocity in BELTS[course]:
            belt = sb.Placed(sb.Box((length, width, 0.1)), surface_velocity=(*velocity, 0.0))
            add(belt, (x, y, -0.05))
        parcel = add(
            PARCELS[name],
            (-0.15, 0.02, 0.05),
            1.0,
            inertia=(0.003, 0.004, 0.005),
            center_of_mass=(0, 0, 0),
            linear_velocity=(0.5, 0, 0),
        ).root_link
        heights = []
        for _ in range(round((1.2 if course == 'straight' else 2.4) / time_step)):
            world.step()
            heights.append(parcel.p[2])
        assert np.ptp(heights) < 1e-5
        if course == 'straight':
            assert np.allclose(parcel.p[:2], (0.45, 0.02), atol=1e-4)
        else:
            assert 0.5 < parcel.p[0] < 1.0
            assert parcel.v[1] == pytest.approx(0.5, abs=1e-3)


THINGS = {
    'box': (sb.Box((0.05, 0.05, 0.08)), 0.04),
    'can': (sb.Cylinder(0.025, 0.08), 0.04),
    'tube': (sb.HollowCylinder(0.025, 0.08, 0.02), 0.04),
    'ball': (sb.Sphere(0.025), 0.025),
    'hull': (sb.ConvexHull(prism(0.025, 0.04, 6)[0]), 0.04),
    'mesh': (sb.TriangleMesh(*prism(0.025, 0.04, 6)), 0.04),
}


@pytest.mark.parametrize('fingers', [2, 3])
@pytest.mark.parametrize('name', THINGS)
def test_grippers_lift_without_slip(name, fingers):
    """Grip a thing by two plates or three rods, lift it by 0.1 m and hold it, without creep."""
    shape, half = THINGS[name]
    for time_step in STEPS:
        world, add = world_of(time_step, 0.8)
        add(sb.Box((1, 1, 0.1)), (0, 0, -0.05))
        thing = add(
            shape, (0.001, 0.0005, half), 0.3, inertia=(2e-4, 2e-4, 2e-4), center_of_mass=(0, 0, 0)
        ).root_link
        carriage = add(sb.Placed(sb.Box((0.2, 0.05, 0.02)), enabled=False), (0, 0, 0.2), 1.0)
        lift = world.add_joint('slider', None, carriage, axis=(0, 0, 1))
        lift.control = 'velocity'
        finger = sb.Box((0.01, 0.03, 0.05)) if fingers == 2 else sb.Capsule(0.008, 0.05)
        joints = []
        for k in range(fingers):
            angle = 2.0 * np.pi * k / fingers
            out = np.array((np.cos(angle), np.sin(angle), 0.0))
            body = add(finger, 0.045 * out + (0, 0, 0.04), 0.1)
            joints.append(world.add_joint('slider', carriage, body, axis=-out))
        grip = None
        for step in range(round(1.4 / time_step)):
            for joint in joints:
                joint.u = 8.0 - 40.0 * joint.dq
            time = step * time_step
            lift.target_velocity = 0.2 * np.interp(time, (0.4, 0.5, 0.9, 1.0), (0, 1, 1, 0))
            world.step()
            held = thing.p - carriage.root_link.p
            grip = held if time < 0.4 else grip
        assert thing.p[2] > half + 0.09
        assert np.linalg.norm(held - grip) < 1e-4


@pytest.mark.parametrize('time_step', STEPS)
def test_a_rover_climbs_low_stairs(time_step):
    """Drive the rover up three steps of 3 cm; it neither jams nor jumps."""
    world, add = world_of(time_step, 0.8)
    add(sb.Box((4, 3, 0.1)), (-1, 0, -0.05))
    for k in range(3):
        height = 0.03 * (k + 1)
        add(sb.Box((4, 3, height)), (2.6 + 0.4 * k, 0, 0.5 * height))
    rover = world.load_urdf('rover', position=(0, 0, 0.1), material='m')
    names = ('left_wheel_joint', 'right_wheel_joint')
    for name in names:
        rover.joint(name).control = 'velocity'
    rover.command_velocity((5.0, 5.0), names)
    for _ in range(round(4.5 / time_step)):
        world.step()
        assert abs(rover.root_link.v[2]) < 0.6
    assert rover.root_link.p[0] > 1.6
    assert rover.root_link.p[2] == pytest.approx(0.19, abs=0.02)
    assert abs(rover.root_link.p[1]) < 0.02
