"""Worlds that together reach every kernel; their steps within `watch()` are recorded."""

from __future__ import annotations

import math
from pathlib import Path
from unittest import mock

from contact_worlds import add_ball, add_block, add_rope, grounded, leaning_books, tilt
from joint_robots import on_ball
from linkages import body, frame, X, Y, Z
from meshes import lumpy_ball, prism, sheet
import numpy as np
from picturing import looking, picture_of, QUIET, scene_of
from robots import joint, link, robot, rotor
from shipped import drive
from swimming import swimming

import sim_bridge as sb
from sim_bridge.description.cameras import CameraNoise
from sim_bridge.engine.data.lens import BROWN, EQUIDISTANT, IDENTITY, PINHOLE, RADIAL, TANGENT
from sim_bridge.engine.image.depth import fill_depth, fill_millimetres, fill_points
from sim_bridge.engine.image.lens import fill_rays, project_points
from sim_bridge.engine.image.make_lens import make_lens
from sim_bridge.foreign.appearance import Piece
from sim_bridge.robots.start import put_at_start
from sim_bridge.sight.exposure import Exposure
from sim_bridge.sight.lamps import Lamp, Surroundings
from sim_bridge.sight.optics import Optics
from sim_bridge.sight.renderer import ENCODINGS, Renderer
from sim_bridge.sight.scenery import Scenery
from sim_bridge.sight.visual import Visual
from sim_bridge.simulation import cache, late_stages

URDF = Path(__file__).resolve().parents[2] / 'urdf'
TURNED = (0.2, -0.5, 0.3, math.sqrt(0.62))
ORIGIN, UNTURNED = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)


def load(name, steps=50, **options):
    """Return a world with a shipped robot, after some steps, and the robot."""
    world = sb.World(**options)
    position = {'quadruped': (0.0, 0.0, 0.45), 'tracked_vehicle': (0.0, 0.0, 0.14)}.get(name)
    if position:
        world.add_ground()
    loaded = world.load_urdf(URDF / f'{name}.urdf', **({'position': position} if position else {}))
    world.step(steps)
    return world, loaded


def arm(watch):
    """Swing an arm with sensors, command it, and run it into its stops."""
    world, robot = load('arm')
    with watch():
        world.step()
        world.energy(), world.momentum(), robot.link(robot.links[-1].name).dv
    for name in robot.joint_names[:2]:
        robot.joint(name).axes[0].control = 'velocity'
    robot.q = robot.upper + 0.01
    with watch():
        world.step(2)
    robot.dq = 0.0 * robot.dq + 3.0
    with watch():
        world.step()


def dynamics(watch):
    """Read all dynamic quantities of robots, on legs and on a ball joint."""
    _, walker = load('quadruped', 5)
    own, ball = sb.dynamics, on_ball()
    ball.joint('ball').dq = np.array([0.3, 0.5, -0.2])
    for each in (walker, ball):
        ones, link = np.ones(own.velocity(each).size), each.links[-1]
        q = own.random_configuration(each, 1, 2)
        with watch():
            own.mass_matrix(each), own.inverse_mass_matrix(each, q), own.coriolis_matrix(each)
            own.bias_forces(each), own.gravity_forces(each), own.inverse_dynamics(each, ones, q)
            own.forward_dynamics(each, ones), own.forward_dynamics_derivatives(each, ones)
            own.inverse_dynamics_derivatives(each, ones), own.centroidal_momentum_matrix(each)
            own.jacobian(each, link), own.jacobian_derivative(each, link, (0.1, 0.2, 0.3))
            own.forward_kinematics(each), own.forward_kinematics(each, link)
            own.center_of_mass(each), own.center_of_mass_jacobian(each)
            own.centroidal_momentum_matrix_derivative(each), own.kinetic_energy(each)
            own.integrate(each, ones), own.difference(each, q[0], q[1])
            own.integration_derivatives(each, ones), own.integration_derivatives(each, 1e-3 * ones)


def quadruped(watch):
    """Set legs on the ground, and let them slide."""
    world, robot = load('quadruped', 400)
    with watch():
        world.step()
        world.contacts, robot.joint(robot.joint_names[0]).reaction
    robot.set_base_velocity((0.5, 0.2, 0.0), (0.0, 0.0, 1.0))
    with watch():
        world.step()


def weak_motors(watch):
    """Throw a quadruped with motors too weak for their speeds on the ground."""
    world, robot = load('quadruped', 0)
    robot.set_base_velocity((1.0, 0.5, -4.0))
    for name in robot.joint_names:
        axis = robot.joint(name)
        axis.control, axis.max_effort = 'velocity', 20.0
    robot.dq = 3.0 * np.random.default_rng(1).normal(size=len(robot.dq))
    for step in range(300):
        robot.command_velocity(np.full(len(robot.dq), math.sin(5e-3 * step)))
        ahead = world.copy()
        ahead.step()
        if ahead.report.pivots >= 4 and ahead.report.newton_steps > 8:
            with watch():
                world.step()
            return
        world.step()
    raise AssertionError('no laws of joints were solved with contacts by Newton steps')


def four_bar(watch):
    """Step a closed loop."""
    world, robot = load('four_bar')
    with watch():
        world.step(2)
        [joint.error for joint in world.joints.values()]
        [joint.reaction for joint in world.joints.values()]


def delta(watch):
    """Step many loops at once."""
    world, _ = load('delta', 20)
    with watch():
        world.step()


def tracked_vehicle(watch):
    """Drive and turn on crawlers."""
    world, robot = load('tracked_vehicle', 100)
    drive(robot, 0.3, -0.2)
    world.step(50)
    with watch():
        world.step()


