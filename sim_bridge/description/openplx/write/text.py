"""Statements, numbers, names and transforms in the notation of OpenPLX."""

from __future__ import annotations

from collections.abc import Iterable
import math
import re

import numpy as np

from sim_bridge.description.model import Pose
from sim_bridge.foundation.rotation import quaternion_from_matrix


def axes(axis: np.ndarray, x: np.ndarray | None = None) -> np.ndarray:
    """
    Return (3, 3) axes with a given z, exact if z is along a coordinate axis.

    axis: unit vector along z. x: unit vector along x; None for any.
    """
    if x is None:
        least = np.zeros(3)
        least[int(np.argmin(np.abs(axis)))] = 1.0
        x = least - (least @ axis) * axis
        x /= np.linalg.norm(x)
    axes_of: np.ndarray = np.array([x, np.cross(axis, x), axis]).T
    return axes_of


def transform(member: str, pose: Pose) -> list[str]:
    """Return the lines setting a transform; they always contain the position."""
    lines = [f'{member}.position: {vector(pose.position)}']
    if not np.array_equal(pose.rotation, np.eye(3)):
        x, y, z, w = quaternion_from_matrix(pose.rotation).tolist()
        numbers = ', '.join(map(number, (x, y, z, w)))
        lines.append(f'{member}.rotation: Math.Quat.from_xyzw({numbers})')
    return lines


def block(head: str, lines: list[str]) -> list[str]:
    """Return a statement with indented lines below it."""
    if not lines:
        return [head]
    return [f'{head}:', *(f'    {line}' if line else '' for line in lines)]


def vector(values: Iterable[float] | np.ndarray) -> str:
    """Return three numbers as a Math.Vec3."""
    return f'Math.Vec3.from_xyz({", ".join(map(number, values))})'


def number(value: float) -> str:
    """Return a number as text, read to the same bits."""
    if math.isinf(value):
        return 'Math.INF' if value > 0.0 else 'Math.NEG_INF'
    return repr(float(value))


def identifier(name: str) -> str:
    """Return a name with _ for characters refused by the language."""
    word = re.sub(r'\W', '_', name, flags=re.ASCII) or '_'
    return f'_{word}' if word[0].isdigit() else word


def quoted(text: str) -> str:
    """Return a text in quotes; the language has no notation for quotes inside."""
    return '"' + ' '.join(text.replace('"', "'").split()) + '"'
