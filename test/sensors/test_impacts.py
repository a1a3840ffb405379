"""
Readings through impacts: the change of velocity in the step, and the balance of every subtree.

An impact appears as the mean force of its step. Newton's and Euler's equations of what each joint
carries, with the contact forces where they are reported, know nothing of how it was solved.
"""

from __future__ import annotations

import numpy as np
import pytest
from robots import joint, link, robot
from scipy.spatial.transform import Rotation
from shipped import path_of
from test_readings_are_motion import carried_by, momentum_of, newton_of, weight_of

import sim_bridge as sb
from sim_bridge.description.model import SensorDescription, SensorKind

H = 1e-3
CONTROLS = ('effort', 'servo', 'velocity', 'position')
SOLVERS = ('direct', 'iterative', 'split')
IMPACT = 50.0  # rad/s² or m/s², above which a step is one


def with_sensors(world, path, **options):
    """Load a robot with a force-torque sensor in each joint."""
    probe = sb.World().load_urdf(path, **options)
    return world.load_urdf(path, **options, sensors=tuple(
        SensorDescription(name, SensorKind.FORCE_TORQUE, probe.joint(name).child_link.name, name)
        for name in probe.joint_names))


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
    """Return what the sensor of a joint says that acts on the child; about the world's origin."""
    sensor, child = body.device(name), body.joint(name).child_link
    force = -child.R @ sensor.f
    return np.concatenate([force, np.cross(child.p, force) - child.R @ sensor.tau])


def contact_wrench(contacts, links):
    """Return the contacts' forces on links, about the world's origin."""
    total = np.zeros(6)
    for contact in contacts:
        for touched, sign in ((contact.link_a, 1.0), (contact.link_b, -1.0)):
            if touched in links:
                force, p = sign * contact.force, contact.position
                total += np.concatenate([force, np.cross(p, force) + sign * contact.torque])
    return total


def is_pushed(world):
    """Return whether any contact pushed in the last step."""
    return bool(np.abs(world.contacts.forces).sum() > 0.0)


@pytest.mark.parametrize('budget', [None, 2000])
@pytest.mark.parametrize('solver', SOLVERS)
@pytest.mark.parametrize('control', CONTROLS)
def test_fall_of_a_quadruped(control, solver, budget):
    """Balance each subtree to rounding, and read the changes of velocities, while it tumbles."""
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
                acting = (wrench_of(body, name) + weight_of(links, world.gravity)
                          + contact_wrench(world.contacts, links))
                newton = newton_of(links)
                scale = max(np.abs(world.contacts.forces).max(), np.abs(newton).max())
                np.testing.assert_allclose(acting, newton, atol=1e-9 * scale)
    assert impacts > 5


def slides():
    """Return three slides along z, one on the other, of which the second has stops."""
    free = '<limit lower="-9" upper="9" effort="1e9" velocity="100"/>'
    stops = '<limit lower="-0.05" upper="0.05" effort="1e9" velocity="100"/>'
    axes = {'kind': 'prismatic', 'axis': (0, 0, 1)}
    return robot(
        link('world', 0.0), link('a', 1.0), link('b', 1.5), link('c', 2.0),
        joint('first', 'world', 'a', inside=free, **axes),
        joint('second', 'a', 'b', inside=stops, **axes),
        joint('third', 'b', 'c', inside=free, **axes))


@pytest.mark.parametrize('control', CONTROLS)
def test_impulse_of_a_stop(control):
    """Find the change of momentum of what each slide carries in its force sensor."""
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


def test_impact_of_a_tree_is_not_read_of_another():
    """Read the instant where nothing was struck: a servo's effort at the end of the step."""
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
    """Read the last step's contacts as before, after a standing robot was put far away."""
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
