"""
Readings through impacts: velocity change in the step, and momentum balance for every subtree.

An impact appears as the mean force in its step. The tests apply Newton's and Euler's equations to
each joint's outward bodies, with the reported contact forces, independently from the solver.
"""

from __future__ import annotations

import numpy as np
import pytest
from robots import joint, link, robot
from scipy.spatial.transform import Rotation
from shipped import path_of
from test_readings_are_motion import carried_by, momentum_of, newton_of, weight_of

import sim_bridge as sb
from sim_bridge.description.model import SensorDescription
from sim_bridge.description.sensor_kinds import FORCE_TORQUE

H = 1e-3
CONTROLS = ('effort', 'servo', 'velocity', 'position')
SOLVERS = ('direct', 'iterative', 'split')
IMPACT = 50.0  # rad/s² or m/s²; a greater acceleration counts as an impact


def with_sensors(world, path, **options):
    """Load a robot with a force-torque sensor on each joint."""
    probe = sb.World().load_urdf(path, **options)
    return world.load_urdf(
        path,
        **options,
        sensors=tuple(
            SensorDescription(name, FORCE_TORQUE, probe.joint(name).child_link.name, name)
            for name in probe.joint_names
        ),
    )


def drive(body, control, step, q):
    """Choose a control in the first step, and command it."""
    if step == 0:
        for axis in map(body.joint, body.joint_names):
            axis.control = control
            if control == 'servo':
                axis.kp, axis.kd = 200.0, 2.0
            elif control != 'effort':
                axis.max_effort = 10.0
    swing = np.sin(5.0 * step * H)
    if control in ('servo', 'position'):
        body.command_position(q + 0.2 * swing)
    elif control == 'velocity':
        body.command_velocity(np.full(len(q), 0.5 * swing))
    else:
        body.u = np.full(len(q), 0.5 * swing)


def wrench_of(body, name):
    """Return the wrench on a joint's child from its sensor, about the world's origin."""
    sensor, child = body.device(name), body.joint(name).child_link
    force = -child.R @ sensor.f
    return np.concatenate([force, np.cross(child.p, force) - child.R @ sensor.tau])


def contact_wrench(contacts, links):
    """Return the wrench from contacts on links, about the world's origin."""
    total = np.zeros(6)
    for contact in contacts:
        for touched, sign in ((contact.link_a, 1.0), (contact.link_b, -1.0)):
            if touched in links:
                force, p = sign * contact.force, contact.position
                total += np.concatenate([force, np.cross(p, force) + sign * contact.torque])
    return total


def is_pushed(world):
    """Return whether any contact force acted in the last step."""
    return bool(np.abs(world.contacts.forces).sum() > 0.0)


@pytest.mark.parametrize('budget', [None, 2000])
@pytest.mark.parametrize('solver', SOLVERS)
@pytest.mark.parametrize('control', CONTROLS)
def test_fall_of_a_quadruped(control, solver, budget):
    """Balance each subtree to rounding, and read the velocity changes, while it tumbles."""
    world = sb.World(time_step=H, solver=solver, step_budget=budget)
    world.add_ground()
    body = with_sensors(world, path_of('quadruped'), position=(0.0, 0.0, 0.5))
    body.set_base_velocity((1.0, 0.5, -4.0), (2.0, 3.0, 0.0))
    start, impacts = body.q.copy(), 0
    carried = {name: carried_by(body, body.joint(name).child_link) for name in body.joint_names}
    for step in range(120):
        drive(body, control, step, start)
        before = body.dq.copy()
        world.step()
        if not is_pushed(world):
            continue
        change = (body.dq - before) / H
        impacts += np.abs(change).max() > IMPACT
        np.testing.assert_allclose(body.ddq, change, rtol=1e-9, atol=1e-9)
        if step % 5 == 0 or np.abs(change).max() > 20.0 * IMPACT:
            for name, links in carried.items():
                acting = (
                    wrench_of(body, name)
                    + weight_of(links, world.gravity)
                    + contact_wrench(world.contacts, links)
                )
                newton = newton_of(links)
                scale = max(np.abs(world.contacts.forces).max(), np.abs(newton).max())
                np.testing.assert_allclose(acting, newton, atol=1e-9 * scale)
    assert impacts > 5


