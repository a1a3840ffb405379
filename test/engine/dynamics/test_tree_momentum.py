"""The integrator 'momentum': conservation to rounding without external forces."""

from __future__ import annotations

from contact_worlds import grounded, push
from linkages import body, turn
import numpy as np
import pinocchio as pin
import pytest
from robots import joint, link, robot
from shipped import FOLDER, path_of
from twins import RobotTwin

import sim_bridge as sb
from sim_bridge.foundation.rotation import quaternion_from_matrix

GRAVITY = np.array([0.3, -0.2, -9.81])
LIMITED = '<limit lower="-0.4" upper="0.5" effort="50" velocity="20"/>'
LEGS = robot(
    link('trunk', 6.0, (0.01, 0.02, 0.03), (0.1, 0.2, 0.15)),
    *(
        part
        for k, (x, y) in enumerate(((0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1)))
        for part in (
            link(f'thigh{k}', 1.0, (0.01, 0.0, -0.1), (0.01, 0.01, 0.002)),
            joint(
                f'hip{k}',
                'trunk',
                f'thigh{k}',
                'revolute',
                (1, 0, 0),
                (x, y, -0.05),
                inside=LIMITED + '<dynamics friction="0.3" damping="0.05"/>',
            ),
            link(f'shank{k}', 0.4, (0.0, 0.01, -0.12), (0.004, 0.004, 0.001)),
            joint(f'knee{k}', f'thigh{k}', f'shank{k}', 'continuous', (0, 1, 0), (0, 0, -0.22)),
        )
    ),
    link('tail', 0.5, (0.0, 0.0, 0.2), (0.003, 0.002, 0.001)),
    joint(
        'tail',
        'trunk',
        'tail',
        'revolute',
        (0, 1, 0),
        (-0.3, 0.0, 0.0),
        inside=LIMITED + '<mimic joint="hip0" multiplier="-1.5" offset="0.1"/>',
    ),
)


def momentum_about_centre(world, of):
    """Return a robot's linear momentum (3,), and angular momentum about its centre of mass."""
    total = world.momentum()
    return total.linear, total.angular - np.cross(of.center_of_mass, total.linear)


def set_flying(of, seed=1, height=5.0):
    """Let a robot fly and tumble, its joints bent and moving; return its actuated joints."""
    rng = np.random.default_rng(seed)
    of.set_base_pose((0.0, 0.0, height), rng.normal(size=4))
    of.set_base_velocity(rng.normal(size=3), 2.0 * rng.normal(size=3))
    joints = [of.joint(name) for name in of.actuated_joints]
    for each in joints:
        each.q, each.dq = rng.uniform(-0.3, 0.3), rng.uniform(-3.0, 3.0)
    return joints


def wave(joints, time):
    """Move the servo targets."""
    for k, each in enumerate(joints):
        each.target_position = 0.9 * np.sin(7.0 * time + k)


def scale_of(of):
    """Return the sum of link momentum magnitudes, linear and angular."""
    linear = [each.m * np.linalg.norm(each.v) for each in of.links]
    arms = [np.linalg.norm(each.p - of.center_of_mass) for each in of.links]
    return sum(linear), sum(p * arm for p, arm in zip(linear, arms, strict=True))


@pytest.mark.parametrize('time_step', [5e-3, 1e-3])
def test_quadruped_in_flight_keeps_momentum_by_pinocchio(time_step, tmp_path):
    """Fall and tumble for two seconds with motors at work; only gravity changes the momentum."""
    twin = RobotTwin(path_of('quadruped'), True, tmp_path)
    flying = sb.World(time_step=time_step, gravity=GRAVITY, integrator='momentum')
    legs = flying.load_urdf(path_of('quadruped'), collisions='none')
    joints = set_flying(legs)
    for each in joints:
        each.control, each.kp, each.kd = 'servo', 60.0, 1.5

    def by_pinocchio():
        """Return the momentum, then the centre of mass, at the current state."""
        q, v = twin.q.copy(), twin.v.copy()
        base = legs.root_link
        q[:3], q[3:7] = base.p, quaternion_from_matrix(base.R)
        v[:3], v[3:6] = base.R.T @ base.v, base.R.T @ base.w
        for name, angle, rate in zip(legs.joint_names, legs.q, legs.dq, strict=True):
            one = twin.model.joints[twin.model.getJointId(name)]
            v[one.idx_v] = rate
            q[one.idx_q : one.idx_q + one.nq] = (
                angle if one.nq == 1 else [np.cos(angle), np.sin(angle)]
            )
        total = pin.computeCentroidalMomentum(twin.model, twin.data, q, v)
        return total.linear.copy(), total.angular.copy(), twin.data.com[0].copy()

    linear, angular, centre = by_pinocchio()
    push_scale, turn_scale = scale_of(legs)
    mass, moved = legs.mass, linear / legs.mass
    for _ in range(20):
        for _ in range(round(0.1 / time_step)):
            wave(joints, flying.time)
            flying.step()
        t = flying.time
        now_linear, now_angular, now_centre = by_pinocchio()
        fallen = np.linalg.norm(mass * GRAVITY * t)
        expected = linear + mass * GRAVITY * t
        np.testing.assert_allclose(now_linear, expected, atol=1e-12 * (push_scale + fallen))
        np.testing.assert_allclose(now_angular, angular, atol=1e-12 * (turn_scale + fallen))
        path = centre + moved * t + 0.5 * GRAVITY * t * t
        np.testing.assert_allclose(now_centre, path, atol=1e-12 * np.linalg.norm(path))


