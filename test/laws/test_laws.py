"""Control laws: error dynamics in closed form, computed by Pinocchio or by the engine."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest
from robots import joint, link, robot

import sim_bridge as sb

W, Z = 12.0, 0.7
GAINS = {'stiffness': W**2, 'damping': 2.0 * Z * W}


@pytest.fixture
def arm():
    """Return the arm with seven joints."""
    return sb.World().load_urdf('arm')


@pytest.fixture
def twin(repository):
    """Return Pinocchio's arm model, with its data."""
    model = pin.buildModelFromUrdf(str(repository / 'urdf' / 'arm.urdf'))
    return model, model.createData()


@pytest.fixture
def state(arm):
    """Return a configuration and velocities for the arm, different from its present ones."""
    return sb.dynamics.random_configuration(arm, 5), np.random.default_rng(5).normal(size=7)


def damped(time, z=Z):
    """Return the closed form of e'' + 2 z W e' + W² e = 0 from e = 1, at rest."""
    w = W * math.sqrt(1.0 - z**2)
    return np.exp(-z * W * time) * (np.cos(w * time) + z * W / w * np.sin(w * time))


def frame_motion(twin, q, dq, ddq):
    """Return tool0's Jacobian and acceleration by Pinocchio, world axes."""
    model, data = twin
    frame, axes = model.getFrameId('tool0'), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    pin.forwardKinematics(model, data, q, dq, ddq)
    pin.updateFramePlacements(model, data)
    acceleration = pin.getFrameClassicalAcceleration(model, data, frame, axes).vector.copy()
    return pin.computeFrameJacobian(model, data, q, frame, axes), acceleration


def test_traj_ref_has_the_values_of_the_tutorial():
    """Give the tutorial's values at t = 0.2, with derivatives, for one time or many."""
    ref = sb.laws.TrajRef(np.array([0, 0, 0.0]), omega=np.array([1, 2, 3.0]), amplitude=1.5)
    q, dq, ddq = ref(0.2), ref.velocity(0.2), ref.acceleration(0.2)
    np.testing.assert_allclose(q, [0.29800400, 0.58412751, 0.84696371], atol=1e-8)
    np.testing.assert_allclose(dq, [1.47009987, 2.76318298, 3.71401027], atol=1e-8)
    np.testing.assert_allclose(ddq, [-0.29800400, -2.33651005, -7.62267338], atol=1e-8)
    for many, one in zip(ref.at([0.1, 0.2]), (q, dq, ddq), strict=True):
        assert many.shape == (2, 3)
        np.testing.assert_array_equal(many[1], one)


def test_traj_ref_derivatives_are_those_of_the_position():
    """Match central differences, with frequency, amplitude and phase of each joint."""
    ref = sb.laws.TrajRef([0.1, -2.0], [3.0, -0.5], [0.2, 1.5], phase=[0.3, 2.0])
    np.testing.assert_allclose(ref(0.0), [0.1 + 0.2 * np.sin(0.3), -2.0 + 1.5 * np.sin(2.0)])
    h = 1e-5
    for t in (0.0, 0.7, 4.1):
        np.testing.assert_allclose(ref.velocity(t), (ref(t + h) - ref(t - h)) / (2 * h), atol=1e-8)
        np.testing.assert_allclose(
            ref.acceleration(t), (ref.velocity(t + h) - ref.velocity(t - h)) / (2 * h), atol=1e-8
        )


def test_pd_is_its_formula_and_gravity_is_that_of_pinocchio(arm, twin, state):
    """Return K (q_ref - q) + D (dq_ref - dq), plus Pinocchio's gravity efforts on request."""
    q, dq = state
    stiffness, damping = np.arange(7.0), 1.0 + np.arange(7.0)
    q_ref, dq_ref = np.linspace(0.0, 1.0, 7), np.linspace(1.0, 2.0, 7)
    options = {'stiffness': stiffness, 'damping': damping, 'q': q, 'dq': dq}
    plain = sb.laws.pd(arm, q_ref, dq_ref, **options)
    np.testing.assert_array_equal(plain, stiffness * (q_ref - q) + damping * (dq_ref - dq))
    borne = sb.laws.pd(arm, q_ref, dq_ref, gravity=True, **options)
    np.testing.assert_allclose(borne - plain, pin.computeGeneralizedGravity(*twin, q), atol=1e-11)