def boxes(watch):
    """Stack boxes, with each solver, and let them slide."""
    for solver, steps in [('direct', 60), ('iterative', 60), ('split', 60)]:
        world = grounded(solver=solver)
        for k in range(3):
            place = 0.02 * k, 0.0, 0.1 + 0.2 * k
            world.add_body(sb.Box((0.2, 0.2, 0.2)), mass=1.0, position=place)
        # a pair that never touches, and a pair of bodies
        world.exclude(world.geometries[0], world.geometries[3])
        world.exclude(world.robots['body_2'].root_link, world.robots['ground'].root_link)
        world.step(steps)
        with watch():
            world.step()
        tilt(world, 0.9, 0.3)
        world.step(100)
        with watch():
            world.step()


def leaning(watch):
    """Let books lean: Newton's method misses the tolerance, then sweeps replace it."""
    world, costly = leaning_books(5e-3), 0
    for _ in range(60):
        ahead = world.copy()
        ahead.step()
        report = ahead.report
        is_swept = report.newton_steps == 0 and report.sweeps > 12
        costly += report.newton_steps > 8
        # two such steps reach all kernels; each takes seconds in CPython
        if is_swept or (report.newton_steps > 8 and costly <= 2):
            with watch():
                world.step()
        else:
            world.step()
        if is_swept:
            return
    raise AssertionError('no step was solved by sweeps in place of Newton steps')


LAWS = [
    {'restitution': 0.6, 'friction': 0.5, 'friction2': 0.8},
    {'stiffness': 1e5, 'damping': 100.0},
    {'adhesion': 50.0},
    {'rolling_friction': 0.01, 'spinning_friction': 0.02},
    {'motion': 0.3, 'direction': (None, (1.0, 2.0, 0.0))},
    {'friction_model': 'box', 'friction': 0.3},
    {
        'friction_model': 'constant_normal_force',
        'normal_force': 9.0,
        'depth_factor': 1e4,
        'stiffness': 1e5,
        'damping': 100.0,
    },
    {'stiffness': 1e6, 'damping': 1e4, 'contact_area': True, 'reduce': True, 'bins': 2},
    {'friction': 0.4, 'friction_model': 'pyramid'},
    {'friction': 3.0, 'friction_model': 'constant'},
]


SHAPES = {
    'sphere': sb.Sphere(0.1),
    'capsule': sb.Capsule(0.06, 0.2),
    'box': sb.Box((0.2, 0.15, 0.1)),
    'cylinder': sb.Cylinder(0.1, 0.2),
    'cone': sb.Cone(0.1, 0.2),
    'ellipsoid': sb.Ellipsoid((0.1, 0.15, 0.08)),
    'hull': sb.ConvexHull(0.1 * np.random.default_rng(2).normal(size=(20, 3))),
}


def tumbling(world, *shapes, seed=4):
    """Drop shapes close to one another, each with its own rotation."""
    rng = np.random.default_rng(seed)
    for number, shape in enumerate(shapes):
        q = rng.normal(size=4)
        world.add_body(
            shape,
            mass=1.0,
            orientation=q / np.linalg.norm(q),
            position=(*rng.uniform(-0.1, 0.1, 2), 0.2 + 0.16 * number),
        )


def shapes(watch):
    """Pile convex shapes on one another and on the ground."""
    kinds = list(SHAPES.values())
    for number in range(len(kinds)):
        world = grounded()
        tumbling(world, kinds[number], kinds[number - 1], kinds[number - 3], seed=number)
        world.step(170)
        with watch():
            world.step()
    around = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    ring = 0.1 * np.column_stack([np.cos(around), np.sin(around), np.ones(12)])
    prism = sb.ConvexHull(np.vstack([ring, ring - (0.0, 0.0, 0.2)]))
    for lower, upper, place, turned in [
        (SHAPES['capsule'], SHAPES['capsule'], (0.05, 0.02, 0.0), TURNED),
        (SHAPES['cylinder'], SHAPES['sphere'], (0.01, 0.02, 0.199), UNTURNED),
        (SHAPES['ellipsoid'], SHAPES['sphere'], ORIGIN, UNTURNED),
        (prism, prism, (0.01, 0.02, 0.1999), UNTURNED),
    ]:
        world = sb.World()
        world.add_body(lower, motion='static')
        world.add_body(upper, mass=1.0, position=place, orientation=turned)
        with watch():
            world.step()


