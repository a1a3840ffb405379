"""
Programs of the declared controllers besides trajectory controllers: one module per kind.

A program takes messages and goals on the executor's thread or the physics thread, and commands
its joints on the physics thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TYPE_CHECKING

from sim_bridge.ros.command.inputs import Message

if TYPE_CHECKING:
    from sim_bridge.robots.robot import Robot
    from sim_bridge.ros.command.commands import RobotCommands
    from sim_bridge.ros.command.controller_states import ControllerStates, DeclaredController
    from sim_bridge.ros.command.joint_targets import JointTargets
    from sim_bridge.ros.process.guarded_node import GuardedMixin
    from sim_bridge.ros.publish.streams import Stampable

PROGRAM_INPUT = 'controller_input'
"""Kind of an InputNote: an input of a program besides messages."""


@dataclass(frozen=True)
class Context:
    """
    Surroundings of a program.

    now: returns the simulated time [ns]. step: control step [s].
    """

    robot: Robot
    commands: RobotCommands
    states: ControllerStates
    now: Callable[[], int]
    step: float


@dataclass(frozen=True)
class Topic:
    """Command topic of a program. take: called with the bytes, and the input to record."""

    name: str
    message_type: type
    take: Callable[[bytes, Message], None]


@dataclass(frozen=True)
class StateTopic:
    """State topic of a program, published at the manager's rate."""

    name: str
    message_type: type
    message: Stampable


class Monitored(Protocol):
    """An action server reporting the progress of goals to clients."""

    def monitor(self) -> bool:
        """Send feedback and results to clients; return whether any goal has ended."""


class Program(Protocol):
    """
    Program of one declared controller.

    targets: commands of its joints. topics: command topics. state_topics: published topics.
    """

    declared: DeclaredController
    targets: JointTargets
    topics: Sequence[Topic]
    state_topics: Sequence[StateTopic]

    @property
    def name(self) -> str:
        """Name of the controller."""

    def begin(self) -> None:
        """Start: the controller was activated, or other commands have unlocked the robot."""

    def advance(self, time_ns: int) -> None:
        """Command the joints for the control step starting at this time [ns]."""

    def end(self) -> None:
        """Release the joints: the controller was deactivated."""

    def feed(self, values: Mapping[str, Any]) -> None:
        """Take an input recorded in another run."""

    def serve(self, node: GuardedMixin, full: Callable[[str], str]) -> Sequence[Monitored]:
        """Create services and actions; full: returns full names. Return the actions."""

    def save(self, time_ns: int) -> Any:
        """Return the state for `restore`."""

    def restore(self, saved: Any, time_ns: int) -> None:
        """Return to a saved state."""

    def restart(self, time_ns: int, reason: str) -> None:
        """Start again; reason: told to clients of ended goals."""
