"""
Readings equal the motion: derivatives of recorded positions, and momentum balance.

Every reading belongs to the instant in its stamp, for every joint drive. The references are
central differences between recorded positions, and between momenta, independent from the solver.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from linkages import body as hinged_body
from linkages import Z
import numpy as np
import pytest
from robots import joint, link, robot, rotor
from shipped import path_of

import sim_bridge as sb
from sim_bridge.description.model import Pose, SensorDescription
from sim_bridge.description.sensor_kinds import FORCE_TORQUE, IMU

H = 1e-3
RATE = 1.2  # rad/s, angular frequency of the target sines
RELATIVE = 1e-3
HELD = 100  # steps with constant efforts
LEVER = Pose(np.array([0.1, 0.05, 0.2]), np.eye(3)[[1, 2, 0]])

SHIPPED = {
    'arm': None,
    'quadruped': None,
    'four_bar': ('crank_joint',),
    'delta': ('shoulder_1', 'shoulder_2', 'shoulder_3'),
}
EXAMPLES = {'allegro_hand/allegro_right_hand': None, 'panda/panda': None}


class Record(NamedTuple):
    """Readings and motion, a row for each step; momenta and wrenches about the world's origin."""

    q: np.ndarray
    ddq: np.ndarray
    p: np.ndarray
    dv: np.ndarray
    site: np.ndarray
    acceleration: np.ndarray
    momentum: np.ndarray
    wrench: np.ndarray
    newton: np.ndarray


