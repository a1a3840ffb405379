"""How parts of a robot see what they are part of; robots, links and joints are of these types."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from sim_bridge.engine.data.state import State
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.slots import LinkSlot, RobotSlot


class WorldInterface(Protocol):
    """The world of a robot."""

    @property
    def state(self) -> State:
        """The arrays that steps change."""

    @property
    def layout(self) -> int:
        """Changes whenever the arrays of state are others."""

    @property
    def time_step(self) -> float:
        """Length of a step [s]."""

    @property
    def step_count(self) -> int:
        """How many steps were taken."""


class RobotInterface(Protocol):
    """The robot of a link."""

    name: str
    world: Any
    simulation: Simulation
    slot: RobotSlot
    loop_joints: dict[str, Any]


class LinkInterface(Protocol):
    """The link of a geometry or a crawler."""

    name: str
    slot: LinkSlot

    @property
    def robot(self) -> RobotInterface:
        """The robot that it is part of."""

    @property
    def p(self) -> np.ndarray:
        """(3,) position of the frame's origin [m], world."""

    @property
    def R(self) -> np.ndarray:
        """(3, 3) rotation of the frame: takes vectors in link axes to world axes."""


class JointInterface(Protocol):
    """The joint that a link hangs on."""

    name: str
    type: Any

    @property
    def parent_link(self) -> LinkInterface | None:
        """The link that it hangs on."""
