"""Actuators: forces, lengths and activations as MuJoCo has them; stable, exact and repeatable."""

from actuated import ALL, Arm, at_site, of_joint, on_coupling, on_crank, PAIR
import mujoco
import numpy as np
import pytest
from robots import joint, link, robot

import sim_bridge as sb
from sim_bridge.description.actuators import CouplingDescription

SERVO = {'gain': (200.0, 0.0, 0.0), 'bias': (0.0, -200.0, -2.0)}


@pytest.mark.parametrize('seed', range(4))
def test_forces_and_lengths_are_mujocos_at_random_states(seed):
    """Compare force, length, velocity and acceleration for every transmission and law."""
    arm = Arm(h=1e-6)
    arm.place(np.random.default_rng(seed))
    mujoco.mj_forward(arm.model, arm.data)
    for name, own in arm.robot.actuators.items():
        number = arm.model.actuator(name).id
        assert own.length == pytest.approx(arm.data.actuator_length[number], abs=1e-9), name
        assert own.velocity == pytest.approx(arm.data.actuator_velocity[number], abs=1e-9), name
        assert own.force == pytest.approx(arm.data.actuator_force[number], abs=1e-9), name
    coupling = arm.robot.couplings['pair']
    assert coupling.length == pytest.approx(arm.data.ten_length[0], abs=1e-12)
    assert coupling.velocity == pytest.approx(arm.data.ten_velocity[0], abs=1e-12)
    ddq = dict(zip(arm.robot.joint_names, arm.robot.ddq, strict=True))
    for name, theirs in (('shoulder', 0), ('slide', 1), ('wrist', 5)):
        assert ddq[name] == pytest.approx(arm.data.qacc[theirs], abs=1e-8), name


def test_activations_after_steps_are_mujocos():
    """Integrate activations, clamped to their ranges, over many steps."""
    arm = Arm(h=0.002)
    arm.place(np.random.default_rng(1))
    for _ in range(5):
        arm.world.step(20)
        mujoco.mj_step(arm.model, arm.data, 20)
        np.testing.assert_allclose(arm.activations(), arm.data.act, atol=1e-12)


@pytest.mark.parametrize(
    'drives',
    [
        (of_joint('a', 'shoulder', **SERVO), of_joint('b', 'slide', gear=(2.0,), **SERVO)),
        (of_joint('a', 'shoulder', force_range=(-10.0, 10.0), **SERVO),),
        (of_joint('a', 'wrist', dynamics='filterexact', time_constant=0.1, **SERVO),),
        (of_joint('a', 'ball', gear=(1.0, 0.5, -0.5), gain=(3.0, 0, 0), bias=(0, -5.0, -0.5)),),
        (at_site('a', gear=(1.0, 2.0, 3.0, 0.1, 0.2, 0.3)),),
        (at_site('a', 'rail', gear=(1.0, 0, 0.5, 0, 0, 0), gain=(5.0, 0, 0), bias=(0, -5.0, -1)),),
        (on_crank('a', gain=(20.0, 0, 0), bias=(0, -20.0, -2.0)),),
        (on_coupling('a', gain=(3.0, 0, 0), bias=(0, -3.0, -0.3)),),
    ],
)
def test_motion_converges_to_mujocos(drives):
    """Approach MuJoCo's fine motion with the square of the time step."""
    errors = []
    for h in (0.004, 0.002):
        couplings = (PAIR,) if 'tendon' in drives[0].where else ()
        arm = Arm(drives, h=h, integrator='RK4', twin_h=2e-4, couplings=couplings)
        arm.place(np.random.default_rng(3), speed=0.5)
        arm.world.step(round(0.4 / h))
        mujoco.mj_step(arm.model, arm.data, round(0.4 / 2e-4))
        errors.append(np.abs(arm.q() - arm.data.qpos).max())
    assert errors[1] < 5e-3
    # where a force meets its limit within a step, this step is of first order
    is_clamped = np.isfinite(drives[0].description.force_range[0])
    assert is_clamped or errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize('h', [0.001, 0.01])