def flown(integrator, time_step, seconds=0.5):
    """Return a tumbling robot with springs after `seconds`, as coordinates, and its world."""
    world = sb.World(time_step=time_step, gravity=GRAVITY, integrator=integrator)
    parts, parent = [link('base', 2.0, (0.02, 0.0, 0.01), (0.02, 0.03, 0.01))], 'base'
    for k in range(3):
        parts += [
            link(f'l{k}', 1.0, (0.02, 0, -0.1), (0.01, 0.012, 0.005)),
            joint(
                f'j{k}',
                parent,
                f'l{k}',
                'continuous',
                (0, 1, 0) if k % 2 else (1, 0, 0),
                (0, 0, -0.2),
            ),
        ]
        parent = f'l{k}'
    chain = world.load_urdf(robot(*parts))
    set_flying(chain, 4)
    for each in chain.joints:
        each.stiffness = 2.0
    start = world.energy().total
    world.step(round(seconds / time_step))
    return np.concatenate([chain.q, chain.dq, chain.root_link.p, chain.root_link.v]), (
        world.energy().total - start
    )


def test_steps_are_of_second_order_and_lose_less_energy():
    """End at rk5's end, with errors that shrink fourfold, without more energy error."""
    truth = flown('rk5', 2.5e-4)[0]
    errors, losses, midpoint_losses = [], [], []
    for time_step in (4e-3, 2e-3, 1e-3):
        ends, lost = flown('momentum', time_step)
        errors.append(np.abs(ends - truth).max())
        losses.append(abs(lost))
        midpoint_losses.append(abs(flown('midpoint', time_step)[1]))
    for coarse, fine in zip(errors[:-1], errors[1:], strict=True):
        assert 3.8 < coarse / fine < 4.2
    assert errors[-1] < 1.5 * np.abs(flown('midpoint', 1e-3)[0] - truth).max()
    for ours, midpoint in zip(losses, midpoint_losses, strict=True):
        assert ours < midpoint


def test_energy_does_not_drift_away():
    """Keep energy within a thousandth for 20 s at 5 ms; the midpoint step has lost more."""
    assert abs(flown('momentum', 5e-3, 20.0)[1]) < abs(flown('midpoint', 5e-3, 20.0)[1])


def test_stops_friction_mimic_joints_holds_and_motors_keep_momentum():
    """Keep both momenta while joints run into stops, stick, follow, are held and driven."""
    world = sb.World(time_step=4e-3, gravity=(0.0, 0.0, 0.0), integrator='momentum')
    legs = world.load_urdf(LEGS)
    joints = set_flying(legs)
    for each, control in zip(joints, ('effort', 'velocity', 'position', 'servo') * 2, strict=True):
        each.control = control
        if control == 'servo':
            each.kp, each.kd = 80.0, 1.0
    linear, angular = momentum_about_centre(world, legs)
    push_scale, turn_scale = scale_of(legs)
    stops = sticks = 0
    for k in range(500):
        for at, each in enumerate(joints):
            if each.control == 'effort':
                each.u = 6.0 * np.sin(9.0 * world.time + at)
            elif each.control == 'velocity':
                each.target_velocity = 5.0 * np.sin(9.0 * world.time + at)
            else:
                each.target_position = 0.9 * np.sin(7.0 * world.time + at)
        if k == 450:
            legs.hold = True
        world.step()
        stops += np.sum((legs.q == legs.lower) | (legs.q == legs.upper))
        sticks += np.sum(legs.dq == 0.0)
        now_linear, now_angular = momentum_about_centre(world, legs)
        np.testing.assert_allclose(now_linear, linear, atol=1e-12 * push_scale)
        np.testing.assert_allclose(now_angular, angular, atol=1e-12 * turn_scale + 1e-12)
    assert stops > 20
    assert sticks > 20
    np.testing.assert_allclose(legs.joint('tail').q, -1.5 * legs.joint('hip0').q + 0.1, atol=1e-12)