def contact_materials(watch):
    """Set shapes on meshes and height fields, slow ones and a fast one."""
    vertices, triangles = lumpy_ball(5, 8)
    heights = 0.03 * np.random.default_rng(3).normal(size=(12, 12))
    waves = sheet(6, 2.0, lambda x, y: 0.1 * x * y)
    grounds = [
        (sb.TriangleMesh(*waves), 0.0),
        (sb.HeightField(heights, (2.0, 2.0)), 0.0),
        (sb.TriangleMesh(vertices, triangles), -0.8),
        (sb.Plane(), 0.0),
    ]
    falling = [*SHAPES.values(), sb.TriangleMesh(0.15 * vertices, triangles)]
    for ground, height in grounds:
        world = sb.World()
        world.add_body(ground, motion='static', position=(0, 0, height))
        for number, shape in enumerate(falling):
            world.add_body(
                shape,
                mass=1.0,
                orientation=TURNED,
                position=(0.5 * (number % 3) - 0.5, 0.5 * (number // 3) - 0.5, 0.12),
            )
        fast = world.add_body(sb.Sphere(0.02), mass=1.0, position=(0.1, 0.1, 0.1))
        world.step(30)
        fast.set_base_pose((0.13, 0.12, 0.06))
        fast.set_base_velocity((40.0, 5.0, -70.0))
        with watch():
            world.step()
    # over a rough field, a face lies ahead of a body touching another face
    rough = sb.World()
    rough.add_body(sb.HeightField(heights, (2.0, 2.0)), motion='static')
    flying = rough.add_body(sb.Sphere(0.02), mass=1.0, position=(-0.58553328, -0.15501922, 0.07))
    flying.set_base_velocity((-53.37805667829307, -42.78359872046709, -70.0))
    # a mesh sunk into it
    rough.add_body(
        sb.TriangleMesh(0.15 * vertices, triangles), mass=1.0, position=(0.5, 0.5, -0.05)
    )
    with watch():
        rough.step()


def hollow_shapes(watch):
    """Set shapes in and on hollow ones, one of these on a mesh; measure two."""
    ring, cone = sb.HollowCylinder(0.3, 0.1, 0.2), sb.HollowCone(0.3, 0.2, 0.25, 0.15, 0.1)
    world = sb.World()
    lower = [ring, cone, sb.TriangleMesh(*sheet(1, 1.0))]
    upper = [sb.Cylinder(0.19, 0.3), sb.Box((0.15, 0.2, 0.2)), ring]
    heights = 0.0, 0.05, 0.045
    for number, (target, shape, z) in enumerate(zip(lower, upper, heights, strict=True)):
        place = np.array((float(number), 0.0, 0.0))
        world.add_body(target, motion='static', position=place)
        world.add_body(shape, mass=1.0, position=place + (0.01, 0.0, z))
    with watch():
        world.step()
    for other in (ring, sb.Sphere(0.05)):
        with watch():
            sb.distance(other, ((0.05, 0.02, 0.1), TURNED), cone, (ORIGIN, UNTURNED))
    with watch():
        sb.distance(
            ring,
            ((0.25, 0.0, 0.02), (np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5))),
            ring,
            (ORIGIN, UNTURNED),
        )
    # the nearest point of a bar jumps between corners as the bore's lines pass it
    with watch():
        sb.distance(
            sb.Box((0.3, 0.02, 0.02)), ((0.01, 0.01, 0.0), TURNED), ring, (ORIGIN, UNTURNED)
        )


def parts(watch):
    """Slide over a seam; overlap hollow shapes and meshes; fill a bore; leave a stop."""
    world = sb.World(time_step=0.005)
    for x in (-1.0, 1.0):
        world.add_body(sb.Box((2.0, 1.0, 0.2)), motion='static', position=(x, 0.0, -0.1))
    for number in range(8):
        world.add_body(
            sb.Box((0.2, 0.05, 0.1)),
            mass=1.0,
            position=(-0.1005 - 0.004 * number, 0.1 * number - 0.4, 0.05),
            linear_velocity=(2.0, 0.0, -0.01 * number),
        )
    for _ in range(3):
        with watch():
            world.step()
    world = sb.World(gravity=(0, 0, 0))
    thick = sb.HollowCylinder(radius=0.2, inner_radius=0.05, length=0.4)
    cube, table = (sb.TriangleMesh(*prism(radius, 0.05, 4)) for radius in (0.05, 0.2))
    world.add_body(thick, motion='static')
    world.add_body(thick, mass=1.0, position=(0.11, 0.03, 0.0))
    world.add_body(table, motion='static', position=(2.0, 0.0, 0.0))
    world.add_body(cube, mass=1.0, position=(2.005, 0.003, 0.09995))
    vertices, triangles = prism(0.05, 0.015, 32)
    wheel = sb.TriangleMesh(vertices[:, [1, 2, 0]], triangles)
    world.add_body(
        wheel,
        mass=1.0,
        position=(2.0, 0.08, 0.0995),
        orientation=(0.0, 0.07, 0.0, 1.0),
        linear_velocity=(1.0, 0.0, 0.0),
        angular_velocity=(0.0, 20.0, 0.0),
    )
    # two meshes deep in each other, and a hull in a mesh
    for x, shape in ((6.0, table), (8.0, sb.ConvexHull(prism(0.2, 0.05, 4)[0]))):
        world.add_body(table, motion='static', position=(x, 0.0, 0.0))
        world.add_body(shape, mass=1.0, position=(x + 0.11, 0.03, 0.0))
    world.add_body(sb.HollowCylinder(0.04, 0.1, 0.01005), motion='static', position=(4, 0, 0))
    world.add_body(sb.ConvexHull(prism(0.01, 0.015, 24)[0]), mass=0.1, position=(4, 0, 0))
    with watch():
        world.step()
    world = sb.World(gravity=(0, 0, 0))
    cart = world.add_body(sb.Sphere(0.1), mass=1.0, linear_velocity=(100.0, 0.0, 0.0))
    slide = world.add_joint('slider', None, cart, anchor=(0, 0, 0), axis=(1, 0, 0), tree=False)
    slide.lower, slide.upper = -0.2, 0.1
    for _ in range(3):
        with watch():
            world.step()


def lines(watch):
    """Pass lines through shapes of all kinds, a plane and each other, and past them."""
    vertices, triangles = lumpy_ball(4, 6)
    world = grounded()
    for number, shape in enumerate(
        [
            *SHAPES.values(),
            sb.HollowCylinder(0.2, 0.2, 0.1),
            sb.Line((-0.1, 0, 0), (0.1, 0, 0)),
            sb.TriangleMesh(0.2 * vertices, triangles),
        ]
    ):
        x = 0.5 * number
        world.add_body(shape, motion='static', position=(x, 0.0, 0.3))
        world.add_body(
            [
                sb.Line((x, -0.5, 0.3), (x, 0.5, 0.3)),
                sb.Line((x, 0, 0.3), (x, 0, -9)),
                sb.Line((x, 0.45, 0), (x + 0.4, 0.45, 0.9)),
            ],
            motion='kinematic',
        )
    with watch():
        world.step()


def distances(watch):
    """Measure distances between all shapes, apart and overlapping."""
    (vertices, triangles), (corners, faces) = lumpy_ball(), lumpy_ball(4, 6)
    every = {
        **SHAPES,
        'plane': sb.Plane(),
        'mesh': sb.TriangleMesh(0.2 * vertices, triangles),
        'small': sb.TriangleMesh(0.2 * corners, faces),
        'field': sb.HeightField(0.1 * np.random.default_rng(3).normal(size=(5, 5)), (1, 1)),
    }
    pairs = [
        ('box', 'cone'),
        ('hull', 'cylinder'),
        ('sphere', 'mesh'),
        ('box', 'field'),
        ('capsule', 'field'),
        ('mesh', 'small'),
        ('plane', 'mesh'),
        ('small', 'field'),
        ('box', 'plane'),
        ('hull', 'plane'),
        ('cylinder', 'plane'),
    ]
    for number, (a, b) in enumerate(pairs):
        x = (0.05, 0.4)[number % 2]
        with watch():
            sb.distance(every[a], ((0, 0, x), TURNED), every[b], ((x, 0.02, 0), (0, 0, 0, 1)))
    for name in ('cylinder', 'cone'):
        for place in ((0.3, 0.1, 0.0), (0.02, 0.01, 0.3), (0.3, 0.0, 0.3), (0.01, 0.0, 0.01)):
            with watch():
                sb.distance(every['sphere'], (place, TURNED), every[name], (ORIGIN, UNTURNED))
    with watch():
        sb.distance(every['sphere'], (ORIGIN, TURNED), every['ellipsoid'], (ORIGIN, UNTURNED))
        sb.distance(
            every['sphere'], ((0.55, 0.1, -0.3), TURNED), every['field'], (ORIGIN, UNTURNED)
        )


def rays(watch):
    """Cast lines at shapes of all kinds: through them, past them, from inside, along faces."""
    vertices, triangles = lumpy_ball(4, 6)
    field = sb.HeightField(0.1 * np.random.default_rng(3).normal(size=(4, 5)), (1, 1))
    world = grounded()
    for number, shape in enumerate(
        [
            *SHAPES.values(),
            sb.TriangleMesh(0.2 * vertices, triangles),
            field,
            sb.Cone(0.15, 0.2, 0.1),
            sb.HollowCone(0.1, 0.2, 0.05, 0.15, 0.1),
        ]
    ):
        world.add_body(
            shape,
            motion='static',
            position=(0.3 * number, 0.02, 0.3),
            orientation=TURNED if number % 2 else UNTURNED,
        )
    ends = np.random.default_rng(6).uniform((-0.2, -0.2, -0.1), (3.0, 0.2, 0.6), (2, 40, 3))
    ends[1, ::3, 1:] = ends[0, ::3, 1:]
    for number, geometry in enumerate(world.geometries[1:]):
        ends[1, 4 * number : 4 * number + 2] = geometry.p + 0.5 * (geometry.p - ends[0, number])
        ends[0, 4 * number : 4 * number + 2] = ends[0, number]
    with watch():
        world.overlapping([(0, 0, 0), (1, 1, 1)]), world.find_contacts()
        world.raycasts(*ends), world.raycasts(*ends, every=True, cull=True)
    # enough shapes for bounding boxes around groups of groups
    crowd = sb.World()
    for place in np.random.default_rng(7).uniform(-1.0, 1.0, (70, 3)):
        crowd.add_body(sb.Sphere(0.1), motion='static', position=place)
    with watch():
        crowd.raycasts(-ends[1, ::8], ends[1, ::8])


def images(watch):
    """See all kinds of shapes through all lens models, near and across the camera."""
    vertices, triangles = lumpy_ball(4, 6)
    world = grounded()
    for number, shape in enumerate(
        [
            sb.Box((0.4, 0.5, 0.3)),
            sb.TriangleMesh(0.4 * vertices, triangles),
            sb.HeightField(0.1 * np.random.default_rng(3).normal(size=(3, 4)), (1, 1)),
            sb.TriangleMesh(
                np.array([(-9, -9, 0), (9, -9, 0), (0, 9, 0.5)]), np.array([[0, 1, 2]])
            ),
        ]
    ):
        world.add_body(shape, motion='static', position=(0.6 * number - 0.8, 0.1, 0.2))
    scene, camera = scene_of(world), looking((0.1, -1.3, 0.5), (0.0, 0.0, 0.2))
    with watch():
        for model, coefficients, function in [
            (PINHOLE, (), IDENTITY),
            (BROWN, (-0.3, 0.02, 0.002, -0.001), IDENTITY),
            (EQUIDISTANT, (0.02, -0.01), IDENTITY),
            (RADIAL, (2.0, 2.0), TANGENT),
        ]:
            lens = make_lens(model, (4.0, 4.0, 2.5, 2.0), coefficients, function=function)
            picture, rays = picture_of(scene, camera, lens, (6, 5)), np.zeros((5, 6, 3))
            fill_rays(lens, rays)
            fill_depth(0, 5, picture, rays, 0.2, QUIET, np.zeros((5, 6), np.float32))
            fill_millimetres(0, 5, picture, rays, 0.2, QUIET, np.zeros((5, 6), np.uint16))
            fill_points(0, 5, picture, rays, 0.2, QUIET, np.zeros((5, 6, 3), np.float32))
            project_points(lens, vertices, np.zeros((len(vertices), 2)))
    colors(watch)


def colors(watch):
    """Shade all kinds of surfaces under all kinds of lamps, and encode the light."""
    vertices, triangles = lumpy_ball(4, 6)
    places = [np.array([0.6 * k - 0.6, 0.1, 0.2]) for k in range(3)]
    scenery = Scenery(
        [
            Visual(sb.Plane(), checker=(0.3, (0.2, 0.2, 0.2, 1.0))),
            Visual(sb.Box((0.4, 0.5, 0.3)), position=places[0]),
            Visual(sb.TriangleMesh(0.4 * vertices, triangles), position=places[1]),
            Visual(
                sb.TriangleMesh(
                    np.array([(-0.2, -0.2, 0), (0.2, -0.2, 0), (0, 0.2, 0.3)]),
                    np.array([[0, 1, 2]]),
                ),
                position=places[2],
                color=(0.5, 0.6, 0.7, 0.4),
            ),
            Visual(painted_ball(vertices, triangles), position=places[2]),
            Visual(sb.HeightField(0.1 * vertices[:12, 0].reshape(3, 4), (1, 1))),
            Visual(
                sb.TriangleMesh(
                    np.array([(-9, -9, 0), (9, -9, 0), (0, 9, 0.5)]), np.array([[0, 1, 2]])
                ),
                color=(0.5, 0.6, 0.7, 0.4),
            ),
            Visual(sb.Sphere(0.2), position=places[0] - 0.3, color=(0.9, 0.1, 0.1, 0.6)),
        ]
    )
    lamps = (
        Lamp(),
        Lamp('point', position=(0.0, -0.5, 1.0), attenuation=(0.5, 0.1, 0.2)),
        Lamp('spot', direction=(0.1, 0.1, -1.0), position=(0.3, 0.0, 2.0), inner=0.3, outer=0.6),
    )
    camera = looking((0.1, -1.3, 0.9), (0.0, 0.0, 0.2))
    with watch():
        for model in (PINHOLE, EQUIDISTANT):
            lens = make_lens(model, (5.0, 5.0, 3.5, 3.0))
            around, noise = Surroundings(lamps), CameraNoise(0.0, 0.01)
            exposure = Exposure(1.1, noise, noise)
            renderer = Renderer(scenery, Optics(8, 7, lens), 1, around, exposure=exposure)
            renderer.render(camera, np.zeros((0, 12)))
            for encoding in ENCODINGS:
                renderer.image(encoding)


def painted_ball(vertices, triangles):
    """Return a mesh with texture and vertex colours, partly transparent."""
    rng = np.random.default_rng(3)
    return Piece(
        0.2 * vertices,
        triangles,
        colors=rng.integers(0, 256, (len(vertices), 4), np.uint8),
        places=vertices[:, :2].astype(np.float32),
        picture=rng.integers(0, 256, (5, 8, 4), np.uint8),
    )


def controls(watch):
    """Move joints by servos, positions, velocities and efforts."""
    chain = robot(
        link('base', 0.0),
        link('a', 1.0, (0.0, 0.1, -0.2)),
        link('b', 0.7, (0.02, -0.1, 0.1)),
        link('c', 0.7, (0.02, -0.1, 0.1)),
        link('d', 0.3),
        joint('one', 'base', 'a', 'revolute', (0, 1, 0)),
        joint('two', 'a', 'b', 'continuous', (1, 0, 0), (0, 0, -0.2)),
        joint('three', 'b', 'c', 'prismatic', (1, 0, 0), (0, 0, -0.2)),
        joint('four', 'c', 'd', 'continuous', (1, 0, 0), (0, 0, -0.2)),
    )
    world = sb.World()
    body = world.load_urdf(chain, base='fixed')
    for name, control in zip(
        body.joint_names, ('servo', 'position', 'velocity', 'effort'), strict=True
    ):
        axis = body.joint(name).axes[0]
        axis.control = control
    axis = body.joint('one').axes[0]
    axis.kp, axis.kd, axis.target_position = 100.0, 5.0, 0.3
    body.joint('two').axes[0].target_position = 0.2
    body.joint('three').axes[0].target_velocity = 0.1
    with watch():
        world.step(2)
    body.gravity_mode = True
    with watch():
        world.step()


def pull(watch):
    """Apply gravity towards a point: alone, in joints, with steps of either order."""
    for integrator, exponent in (('midpoint', -1.0), ('rk5', -2.0)):
        gravity = sb.PointGravity((0.1, 0.0, -3.0), 2.0, exponent)
        world = sb.World(gravity=gravity, integrator=integrator)
        swinging = world.load_urdf(rotor())
        world.add_body((), mass=1.0, inertia=(0.1, 0.1, 0.1), position=(2.0, 0.0, 0.0))
        with watch():
            world.step()
            world.energy(), swinging.link('body').dv
            sb.dynamics.bias_forces(swinging)
            sb.dynamics.forward_dynamics(swinging, np.ones(1))


_KEPT = []


def kept(world):
    """Keep a world alive, since its functions are called by address, and return it."""
    _KEPT.append(world)
    return world


def fields(watch):
    """Apply all kinds of force fields, and gravity from Python, with steps of either order."""
    for integrator in ('midpoint', 'rk5'):
        world = kept(sb.World(gravity=lambda x: (0.1, 0.0, -9.0), integrator=integrator))
        world.load_urdf(URDF / 'arm.urdf')
        body = world.add_body(
            (),
            mass=1.0,
            inertia=(0.1, 0.2, 0.3),
            position=(2.0, 0.0, 0.0),
            linear_velocity=(1.0, 2.0, 0.0),
            angular_velocity=(1.0, 0.5, 0.2),
        )
        world.add_force_field(sb.UniformField((0.1, 0.2, 0.3), (0.3, 0.2, 0.1)))
        world.add_force_field(sb.PointField((1.0, 0.2, 0.3), 2.0, -1.0))
        world.add_force_field(sb.PointGravity((1.0, 0.2, 0.3), 2.0, 1.0))
        world.add_force_field(sb.Drag(0.1, 0.2, 0.3, (1.0, 2.0, 0.0), (0.3, 0.0, 0.0), 0.5))
        world.add_force_field(lambda x, v, m, t: (0.5, 0.0, m), links=body)
        world.add_force_field(sb.BoxFlow(1.2, 0.1), links=body)
        world.add_force_field(sb.EllipsoidFlow(1.2, 0.1), links=body)
        world.step(3)
        with watch():
            world.step()
            world.energy(), body.link(body.name).dv


def fluids(watch):
    """Float all shapes at a surface, fly wings, turn a rotor and a thruster, drive a hull."""
    shapes = (
        sb.Sphere(0.1),
        sb.Cylinder(0.1, 0.2),
        sb.Capsule(0.05, 0.1),
        sb.Box((0.2, 0.1, 0.1)),
    )
    for integrator in ('midpoint', 'rk5'):
        world = sb.World(integrator=integrator)
        for at, shape in enumerate(shapes):
            for turn in (TURNED, UNTURNED, (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))):
                place = 1.0 * at, 0.0, 0.01 + 2.0 * turn[1]
                world.add_body(shape, mass=1.0, position=place, orientation=turn)
        world.add_force_field(sb.Buoyancy(1000.0, [(0.0, 1.0), (0.5, 0.5)]))
        with watch():
            world.step()
        world = sb.World(integrator=integrator)
        text = robot(
            link('base', 1.0, (0.1, 0, 0), (0.02, 0.02, 0.03)),
            link('rotor', 0.01, (0, 0, 0), (1e-5, 1e-5, 2e-5)),
            joint('spin', 'base', 'rotor', 'continuous', (0, 0, 1)),
        )
        flyer, boat = (world.load_urdf(text, base='free') for _ in range(2))
        world.add_force_field(sb.Rotor('spin'), links=flyer.link('rotor'))
        world.add_force_field(sb.Thruster('spin'), links=boat.link('rotor'))
        added, mixed = 0.1 * np.ones((6, 6)), 0.1 * np.ones((6, 6, 6))
        world.add_force_field(sb.Hydrodynamics(added, added, mixed, mixed), links=boat.root_link)
        for is_local in (False, True):
            pull = sb.Wrench((1.0, 2.0, 3.0), (0.1, 0.0, 0.2), (0.1, 0.2, 0.0), is_local)
            world.add_force_field(pull, links=boat.root_link)
        aircraft = sb.AdvancedLiftDrag(added, ['spin'], [[0.1] * 6], cp=(0.1, 0.0, 0.0))
        wings = sb.LiftDrag(joint='spin'), sb.LiftDrag(radial_symmetry=True, a0=2.0), aircraft
        for wing in wings:
            world.add_force_field(wing, links=flyer.root_link)
        engine = sb.BuoyancyEngine(target_volume=5e-4, surface=0.5)
        world.add_force_field(engine, links=boat.root_link)
        wind = sb.Wind((1.0, 2.0, 0.5), rise_time=1.0, turn_time=0.5, gust=0.1, swing=0.2)
        world.add_force_field(wind, links=boat.root_link)
        for each in (flyer, boat):
            each.joint('spin').control = 'velocity'
            each.joint('spin').target_velocity = 50.0
            each.set_base_velocity((3.0, 0.2, -1.0), (0.1, 0.2, 0.3))
        world.step(2)
        with watch():
            world.step()
            flyer.root_link.dv, world.energy()


