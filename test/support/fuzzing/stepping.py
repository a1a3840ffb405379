"""Steps of a world created from a hostile input."""

from __future__ import annotations

import numpy as np

from sim_bridge import World

_STEPS = 5


def step_on(world: World) -> None:
    """Step; the state is finite, or a SimulationError is raised."""
    for _ in range(_STEPS):
        world.step()
    for robot in world.robots.values():
        assert np.isfinite(robot.q).all() and np.isfinite(robot.dq).all(), robot.name
        assert np.isfinite(robot.root_link.p).all(), robot.name
