"""A constraint joint, as a simulation knows it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from sim_bridge.engine.data.loops import LoopJoint, Loops
from sim_bridge.engine.data.state import State


class Constraint(Protocol):
    """A constraint joint, as a simulation knows it."""

    key: str
    """Its name among all joints of the simulation."""
    axis_count: int
    """The number of its free coordinates."""
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
        """Take new places for its numbers: row `number`, and of its axes from row `first` on."""

    def error(self, of_rigid_rows: bool = False) -> tuple[float, float]:
        """Return the greatest position error [m] and sine of an angular error of its rows."""

    def restart(self) -> None:
        """Go back to how it began."""
