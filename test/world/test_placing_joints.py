"""Joints attached and placed again, switched in groups, and queried for their links."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.robots.start import put_at_start

G, R = 9.81, 0.05


def hung(kind='ball', **arguments):
    """Return a world with a sphere held by a constraint joint 0.5 m below (0, 0, 1)."""
    world = sb.World()
    world.add_body(
        sb.Box((0.1, 0.1, 0.1)), name='block', position=(3.0, 0.0, 1.0), motion='static'
    )
    body = world.add_body(sb.Sphere(R), name='bob', mass=1.0, position=(0.0, 0.0, 0.5))
    joint = world.add_joint(
        kind, None, body, anchor=(0.0, 0.0, 1.0), tree=False, name='hook', **arguments
    )
    return world, body, joint


def test_a_moved_anchor_makes_a_pendulum_of_another_length():
    """Swing with T = 2π √((l² + 2/5 r²) / (g l)) about the set anchor."""
    world, _, joint = hung()
    joint.anchor = (0.0, 0.0, 1.5)
    assert joint.anchor2 == pytest.approx([0.0, 0.0, 1.5])
    joint.link2.robot.set_base_pose((0.01, 0.0, np.sqrt(1.0 - 1e-4) * -1.0 + 1.5))
    crossings, before = [], 0.01
    for _ in range(9000):
        world.step()
        now = joint.link2.p[0]
        if before < 0.0 <= now:
            crossings.append(world.time - world.time_step * now / (now - before))
        before = now
    assert np.diff(crossings).mean() == pytest.approx(
        2.0 * np.pi * np.sqrt((1.0 + 0.4 * R * R) / G), rel=1e-4
    )
    assert joint.error[0] < 1e-9
    assert np.linalg.norm(joint.link2.p - [0.0, 0.0, 1.5]) == pytest.approx(1.0, abs=1e-9)


def test_a_turned_axis_acts_like_a_new_hinge():
    """Continue like a world whose hinge was created with the set axis."""
    tracks = []
    for axis in ((1.0, 0.0, 0.0), (0.0, 2.0, 0.0)):
        world, body, joint = hung('hinge', axis=axis)
        joint.axis = (0.0, 3.0, 0.0)
        assert joint.axis == pytest.approx([0.0, 1.0, 0.0]) and joint.q == 0.0
        joint.control, joint.target_velocity, joint.max_effort = 'velocity', 0.7, 50.0
        world.step(400)
        tracks.append([*body.root_link.p, joint.q])
    assert tracks[0] == pytest.approx(tracks[1], abs=1e-9)
    # except for the steps in which the motor accelerates
    assert tracks[0][3] == pytest.approx(0.4 * 0.7, abs=5e-3) and abs(tracks[0][0]) > 0.1


def test_a_joint_is_attached_to_another_body():
    """Release the old body, hold the new one at the same place, and keep motor and limits."""
    world, body, joint = hung('hinge', axis=(0.0, 1.0, 0.0))
    other = world.add_body(sb.Sphere(R), name='other', mass=2.0, position=(0.3, 0.0, 1.0))
    joint.control, joint.target_velocity, joint.max_effort = 'velocity', -0.5, 100.0
    joint.break_force = 1e6
    world.step(50)
    anchor = joint.anchor
    world.attach_joint(joint, world.robots['block'], other)
    assert (joint.link1.name, joint.link2.name, joint.q) == ('block', 'other', 0.0)
    assert joint.anchor == pytest.approx(anchor) and body.root_link.joints == []
    assert world.are_connected(other, world.robots['block'])
    assert not world.are_connected(body, None)
    length, height = np.linalg.norm(other.root_link.p - anchor), body.root_link.p[2]
    speed = body.root_link.v[2]
    world.step(300)
    fallen = body.root_link.p[2] - height - 0.3 * speed
    assert fallen == pytest.approx(-0.5 * G * 0.09, abs=1e-9)
    # except for the steps in which the motor slows the body's fall
    assert joint.q == pytest.approx(-0.15, abs=5e-3)
    assert joint.break_force == 1e6 and joint.max_effort == 100.0
    assert np.linalg.norm(other.root_link.p - anchor) == pytest.approx(length, abs=1e-9)


def test_attached_links_do_not_collide_and_old_ones_do():
    """Exclude contacts between the newly joined links, and allow contacts of the previous ones."""
    world = sb.World()
    balls = [
        world.add_body(sb.Sphere(0.5), name=name, position=(x, 0.0, 0.0))
        for name, x in (('a', 0.0), ('b', 0.8), ('c', -0.8))
    ]
    joint = world.add_joint('ball', balls[0], balls[1], tree=False)
    assert world.find_contacts(0.0).indices.tolist() == [[0, 2]]
    world.attach_joint(joint, balls[0], balls[2])
    assert world.find_contacts(0.0).indices.tolist() == [[0, 1]]


def test_placed_joints_survive_copies_and_resets_and_old_snapshots_do_not_fit():
    """Step like the original after a copy and a pickle, restart at the joint's new place."""
    world, body, joint = hung()
    before = world.save()
    joint.anchor = (0.2, 0.0, 0.9)
    world.step(100)
    saved, after = world.save(), world.state_hash()
    for other in (world.copy(), pickle.loads(pickle.dumps(world))):
        assert other.state_hash() == after
        other.step(50)
        assert other.joint('hook').anchor == pytest.approx([0.2, 0.0, 0.9])
    world.step(50)
    assert other.state_hash() == world.state_hash()
    world.restore(saved)
    assert world.state_hash() == after
    with pytest.raises(sb.InvalidValueError, match='geometries and joints'):
        world.restore(before)
    world.reset()
    world.step(100)
    assert joint.error[0] < 1e-9 and np.linalg.norm(body.root_link.v) > 0.1


