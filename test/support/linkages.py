"""Bodies and linkages joined in tests, and mechanical laws valid in any world."""

from __future__ import annotations

import math

import numpy as np
import robots

import sim_bridge as sb
from sim_bridge.foundation.rotation import quaternion_from_matrix

X, Y, Z = np.eye(3)
G = 9.81
INERTIA = (0.02, 0.03, 0.04)


def turn(axis, angle):
    """Return the rotation, (3, 3), about a vector, by Rodrigues' formula."""
    x, y, z = np.asarray(axis, float) / np.linalg.norm(axis)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * cross @ cross


def body(world, position=(0.0, 0.0, 0.0), rotation=None, mass=1.0, inertia=INERTIA, **parts):
    """Add a body without a shape; rotation: (3, 3)."""
    orientation = (0.0, 0.0, 0.0, 1.0) if rotation is None else quaternion_from_matrix(rotation)
    return world.add_body(
        (), mass=mass, inertia=inertia, position=position, orientation=orientation, **parts
    )


def bar(world, start, end, mass=1.0, thick=1e-3):
    """Add a slender uniform bar between two points in the x-z plane, along its own x."""
    start, end = np.array(start, float), np.array(end, float)
    length = float(np.linalg.norm(end - start))
    along = (end - start) / length
    across = mass * length**2 / 12.0
    return body(
        world,
        0.5 * (start + end),
        np.array([along, Y, np.cross(along, Y)]).T,
        mass,
        (thick, across, across),
    )


def worst_error(world):
    """Return the greatest gap [m] and angle error [rad] of a world's joints."""
    return np.max([joint.error for joint in world.joints.values()], axis=0)


def largest_error(world, steps, times):
    """Step `times` times `steps` steps; return the greatest gap or angle error."""
    worst = 0.0
    for _ in range(times):
        world.step(steps)
        worst = max(worst, *worst_error(world))
    return worst


def wrenches(world):
    """
    List the forces on links: link, force [N] and torque about the world's origin [N m].

    Includes all joints, contacts of the last step, and weight.
    """
    listed = []

    def add(link, force, torque, point):
        if link is not None:
            listed.append((link, force, torque + np.cross(point, force)))

    for robot in world.robots.values():
        for joint in robot.joints:
            if joint.name in robot.blueprint.joint_body:
                force, torque = joint.reaction
                add(joint.child_link, force, torque, joint.child_link.p)
                add(joint.parent_link, -force, -torque, joint.child_link.p)
        for link in robot.links:
            add(link, link.m * world.gravity, np.zeros(3), link.wc)
    for joint in world.joints.values():
        f1, t1, f2, t2 = joint.feedback(about='joint')
        add(joint.link1, f1, t1, joint.anchor2)
        add(joint.link2, f2, t2, joint.anchor2)
    for contact in world.contacts:
        add(contact.link_a, contact.force, contact.torque, contact.position)
        add(contact.link_b, -contact.force, -contact.torque, contact.position)
    return listed


def imbalance(world):
    """
    Return the greatest Newton-Euler residual over all bodies, (2,) [N, N m].

    Compares each body's momentum rate with all forces on it, about the world's origin.
    """
    missing = {}

    def add(link, force, torque):
        key = link.robot.name, link.slot.placement.body
        missing.setdefault(key, np.zeros(6))
        missing[key] += [*force, *torque]

    for link, force, torque in wrenches(world):
        add(link, force, torque)
    for robot in world.robots.values():
        for link in robot.links:
            w, dw, arm = link.w, link.dw, link.wc - link.p
            rate = link.m * (link.dv + np.cross(dw, arm) + np.cross(w, np.cross(w, arm)))
            inertia = link.R @ link.I @ link.R.T
            spin = inertia @ dw + np.cross(w, inertia @ w)
            add(link, -rate, -spin - np.cross(link.wc, rate))
    moved = [
        value
        for (name, number), value in missing.items()
        if not world.robots[name].slot.immobile[number]
    ]
    rows = np.array(moved).reshape(-1, 2, 3)
    return np.linalg.norm(rows, axis=2).max(axis=0)


def gripper():
    """Return a gripper's URDF with two parallelogram fingers, one following the other."""
    follows = '<mimic joint="left" multiplier="-1"/>'
    parts, closing = [robots.link('world', 0.0)], ''
    for side, sign, inside in (('left', 1, ''), ('right', -1, follows)):
        for rod, x in (('', 0.02), ('_rod', 0.04)):
            parts += [
                robots.link(f'{side}{rod}_bar', 0.1, (0, 0, 0.05), (1e-4, 1e-4, 1e-5)),
                robots.joint(
                    f'{side}{rod}',
                    'world',
                    f'{side}{rod}_bar',
                    axis=(0, 1, 0),
                    xyz=(x * sign, 0, 0),
                    inside='' if rod else inside,
                ),
            ]
        parts += [
            robots.link(f'{side}_tip', 0.05, (0.01 * sign, 0, 0.03), (1e-5, 1e-5, 1e-5)),
            robots.joint(
                f'{side}_knuckle', f'{side}_bar', f'{side}_tip', axis=(0, 1, 0), xyz=(0, 0, 0.1)
            ),
        ]
        closing += (
            f'<joint name="{side}_loop" type="hinge"><link1 name="{side}_tip" '
            f'xyz="{0.02 * sign} 0 0"/><link2 name="{side}_rod_bar" xyz="0 0 0.1"/>'
            '<axis xyz="0 1 0"/></joint>'
        )
    return robots.robot(*parts, f'<sim_bridge>{closing}</sim_bridge>')


def frame(world):
    """Add a parallelogram of four 4 kg boxes, half a metre up, with a spring in one corner."""

    def box(size, x, z):
        return world.add_body(sb.Box(size), mass=1.0, position=(x, 0.0, z))

    low, high = box((0.6, 0.2, 0.1), 0.0, 0.55), box((0.6, 0.2, 0.1), 0.0, 0.95)
    sides = [box((0.05, 0.1, 0.3), x, 0.75) for x in (-0.25, 0.25)]
    joints = [
        world.add_joint('hinge', *pair, (x, 0.0, z), Y)
        for pair, x, z in (
            ((low, sides[0]), -0.25, 0.6),
            ((low, sides[1]), 0.25, 0.6),
            ((sides[0], high), -0.25, 0.9),
            ((sides[1], high), 0.25, 0.9),
        )
    ]
    assert [joint.is_tree for joint in joints].count(False) == 1
    joints[0].stiffness, joints[0].damping = 60.0, 3.0
    return low, high, joints
