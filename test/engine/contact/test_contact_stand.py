"""Stable stands: towers, unequal pairs, a gripper's load, a robot on its feet."""

from __future__ import annotations

from pathlib import Path

from contact_worlds import add_block, G, grounded
import numpy as np
import pytest
from robots import joint, link, robot
import yaml

import sim_bridge as sb

URDF = Path(__file__).parents[3] / 'urdf'
GRIPPER = """
<robot name="gripper">
  <link name="world"/>
  <link name="left"><inertial><mass value="0.2"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.02 0.04 0.06"/></geometry></collision></link>
  <link name="right"><inertial><mass value="0.2"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="0.02 0.04 0.06"/></geometry></collision></link>
  <joint name="left_slide" type="prismatic"><parent link="world"/><child link="left"/>
    <origin xyz="-0.07 0 1"/><axis xyz="1 0 0"/><limit lower="-0.1" upper="0.1" effort="100"
    velocity="1"/></joint>
  <joint name="right_slide" type="prismatic"><parent link="world"/><child link="right"/>
    <origin xyz="0.07 0 1"/><axis xyz="-1 0 0"/><limit lower="-0.1" upper="0.1" effort="100"
    velocity="1"/></joint>
</robot>
"""


def lifts(world):
    """Return each contact's force along z on the upper body [N]."""
    return np.abs(world.contacts.forces[:, 2])


def creep(world, robots, steps):
    """Step; return the greatest displacement of the robots' roots [m]."""
    before = [robot.root_link.p for robot in robots]
    world.step(steps)
    return max(
        np.linalg.norm(robot.root_link.p - p) for robot, p in zip(robots, before, strict=True)
    )


@pytest.mark.parametrize('solver', ['direct', 'split'])
def test_tower_of_ten_boxes_stands(solver):
    """Fall by a millimetre each, come to rest, and stay within a micrometre for 5 s."""
    world = grounded(solver=solver)
    size = (0.2, 0.2, 0.2)
    boxes = [add_block(world, size=size, lift=0.201 * k + 0.001) for k in range(10)]
    world.step(1000)
    assert creep(world, boxes, 5000) < 1e-6
    assert boxes[-1].root_link.p[2] == pytest.approx(1.9, abs=1e-6)
    report = world.report
    assert report.converged
    assert report.residual <= report.tolerance
    for height in range(10):
        above = world.contacts.positions[:, 2] < 0.2 * height + 0.01
        above &= world.contacts.positions[:, 2] > 0.2 * height - 0.01
        assert lifts(world)[above].sum() == pytest.approx((10 - height) * 2.0 * G, rel=1e-6)


@pytest.mark.parametrize('ratio', [1e-3, 1.0, 1e3, 1e5])
def test_pair_of_unequal_boxes_stands(ratio):
    """Carry a box much heavier, or lighter, than the one below."""
    world = grounded()
    boxes = [add_block(world, mass=mass, lift=0.1 * k) for k, mass in enumerate((1.0, ratio))]
    world.step(200)
    assert creep(world, boxes, 2000) < 1e-9
    assert world.report.residual <= 1e-9
    on_ground = world.contacts.positions[:, 2] < 0.05
    assert lifts(world)[on_ground].sum() == pytest.approx((1.0 + ratio) * G, rel=1e-9)


def test_corners_share_a_boxs_weight():
    """Give each of four redundant corners a quarter, and no corner a push against another."""
    world = grounded()
    add_block(world)
    world.step(100)
    assert len(world.contacts) == world.contact_count == 4
    assert lifts(world) == pytest.approx([0.5 * G] * 4, abs=1e-9)
    assert np.abs(world.contacts.forces[:, :2]).max() < 1e-7


def test_placed_box_pushes_straight_down():
    """Let no corner push against another, from the first step on."""
    world = grounded()
    add_block(world, size=(0.1, 0.1, 0.1))
    for _ in range(3):
        world.step()
        assert lifts(world) == pytest.approx([0.5 * G] * 4, abs=1e-7)
        assert np.abs(world.contacts.forces[:, :2]).max() < 1e-7


