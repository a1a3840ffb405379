"""Every robot in example-robot-data in its own world, fixed and free."""

from __future__ import annotations

from conftest import example_urdfs, fixed_and_free
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.foreign.reader_process import sharing


@pytest.fixture(scope='module', autouse=True)
def one_reader():
    """Read all meshes in one process, since its start takes longer than reading them."""
    with sharing():
        yield


@pytest.mark.parametrize('source', fixed_and_free(example_urdfs()))
def test_robot_is_simulated(source):
    """Fall or hang for a while: finite, within the stops, mimics in step."""
    path, is_free = source
    world = sb.World()
    robot = world.load_urdf(path, base='free' if is_free else 'fixed')
    for _ in range(10):
        world.step(5)
        assert world.report.converged
    assert np.isfinite(robot.q).all()
    assert np.isfinite(robot.dq).all()
    assert np.isfinite(robot.ddq).all()
    for name in robot.joint_names:
        joint = robot.joint(name)
        q, law = joint.q, joint.mimic
        assert joint.lower <= q <= joint.upper or joint.lower > joint.upper, name
        if law is not None:
            assert q == law.multiplier * robot.joint(law.joint).q + law.offset
    if robot.links and is_free:
        heavy = sum(link.m for link in robot.links if link.gravity)
        fallen = (0, 0, -9.81 * heavy * world.time)
        np.testing.assert_allclose(world.momentum().linear, fallen, atol=1e-2 * robot.mass)
