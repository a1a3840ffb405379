"""The media around links, and gravity on them, as the engine's model has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim_bridge.engine.data import model as columns
from sim_bridge.engine.data.model import FREE, FREE_SINGLE, Model
from sim_bridge.simulation.slots import LinkSlot

_UPPER = np.triu_indices(3)


AddedInertias = Sequence[tuple[LinkSlot, np.ndarray]]
"""Links with (6, 6) added mass about their origins in their bodies' axes, linear first."""


def with_media(model: Model, links: Sequence[LinkSlot], added: AddedInertias = ()) -> Model:
    """
    Return a model with the media around all links in a world.

    added: the hulls' added mass, beside the links' media. The arrays are replaced if
    the links concerned have changed. A single body that the medium resists, or that gravity acts
    on in part only, is left to the general integrator.
    """
    links = [
        link
        for link in links
        if link.mass > 0.0 and (link.medium.resists or not link.medium.gravity)
    ]
    hulls = [link for link, _ in added]
    bodies = np.array([link.body for link in (*links, *hulls)], np.int64)
    rows = np.zeros((len(bodies), columns.MEDIUM_SIZE))
    for row, link in zip(rows, links, strict=False):
        _describe(link, row)
    for row, (link, inertia) in zip(rows[len(links) :], added, strict=True):
        _describe_hull(link, inertia, row)
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
    in_general[[link.body for link in links if link.medium.resists]] = True
    in_general[[link.body for link in hulls]] = True
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


def _describe_hull(link: LinkSlot, inertia: np.ndarray, row: np.ndarray) -> None:
    """Write a hull's added mass, about its link's origin."""
    row[columns.POINT : columns.POINT + 3] = link.placement.position
    row[columns.ADDED : columns.ADDED + 6] = inertia[:3, :3][_UPPER]
    row[columns.ADDED + 6 : columns.ADDED + 12] = inertia[3:, 3:][_UPPER]
    row[columns.COUPLING : columns.COUPLING + 9] = inertia[:3, 3:].ravel()
    row[columns.IS_COUPLED] = float(inertia[:3, 3:].any())
