"""What gravity towards a point pulls, as the engine's model has it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from sim_bridge.compilation.compile import Placement
from sim_bridge.engine.data.model import Model


class Massive(Protocol):
    """A link: mass [kg], centre of mass (3,) [m] in its axes, its body, its place on that."""

    mass: float
    center: np.ndarray
    placement: Placement

    @property
    def body(self) -> int:
        """Number of its body in the joined model."""


def with_pulled(model: Model, links: Iterable[Massive], first_body: int = 0) -> Model:
    """
    Return a model that has the masses of these links.

    first_body: the number of the model's first body among those of the world. The arrays are
    others where other links are concerned than before.
    """
    heavy = [link for link in links if link.mass > 0.0]
    bodies = np.array([link.body - first_body for link in heavy], np.int64)
    if np.array_equal(bodies, model.pulled_body):
        return model
    masses = [
        (link.mass, *link.placement.position + link.placement.rotation @ link.center)
        for link in heavy]
    return model._replace(pulled_body=bodies, pulled=np.array(masses).reshape(-1, 4))
