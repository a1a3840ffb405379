"""
What joints need of links, of robots, and of the simulation that holds their numbers.

Links and robots hold joints, so they import this package; joints know them by these protocols.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sim_bridge.compilation.compile import Blueprint, Placement
    from sim_bridge.engine.data.state import State
    from sim_bridge.engine.pipeline.join import Offsets
    from sim_bridge.simulation.assembly import Part


class JointSimulation(Protocol):
    """The arrays of all robots, and what keeps them up to date."""

    @property
    def time_step(self) -> float:
        """Length of a step [s]."""

    @property
    def state(self) -> State:
        """The arrays that steps change."""

    def settle(self) -> None:
        """Bring the robots' arrays up to date with what was added."""

    def invalidate(self) -> None:
        """Forget observations and wake all, since the model's parameters changed."""

    def forget_observations(self) -> None:
        """Let the state be observed anew."""

    def reconnect_joints(self) -> None:
        """Take account of constraint joints that were added, changed or removed."""

    def observed_sites(self) -> np.ndarray:
        """Return (ns, 30) the sites of `engine.pipeline.observe` at the present state."""

    def observed_accelerations(self) -> np.ndarray:
        """Return (nv,) the accelerations of the coordinates at the present state."""

    def observed_pose(self, body: int) -> np.ndarray:
        """Return (12,) rotation by rows and origin of a body's frame, world."""

    def constraint_wrench(self, joint: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return force and torque about anchor2 of a joint on its second link, as observed."""


class JointRobot(Protocol):
    """A robot with joints."""

    name: str
    blueprint: Blueprint
    part: Part
    first_site: int

    @property
    def simulation(self) -> JointSimulation:
        """What holds the robot's numbers."""

    @property
    def offsets(self) -> Offsets:
        """Where the robot's bodies and coordinates begin in the world's model."""

    @property
    def links(self) -> Sequence[JointLink]:
        """All links in the order of the description."""

    @property
    def root_link(self) -> JointLink:
        """The link that is no joint's child."""

    def site(self, link: Any) -> np.ndarray:
        """Return the row of one of its links in `JointSimulation.observed_sites`."""

    def wake(self) -> None:
        """Let it be simulated if it was asleep, since its motors' commands changed."""

    def invalidate(self) -> None:
        """Forget what was computed from the model's parameters."""


class JointLink(Protocol):
    """A link that a joint connects; all vectors in world axes."""

    name: str
    placement: Placement

    @property
    def robot(self) -> JointRobot:
        """The robot that it belongs to."""

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
