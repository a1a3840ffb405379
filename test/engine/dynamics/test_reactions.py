"""Joint reactions, by hand: statics, motors, stops, loops, spinning; and their access."""

from __future__ import annotations

import math

from linkages import bar, body, G, imbalance, turn, X, Y, Z
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError

CLOSE = {'rtol': 0.0, 'atol': 1e-6}


# --- statics -------------------------------------------------------------------------------------


@pytest.mark.parametrize('tree', [None, False])
def test_beam_on_a_hinge_and_a_slider(tree):
    """Share a beam's weight and a load on it by the lever; the slider bears no push along it."""
    world = sb.World()
    beam = bar(world, (0.0, 0.0, 0.0), (2.0, 0.0, 0.0), 3.0)
    carriage = body(world, 2.0 * X, mass=0.5)
    rail = world.add_joint('slider', None, carriage, axis=X, tree=tree)
    fixed = world.add_joint('hinge', None, beam, np.zeros(3), Y, tree=tree)
    end = world.add_joint('hinge', carriage, beam, 2.0 * X, Y, tree=tree)
    for _ in range(100):
        beam.root_link.add_force((4.0, 0.0, -10.0), (0.5, 0.0, 0.0))
        world.step()
    # pushes last for a step call, and reactions belong to the current instant
    beam.root_link.add_force((4.0, 0.0, -10.0), (0.5, 0.0, 0.0))
    np.testing.assert_allclose(fixed.reaction[0], (-4.0, 0.0, 1.5 * G + 7.5), **CLOSE)
    np.testing.assert_allclose(end.reaction[0], (0.0, 0.0, 1.5 * G + 2.5), **CLOSE)
    np.testing.assert_allclose(rail.reaction[0], (0.0, 0.0, 2.0 * G + 2.5), **CLOSE)
    for joint in (fixed, end, rail):
        np.testing.assert_allclose(joint.reaction[1], 0.0, **CLOSE)


@pytest.mark.parametrize('tree', [True, False])
def test_motor_against_a_stop(tree):
    """Press with the motor's full torque, less the weight's; the stop gives the rest."""
    world = sb.World()
    one = body(world, 0.5 * X, mass=2.0)
    joint = world.add_joint('hinge', None, one, np.zeros(3), Y, tree=tree)
    axis = joint.axes[0]
    axis.lower, axis.upper = -1.0, 0.2
    axis.control, axis.target_velocity, axis.max_effort = 'velocity', 1.0, 5.0
    world.step(3000)
    weight = 2.0 * G * 0.5 * math.cos(0.2)
    assert axis.q == pytest.approx(0.2, abs=1e-9)
    assert axis.motor_effort == pytest.approx(5.0)
    assert axis.stop_effort == pytest.approx(-5.0 - weight, abs=1e-6)
    np.testing.assert_allclose(joint.reaction[0], (0.0, 0.0, 2.0 * G), **CLOSE)
    np.testing.assert_allclose(joint.reaction[1], (0.0, -weight, 0.0), **CLOSE)
    parts = {part: joint.feedback(about='joint', part=part).t2 for part in ('motor', 'stop')}
    np.testing.assert_allclose(parts['motor'], (0.0, 5.0, 0.0), **CLOSE)
    np.testing.assert_allclose(parts['stop'], (0.0, -5.0 - weight, 0.0), **CLOSE)
    np.testing.assert_array_less(imbalance(world), 1e-9)


@pytest.mark.parametrize('tree', [True, False])
def test_friction_bears_what_it_can(tree):
    """Hold a slider on a slope by friction; its share of the reaction is along the slope."""
    slope = np.array([math.cos(0.3), 0.0, -math.sin(0.3)])
    world = sb.World()
    joint = world.add_joint('slider', None, body(world, mass=2.0), axis=slope, tree=tree)
    joint.axes[0].friction = 10.0
    world.step(10)
    force = 2.0 * G * math.sin(0.3)
    share = joint.feedback(part='friction')
    np.testing.assert_allclose(share.f2, -force * slope, **CLOSE)
    np.testing.assert_allclose(share.f1, force * slope, **CLOSE)
    np.testing.assert_allclose(joint.feedback(part='motor').f2, 0.0, **CLOSE)
    np.testing.assert_allclose(joint.feedback().f2, (0.0, 0.0, 2.0 * G), **CLOSE)


