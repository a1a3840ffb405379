"""Force and torque that lead a link over waypoints (gz-sim's TrajectoryFollower)."""

from __future__ import annotations

from dataclasses import replace
import math
from typing import Any, NamedTuple, TYPE_CHECKING

from std_msgs.msg import Bool

from sim_bridge.ros.command.plugin_parts import Accept, Change, Schedule
from sim_bridge.ros.publish.streams import Stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sim_bridge.description.plugin_inputs import WaypointInput
    from sim_bridge.robots.robot import Robot
    from sim_bridge.ros.publish.sinks import Sink

_Point = tuple[float, float]


class SavedWaypoints(NamedTuple):
    """State of Waypoints. goals: remaining waypoints in the world [m]; None before the start."""

    goals: tuple[_Point, ...] | None
    is_paused: bool


class Waypoints:
    """
    One link's way over the waypoints, on the ground plane.

    A torque turns the link towards the next waypoint, then a force pushes it ahead. The last
    waypoint stays the goal.
    """

    def __init__(self, entry: WaypointInput, robot: Robot, accept: Accept) -> None:
        """Begin at the first control step."""
        self._entry, self._robot = entry, robot
        self._link = robot.link(entry.link)
        self._goals: tuple[_Point, ...] | None = None
        self._is_paused = False
        accept(entry.topic, Bool, self._pause)

    def streams(self, sink: Sink, prefix: str) -> Sequence[tuple[Stream, Schedule]]:
        """Return nothing: it publishes no topics."""
        return []

    def advance(self) -> None:
        """Set force and torque for the next control step."""
        if self._is_paused:
            self._push(0.0, 0.0)
            return
        if self._goals is None:
            self._goals = tuple(self._placed(*point) for point in self._entry.waypoints)
        self._push(*self._steered(self._goals))

    def save(self) -> SavedWaypoints:
        """Return the state for `restore`."""
        return SavedWaypoints(self._goals, self._is_paused)

    def prepare(self, saved: SavedWaypoints) -> None:
        """Do nothing: it has no joints."""

    def restore(self, saved: SavedWaypoints) -> None:
        """Return to a saved state."""
        self._goals, self._is_paused = saved

    def restart(self) -> None:
        """Begin the way again."""
        self._goals, self._is_paused = None, False

    def _pause(self, message: Bool) -> Change:
        def switch() -> None:
            self._is_paused = message.data

        return switch

    def _placed(self, x: float, y: float) -> _Point:
        """Return a waypoint in the world."""
        origin, p = self._entry.origin, self._link.p
        if origin == 'world':
            return x, y
        if origin == 'pose':
            x, y, _ = (self._link.R @ (x, y, 0.0)).tolist()
        return float(p[0]) + x, float(p[1]) + y

    def _steered(self, goals: tuple[_Point, ...]) -> tuple[float, float]:
        """Return force [N] and torque [N m]; a reached waypoint makes room for the next."""
        entry, p = self._entry, self._link.p
        x, y, z = self._link.R.T @ (goals[0][0] - p[0], goals[0][1] - p[1], 0.0)
        bearing = math.atan2(y, x)
        if math.sqrt(x * x + y * y + z * z) <= entry.tolerance:
            if len(goals) > 1:
                self._goals = goals[1:] + (goals[:1] if entry.loops else ())
            return 0.0, 0.0
        if abs(bearing) > entry.bearing_tolerance:
            return 0.0, math.copysign(1.0, bearing) * entry.torque
        if entry.stops_turning and abs(bearing) <= 0.5 * entry.bearing_tolerance:
            self._robot.set_base_velocity(self._link.v, (0.0, 0.0, 0.0))
        return entry.force, 0.0

    def _push(self, force: float, torque: float) -> None:
        """Write force along x and torque about z, in the link's axes."""
        world, name = self._robot.world, f'{self._robot.name}/{self._entry.field}'
        known: Any = world.force_fields[name]
        wanted = replace(known, force=(force, 0.0, 0.0), torque=(0.0, 0.0, torque))
        if wanted != known:
            world.set_force_field(name, wanted)
