"""Collision shapes, the same for all engines; sizes as in URDF."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Sphere:
    """A ball about its origin."""

    radius: float


@dataclass(frozen=True)
class Box:
    """A box about its origin, with full edge lengths."""

    size: tuple[float, float, float]


@dataclass(frozen=True)
class Cylinder:
    """A cylinder about its origin, along z."""

    radius: float
    length: float


Shape = Sphere | Box | Cylinder


@dataclass(frozen=True)
class Placed:
    """A shape placed on its body: origin (3,) and rotation (3, 3) in the body's frame."""

    shape: Shape
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))


def inertia_of(shape: Shape, mass: float) -> np.ndarray:
    """Return the inertia (3, 3) of a solid sphere or box about its centre."""
    if isinstance(shape, Sphere):
        return 0.4 * mass * shape.radius**2 * np.eye(3)
    if isinstance(shape, Box):
        size = np.array(shape.size)
        return mass / 12.0 * np.diag(size @ size - size**2)
    raise TypeError(f'{shape} is no sphere or box')
