"""A constraint joint, as a simulation knows it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from sim_bridge.engine.data.loops import LoopJoint, Loops
from sim_bridge.engine.data.state import State


class Constraint(Protocol):
    """A constraint joint, as a simulation knows it."""

    key: str
    """Its name, unique among the simulation's joints."""
    axis_count: int
    """The number of free coordinates."""
    joint: Any
    """The joint, for users."""
    softness: Any
    """ERP and CFM."""
    spec: Any
    """The specification it was made from."""
    start: np.ndarray
    """(n,) Positions restored by `restart`."""

    def record(self) -> LoopJoint:
        """Describe it to the engine as it is now."""

    def bind(self, loops: Loops, state: State, number: int, first: int) -> None:
        """Take new places for its numbers: row `number`, and axis rows from `first` on."""

    def error(self, of_rigid_rows: bool = False) -> tuple[float, float]:
        """Return the greatest position error [m] and angular error sine among its rows."""

    def restart(self) -> None:
        """Go back to how it began."""
