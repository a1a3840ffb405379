"""Goal of a gripper and its outcome, and a gripper as its action sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TYPE_CHECKING

if TYPE_CHECKING:
    from sim_bridge.description.controller_settings import GripperSettings

REACHED, STALLED, CANCELED, ENDED = 'reached', 'stalled', 'canceled', 'ended'


@dataclass(eq=False)
class Grip:
    """
    Goal of a gripper.

    number: identifies the goal. position: [rad or m]. max_effort: [N m or N]. outcome: '' until
    the end, then one of the outcomes above; words: reason. ended_at: position [rad or m] and
    effort [N m or N] at the end.
    """

    number: int
    position: float
    max_effort: float
    outcome: str = ''
    words: str = ''
    ended_at: tuple[float, float] = (0.0, 0.0)


class Gripper(Protocol):
    """A controller with goals for one joint."""

    settings: GripperSettings

    @property
    def name(self) -> str:
        """Name of the controller."""

    @property
    def state(self) -> tuple[float, float]:
        """Present position [rad or m] and effort [N m or N]."""

    def check(self, position: float, max_effort: float) -> None:
        """Raise a SimBridgeError for a goal that cannot be accepted."""

    def grip(self, position: float, max_effort: float) -> Grip:
        """Move to a position from the next control step on."""

    def cancel(self, number: int) -> None:
        """End a goal at the next control step."""
