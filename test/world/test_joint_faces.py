"""Tree joints and loop-closing joints have the same interface."""

from __future__ import annotations

import math

from joint_robots import describe, joint, link
from linkages import bar, body, turn, X, Y
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.description.mechanism.loops import link_poses
from sim_bridge.description.model import Pose
from sim_bridge.foundation.errors import StateError
from sim_bridge.foundation.rotation import matrix_from_rpy

# attributes only for the place in a tree, or for constraint rows
OF_TREES = {'robot', 'description', 'parent_link', 'child_link', 'by_second'}
OF_ROWS = {
    'erp',
    'cfm',
    'compliance',
    'break_force',
    'break_torque',
    'break_limits',
    'broken_directions',
    'is_broken',
    'distance',
}


def public(thing):
    """Return the public names."""
    return {name for name in dir(thing) if not name.startswith('_')}


def joined(kind, tree, time_step=1e-3):
    """Join two flying, rotating, falling bodies by a skew joint; velocities fit a tree."""
    world = sb.World(time_step=time_step)
    first = body(world, (0.0, 0.0, 1.0), turn((1, 1, 0), 0.4), 2.0)
    second = body(world, (0.4, 0.2, 1.1), turn((0, 1, 1), 0.9), 1.0)
    axis2 = (0.3, -1.0, -0.1) if kind == 'hinge2' else None
    if kind == 'universal':
        axis2 = np.cross((1.0, 0.5, 0.2), X)
    first.set_base_velocity((0.3, -0.2, 0.5), (1.0, -2.0, 1.5))
    if not tree:
        _, of_tree = joined(kind, True)
        for own, link in ((first, of_tree.link1), (second, of_tree.link2)):
            own.set_base_velocity(link.v, link.w)
    one = world.add_joint(kind, first, second, (0.2, 0.1, 1.0), (1.0, 0.5, 0.2), axis2, tree=tree)
    if tree and one.axes:
        one.dq = (1.5, -0.7, 0.4)[: len(one.axes)]
    return world, one


def test_faces_are_the_same():
    """Share every name between robot joints, joints between bodies, and constraint joints."""
    robot = sb.World().add_robot(
        describe([link('base'), link('arm')], [joint('elbow', 'continuous', 'base', 'arm')])
    )
    _, tree = joined('hinge', True)
    _, rows = joined('hinge', False)
    common = public(rows) - OF_ROWS
    assert public(tree) == public(robot.joint('elbow')) == common | OF_TREES
    axes = [joined('piston', of_tree)[1].axes[0] for of_tree in (True, False)]
    assert public(axes[0]) == public(axes[1])
    # a one-axis joint has all attributes of its axis, except the axis' place in the joint
    assert public(axes[0]) - common == {'joint', 'number', 'drop_command'}


@pytest.mark.parametrize('tree', [True, False])
def test_unknown_attributes_are_refused(tree):
    """Suggest the probable name, for joints and for axes."""
    _, one = joined('hinge', tree)
    kind = 'Joint' if tree else 'ConstraintJoint'
    for thing, name in ((one, kind), (one.axes[0], 'Axis')):
        with pytest.raises(AttributeError) as caught:
            thing.dampin = 1.0
        assert str(caught.value) == f"{name} has no attribute 'dampin'; did you mean 'damping'?"
        with pytest.raises(AttributeError, match="did you mean 'stop_effort'"):
            _ = thing.stop_efort
        with pytest.raises(AttributeError, match='motor_effort|setter'):
            thing.motor_effort = 1.0


def test_joints_show_their_type_and_motion():
    """Show type, name, robot or links, position and velocity."""
    _, tree = joined('hinge', True)
    tree.q, tree.dq = 0.25, -1.0
    assert repr(tree) == "<Joint 'hinge' (revolute) of 'body_2': q = 0.25, dq = -1>"
    assert repr(tree.axes[0]) == "<Axis of joint 'hinge': q = 0.25, dq = -1>"
    assert repr(joined('fixed', True)[1]) == "<Joint 'fixed' (fixed) of 'body_2'>"
    _, rows = joined('universal', False)
    assert repr(rows).startswith("<ConstraintJoint 'universal' (universal) of ")
    assert ': q = [' in repr(rows)
    assert ': q =' not in repr(joined('ball', False)[1])