@pytest.mark.parametrize('solver', ['direct', 'split'])
def test_towers_do_not_starve_each_other(solver):
    """Solve every island, at any number of islands."""
    world = grounded(solver=solver)
    for k in range(6):
        for level in range(8):
            add_block(
                world,
                size=(0.2, 0.2, 0.2),
                mass=1.0 if level % 2 else 10.0,
                at=(1.0 * k, 0.0),
                lift=0.201 * level,
            )
    for _ in range(150):
        world.step()
        assert world.report.residual < 0.1
        assert world.report.penetration < 1e-3
    assert np.max(world.contacts.depths) < 1e-4


def test_eccentric_load_is_shared_by_levers():
    """Give more load to the corners near the centre of mass, by the lever rule."""
    world = grounded()
    world.add_body(
        sb.Box((0.4, 0.4, 0.1)),
        mass=2.0,
        inertia=(0.03, 0.03, 0.05),
        center_of_mass=(0.1, 0.0, 0.0),
        position=(0.0, 0.0, 0.05),
    )
    world.step(200)
    near = world.contacts.positions[:, 0] > 0.0
    assert lifts(world)[near] == pytest.approx([0.375 * 2.0 * G] * 2, rel=1e-6)
    assert lifts(world)[~near] == pytest.approx([0.125 * 2.0 * G] * 2, rel=1e-6)


@pytest.mark.parametrize('solver', ['direct', 'iterative', 'split'])
def test_gripper_holds_by_friction(solver):
    """Hold a block while 2 mu F exceeds its weight, and let it slip below."""
    world = sb.World(solver=solver)
    world.set_contact_material('default', 'default', sb.ContactMaterial(friction=0.5))
    gripper = world.load_urdf(GRIPPER)
    block = world.add_body(sb.Box((0.1, 0.04, 0.04)), mass=1.0, position=(0.0, 0.0, 1.0))
    gripper.q = [0.01, 0.01]
    gripper.u = [1.5 * G, 1.5 * G]  # 2 mu F = 1.5 m g
    world.step(100)
    assert creep(world, [block], 2000) < (1e-4 if solver == 'iterative' else 1e-6)
    gripper.u = [0.9 * G, 0.9 * G]
    world.step(100)
    assert block.root_link.v[2] <= -0.1 * G * 0.1 * 0.999


def stand(world):
    """Put the quadruped on its feet; return it and the function holding its pose."""
    robot = world.load_urdf(URDF / 'quadruped.urdf')
    parameters = yaml.safe_load((URDF / 'quadruped.params.yaml').read_text())
    gains = parameters['/**/pd_controller']['ros__parameters']
    robot.q = gains['positions']
    lowest = min(
        world.distance(geometry, world.robots['ground'].root_link).distance
        for geometry in robot.geometries
    )
    robot.set_base_pose(robot.root_link.p - [0.0, 0.0, lowest])
    wanted, stiffness, damping = (
        np.array(gains[key]) for key in ('positions', 'stiffness', 'damping')
    )

    def hold(steps):
        """Step with the PD law, computed at every step."""
        for _ in range(steps):
            robot.u = stiffness * (wanted - robot.q) - damping * robot.dq
            world.step()

    return robot, hold


@pytest.mark.parametrize('solver', ['direct', 'iterative', 'split'])
def test_quadruped_stands(solver):
    """Carry the weight on four feet, with every solver."""
    world = grounded(solver=solver)
    robot, hold = stand(world)
    hold(1500)
    slack = 1e-6 if solver == 'direct' else 1e-2
    assert lifts(world).sum() == pytest.approx(robot.mass * G, rel=slack)
    assert np.abs(world.contacts.forces.sum(axis=0)[:2]).max() < slack * robot.mass * G
    before = robot.root_link.p
    hold(500)
    assert np.linalg.norm(robot.root_link.p - before) < 5e-5


def test_force_sensors_read_the_contact_forces():
    """Read each foot's contact force, less the foot's own weight."""
    world = grounded()
    robot, hold = stand(world)
    hold(1500)
    feet = robot.devices(sb.ForceSensor)
    assert len(feet) == 4
    for foot in feet:
        on_foot = [c for c in world.contacts if foot.link in (c.link_a, c.link_b)]
        assert on_foot
        push = sum(c.force if c.link_a.robot is robot else -c.force for c in on_foot)
        felt = foot.link.R @ foot.truth.f
        carried = foot.link.m * np.array([0.0, 0.0, G])
        assert felt == pytest.approx(push - carried, rel=1e-6, abs=1e-6 * np.linalg.norm(push))
    imu = robot.devices(sb.ImuSensor)[0]
    assert np.linalg.norm(imu.dv) == pytest.approx(G, rel=1e-4)