def test_pd_of_a_free_base_is_over_its_joints():
    """Return efforts in the format of `robot.u`, at the present state."""
    quadruped = sb.World().load_urdf('quadruped', base='free')
    quadruped.q, quadruped.dq = np.linspace(0.0, 0.5, 12), 1.0
    efforts = sb.laws.pd(quadruped, np.zeros(12), stiffness=10.0, damping=2.0)
    np.testing.assert_allclose(efforts, -10.0 * quadruped.q - 2.0)
    quadruped.u = efforts


def test_felt_inertia_bounds_the_loop(arm):
    """Keep the eigenvalues of D inv(M) within 1, and leave out uncontrolled joints."""
    for q in sb.dynamics.random_configuration(arm, 2, 20):
        D = sb.laws.felt_inertia(arm, q)
        values = np.linalg.eigvals(np.diag(D) @ np.linalg.inv(sb.dynamics.mass_matrix(arm, q)))
        assert values.real.max() <= 1.0 + 1e-12
    chosen = np.arange(7) == 2
    alone = sb.laws.felt_inertia(arm, q, joints=chosen)
    expected = 1.0 / np.linalg.inv(sb.dynamics.mass_matrix(arm, q))[2, 2]
    np.testing.assert_allclose(alone, np.where(chosen, expected, 0.0))


def test_computed_torque_decays_as_the_linear_equation(arm, twin):
    """Integrate Pinocchio's robot under the law: each joint error has the closed form."""
    model, data = twin
    ref = sb.laws.TrajRef(np.zeros(7), np.linspace(0.5, 3.0, 7), 0.4)
    e0 = np.array([0.5, -0.4, 0.3, 0.2, -0.5, 0.1, 0.6])

    def slope(t, x):
        q, dq = x
        u = sb.laws.computed_torque(arm, *ref.at(t), **GAINS, q=q, dq=dq)
        return np.array([dq, pin.aba(model, data, q, dq, u)])

    h, x = 4e-3, np.array([ref(0.0) - e0, ref.velocity(0.0)])
    for step in range(100):
        t = step * h
        k1 = slope(t, x)
        k2 = slope(t + h / 2, x + h / 2 * k1)
        k3 = slope(t + h / 2, x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(t + h, x + h * k3))
    np.testing.assert_allclose(ref(t + h) - x[0], e0 * damped(t + h), atol=1e-5)


FOLLOWER = robot(
    link('base'),
    link('upper', com=(0, 0, -0.5)),
    link('lower', com=(0.1, 0, -0.3)),
    joint('lead', 'base', 'upper', axis=(0, 1, 0), inside='<dynamics damping="0.3"/>'),
    joint(
        'follow',
        'upper',
        'lower',
        axis=(0, 1, 0),
        xyz=(0, 0, -1),
        inside='<mimic joint="lead" multiplier="-0.5" offset="0.3"/>',
    ),
)


def test_computed_torque_moves_followers_with_their_leader():
    """Step a robot with a mimic joint and damping: the leader's error has the closed form."""
    world = sb.World(time_step=5e-4)
    leader = world.load_urdf(FOLLOWER, base='fixed')
    leader.q = [0.5, 0.05]
    resistance = sb.laws.JointResistance(leader)
    for _ in range(300):
        leader.u = sb.laws.computed_torque(leader, [0.0, 9.9], **GAINS) + resistance.efforts()
        assert leader.u[1] == 0.0
        world.step()
    np.testing.assert_allclose(leader.q[0], 0.5 * damped(world.time), atol=2e-3)


def test_resistance_follows_the_joint_parameters(arm, state):
    """Add damping, springs, and friction by the reference velocity."""
    q, dq = state
    arm.joint(arm.joint_names[3]).stiffness, arm.joint(arm.joint_names[3]).reference = 5.0, 0.2
    found = sb.laws.JointResistance(arm).efforts(np.linspace(-1.0, 1.0, 7), q=q, dq=dq)
    joints = [arm.joint(name) for name in arm.joint_names]
    sign = np.sign(np.linspace(-1.0, 1.0, 7))
    for k, each in enumerate(joints):
        spring = 5.0 * (q[3] - 0.2) if k == 3 else 0.0
        assert found[k] == pytest.approx(each.damping * dq[k] + each.friction * sign[k] + spring)


