"""What comes in for a robot, to be applied and recorded on the physics thread."""

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
        """Whether it has no joint, nor any left to leave to others: `give_way` does nothing."""

    def give_way(self, commanded: np.ndarray, by_effort: np.ndarray) -> None:
        """Leave joints to who commanded their positions or velocities, or their efforts."""

    def take_rest(self) -> None:
        """Hold joints whose commands have ceased."""

    def refresh(self, changed: Iterable[str]) -> None:
        """Take note that the control of joints was set."""

    def shift(self, by_ns: int) -> None:
        """Go on as before while the time jumps by so much [ns]."""

    def save(self, time_ns: int) -> Any:
        """Give what `restore` goes back to; time_ns: now."""

    def restore(self, saved: Any, time_ns: int) -> None:
        """Go on as then, time_ns being now; what is on its way ends."""

    def restart(self, words: str = '') -> None:
        """Give all joints back; words: why."""


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