def test_contacts_within_a_robot_keep_momentum():
    """Keep momentum while a humanoid's limbs strike each other, in free fall."""
    world = sb.World(time_step=5e-3, gravity=GRAVITY, integrator='momentum')
    humanoid = world.load_body(FOLDER / 'biped.body')
    joints = set_flying(humanoid)
    for each in joints:
        each.control, each.kp, each.kd = 'servo', 100.0, 1.0
    linear, angular = momentum_about_centre(world, humanoid)
    centre, mass = humanoid.center_of_mass.copy(), humanoid.mass
    touched = 0
    for _ in range(200):
        wave(joints, world.time)
        world.step()
        touched += np.abs(world.contacts.forces).sum() > 0.0
    t = world.time
    now_linear, now_angular = momentum_about_centre(world, humanoid)
    assert touched > 10
    np.testing.assert_allclose(now_linear, linear + mass * GRAVITY * t, atol=1e-10)
    np.testing.assert_allclose(now_angular, angular, atol=1e-10)
    path = centre + linear / mass * t + 0.5 * GRAVITY * t * t
    np.testing.assert_allclose(humanoid.center_of_mass, path, atol=1e-11)


def test_robots_that_collide_keep_their_sum():
    """Let two humanoids collide in space; the midpoint step loses a share of the momentum."""

    def lost(integrator):
        """Return the greatest change of the summed momenta, and the greatest force."""
        world = sb.World(time_step=5e-3, gravity=(0.0, 0.0, 0.0), integrator=integrator)
        two = [world.load_body(FOLDER / 'biped.body', name=name) for name in 'ab']
        joints = [set_flying(each, k) for k, each in enumerate(two)]
        for k, each in enumerate(two):
            each.set_base_pose((0.9 * k, 0.05 * k, 2.0), (0.0, 0.0, 0.3 * k, 1.0))
            each.set_base_velocity((2.0 - 4.0 * k, 0.0, 0.1), (0.5, k, 0.2))
        start, worst, greatest = world.momentum(), 0.0, 0.0
        for _ in range(200):
            for some in joints:
                for each in some:
                    each.u = 2.0 * np.sin(9.0 * world.time)
            world.step()
            now = world.momentum()
            worst = max(
                worst, *np.abs(now.linear - start.linear), *np.abs(now.angular - start.angular)
            )
            greatest = max(greatest, np.abs(world.contacts.forces).max(initial=0.0))
        return worst, greatest

    worst, greatest = lost('momentum')
    assert greatest > 1e3
    assert worst < 1e-11
    assert lost('midpoint')[0] > 0.01


def test_impulses_of_the_ground_are_those_reported():
    """Land on four legs: only gravity and contact forces change the momentum."""
    world = grounded({'friction': 0.7}, time_step=2e-3, integrator='momentum')
    legs = world.load_urdf(path_of('quadruped'), position=(0.0, 0.0, 0.6))
    legs.set_base_velocity((0.5, 0.3, 0.0), (0.3, 0.2, 0.4))
    mass, h, landed = legs.mass, world.time_step, 0.0
    before = world.momentum()
    for _ in range(300):
        world.step()
        now, contacts = world.momentum(), world.contacts
        own = np.array([each.link_a.robot is each.link_b.robot for each in contacts], bool)
        signs = np.array([1.0 if each.link_a.robot is legs else -1.0 for each in contacts])
        forces = (contacts.forces * signs[:, None])[~own] if len(contacts) else np.zeros((0, 3))
        arms = contacts.positions[~own]
        landed = max(landed, np.abs(forces).max(initial=0.0))
        gain = h * (forces.sum(axis=0) + mass * world.gravity)
        np.testing.assert_allclose(now.linear - before.linear, gain, atol=1e-11)
        vertical = h * np.cross(arms, forces).sum(axis=0)[2]
        np.testing.assert_allclose(now.angular[2] - before.angular[2], vertical, atol=1e-11)
        before = now
    assert landed > 100.0


