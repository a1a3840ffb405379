"""forward_command_controller and joint group controllers: numbers of a message become commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TYPE_CHECKING

from std_msgs.msg import Float64MultiArray

from sim_bridge.description.controller_settings import ForwardSettings
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError
from sim_bridge.foundation.names import counted
from sim_bridge.ros.command.command_table import QUANTITIES
from sim_bridge.ros.command.joint_targets import JointTargets
from sim_bridge.ros.command.programs import Context, StateTopic, Topic
from sim_bridge.ros.wire.cdr import deserialize

if TYPE_CHECKING:
    from sim_bridge.ros.command.controller_states import DeclaredController
    from sim_bridge.ros.command.inputs import Message
    from sim_bridge.ros.process.guarded_node import GuardedMixin


class ForwardController:
    """Holds the latest command for ever, like the controllers it stands for."""

    def __init__(
        self, declared: DeclaredController, settings: ForwardSettings, context: Context
    ) -> None:
        """Prepare to take commands."""
        self.declared, self._settings, self._context = declared, settings, context
        self.targets = JointTargets(context.robot, context.commands, settings.joints)
        columns = dict(zip(settings.joints, self.targets.columns.tolist(), strict=True))
        self._places = [
            (QUANTITIES.index(quantity), columns[joint]) for joint, quantity in settings.targets
        ]
        name = declared.topic('commands')
        self.topics = [Topic(name, Float64MultiArray, self._take)]
        self.state_topics: list[StateTopic] = []

    @property
    def name(self) -> str:
        """Name of the controller."""
        return self.declared.name

    def _take(self, data: bytes, source: Message) -> None:
        """Command the joints from the next control step on; raises a SimBridgeError."""
        commands = self._context.commands
        try:
            self._context.states.check_active(self.declared.name)
            values = self._checked(list(deserialize(data, Float64MultiArray).data))
        except SimBridgeError:
            commands.counts.rejected += 1
            raise
        commands.queue.submit(lambda: self._obey(values), source)
        commands.timing.arrived(0)
        commands.counts.accepted += 1

    def _checked(self, given: Sequence[float]) -> list[float]:
        targets = self._settings.targets
        if len(given) != len(targets):
            names = ', '.join(f'{joint}/{quantity}' for joint, quantity in targets)
            raise InvalidValueError(
                f'commands of controller {self.declared.name!r}',
                list(given),
                f'{counted(len(targets), "number")}, one for each of {names}',
            )
        check = self._context.commands.queue.checked_value
        return [
            check(QUANTITIES.index(quantity), joint, value)
            for (joint, quantity), value in zip(targets, given, strict=True)
        ]

    def _obey(self, values: Sequence[float]) -> None:
        if not self._context.states.is_active(self.declared.name):
            return
        self.targets.start()
        for (quantity, column), value in zip(self._places, values, strict=True):
            self.targets.set(quantity, column, value)

    def begin(self) -> None:
        """Do nothing: it waits for its first command."""

    def advance(self, time_ns: int) -> None:
        """Write the latest command."""
        self.targets.write()

    def end(self) -> None:
        """Release the joints."""
        self.targets.end()

    def feed(self, values: Mapping[str, Any]) -> None:
        """Do nothing: its inputs are messages."""

    def serve(self, node: GuardedMixin, full: Callable[[str], str]) -> list[Any]:
        """Return no actions."""
        return []

    def save(self, time_ns: int) -> None:
        """Return None: its state is that of its targets."""

    def restore(self, saved: None, time_ns: int) -> None:
        """Do nothing."""

    def restart(self, time_ns: int, reason: str) -> None:
        """Do nothing."""