@pytest.mark.parametrize('kind', ['continuous', 'prismatic', 'universal', 'ball'])
def test_described_joints_have_anchors_and_axes(kind):
    """Return anchors on both links, apart along a slide, and axes carried by the links."""
    origin = Pose(np.array([0.3, 0.2, 0.1]), turn((1, 2, 3), 0.4))
    axis, axis2 = np.array([0.6, 0.8, 0.0]), np.array([-0.8, 0.6, 0.0])
    parts = {'axis2': axis2} if kind == 'universal' else {}
    robot = sb.World().add_robot(
        describe(
            [link('base'), link('arm')],
            [joint('elbow', kind, 'base', 'arm', origin, axis, **parts)],
        ),
        base='free',
    )
    robot.set_base_pose((1.0, -2.0, 0.5), (0.1, 0.7, -0.1, 0.7))
    elbow = robot.joint('elbow')
    if elbow.axes:
        elbow.q = (0.4, -0.7)[: len(elbow.axes)]
    R = robot.link('base').R @ origin.rotation
    np.testing.assert_allclose(elbow.rotation, R, atol=1e-12)
    np.testing.assert_allclose(elbow.axis, R @ axis, atol=1e-12)
    own = axis2 if kind == 'universal' else axis
    np.testing.assert_allclose(elbow.axis2, robot.link('arm').R @ own, atol=1e-12)
    gap = 0.4 * elbow.axis if kind == 'prismatic' else 0.0
    np.testing.assert_allclose(elbow.anchor2 - elbow.anchor, gap * np.ones(3), atol=1e-12)
    np.testing.assert_allclose(
        elbow.anchor, robot.link('base').p + robot.link('base').R @ origin.position, atol=1e-12
    )
    for one, along in zip(elbow.axes, (elbow.axis, elbow.axis2), strict=False):
        np.testing.assert_allclose(one.direction, along, atol=1e-12)


@pytest.mark.parametrize('kind', ['universal', 'hinge2', 'piston', 'planar', 'fixed', 'ball'])
def test_joints_without_a_single_axis_say_so(kind):
    """Refuse one-axis attributes, in the same words."""
    (_, tree), (_, rows) = (joined(kind, of_tree) for of_tree in (True, False))
    names = [
        'control',
        'target_position',
        'target_velocity',
        'motor_effort',
        'friction_effort',
        'stop_effort',
        'max_effort',
        'kp',
        'kd',
        'lower',
        'upper',
        'effort_limit',
        'velocity_limit',
        'friction',
        'stiffness',
        'reference',
        'bounce',
        'stop_erp',
        'stop_cfm',
        'is_linear',
        'direction',
    ]
    if kind != 'ball':
        names += ['damping', 'armature']
    expected = 'its `axes` have' if tree.axes else 'only one-axis joints and axes have'
    for name in names:
        for one in (tree, rows):
            with pytest.raises(StateError) as caught:
                getattr(one, name)
            assert str(caught.value) == f'joint {kind!r} is {kind}: {expected} such parameters'
    for one in (tree, rows):
        with pytest.raises(StateError, match='such parameters'):
            one.control = 'velocity'
        with pytest.raises(StateError, match='such parameters'):
            one.friction = 1.0


