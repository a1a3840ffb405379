"""Flat boxes land flat on each other, and stay."""

import numpy as np
import pytest

import sim_bridge as sb

H = 1e-3
SIZE, COUNT, GAP = (0.4, 0.3, 0.2), 10, 0.02


def test_flat_falling_boxes_stay_flat():
    """Solve every landing of a stack to the tolerance; neither tilt, nor gain energy, nor rock."""
    world = sb.World(time_step=H)
    world.add_ground()
    boxes = [
        world.add_body(
            sb.Box(SIZE),
            f'box{k}',
            mass=10.0,
            position=(0.0, 0.0, (k + 0.5) * SIZE[2] + (k + 1) * GAP),
        )
        for k in range(COUNT)
    ]
    energy = world.energy().total
    for _ in range(260):
        world.step()
        assert world.report.converged
        assert world.energy().total <= energy * (1.0 + 1e-12)
        energy = world.energy().total
    for k, box in enumerate(boxes):
        assert box.root_link.p == pytest.approx((0.0, 0.0, (k + 0.5) * SIZE[2]), abs=1e-6)
        assert np.abs(box.root_link.R - np.eye(3)).max() < 1e-9
        assert np.abs(box.root_link.v).max() < 1e-9
