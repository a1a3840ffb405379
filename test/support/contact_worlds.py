"""Small worlds with objects on the ground, for contact tests."""

from __future__ import annotations

import numpy as np

import sim_bridge as sb

G = 9.81
SIZE = (0.4, 0.4, 0.1)
"""Edges of the standard block [m], flat enough not to tip over on any slope of these tests."""


def grounded(law=None, **options):
    """
    Return a world with ground.

    law: contact law of the default material with itself, as for `ContactMaterial`. options: as for
    `World`.
    """
    world = sb.World(**options)
    set_law(world, **(law or {}))
    world.add_ground()
    return world


def set_law(world, **law):
    """Set the contact law of the default material with itself; return it."""
    world.set_contact_material('default', 'default', sb.ContactMaterial(**law))


def add_block(world, size=SIZE, mass=2.0, at=(0.0, 0.0), lift=0.0, fdir1=None, **options):
    """Add a block with its lower face at height `lift`; fdir1: its friction direction."""
    shape = sb.Placed(sb.Box(size), friction_direction=fdir1)
    return world.add_body(shape, mass=mass, position=(*at, size[2] / 2 + lift), **options)


def add_ball(world, radius=0.1, mass=2.0, at=(0.0, 0.0), lift=0.0, **options):
    """Add a ball with its lowest point at height `lift`."""
    return world.add_body(sb.Sphere(radius), mass=mass, position=(*at, radius + lift), **options)


def hinged_walker(tree, legs=4, **options):
    """
    Return a world with a falling trunk on legs with two links, and its hinges.

    tree: whether the hinges are tree joints, or constraints between the bodies. They have friction
    and stops.
    """
    world = sb.World(**options)
    world.add_ground()
    trunk = world.add_body([sb.Box((0.5, 0.3, 0.1))], mass=8.0, position=(0.0, 0.0, 0.5))
    hinges, bodies = [], [trunk]
    for x, y in ((0.22, 0.17), (-0.22, -0.17), (0.22, -0.17), (-0.22, 0.17))[:legs]:
        thigh = world.add_body([sb.Box((0.04, 0.03, 0.2))], mass=1.0, position=(x, y, 0.4))
        shin = world.add_body([sb.Box((0.03, 0.03, 0.2))], mass=0.4, position=(x, y, 0.2))
        for above, below, z in ((trunk, thigh, 0.5), (thigh, shin, 0.3)):
            hinges.append(
                world.add_joint('hinge', above, below, (x, y, z), axis=(0.0, 1.0, 0.0), tree=tree)
            )
        bodies += [thigh, shin]
    for hinge in hinges:
        hinge.friction, hinge.lower, hinge.upper = 0.5, -0.4, 0.4
    for each in bodies[:1] if tree else bodies:
        each.set_base_velocity((0.5, 0.2, -1.0))
    return world, hinges


def add_rope(world, count, start=(0.0, 0.0, 0.01), heading=0.0, kind='ball'):
    """
    Add a level rope of capsules, 0.06 m long and 0.02 m thick; return its links and joints.

    start: its middle [m]. heading: its turn about the vertical [rad]. kind: of joints; the axes
    of hinges are level and vertical in turns.
    """
    along = np.array([np.cos(heading), np.sin(heading), 0.0])
    across = np.array([-along[1], along[0], 0.0])
    # turns z to the rope's direction
    turn = np.array([*(across * np.sqrt(0.5)), np.sqrt(0.5)])
    shape, links, joints = sb.Capsule(0.01, 0.04), [], []
    for k in range(count):
        place = np.array(start) + 0.06 * (k + 0.5 - 0.5 * count) * along
        links.append(world.add_body(shape, mass=0.02, position=place, orientation=turn))
        if k > 0:
            axis = across if k % 2 else (0.0, 0.0, 1.0)
            anchor = place - 0.03 * along
            joints.append(world.add_joint(kind, *links[-2:], anchor, axis=axis, tree=True))
    return links, joints


def tilt(world, angle, heading):
    """Direct gravity as on a slope with `angle` falling towards `heading` [rad]."""
    world.gravity = G * np.array(
        [np.sin(angle) * np.cos(heading), np.sin(angle) * np.sin(heading), -np.cos(angle)]
    )


def push(world, link, force, steps, point=None, torque=(0.0, 0.0, 0.0)):
    """Push a link's centre of mass, or a point fixed to it, for a number of steps [N]."""
    for _ in range(steps):
        link.add_force(force, None if point is None else link.p + link.R @ point)
        link.add_torque(torque)
        world.step()


def worst_residual(world, steps):
    """Step, and return the greatest natural-map residual over all steps [m/s]."""
    world.step(steps)
    return world.report.residual


def lowest_point(world, robot, ground):
    """Return the height of a robot's lowest point above the ground [m]."""
    surface = ground.geometries[0]
    return min(world.distance(geometry, surface).distance for geometry in robot.geometries)


def leaning_books(time_step=2e-3, **options):
    """Return a shelf with nine upright and three leaning books; options: as for `World`."""
    thickness, height, lean = 0.03, 0.24, 0.2
    world = sb.World(time_step, **options)
    world.materials.add(sb.Material('paper', friction=0.4))
    fixed = {'motion': 'static', 'material': 'paper'}
    world.add_body(sb.Box((1.2, 0.3, 0.02)), position=(0.5, 0.0, -0.01), **fixed)
    world.add_body(sb.Box((0.02, 0.3, 0.4)), position=(-0.01, 0.0, 0.2), **fixed)
    shape, half = sb.Box((thickness, 0.2, height)), (0.5 * height, 0.5 * thickness)
    sine, cosine = np.sin(lean), np.cos(lean)
    foot = 9 * thickness + height * sine + half[1] * cosine
    turned = (0.0, -np.sin(0.5 * lean), 0.0, np.cos(0.5 * lean))
    for k in range(9):
        place = (thickness * (k + 0.5), 0.0, half[0])
        world.add_body(shape, mass=0.4, position=place, material='paper')
    for k in range(3):
        x = foot - half[0] * sine + 1.04 * k * thickness / cosine
        place = (x, 0.0, half[0] * cosine + half[1] * sine)
        world.add_body(shape, mass=0.4, position=place, orientation=turned, material='paper')
    return world