@pytest.mark.parametrize('kind', ['hinge', 'slider', 'universal', 'hinge2', 'piston', 'planar'])
def test_coordinates_match_tree_joints(kind):
    """Return the same positions, rates, accelerations, efforts and energy at the same state."""
    (_, tree), (_, rows) = (joined(kind, of_tree) for of_tree in (True, False))
    for name in (
        'coordinates',
        'q',
        'dq',
        'ddq',
        'anchor',
        'anchor2',
        'axis',
        'axis2',
        'rotation',
    ):
        np.testing.assert_allclose(getattr(rows, name), getattr(tree, name), atol=1e-10)
    for ours, theirs in zip(rows.axes, tree.axes, strict=True):
        for name in ('q', 'dq', 'ddq', 'is_linear', 'direction'):
            np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-10)
    assert np.abs(rows.ddq).max() > 0.1
    for one in (tree, rows):
        one.u = efforts = (0.3, -0.2, 0.1)[: len(one.axes)]
        for axis, effort in zip(one.axes, efforts, strict=True):
            assert axis.u == effort
            axis.stiffness, axis.reference = 3.0, 0.2
        assert one.potential_energy == pytest.approx(0.06 * len(one.axes))


@pytest.mark.parametrize('kind', ['hinge', 'slider', 'universal', 'hinge2', 'piston', 'planar'])
def test_accelerations_are_those_of_the_motion(kind):
    """Return the change of the rates from the step before to the step after."""
    world, rows = joined(kind, False, 1e-4)
    world.step(2000)
    before = rows.dq
    world.step()
    told = rows.ddq
    world.step()
    np.testing.assert_allclose(told, (rows.dq - before) / 2e-4, atol=1e-5)


@pytest.mark.parametrize('what', ['q', 'dq'])
def test_motion_of_rows_is_for_links_to_set(what):
    """Refuse to set the motion, and name the links to set instead."""
    _, rows = joined('hinge', False)
    with pytest.raises(StateError, match=f"{what} of joint 'hinge' follows from its links"):
        setattr(rows, what, 0.1)


def test_joints_without_freedom_have_no_coordinates():
    """Return empty arrays for fixed joints, and explain how to read a ball joint's angles."""
    for tree in (True, False):
        _, one = joined('fixed', tree)
        assert [len(one.q), len(one.dq), len(one.ddq), len(one.u)] == [0, 0, 0, 0]
    for name in ('q', 'dq', 'ddq', 'u'):
        with pytest.raises(StateError, match='add_angular_motor'):
            getattr(joined('ball', False)[1], name)


# --- in a loop -----------------------------------------------------------------------------------

CRANK, ROD = 0.1, 0.3


def slider_crank(closed_by, time_step=1e-3):
    """Build a slider-crank at 0.7 rad; return its world, the crank's joint, and the last joint."""
    world, start = sb.World(time_step), 0.7
    pin = CRANK * np.array([math.cos(start), 0.0, math.sin(start)])
    end = math.sqrt(ROD**2 - pin[2] ** 2) + pin[0]
    crank, rod = bar(world, np.zeros(3), pin), bar(world, pin, (end, 0.0, 0.0))
    carriage = body(world, (end, 0.0, 0.0), mass=2.0)
    # positive about -y, from x to z
    main = world.add_joint('hinge', None, crank, np.zeros(3), -Y)
    world.add_joint('hinge', crank, rod, pin, -Y)
    last = {
        'slider': lambda: world.add_joint('slider', None, carriage, axis=X),
        'hinge': lambda: world.add_joint('hinge', carriage, rod, (end, 0.0, 0.0), -Y),
    }
    others = [kind for kind in last if kind != closed_by]
    assert last[others[0]]().is_tree
    return world, main, last[closed_by]()


def rod_angle(theta, dtheta, ddtheta):
    """Return the rod's angle, rate and acceleration against x: ROD sin φ = -CRANK sin θ."""
    ratio = CRANK / ROD
    phi = -math.asin(ratio * math.sin(theta))
    dphi = -ratio * math.cos(theta) * dtheta / math.cos(phi)
    ddphi = (
        ratio * (math.sin(theta) * dtheta**2 - math.cos(theta) * ddtheta) + math.sin(phi) * dphi**2
    ) / math.cos(phi)
    return phi, dphi, ddphi