def on_plane_and_base():
    """Return a robot with a free base, a planar joint and three hinges, one a follower."""
    world = sb.World(gravity=(0.3, -0.2, -9.0))
    return world.load_urdf(
        robot(
            link('base', mass=3.0),
            link('upper', com=(0, 0.1, -0.5)),
            link('lower', com=(0.1, 0, -0.3)),
            link('hand', com=(0.1, 0.2, 0.0)),
            link('finger', com=(0.0, 0.1, 0.1)),
            joint('wrist', 'lower', 'hand', axis=(1, 0, 0), xyz=(0.1, 0, -0.6)),
            joint('lead', 'base', 'upper', axis=(0, 1, 0)),
            joint(
                'follow',
                'upper',
                'lower',
                axis=(0, 1, 0),
                xyz=(0, 0, -1),
                inside='<mimic joint="lead" multiplier="-0.5" offset="0.3"/>',
            ),
            joint('plane', 'hand', 'finger', kind='planar', xyz=(0, 0.1, 0.2)),
        ),
        base='free',
    )


FLYING = {
    'quadruped': lambda: sb.World().load_urdf('quadruped', base='free'),
    'plane': on_plane_and_base,
}


def flying_state(flyer, count=None):
    """Return a configuration and velocities, or rows, with followers at their leaders' values."""
    rng = np.random.default_rng(3)
    q = sb.dynamics.random_configuration(flyer, 5, count)
    dq = rng.normal(size=(*q.shape[:-1], len(sb.dynamics.velocity(flyer))))
    names = flyer.joint_names
    for name in names:
        mimic = flyer.joint(name).mimic
        if mimic is not None:
            dq[..., 6 + names.index(name)] = (
                mimic.multiplier * dq[..., 6 + names.index(mimic.joint)]
            )
    return q, dq


def in_flight(flyer, u, q, dq):
    """Return the accelerations under joint efforts, with followers tied to their leaders."""
    nv, n = len(dq), len(flyer.joint_names)
    full, G = np.zeros(nv), np.eye(nv)
    full[6 : 6 + n] = u
    for k, name in enumerate(flyer.joint_names):
        mimic = flyer.joint(name).mimic
        if mimic is not None:
            leader = 6 + flyer.joint_names.index(mimic.joint)
            G[6 + k, 6 + k], G[6 + k, leader] = 0.0, mimic.multiplier
    G = G[:, G.any(axis=0)]
    M = sb.dynamics.mass_matrix(flyer, q)
    return G @ np.linalg.solve(G.T @ M @ G, G.T @ (full - sb.dynamics.bias_forces(flyer, q, dq)))


@pytest.mark.parametrize('name', FLYING)
def test_computed_torque_holds_in_flight(name):
    """Give a flying robot's joints the target accelerations, with a free base."""
    flyer = FLYING[name]()
    q, dq = flying_state(flyer)
    n = len(flyer.joint_names)
    q_ref, dq_ref, ddq_ref = np.random.default_rng(7).normal(size=(3, n))
    u = sb.laws.computed_torque(flyer, q_ref, dq_ref, ddq_ref, **GAINS, q=q, dq=dq)
    wanted = (
        ddq_ref
        + GAINS['stiffness'] * (q_ref - q[7 : 7 + n])
        + GAINS['damping'] * (dq_ref - dq[6 : 6 + n])
    )
    leads = [flyer.joint(each).mimic is None for each in flyer.joint_names]
    found = in_flight(flyer, u, q, dq)[6 : 6 + n]
    np.testing.assert_allclose(found[leads], wanted[leads], rtol=1e-9, atol=1e-8)
    assert not u[np.logical_not(leads)].any()


