"""What a world tells of itself: energy, momentum, reports, snapshots and their hashes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.engine.state import State


class Energy(NamedTuple):
    """
    Energy [J].

    Potential: of gravity, zero at the world's origin, and of joint springs.
    """

    kinetic: float
    potential: float

    @property
    def total(self) -> float:
        """Their sum [J]."""
        return self.kinetic + self.potential


class Momentum(NamedTuple):
    """
    Momentum, world axes.

    linear: (3,) [kg m/s]. angular: (3,) [kg m²/s], about the world's origin.
    """

    linear: np.ndarray
    angular: np.ndarray


@dataclass(frozen=True)
class StepReport:
    """
    How the last `step` call went.

    steps: how many were taken. pivots: the most changes of the set of joints locked by stops and
    friction that one step needed. converged: whether every stop and friction law holds in every
    step.
    """

    steps: int = 0
    pivots: int = 0
    converged: bool = True


class Snapshot(NamedTuple):
    """Everything that decides a world's future; made by `World.save`."""

    step_count: int
    state: State
    parameters: list[np.ndarray]
    devices: list[Any]


def digest_into(value: Any, digest: Any) -> None:
    """Feed a nested value to a hash, arrays by all their bits."""
    if isinstance(value, np.ndarray):
        digest.update(value.tobytes())
    elif isinstance(value, dict):
        digest_into([item for key in sorted(value) for item in (key, value[key])], digest)
    elif isinstance(value, (list, tuple)):
        digest.update(str(len(value)).encode())
        for item in value:
            digest_into(item, digest)
    else:
        digest.update(repr(value).encode())
