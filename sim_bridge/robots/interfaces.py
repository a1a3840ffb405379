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
    """The robot of a link or a joint."""

    name: str
    world: Any
    simulation: Simulation
    slot: RobotSlot
    loop_joints: dict[str, Any]

    @property
    def root_link(self) -> LinkInterface:
        """The link that is no joint's child."""

    def set_base_pose(self, position: Any, orientation: Any) -> None:
        """Put the root link's frame somewhere in the world."""

    def set_base_velocity(self, linear: Any, angular: Any) -> None:
        """Set the velocity of the root link."""


class LinkInterface(Protocol):
    """The link of a geometry or a crawler, or one that a joint connects."""

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

    @property
    def v(self) -> np.ndarray:
        """(3,) velocity of the frame's origin [m/s], world axes."""

    @property
    def w(self) -> np.ndarray:
        """(3,) angular velocity [rad/s], world axes."""

    @property
    def dv(self) -> np.ndarray:
        """(3,) acceleration of the frame's origin [m/s²], world axes."""

    @property
    def dw(self) -> np.ndarray:
        """(3,) angular acceleration [rad/s²], world axes."""

    @property
    def wc(self) -> np.ndarray:
        """(3,) centre of mass [m], world."""


class JointInterface(Protocol):
    """The joint that a link hangs on."""

    name: str

    @property
    def type(self) -> Any:
        """The kind of joint."""

    @property
    def parent_link(self) -> LinkInterface | None:
        """The link that it hangs on."""
