"""What the medium around a link does to it, as users set it and as the engine needs it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.engine.data import model as columns
from sim_bridge.engine.data.model import FREE, FREE_SINGLE, Model
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_vector

if TYPE_CHECKING:
    from sim_bridge.robots.link import Link
    from sim_bridge.robots.robot import Robot

_NONE = (0.0, 0.0, 0.0)
_UPPER = np.triu_indices(3)


@dataclass(frozen=True)
class Surroundings:
    """
    What of the medium, and of gravity, acts on a link; by the link's axes.

    Rates of damping [1/s]; coefficients of effective mass [1].
    """

    gravity: bool = True
    linear_velocity_damping: tuple[float, ...] = _NONE
    angular_velocity_damping: tuple[float, ...] = _NONE
    mass_coefficients: tuple[float, ...] = _NONE
    inertia_coefficients: tuple[float, ...] = _NONE

    @property
    def resist(self) -> bool:
        """Whether the medium adds mass or drags."""
        return any((*self.linear_velocity_damping, *self.angular_velocity_damping,
                    *self.mass_coefficients, *self.inertia_coefficients))

    def with_rates(self, what: str, value: object, unit: str, place: str) -> Surroundings:
        """Change the rates or coefficients `what`; raises InvalidValueError for what is none."""
        expected = f'3 numbers of at least 0, one for each axis of the link [{unit}]'
        numbers = finite_vector(what, value, 3, place, expected)
        if (numbers < 0.0).any():
            raise InvalidValueError(what, value, expected, place)
        return replace(self, **{what: tuple(numbers.tolist())})


def surround(model: Model, robots: Iterable[Robot]) -> Model:
    """
    Let a world's model know what surrounds the links of its robots.

    Returns it with other arrays where other links are concerned than before. A single body that
    the medium resists, or of which gravity acts on a part only, is left to the general integrator.
    """
    links = [link for robot in robots for link in robot.links
             if link.m > 0.0 and (link.surroundings.resist or not link.surroundings.gravity)]
    bodies = np.array([link.robot.part.at.body + link.placement.body for link in links], np.int64)
    rows = np.zeros((len(links), columns.MEDIUM_SIZE))
    for row, link in zip(rows, links, strict=True):
        _describe(link, row)
    lifted = np.zeros(len(model.parent))
    np.add.at(lifted, bodies, rows[:, columns.LIFTED])
    masses = model.inertia[:, 0]
    # what is not exactly all is a part: the same masses in another order differ by rounding
    part = (lifted > 0.0) & (np.abs(masses - lifted) > 1e-12 * masses)
    model.weight[:] = np.where((lifted > 0.0) & ~part, 0.0, 1.0)
    single = np.isin(model.kind, (FREE, FREE_SINGLE))
    single[model.parent[model.parent >= 0]] = False
    model.kind[single] = FREE_SINGLE
    in_general = part.copy()
    in_general[[body for body, link in zip(bodies, links, strict=True)
                if link.surroundings.resist]] = True
    model.kind[single & in_general] = FREE
    if np.array_equal(bodies, model.medium_body):
        model.medium[:] = rows
        return model
    return model._replace(medium_body=bodies, medium=rows)


def _describe(link: Link, row: np.ndarray) -> None:
    """Write what the medium does to a link, in its body's frame."""
    place, own = link.placement, link.surroundings
    row[columns.POINT : columns.POINT + 3] = place.position + place.rotation @ link.c
    row[columns.LIFTED] = 0.0 if own.gravity else link.m
    pairs = (
        (columns.ADDED, own.mass_coefficients, own.inertia_coefficients),
        (columns.DRAG, own.linear_velocity_damping, own.angular_velocity_damping))
    for at, linear, angular in pairs:
        roots = np.sqrt(angular)
        for start, matrix in (
                (at, np.diag(linear) * link.m), (at + 6, roots[:, None] * link.I * roots)):
            row[start : start + 6] = (place.rotation @ matrix @ place.rotation.T)[_UPPER]
    row[columns.FASTEST] = max(*own.linear_velocity_damping, *own.angular_velocity_damping)
