"""Bodies at rest stay at rest, to rounding, at almost no computation."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb


@pytest.mark.parametrize('ratio', [1.0, 3.0])
def test_a_stack_comes_to_rest_to_rounding(ratio: float):
    """Damp the slow wave in a stack; sweeps with small changes would leave it at 1e-9 m/s."""
    world = sb.World()
    world.add_ground()
    boxes = world.add_bodies(
        [
            {
                'shapes': sb.Box((0.4, 0.3, 0.2)),
                'mass': 10.0 * ratio ** (number % 2),
                'position': (0.0, 0.0, 0.2 * number + 0.1),
            }
            for number in range(10)
        ]
    )
    world.step(1000)
    heights = [box.root_link.p[2] for box in boxes]
    for _ in range(100):
        world.step()
        assert (world.report.sweeps, world.report.newton_steps) == (1, 0)
        assert world.report.residual < 1e-12
    assert np.abs([box.root_link.v for box in boxes]).max() < 1e-11
    world.step(5000)
    assert np.abs(np.subtract([box.root_link.p[2] for box in boxes], heights)).max() < 1e-13