def test_a_distance_joint_keeps_the_distance_of_its_new_anchor():
    """Take the distance of a moved anchor, like ODE's DBall."""
    world, body, joint = hung('distance', anchor2=(0.0, 0.0, 0.5))
    joint.anchor = (0.0, 0.0, 1.2)
    assert joint.distance == pytest.approx(0.7)
    world.step(100)
    assert body.root_link.p == pytest.approx([0.0, 0.0, 0.5], abs=1e-9)
    with pytest.raises(sb.InvalidValueError, match='away from the anchor'):
        joint.anchor = body.root_link.p


def test_motor_axes_stay_in_the_world_on_links_and_turn():
    """Keep a world axis while both links rotate; angles count from the set value."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    table = world.add_body(sb.Sphere(0.1), motion='kinematic', angular_velocity=(2.0, 0.0, 0.0))
    body = world.add_body(sb.Sphere(0.1), position=(1.0, 0.0, 0.0))
    motor = world.add_angular_motor(
        table, body, [(0, 0, 1), (0, 1, 0)], fixed_on=['world', 'first']
    )
    still, turning = motor.axes
    still.q = 1.5
    for axis, speed in ((still, 3.0), (turning, 0.0)):
        axis.control, axis.target_velocity = 'velocity', speed
    world.step(300)
    assert still.direction == pytest.approx([0.0, 0.0, 1.0], abs=1e-12)
    assert turning.direction == pytest.approx(table.root_link.R[:, 1], abs=1e-9)
    assert still.q == pytest.approx(1.5 + 0.3 * 3.0, abs=1e-2)
    relative = body.root_link.w - table.root_link.w
    assert relative @ [0.0, 0.0, 1.0] == pytest.approx(3.0, abs=1e-9)
    # the axis is the mid-step one
    assert relative @ turning.direction == pytest.approx(0.0, abs=2.0 * 3.0 * 1e-3)
    still.direction = (2.0, 0.0, 0.0)
    assert still.direction == pytest.approx([1.0, 0.0, 0.0])
    still.q, still.upper = 0.0, 0.25
    world.step(300)
    # an integrated angle passes its stop by less than a step
    assert still.q == pytest.approx(0.25, abs=3.0 * 1e-3)
    hook = hung('hinge')[2]
    with pytest.raises(sb.StateError, match='q of joint .hook. follows'):
        hook.q = 0.0
    with pytest.raises(sb.StateError, match='direction of .*follows from its joint'):
        hook.axes[0].direction = (0, 0, 1)


def test_links_are_connected_by_joints_of_all_kinds_directly():
    """Find tree joints, constraints, motors and robots' own; not broken ones, nor distant ones."""
    world = sb.World()
    a, b, c = (world.add_body(sb.Sphere(0.1), position=(x, 0.0, 0.0)) for x in (0.0, 1.0, 2.0))
    hinge = world.add_joint('hinge', a, b)
    rope = world.add_joint('ball', b, c, tree=False)
    assert hinge.is_tree and world.are_connected(a, b) and world.are_connected(c, b.root_link)
    assert not world.are_connected(a, c) and not world.are_connected(a, None)
    assert not world.are_connected(a, b, excluding=['hinge'])
    assert not world.are_connected(a, b, excluding=['revolute'])
    assert world.are_connected(b, c, excluding=['hinge'])
    assert set(b.attached_joints) == {hinge, rope} and a.joints == []
    rope.is_broken = True
    assert not world.are_connected(b, c)
    arm = world.load_urdf('four_bar')
    assert world.are_connected(arm.link('coupler'), arm.link('rocker'))
    assert not world.are_connected(arm.link('crank'), arm.link('rocker'))
    with pytest.raises(sb.InvalidValueError, match="b = 'wall'"):
        world.are_connected(a, 'wall')
    with pytest.raises(sb.InvalidValueError, match='excluding'):
        world.are_connected(a, b, excluding='hinge')


