"""Rotations compared with transforms3d, whose quaternions begin with w."""

from __future__ import annotations

import numpy as np
import pytest
from transforms3d.axangles import axangle2mat
from transforms3d.quaternions import mat2quat, quat2mat

from sim_bridge.foundation.rotation import (
    matrix_from_axis_angle,
    matrix_from_quaternion,
    matrix_from_rpy,
    quaternion_from_matrix,
    quaternions_from_matrices,
    rotation_vector,
)

QUATERNIONS = np.random.default_rng(1).normal(size=(50, 4))
TURNS = [matrix_from_quaternion(xyzw) for xyzw in QUATERNIONS]


def about(axis: int, angle: float) -> np.ndarray:
    """Return the rotation about a frame axis."""
    return matrix_from_axis_angle(np.eye(3)[axis], angle)


def test_roll_pitch_yaw_turn_about_fixed_axes_in_this_order():
    """Compare with the product of three rotations, roll first."""
    turns = about(2, 0.5) @ about(1, -1.2) @ about(0, 0.3)
    np.testing.assert_allclose(matrix_from_rpy((0.3, -1.2, 0.5)), turns, atol=1e-15)


@pytest.mark.parametrize('scale', [1e-9, 1.0, 1e9])
def test_quaternions_of_any_length_are_rotations(scale):
    """Compare with transforms3d; it requires length 1."""
    for xyzw in QUATERNIONS:
        x, y, z, w = xyzw / np.linalg.norm(xyzw)
        np.testing.assert_allclose(
            matrix_from_quaternion(scale * xyzw), quat2mat((w, x, y, z)), atol=1e-15
        )


def test_rotations_are_quaternions():
    """Compare one rotation and many with transforms3d, w at least 0."""
    for xyzw, turn in zip(quaternions_from_matrices(np.array(TURNS)), TURNS, strict=True):
        w, x, y, z = mat2quat(turn)
        np.testing.assert_allclose(xyzw, (x, y, z, w), atol=1e-14)
        np.testing.assert_allclose(quaternion_from_matrix(turn), (x, y, z, w), atol=1e-14)


def test_rotation_vectors_are_axis_times_angle():
    """Rotate about the vector by its length: this gives the original rotation."""
    for turn in (*TURNS, np.eye(3), about(2, 1e-12)):
        vector = rotation_vector(turn)
        angle = np.linalg.norm(vector)
        axis = vector if angle == 0.0 else vector / angle
        np.testing.assert_allclose(axangle2mat(axis, angle, is_normalized=True), turn, atol=1e-14)