def test_triangle_under_load():
    """Hang a load on two bars: one is pulled, one pressed; the bars bear nothing else."""
    world = sb.World()
    upper = bar(world, (0.0, 0.0, 0.6), (0.8, 0.0, 0.0), 1e-3, thick=1e-6)
    lower = bar(world, (0.0, 0.0, 0.0), (0.8, 0.0, 0.0), 1e-3, thick=1e-6)
    load = body(world, 0.8 * X, mass=5.0)
    world.add_joint('hinge', None, upper, (0.0, 0.0, 0.6), Y)
    world.add_joint('hinge', None, lower, np.zeros(3), Y)
    world.add_joint('hinge', upper, lower, 0.8 * X, Y)
    pin = world.add_joint('fixed', lower, load, 0.8 * X)
    world.gravity = (0.0, 0.0, -G)
    world.step(10)
    top, bottom = world.joint('hinge'), world.joint('hinge_2')
    # half of each bar's weight acts at either end
    own = 1e-3 * G
    down = 5.0 * G + own
    np.testing.assert_allclose(
        top.reaction[0], (-down * 0.8 / 0.6, 0.0, down + 0.5 * own), **CLOSE
    )
    np.testing.assert_allclose(bottom.reaction[0], (down * 0.8 / 0.6, 0.0, 0.5 * own), **CLOSE)
    np.testing.assert_allclose(pin.reaction[0], (0.0, 0.0, 5.0 * G), **CLOSE)
    np.testing.assert_array_less(imbalance(world), 1e-9)


# --- motion --------------------------------------------------------------------------------------


@pytest.mark.parametrize('tree', [True, False])
def test_spinning_pendulum(tree):
    """Pull a body on its circle: m r w² towards the axis, plus its weight."""
    world = sb.World()
    one = body(world, 0.7 * X, mass=2.0, linear_velocity=3.5 * Y, angular_velocity=5.0 * Z)
    joint = world.add_joint('hinge', None, one, np.zeros(3), Z, tree=tree)
    if tree:
        joint.dq = 5.0
    world.step(321)
    # rows keep the speed to second order in the step
    speed, outwards = joint.dq, turn(Z, joint.q) @ X
    assert speed == pytest.approx(5.0, abs=1e-4)
    force, torque = joint.reaction
    np.testing.assert_allclose(force, 2.0 * (G * Z - 0.7 * speed**2 * outwards), **CLOSE)
    np.testing.assert_allclose(torque, np.cross(0.7 * outwards, 2.0 * G * Z), **CLOSE)


def test_spinning_wheel_is_turned_by_its_axle():
    """Bear the gyroscopic torque of a wheel with a turning axle: the rate W x I w."""
    world = sb.World()
    frame = body(world, mass=1.0)
    wheel = body(world, mass=1.0, inertia=(0.05, 0.03, 0.03))
    turning = world.add_joint('hinge', None, frame, np.zeros(3), Z)
    axle = world.add_joint('hinge', frame, wheel, np.zeros(3), X)
    turning.dq, axle.dq = 2.0, 100.0
    spin = np.diag([0.05, 0.03, 0.03]) @ (2.0 * Z + 100.0 * X)
    torque = np.cross(2.0 * Z, spin)
    np.testing.assert_allclose(axle.reaction[1] @ Y, torque @ Y, **CLOSE)
    world.step(50)
    np.testing.assert_array_less(imbalance(world), 1e-9)


# --- access --------------------------------------------------------------------------------------


