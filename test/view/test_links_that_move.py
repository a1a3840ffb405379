"""Movable links of a robot on a fixed base: mouse drag, and drawn forces."""

from __future__ import annotations

import numpy as np
import pytest
from support.page_client import PageClient

import sim_bridge as sb
from sim_bridge.view.drag import Drag

STEP = 1e-3
WEIGHT = 3.0 * 9.81  # N
INERTIA = '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/>'
TIP = (0.06, 0.08, 0.1)
PRESS = f"""<robot name="press">
  <link name="base"><inertial><mass value="50"/>{INERTIA}</inertial>
    <collision><geometry><box size="0.3 0.31 0.32"/></geometry></collision></link>
  <link name="ram"><inertial><mass value="3"/>{INERTIA}</inertial></link>
  <link name="tip">
    <collision><geometry><box size="{TIP[0]} {TIP[1]} {TIP[2]}"/></geometry></collision></link>
  <joint name="down" type="prismatic"><parent link="base"/><child link="ram"/>
    <origin xyz="0.4 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="0" velocity="1"/></joint>
  <joint name="fixed" type="fixed"><parent link="ram"/><child link="tip"/>
    <origin xyz="0 0 -0.3"/></joint>
</robot>"""


@pytest.fixture(params=['ground first', 'ground last'])
def world(request):
    """Return a world whose press has fallen to the ground; bodies in both orders."""
    world = sb.World(STEP)
    if request.param == 'ground first':
        world.add_ground()
    world.load_urdf(PRESS, position=(0.0, 0.0, 0.4), base='fixed')
    if request.param == 'ground last':
        world.add_ground()
    world.step(500)
    return world


def test_contact_forces_push_the_link_that_moves(world):
    """Draw the force of the ground on the tip upwards, as large as the carried weight."""
    with world.view(browser=False) as viewer, PageClient(viewer.url) as client:
        client.wait_for('Contact forces')
        client.set('Contact forces', True)

        def arrows():
            viewer.sync()
            return client.nodes['/world/forces']['points'].reshape(-1, 2, 3)

        client.wait('arrows', lambda: len(arrows()))
        force = np.diff(arrows(), axis=1).sum(axis=(0, 1)) / client.widgets['Force scale']['value']
        assert force == pytest.approx((0.0, 0.0, WEIGHT), rel=1e-3, abs=1e-2)


def test_a_pull_moves_the_tip_to_its_target_and_the_base_nowhere(world):
    """Lift the massless tip from the page; the base stays in place."""
    tip, base = world.robots['press'].link('tip'), world.robots['press'].link('base')
    with world.view(browser=False, speed=0.0) as viewer, PageClient(viewer.url) as client:

        def found(size):
            viewer.sync()
            return client.box(size)

        name, number, place = client.wait('the tip', lambda: found(TIP))
        target = place + (0.0, 0.0, 0.3)
        client.drag(name, number, 'start', place, place)
        client.drag(name, number, 'update', place, target)

        def rises():
            world.step(5)
            # bound: extension of this spring under the weight
            return abs(tip.p[2] - target[2]) < 0.1

        client.wait('the tip at its target', rises)
        client.drag(name, number, 'end', place, target)

        def falls():
            world.step(5)
            return tip.p[2] < place[2] + 0.02

        client.wait('the tip on the ground', falls)
        before = base.p
        name, number, place = client.wait('the base', lambda: found((0.3, 0.31, 0.32)))
        client.drag(name, number, 'start', place, place)
        client.drag(name, number, 'update', place, place + (0.0, 0.0, 1.0))
        client.set('Speed', 0.5)
        client.wait('what came after', lambda: (viewer.sync(), viewer.speed == 0.5)[1])
        assert not len(world.simulation.cache.last_applied.pushes())
        assert (base.p == before).all()


def test_a_spring_comes_to_rest_where_it_bears_the_weight():
    """Hold a ram of 3 kg by a spring of 12 rad/s: the weight stretches it by g/12²."""
    world = sb.World(STEP)
    robot = world.load_urdf(PRESS, base='fixed')
    tip = robot.link('tip')
    drag, target = Drag(world), tip.p + (0.0, 0.0, 0.2)
    drag.pull(tip, (0.0, 0.0, 0.0), target)
    for _ in range(6000):
        drag.push()
        world.step()
    assert tip.p[2] == pytest.approx(target[2] - 9.81 / 12.0**2, abs=1e-4)
    assert abs(robot.dq[0]) < 1e-4


def test_immovable_links_cannot_be_dragged():
    """Name a link of the fixed base, and the movable links."""
    world = sb.World(STEP)
    robot = world.load_urdf(PRESS, base='fixed')
    with pytest.raises(sb.SimBridgeError, match=r"'base'.*can move"):
        Drag(world).pull(robot.link('base'), np.zeros(3), np.zeros(3))


def test_motion_is_that_of_the_nearest_joint_that_moves():
    """Distinguish links on fixed, kinematic and free bases."""
    from sim_bridge.robots.body_type import motion_of_link

    world = sb.World(STEP)
    fixed = world.load_urdf(PRESS, name='fixed', base='fixed')
    carried = world.load_urdf(PRESS, name='carried', position=(2.0, 0.0, 0.0))
    carried.motion = 'kinematic'
    free = world.load_urdf(PRESS, name='free', position=(4.0, 0.0, 0.0))

    def motions(robot):
        return [motion_of_link(world.simulation, link.slot) for link in robot.links]

    assert motions(fixed) == ['static', 'dynamic', 'dynamic']
    assert motions(carried) == ['kinematic', 'dynamic', 'dynamic']
    assert motions(free) == ['dynamic'] * 3
