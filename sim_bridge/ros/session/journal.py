"""
Record for a simulator's inputs.

The simulator knows only this class, which records nothing itself. `bag.recording` extends it.
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
    Recording progress.

    folder: bag folder. error: the error that ended the recording, if any. messages: written so
    far. size: bytes written so far. queued: bytes in the queue.
    """

    folder: Path
    error: RecordingError | None
    messages: int
    size: int
    queued: int


class Journal:
    """
    Records a simulator's inputs in the order in which they take effect.

    This base class records nothing; a simulator without a recording uses it.
    """

    def add_interface(self, interface: RobotInterface) -> None:
        """Record a robot's commands from now on."""

    def note(self, kind: str, **values: Any) -> None:
        """Record a simulation change between two steps, after all earlier inputs."""

    def note_spawn(
        self, robot: Robot, loaded: LoadedRobot | None, position: Any, orientation: Any
    ) -> None:
        """
        Record a robot or object (loaded: None) added to the world.

        position [m], orientation (x y z w): arguments of `World.add_copy`; None if it was added in
        another way, so a replay cannot add it.
        """

    def note_scene(
        self,
        scene: OpenPlxScene,
        source: SceneSource,
        pose: GivenPose,
        loaded: Sequence[LoadedRobot],
    ) -> None:
        """
        Record an OpenPLX scene added to the world.

        pose: the scene's position [m] and orientation (x y z w). loaded: its robots with topics.
        """

    def note_functions(self, functions: Sequence[tuple[str, object]]) -> None:
        """Record the Python functions acting from now on; a replay ends here."""

    def watch_deadlines(self, missed: Callable[[], int]) -> None:
        """Record missed deadlines. missed: returns their number so far."""

    def flush(self) -> None:
        """Record the inputs since the last step, while no step is taken."""

    def end_tick(self) -> None:
        """Record the state hash if due."""

    def close(self) -> None:
        """End the recording; no step may be in progress."""

    def statuses(self) -> list[JournalStatus]:
        """Return the recording progress; empty if there is no recording."""
        return []
