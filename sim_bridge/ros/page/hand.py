"""Commands that somebody gives by hand: they stay in force until they are released."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

from sensor_msgs.msg import JointState

from sim_bridge.foundation.errors import StateError
from sim_bridge.ros.command.command_inbox import STAMPED_TOPIC
from sim_bridge.ros.wire.cdr import serialize_cleanly

if TYPE_CHECKING:
    from sim_bridge.ros.session.robot_interface import RobotInterface
    from sim_bridge.ros.session.simulator import Simulator

# the list of a message that a joint of this control takes
_LISTS = {'position': 'position', 'servo': 'position', 'velocity': 'velocity', 'effort': 'effort'}
# of the timeout of commands, after which they are given again
_SHARE = 0.5


class _Held(NamedTuple):
    """Commands of a robot. drops: of `RobotCommands`, when they were given."""

    interface: RobotInterface
    drops: int
    values: dict[str, tuple[str, float]]


class Hand:
    """
    Gives commands on the topic `joint_commands`, without the graph; on the physics thread.

    A publisher repeats its commands, or they time out; so does this, until a reset.
    """

    def __init__(self, simulator: Simulator, timeout_ns: int) -> None:
        """Begin without commands; timeout_ns: simulated time after which one ends; 0: never."""
        self._simulator = simulator
        self._period_ns = round(_SHARE * timeout_ns)
        self._held: dict[str, _Held] = {}
        self._given_ns = 0

    @property
    def robots(self) -> list[str]:
        """Names of those that are commanded."""
        return list(self._held)

    @property
    def joints(self) -> list[str]:
        """What is commanded, in words."""
        # a copy, as the physics thread may add or remove meanwhile
        return [
            f'{robot}/{joint} {control} {value:.4g}'
            for robot, held in list(self._held.items())
            for joint, (control, value) in list(held.values.items())
        ]

    def command(self, interface: RobotInterface, joint: str, control: str, value: float) -> None:
        """Command a joint by the control that it has. Raises StateError in lockstep."""
        if self._simulator.lockstep.sources:
            raise StateError(
                'in lockstep steps wait for answers of '
                f'{", ".join(self._simulator.lockstep.sources)}; there are no commands by hand'
            )
        robot = interface.robot.name
        held = self._held.get(robot)
        if held is None or not self._is_valid(held):
            held = self._held[robot] = _Held(interface, interface.commands.drops, {})
        held.values[joint] = control, value
        self._give(held)

    def release(self, robot: str) -> None:
        """Command a robot no more; the timeout's policy follows."""
        self._held.pop(robot, None)

    def repeat(self) -> None:
        """Give the commands again that would time out; after a control step."""
        if not self._held or not self._period_ns:
            return
        # it goes back at resets
        if abs(self._simulator.time_ns - self._given_ns) < self._period_ns:
            return
        for robot, held in list(self._held.items()):
            if self._is_valid(held):
                self._give(held)
            else:
                self.release(robot)

    def _is_valid(self, held: _Held) -> bool:
        """Return whether a robot is there and was not reset since it was commanded."""
        return (
            held.drops == held.interface.commands.drops
            and held.interface in self._simulator.interfaces
        )

    def _give(self, held: _Held) -> None:
        self._given_ns = self._simulator.time_ns
        interface = held.interface
        topic = next(
            each
            for each in interface.command_topics
            if each.name == f'{interface.prefix}{STAMPED_TOPIC}'
        )
        for name in dict.fromkeys(_LISTS.values()):
            given = {
                joint: value
                for joint, (control, value) in held.values.items()
                if _LISTS[control] == name
            }
            if given:
                topic.take(
                    serialize_cleanly(JointState(name=list(given), **{name: list(given.values())}))
                )