def listening(watch):
    """Listen to pairs that begin, continue and end to touch, and keep them from Python."""
    world = kept(grounded(sleep=True))
    balls = [add_ball(world, at=(0.4 * k, 0.0), lift=-1e-4) for k in range(3)]
    for ball in balls:
        world.on_contact(lambda event: None, ball)
    world.add_force_field(sb.Drag(linear=0.1, gust=(1.0, 0.0, 0.0)))
    engine = sb.BuoyancyEngine(volume=3e-4, target_volume=3.000001e-4)
    world.add_force_field(engine, links=balls[2].root_link)
    world.step(3)
    balls[0].set_base_pose((0.0, 0.0, 0.3))
    with watch():
        world.step(2)


def medium(watch):
    """Let a chain swim, with both integrators."""
    for integrator in ('midpoint', 'rk5'):
        world, _ = swimming(integrator=integrator)
        with watch():
            world.step(2)
            world.robots['robot'].ddq, world.robots['robot'].links[-1].dv


def momentum(watch):
    """Keep the momentum of a landing robot, a flying one, and of bodies in a loop."""
    world = grounded(integrator='momentum')
    legs = world.load_urdf(URDF / 'quadruped.urdf', position=(0.0, 0.0, 0.45))
    flying = world.load_urdf(URDF / 'quadruped.urdf', name='flying', position=(3.0, 0.0, 2.0))
    flying.set_base_velocity((0.1, 0.2, 0.3), (1.0, 2.0, 3.0))
    pair = [
        world.add_body((), mass=1.0, inertia=(0.1, 0.2, 0.3), position=(2.0 * k, 0.0, 4.0))
        for k in range(2)
    ]
    world.add_joint('hinge', *pair, anchor=(1.0, 0.0, 4.0), axis=(0.0, 1.0, 0.0), tree=False)
    pair[0].set_base_velocity((0.0, 0.0, 1.0), (1.0, 0.0, 0.5))
    for name in legs.actuated_joints:
        legs.joint(name).friction = 0.1
    world.step(40)
    with watch():
        world.step(2)


