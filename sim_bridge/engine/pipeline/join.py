"""Several models side by side as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sim_bridge.engine.data.model import body_count, Model, position_count, velocity_count
from sim_bridge.engine.dynamics.medium import MEDIUM_SIZE


class Offsets(NamedTuple):
    """Where one model's bodies and coordinates begin in the joined one."""

    body: int
    q: int
    v: int


def join_models(models: Sequence[Model], gravity: Sequence[float]) -> tuple[Model, list[Offsets]]:
    """Concatenate `models`, in order, under a common gravity [m/s²]."""
    offsets, at = [], Offsets(0, 0, 0)
    for model in models:
        offsets.append(at)
        at = Offsets(at.body + body_count(model),
                     at.q + position_count(model),
                     at.v + velocity_count(model))

    def joined(field: str, shift: str = '', width: int = 0) -> np.ndarray:
        parts = [np.asarray(getattr(model, field)) for model in models]
        if shift:
            # a negative index means none and stays as it is
            shifts = [getattr(offset, shift) for offset in offsets]
            parts = [np.where(part >= 0, part + by, part)
                     for part, by in zip(parts, shifts, strict=True)]
        if not parts:
            dtype = np.int64 if shift or field == 'kind' else np.float64
            return np.zeros((0, width) if width else 0, dtype)
        return np.ascontiguousarray(np.concatenate(parts))

    return Model(
        parent=joined('parent', 'body'), root=joined('root', 'body'), kind=joined('kind'),
        q_index=joined('q_index', 'q'), v_index=joined('v_index', 'v'),
        frame=joined('frame', width=12), inertia=joined('inertia', width=10),
        passive=joined('passive', width=5), limits=joined('limits', width=4),
        motor=joined('motor', width=3), stop=joined('stop', width=3),
        mimic=joined('mimic', 'v', 2), mimic_law=joined('mimic_law', width=2),
        q_of_v=joined('q_of_v', 'q'), weight=joined('weight'),
        medium_body=joined('medium_body', 'body'), medium=joined('medium', width=MEDIUM_SIZE),
        gravity=np.array(gravity, dtype=np.float64)), offsets
