"""Joints with two and three axes: universal, piston, hinge-2 and planar, and robots on a mount."""

from __future__ import annotations

import math

from joint_robots import describe, joint, link, mount_body, X, Y, Z
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.description.mechanism.inertia import check_joints
from sim_bridge.description.model import JointDynamics, JointLimits, JointType, Pose
from sim_bridge.description.report import Findings
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.foundation.rotation import matrix_from_quaternion

G = 9.81
TILTED = Pose(np.array([0.3, -0.2, 0.5]), matrix_from_quaternion(np.array([0.5, -0.1, 0.7, 0.5])))


def turn(axis, angle):
    """Return the rotation (3, 3) about a unit vector."""
    return matrix_from_quaternion(
        np.array([*(math.sin(0.5 * angle) * np.array(axis)), math.cos(0.5 * angle)])
    )


def hang(kind, world=None, mass=2.0, com=(0.0, 0.0, 0.0), inertia=(0.02, 0.03, 0.04), **parts):
    """Add a body hanging on a joint in the world; return the joint."""
    world = world or sb.World()
    links = [link('world', 0.0), link('body', mass, com, inertia)]
    return world.add_robot(describe(links, [joint('joint', kind, **parts)])).joint('joint')


@pytest.mark.parametrize(
    ('kind', 'place'),
    [
        ('universal', lambda q: (turn(X, q[0]) @ turn(Y, q[1]), np.zeros(3))),
        ('piston', lambda q: (turn(X, q[1]), q[0] * X)),
        ('hinge2', lambda q: (turn(X, q[0]) @ turn(Y, q[1]), q[2] * X)),
        ('planar', lambda q: (turn(X, q[2]), None)),
    ],
)
def test_coordinates_place_the_child(kind, place):
    """Place the child at its coordinates, and assign each axis its own coordinate."""
    parts = {'axis2': Y} if kind in ('universal', 'hinge2') else {}
    if kind == 'hinge2':
        parts['suspension'] = JointDynamics()
    one = hang(kind, axis=X, origin=TILTED, **parts)
    q = np.array([0.7, -0.4, 0.3])[: one.coordinates[0]]
    one.q = q
    rotation, position = place(q)
    child = one.child_link
    np.testing.assert_allclose(child.R, TILTED.rotation @ rotation, atol=1e-14)
    if position is None:
        moved = TILTED.rotation.T @ (child.p - TILTED.position)
        assert moved @ X == pytest.approx(0.0, abs=1e-14)
        assert np.linalg.norm(moved) == pytest.approx(math.hypot(*q[:2]))
    else:
        np.testing.assert_allclose(
            child.p, TILTED.position + TILTED.rotation @ position, atol=1e-14
        )
    assert [axis.q for axis in one.axes] == list(q)
    one.axes[1].q, one.axes[1].dq, one.axes[1].u = 0.25, 1.5, -2.0
    assert (one.q[1], one.dq[1], one.u[1]) == (0.25, 1.5, -2.0)
    assert [axis.ddq for axis in one.axes] == list(one.ddq)


def test_hinge2_without_suspension_is_a_universal_joint():
    """Have two coordinates, and move the same to the last bit."""
    ends = []
    for kind in ('universal', 'hinge2'):
        one = hang(kind, com=(0.1, 0.2, 0.3), axis2=X)
        one.dq = [1.0, 2.0]
        one.robot.world.step(100)
        ends.append(one.q.copy())
    assert len(ends[1]) == 2
    np.testing.assert_array_equal(*ends)


def test_parameters_belong_to_their_axes():
    """Take each axis's limits and dynamics from the description; change them separately."""
    one = hang(
        'universal',
        axis2=X,
        limits=JointLimits(-1.0, 2.0, 30.0, 7.0),
        dynamics=JointDynamics(damping=0.1),
        limits2=JointLimits(-3.0, 4.0, 50.0),
        dynamics2=JointDynamics(friction=0.2, armature=0.3),
    )
    first, second = one.axes
    assert (first.lower, first.upper, first.effort_limit, first.damping) == (-1.0, 2.0, 30.0, 0.1)
    assert (second.lower, second.upper, second.effort_limit) == (-3.0, 4.0, 50.0)
    assert (second.friction, second.armature) == (0.2, 0.3)
    assert (first.velocity_limit, second.velocity_limit) == (7.0, math.inf)
    second.damping = 0.7
    assert (first.damping, second.damping) == (0.1, 0.7)
    with pytest.raises(InvalidValueError, match="joint 'joint', axis 1"):
        second.lower = 5.0
    with pytest.raises(StateError, match='axes'):
        _ = one.damping
    with pytest.raises(InvalidValueError, match='axis 0'):
        first.q = [1.0, 2.0]
    single = hang('continuous')
    (only,) = single.axes
    only.q, single.damping = 0.3, 0.4
    assert (single.q, only.damping, only.joint) == (0.3, 0.4, single)