@pytest.mark.parametrize('name', FLYING)
def test_tasks_are_done_in_flight(name):
    """Decouple a flying robot's link task, and make it a mass on a spring."""
    flyer = FLYING[name]()
    q, dq = flying_state(flyer)
    tip = flyer.link('lf_foot' if name == 'quadruped' else 'hand')
    start = sb.dynamics.forward_kinematics(flyer, tip, q)[:3, 3]
    target = sb.laws.Target(start + [0.05, -0.1, 0.02], np.arange(3.0), np.ones(3))
    J, drift = (
        sb.dynamics.jacobian(flyer, tip, None, q)[:3],
        sb.dynamics.jacobian_derivative(flyer, tip, None, q, dq)[:3] @ dq,
    )
    feedback = 30.0 * np.array([0.05, -0.1, 0.02]) + 5.0 * (target.velocity - J @ dq)
    directions = np.eye(3)
    if name == 'plane':
        # two joints move the link in a plane only
        motion = np.array(
            [
                J @ (in_flight(flyer, unit, q, dq) - in_flight(flyer, np.zeros(3), q, dq))
                for unit in np.eye(3)
            ]
        )
        directions = np.linalg.svd(motion)[2][:2]
    for law, left in (
        (sb.laws.operational_space, target.acceleration + feedback),
        (
            lambda *given, **more: sb.laws.impedance(*given, inertia=2.0 * np.eye(3), **more),
            target.acceleration + feedback / 2.0,
        ),
    ):
        u = law(flyer, tip, target, stiffness=30.0, damping=5.0, q=q, dq=dq)
        found = J @ in_flight(flyer, u, q, dq) + drift
        np.testing.assert_allclose(directions @ found, directions @ left, atol=1e-8)


def test_a_kinematic_base_does_not_yield():
    """Use a kinematic base's prescribed motion."""
    flyer = FLYING['quadruped']()
    flyer.motion = 'kinematic'
    q, dq = flying_state(flyer)
    u = sb.laws.computed_torque(flyer, q[7:], dq[6:], np.arange(12.0), **GAINS, q=q, dq=dq)
    full = np.concatenate([np.zeros(6), u])
    np.testing.assert_allclose(
        sb.dynamics.forward_dynamics(flyer, full, q, dq)[6:], np.arange(12.0), atol=1e-8
    )


@pytest.mark.parametrize(
    'make',
    [
        lambda: sb.World().load_urdf('arm'),
        *FLYING.values(),
        lambda: sb.World().load_urdf(FOLLOWER, base='fixed'),
    ],
    ids=['arm', *FLYING, 'follower'],
)
def test_laws_of_joints_take_rows(make):
    """Return for state and reference rows the same as for each row alone."""
    machine = make()
    n, count = len(machine.joint_names), 4
    q = sb.dynamics.random_configuration(machine, 5, count)
    dq = np.random.default_rng(2).normal(size=(count, len(sb.dynamics.velocity(machine))))
    q_ref, dq_ref = np.random.default_rng(3).normal(size=(2, count, n))
    resistance = sb.laws.JointResistance(machine)
    for law in (
        lambda *given, **at: sb.laws.pd(machine, *given, gravity=True, **GAINS, **at),
        lambda *given, **at: sb.laws.computed_torque(machine, *given, **GAINS, **at),
        lambda q_ref, dq_ref, **at: resistance.efforts(dq_ref, **at),
    ):
        each = [law(*one, q=own, dq=v) for *one, own, v in zip(q_ref, dq_ref, q, dq, strict=True)]
        many = law(q_ref, dq_ref, q=q, dq=dq)
        assert many.shape == (count, n)
        np.testing.assert_allclose(many, each, rtol=1e-9, atol=1e-9)
        one = law(q_ref, dq_ref[0], q=q[0], dq=dq)
        np.testing.assert_allclose(
            one[2], law(q_ref[2], dq_ref[0], q=q[0], dq=dq[2]), rtol=1e-9, atol=1e-9
        )


