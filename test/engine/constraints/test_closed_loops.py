"""The shipped robots with loops, driven and free, against closed forms and Pinocchio."""

from __future__ import annotations

import math

from linkages import G, imbalance, largest_error
import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp
from shipped import path_of

import sim_bridge as sb


def add(name, time_step=1e-3, solver='direct', free=False):
    """Add a shipped robot to a world; free: without friction and dampers."""
    world = sb.World(time_step=time_step, solver=solver)
    robot = world.load_urdf(path_of(name), collisions='none')
    if free:
        for joint in robot.joints:
            for axis in joint.axes:
                axis.damping = axis.friction = 0.0
    return world, robot


# --- 60 s ----------------------------------------------------------------------------------------


def test_driven_four_bar_stays_closed_for_a_minute():
    """Rotate the crank once per second: every row holds to rounding, and forces balance."""
    world, robot = add('four_bar')
    crank = robot.joint('crank_joint')
    crank.dq = math.tau
    crank.control, crank.target_velocity = 'velocity', math.tau
    for _ in range(6):
        assert largest_error(world, 50, 200) < 1e-12
        np.testing.assert_array_less(imbalance(world), 1e-9)
    assert world.time == pytest.approx(60.0)
    assert crank.q == pytest.approx(60.0 * math.tau, abs=1e-2)


def test_driven_delta_stays_closed_for_a_minute():
    """Move the shoulders on smooth paths: loops stay closed and the platform level."""
    world, robot = add('delta')
    shoulders = [robot.joint(f'shoulder_{number}') for number in (1, 2, 3)]
    for shoulder in shoulders:
        shoulder.control = 'position'
    worst = 0.0
    for _ in range(3000):
        for number, shoulder in enumerate(shoulders):
            phase = math.pi * world.time + math.tau / 3.0 * number
            rise = 1.0 - math.exp(-world.time)
            shoulder.target_position = 0.3 + 0.3 * rise * math.sin(phase)
            shoulder.target_velocity = 0.3 * math.pi * rise * math.cos(phase)
        worst = max(worst, largest_error(world, 20, 1))
    assert world.time == pytest.approx(60.0)
    assert worst < 1e-9
    np.testing.assert_array_less(imbalance(world), 1e-9)
    np.testing.assert_allclose(robot.link('platform').R, np.eye(3), atol=1e-9)
    assert np.ptp([shoulder.q for shoulder in shoulders]) > 0.3


def test_free_four_bar_keeps_its_energy_for_a_minute():
    """Change the mechanical energy by less than 0.1 % in a thousand radians of the crank."""
    world, robot = add('four_bar', free=True)
    start_four_bar(robot, 10.0)
    before, worst = world.energy(), 0.0
    for _ in range(600):
        world.step(100)
        worst = max(worst, abs(world.energy().total - before.total))
    assert robot.joint('crank_joint').q > 500.0
    assert worst < 1e-3 * before.kinetic


# --- the four-bar's equation of motion -----------------------------------------------------------

A, D = np.zeros(2), np.array([0.24, 0.0])
LENGTHS = {'crank': 0.1, 'coupler': 0.26, 'rocker': 0.2}


def quarter(vector):
    """Rotate a vector in the x-z plane by a right angle about y."""
    return np.array([vector[1], -vector[0]])


def four_bar_links(angle):
    """
    Return for each link an end, the vector to its other end, that end's rate and the link's rate.

    Rates per radian of the crank; by the law of cosines.
    """
    crank = LENGTHS['crank'] * np.array([math.sin(angle), math.cos(angle)])
    reach = D - crank
    length = float(np.hypot(*reach))
    corner = math.acos(
        (LENGTHS['rocker'] ** 2 + length**2 - LENGTHS['coupler'] ** 2)
        / (2.0 * LENGTHS['rocker'] * length)
    )
    swing = math.atan2(-reach[0], -reach[1]) + corner
    rocker = LENGTHS['rocker'] * np.array([math.sin(swing), math.cos(swing)])
    coupler = D + rocker - crank
    pushed = quarter(crank)
    rocker_rate = (coupler @ pushed) / (coupler @ quarter(rocker))
    relative = rocker_rate * quarter(rocker) - pushed
    coupler_rate = (quarter(coupler) @ relative) / LENGTHS['coupler'] ** 2
    still = np.zeros(2)
    return {
        'crank': (A, crank, still, 1.0),
        'coupler': (crank, coupler, pushed, coupler_rate),
        'rocker': (D, rocker, still, rocker_rate),
    }


def inertia_and_height(robot, angle):
    """Return the crank's effective inertia [kg m²], and the potential energy [J]."""
    inertia = potential = 0.0
    for name, (end, way, rate, turning) in four_bar_links(angle).items():
        link = robot.link(name)
        # centres of mass are on the lines between the ends
        share = np.linalg.norm(link.c[[0, 2]]) / LENGTHS[name]
        speed = rate + share * turning * quarter(way)
        inertia += link.m * (speed @ speed) + link.I[1, 1] * turning**2
        potential += link.m * G * (end + share * way)[1]
    return inertia, potential


