"""Resets return worlds to the bits of fresh ones."""

from __future__ import annotations

import numpy as np
import pytest
from shipped import drive, FOLDER, path_of
import yaml

import sim_bridge as sb

KINDS = ('ball', 'hinge', 'slider', 'universal', 'hinge2', 'piston', 'planar', 'fixed', 'distance')
WITHOUT_AXES = ('ball', 'fixed', 'distance')

SCENE = """
world:
  sleep: {linear: 0.01, angular: 0.01, steps: 5}
  objects:
    floor: {motion: static, shapes: [{plane: {}}]}
    first: {box: [0.1, 0.2, 0.3], position: [0, 0, 0.15], linear_velocity: [0.2, 0, 0],
            density: 200, sensors: {
              imu: {type: imu, update_rate: 200, noise: {linear_acceleration: {stddev: 0.1}}},
              bumper: {type: contact}}}
    second: {box: [0.1, 0.2, 0.3], position: [0.5, 0, 0.16], angular_velocity: [0.3, 0.2, 0.1],
             density: 300, sensors: {
               scan: {type: lidar, horizontal: {samples: 8, min_angle: -3, max_angle: 3},
                      range: {min: 0.1, max: 9}, noise: {range: {stddev: 0.01}}}}}
    sleeper: {box: [0.2, 0.2, 0.2], position: [3, 0, 0.1]}
"""


def joined(kind: str, **options) -> sb.World:
    """Return moving boxes on the ground, joined, with noisy sensors, beside a body at rest."""
    world = sb.World()
    world.load_scene(yaml.safe_load(SCENE))
    if kind == 'distance':
        options['anchor2'] = (0.6, 0, 0.2)
    if kind in ('universal', 'hinge2'):
        options['axis2'] = (0, 1, 0)
    if kind == 'hinge2':
        options['suspension'] = (3e3, 90.0)
    bodies = world.robots['first'], world.robots['second']
    anchor, axis = (0.25, 0, 0.2), (0, 0, 1)
    joint = world.add_joint(kind, *bodies, anchor=anchor, axis=axis, name='joint', **options)
    for axis in joint.axes if kind not in WITHOUT_AXES else ():
        axis.lower, axis.upper = -0.2, 0.3
        axis.friction, axis.damping = 0.02, 0.1
        axis.stiffness, axis.control = 3.0, 'servo'
        axis.kp, axis.kd, axis.max_effort = 20.0, 0.5, 5.0
    return world


def command(world: sb.World) -> None:
    """Set a target for every servo, push every robot in the next step, drive crawlers."""
    for joint in world.joints.values():
        for axis in () if joint.type in WITHOUT_AXES else joint.axes:
            axis.u = 0.3
            if axis.control == 'servo':
                axis.target_position = 0.1
    for robot in world.robots.values():
        robot.u = [0.2] * len(robot.joint_names)
        if not robot.fixed_base:
            robot.root_link.add_force((0.0, 1.0, 0.0))
        if robot.crawlers:
            drive(robot, 0.3, 0.2)


def state_of(world: sb.World) -> str:
    """Return everything that can be read: state, samples, sites and report."""
    devices = [device.save() for device in world.simulation.cache.devices]
    poses = [link.T.tolist() for robot in world.robots.values() for link in robot.links]
    return world.state_hash() + repr((devices, poses, world.report))


def check_as_fresh(used: sb.World, fresh: sb.World, steps: int = 60) -> None:
    """Step a world, reset it, and compare it with a fresh one, also in later steps."""
    first = state_of(fresh)
    for _ in range(2):
        command(used)
        used.step(steps)
        assert state_of(used) != first
        used.reset(time=True)
        assert state_of(used) == first
    for _ in range(2):
        command(used)
        command(fresh)
        used.step(steps)
        fresh.step(steps)
        assert state_of(used) == state_of(fresh)


