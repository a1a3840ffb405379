"""While nothing moves, contacts and their rows are reused; no bit of any motion depends on it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import sim_bridge as sb


def room() -> sb.World:
    """Return stacked boxes, a ball, a hull and a hand pressing on a box, at rest."""
    world = sb.World()
    world.add_ground()
    for k in range(3):
        world.add_body(
            sb.Box((0.3, 0.3, 0.2)), f'box{k}', mass=2.0, position=(0.001 * k, 0.0, 0.1 + 0.2 * k)
        )
    world.add_body(sb.Sphere(0.1), 'ball', mass=1.0, position=(1.0, 0.0, 0.1))
    corners = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (0.0, 0.2)])
    world.add_body(sb.ConvexHull(corners), 'hull', mass=1.0, position=(2.0, 0.0, 0.0))
    world.load_urdf(
        """
        <robot name="hand"><link name="world"/><link name="palm">
        <inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0"
        iyz="0"/></inertial><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>
        </link><joint name="lift" type="prismatic"><parent link="world"/><child link="palm"/>
        <origin xyz="0 0 0.8"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="100"
        velocity="1"/></joint></robot>""",
        base='fixed',
    )
    joint = world.robots['hand'].joint('lift')
    joint.control, joint.kp, joint.kd, joint.target_position = 'servo', 100.0, 20.0, -0.2
    return world


def is_kept(world: sb.World) -> bool:
    """Return whether a step searches no contacts."""
    scratch = next(
        part
        for part in world.simulation.cache.handles.probe.parts
        if type(part).__name__ == 'CollisionScratch'
    )
    before = scratch.counts.copy()
    world.step()
    return bool((scratch.counts == before).all())


def weigh(world: sb.World) -> None:
    """Change a mass."""
    world.robots['box1'].root_link.m = 3.0


def grease(world: sb.World) -> None:
    """Change the friction of all contacts, in one direction only."""
    world.set_contact_material(
        'default', 'default', sb.ContactMaterial(friction=0.4, friction2=0.3)
    )


def stiffen(world: sb.World) -> None:
    """Change the gains of the hand."""
    world.robots['hand'].joint('lift').kp = 200.0


def soften(world: sb.World) -> None:
    """Make all contacts compliant."""
    spring = sb.ContactMaterial(stiffness=1e5, damping=1e3)
    world.set_contact_material('default', 'default', spring)


def lift(world: sb.World) -> None:
    """Lift the hand."""
    world.robots['hand'].joint('lift').target_position = 0.1


def push(world: sb.World) -> None:
    """Push a box aside."""
    world.robots['box2'].root_link.add_force((5.0, 0.0, 0.0))


def disable(world: sb.World) -> None:
    """Disable the lowest box' geometry."""
    world.robots['box0'].geometries[0].enabled = False


def sweep(world: sb.World) -> None:
    """Solve iteratively."""
    world.solver = 'iterative'


def tilt(world: sb.World) -> None:
    """Tilt gravity."""
    world.gravity = (1.0, 0.0, -9.81)


CHANGES = [weigh, grease, stiffen, soften, lift, push, disable, sweep, tilt]


@pytest.mark.parametrize('change', CHANGES)
def test_changes_act_as_without_kept_contacts(change: Callable[[sb.World], None]):
    """Compute the same bits as a world that searches its contacts in every step."""
    world, other = room(), room()
    for _ in range(3000):
        other.simulation.cache.contacts.look_anew()
        other.step()
    world.step(3000)
    assert is_kept(world)
    other.step()
    assert world.state_hash() == other.state_hash()
    for each in (world, other):
        change(each)
    for steps in (1, 1, 1, 200):
        for _ in range(steps):
            other.simulation.cache.contacts.look_anew()
            other.step()
        world.step(steps)
        assert world.state_hash() == other.state_hash()


def test_snapshots_and_batches_have_the_same_bits():
    """Continue from a snapshot, in a copy and in a batch, like the world with kept contacts."""
    world = room()
    world.step(3000)
    assert is_kept(world)
    saved, twin, batch = world.save(), world.copy(), sb.Batch(world, 3, threads=1)
    world.step(50)
    expected = world.state_hash()
    batch.step(50)
    twin.step(50)
    assert twin.state_hash() == expected
    for row in range(3):
        assert batch.world(row).state_hash() == expected
    world.restore(saved)
    world.step(50)
    assert world.state_hash() == expected


def test_moving_bodies_cause_a_search():
    """Search contacts while one body of many moves, and stop once it has come to rest."""
    world = room()
    world.step(3000)
    assert is_kept(world)
    ball = world.robots['ball']
    ball.set_base_velocity((0.3, 0.0, 0.0), (0.0, 0.0, 0.0))
    for _ in range(20):
        assert not is_kept(world)
    ball.set_base_velocity((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    world.step(20)
    assert is_kept(world)
