"""Poses as (4, 4) matrices, for fast multiplication in assemblies."""

from __future__ import annotations

import numpy as np

from sim_bridge.description.model import Pose

IDENTITY = np.eye(4)
IDENTITY.flags.writeable = False


def matrix(pose: Pose) -> np.ndarray:
    """Return a pose's (4, 4) matrix."""
    result: np.ndarray = IDENTITY.copy()
    result[:3, :3] = pose.rotation
    result[:3, 3] = pose.position
    return result


def pose(transform: np.ndarray) -> Pose:
    """Return a (4, 4) matrix as a pose with read-only arrays."""
    position, rotation = transform[:3, 3].copy(), transform[:3, :3].copy()
    position.flags.writeable = rotation.flags.writeable = False
    return Pose(position, rotation)


def inverse(transform: np.ndarray) -> np.ndarray:
    """Return the inverse of a (4, 4) rigid transform."""
    result: np.ndarray = IDENTITY.copy()
    result[:3, :3] = turned = transform[:3, :3].T
    result[:3, 3] = -turned @ transform[:3, 3]
    return result


def orthonormal(transform: np.ndarray) -> np.ndarray:
    """
    Return a rigid transform without rounding in its rotation.

    One Newton step towards the nearest rotation squares an error of some 1e-16, so long chains of
    products stay rigid.
    """
    rotation = transform[:3, :3]
    result: np.ndarray = transform.copy()
    result[:3, :3] = 1.5 * rotation - 0.5 * (rotation @ rotation.T @ rotation)
    return result


def rotations(vectors: np.ndarray) -> np.ndarray:
    """Return the rotations (n, 3, 3) of rotation vectors (n, 3) [rad] (Rodrigues)."""
    angles = np.sqrt(np.einsum('ni,ni->n', vectors, vectors))[:, None, None]
    cross = np.zeros((len(vectors), 3, 3))
    cross[:, [2, 0, 1], [1, 2, 0]] = vectors
    cross[:, [1, 2, 0], [2, 0, 1]] = -vectors
    # numpy's sinc is the normalised one: sin(πx)/(πx)
    sine = np.sinc(angles / np.pi)
    half = np.sinc(0.5 * angles / np.pi)
    result: np.ndarray = np.eye(3) + sine * cross + 0.5 * half * half * (cross @ cross)
    return result