@pytest.mark.parametrize('tree', [False, None], ids=['constraint', 'tree'])
@pytest.mark.parametrize('kind', KINDS)
def test_a_reset_world_has_the_bits_of_a_fresh_one(kind, tree):
    """Reset moving bodies, joined by every kind of joint."""
    check_as_fresh(joined(kind, tree=tree), joined(kind, tree=tree))


@pytest.mark.parametrize(
    'options',
    [{'erp': 0.3, 'cfm': 1e-4}, {'compliance': sb.Compliance((1e4,) * 6, (10.0,) * 6)}],
    ids=['cfm', 'compliance'],
)
def test_a_compliant_joint_resets(options):
    """Reset a joint that yields."""
    check_as_fresh(*(joined('hinge', tree=False, **options) for _ in range(2)))


def test_a_broken_joint_resets():
    """Reset a joint that breaks."""

    def build() -> sb.World:
        world = joined('hinge', tree=False)
        world.joint('joint').break_force = 1.0
        return world

    used = build()
    check_as_fresh(used, build())
    assert used.broken_joints == ['joint']


def test_the_joints_of_robots_in_motion_reset():
    """Reset tree joints that took velocity from robots at their start, and one that had moved."""

    def build(steps: int) -> sb.World:
        world = sb.World(gravity=(0.0, 0.0, 0.0))
        bodies = [
            world.add_body(
                sb.Box((0.1, 0.2, 0.3)), mass=1.0, position=(k, 0, 0), linear_velocity=(0, k, 0)
            )
            for k in range(4)
        ]
        for k in range(3):
            world.add_joint('hinge', *bodies[k : k + 2], anchor=(k + 0.5, 0, 0), axis=(0, 0, 1))
            world.step(steps)
        return world

    used = build(0)
    check_as_fresh(used, build(0))
    used.reset(time=True)
    # of the four bodies alone
    np.testing.assert_allclose(used.momentum(), [[0.0, 6.0, 0.0], [0.0, 0.0, 14.0]], atol=1e-12)
    late = build(20)
    late.reset(time=True)
    again = state_of(late)
    late.step(50)
    late.reset(time=True)
    assert state_of(late) == again


def test_a_reset_forgets_efforts_at_the_mounting_of_a_robot():
    """Mount a robot while efforts act in it; resets drop the efforts."""
    world = sb.World()
    robot = world.load_urdf(path_of('quadruped'), position=(0.0, 0.0, 1.0))
    robot.u = [1.0] * len(robot.u)
    world.step(20)
    world.add_joint('fixed', None, robot.root_link, anchor=(0.0, 0.0, 1.0))
    world.reset()
    assert not robot.u.any()


@pytest.mark.parametrize('name', ['clock', 'rod', 'excavator'])
def test_an_openplx_scene_resets(name):
    """Reset a scene with motors, signals and mates."""

    def build() -> sb.World:
        world = sb.World()
        world.load_openplx(FOLDER / f'{name}.openplx')
        return world

    check_as_fresh(build(), build(), 50)


def test_an_angular_motor_resets():
    """Reset a motor beside a ball joint."""

    def build() -> sb.World:
        world = joined('ball', tree=False)
        first, second = world.robots['first'], world.robots['second']
        motor = world.add_angular_motor(first, second, axes=[(1, 0, 0), (0, 1, 0)], name='motor')
        for axis in motor.axes:
            axis.control, axis.kp, axis.kd, axis.max_effort = 'servo', 10.0, 0.1, 3.0
        return world

    check_as_fresh(build(), build())


@pytest.mark.parametrize('name', ['four_bar', 'delta', 'quadruped', 'hand', 'tracked_vehicle'])
def test_a_shipped_robot_resets(name):
    """Reset robots with loops, mimic joints, contacts and crawlers."""

    def build() -> sb.World:
        world = sb.World()
        world.add_ground()
        world.load_urdf(path_of(name), position=(0.0, 0.0, 0.3))
        return world

    check_as_fresh(build(), build(), 100)
