"""Concatenation of several models into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sim_bridge.engine.data.model import Model, model_sizes
from sim_bridge.engine.data.parts import arrays_of, DIMENSIONS, make, rows_of


class Offsets(NamedTuple):
    """First body, coordinates and actuator of one model in the joined model."""

    body: int
    q: int
    v: int
    actuator: int = 0

    def along(self, dimension: str) -> int:
        """Return the offset along a dimension, 'nb', 'nq', 'nv' or 'nu'."""
        return self[('nb', 'nq', 'nv', 'nu').index(dimension)]


def join_models(models: Sequence[Model], gravity: ArrayLike) -> tuple[Model, list[Offsets]]:
    """Concatenate `models`, in order, under a common gravity, as in Model."""
    offsets, at = [], Offsets(0, 0, 0)
    for model in models:
        offsets.append(at)
        sizes = model_sizes(model)
        counts = (sizes[along] for along in ('nb', 'nq', 'nv', 'nu'))
        at = Offsets(*map(sum, zip(at, counts, strict=True)))
    joined = make(Model, dict.fromkeys(DIMENSIONS, 0), gravity=np.array(gravity, np.float64))
    for name, (_, dims) in arrays_of(Model).items():
        if name not in rows_of(Model):
            continue
        rows = [getattr(model, name) for model in models]
        if dims.points_at:
            # negative numbers mean none and stay unchanged
            rows = [
                np.where(array >= 0, array + offset.along(dims.points_at), array)
                for array, offset in zip(rows, offsets, strict=True)
            ]
        joined = joined._replace(**{name: np.concatenate([getattr(joined, name), *rows])})
    return joined, offsets
