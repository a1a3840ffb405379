"""The seat of a joint: in a tree, or as rows beside the trees."""

from __future__ import annotations

from typing import Protocol, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sim_bridge.description.model import JointType, Mimic
    from sim_bridge.robots.joints.frame import JointFrames


class Seat(Protocol):
    """
    What provides a joint's numbers, and says where it is.

    Arrays of numbers have a row for each of the joint's coordinates, nq positions and nv others.
    They are views where they can be written.
    """

    name: str
    place: str
    """Where it is, for messages."""
    frames: JointFrames
    coordinates: tuple[int, int]
    """nq and nv."""

    @property
    def key(self) -> str | None:
        """Its name among the world's joints, if it is one of those."""

    @property
    def type(self) -> JointType | str:
        """The kind of joint."""

    @property
    def axis_count(self) -> int:
        """How many of its coordinates turn about, or slide along, an axis."""

    @property
    def has_user_axes(self) -> bool:
        """Whether each of its axes acts for itself; else none does work along the others."""

    @property
    def mimic(self) -> Mimic | None:
        """The law that makes it follow another."""

    def settle(self) -> None:
        """Bring views up to date, for those who keep them."""

    def positions(self) -> np.ndarray:
        """Return (nq,) where it is [m, rad]."""

    def velocities(self) -> np.ndarray:
        """Return (nv,) how fast it moves [m/s, rad/s]."""

    def accelerations(self) -> np.ndarray:
        """Return (nv,) at the present state under the present efforts [m/s², rad/s²]."""

    def efforts(self) -> np.ndarray:
        """Return (nv,) the applied efforts u [N, N m]."""

    def check_movable(self, what: str, place: str) -> None:
        """Raise StateError where its links are to be moved instead."""

    def set_positions(self, rows: slice, values: np.ndarray | float) -> None:
        """Write positions that are finite."""

    def set_velocities(self, rows: slice, values: np.ndarray | float) -> None:
        """Write velocities that are finite."""

    def set_efforts(self, rows: slice, values: np.ndarray | float) -> None:
        """Write efforts that are finite."""

    def parameters(self, array: str) -> np.ndarray:
        """Return (nv, k) rows of the model's array 'passive', 'limits', 'motor' or 'stop'."""

    def states(self, array: str) -> np.ndarray:
        """Return (nv, …) rows of one of State's arrays by velocity."""

    def is_linear(self, number: int) -> bool:
        """Return whether an axis slides; else it turns."""

    def direction(self, number: int) -> np.ndarray:
        """Return (3,) the unit vector along which, or about which, an axis moves; world."""

    def error(self) -> tuple[float, float]:
        """Return by how much it is not closed: way [m], and sine of an angle."""

    def reaction(self) -> tuple[np.ndarray, np.ndarray]:
        """Return force [N] and torque [N m] about anchor2 on the second link; world axes."""

    def wake(self) -> None:
        """Wake the bodies that it moves."""

    def invalidate(self) -> None:
        """Discard results computed from parameters."""


class YieldingSeat(Seat, Protocol):
    """The seat of a joint that may yield."""

    erp: float
    cfm: float