def slides():
    """Return three slides along z, stacked on each other; the second has stops."""
    free = '<limit lower="-9" upper="9" effort="1e9" velocity="100"/>'
    stops = '<limit lower="-0.05" upper="0.05" effort="1e9" velocity="100"/>'
    axes = {'kind': 'prismatic', 'axis': (0, 0, 1)}
    return robot(
        link('world', 0.0),
        link('a', 1.0),
        link('b', 1.5),
        link('c', 2.0),
        joint('first', 'world', 'a', inside=free, **axes),
        joint('second', 'a', 'b', inside=stops, **axes),
        joint('third', 'b', 'c', inside=free, **axes),
    )


@pytest.mark.parametrize('control', CONTROLS)
def test_impulse_of_a_stop(control):
    """Find the momentum change of each slide's outward bodies in its force sensor."""
    world = sb.World(time_step=H)
    body = with_sensors(world, slides())
    body.dq = [1.0, 2.0, 1.0]
    carried = {name: carried_by(body, body.joint(name).child_link) for name in body.joint_names}
    start, impacts = body.q.copy(), 0
    for step in range(200):
        drive(body, control, step, start)
        momenta = {name: momentum_of(links) for name, links in carried.items()}
        slow = body.dq.copy()
        world.step()
        second = body.joint('second')
        if not (abs(slow[1]) > 1e-3 and second.dq == 0.0 and abs(second.q) > 0.0499):
            continue
        impacts += 1
        for name, links in carried.items():
            gained = momentum_of(links) - momenta[name]
            read = H * (wrench_of(body, name) + weight_of(links, world.gravity))
            np.testing.assert_allclose(read[:3], gained[:3], atol=1e-9 * np.abs(gained).max())
    assert impacts >= 1


def tied_arm(control, axis_control, solver):
    """
    Attach a two-joint arm by its tip to a box, by its first link to a load, all in the air.

    Returns the world, the arm, the hinge between box and tip, the load, and its weld.
    """
    world = sb.World(time_step=H, solver=solver)
    world.add_ground()
    foot = world.add_body([sb.Box((0.2, 0.2, 0.1))], mass=2.0, position=(0.0, 0.0, 0.2))
    limit = '<limit lower="-3" upper="3" effort="1e3" velocity="100"/>'
    body = with_sensors(
        world,
        robot(
            link('base', 1.0),
            link('a', 1.0),
            link('b', 0.5),
            joint('first', 'base', 'a', axis=(0, 1, 0), xyz=(0.2, 0.0, 0.1), inside=limit),
            joint('second', 'a', 'b', axis=(0, 1, 0), xyz=(0.3, 0.0, 0.0), inside=limit),
        ),
        position=(0.0, 0.0, 0.4),
        base='free',
    )
    hinge = world.add_joint(
        'hinge', foot, body.link('b'), (0.1, 0.0, 0.3), axis=(0.0, 1.0, 0.0), tree=False
    )
    load = world.add_body(
        (), mass=0.7, inertia=(0.01, 0.02, 0.03), position=body.link('a').p + (0.1, 0.02, 0.0)
    ).root_link
    weld = world.add_joint('fixed', body.link('a'), load, body.link('a').p, tree=False)
    if axis_control == 'servo':
        hinge.control, hinge.kp, hinge.kd, hinge.target_position = 'servo', 300.0, 3.0, 0.3
    elif axis_control == 'velocity':
        hinge.control, hinge.max_effort, hinge.target_velocity = 'velocity', 20.0, 1.0
    drive(body, control, 0, body.q)
    return world, body, hinge, load, weld