def violent(watch):
    """Accelerate a free robot's joints in one step, so its energy is checked."""
    world = sb.World()
    legs = world.load_urdf(URDF / 'quadruped.urdf', name='legs')
    for name in legs.actuated_joints[::3]:
        axis = legs.joint(name)
        axis.effort_limit = axis.max_effort = 1e9
        axis.control, axis.target_velocity = 'velocity', 2e3
    with watch():
        world.step()


def sleeping(watch):
    """Let blocks fall asleep, one by its mean velocity, disable one, and wake one."""
    world = grounded(sleep=True)
    add_block(world, at=(3.0, 0.0), lift=0.001).sleep = sb.Sleep(average_samples=3)
    add_block(world, at=(5.0, 0.0), lift=0.5).disable()
    first = add_block(world, lift=0.001)
    add_block(world, at=(1.0, 0.0), lift=0.001)
    while not first.is_asleep:
        world.step(10)
    with watch():
        world.step()
    first.set_base_velocity((0.2, 0, 0.1))
    with watch():
        world.step(2)


JOINTS = [
    ('hinge', {}),
    ('slider', {}),
    ('ball', {}),
    ('fixed', {}),
    ('universal', {'axis2': X}),
    ('hinge2', {'axis2': X, 'suspension': (1000.0, 10.0)}),
    ('distance', {}),
    ('piston', {}),
    ('planar', {}),
    ('inline', {}),
    ('parallel', {}),
    ('perpendicular', {'axis2': X}),
]


