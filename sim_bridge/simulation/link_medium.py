"""The media around links, and gravity on them, as the engine's model has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim_bridge.engine.data import model as columns
from sim_bridge.engine.data.model import FREE, FREE_SINGLE, Model
from sim_bridge.simulation.slots import LinkSlot

_UPPER = np.triu_indices(3)


def with_media(model: Model, links: Sequence[LinkSlot]) -> Model:
    """
    Return a model with the media around all links in a world.

    The arrays are replaced if the links concerned have changed. A single body that the
    medium resists, or that gravity acts on in part only, is left to the general integrator.
    """
    links = [
        link
        for link in links
        if link.mass > 0.0 and (link.medium.resists or not link.medium.gravity)
    ]
    bodies = np.array([link.body for link in links], np.int64)
    rows = np.zeros((len(links), columns.MEDIUM_SIZE))
    for row, link in zip(rows, links, strict=True):
        _describe(link, row)
    lifted = np.zeros(len(model.parent))
    np.add.at(lifted, bodies, rows[:, columns.LIFTED])
    masses = model.inertia[:, 0]
    # a nearly complete lift counts as complete:
    # the same masses in another order differ by rounding
    part = (lifted > 0.0) & (np.abs(masses - lifted) > 1e-12 * masses)
    model.weight[:] = np.where((lifted > 0.0) & ~part, 0.0, 1.0)
    single = np.isin(model.kind, (FREE, FREE_SINGLE))
    single[model.parent[model.parent >= 0]] = False
    model.kind[single] = FREE_SINGLE
    in_general = part.copy()
    in_general[[body for body, link in zip(bodies, links, strict=True) if link.medium.resists]] = (
        True
    )
    model.kind[single & in_general] = FREE
    if not np.array_equal(bodies, model.medium_body):
        return model._replace(medium_body=bodies, medium=rows)
    model.medium[:] = rows
    return model


def _describe(link: LinkSlot, row: np.ndarray) -> None:
    """Write the medium's effect on a link, in its body's frame."""
    place, own = link.placement, link.medium
    row[columns.POINT : columns.POINT + 3] = place.position + place.rotation @ link.center
    row[columns.LIFTED] = 0.0 if own.gravity else link.mass
    pairs = (
        (columns.ADDED, own.mass_coefficients, own.inertia_coefficients),
        (columns.DRAG, own.linear_velocity_damping, own.angular_velocity_damping),
    )
    for at, linear, angular in pairs:
        roots = np.sqrt(angular)
        for start, matrix in (
            (at, np.diag(linear) * link.mass),
            (at + 6, roots[:, None] * link.inertia * roots),
        ):
            row[start : start + 6] = (place.rotation @ matrix @ place.rotation.T)[_UPPER]
    row[columns.FASTEST] = max(*own.linear_velocity_damping, *own.angular_velocity_damping)
