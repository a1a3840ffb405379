"""Benchmarks on the ROS graph: both bridges publish the same, and their tables are filled."""

from __future__ import annotations

import json

import mujoco
import numpy as np
import pytest

from benchmarks import bridge, messages
from benchmarks.bridge_load import TOPICS
from benchmarks.minimal_bridge import build
import sim_bridge as sb
from sim_bridge.description import find_robot


def test_minimal_bridge_measures_the_same():
    """Hold an arm in a bent pose: both engines read the same weight and attitude at its flange."""
    pose = np.array([0.3, 0.7, -0.4, 1.1, 0.5, -0.6, 0.2])
    world = sb.World()
    arm = world.load_urdf(find_robot('arm'), collisions='none')
    arm.q[:] = pose
    arm.hold = True
    world.step()

    model = build(1)
    model.opt.gravity[:] = world.gravity
    data = mujoco.MjData(model)
    data.qpos[:] = pose
    mujoco.mj_forward(model, data)
    # efforts for rest
    data.qfrc_applied[:] = data.qfrc_bias
    mujoco.mj_forward(model, data)

    def read(kind):
        return data.sensor(f'arm_1/{kind}').data

    imu, wrench = arm.device('imu'), arm.device('wrist_ft')
    w, x, y, z = read('framequat')
    assert np.linalg.norm(wrench.f) == pytest.approx(0.5 * 9.81, rel=1e-3)
    assert wrench.f == pytest.approx(-read('force'), abs=1e-6)
    assert wrench.tau == pytest.approx(-read('torque'), abs=1e-6)
    assert imu.dv == pytest.approx(read('accelerometer'), abs=1e-6)
    assert np.abs(imu.orientation @ (x, y, z, w)) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(
    'loads',
    [(bridge.ALONE,), pytest.param((bridge.ALONE, bridge.ANSWERED), marks=pytest.mark.long)],
)
def test_bridge_benchmark_fills_its_tables(loads):
    """Run both bridges for a moment: each simulates, takes CPU time and is received."""
    report = bridge.run(rounds=1, seconds=0.5, arms=(1,), loads=loads)
    medians = report.data['rows']['1']['medians']
    assert set(medians) == {bridge.OURS, bridge.MINIMAL}
    for row in medians.values():
        assert row['cpu'] > 0.0
        assert row['rate'] > 0.0
        assert row['received'] > 0.0
        assert 0.0 <= row['lateness p50'] <= row['lateness p99'] <= row['lateness max']
    thread = report.data['thread']['medians']
    assert set(thread) == set(loads)
    assert thread[bridge.ALONE]['cpu per tick'] > 0.0
    assert all(target['verdict'] in ('met', 'MISSED') for target in report.data['targets'])
    json.dumps(report.data, allow_nan=False)


def test_message_benchmark_fills_its_table():
    """Publish every message kind on the hot path in both ways, to a subscriber."""
    times = messages.run(rounds=1, messages=5).data['rows']
    assert set(times) == {kind.__name__ for kind in TOPICS.values()} | {'Clock'}
    for both in times.values():
        assert all(len(both[way]) == 2 and min(both[way]) > 0.0 for way in ('object', 'bytes'))