def joints(watch):
    """Join bodies by constraint joints of all kinds, stiff and compliant."""
    for options in ({'tree': False}, {'erp': 0.2, 'cfm': 1e-4}):
        world = sb.World()
        for number, (kind, more) in enumerate(JOINTS):
            place = 3.0 * number * X
            one, other = body(world, place), body(world, place + 0.5 * X)
            if kind == 'distance':
                more = {'anchor2': place + (0.5, 0, 0.5)}
            elif kind not in ('ball', 'fixed'):
                more = {'axis': Z, **more}
            world.add_joint(kind, one, other, anchor=place, **more, **options)
            one.set_base_velocity((0.1, 0.2, 0), (0.3, 0.5, 0.1))
        world.step(3)
        with watch():
            world.step()
            [joint.reaction for joint in world.joints.values()]


def angular_motors(watch):
    """Rotate bodies about axes fixed on them, and by Euler angles."""
    world = sb.World()
    first, second = body(world), body(world, 2 * X)
    motors = [
        world.add_angular_motor(None, first, [Y, Z], euler=True),
        world.add_angular_motor(first, second, [X, Y], fixed_on=['first', 'second']),
    ]
    for motor in motors:
        for axis, speed in zip(motor.axes, (1.0, 2.0, 0.5), strict=False):
            axis.control, axis.target_velocity, axis.max_effort = 'velocity', speed, 0.1
    world.step(10)
    with watch():
        world.step()
        [axis.q for motor in motors for axis in motor.axes]


