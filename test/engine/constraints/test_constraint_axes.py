"""Axis elements of constraint joints, compared with the same elements on tree joints."""

from __future__ import annotations

import math

from linkages import body, G, imbalance, X, Y, Z
import numpy as np
import pytest

import sim_bridge as sb

# settings, and tolerances of q, dq and efforts between trees and rows at 1 ms
ACTIONS = {
    'command': {'u': 3.0},
    'command beyond the limit': {'u': 30.0, 'effort_limit': 5.0},
    'damper': {'damping': 0.5},
    'spring': {'stiffness': 20.0, 'reference': 0.3},
    'armature': {'armature': 0.5},
    'friction': {'friction': 1.5},
    'velocity': {'control': 'velocity', 'target_velocity': 2.0},
    'many turns': {'control': 'velocity', 'target_velocity': 20.0},
    'weak motor': {'control': 'velocity', 'target_velocity': 2.0, 'max_effort': 6.0},
    'position': {'control': 'position', 'target_position': 0.7, 'velocity_limit': 1.0},
    'servo': {'control': 'servo', 'kp': 200.0, 'kd': 5.0, 'target_position': 0.5},
    'rigid stops': {'upper': 0.15, 'lower': -0.2},
    'bouncing stops': {'upper': 0.15, 'lower': -0.2, 'bounce': 0.5},
    'elastic stops': {'upper': 0.15, 'lower': -0.2, 'stop_cfm': 1e-3, 'stop_erp': 0.5},
}


def hung(kind, tree, time_step=1e-3):
    """Hang a body on a hinge, as a pendulum, or on an upright slider, moving at 1."""
    world = sb.World(time_step=time_step)
    one = body(world, (0.0, 0.0, -0.5), mass=2.0)
    if not tree:
        one.set_base_velocity(*(((-0.5, 0, 0), Y) if kind == 'hinge' else (Z, (0, 0, 0))))
    joint = world.add_joint(kind, None, one, np.zeros(3), Y if kind == 'hinge' else Z, tree=tree)
    if tree:
        joint.dq = 1.0
    return world, joint


def history(kind, tree, action, time_step, duration=2.0):
    """Return positions and velocities of a joint, (20, 2), and its elements' efforts, (20, 3)."""
    world, joint = hung(kind, tree, time_step)
    for name, value in action.items():
        setattr(joint, name, value)
    moved, efforts = [], []
    for _ in range(20):
        world.step(round(0.05 * duration / time_step))
        moved.append((joint.q, joint.dq))
        efforts.append((joint.motor_effort, joint.friction_effort, joint.stop_effort))
        np.testing.assert_array_less(imbalance(world), 1e-9)
    return np.array(moved), np.array(efforts)


@pytest.mark.parametrize('action', ACTIONS.values(), ids=ACTIONS)
@pytest.mark.parametrize('kind', ['hinge', 'slider'])
def test_axes_move_like_tree_joints(kind, action):
    """Move alike with equal efforts, up to the squared time step."""
    apart = []
    for time_step in (1e-3, 5e-4):
        (tree, tree_efforts), (rows, efforts) = (
            history(kind, of_tree, action, time_step) for of_tree in (True, False)
        )
        apart.append(np.abs(tree - rows).max())
        # an element may have switched just around a sample, so the greatest difference is ignored
        assert np.sort(np.abs(tree_efforts - efforts).ravel())[-2] < 1e-2
    assert apart[0] < 1e-3
    # hitting an elastic stop has a first-order error, different in trees and rows
    assert apart[1] < max(apart[0] / (1.3 if 'stop_cfm' in action else 3.5), 2e-5)


def test_angles_count_turns_both_ways():
    """Count beyond half turns, and back, and keep the count after a restore and a reset."""
    world, joint = hung('hinge', False)
    joint.control, joint.target_velocity = 'velocity', 20.0
    world.step(1000)
    far = joint.q
    assert far == pytest.approx(20.0, abs=0.02)
    snapshot = world.save()
    joint.target_velocity = -20.0
    world.step(2000)
    assert joint.q == pytest.approx(far - 40.0, abs=0.04)
    joint.upper = joint.q + 10.0
    joint.target_velocity = 5.0
    world.step(3000)
    assert joint.q == pytest.approx(joint.upper, abs=1e-9)
    world.restore(snapshot)
    assert joint.q == far
    world.reset()
    assert joint.q == 0.0