@pytest.mark.parametrize('share', [0.9, 1.1])
def test_damping_is_stable_up_to_the_largest_time_step(share):
    """Step an arm without gravity, with damping alone: it comes to rest, or diverges."""
    world = sb.World(time_step=1e-3, gravity=(0.0, 0.0, 0.0))
    arm = world.load_urdf('arm')
    for name in arm.joint_names:
        arm.joint(name).damping = arm.joint(name).friction = 0.0
    arm.q = [0.3, 0.9, 0.2, -1.2, 0.1, 0.8, 0.0]
    here = sb.laws.Target(sb.dynamics.forward_kinematics(arm, 'tool0')[:3, 3])
    unit = sb.laws.largest_time_step(arm, 'tool0', here, damping=1.0)
    damping = share * unit / world.time_step
    assert sb.laws.largest_time_step(arm, 'tool0', here, damping=damping) == pytest.approx(
        world.time_step / share
    )
    assert (
        sb.laws.largest_time_step(
            arm, 'tool0', here, damping=[1.0, 0.0, 2.0], inertia=np.diag([2.0, 1.0, 5.0])
        )
        == 4.0
    )
    assert sb.laws.largest_time_step(arm, 'tool0', here, damping=0.0) == math.inf
    J = sb.dynamics.jacobian(arm, 'tool0')[:3]
    arm.dq = 1e-3 * np.linalg.pinv(J) @ np.ones(3)
    speeds = []
    for _ in range(60):
        arm.u = sb.laws.impedance(arm, 'tool0', here, stiffness=0.0, damping=damping)
        world.step()
        speeds.append(np.linalg.norm(sb.dynamics.jacobian(arm, 'tool0')[:3] @ arm.dq))
    assert (speeds[-1] > 10.0 * speeds[0]) == (share > 1.0)
    assert (speeds[-1] < 0.1 * speeds[0]) == (share < 1.0)


def target_near(arm, q):
    """Return a moving target near the arm's pose at q."""
    pose = sb.dynamics.forward_kinematics(arm, 'tool0', q).copy()
    pose[:3, :3] = pin.exp3(np.array([0.1, -0.2, 0.15])) @ pose[:3, :3]
    pose[:3, 3] += [0.05, -0.1, 0.02]
    return sb.laws.Target(pose, np.arange(6.0) / 10.0, np.arange(6.0) - 2.0)


def test_operational_space_decouples_the_task(arm, twin, state):
    """Accelerate each row by its own error alone, with any posture efforts."""
    q, dq = state
    target = target_near(arm, q)
    stiffness, damping = 10.0 + np.arange(6.0), 5.0 + np.arange(6.0)
    error = np.array([0.05, -0.1, 0.02, 0.1, -0.2, 0.15])
    accelerations = []
    for posture in (None, 10.0 * np.arange(7.0)):
        u = sb.laws.operational_space(
            arm, 'tool0', target, stiffness=stiffness, damping=damping, posture=posture, q=q, dq=dq
        )
        accelerations.append(pin.aba(*twin, q, dq, u))
        J, found = frame_motion(twin, q, dq, accelerations[-1])
        rate = target.velocity - J @ dq
        np.testing.assert_allclose(
            found, target.acceleration + stiffness * error + damping * rate, atol=1e-8
        )
    assert np.abs(accelerations[1] - accelerations[0]).max() > 0.1, 'the elbow moves'


def test_operational_space_leaves_out_immovable_directions():
    """Control a pendulum's tip in its only motion direction."""
    pendulum = sb.World().load_urdf('pendulum')
    tip = pendulum.links[-1].name
    start = sb.dynamics.forward_kinematics(pendulum, tip, [0.7])
    u = sb.laws.operational_space(
        pendulum, tip, sb.laws.Target(start), stiffness=1.0, damping=1.0, q=[0.7]
    )
    np.testing.assert_allclose(sb.dynamics.forward_dynamics(pendulum, u, [0.7]), 0.0, atol=1e-9)


