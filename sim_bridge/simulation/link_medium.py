"""The medium around a link, and gravity on it: as users set them and as the engine needs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from sim_bridge.compilation.compile import Placement
from sim_bridge.engine.data import model as columns
from sim_bridge.engine.data.model import FREE, FREE_SINGLE, Model
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_vector

_NONE = (0.0, 0.0, 0.0)
_UPPER = np.triu_indices(3)


@dataclass(frozen=True)
class LinkMedium:
    """
    Gravity and the medium's effect on a link, in the link's axes.

    Rates of damping [1/s]; coefficients of effective mass [1].
    """

    gravity: bool = True
    linear_velocity_damping: tuple[float, ...] = _NONE
    angular_velocity_damping: tuple[float, ...] = _NONE
    mass_coefficients: tuple[float, ...] = _NONE
    inertia_coefficients: tuple[float, ...] = _NONE

    @property
    def resists(self) -> bool:
        """Whether the medium adds mass or drags."""
        return any((*self.linear_velocity_damping, *self.angular_velocity_damping,
                    *self.mass_coefficients, *self.inertia_coefficients))

    def with_rates(self, what: str, value: object, unit: str, place: str) -> LinkMedium:
        """Return it with other rates or coefficients `what`; raises InvalidValueError."""
        expected = f'3 numbers of at least 0, one for each axis of the link [{unit}]'
        numbers = finite_vector(what, value, 3, place, expected)
        if (numbers < 0.0).any():
            raise InvalidValueError(what, value, expected, place)
        changed: dict[str, Any] = {what: tuple(numbers.tolist())}
        return replace(self, **changed)


class LinkInMedium(Protocol):
    """A link whose medium is to be written into a model."""

    placement: Placement
    medium: LinkMedium
    mass: float
    center: np.ndarray
    inertia: np.ndarray

    @property
    def body(self) -> int:
        """Number of its body in the world's model."""


def with_media(model: Model, links: Sequence[LinkInMedium]) -> Model:
    """
    Return a model that has the media around all links of a world.

    The arrays are others where other links are concerned than before. A single body that the
    medium resists, or that gravity acts on in part only, is left to the general integrator.
    """
    links = [link for link in links
             if link.mass > 0.0 and (link.medium.resists or not link.medium.gravity)]
    bodies = np.array([link.body for link in links], np.int64)
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
                if link.medium.resists]] = True
    model.kind[single & in_general] = FREE
    if np.array_equal(bodies, model.medium_body):
        model.medium[:] = rows
        return model
    return model._replace(medium_body=bodies, medium=rows)


def _describe(link: LinkInMedium, row: np.ndarray) -> None:
    """Write the effect of the medium on a link, in its body's frame."""
    place, own = link.placement, link.medium
    row[columns.POINT : columns.POINT + 3] = place.position + place.rotation @ link.center
    row[columns.LIFTED] = 0.0 if own.gravity else link.mass
    pairs = (
        (columns.ADDED, own.mass_coefficients, own.inertia_coefficients),
        (columns.DRAG, own.linear_velocity_damping, own.angular_velocity_damping))
    for at, linear, angular in pairs:
        roots = np.sqrt(angular)
        for start, matrix in (
                (at, np.diag(linear) * link.mass),
                (at + 6, roots[:, None] * link.inertia * roots)):
            row[start : start + 6] = (place.rotation @ matrix @ place.rotation.T)[_UPPER]
    row[columns.FASTEST] = max(*own.linear_velocity_damping, *own.angular_velocity_damping)