def test_stop_and_friction_hold_an_axis():
    """Stop one axis of a universal joint at its limit; hold the other axis by friction."""
    one = hang(
        'universal',
        com=(0.0, 0.0, -0.5),
        axis=X,
        axis2=Y,
        limits=JointLimits(-0.2, 0.3),
        dynamics2=JointDynamics(friction=1.0),
    )
    one.dq = [2.0, 0.0]
    one.u = [5.0, 0.5]
    one.robot.world.step(1000)
    np.testing.assert_array_equal(one.q, [0.3, 0.0])
    np.testing.assert_array_equal(one.dq, [0.0, 0.0])


def test_axes_begin_within_their_limits():
    """Begin at the position within the limits nearest to 0."""
    one = hang('piston', limits=JointLimits(0.1, 0.5), limits2=JointLimits(-2.0, -1.0))
    np.testing.assert_array_equal(one.q, [0.1, -1.0])


def test_piston_moves_on_a_helix_under_load():
    """Fall along the axis and spin up about it, independently, on a helix."""
    one = hang('piston', mass=2.0, com=(0.1, 0.0, 0.0), inertia=(0.02, 0.03, 0.04))
    world = one.robot.world
    one.u = [2.0, 0.12]
    world.step(1000)
    t, about = world.time, 0.04 + 2.0 * 0.1**2
    fallen, turned = 0.5 * (2.0 / 2.0 - G) * t**2, 0.5 * 0.12 / about * t**2
    np.testing.assert_allclose(one.q, [fallen, turned], rtol=1e-9)
    c, s = math.cos(turned), math.sin(turned)
    np.testing.assert_allclose(one.child_link.wc, [0.1 * c, 0.1 * s, fallen], atol=1e-9)


def test_suspension_sags_and_swings_at_its_frequency():
    """Rest m g / k below, and swing about that with sqrt(k / m), while the wheel spins."""
    mass, stiffness = 2.0, 500.0
    parts = {'axis': Z, 'axis2': X, 'suspension': JointDynamics(stiffness=stiffness)}
    one = hang('hinge2', mass=mass, **parts)
    world, sag = one.robot.world, mass * G / stiffness
    one.axes[2].q = -sag
    assert one.axes[2].ddq == pytest.approx(0.0, abs=1e-12)
    one.axes[2].q = -sag + 0.01
    one.axes[1].dq = 5.0
    world.step(2000)
    expected = -sag + 0.01 * math.cos(math.sqrt(stiffness / mass) * world.time)
    assert one.axes[2].q == pytest.approx(expected, abs=2e-5)
    assert one.axes[1].q == pytest.approx(10.0, rel=1e-9)
    one.axes[2].damping = 2.0 * math.sqrt(stiffness * mass)
    world.step(2000)
    assert one.axes[2].q == pytest.approx(-sag, abs=1e-9)


def test_reaction_passes_through_all_stages():
    """Carry the weight and its moment, except along and about the free axes."""
    one = hang('universal', mass=2.0, com=(0.1, 0.2, 0.3), axis=X, axis2=Y)
    one.robot.hold = True
    one.robot.world.step(5)
    force, torque = one.reaction
    np.testing.assert_allclose(force, (0.0, 0.0, 2.0 * G), atol=1e-10)
    np.testing.assert_allclose(torque, np.cross((0.1, 0.2, 0.3), (0, 0, 2.0 * G)), atol=1e-10)
    one.robot.hold = False
    one.robot.world.step()
    torque = one.reaction[1]
    assert abs(torque @ one.child_link.R[:, 1]) < 1e-10
    assert abs(torque @ X) < 1e-10


@pytest.mark.parametrize('kind', ['planar', 'universal', 'piston', 'hinge2'])
def test_hold_locks_every_axis(kind):
    """Stay in place to the last bit."""
    parts = {'axis2': X, 'suspension': JointDynamics()} if kind == 'hinge2' else {'axis2': X}
    one = hang(kind, com=(0.1, 0.2, 0.3), origin=TILTED, **parts)
    one.q = np.full(one.coordinates[0], 0.3)
    one.robot.hold = True
    one.robot.world.step(300)
    np.testing.assert_array_equal(one.q, np.full(one.coordinates[0], 0.3))


