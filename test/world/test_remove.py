"""Robots and bodies removed from a running world."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.description import sensors_from_mapping
from sim_bridge.foundation.errors import InvalidValueError, StateError, UnknownNameError

ARM = 'urdf/arm.urdf'
NOISY_GYRO = sensors_from_mapping(
    {
        'noisy': {
            'type': 'gyro',
            'link': 'box',
            'update_rate': 100.0,
            'noise': {'angular_velocity': {'stddev': 0.1}},
        }
    }
)


def put_box(world: sb.World, name: str, x: float, z: float = 0.1) -> sb.Robot:
    """Add a box standing on the ground at a place, or beginning above it [m]."""
    return world.add_body(sb.Box((0.2, 0.2, 0.2)), name, mass=1.0, position=(x, 0.0, z))


def busy_world(has_guest: bool) -> sb.World:
    """Return a world with robots of all kinds, with the guest added between others."""
    world = sb.World(seed=3)
    world.add_ground()
    put_box(world, 'low', 2.0)
    if has_guest:
        world.load_urdf(ARM, name='guest', position=(0.0, -3.0, 1.0))
        put_box(world, 'guest_box', -2.0)
    put_box(world, 'high', 2.03, 0.35)
    world.load_urdf(
        'urdf/floating_box.urdf', name='noisy', position=(4.0, 0.0, 2.0), sensors=NOISY_GYRO
    )
    arm = world.load_urdf(ARM, name='arm', position=(0.0, 3.0, 1.0))
    arm.u = [1.0, -2.0, 0.5, 0.0, 0.3, 0.0, 0.1]
    return world


def test_others_go_on_bit_for_bit():
    """Leave the same bits as without the guests: contacts, sensors, efforts and all."""
    alone, crowded = busy_world(False), busy_world(True)
    for world in (alone, crowded):
        world.step(150)
    crowded.remove('guest')
    crowded.step(50)
    crowded.remove(crowded.robots['guest_box'])
    crowded.step(50)
    alone.step(100)
    assert len(alone.contacts) == 8
    assert list(crowded.robots) == list(alone.robots)
    assert crowded.state_hash() == alone.state_hash()
    noisy = [world.robots['noisy'].device('noisy').w for world in (alone, crowded)]
    assert noisy[0].any()
    np.testing.assert_array_equal(*noisy)


def test_a_body_on_a_removed_one_falls():
    """Feel no effect of a removed body: no contact, and gravity at once."""
    world = sb.World()
    table = world.add_body(
        sb.Box((1.0, 1.0, 0.2)), 'table', motion='static', position=(0.0, 0.0, 0.9)
    )
    box = put_box(world, 'box', 0.0, 1.1)
    world.add_ground()
    other = put_box(world, 'other', 3.0)
    world.step(20)
    height = box.root_link.p[2]
    assert len(world.contacts) == 8
    world.remove(table)
    touching = [
        {contact.link_a.robot.name, contact.link_b.robot.name} for contact in world.contacts
    ]
    assert touching == [{'other', 'ground'}] * 4
    np.testing.assert_allclose(box.root_link.dv, [0.0, 0.0, -9.81], atol=1e-12)
    np.testing.assert_allclose(other.root_link.dv, 0.0, atol=1e-9)
    world.step(100)
    assert box.root_link.p[2] - height == pytest.approx(-0.5 * 9.81 * 0.1**2, rel=1e-9)


def test_remaining_contacts_keep_their_forces():
    """Remove only the removed body's share from a body's contact forces."""
    world = sb.World()
    world.add_ground()
    low, load = put_box(world, 'low', 0.0), put_box(world, 'load', 0.0, 0.3)
    world.step(50)
    world.remove(load)
    # until the next step the ground pushes as in the last one, with the weight of both
    np.testing.assert_allclose(low.root_link.dv, [0.0, 0.0, 9.81], atol=1e-6)
    world.step(2)
    np.testing.assert_allclose(low.root_link.dv, 0.0, atol=1e-6)


@pytest.mark.parametrize('tree', [True, False])
def test_joints_go_with_it(tree):
    """Free attached bodies with their motion; leave no joint, and no trace on other bodies."""
    world = sb.World()
    crane = world.add_body(sb.Sphere(0.05), 'crane', motion='static', position=(0.0, 0.0, 2.0))
    load = world.add_body(sb.Sphere(0.1), 'load', mass=2.0, position=(0.5, 0.0, 2.0))
    world.add_joint('hinge', crane, load, anchor=(0.0, 0.0, 2.0), axis=(0.0, 1.0, 0.0), tree=tree)
    world.step(300)
    p, v = load.root_link.p, load.root_link.v
    assert np.linalg.norm(v) > 0.5
    world.remove(crane)
    assert not world.joints
    np.testing.assert_allclose(load.root_link.p, p, atol=1e-12)
    np.testing.assert_allclose(load.root_link.v, v, atol=1e-12)
    world.step(100)
    fall = v * 0.1 + [0.0, 0.0, -0.5 * 9.81 * 0.1**2]
    np.testing.assert_allclose(load.root_link.p, p + fall, atol=1e-9)


def test_hanging_bodies_can_be_removed():
    """Remove the end of a chain of bodies, then its middle."""
    world = sb.World()
    bodies = [
        world.add_body(sb.Sphere(0.05), f'bob_{n}', mass=1.0, position=(0.2 * n, 0.0, 1.0))
        for n in range(1, 4)
    ]
    for first, second in zip([None, *bodies], bodies, strict=False):
        world.add_joint(
            'ball', first, second, anchor=second.root_link.p - np.array([0.1, 0.0, 0.0])
        )
    world.step(50)
    world.remove(bodies[2])
    world.step(50)
    world.remove(bodies[0])
    assert list(world.joints) == []
    acceleration = bodies[1].root_link.dv
    np.testing.assert_allclose(acceleration, [0.0, 0.0, -9.81], atol=1e-9)


def test_settings_stay_with_their_robots():
    """Renumber the remaining robots, and keep their settings; a namesake inherits none."""
    world = sb.World()
    world.materials.add(sb.Material('ice', friction=0.0))
    names = ('first', 'second', 'third')
    first, second, third = (put_box(world, name, float(n)) for n, name in enumerate(names))
    third.geometries[0].material = 'ice'
    third.geometries[0].surface_velocity = (0.5, 0.0, 0.0)
    second.geometries[0].enabled = False
    world.exclude(first.root_link, third.root_link)
    world.step()
    world.remove(first)
    assert not second.geometries[0].enabled
    assert third.geometries[0].enabled
    assert third.geometries[0].material.name == 'ice'
    assert third.geometries[0].surface_velocity.tolist() == [0.5, 0.0, 0.0]
    put_box(world, 'first', 2.0, 0.29)
    world.step()
    assert len(world.contacts) == 4, 'the new one touches what the old one did not'


HANDLES = {
    'q': lambda robot: robot.q,
    'u': lambda robot: robot.command_effort([0.0] * 7),
    'limits': lambda robot: robot.lower,
    'hold': lambda robot: robot.hold,
    'pose': lambda robot: robot.set_base_pose((0.0, 0.0, 0.0)),
    'link': lambda robot: robot.links[-1].p,
    'push': lambda robot: robot.links[-1].add_force((1.0, 0.0, 0.0)),
    'joint': lambda robot: robot.joint('joint_1').q,
    'control': lambda robot: setattr(robot.joint('joint_1'), 'control', 'velocity'),
    'force': lambda robot: robot.device('wrist_ft').f,
    'truth': lambda robot: robot.device('imu').gyro.truth.w,
    'orientation': lambda robot: robot.device('imu').orientation,
    'dynamics': lambda robot: sb.dynamics.mass_matrix(robot),
    'geometry': lambda robot: robot.geometries[0].enabled,
    'motion': lambda robot: setattr(robot, 'motion', 'dynamic'),
}


@pytest.mark.parametrize('use', HANDLES.values(), ids=HANDLES.keys())
def test_handles_of_removed_robots_raise(use):
    """Raise StateError, naming the robot, for all but its description."""
    world = sb.World()
    arm = world.load_urdf(ARM)
    world.step()
    world.remove(arm)
    with pytest.raises(StateError, match=r"'arm' was removed from its world"):
        use(arm)
    assert (arm.name, len(arm.joint_names), arm.link('tool_flange').m) == ('arm', 7, 0.5)
    world.step()


def test_names_are_free_again_but_snapshots_do_not_fit():
    """Distinguish a new robot from a removed one, even with the same name and indices."""
    world = sb.World()
    world.load_urdf(ARM)
    world.load_urdf('urdf/pendulum.urdf')
    snapshot = world.save()
    world.restore(snapshot)
    world.remove('arm')
    with pytest.raises(InvalidValueError, match='there are now: pendulum'):
        world.restore(snapshot)
    world.load_urdf(ARM)
    world.remove('pendulum')
    world.load_urdf('urdf/pendulum.urdf')
    with pytest.raises(InvalidValueError, match='since robots were last added or removed'):
        world.restore(snapshot)


def test_only_existing_robots_can_be_removed():
    """Refuse unknown names with a hint, robots of other worlds, and removed ones."""
    world, other = sb.World(), sb.World()
    box = put_box(world, 'crate', 0.0)
    with pytest.raises(UnknownNameError, match="Did you mean 'crate'"):
        world.remove('crat')
    for wrong in (put_box(other, 'crate', 0.0), None, box.root_link):
        with pytest.raises(InvalidValueError, match='a robot or body of this world'):
            world.remove(wrong)
    world.remove(box)
    with pytest.raises(StateError, match='was removed'):
        world.remove(box)
    assert not world.robots
    world.step()


def test_reset_after_a_removal():
    """Reset to the start with the remaining robots, without contacts."""
    alone, crowded = busy_world(False), busy_world(True)
    for world in (alone, crowded):
        world.step(100)
    crowded.remove('guest_box')
    crowded.remove('guest')
    for world in (alone, crowded):
        world.reset(time=True)
        world.step(100)
    assert crowded.state_hash() == alone.state_hash()