@pytest.mark.parametrize('is_closed', [True, False])
def test_loops_keep_momentum_or_the_sum(is_closed):
    """Let a ring with four bars tumble, as one tree with a loop, or as four bodies in loops."""
    world = sb.World(time_step=2e-3, gravity=(0.0, 0.0, 0.0), integrator='momentum')
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.2, 0.0, 0.8], [0.1, 0.0, 1.0]])
    bars = []
    for k, start in enumerate(corners):
        middle = 0.5 * (start + corners[(k + 1) % 4])
        bars.append(body(world, middle, turn((0, 1, 0), 0.3 * k), 1.0 + 0.3 * k))
    for k in range(4):
        world.add_joint(
            'hinge',
            bars[k],
            bars[(k + 1) % 4],
            anchor=corners[(k + 1) % 4],
            axis=(0, 1, 0),
            tree=is_closed and k < 3,
        )
    bars[0].set_base_velocity((0.1, 0.2, 0.3), (0.4, 1.5, 0.3))
    world.step()
    start, moved = world.momentum(), world.energy().kinetic
    assert np.linalg.norm(start.angular) > 0.1
    for _ in range(50):
        world.step(20)
        now = world.momentum()
        np.testing.assert_allclose(now.linear, start.linear, atol=1e-12)
        np.testing.assert_allclose(now.angular, start.angular, atol=2e-12)
        assert max(np.max(each.error) for each in world.joints.values()) < 1e-9
    assert world.energy().kinetic == pytest.approx(moved, rel=1e-3)


def test_pushes_give_their_impulse():
    """Gain force times time, and the torque about the centre of mass, to rounding."""
    world = sb.World(time_step=2e-3, gravity=(0.0, 0.0, 0.0), integrator='momentum')
    legs = world.load_urdf(LEGS)
    set_flying(legs)
    linear, angular = momentum_about_centre(world, legs)
    force, torque = np.array([3.0, -2.0, 1.0]), np.array([0.1, 0.2, -0.3])
    for _ in range(100):
        legs.link('shank1').add_torque(torque)
        legs.root_link.add_force(force, legs.center_of_mass)
        world.step()
    now_linear, now_angular = momentum_about_centre(world, legs)
    np.testing.assert_allclose(now_linear, linear + 0.2 * force, atol=1e-12)
    # the force was applied at the centre before the step, and acts in its middle
    np.testing.assert_allclose(now_angular, angular + 0.2 * torque, atol=1e-3)
    linear, angular = now_linear, now_angular
    push(world, legs.link('shank1'), (0.0, 0.0, 0.0), 50, torque=torque)
    now_linear, now_angular = momentum_about_centre(world, legs)
    np.testing.assert_allclose(now_linear, linear, atol=1e-12)
    np.testing.assert_allclose(now_angular, angular + 0.1 * torque, atol=1e-12)


def test_fixed_robots_and_single_bodies_move_unchanged():
    """Take exactly the same steps with either integrator without free trees."""
    ends = []
    for integrator in ('midpoint', 'momentum'):
        world = sb.World(gravity=GRAVITY, integrator=integrator)
        arm = world.load_urdf(path_of('arm'))
        arm.dq = np.linspace(-1.0, 1.0, len(arm.dq))
        box = body(world, (3.0, 0.0, 0.0))
        box.set_base_velocity((0.0, 1.0, 2.0), (1.0, 4.0, 0.1))
        world.step(300)
        part = box.root_link
        ends.append((*arm.q, *arm.dq, *part.p, *part.w, *np.ravel(part.R)))
    assert ends[0] == ends[1]


def test_standing_stays_standing():
    """Let a humanoid stand in place for two seconds, as with the midpoint step."""
    worlds = [sb.World(integrator=name) for name in ('midpoint', 'momentum')]
    heights = []
    for world in worlds:
        world.add_ground()
        legs = world.load_urdf(LEGS, position=(0.0, 0.0, 0.5))
        world.step(2000)
        heights.append([legs.root_link.p[2], *legs.q])
        assert np.abs(legs.dq).max() < 1e-6
    np.testing.assert_allclose(heights[0], heights[1], atol=1e-3)