def test_stops_stop_without_a_rebound():
    """Come to rest at a stop in one step, and lean on it with the weight's torque."""
    world, joint = hung('hinge', False)
    joint.lower, joint.upper = -1.0, 0.1
    joint.u = 8.0
    while joint.dq > 0.0:
        world.step()
    assert abs(joint.dq) < 1e-12
    world.step(100)
    assert joint.q == pytest.approx(0.1, abs=1e-12)
    weight = 2.0 * G * 0.5 * math.sin(0.1)
    assert joint.stop_effort == pytest.approx(weight - 8.0, abs=1e-6)
    _, torque = joint.reaction
    assert torque @ joint.direction == pytest.approx(weight, abs=1e-6)


# --- two axes ------------------------------------------------------------------------------------


def crossed(kind, tree, time_step):
    """Hang a body on a two-axis joint, with a servo and a spring for 1 s."""
    world = sb.World(time_step=time_step)
    one = body(world, (0.1, 0.05, -0.4), mass=2.0)
    axis, axis2 = (X, Y) if kind in ('universal', 'hinge2') else (Z, None)
    joint = world.add_joint(kind, None, one, np.zeros(3), axis, axis2, tree=tree)
    first, second = joint.axes[:2]
    first.control, first.kp, first.kd, first.target_position = 'servo', 300.0, 8.0, 0.4
    second.stiffness, second.damping, second.reference = 30.0, 0.3, -0.5
    world.step(round(1.0 / time_step))
    np.testing.assert_array_less(imbalance(world), 1e-9)
    return np.concatenate([joint.q, joint.dq])


@pytest.mark.parametrize('kind', ['universal', 'hinge2', 'piston', 'planar'])
def test_several_axes_move_like_tree_joints(kind):
    """Quarter the difference at half the time step."""
    coarse, fine = (
        np.abs(crossed(kind, True, time_step) - crossed(kind, False, time_step)).max()
        for time_step in (1e-3, 5e-4)
    )
    assert coarse < 1e-3
    assert fine < max(coarse / 3.5, 1e-9)


def hooke(friction, strength, tree=True):
    """Couple two shafts by a universal joint; drive the first, let friction brake the second."""
    bend, world = 0.7, sb.World()
    along = np.array([math.cos(bend), math.sin(bend), 0.0])
    first, second = body(world, -0.2 * X), body(world, 0.2 * along)
    shafts = [
        world.add_joint('hinge', None, one, one.root_link.p, axis, tree=of_tree)
        for one, axis, of_tree in ((first, X, tree), (second, along, None))
    ]
    world.add_joint('universal', first, second, np.zeros(3), Y, Z)
    motor, brake = shafts[0].axes[0], shafts[1].axes[0]
    motor.control, motor.target_velocity, motor.max_effort = 'velocity', 6.0, strength
    brake.friction = friction
    return world, motor, brake


@pytest.mark.parametrize('tree', [True, False])
def test_friction_blocking_a_loop_yields(tree):
    """Hold against a too weak motor, at the joint's torque ratio; slip for stronger ones."""
    world, motor, brake = hooke(0.3, 0.2, tree)
    world.step(200)
    assert max(abs(motor.q), abs(brake.q)) < 1e-15
    assert motor.motor_effort == pytest.approx(0.2)
    assert brake.friction_effort == pytest.approx(-0.2 * math.cos(0.7))
    for strength in (0.5, math.inf):
        world, motor, brake = hooke(0.3, strength, tree)
        world.step(200)
        assert brake.q > 0.0
        assert brake.friction_effort == -0.3
        assert math.cos(0.7) * math.tan(brake.q) == pytest.approx(math.tan(motor.q), abs=1e-12)
        np.testing.assert_array_less(imbalance(world), 1e-9)
    assert motor.dq == 6.0
    assert world.report.converged


def test_compliant_reactions_last_until_the_joint_changes():
    """Keep the last step's wrench as bodies are added, until the joint changes."""
    world = sb.World()
    one = body(world, mass=2.0)
    joint = world.add_joint('ball', None, one, np.zeros(3), cfm=1e-4)
    world.step(2000)
    body(world, 5.0 * X)
    for _ in range(2):
        np.testing.assert_allclose(joint.reaction[0], 2.0 * G * Z, atol=1e-9)
        np.testing.assert_allclose(one.root_link.dv, 0.0, atol=1e-9)
        joint.cfm = 0.0
    joint.cfm = 1e-4
    world.step()
    world.remove_joint(joint)
    np.testing.assert_allclose(one.root_link.dv, world.gravity)