def assembly(watch):
    """Assemble a four-bar's loop, drop a frame on the ground and observe it."""
    world = sb.World()
    # the frame is slightly within the ground
    world.add_ground(height=0.505)
    frame(world)
    for _ in range(2):
        world.step()
        with watch():
            world.step()
            [part.root_link.dv for part in world.robots.values()]
    with watch():
        _, robot = load('four_bar', 0)
        put_at_start(robot, {'crank_joint': 0.4})


def balls(watch):
    """Swing a body on a ball joint, and observe its reaction."""
    hanging = on_ball()
    hanging.joint('ball').dq = np.array([0.3, 0.5, -0.2])
    with watch():
        hanging.world.step()
        hanging.ddq, hanging.joint('ball').reaction


def springs(watch):
    """Swing on a spring."""
    world = sb.World()
    robot = world.load_urdf(rotor(inertia=0.5))
    spring = robot.joint(robot.joint_names[0])
    spring.stiffness, spring.reference = 50.0, 0.2
    robot.dq = [0.5]
    with watch():
        world.step()
        assert np.isfinite(robot.ddq).all()


def stored(watch):
    """Read the energy of compliant contacts, joints and stops, and of adhesive contacts."""
    laws = [
        {'stiffness': 3e3, 'damping': 5.0},
        {'erp': 0.3, 'cfm': 1e-4},
        {'stiffness': 1e5, 'damping': 3e3, 'contact_area': True, 'reduce': True},
        {'stiffness': 1e5, 'adhesion': 3.0, 'adhesive_overlap': 1e-3},
    ]
    for law in laws:
        world = grounded(law)
        add_block(world, lift=-1e-3)
        hanging = world.add_body((), mass=1.0, inertia=(0.1, 0.1, 0.1), position=(2.0, 0.0, 2.0))
        hinge = world.add_joint(
            'hinge',
            None,
            hanging,
            axis=(0, 1, 0),
            anchor=(1.9, 0.0, 2.0),
            tree=False,
            erp=0.2,
            cfm=1e-4,
        )
        hinge.upper, hinge.stop_cfm = 0.01, 1e-3
        world.step(60)
        with watch():
            world.energy()


def many(watch):
    """Find pairs among equal balls by a grid, among unequal ones by a tree."""
    for sizes in ((0.1,), (0.02, 0.1, 1.0)):
        world = sb.World(solver='iterative')
        rng = np.random.default_rng(1)
        world.add_bodies(
            [
                {
                    'shapes': sb.Sphere(sizes[number % len(sizes)]),
                    'mass': 1.0,
                    'position': rng.uniform(-2.0, 2.0, 3),
                }
                for number in range(60)
            ]
        )
        with watch():
            world.step()


def laws(watch):
    """Roll, spin, stick, bounce, yield and slide with other friction models."""
    rolling = LAWS[3]
    for solver, law in [
        *(('direct', law) for law in LAWS),
        ('iterative', rolling),
        ('split', rolling),
    ]:
        world = grounded(law, solver=solver)
        block = add_block(world)
        ball = add_ball(world, at=(1.0, 0.0))
        ball.set_base_velocity((0.5, 0.2, 0.0), (1.0, 2.0, 3.0))
        block.set_base_velocity((0.02, 0.01, 0.0), (0.0, 0.0, 0.3))
        world.step(5)
        with watch():
            world.step()