def test_impedance_is_a_mass_on_a_spring(arm, twin, state):
    """Obey inertia e'' + damping e' + stiffness e = -wrench, with own or given inertia."""
    q, dq = state
    target = target_near(arm, q)
    model, data = twin
    M = pin.crba(model, data, q).copy()
    J, _ = frame_motion(twin, q, dq, np.zeros(7))
    own = np.linalg.inv(J @ np.linalg.inv(M) @ J.T)
    wrench = np.array([3.0, -2.0, 5.0, 0.3, 0.2, -0.4])
    stiffness, damping = 100.0 + np.arange(6.0), 20.0
    error = np.array([0.05, -0.1, 0.02, 0.1, -0.2, 0.15])
    given = np.diag([2.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    for inertia, options in ((own, {}), (given, {'inertia': given, 'wrench': wrench})):
        u = sb.laws.impedance(
            arm, 'tool0', target, stiffness=stiffness, damping=damping, q=q, dq=dq, **options
        )
        J, found = frame_motion(twin, q, dq, pin.aba(model, data, q, dq, u + J.T @ wrench))
        left = (
            inertia @ (target.acceleration - found)
            + damping * (target.velocity - J @ dq)
            + stiffness * error
        )
        np.testing.assert_allclose(left, -wrench, atol=1e-8)


def test_impedance_yields_to_a_push_by_its_stiffness():
    """Step the arm with a weight on its tool: it comes to rest lower by weight over stiffness."""
    world = sb.World(time_step=2e-3)
    arm = world.load_urdf('arm')
    for name in arm.joint_names:
        arm.joint(name).damping = arm.joint(name).friction = 0.0
    arm.q = [0.3, 0.9, 0.2, -1.2, 0.1, 0.8, 0.0]
    tool = arm.link('tool0')
    start = sb.dynamics.forward_kinematics(arm, tool)
    target, middle = sb.laws.Target(start[:3, 3]), arm.q.copy()
    for _ in range(300):
        inertia = sb.laws.felt_inertia(arm)
        posture = sb.laws.pd(arm, middle, stiffness=100.0 * inertia, damping=20.0 * inertia)
        arm.u = sb.laws.impedance(
            arm, tool, target, stiffness=2000.0, damping=[170.0, 170.0, 280.0], posture=posture
        )
        tool.add_force([0.0, 0.0, -40.0], tool.p)
        world.step()
    way = sb.laws.pose_error(sb.dynamics.forward_kinematics(arm, tool), start[:3, 3])
    np.testing.assert_allclose(way, [0.0, 0.0, 40.0 / 2000.0], atol=2e-4)


@pytest.mark.parametrize(
    ('call', 'words'),
    [
        (lambda arm: sb.laws.pd(arm, np.zeros(6), stiffness=1.0, damping=1.0), "q_ref .*'arm'"),
        (lambda arm: sb.laws.pd(arm, np.zeros(7), stiffness=-1.0, damping=1.0), 'stiffness = -1'),
        (
            lambda arm: sb.laws.pd(arm, np.zeros(7), stiffness=[1.0] * 3, damping=1.0),
            'or 7 numbers',
        ),
        (
            lambda arm: sb.laws.pd('arm', np.zeros(7), stiffness=1.0, damping=1.0),
            'a robot of a world',
        ),
        (
            lambda arm: sb.laws.pd(
                arm, np.zeros((3, 7)), stiffness=1.0, damping=1.0, q=np.zeros((2, 7))
            ),
            "rows of q_ref = 3 .*'arm'.* 2 rows, as in",
        ),
        (
            lambda arm: sb.laws.pd(arm, np.full((2, 7), np.nan), stiffness=1.0, damping=1.0),
            'q_ref',
        ),
        (lambda arm: sb.laws.pd(arm, np.full(7, np.inf), stiffness=1.0, damping=1.0), 'q_ref'),
        (
            lambda arm: sb.laws.pd(arm, np.zeros(7), stiffness=np.full(7, np.nan), damping=1.0),
            'stiffness',
        ),
        (lambda arm: sb.laws.felt_inertia(arm, np.zeros((2, 7))), 'q = '),
        (
            lambda arm: sb.laws.operational_space(
                arm, 'tool0', sb.laws.Target(np.ones((4, 4))), stiffness=1.0, damping=1.0
            ),
            'orthonormal',
        ),
        (
            lambda arm: sb.laws.impedance(
                arm,
                'tool0',
                sb.laws.Target([0.0, 0.0, 1.0]),
                stiffness=1.0,
                damping=1.0,
                inertia=-np.eye(3),
            ),
            'positive definite',
        ),
        (lambda arm: sb.laws.TrajRef([0.0, 1.0], [1.0] * 3, 1.0), 'omega'),
        (lambda arm: sb.laws.TrajRef([0.0, 1.0], 1.0, 1.0)(math.nan), 'a finite time'),
    ],
)
def test_invalid_arguments_are_named(arm, call, words):
    """Name the quantity, the value and the robot."""
    with pytest.raises(sb.InvalidValueError, match=words):
        call(arm)
