"""Steps reuse close pairs of geometries; any user change is noticed in the next step."""

from __future__ import annotations

from collections.abc import Callable
import contextlib

import numpy as np
import pytest

import sim_bridge as sb


def stand() -> tuple[sb.World, sb.Robot, sb.Robot]:
    """Rest a box on a static table, both above a plane, and keep their pairs."""
    world = sb.World()
    world.add_ground()
    table = world.add_body(sb.Box((1.0, 1.0, 0.2)), motion='static', position=(0.0, 0.0, 1.0))
    box = world.add_body(sb.Box((0.2, 0.2, 0.2)), mass=1.0, position=(0.0, 0.0, 1.2))
    world.step(50)
    assert len(world.contacts) == 4
    return world, table, box


def disable(world: sb.World, table: sb.Robot, box: sb.Robot) -> None:
    """Disable the table's shape."""
    table.geometries[0].enabled = False


def regroup(world: sb.World, table: sb.Robot, box: sb.Robot) -> None:
    """Exclude collisions between the table's and the box' group."""
    table.geometries[0].groups, box.geometries[0].groups = {'a'}, {'b'}
    world.set_group_collision('a', 'b', False)


def lower(world: sb.World, table: sb.Robot, box: sb.Robot) -> None:
    """Lower the table's shape on its link."""
    table.geometries[0].position = (0.0, 0.0, -0.5)


def carry_away(world: sb.World, table: sb.Robot, box: sb.Robot) -> None:
    """Move the static table elsewhere."""
    table.set_base_pose((5.0, 0.0, 1.0))


def exclude(world: sb.World, table: sb.Robot, box: sb.Robot) -> None:
    """Exclude collisions of the two links."""
    world.exclude(table.root_link, box.root_link)


@pytest.mark.parametrize('change', [disable, regroup, lower, carry_away, exclude])
def test_changes_are_noticed(change: Callable[[sb.World, sb.Robot, sb.Robot], None]):
    """Let the box fall as soon as the table is gone, and restore a snapshot."""
    world, table, box = stand()
    snapshot = world.save()
    change(world, table, box)
    world.step()
    assert not world.contacts
    world.step(100)
    assert box.root_link.v[2] < -0.9
    if change is exclude:
        return  # a snapshot does not contain collision exclusions
    world.restore(snapshot)
    world.step(10)
    assert len(world.contacts) == 4


def test_a_moved_plane_is_noticed():
    """Touch a moved plane at its new position, though nothing else has moved."""
    world = sb.World()
    plane = world.add_body(sb.Plane(), motion='static')
    ball = world.add_body(sb.Sphere(0.1), mass=1.0, position=(0.0, 0.0, 3.0))
    world.gravity = (0.0, 0.0, 0.0)
    world.step(5)
    assert not world.contacts
    plane.set_base_pose((0.0, 0.0, 2.95))
    world.step()
    assert len(world.contacts) == 1
    assert ball.root_link.p[2] > 3.0


def test_more_pairs_than_there_is_room_for_at_first():
    """Find all contacts of balls in one place, 4005 pairs."""
    world = sb.World()
    rng = np.random.default_rng(0)
    world.add_bodies(
        [
            {'shapes': sb.Sphere(0.5), 'mass': 1.0, 'position': position}
            for position in rng.normal(0.0, 0.01, (90, 3))
        ]
    )
    assert len(world.find_contacts()) == 90 * 89 // 2
    world.solver = 'iterative'
    world.step()
    assert len(world.contacts) == 90 * 89 // 2


@pytest.mark.parametrize('speed', [1e7, 1e160])
def test_a_speed_without_meaning_is_forgotten(speed: float):
    """Find the ground again after a refused step, in a world and in its batch."""
    world = sb.World()
    world.add_ground()
    box = world.add_body(sb.Box((0.2, 0.2, 0.2)), mass=1.0, position=(0.0, 0.0, 0.1))
    world.step(5)
    batch = sb.Batch(world, 3, threads=1, raises=False)
    batch.robots['body'].base_linear_velocity[0, 2] = speed
    batch.step()
    batch.step(300, where=~batch.failed)
    np.testing.assert_allclose(batch.robots['body'].base_position[1:, 2], 0.1, atol=1e-9)
    box.set_base_velocity((0.0, 0.0, speed), (0.0, 0.0, 0.0))
    with contextlib.suppress(sb.SimulationError):
        world.step()
    world.reset()
    world.step(300)
    assert len(world.contacts) == 4


def test_a_geometry_cannot_be_disabled_within_a_step():
    """Refuse it without effect, like other changes."""
    world, table, box = stand()
    refused = []

    def listen(contact: object) -> None:
        try:
            table.geometries[0].enabled = False
        except sb.StateError as err:
            refused.append(err)

    world.on_contact(listen)
    world.step(5)
    assert refused
    assert table.geometries[0].enabled
    assert len(world.contacts) == 4
