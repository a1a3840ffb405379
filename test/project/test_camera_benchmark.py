"""The benchmark of cameras compares the same pictures."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import cameras
from benchmarks.peers import CAMERA_ENTRIES, MissingPeerError
from benchmarks.peers.camera_process import CameraProcess
from benchmarks.peers.camera_sim_bridge import SimBridgeCamera
from benchmarks.shots import shots


def test_camera_benchmark_fills_its_tables():
    """Time every engine that works here on every picture, and agree on the surfaces."""
    report = cameras.run(rounds=1, scale=0.1)
    here = set(CAMERA_ENTRIES) - set(report.data['missing'])
    assert cameras.OURS in here
    for name, row in report.data['depth'].items():
        assert set(row) == (here - {cameras.MUJOCO, cameras.VTK} if 'plumb_bob' in name else here)
        assert all(seconds > 0.0 for seconds in row.values())
    for row in report.data['color'].values():
        assert set(row) == here - {cameras.EMBREE}
    for name, row in report.data['agreement'].items():
        width, height = shots(0.1)[name].size
        for differing, gap in row.values():
            assert differing < 0.01 * width * height
            assert gap < 1e-3
    assert len(report.data['targets']) == 8
    json.dumps(report.data, allow_nan=False)


def test_the_ball_has_its_depth():
    """See the front of the ball at its distance less its radius, along the axis."""
    shot = shots()['1000 triangles, 64 x 64']
    [ball] = shot.meshes
    assert ball.triangles.shape == (1000, 3)
    distance = np.linalg.norm(np.subtract(ball.position, shot.eye))
    middle = SimBridgeCamera(shot, 1).depth()[31:33, 31:33]
    np.testing.assert_allclose(middle, distance - 0.15, atol=2e-3)


def test_an_engine_that_does_not_start_is_missing():
    """Say what an engine raised in its process."""
    shot = shots(0.05)['robot']
    with pytest.raises(MissingPeerError, match='unexpected keyword'):
        CameraProcess(cameras.OURS, shot, 1, lenses=2)