@pytest.mark.parametrize('axis2', [None, Z, -Z, 2.0 * X, np.zeros(3), np.full(3, np.nan)])
def test_axes_are_checked(axis2):
    """Refuse a missing second axis, one parallel to the first, and a non-unit vector."""
    with pytest.raises(InvalidValueError, match="axis2.*joint 'joint'"):
        hang('universal', axis2=axis2)
    with pytest.raises(InvalidValueError, match="axis =.*joint 'joint'"):
        hang('piston', axis=2.0 * X)


def test_robots_with_such_joints_keep_their_one_axis_joints_apart():
    """Exclude them from joint_names and from the arrays over joint_names."""
    links = [link(name) for name in ('a', 'b', 'c', 'd')]
    robot = sb.World().add_robot(
        describe(
            links,
            [
                joint('ball', 'ball', 'a', 'b'),
                joint('hinge', 'continuous', 'b', 'c'),
                joint('cross', 'universal', 'c', 'd', axis2=X),
            ],
        ),
        base='free',
    )
    assert robot.joint_names == ['hinge']
    robot.q = [0.5]
    assert robot.joint('hinge').q == 0.5
    np.testing.assert_array_equal(robot.joint('ball').q, [0.0, 0.0, 0.0, 1.0])
    robot.joint('cross').q = [0.1, 0.2]
    np.testing.assert_array_equal(robot.q, [0.5])
    assert [len(one.axes) for one in robot.joints] == [0, 1, 2]


def test_joints_that_move_no_inertia_are_found():
    """Report a ball joint with a point mass on its own axis; accept joints that move inertia."""

    def findings_of(inertia, com, kind='ball', **parts):
        found = Findings()
        check_joints(
            describe(
                [link('world', 0.0), link('body', 1.0, com, inertia)],
                [joint('joint', kind, **parts)],
            ),
            found,
        )
        return found.report('test')

    assert findings_of((0.01, 0.01, 0.01), (0, 0, 1.0)).ok
    assert findings_of((0, 0, 0), (0, 0, 1.0), dynamics=JointDynamics(armature=0.1)).ok
    assert [one.code for one in findings_of((0, 0, 0), (0, 0, 1.0)).findings] == ['no-inertia']
    assert findings_of((0, 0, 0), (0, 0, 1.0), 'universal', axis=X, axis2=Y).ok
    assert not findings_of((0, 0, 0), (0, 0, 1.0), 'universal', axis=X, axis2=Z).ok


MOUNTS = [kind.value for kind in JointType if kind is not JointType.FLOATING]


@pytest.mark.parametrize('kind', MOUNTS)
def test_robot_can_be_mounted_on_any_joint(kind):
    """Move like a robot hanging on the same joint on a world link, with the child elsewhere."""
    body = link('body', 1.5, (0.1, 0.2, -0.3), (0.02, 0.03, 0.04))
    parts = {'axis2': Y} if kind in ('universal', 'hinge2') else {}
    child = Pose(np.array([0.2, 0.1, 0.0]), turn(Y, 0.4))
    world = sb.World()
    mounted = mount_body(world, body, joint('mount', kind, axis=X, origin=TILTED, **parts), child)
    robot = world.add_robot(
        describe(
            [link('world', 0.0), link('between', 0.0), body],
            [
                joint('joint', kind, 'world', 'between', axis=X, origin=TILTED, **parts),
                joint('offset', 'fixed', 'between', 'body', child),
            ],
            'robot',
        )
    )
    blueprint = mounted.blueprint
    assert not mounted.fixed_base
    assert blueprint.model.parent[0] == -1
    assert blueprint.joint_v['mount'] == 0
    nv = len(blueprint.model.q_of_v)
    for one in (mounted, robot):
        one.slot.part.state.v[one.slot.part.at.v : one.slot.part.at.v + nv] = [0.3, -0.5, 0.2][:nv]
    world.step(500)
    np.testing.assert_allclose(mounted.link('body').p, robot.link('body').p, atol=1e-13)
    np.testing.assert_allclose(mounted.link('body').R, robot.link('body').R, atol=1e-13)


def test_mounts_are_checked():
    """Refuse a floating mount, a duplicate name, and base poses for a mounted robot."""
    world = sb.World()
    with pytest.raises(InvalidValueError, match='floating'):
        mount_body(world, link('body'), joint('mount', 'floating'))
    mounted = mount_body(world, link('body'), joint('mount', 'ball'))
    with pytest.raises(InvalidValueError, match='mount'):
        mounted.set_base_pose((0.0, 0.0, 1.0))
    with pytest.raises(InvalidValueError, match='base velocity'):
        mounted.set_base_velocity((0.0, 0.0, 1.0))
