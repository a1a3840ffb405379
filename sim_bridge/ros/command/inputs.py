"""The inputs of a robot, which are applied and recorded on the physics thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol, TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


class Message(NamedTuple):
    """A command as it came: the name of its topic, and its bytes."""

    topic: str
    data: bytes


class ControlChange(NamedTuple):
    """The arguments of `RobotCommands.set_control`."""

    axis: str
    control: str
    kp: float
    kd: float


class InputNote(NamedTuple):
    """Anything else that came: what kind it is, and values that JSON can hold."""

    kind: str
    values: dict[str, Any]


Input = Message | ControlChange | InputNote

# does what was asked for, on the physics thread
Request = Callable[[], None]


class Following(Protocol):
    """A follower of trajectories, which commands joints step by step until others do."""

    @property
    def is_active(self) -> bool:
        """Whether it commands any joint, or will."""

    @property
    def is_aside(self) -> bool:
        """Whether it has no joint to release: `give_way` does nothing."""

    def give_way(self, commanded: np.ndarray, by_effort: np.ndarray) -> None:
        """Release joints whose positions or velocities, or whose efforts, are commanded."""

    def take_rest(self) -> None:
        """Hold joints whose commands have ceased."""

    def refresh(self, changed: Iterable[str]) -> None:
        """Use the controls of joints that were changed."""

    def shift(self, by_ns: int) -> None:
        """Go on as before while the time jumps by so much [ns]."""

    def save(self, time_ns: int) -> Any:
        """Return what `restore` goes back to; time_ns: now."""

    def restore(self, saved: Any, time_ns: int) -> None:
        """Go on as when `save` was called; trajectories under way end; time_ns: now."""

    def restart(self, words: str = '') -> None:
        """Release all joints; words: the reason, for clients whose goals end."""


class _NotFollowing:
    """Follows nothing."""

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
