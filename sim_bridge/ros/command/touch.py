"""Messages about touches that last (gz-sim's TouchPlugin)."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

import numpy as np
from std_msgs.msg import Bool

from sim_bridge.ros.command.plugin_parts import Accept, Change, OnChange, Schedule
from sim_bridge.ros.publish.streams import Stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sim_bridge.description.plugin_inputs import TouchInput
    from sim_bridge.robots.robot import Robot
    from sim_bridge.ros.publish.sinks import Sink

_RATE = 10.0  # of touches, for the queue depth [Hz]


class SavedTouch(NamedTuple):
    """State of Touch. since: step count at its beginning; None for no touch."""

    is_enabled: bool
    since: int | None


class Touch:
    """One message about a touch: published once, then waits until it is enabled again."""

    def __init__(self, entry: TouchInput, robot: Robot, accept: Accept) -> None:
        """Watch, if the file says so."""
        self._entry, self._robot = entry, robot
        self._message = OnChange(Bool(data=True))
        self._layout = -1
        self._watched = self._targets = np.zeros(0, int)
        self._is_enabled: bool = entry.is_enabled
        self._since: int | None = None
        accept(entry.enable_topic, Bool, self._enable)

    def streams(self, sink: Sink, prefix: str) -> Sequence[tuple[Stream, Schedule]]:
        """Return the message's topic."""
        name = prefix + self._entry.topic
        return [(Stream(sink, name, Bool, self._message, rate_hz=_RATE), self._message)]

    def advance(self) -> None:
        """Compare the touch's duration with the wanted one."""
        if not self._is_enabled:
            return
        world = self._robot.world
        if not self._is_touching():
            self._since = None
            return
        if self._since is None:
            self._since = world.step_count
        if (world.step_count - self._since) * world.time_step > self._entry.seconds:
            self._is_enabled = False
            self._message.tell()

    def save(self) -> SavedTouch:
        """Return the state for `restore`."""
        return SavedTouch(self._is_enabled, self._since)

    def prepare(self, saved: SavedTouch) -> None:
        """Do nothing: it has no joints."""

    def restore(self, saved: SavedTouch) -> None:
        """Return to a saved state."""
        self._is_enabled, self._since = saved

    def restart(self) -> None:
        """Watch as in the file."""
        self._is_enabled, self._since = self._entry.is_enabled, None

    def _enable(self, message: Bool) -> Change:
        def switch() -> None:
            self._is_enabled, self._since = message.data, None

        return switch

    def _is_touching(self) -> bool:
        """Return whether a watched geometry touched a target in the last step."""
        world = self._robot.world
        count = world.contact_count
        if not count:
            return False
        if world.layout != self._layout:
            self._find_geometries()
        state = world.state
        pairs = state.contact_geometry[:count]
        touches = (state.contact_gap[:count] <= 0.0) | state.contact_impulse[:count].any(axis=1)
        return bool(
            any(
                (
                    np.isin(pairs[:, own], self._watched)
                    & np.isin(pairs[:, 1 - own], self._targets)
                    & touches
                ).any()
                for own in (0, 1)
            )
        )

    def _find_geometries(self) -> None:
        """Find the watched and the target geometries' indices."""
        world, entry = self._robot.world, self._entry
        self._layout = world.layout
        names = [(each.link.robot.name, each.link.name, each.name) for each in world.geometries]
        self._watched, self._targets = (
            np.array([at for at, name in enumerate(names) if is_one(name)], int)
            for is_one in (
                lambda name: name[0] == self._robot.name and name[1:] in entry.watched,
                lambda name: entry.target in '::'.join(name),
            )
        )