def test_groups_switch_and_remove_their_joints_together():
    """Fall while a group is disabled, hold when enabled; forget removed joints."""
    world = sb.World()
    bodies = [world.add_body(sb.Sphere(0.1), position=(x, 0.0, 1.0)) for x in (0.0, 1.0)]
    hooks = [world.add_joint('fixed', None, body, tree=False) for body in bodies]
    group = world.joint_groups.add('hooks', hooks)
    assert list(group) == hooks and group[0] is hooks[0] and group.enabled
    group.enabled = False
    world.step(100)
    assert [body.root_link.p[2] for body in bodies] == pytest.approx([1.0 - 0.5 * G * 0.01] * 2)
    group.enabled = True
    other = pickle.loads(pickle.dumps(world))
    assert [joint.key for joint in other.joint_groups['hooks']] == [joint.key for joint in hooks]
    assert other.joint_groups['hooks'][0] is other.joint(hooks[0].key)
    world.remove_joint(hooks[0])
    assert list(group) == hooks[1:] and world.add_joint('fixed', None, bodies[0], tree=True)
    group.remove_joints()
    assert len(group) == 0 and hooks[1].key not in world.joints and len(world.joints) == 1
    assert list(world.joint_groups) == ['hooks']
    world.joint_groups.remove('hooks')
    with pytest.raises(sb.UnknownNameError, match='joint group'):
        world.joint_groups['hooks']


def test_groups_refuse_wrong_joints():
    """Add nothing if one is wrong; disable none if one is part of a tree."""
    world = sb.World()
    a, b = (world.add_body(sb.Sphere(0.1), position=(x, 0.0, 0.0)) for x in (0.0, 1.0))
    rope, hinge = world.add_joint('ball', None, b, tree=False), world.add_joint('hinge', a, b)
    group = world.joint_groups.add(None, [rope])
    assert group.name == 'group'
    with pytest.raises(sb.InvalidValueError, match="joint = 'hinge'.*World.joints"):
        group.add(hinge, 'hinge')
    assert list(group) == [rope]
    group.add(hinge)
    with pytest.raises(sb.StateError, match="'hinge' is part of a tree"):
        group.enabled = False
    assert not rope.is_broken
    with pytest.raises(sb.InvalidValueError, match='not taken'):
        world.joint_groups.add('group')
    with pytest.raises(sb.InvalidValueError, match='joints'):
        world.joint_groups.add('more', [None])


def test_tree_joints_name_constraint_joints_for_their_parameters():
    """Explain how to add a joint with an anchor, a breaking force or an ERP to set."""
    world = sb.World()
    hinge = world.add_joint('hinge', None, world.add_body(sb.Sphere(0.1)))
    for name in ('anchor', 'axis', 'break_force', 'erp', 'is_broken'):
        with pytest.raises(AttributeError, match='tree=False'):
            setattr(hinge, name, (0.0, 0.0, 1.0))
    with pytest.raises(sb.StateError, match='tree=False'):
        world.attach_joint(hinge, None, world.add_body(sb.Sphere(0.1)))
    robot = world.load_urdf('four_bar')
    with pytest.raises(sb.StateError, match='its links are fixed'):
        world.attach_joint(robot.extra_joint(0), None, robot.link('rocker'))
    ball = hung()[2]
    with pytest.raises(sb.StateError, match='no axis'):
        ball.axis = (0, 0, 1)
    with pytest.raises(sb.InvalidValueError, match='anchor'):
        ball.anchor = 'there'
    cross = hung('universal', axis=(1, 0, 0), axis2=(0, 1, 0))[2]
    cross.axis2 = (0.0, 1.0, 1.0)
    assert cross.axis2 == pytest.approx(np.array([0.0, 1.0, 1.0]) / np.sqrt(2.0))
    with pytest.raises(sb.InvalidValueError, match='not along axis'):
        cross.axis2 = (1, 0, 0)


@pytest.mark.parametrize('of_any_type', [False, True])
def test_positions_of_unknown_joints_are_refused(of_any_type):
    """Name a misspelt joint, also if positions of all joint types are allowed."""
    robot = sb.World().load_urdf('arm')
    [name, *_] = robot.joint_names
    with pytest.raises(sb.UnknownNameError, match=f'{name}x.*{name}'):
        put_at_start(robot, {f'{name}x': 0.1}, of_any_type=of_any_type)
