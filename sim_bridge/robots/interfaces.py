"""
Interfaces by which parts of a robot refer to their owners.

Robots hold links and joints, and links hold geometries, so they import these. In the other
direction they are known by these interfaces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from sim_bridge.engine.data.state import State
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.slots import LinkSlot, RobotSlot


class WorldInterface(Protocol):
    """The world of a robot, as robots know it; `World` is one."""

    @property
    def robots(self) -> Mapping[str, Any]:
        """Its robots, by name."""

    @property
    def geometries(self) -> Sequence[Any]:
        """All geometries, in the order of the engine's numbers."""

    def joint(self, name: str) -> Any:
        """Return one of the joints between its robots, or that close loops, by name."""

    @property
    def openplx(self) -> Mapping[str, Any]:
        """Its OpenPLX scenes, by name."""

    @property
    def state(self) -> State:
        """The arrays that steps change."""

    @property
    def layout(self) -> int:
        """A number that changes whenever the arrays of `state` are replaced."""

    @property
    def time_step(self) -> float:
        """Length of a step [s]."""

    @property
    def step_count(self) -> int:
        """The number of steps taken."""

    @property
    def time(self) -> float:
        """Simulated time [s]."""

    @property
    def time_step_ns(self) -> int:
        """Length of a step [ns]."""

    def step(self, n: int = 1) -> None:
        """Advance by n steps."""


class RobotInterface(Protocol):
    """The robot of a link or a joint."""

    name: str
    simulation: Simulation
    slot: RobotSlot
    loop_joints: dict[str, Any]
    geometries: list[Any]

    @property
    def fixed_base(self) -> bool:
        """Whether the root link is welded to the world."""

    @property
    def world(self) -> WorldInterface:
        """The world that it is in."""

    @property
    def root_link(self) -> LinkInterface:
        """The root of its tree of links."""

    def link(self, name: str) -> Any:
        """Return a link by name."""

    def joint(self, name: str) -> Any:
        """Return a joint by name."""

    def crawler(self, name: str) -> Any:
        """Return a crawler by name."""

    def set_base_pose(
        self, position: Sequence[float] | np.ndarray,
        orientation: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0, 1.0),
    ) -> None:
        """Set the pose of the root link's frame in the world [m; quaternion x y z w]."""

    def set_base_velocity(
        self, linear: Sequence[float] | np.ndarray,
        angular: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0),
    ) -> None:
        """Set the velocity of the root link [m/s; rad/s], world axes."""


class LinkInterface(Protocol):
    """The link of a geometry or a joint; all vectors in world axes."""

    name: str
    slot: LinkSlot

    @property
    def robot(self) -> RobotInterface:
        """The robot that it is part of."""

    @property
    def p(self) -> np.ndarray:
        """(3,) origin of its frame [m]."""

    @property
    def R(self) -> np.ndarray:
        """(3, 3) rotation of its frame."""

    @property
    def v(self) -> np.ndarray:
        """(3,) velocity of the frame's origin [m/s]."""

    @property
    def w(self) -> np.ndarray:
        """(3,) angular velocity [rad/s]."""

    @property
    def dv(self) -> np.ndarray:
        """(3,) acceleration of the frame's origin [m/s²]."""

    @property
    def dw(self) -> np.ndarray:
        """(3,) angular acceleration [rad/s²]."""

    @property
    def wc(self) -> np.ndarray:
        """(3,) centre of mass [m]."""
