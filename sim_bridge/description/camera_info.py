"""
Numbers in sensor_msgs/CameraInfo, and the frames of pictures.

Pixel centres are whole numbers, as in OpenCV.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.description.cameras import CameraDescription
from sim_bridge.description.lenses import FUNCTIONS
from sim_bridge.engine.data.lens import RADIAL
from sim_bridge.foundation.arrays import FloatArray


class CameraInfo(NamedTuple):
    """
    Numbers in sensor_msgs/CameraInfo.

    distortion_model: '' if ROS has no name for the lens. D: coefficients. K, R: (3, 3). P: (3, 4).
    """

    distortion_model: str
    D: FloatArray
    K: FloatArray
    R: FloatArray
    P: FloatArray


def camera_info(camera: CameraDescription) -> CameraInfo:
    """
    Return the numbers in camera_info.

    K has the focal lengths on the optical axis. Lenses without a name in ROS have no coefficients
    (REP 104).
    """
    fx, fy, cx, cy, skew = camera.pixel_intrinsics
    model, coefficients = camera.model, camera.coefficients
    gain = 1.0
    if model.model == RADIAL:
        # Radius slope at the angle 0: c1 / c2 f'(c3)
        c1, c2, c3 = coefficients
        gain = c1 / c2 * FUNCTIONS[model.function][1](c3)
    D = np.zeros(model.published)
    if model.published:
        D[: len(coefficients)] = coefficients
    K = np.array([[gain * fx, gain * skew, cx], [0.0, gain * fy, cy], [0.0, 0.0, 1.0]])
    P = np.zeros((3, 4))
    P[:, :3] = K
    if camera.projection is not None:
        fx, fy, cx, cy, tx, ty = camera.projection
        P[:] = [[fx, 0.0, cx, tx], [0.0, fy, cy, ty], [0.0, 0.0, 1.0, 0.0]]
    return CameraInfo(model.distortion_model, D, K, np.eye(3), P)