class Driven:
    """A robot with sinusoidal joint motion, an IMU on a lever and a force-torque sensor."""

    def __init__(self, path, control, gains=(100.0, 2.0), joints=None, **options):
        """Begin on the path. There is no friction: its reversals have no second derivative."""
        self.world = sb.World(time_step=H, **options)
        probe = sb.World().load_urdf(path, base='fixed', collisions='none')
        moving = [name for name in probe.joint_names if probe.joint(name).mimic is None]
        last, first = probe.joint(probe.joint_names[-1]), probe.joint(moving[0])
        self.body = self.world.load_urdf(
            path,
            base='fixed',
            collisions='none',
            sensors=(
                SensorDescription('lever', IMU, last.child_link.name, pose=LEVER),
                SensorDescription(
                    'wrench', FORCE_TORQUE, first.child_link.name, first.name, pose=LEVER
                ),
            ),
        )
        body, self.control = self.body, control
        self.driven = list(joints or moving)
        for name in body.joint_names:
            body.joint(name).friction = 0.0
        axes = [body.joint(name) for name in self.driven]
        ranges = np.array([(each.lower, each.upper) for each in axes])
        bounded = np.isfinite(ranges).all(axis=1)
        ranges[~bounded] = -1.0, 1.0
        start = np.array([each.q for each in axes])
        self.swing = np.minimum(0.2, 0.3 * np.ptp(ranges, axis=1))
        self.phase = np.full(len(axes), 1.0) if joints else np.arange(len(axes))
        self.middle = start - self.swing * np.sin(1.0) if joints else ranges.mean(axis=1)
        if not joints:
            q, dq = self.target(0.0)
            for axis, at, speed in zip(axes, q, dq, strict=True):
                axis.q, axis.dq = at, speed
        for axis in axes:
            axis.control = control
            if control == 'servo':
                axis.kp, axis.kd = gains
        self.carried = carried_by(body, first.child_link)

    def target(self, t):
        """Return positions and velocities of the driven joints at a time [s]."""
        angle = RATE * t + self.phase
        return self.middle + self.swing * np.sin(angle), self.swing * RATE * np.cos(angle)

    def command(self, step):
        """Command the end of a step; efforts stay constant for some steps."""
        q, dq = self.target((step + 1) * H)
        if self.control == 'effort':
            efforts = 0.02 * np.sin(3.0 * (step // HELD * HELD) * H + self.phase)
            self.body.command_effort(efforts, self.driven)
        elif self.control == 'velocity':
            self.body.command_velocity(dq, self.driven)
        else:
            self.body.command_position(q, self.driven, velocities=dq)

    def run(self, settle, steps):
        """Simulate, and record after `settle` steps."""
        rows = []
        for step in range(settle + steps):
            self.command(step)
            self.world.step()
            if step >= settle:
                rows.append(self.read())
        return Record(*map(np.array, zip(*rows, strict=True)))

    def read(self):
        """Return a row for the record."""
        body, gravity = self.body, self.world.gravity
        imu, sensor = body.device('lever'), body.device('wrench')
        R, site = placed(imu.link)
        R_ft, p_ft = placed(sensor.link)
        momentum, newton = momentum_of(self.carried), newton_of(self.carried)
        wrench = wrench_at(R_ft, p_ft, sensor) + weight_of(self.carried, gravity)
        links = body.links[1::3]
        return (
            body.q.copy(),
            body.ddq.copy(),
            [each.p for each in links],
            [each.dv for each in links],
            site,
            R @ imu.accelerometer.dv + gravity,
            momentum,
            wrench,
            newton,
        )


def placed(carrier):
    """Return the world axes and position of a sensor on a lever."""
    return carrier.R @ LEVER.rotation, carrier.p + carrier.R @ LEVER.position


def wrench_at(R, p, sensor):
    """Return the wrench on a joint's child from its sensor, torque about the world origin."""
    force = -R @ sensor.f
    return np.concatenate([force, np.cross(p, force) - R @ sensor.tau])


def weight_of(parts, gravity):
    """Return the weight of links."""
    return sum(part.m * np.concatenate([gravity, np.cross(part.wc, gravity)]) for part in parts)


def momentum_of(parts):
    """Return the linear and angular momentum of links."""
    total = np.zeros(6)
    for part in parts:
        velocity = part.v + np.cross(part.w, part.wc - part.p)
        total += part.m * np.concatenate([velocity, np.cross(part.wc, velocity)])
        total[3:] += part.R @ part.I @ part.R.T @ part.w
    return total


def newton_of(parts):
    """Return the momentum rate, from the accelerations read on the links."""
    total = np.zeros(6)
    for part in parts:
        arm, inertia = part.wc - part.p, part.R @ part.I @ part.R.T
        force = part.m * (
            part.dv + np.cross(part.dw, arm) + np.cross(part.w, np.cross(part.w, arm))
        )
        total += np.concatenate([force, np.cross(part.wc, force)])
        total[3:] += inertia @ part.dw + np.cross(part.w, inertia @ part.w)
    return total


def carried_by(body, first):
    """Return a link with all outward links in the tree."""
    carried = [first.name]
    for each in body.links:
        above = each.joint.parent_link if each.joint is not None else None
        if above is not None and above.name in carried:
            carried.append(each.name)
    return [body.link(name) for name in carried]


def second_derivative(values):
    """Return central second differences, from the second to the last but one row."""
    return (values[2:] - 2.0 * values[1:-1] + values[:-2]) / H**2


def smooth(control, settle, rows):
    """Return a mask: rows whose efforts had been constant for some steps."""
    step = settle + np.arange(rows)[1:-1] + 1
    return step % HELD > HELD // 2 if control == 'effort' else step > 0


def check_motion(driven, record, settle):
    """Compare accelerations of joints, links and the IMU with the recorded positions."""
    rows = smooth(driven.control, settle, len(record.q))
    motion = second_derivative(record.q)[rows]
    greatest = np.abs(motion).max(axis=0)
    # in joints with little motion, differences are rounding errors
    greatest = np.maximum(greatest, 0.02 * greatest.max())
    if driven.control != 'effort':
        greatest = np.maximum(greatest, driven.swing.max() * RATE**2)
    assert (np.abs(record.ddq[1:-1][rows] - motion) <= RELATIVE * greatest).all()
    for read, positions in ((record.dv, record.p), (record.acceleration, record.site)):
        motion = second_derivative(positions)[rows]
        greatest = max(np.abs(motion).max(), 1e-6)
        np.testing.assert_allclose(read[1:-1][rows], motion, atol=RELATIVE * greatest)


def check_momentum(driven, record, settle):
    """Compare the sensor wrench plus gravity with the momentum rate of the outward links."""
    np.testing.assert_allclose(
        record.wrench, record.newton, atol=1e-9 * max(np.abs(record.wrench).max(), 1.0)
    )
    rows = smooth(driven.control, settle, len(record.q))
    rate = ((record.momentum[2:] - record.momentum[:-2]) / (2.0 * H))[rows]
    for part in (slice(0, 3), slice(3, 6)):
        greatest = np.abs(rate[:, part]).max()
        np.testing.assert_allclose(
            record.wrench[1:-1][rows][:, part], rate[:, part], atol=RELATIVE * greatest
        )


CONTROLS = [
    ('servo', (100.0, 2.0)),
    ('servo', (1000.0, 20.0)),
    ('velocity', ()),
    ('position', ()),
    ('effort', ()),
]


@pytest.mark.parametrize(('control', 'gains'), CONTROLS)
@pytest.mark.parametrize('name', [*SHIPPED, *EXAMPLES])
def test_accelerations_and_wrenches_are_those_of_the_motion(name, control, gains, example_robots):
    """Find q'' in the joints, p'' in links and IMU, and dP/dt in the force-torque sensor."""
    path = path_of(name) if name in SHIPPED else example_robots[name]
    driven = Driven(path, control, gains, {**SHIPPED, **EXAMPLES}[name])
    settle = 150 if control == 'effort' else 250
    record = driven.run(settle, 50)
    check_motion(driven, record, settle)
    if name not in ('four_bar', 'delta'):
        check_momentum(driven, record, settle)


def follow(axis, t, rate=2.0):
    """Command an axis, in its control mode, to a sine at a time [s]."""
    if axis.control in ('servo', 'position'):
        axis.target_position = 0.2 * math.sin(rate * t)
    if axis.control != 'effort':
        axis.target_velocity = 0.2 * rate * math.cos(rate * t)


def differences(world, axis, read, steps=600, settle=300, rate=2.0):
    """Return an axis reading and the second derivative of its positions, row by row."""
    q, values = [], []
    for step in range(steps):
        follow(axis, (step + 1) * H, rate)
        world.step()
        q.append(axis.q)
        values.append(read())
    return np.array(values)[1:-1][settle:], second_derivative(np.array(q))[settle:]


def test_joint_at_constant_speed_reads_none():
    """Read no acceleration, force or torque while a stiff servo follows a ramp."""
    declared = (
        '<gazebo reference="body"><sensor name="imu" type="imu"><pose>0.5 0 0 0 0 0</pose>'
        '</sensor></gazebo>'
        '<gazebo reference="joint"><sensor name="ft" type="force_torque"><force_torque/></sensor>'
        '</gazebo></robot>'
    )
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    wheel = world.load_urdf(rotor(inertia=0.01).replace('</robot>', declared))
    axis = wheel.joint('joint')
    axis.control, axis.kp, axis.kd = 'servo', 1000.0, 1.0
    wheel.dq = [1.0]
    for step in range(1, 801):
        axis.target_position, axis.target_velocity = step * H, 1.0
        world.step()
    assert wheel.dq[0] == pytest.approx(1.0, abs=1e-9)
    assert wheel.ddq[0] == pytest.approx(0.0, abs=1e-7)
    np.testing.assert_allclose(wheel.device('imu').accelerometer.dv, (-0.5, 0, 0), atol=1e-7)
    np.testing.assert_allclose(wheel.device('ft').tau, 0.0, atol=1e-9)


LAWS = {
    'soft': {'kp': 50.0, 'kd': 0.5},
    'stiff': {'kp': 1e6, 'kd': 50.0},
    'overdamped': {'kp': 1e4, 'kd': 2.0, 'damping': 50.0},
    'sprung': {'kp': 50.0, 'kd': 0.5, 'stiffness': 30.0, 'armature': 0.1},
    'sliding': {'kp': 1e3, 'kd': 20.0, 'friction': 3.0},
    'weak': {'kp': 1e3, 'kd': 20.0, 'max_effort': 0.03},
}


@pytest.mark.parametrize('integrator', ['midpoint', 'momentum', 'rk5'])
@pytest.mark.parametrize('tree', [True, False])
@pytest.mark.parametrize('law', LAWS)
def test_servo_of_any_law_reads_the_motion(law, tree, integrator):
    """Agree with q'' on joints in trees and in loops, for all joint laws."""
    world = sb.World(gravity=(0.0, 0.0, 0.0), integrator=integrator)
    part = hinged_body(world)
    axis = world.add_joint('hinge', None, part, axis=Z, tree=tree)
    axis.control = 'servo'
    for name, value in LAWS[law].items():
        setattr(axis, name, value)
    read, motion = differences(
        world, axis, lambda: part.root_link.dw[2], steps=500, settle=350, rate=1.5
    )
    greatest = np.abs(motion).max()
    # a weak servo cannot reach its target; its effort has occasional jumps
    kinks = np.abs(np.diff(motion, prepend=motion[0])) > 0.05 * greatest
    far = ~(kinks | np.roll(kinks, 1) | np.roll(kinks, -1))
    assert far.sum() > 100
    np.testing.assert_allclose(read[far], motion[far], atol=RELATIVE * greatest)


@pytest.mark.parametrize('tree', [True, False])
@pytest.mark.parametrize('control', ['velocity', 'position'])
def test_hard_motor_reads_the_velocity_change(control, tree):
    """Agree with the velocity change in a step: acceleration is constant within a step."""
    world = sb.World(gravity=(0.0, 0.0, -9.81))
    lever = hinged_body(world, position=(0.3, 0.0, 0.0))
    axis = world.add_joint('hinge', None, lever, axis=(0, 1, 0), tree=tree)
    axis.control, before = control, 0.0
    for step in range(300):
        follow(axis, (step + 1) * H, 5.0)
        world.step()
        assert step < 10 or lever.root_link.dw[1] == pytest.approx(
            (axis.dq - before) / H, abs=1e-9
        )
        before = axis.dq


@pytest.mark.parametrize('cfm', [0.3, 0.03])
def test_elastic_stop_reads_the_motion(cfm):
    """Agree with q'' while a cart pressed into a stop oscillates."""
    world = sb.World()
    limit = '<limit lower="-1" upper="0" effort="1e9" velocity="10"/>'
    cart = world.load_urdf(rotor(kind='prismatic', inside=limit))
    axis = cart.joint('joint')
    axis.stop_erp, axis.stop_cfm = 0.2, cfm
    cart.u = [500.0]
    q, ddq = [], []
    for _ in range(200):
        world.step()
        q.append(cart.q[0])
        ddq.append(cart.ddq[0])
    motion = second_derivative(np.array(q))[3:]
    assert min(q[3:]) > 0.0
    np.testing.assert_allclose(
        np.array(ddq)[1:-1][3:], motion, atol=RELATIVE * np.abs(motion).max()
    )


@pytest.mark.parametrize('integrator', ['midpoint', 'momentum', 'rk5'])
@pytest.mark.parametrize('damping', [0.5, 20.0])
def test_passive_damper_and_spring_read_the_motion(damping, integrator):
    """Agree with q'' when a damper takes much of the velocity within a step."""
    world = sb.World(integrator=integrator, gravity=(0.0, 0.0, 0.0))
    wheel = world.load_urdf(rotor(inertia=0.01))
    axis = wheel.joint('joint')
    axis.damping, axis.stiffness = damping, 10.0
    wheel.q, wheel.dq = [0.5], [-0.5 * 10.0 / damping]
    q, ddq = [], []
    for _ in range(200):
        world.step()
        q.append(wheel.q[0])
        ddq.append(wheel.ddq[0])
    motion = second_derivative(np.array(q))[20:]
    np.testing.assert_allclose(
        np.array(ddq)[1:-1][20:], motion, atol=RELATIVE * np.abs(motion).max()
    )


def test_servo_moves_its_mimics_as_read():
    """Agree with q'' on a joint whose servo moves another joint, with stiff gains and dampers."""
    law = '<mimic joint="first" multiplier="-2" offset="0.1"/><dynamics damping="3"/>'
    world = sb.World()
    pair = world.load_urdf(
        robot(
            link('world', 0.0),
            link('a', 1.0, (0.2, 0, 0)),
            link('b', 1.5, (0, 0.3, 0)),
            joint('first', 'world', 'a', axis=(0, 1, 0)),
            joint('second', 'world', 'b', axis=(1, 0, 0), xyz=(1, 0, 0), inside=law),
        )
    )
    axis = pair.joint('first')
    axis.control, axis.kp, axis.kd = 'servo', 1e4, 300.0
    read, motion = differences(world, axis, lambda: pair.ddq.copy())
    greatest = np.abs(motion).max()
    np.testing.assert_allclose(read[:, 0], motion, atol=RELATIVE * greatest)
    np.testing.assert_allclose(read[:, 1], -2.0 * motion, atol=2.0 * RELATIVE * greatest)


@pytest.mark.parametrize('tree', [True, False])
def test_joint_of_two_axes_reads_the_motion(tree):
    """Agree with the rates of angular velocity and point velocity on a universal joint."""
    world = sb.World()
    rod = hinged_body(world, position=(0.3, 0.1, 0.0))
    joint = world.add_joint(
        'universal', None, rod, (0.0, 0.0, 0.0), (1, 0, 0), (0, 1, 0), tree=tree
    )
    for axis in joint.axes:
        axis.control, axis.kp, axis.kd, axis.damping = 'servo', 1e3, 10.0, 1.0
    p, w, dv, dw = [], [], [], []
    for step in range(300):
        for axis, rate in zip(joint.axes, (2.0, 1.5), strict=True):
            follow(axis, (step + 1) * H, rate)
        world.step()
        link = rod.root_link
        for values, value in ((p, link.p), (w, link.w), (dv, link.dv), (dw, link.dw)):
            values.append(value.copy())
    settled = slice(200, -1)
    rate = (np.array(w)[2:] - np.array(w)[:-2]) / (2.0 * H)
    for read, motion in ((dw, rate), (dv, second_derivative(np.array(p)))):
        np.testing.assert_allclose(
            np.array(read)[settled], motion[199:], atol=RELATIVE * np.abs(motion[199:]).max()
        )


@pytest.mark.parametrize(
    ('control', 'tolerance'),
    [
        ('servo', RELATIVE),
        # half a step late
        ('position', 6e-3),
    ],
)
def test_readings_equal_the_followed_trajectory(control, tolerance):
    """Read the second derivative of the motion along a spline from a trajectory follower."""
    world = sb.World(time_step=H)
    arm = world.load_urdf(path_of('arm'))
    for name in arm.joint_names:
        axis = arm.joint(name)
        axis.control, axis.friction, axis.kp, axis.kd = control, 0.0, 200.0, 0.5
    rest = [np.zeros(len(arm.q))]
    follower = sb.TrajectoryFollower(arm)
    follower.start(sb.Trajectory(arm.joint_names, [1.0], [rest[0] + 0.3], rest, rest), 0)
    q, ddq = [], []
    for step in range(700):
        follower.drive(step * world.time_step_ns, world.time_step_ns)
        world.step()
        q.append(arm.q.copy())
        ddq.append(arm.ddq.copy())
    settled = slice(250, None)
    read, motion = np.array(ddq)[1:-1][settled], second_derivative(np.array(q))[settled]
    np.testing.assert_allclose(read, motion, atol=tolerance * np.abs(motion).max())
    assert np.abs(motion).max() > 1.0


FINGER = robot(
    link('world', 0.0),
    link('finger', 0.05, (0.1, 0.0, 0.0), (1e-4, 1e-4, 1e-4)).replace(
        '</link>',
        (
            '<collision><origin xyz="0.2 0 0"/><geometry><sphere radius="0.02"/></geometry>'
            '</collision></link>'
        ),
    ),
    joint('joint', 'world', 'finger', axis=(0, 1, 0), xyz=(0, 0, 0.15)),
)


@pytest.mark.parametrize('damping', [0.0, 3.0])
def test_finger_that_presses_ever_harder_reads_rest(damping):
    """Read no motion, and no wrench except the floor's reaction, under a servo's ramp."""
    world = sb.World()
    world.add_ground()
    finger = world.load_urdf(
        FINGER,
        sensors=(
            SensorDescription('wrench', FORCE_TORQUE, 'finger', 'joint'),
            SensorDescription('imu', IMU, 'finger', pose=LEVER),
        ),
    )
    axis = finger.joint('joint')
    axis.control, axis.kp, axis.kd, axis.damping = 'servo', 100.0, 2.0, damping
    efforts = []
    for step in range(300):
        axis.target_position = 0.7 + 0.2 * step * H
        axis.target_velocity = 0.2
        world.step()
        efforts.append(axis.motor_effort)
        if step < 200:
            continue
        (contact,) = world.contacts
        assert finger.ddq[0] == pytest.approx(0.0, abs=1e-9)
        gravity = placed(finger.device('imu').link)[0].T @ -world.gravity
        np.testing.assert_allclose(finger.device('imu').accelerometer.dv, gravity, atol=1e-9)
        parts = [finger.link('finger')]
        push = contact.force if contact.link_a is parts[0] else -contact.force
        held = (
            wrench_at(parts[0].R, parts[0].p, finger.device('wrench'))
            + weight_of(parts, world.gravity)
            + np.concatenate([push, np.cross(contact.position, push)])
        )
        np.testing.assert_allclose(held, 0.0, atol=1e-5 * np.linalg.norm(push))
    assert efforts[-1] - efforts[200] > 1.0


@pytest.mark.parametrize('damping', [0.1, 3.0])
def test_fingers_that_roll_a_ball_balance_their_momentum(damping, example_robots):
    """Find dP/dt for each finger in its wrench, weight and contacts, step by step."""
    world, half = sb.World(), math.sqrt(0.5)
    roots = range(0, 16, 4)
    hand = world.load_urdf(
        example_robots['allegro_hand/allegro_right_hand'],
        base='fixed',
        position=(0.0, 0.0, 0.2),
        orientation=(0.0, -half, 0.0, half),
        sensors=tuple(
            SensorDescription(f'{k}', FORCE_TORQUE, f'link_{k}.0', f'joint_{k}.0') for k in roots
        ),
    )
    world.add_body(sb.Sphere(0.045), mass=0.02, position=(-0.05, 0.0, 0.28))
    for name in hand.joint_names:
        axis = hand.joint(name)
        axis.control, axis.kp, axis.kd, axis.friction = 'servo', 5.0, 0.1, 0.0
        axis.damping = damping
    fingers = {k: carried_by(hand, hand.link(f'link_{k}.0')) for k in roots}
    middle = np.array([0.0, 0.25, 0.6, 0.6] * 3 + [1.2, 0.4, 0.8, 0.4])
    swing = np.array([0.0, 0.2, 0.2, 0.2] * 4)
    before, pushing, errors, rates, touched = {}, set(), [], [], 0
    for step in range(500):
        angle = 5.0 * (step + 1) * H
        hand.command_position(
            middle + swing * math.sin(angle), velocities=swing * 5.0 * math.cos(angle)
        )
        world.step()
        if step < 200:
            continue
        pushes, last = {}, pushing
        for contact in world.contacts:
            push = np.concatenate([contact.force, np.cross(contact.position, contact.force)])
            push[3:] += contact.torque
            for part, sign in ((contact.link_a, 1.0), (contact.link_b, -1.0)):
                if push.any():
                    pushes[part] = pushes.get(part, 0.0) + sign * push
        pushing = set(pushes)
        for k, parts in fingers.items():
            momentum, root = momentum_of(parts), parts[0]
            if k in before and pushing == last:
                wrench = wrench_at(root.R, root.p, hand.device(f'{k}'))
                wrench += weight_of(parts, world.gravity)
                for part in pushing.intersection(parts):
                    wrench += pushes[part]
                    touched += 1
                rates.append((momentum - before[k]) / H)
                errors.append(wrench - rates[-1])
            before[k] = momentum
    assert touched > 50
    for part in (slice(0, 3), slice(3, 6)):
        # mean over a step against the value at its end
        greatest = np.abs(np.array(rates)[:, part]).max()
        np.testing.assert_allclose(np.array(errors)[:, part], 0.0, atol=5e-3 * greatest)


def test_target_acts_from_the_next_step_on():
    """Read the target in force; a jump takes one step, except for the first target."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    wheel = world.load_urdf(rotor(inertia=0.5))
    axis = wheel.joint('joint')

    def first_step(target):
        axis.target_position = target
        read = wheel.ddq[0]
        before = wheel.dq[0]
        world.step()
        return read, (wheel.dq[0] - before) / H

    axis.control, axis.kp = 'servo', 5.0
    assert first_step(0.1) == pytest.approx((1.0, 1.0), rel=1e-4)
    now = 10.0 * (0.1 - wheel.q[0])
    assert first_step(0.3) == pytest.approx((now, 10.0 * (0.2 - wheel.q[0])), rel=1e-3)
    wheel.drop_commands()
    assert wheel.ddq[0] == pytest.approx(0.0, abs=1e-9)
    world.reset()
    assert first_step(0.1) == pytest.approx((1.0, 1.0), rel=1e-4)


def test_course_of_targets_is_part_of_the_state():
    """Save, restore and load beside other robots: the same bits follow, in trees and loops."""
    world = sb.World()
    arm = world.load_urdf(path_of('arm'))
    axes = [arm.joint(name) for name in arm.joint_names]
    axes.append(world.add_joint('hinge', None, hinged_body(world), axis=Z, tree=False))
    for axis in axes:
        axis.control, axis.kp, axis.kd = 'servo', 200.0, 5.0

    def go(steps):
        seen = []
        for step in steps:
            for axis in axes:
                follow(axis, step * H)
            world.step()
            seen.append([*arm.q, *arm.ddq, axes[-1].q, axes[-1].dq])
        return seen

    go(range(20))
    saved, hashed = world.save(), world.state_hash()
    first = go(range(20, 40))
    world.restore(saved)
    assert world.state_hash() == hashed
    assert go(range(20, 40)) == first
    world.restore(saved)
    axes[0].target_position += 1.0
    world.step()
    after = world.state_hash()
    world.restore(saved)
    world.step()
    assert world.state_hash() != after
    world.restore(saved)
    world.add_body(sb.Sphere(0.1), mass=1.0, position=(5.0, 0.0, 0.0))
    assert go(range(20, 40)) == first
    world.reset()
    assert go(range(20)) == go_again(world, go)


def go_again(world, go):
    """Return the result after another reset."""
    world.reset()
    return go(range(20))