def start_four_bar(robot, rate):
    """Rotate the crank, and coupler and rocker with it."""
    links = four_bar_links(0.0)
    robot.dq = rate * np.array([1.0, links['coupler'][3] - 1.0, links['rocker'][3]])
    assert robot.joint_names == ['crank_joint', 'coupler_joint', 'rocker_joint']


def four_bar_error(time_step):
    """Return the crank's angle error against its energy after 2 s [rad]."""
    world, robot = add('four_bar', time_step, free=True)
    start_four_bar(robot, 12.0)
    inertia, potential = inertia_and_height(robot, 0.0)
    total = 0.5 * inertia * 12.0**2 + potential
    assert world.energy().kinetic == pytest.approx(0.5 * inertia * 12.0**2, rel=1e-9)

    def rate(_, angle):
        inertia, potential = inertia_and_height(robot, angle[0])
        return [math.sqrt(2.0 * (total - potential) / inertia)]

    exact = solve_ivp(rate, (0.0, 2.0), [0.0], method='DOP853', rtol=1e-11, atol=1e-11).y[0, -1]
    world.step(round(2.0 / time_step))
    return abs(robot.joint('crank_joint').q - exact)


def test_free_four_bar_moves_as_its_energy_says():
    """Converge to the one-coordinate motion with the squared time step."""
    coarse, fine = four_bar_error(2.5e-4), four_bar_error(6.25e-5)
    assert fine < 2e-5
    assert 12.0 < coarse / fine < 20.0


# --- Pinocchio -----------------------------------------------------------------------------------


def pinocchio_twin(name, robot):
    """Return a robot's Pinocchio model, its loop constraints, and its coordinate indices."""
    model = pin.buildModelFromUrdf(str(path_of(name)))
    constraints = pin.StdVec_RigidConstraintModel()
    for joint in robot.description.constraints:
        ends = []
        for link, position in ((joint.link1, joint.position1), (joint.link2, joint.position2)):
            frame = model.frames[model.getBodyId(link)]
            ends += [frame.parentJoint, frame.placement * pin.SE3(np.eye(3), position)]
        # for the planar four-bar's hinge, the point suffices
        constraints.append(
            pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D, model, *ends, pin.ReferenceFrame.LOCAL
            )
        )
    return model, constraints, [model.joints[model.getJointId(one)] for one in robot.joint_names]


@pytest.mark.parametrize('name', ['four_bar', 'delta'])
def test_accelerations_and_loop_forces_are_pinocchios(name):
    """Match Pinocchio's proximal solver, in motion and under random efforts."""
    world, robot = add(name, free=True)
    model, constraints, joints = pinocchio_twin(name, robot)
    data = model.createData()
    states = pin.StdVec_RigidConstraintData()
    for constraint in constraints:
        states.append(constraint.createData())
    robot.dq[0] = 1.0
    world.step(150)
    at = [joint.idx_v for joint in joints]
    q, v = np.zeros(model.nq), np.zeros(model.nv)
    for joint, position in zip(joints, robot.q, strict=True):
        # an unlimited joint has a cosine and a sine
        q[joint.idx_q : joint.idx_q + joint.nq] = (
            position if joint.nq == 1 else (math.cos(position), math.sin(position))
        )
    v[at] = robot.dq
    pin.computeAllTerms(model, data, q, v)
    for constraint, state in zip(constraints, states, strict=True):
        constraint.calc(model, data, state)
    jacobian = pin.getConstraintsJacobian(model, data, constraints, states)
    assert np.abs(jacobian @ v).max() < 1e-3
    # both solvers would feed back remaining loop velocities in different ways
    v -= np.linalg.pinv(jacobian, 1e-8) @ (jacobian @ v)
    robot.dq = v[at]
    efforts = np.random.default_rng(1).normal(scale=0.1, size=model.nv)
    robot.u = efforts[at]
    pin.initConstraintDynamics(model, data, constraints, states)
    expected = pin.constraintDynamics(
        model, data, q, v, efforts, constraints, states, pin.ProximalSettings(1e-14, 1e-12, 200)
    )
    np.testing.assert_allclose(robot.ddq, expected[at], atol=2e-9, rtol=1e-10)
    for joint, state in zip(robot.description.constraints, states, strict=True):
        force = np.linalg.norm(robot.joint(joint.name).reaction[0])
        if name == 'delta':
            assert force == pytest.approx(np.linalg.norm(state.contact_force.linear), rel=1e-6)
        assert force > 0.1
    np.testing.assert_array_less(imbalance(world), 1e-9)