def test_arm_of_a_fixed_robot_lies_on_the_ground():
    """Touch the ground with the arm of a robot whose base is welded to the world."""
    world = grounded()
    arm = link('arm', 2.0, (0.2, 0.0, 0.0)).replace(
        '</link>',
        '<collision><origin xyz="0.5 0 0"/><geometry><sphere radius="0.1"/></geometry>'
        '</collision></link>',
    )
    hinge = joint('hinge', 'world', 'arm', 'continuous', (0, 1, 0), (0, 0, 0.1))
    arm = world.load_urdf(robot(link('world', 0.0), arm, hinge)).link('arm')
    world.step(200)
    push = world.contacts.force_on(arm)
    # about the hinge: friction, which may jam the arm, at 0.1 m, the ground at 0.5 m
    assert 0.5 * push[2] + 0.1 * push[0] == pytest.approx(2.0 * G * 0.2, rel=1e-9)
    np.testing.assert_allclose(arm.wc, (0.2, 0.0, 0.1), atol=1e-9)


def test_force_on_robots_links_and_geometries():
    """Share a stack's weight between feet by the load's place; inner forces cancel."""
    world = grounded()
    feet = [
        sb.Placed(
            sb.Capsule(0.05, 0.4),
            position=(x, 0.0, 0.0),
            orientation=(0.5**0.5, 0.0, 0.0, 0.5**0.5),
        )
        for x in (-0.4, 0.4)
    ]
    table = world.add_body(
        [*feet, sb.Placed(sb.Box((1.0, 0.4, 0.02)), position=(0.0, 0.0, 0.06))],
        mass=3.0,
        center_of_mass=(0.2, 0.0, 0.0),
        inertia=(0.1, 0.1, 0.1),
        position=(0.0, 0.0, 0.05),
    )
    box = add_block(world, mass=2.0, at=(-0.4, 0.0), lift=0.12)
    world.step(300)
    contacts, ground = world.contacts, world.robots['ground']
    left, right, plate = (contacts.force_on(each)[2] for each in table.geometries)
    # moments about the other foot
    assert left == pytest.approx((3.0 * 0.2 + 2.0 * 0.8) * G / 0.8, rel=1e-6)
    assert right == pytest.approx(3.0 * 0.6 * G / 0.8, rel=1e-6)
    assert plate == pytest.approx(-2.0 * G, rel=1e-6)
    assert contacts.force_on(table)[2] == pytest.approx(3.0 * G, rel=1e-6)
    np.testing.assert_array_equal(contacts.force_on(table), contacts.force_on(table.root_link))
    assert contacts.force_on(table, by=ground)[2] == pytest.approx(5.0 * G, rel=1e-6)
    assert contacts.force_on(box, by=table.geometries[2])[2] == pytest.approx(2.0 * G, rel=1e-6)
    assert not contacts.force_on(box, by=ground).any()
    # a robot folding upon itself
    low, high = (
        link(name, 1.0, (0, 0, 0)).replace(
            '</link>',
            '<collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>',
        )
        for name in ('low', 'high')
    )
    world = grounded()
    own = world.load_urdf(
        robot(
            low,
            link('mid', 1.0),
            high,
            joint('a', 'low', 'mid', 'prismatic', (1, 0, 0)),
            joint('b', 'mid', 'high', 'prismatic', (0, 0, 1)),
        ),
        position=(0.0, 0.0, 0.1),
        joint_positions={'b': 0.201},
    )
    world.step(300)
    contacts, (low, _, high) = world.contacts, own.links
    assert contacts.force_on(high)[2] > G / 2
    assert contacts.force_on(own)[2] == pytest.approx(3.0 * G, rel=1e-6)
    np.testing.assert_allclose(
        contacts.force_on(low) + contacts.force_on(high), contacts.force_on(own), atol=1e-9
    )