def carriage_place(theta, dtheta, ddtheta):
    """Return the carriage's position, velocity, acceleration: CRANK cos θ + ROD cos φ."""
    phi, dphi, ddphi = rod_angle(theta, dtheta, ddtheta)
    place, rate, acceleration = 0.0, 0.0, 0.0
    for length, angle, da, dda in ((CRANK, theta, dtheta, ddtheta), (ROD, phi, dphi, ddphi)):
        c, s = length * math.cos(angle), length * math.sin(angle)
        place, rate = place + c, rate - s * da
        acceleration -= c * da**2 + s * dda
    return place, rate, acceleration


@pytest.mark.parametrize(
    ('closed_by', 'exact'), [('slider', carriage_place), ('hinge', rod_angle)]
)
def test_loop_closing_joint_matches_the_crank(closed_by, exact):
    """Match the closed form's position, rate and acceleration, at any crank speed."""
    world, main, last = slider_crank(closed_by, 1e-4)
    assert not last.is_tree
    zero = exact(0.7, 0.0, 0.0)[0]
    main.u = 3.0
    for _ in range(10):
        world.step(200)
        place, rate, acceleration = exact(0.7 + main.q, main.dq, main.ddq)
        assert last.q == pytest.approx(place - zero, abs=1e-10)
        # the rates of a loop are exact at mid-step
        assert last.dq == pytest.approx(rate, rel=1e-5)
        assert last.ddq == pytest.approx(acceleration, rel=1e-5)
    assert abs(main.dq) > 5.0
    assert abs(last.ddq) > 1.0


@pytest.mark.parametrize('closed_by', ['slider', 'hinge'])
def test_motor_of_a_loop_closing_joint_drives_it(closed_by):
    """Drive a crank through the last joint, with a tree joint's names."""
    world, main, last = slider_crank(closed_by)
    last.control, last.kp, last.kd = 'servo', 4e4, 2e3
    last.target_position = goal = 0.02 if closed_by == 'slider' else -0.1
    last.damping, last.effort_limit = 0.1, 100.0
    world.step(1000)
    exact = carriage_place if closed_by == 'slider' else rod_angle
    now, zero = (exact(angle, 0.0, 0.0)[0] for angle in (0.7 + main.q, 0.7))
    assert last.q == pytest.approx(now - zero, abs=1e-10)
    # it sags by the motor effort that bears the weights
    assert last.q == pytest.approx(goal - last.motor_effort / 4e4, abs=1e-9)
    assert abs(last.q - goal) < 0.1 * abs(goal)
    assert last.ddq == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize('kind', ['revolute', 'prismatic', 'ball', 'piston', 'floating', 'fixed'])
def test_a_child_frame_away_from_the_joint_moves_as_a_link_fixed_to_it(kind):
    """A frame in the joint frame acts like a link on a fixed joint, without that link."""
    away = Pose(np.array([0.3, -0.2, 0.5]), matrix_from_rpy((0.4, -0.3, 0.7)))
    origin = Pose(np.array([0.1, 0.2, 0.3]), matrix_from_rpy((0.1, 0.2, -0.4)))
    world = link('world', 0.0)
    body = link('body', 2.0, (0.1, 0.0, -0.2), (0.3, 0.2, 0.1))
    direct = describe([world, body], [joint('j', kind, origin=origin, child_pose=away)])
    joints = [
        joint('j', kind, child='hub', origin=origin),
        joint('to_body', 'fixed', parent='hub', origin=away),
    ]
    by_link = describe([world, link('hub', 0.0), body], joints)
    robots = []
    for description in (direct, by_link):
        robot = sb.World().add_robot(description)
        robots.append(robot)
        robot.world.step(200)
    one, other = (robot.link('body') for robot in robots)
    np.testing.assert_allclose(one.p, other.p, atol=1e-13)
    np.testing.assert_allclose(one.R, other.R, atol=1e-13)
    np.testing.assert_allclose(one.v, other.v, atol=1e-12)
    anchors = [robot.joint('j').anchor2 for robot in robots]
    np.testing.assert_allclose(anchors[0], anchors[1], atol=1e-13)
    np.testing.assert_allclose(
        link_poses(direct)['body'].position, link_poses(by_link)['body'].position, atol=1e-15
    )