def test_stiff_servos_are_stable(h):
    """Hold positions with gains far beyond an explicit step's limit."""
    stiff = {'gain': (1e6, 0.0, 0.0), 'bias': (0.0, -1e6, -1e3)}
    drives = of_joint('a', 'shoulder', **stiff), of_joint('b', 'slide', **stiff)
    arm = Arm(drives, h=h, couplings=())
    damp(arm, 2.0)
    arm.robot.dq = 0.5
    arm.robot.controls = (0.01, -0.02)
    arm.world.step(round(2.0 / h))
    np.testing.assert_allclose(arm.q()[:2], (0.01, -0.02), atol=1e-4)
    assert np.abs(arm.robot.dq).max() < 1e-2


@pytest.mark.parametrize('h', [0.001, 0.01])
def test_stiff_couplings_are_stable(h):
    """Couple two joints by a stiff spring and damper; the length stays near its rest."""
    stiff = CouplingDescription('stiff', ('shoulder', 'wrist'), (1.0, -2.0), 1e5, 1e3)
    arm = Arm((), h=h, couplings=(stiff,))
    damp(arm, 1.0)
    arm.robot.joint('slide').stiffness = 100.0
    arm.robot.dq = 0.5
    arm.world.step(round(3.0 / h))
    coupling = arm.robot.couplings['stiff']
    assert abs(coupling.length) < 1e-3
    assert np.isfinite(coupling.force)
    assert arm.world.energy().kinetic < 5.0


def test_a_coupled_spring_shares_its_force_by_the_factors():
    """Balance a spring between two joints without gravity: the closed form of two masses."""
    spring = CouplingDescription('spring', ('shoulder', 'wrist'), (1.0, -2.0), 50.0, 0.0)
    arm = Arm((), h=1e-6, couplings=(spring,))
    arm.world.gravity = (0.0, 0.0, 0.0)
    arm.robot.q = (0.2, 0.0, 0.3)
    coupling = arm.robot.couplings['spring']
    order = [arm.robot.joint_names.index(name) for name in ('shoulder', 'wrist')]
    arm.robot.q[order] = 0.2, 0.3
    assert coupling.length == pytest.approx(-0.4)
    assert coupling.force == pytest.approx(20.0)
    efforts = np.zeros(3)
    efforts[order] = 20.0, -40.0
    with_spring = arm.robot.ddq.copy()
    coupling.stiffness = 0.0
    arm.robot.u = efforts
    np.testing.assert_allclose(with_spring, arm.robot.ddq, rtol=1e-9)


def test_force_range_clamps_the_effort_of_a_step():
    """Accelerate a light joint with exactly the force limit, however stiff the servo."""
    drive = of_joint('a', 'wrist', gear=(2.0,), force_range=(-0.3, 0.5), **SERVO)
    arm = Arm((drive,), h=0.01, couplings=())
    free = Arm((), h=0.01, couplings=())
    arm.robot.controls = 100.0
    before = free.robot.ddq.copy()
    gained = (arm.robot.ddq - before)[arm.robot.joint_names.index('wrist')]
    arm.world.step(1)
    assert arm.robot.actuators['a'].force == 0.5
    velocity = dict(zip(arm.robot.joint_names, arm.robot.dq, strict=True))['wrist']
    assert gained > 10.0
    assert velocity > 0.09


def test_controls_are_clamped_in_use_but_kept():
    """Use a control within its range, and read the given one."""
    arm = Arm()
    motor = arm.robot.actuators['motor']
    motor.control = 7.0
    assert (motor.control, motor.force) == (7.0, 1.0)
    motor.control_range = -2.0, 2.5
    assert motor.force == 2.5


def test_snapshots_copies_and_hashes_hold_controls_and_activations():
    """Repeat a motion from a snapshot and in a copy, bit by bit."""
    arm = Arm()
    arm.place(np.random.default_rng(2))
    arm.world.step(10)
    snapshot, twin = arm.world.save(), arm.world.copy()
    arm.world.step(50)
    twin.step(50)
    after = arm.world.state_hash()
    assert twin.state_hash() == after
    arm.world.restore(snapshot)
    arm.world.step(50)
    assert arm.world.state_hash() == after
    arm.robot.actuators['filtered'].activation = 0.1
    assert arm.world.state_hash() != after


