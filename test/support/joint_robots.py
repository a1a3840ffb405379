"""Robots built in code, with the joint types missing in URDF."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import sim_bridge as sb
from sim_bridge.compilation.collisions import Collisions
from sim_bridge.compilation.compile import compile_robot
from sim_bridge.description.model import (
    Inertial,
    JointDescription,
    JointType,
    LinkDescription,
    Pose,
    RobotDescription,
)
from sim_bridge.description.report import Report
from sim_bridge.robots.robot import Robot
from sim_bridge.robots.start import put_at_start
from sim_bridge.simulation.slots import RobotSlot

X, Y, Z = np.eye(3)


def link(name, mass=1.0, com=(0.0, 0.0, 0.0), inertia=(0.01, 0.01, 0.01), **parts):
    """Return a link; inertia: about its centre of mass, a diagonal or (3, 3). None for mass 0."""
    if mass == 0.0:
        return LinkDescription(name, **parts)
    inertia = np.array(inertia, float)
    inertia = np.diag(inertia) if inertia.ndim == 1 else inertia
    return LinkDescription(name, Inertial(mass, Pose(np.array(com, float)), inertia), **parts)


def joint(name, kind, parent='world', child='body', origin=None, axis=Z, **parts):
    """Return a joint; kind: a JointType value."""
    origin = Pose() if origin is None else origin
    return JointDescription(
        name, JointType(kind), parent, child, origin, np.array(axis, float), **parts
    )


def describe(links, joints, name='robot'):
    """Return a description with the first link as its root."""
    return RobotDescription(
        name=name,
        root=links[0].name,
        links={one.name: one for one in links},
        joints={one.name: one for one in joints},
        sensors=(),
        report=Report('test'),
    )


def on_ball(world=None, mass=1.0, com=(0.0, 0.0, -1.0), inertia=(0.02, 0.03, 0.01), **parts):
    """Add a body hanging on a ball joint at the world's origin; return its robot."""
    world = world or sb.World()
    links = [link('world', 0.0), link('body', mass, com, inertia)]
    return world.add_robot(describe(links, [joint('ball', 'ball', **parts)]))


def mount_body(world, body, mount_joint, child=None, name='mounted'):
    """Add a one-link robot hanging on a joint in the world; return it."""
    description = describe([body], [], name)
    mount = mount_joint if child is None else replace(mount_joint, child_pose=child)
    blueprint = compile_robot(description, mount=mount)
    robot = Robot(world, world.simulation, RobotSlot(name, description, blueprint, Collisions()))
    world.registry.admit(robot)
    put_at_start(robot, {})
    robot.remember()
    robot.slot.added = robot.slot.initial
    return robot
