"""Every robot of example-robot-data in a world of its own, fixed and free."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb


@pytest.mark.parametrize('fixed_base', [True, False])
def test_robot_is_simulated(example_robot, fixed_base):
    """Let it fall or hang for a tenth of a second, with its stops and mimic joints: finite, within its limits."""
    world = sb.World()
    robot = world.load_urdf(example_robot, fixed_base=fixed_base)
    for _ in range(10):
        world.step(10)
        assert world.report.converged
    assert np.isfinite(robot.q).all()
    assert np.isfinite(robot.dq).all()
    assert np.isfinite(robot.ddq).all()
    for name, q, lower, upper in zip(robot.joint_names, robot.q, robot.lower, robot.upper, strict=True):
        assert lower <= q <= upper or lower > upper, name
        law = robot.joint(name).mimic
        if law is not None:
            assert q == law.multiplier * robot.joint(law.joint).q + law.offset
    if robot.links and not fixed_base:
        momentum = world.momentum().linear
        np.testing.assert_allclose(momentum, (0, 0, -9.81 * robot.mass * world.time), atol=1e-2 * robot.mass)
