"""Common interface for plugin inputs with state and messages on changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TYPE_CHECKING

from sim_bridge.ros.publish.streams import Stream

if TYPE_CHECKING:
    from sim_bridge.ros.publish.sinks import Sink

Change = Callable[[], None]
"""Takes effect on the physics thread, before the next control step."""
Accept = Callable[[str, type, Callable[[Any], Change]], None]
"""Subscribes to a topic: name, message type, function from a message to a change."""


class Schedule(Protocol):
    """A topic's message times."""

    def is_due(self, time_ns: int) -> bool:
        """Return whether a message is due at this time [ns]."""

    def restart(self, time_ns: int) -> None:
        """Continue from this time [ns]."""


class PluginPart(Protocol):
    """An input that advances with the control steps."""

    def streams(self, sink: Sink, prefix: str) -> Sequence[tuple[Stream, Schedule]]:
        """Return the published topics and their schedules."""

    def advance(self) -> None:
        """Prepare the next control step."""

    def save(self) -> Any:
        """Return the state for `prepare` and `restore`."""

    def prepare(self, saved: Any) -> None:
        """Add and remove joints as in a saved state, before the world is restored."""

    def restore(self, saved: Any) -> None:
        """Return to a saved state; the world is restored already."""

    def restart(self) -> None:
        """Start again; the world is reset already."""


class OnChange:
    """
    A message published once after each change; it is its own schedule.

    The message is one object, filled before `tell`.
    """

    def __init__(self, message: Any) -> None:
        """Begin without news."""
        self.message = message
        self._is_new = False

    def tell(self) -> None:
        """Publish the message after the next control step."""
        self._is_new = True

    def is_due(self, time_ns: int) -> bool:
        """Return whether there are news, once."""
        is_new, self._is_new = self._is_new, False
        return is_new

    def restart(self, time_ns: int) -> None:
        """Do nothing: news do not depend on the time."""

    def stamped(self, stamp: bytes) -> Any:
        """Return the message."""
        return self.message