@pytest.mark.parametrize('solver', SOLVERS)
@pytest.mark.parametrize('axis_control', ['effort', 'servo', 'velocity'])
@pytest.mark.parametrize('control', CONTROLS)
def test_fall_of_bodies_in_a_constraint(control, axis_control, solver):
    """Read in a constraint's wrench the momentum change it caused, and balance subtrees."""
    world, body, hinge, load, weld = tied_arm(control, axis_control, solver)
    start, impacts = body.q.copy(), 0
    carried = {name: carried_by(body, body.joint(name).child_link) for name in body.joint_names}
    for step in range(400):
        drive(body, control, step + 1, start)
        before, slow = body.dq.copy(), load.v.copy()
        world.step()
        if not is_pushed(world):
            continue
        scale = max(1.0, np.abs(world.contacts.forces).max())
        impacts += scale > 1e3
        change = (body.dq - before) / H
        np.testing.assert_allclose(body.ddq, change, rtol=1e-9, atol=1e-9 * np.abs(change).max())
        force = weld.feedback(about='joint')[2]
        gained = load.m * ((load.v - slow) / H - world.gravity)
        np.testing.assert_allclose(force, gained, atol=1e-11 * scale)
        for name, links in carried.items():
            acting = wrench_of(body, name) + weight_of(links, world.gravity)
            for each in (hinge, weld):
                force, torque = each.feedback(about='joint')[0 if each is weld else 2 :][:2]
                if each is hinge or name == 'first':
                    acting += [*force, *(torque + np.cross(each.anchor2, force))]
            np.testing.assert_allclose(acting, newton_of(links), atol=1e-9 * scale)
    assert impacts >= 1


def test_sleepers_read_the_last_constraint_wrench():
    """Read on a constraint between sleepers its wrench before they fell asleep."""
    world = sb.World(sleep=sb.Sleep())
    world.add_ground()
    low = world.add_body([sb.Box((0.2, 0.2, 0.1))], mass=2.0, position=(0.0, 0.0, 0.05))
    high = world.add_body((), mass=3.0, inertia=(0.1, 0.1, 0.1), position=(0.0, 0.0, 0.5))
    joint = world.add_joint('fixed', low, high, (0.0, 0.0, 0.3), tree=False)
    while not high.is_asleep:
        world.step()
    world.step(10)
    np.testing.assert_allclose(joint.feedback(about='joint')[2], -3.0 * world.gravity, atol=1e-6)


def test_joints_that_are_added_or_removed_end_the_means():
    """Read the instant, once the joints differ from those in the last step."""
    world, _, _, load, weld = tied_arm('servo', 'effort', 'direct')
    while not is_pushed(world):
        world.step()
    other = world.add_body((), mass=1.0, inertia=(0.01, 0.01, 0.01), position=load.p)
    other = other.root_link
    added = world.add_joint('fixed', load, other, tree=False)
    force = added.feedback(about='joint')[2]
    np.testing.assert_allclose(force, other.dv - world.gravity, atol=1e-9)
    world.step()
    while not is_pushed(world):
        world.step()
    world.remove_joint(weld)
    for each in (load, other):
        np.testing.assert_allclose(each.dv, world.gravity, atol=1e-9)


def test_impact_of_a_tree_is_not_read_of_another():
    """Read the instant in a tree without impacts: a servo's effort at the end of the step."""
    world = sb.World(time_step=H)
    struck, other = with_sensors(world, slides()), with_sensors(world, slides(), name='other')
    struck.dq = other.dq = [0.0, 2.0, 0.0]
    for axis in map(other.joint, other.joint_names):
        axis.lower, axis.upper = -9.0, 9.0
    axis = other.joint('second')
    axis.control, axis.kp = 'servo', 1e3
    while struck.dq[1] != 0.0:
        world.step()
    free = sb.World(time_step=H)
    alone = with_sensors(free, slides())
    alone.joint('second').lower, alone.joint('second').upper = -9.0, 9.0
    alone.joint('second').control, alone.joint('second').kp = 'servo', 1e3
    alone.q, alone.dq = other.q, other.dq
    alone.joint('second').target_position = axis.target_position
    np.testing.assert_allclose(other.ddq, alone.ddq, rtol=1e-9)


def test_readings_move_with_a_base_that_is_placed():
    """Read the last step's contacts as before, after a standing robot was moved far away."""
    world = sb.World()
    world.add_ground()
    body = with_sensors(world, path_of('quadruped'))
    q = body.q.copy()
    for step in range(300):
        drive(body, 'servo', step, q)
        world.step()
    assert world.contacts
    before = [body.device(name).tau.copy() for name in body.joint_names]
    place, turn = np.array(body.root_link.p), Rotation.from_matrix(body.root_link.R).as_quat()
    body.set_base_pose(place + (100.0, -50.0, 0.0), turn)
    for name, torque in zip(body.joint_names, before, strict=True):
        np.testing.assert_allclose(body.device(name).tau, torque, atol=1e-9)
