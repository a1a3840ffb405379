"""Commands entered on the page: they stay in force until released."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

from sensor_msgs.msg import JointState

from sim_bridge.foundation.errors import StateError
from sim_bridge.ros.command.command_inbox import STAMPED_TOPIC
from sim_bridge.ros.wire.cdr import serialize_cleanly

if TYPE_CHECKING:
    from sim_bridge.ros.session.robot_interface import RobotInterface
    from sim_bridge.ros.session.simulator import Simulator

# JointState field for a command, by control mode of the joint
_LISTS = {'position': 'position', 'servo': 'position', 'velocity': 'velocity', 'effort': 'effort'}
# period of repeated commands, as a fraction of the command timeout
_SHARE = 0.5


class _Held(NamedTuple):
    """Commands for a robot. drops: count of `RobotCommands.drops` at the time of the command."""

    interface: RobotInterface
    drops: int
    values: dict[str, tuple[str, float]]


class Hand:
    """
    Sends commands on the topic `joint_commands`, without the graph; on the physics thread.

    Commands are repeated until a reset, since a command without repetition times out.
    """

    def __init__(self, simulator: Simulator, timeout_ns: int) -> None:
        """Start without commands. timeout_ns: command timeout in simulated time [ns]; 0: never."""
        self._simulator = simulator
        self._period_ns = round(_SHARE * timeout_ns)
        self._held: dict[str, _Held] = {}
        self._given_ns = 0

    @property
    def robots(self) -> list[str]:
        """Commanded robot names."""
        return list(self._held)

    @property
    def joints(self) -> list[str]:
        """Commanded joints with control mode and value, as text."""
        # a copy, since the physics thread may add or remove entries meanwhile
        return [
            f'{robot}/{joint} {control} {value:.4g}'
            for robot, held in list(self._held.items())
            for joint, (control, value) in list(held.values.items())
        ]

    def command(self, interface: RobotInterface, joint: str, control: str, value: float) -> None:
        """Command a joint in this control mode. Raises StateError in lockstep."""
        if self._simulator.lockstep.sources:
            raise StateError(
                'in lockstep, steps wait for commands from '
                f'{", ".join(self._simulator.lockstep.sources)}; the page cannot send commands'
            )
        robot = interface.robot.name
        held = self._held.get(robot)
        if held is None or not self._is_valid(held):
            held = self._held[robot] = _Held(interface, interface.commands.drops, {})
        held.values[joint] = control, value
        self._give(held)

    def release(self, robot: str) -> None:
        """Stop commanding a robot; the timeout policy takes effect afterwards."""
        self._held.pop(robot, None)

    def repeat(self) -> None:
        """Repeat the commands before they time out; called after each control step."""
        if not self._held or not self._period_ns:
            return
        # simulated time goes back at resets
        if abs(self._simulator.time_ns - self._given_ns) < self._period_ns:
            return
        for robot, held in list(self._held.items()):
            if self._is_valid(held):
                self._give(held)
            else:
                self.release(robot)

    def _is_valid(self, held: _Held) -> bool:
        """Return whether the robot exists and was not reset since the command."""
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
