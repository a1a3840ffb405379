"""
The record of a simulator's inputs.

The simulator knows only this class, which by itself records nothing. `bag.recording` extends it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TYPE_CHECKING

if TYPE_CHECKING:
    from sim_bridge.foundation.errors import RecordingError
    from sim_bridge.foundation.validation import GivenPose
    from sim_bridge.robots.robot import Robot
    from sim_bridge.ros.session.loading import LoadedRobot
    from sim_bridge.ros.session.robot_interface import RobotInterface
    from sim_bridge.ros.session.spawn_request import SceneSource
    from sim_bridge.world.openplx import OpenPlxScene


class JournalStatus(NamedTuple):
    """
    The progress of a recording.

    folder: of the bag. error: the error that ended the recording, if any. messages, size: number
    of messages and bytes written. queued: bytes in the queue.
    """

    folder: Path
    error: RecordingError | None
    messages: int
    size: int
    queued: int


class Journal:
    """
    Records the inputs of a simulator in the order in which they take effect.

    This base class records nothing: each method is what a simulator without a recording needs.
    """

    def add_interface(self, interface: RobotInterface) -> None:
        """Record the commands of a robot from now on."""

    def note(self, kind: str, **values: Any) -> None:
        """Record a change of the simulation between two steps, after the inputs before it."""

    def note_spawn(
        self, robot: Robot, loaded: LoadedRobot | None, position: Any, orientation: Any
    ) -> None:
        """
        Record that a robot or object (loaded: None) was added to the world.

        position [m], orientation (x y z w): of `World.add_copy`; None if it was added in another
        way, so that a replay cannot add it.
        """

    def note_scene(
        self,
        scene: OpenPlxScene,
        source: SceneSource,
        pose: GivenPose,
        loaded: Sequence[LoadedRobot],
    ) -> None:
        """
        Record that an OpenPLX scene was added to the world.

        pose: position [m] and orientation (x y z w) of the scene. loaded: its robots with topics.
        """

    def note_functions(self, functions: Sequence[tuple[str, object]]) -> None:
        """Record which functions of Python act from now on, so that a replay ends here."""

    def watch_deadlines(self, missed: Callable[[], int]) -> None:
        """Record deadlines that are missed; missed: returns how many have been."""

    def flush(self) -> None:
        """Record the inputs since the last step, while no step is taken."""

    def end_tick(self) -> None:
        """Record the state hash if it is due."""

    def close(self) -> None:
        """End the recording; no step may be in progress."""

    def statuses(self) -> list[JournalStatus]:
        """Return the progress of the recording; empty if there is none."""
        return []
