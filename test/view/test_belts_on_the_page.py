"""Belts and tracks on the page: stripes at the surface speed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.page_client import PageClient

import sim_bridge as sb

STEP = 1e-3
ROBOTS = Path(__file__).resolve().parents[2] / 'urdf'
SIZE = (2.0, 0.4, 0.2)


def stripes(viewer, client) -> np.ndarray:
    """Return the stripes (n, 2, 3)."""
    viewer.sync()
    found: np.ndarray = client.nodes['/world/belts']['points'].reshape(-1, 2, 3)
    return found


def test_stripes_of_a_conveyor_run_as_its_surface():
    """Move the upper stripes by speed times time, from edge to edge; start and stop them."""
    world = sb.World(STEP)
    world.add_body(sb.Box(SIZE), name='belt', motion='static', position=(0.0, 0.0, 0.3))
    belt = world.robots['belt'].geometries[0]
    with world.view(browser=False, speed=0.0) as viewer, PageClient(viewer.url) as client:
        client.wait_for('Stripes of belts')
        assert not len(stripes(viewer, client))
        belt.surface_velocity = (0.5, 0.0, 0.0)
        client.wait('stripes', lambda: len(stripes(viewer, client)))
        first = stripes(viewer, client)
        top = first[np.isclose(first[:, 0, 2], 0.4, atol=0.01)]
        assert len(top) > 10
        np.testing.assert_allclose(np.abs(top[:, :, 1]), 0.2, atol=1e-6)
        middle = top[np.argmin(np.abs(top[:, 0, 0]))]
        world.step(100)
        client.wait(
            'them 50 mm further',
            lambda: (
                np.isclose(stripes(viewer, client)[:, 0], middle[0] + (0.05, 0.0, 0.0), atol=2e-4)
                .all(1)
                .any()
            ),
        )


def test_stripes_of_a_track_run_backwards_on_the_ground():
    """Run about the track's axis: backwards at the bottom of a track that drives forwards."""
    world = sb.World(STEP)
    robot = world.load_urdf(ROBOTS / 'tracked_vehicle.urdf', position=(0.0, 0.0, 1.0))
    for crawler in robot.crawlers:
        crawler.speed = 0.4
    expected = []
    with world.view(browser=False, speed=0.0) as viewer, PageClient(viewer.url) as client:
        client.wait('stripes', lambda: len(stripes(viewer, client)))
        described = viewer._feed._described
        speeds = described.belts.speeds(world.simulation.cache.geometry)
        assert speeds == pytest.approx([0.4] * len(described.structure.belts))
        for record in described.structure.belts:
            link = described.structure.links[record.link]
            own = robot.link(link.name)
            axis = own.crawler.axis
            low = np.argmin(record.outline[:, 2])
            way = record.outline[(low + 1) % len(record.outline)] - record.outline[low]
            normal = record.outline[low] - record.outline.mean(axis=0)
            expected.append(float(np.cross(axis, normal) @ way))
    assert min(expected) > 0.0
