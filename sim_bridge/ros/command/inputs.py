"""Inputs of a robot, applied and recorded on the physics thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol, TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


class Message(NamedTuple):
    """A received command: topic name and bytes."""

    topic: str
    data: bytes


class ControlChange(NamedTuple):
    """Arguments of `CommandQueue.set_control`."""

    axis: str
    control: str
    kp: float
    kd: float


class InputNote(NamedTuple):
    """Input besides messages and control changes. values: its arguments, valid in JSON."""

    kind: str
    values: dict[str, Any]


Input = Message | ControlChange | InputNote

SENDERS_LEFT = 'senders_left'
"""Kind of an InputNote: the last publisher of joint commands has left."""

# carries out a request, on the physics thread
Request = Callable[[], None]


class Following(Protocol):
    """A trajectory follower; it commands joints until other commands take them over."""

    @property
    def is_active(self) -> bool:
        """Whether it commands any joint, or will do so."""

    @property
    def is_aside(self) -> bool:
        """Whether it has no joint to release, so `give_way` does nothing."""

    def give_way(self, commanded: np.ndarray, by_effort: np.ndarray) -> None:
        """
        Release joints with commands for position or velocity, or for effort.

        Both are (m,): one item per commandable axis and crawler, the robot's joints first.
        """

    def take_rest(self) -> None:
        """
        Hold the joints whose commands have timed out.

        Called while anything is active: the robot as a whole is then not held.
        """

    def refresh(self, changed: Iterable[str]) -> None:
        """Use the changed joints' new control modes; all motor targets may have changed, too."""

    def shift(self, by_ns: int) -> None:
        """Continue unchanged while the time jumps by this much [ns]."""

    def save(self, time_ns: int) -> Any:
        """Return the state for `restore`. time_ns: current time [ns]."""

    def restore(self, saved: Any, time_ns: int) -> None:
        """Return to a saved state; trajectories in progress end. time_ns: current time [ns]."""

    def restart(self, words: str = '') -> None:
        """Release all joints. words: the reason, for clients whose goals end."""


class _NotFollowing:
    """A follower without trajectories."""

    is_active = False
    is_aside = True

    def give_way(self, commanded: np.ndarray, by_effort: np.ndarray) -> None:
        """Do nothing."""

    def take_rest(self) -> None:
        """Do nothing."""

    def refresh(self, changed: Iterable[str]) -> None:
        """Do nothing."""

    def shift(self, by_ns: int) -> None:
        """Do nothing."""

    def save(self, time_ns: int) -> Any:
        """Return None."""

    def restore(self, saved: Any, time_ns: int) -> None:
        """Do nothing."""

    def restart(self, words: str = '') -> None:
        """Do nothing."""


NOT_FOLLOWING: Following = _NotFollowing()