@pytest.fixture(params=[True, False], ids=['tree', 'rows'])
def linked(request):
    """Join two moving bodies by a piston with a motor, friction and a stop; return all."""
    world = sb.World()
    first = body(world, (0.0, 0.0, 1.0), turn((1, 1, 0), 0.4), 2.0, linear_velocity=0.3 * X)
    second = body(world, (0.4, 0.2, 1.1), turn((0, 1, 1), 0.9), 1.0)
    joint = world.add_joint(
        'piston', first, second, (0.2, 0.1, 1.0), (1.0, 0.5, 0.2), tree=request.param
    )
    slide, spin = joint.axes
    slide.control, slide.target_velocity, slide.max_effort = 'velocity', 0.5, 3.0
    slide.upper, spin.friction, spin.damping = 0.05, 0.02, 0.01
    spin.u = 0.3
    world.step(300)
    return world, joint


def test_feedback_is_equal_and_opposite(linked):
    """Push both links by opposite forces about one point, in balance with their motion."""
    world, joint = linked
    for part in ('all', 'motor', 'stop', 'friction'):
        feedback = joint.feedback(about='joint', part=part)
        np.testing.assert_allclose(feedback.f1, -feedback.f2, atol=1e-12)
        np.testing.assert_allclose(feedback.t1, -feedback.t2, atol=1e-12)
    np.testing.assert_array_less(imbalance(world), 1e-9)
    for link in (joint.link1, joint.link2):
        # in free flight only the weight acts besides
        force, torque = (joint.feedback()[:2], joint.feedback()[2:])[link is joint.link2]
        arm = link.wc - link.p
        rate = link.dv + np.cross(link.dw, arm) + np.cross(link.w, np.cross(link.w, arm))
        np.testing.assert_allclose(force, link.m * (rate - world.gravity), atol=1e-9)
        inertia = link.R @ link.I @ link.R.T
        np.testing.assert_allclose(
            torque, inertia @ link.dw + np.cross(link.w, inertia @ link.w), atol=1e-9
        )


def test_frames_and_points_agree(linked):
    """Rotate world vectors into the joint's frame, and shift torques by the lever arm."""
    _, joint = linked
    for about in ('joint', 'center_of_mass'):
        world_axes = joint.feedback(about=about)
        for in_joint, in_world in zip(joint.feedback('joint', about), world_axes, strict=True):
            np.testing.assert_allclose(joint.rotation @ in_joint, in_world, atol=1e-12)
    at_joint, at_com = joint.feedback(about='joint'), joint.feedback()
    np.testing.assert_allclose(joint.rotation[:, 2], joint.axis, atol=1e-12)
    for link, n in ((joint.link1, 0), (joint.link2, 2)):
        arm = joint.anchor2 - link.wc
        np.testing.assert_allclose(at_com[n], at_joint[n], atol=1e-12)
        np.testing.assert_allclose(
            at_com[n + 1], at_joint[n + 1] + np.cross(arm, at_joint[n]), atol=1e-12
        )


def test_shares_lie_along_their_axes(linked):
    """Find motor and stop along the piston, friction about it, with the axes' efforts."""
    _, joint = linked
    slide, spin = joint.axes
    for part, axis in (('motor', slide), ('stop', slide), ('friction', spin)):
        feedback = joint.feedback(about='joint', part=part)
        effort = getattr(axis, f'{part}_effort')
        force, torque = (effort * joint.axis, 0.0) if axis is slide else (0.0, effort * joint.axis)
        np.testing.assert_allclose(feedback.f2, force * np.ones(3), atol=1e-12)
        np.testing.assert_allclose(feedback.t2, torque * np.ones(3), atol=1e-12)
    assert slide.q == pytest.approx(0.05, abs=1e-9)
    assert slide.motor_effort == pytest.approx(3.0)
    assert abs(slide.stop_effort) > 0.1
    assert abs(spin.friction_effort) == pytest.approx(0.02)


@pytest.mark.parametrize(
    ('parameter', 'arguments'),
    [('frame', {'frame': 'link'}), ('about', {'about': 'origin'}), ('part', {'part': 'spring'})],
)
def test_feedback_refuses_unknown_words(linked, parameter, arguments):
    """Refuse other words, naming the word and the joint."""
    with pytest.raises(InvalidValueError, match=f"{parameter} = .*joint 'piston'"):
        linked[1].feedback(**arguments)
