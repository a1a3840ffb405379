"""Poses as (4, 4) matrices, which assemblies multiply by the thousand."""

from __future__ import annotations

import math

import numpy as np

from sim_bridge.description.model import Pose


def matrix(pose: Pose) -> np.ndarray:
    """Return the (4, 4) matrix of a pose."""
    result = np.eye(4)
    result[:3, :3] = pose.rotation
    result[:3, 3] = pose.position
    return result


def pose(transform: np.ndarray) -> Pose:
    """Return the pose of a (4, 4) matrix, its arrays read-only."""
    position, rotation = transform[:3, 3].copy(), transform[:3, :3].copy()
    position.flags.writeable = rotation.flags.writeable = False
    return Pose(position, rotation)


def inverse(transform: np.ndarray) -> np.ndarray:
    """Return the inverse of a (4, 4) rigid transform."""
    result = np.eye(4)
    turned = transform[:3, :3].T
    result[:3, :3] = turned
    result[:3, 3] = -turned @ transform[:3, 3]
    return result


def orthonormal(transform: np.ndarray) -> np.ndarray:
    """
    Return a rigid transform without the rounding of its rotation.

    One Newton step towards the nearest rotation, which squares an error of some 1e-16, so that
    long chains of products stay rigid.
    """
    rotation = transform[:3, :3]
    result = transform.copy()
    result[:3, :3] = 1.5 * rotation - 0.5 * (rotation @ rotation.T @ rotation)
    return result


def turned(vector: np.ndarray) -> np.ndarray:
    """Return the (3, 3) rotation of a rotation vector [rad] (Rodrigues)."""
    angle = math.sqrt(float(vector @ vector))
    x, y, z = vector.tolist()
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    if angle < 1e-8:
        return np.eye(3) + cross + 0.5 * cross @ cross
    half = math.sin(0.5 * angle) / (0.5 * angle)
    result: np.ndarray = np.eye(3) + (math.sin(angle) / angle) * cross
    return result + (0.5 * half * half) * (cross @ cross)