def test_reset_restores_activations_and_clears_controls():
    """Start over with the activation of the start and no control."""
    arm = Arm()
    arm.robot.actuators['filtered'].activation = 0.2
    arm.robot.remember()
    arm.robot.controls = np.ones(arm.model.nu)
    arm.world.step(20)
    arm.world.reset()
    assert arm.robot.actuators['filtered'].activation == 0.2
    assert not arm.robot.controls.any()


def test_batches_step_actuators_as_worlds_do():
    """Give each world of a batch its own controls."""
    arm = Arm()
    batch = sb.Batch(arm.world, 3)
    own = batch.robots[arm.robot.name]
    assert own.actuator_names == list(arm.robot.actuators)
    controls = np.random.default_rng(0).normal(size=(3, arm.model.nu))
    own.controls = controls
    batch.step(40)
    for k in range(3):
        world = arm.world.copy()
        world.robots[arm.robot.name].controls = controls[k]
        world.step(40)
        assert batch.world(k).state_hash() == world.state_hash()
    assert own.activations[0].any()


def damp(arm, damping):
    """Give all joints the same damper."""
    for name in ('shoulder', 'slide', 'ball', 'wrist'):
        arm.robot.joint(name).damping = damping


def pendulum_at_rest():
    """Return an arm that has fallen asleep, with one motor."""
    drive = of_joint('a', 'shoulder', dynamics='filter', time_constant=0.2)
    arm = Arm((drive,), h=0.002, couplings=())
    damp(arm, 5.0)
    arm.robot.joint('slide').stiffness = 100.0
    arm.robot.sleep = True
    arm.world.step(10000)
    assert arm.robot.is_asleep
    return arm


def test_controls_wake_and_activations_keep_awake():
    """Wake a sleeping robot by a control; let it sleep once the filter is steady."""
    arm = pendulum_at_rest()
    arm.robot.actuators['a'].control = 1e-4
    assert not arm.robot.is_asleep
    arm.world.step(500)
    assert not arm.robot.is_asleep
    arm.world.step(20000)
    assert arm.robot.is_asleep
    assert arm.robot.actuators['a'].activation == pytest.approx(1e-4, rel=1e-3)


def test_wrong_values_are_refused():
    """Name the actuator in errors."""
    arm = Arm()
    motor = arm.robot.actuators['motor']
    for name, value in (
        ('control', np.nan),
        ('activation', 0.1),
        ('force_range', (1.0, 0.0)),
        ('gain', (1.0, 2.0)),
    ):
        with pytest.raises(sb.InvalidValueError, match="actuator 'motor'"):
            setattr(motor, name, value)
    with pytest.raises(sb.InvalidValueError, match='controls'):
        arm.robot.controls = (1.0, 2.0)
    with pytest.raises(sb.UnknownNameError, match='moto'):
        arm.robot.actuators['moto']
    assert len(ALL) == len(arm.robot.actuators)


@pytest.mark.parametrize(('limit', 'pressed'), [(20.0, 20.0), (1e3, 100.0)])
def test_servos_press_on_contacts_with_their_force(limit, pressed):
    """Press a finger on a wall: with the force limit, or with the stiffness times the error."""
    finger = link('finger').replace(
        '</link>', '<collision><geometry><sphere radius="0.1"/></geometry></collision></link>'
    )
    slide = joint('slide', 'world', 'finger', 'prismatic', (1, 0, 0))
    drive = {
        'name': 'press',
        'joint': 'slide',
        'type': 'position',
        'kp': 1000,
        'kd': 50,
        'force_range': [-limit, limit],
    }
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    own = world.load_urdf(
        robot(link('world', 0.0), finger, slide), extra_joints={'actuators': [drive]}
    )
    world.add_body(sb.Box((0.2, 1.0, 1.0)), motion='static', position=(0.25, 0.0, 0.0))
    own.actuators['press'].control = 0.15
    world.step(1000)
    assert own.actuators['press'].force == pytest.approx(pressed, rel=1e-6)
    assert abs(world.contacts[0].force[0]) == pytest.approx(pressed, rel=1e-6)
    assert own.q[0] == pytest.approx(0.05, abs=1e-6)