def walls(watch):
    """Lay bricks end to end, with rolling friction, and push one of them."""
    world = grounded(LAWS[3], step_budget=70_000)
    for course, k in np.ndindex(2, 6):
        place = 0.2 * (k + 0.3 * (course % 2)), 0.0, 0.05 + 0.1 * course
        world.add_body(sb.Box((0.2, 0.1, 0.1)), mass=2.0, position=place)
    world.robots['body_2'].set_base_velocity((0.2, 0.1, 0.0))
    with watch():
        world.step()


def jamming(watch):
    """Drop two tilted boxes, until a step follows the central path after Newton steps."""
    world = grounded({'friction': 0.6})
    for height, turn in ((0.15, 0.3), (0.4, -0.1)):
        sine, cosine = np.sin(0.5 * turn), np.cos(0.5 * turn)
        world.add_body(
            sb.Box((0.2, 0.2, 0.2)),
            mass=1.0,
            position=(0.05 * turn, 0.0, height),
            orientation=(0.6 * sine, 0.8 * sine, 0.0, cosine),
        )
    ahead = world.copy()
    ahead.step()
    while ahead.report.newton_steps < 15:
        world.step()
        ahead.step()
    with watch():
        # the second step begins on the path
        world.step(2)


def ropes(watch):
    """Drop a rope across another one that lies on the ground."""
    world = grounded(LAWS[1])
    add_rope(world, 14)
    add_rope(world, 14, (0.0, 0.0, 0.031), 1.5)
    for _ in range(200):
        world.step()
        if world.report.contacts > 40:
            break
    with watch():
        world.step()


def directions(watch):
    """Slide a block on a plate, both with a friction direction."""
    world = sb.World()
    plate = sb.Placed(sb.Box((2.0, 2.0, 0.1)), friction_direction=(1.0, 1.0, 0.0))
    world.add_body(plate, motion='static', position=(0.0, 0.0, -0.05))
    block = add_block(world, fdir1=(1.0, 0.0, 0.0))
    world.step(5)
    block.set_base_velocity((0.5, 0.2, 0.0), (0.0, 0.0, 0.3))
    with watch():
        world.step()


def rolling_slip(watch):
    """Roll a wheel that creeps, on two points."""
    world = sb.World()
    world.add_ground()
    wheel = sb.Placed(
        sb.Cylinder(0.1, 0.04), friction_direction=(0.0, 0.0, 1.0), rolling_slip=(0.01, 0.02)
    )
    lying = (0.5**0.5, 0.0, 0.0, 0.5**0.5)
    body = world.add_body(wheel, mass=1.0, position=(0.0, 0.0, 0.1), orientation=lying)
    world.step(2)
    body.set_base_velocity((0.5, 0.1, 0.0), (0.0, 5.0, 0.0))
    with watch():
        world.step()


def solve_types(watch):
    """Push and slide a tower with different solvers at its interfaces."""
    world = sb.World()
    names = ['ground', *(f'ball{k}' for k in range(4))]
    for name in names:
        world.materials.add(sb.Material(name, friction=0.3))
    for own, pair in zip(
        ('direct', 'direct_and_iterative', 'split', 'iterative'),
        zip(names, names[1:], strict=False),
        strict=True,
    ):
        world.set_contact_material(*pair, sb.ContactMaterial(solver=own))
    world.add_ground(material='ground')
    # one contact each: CPython takes ten times as long for a tower of blocks
    balls = [add_ball(world, mass=1.0 + k, lift=0.2 * k, material=names[k + 1]) for k in range(4)]
    world.step(5)
    balls[1].set_base_velocity((0.5, 0.2, 0.0), (0.0, 0.0, 0.3))
    with watch():
        world.step()


def user_contacts(watch):
    """Push a block, a ball and a cylinder by contacts with their own laws."""
    world = sb.World()
    ground, block, ball = world.add_ground(), add_block(world), add_ball(world, at=(1.0, 0.0))
    roll = world.add_body(
        sb.Cylinder(0.2, 0.5),
        mass=1.0,
        position=(0.0, 2.0, 0.2),
        orientation=(2.0**-0.5, 0.0, 0.0, 2.0**-0.5),
    )
    world.exclude(ground.root_link, roll.root_link)
    law = sb.ContactMaterial(friction=0.5, motion=0.1)
    pairs = [(ground, block), (ground, ball), (roll, ground), (ball, roll)]
    contacts = [
        sb.UserContact(
            each.geometry_a,
            each.geometry_b,
            each.position,
            each.normal,
            -each.gap,
            law,
            (1.0, 0.0, 0.0),
        )
        for each in world.find_contacts(2.0, pairs=pairs)
    ]
    world.step(1, contacts)
    with watch():
        world.step(1, contacts)


def late(watch):
    """Fall to the ground as if contact stages were compiled only when needed."""
    world, waiting = grounded(), [True]
    add_ball(world, lift=2e-3)
    with (
        mock.patch.object(late_stages, 'missing', lambda units: list(units) if waiting else []),
        mock.patch.object(cache, 'close_units', side_effect=lambda *_: waiting.clear() or []),
        watch(),
    ):
        world.step()
        while waiting:
            world.step()


SCENARIOS = [
    arm,
    dynamics,
    quadruped,
    weak_motors,
    four_bar,
    delta,
    tracked_vehicle,
    boxes,
    leaning,
    shapes,
    contact_materials,
    hollow_shapes,
    parts,
    lines,
    distances,
    rays,
    images,
    controls,
    pull,
    fields,
    fluids,
    listening,
    medium,
    momentum,
    violent,
    sleeping,
    joints,
    angular_motors,
    assembly,
    balls,
    springs,
    stored,
    many,
    laws,
    walls,
    jamming,
    ropes,
    directions,
    rolling_slip,
    solve_types,
    user_contacts,
    late,
]
