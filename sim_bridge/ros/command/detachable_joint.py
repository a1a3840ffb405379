"""Fixed joints that messages close and open (gz-sim's DetachableJoint)."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

from std_msgs.msg import Empty, String

from sim_bridge.ros.command.plugin_parts import Accept, Change, OnChange, Schedule
from sim_bridge.ros.publish.streams import Stream
from sim_bridge.world.latch import Latch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sim_bridge.description.plugin_inputs import DetachInput
    from sim_bridge.robots.joints.spec import JointSpec
    from sim_bridge.robots.link import Link
    from sim_bridge.robots.robot import Robot
    from sim_bridge.ros.publish.sinks import Sink

_RATE = 10.0  # of changes, for the queue depth [Hz]


class SavedJoint(NamedTuple):
    """State of DetachableJoint. joint: None while open."""

    joint: JointSpec | None
    is_wanted: bool


class DetachableJoint:
    """
    One joint; it closes at the start, and again at a message, as soon as both links are there.

    A reset closes it at the start poses.
    """

    def __init__(self, entry: DetachInput, robot: Robot, number: int, accept: Accept) -> None:
        """Begin open. number: the joint's, on the robot."""
        self._entry, self._robot = entry, robot
        self._latch = Latch(robot.world, f'{robot.name}/detachable_joint_{number}')
        self._is_wanted = True
        self._state = OnChange(String())
        accept(entry.topic, Empty, lambda message: self._detach)
        accept(entry.attach_topic, Empty, self._attach)

    def streams(self, sink: Sink, prefix: str) -> Sequence[tuple[Stream, Schedule]]:
        """Return the topic with 'attached' or 'detached'."""
        name = prefix + self._entry.state_topic
        return [(Stream(sink, name, String, self._state, rate_hz=_RATE), self._state)]

    def advance(self) -> None:
        """Close the joint if it is wanted."""
        if not self._is_wanted or self._latch.is_closed:
            return
        child = self._child()
        if child is not None:
            self._latch.close(self._robot.link(self._entry.parent_link), child)
            self._is_wanted = False
            self._tell('attached')

    def save(self) -> SavedJoint:
        """Return the state for `restore`."""
        return SavedJoint(self._latch.save(), self._is_wanted)

    def prepare(self, saved: SavedJoint) -> None:
        """Close or open the joint as it was."""
        self._latch.restore(saved.joint)

    def restore(self, saved: SavedJoint) -> None:
        """Return to a saved state."""
        self._is_wanted = saved.is_wanted

    def restart(self) -> None:
        """Close the joint at the next control step, at the start poses."""
        self._latch.open()
        self._is_wanted = True

    def _child(self) -> Link | None:
        """Return the link to hold; None while it is not there."""
        entry, world = self._entry, self._robot.world
        robot = world.robots.get(entry.child_robot) if entry.child_robot else self._robot
        known = {} if robot is None else {link.name: link for link in robot.links}
        return known.get(entry.child_link)

    def _attach(self, message: Empty) -> Change:
        def want() -> None:
            self._is_wanted = not self._latch.is_closed

        return want

    def _detach(self) -> None:
        if self._latch.is_closed:
            self._latch.open()
            self._tell('detached')

    def _tell(self, word: str) -> None:
        self._state.message.data = word
        self._state.tell()
