"""Inputs of an OpenPLX scene, commanded on their own topics."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

from geometry_msgs.msg import Vector3
from rclpy.logging import get_logger
from std_msgs.msg import Bool, Float64, Float64MultiArray

from sim_bridge.foundation.errors import SimBridgeError
from sim_bridge.ros.process.throttle import once_in
from sim_bridge.ros.publish.signals import signal_topics
from sim_bridge.ros.wire.cdr import deserialize
from sim_bridge.world.signals import FLAG
from sim_bridge.world.signals import Input as SceneInput

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from sim_bridge.ros.command.commands import RobotCommands
    from sim_bridge.ros.command.inputs import Message
    from sim_bridge.world.openplx import OpenPlxScene

# message type, and function reading its value, by the size of an input's value; 0 for a flag
_TYPES: dict[int, tuple[type, Callable[[Any], Any]]] = {
    0: (Bool, lambda message: message.data),
    1: (Float64, lambda message: message.data),
    2: (Float64MultiArray, lambda message: message.data),
    3: (Vector3, lambda message: [message.x, message.y, message.z]),
}


class CommandedSignal:
    """A scene input; values from its topic are written at the next control step."""

    def __init__(
        self, topic: str, scene: OpenPlxScene, target: SceneInput, commands: RobotCommands
    ) -> None:
        """Prepare to take messages. commands: commands of the robot whose inbox is used."""
        self.topic = topic
        self.message_type, self._value = _TYPES[0 if target.unit == FLAG else target.size]
        self._scene, self._target, self._commands = scene, target, commands

    def take(self, data: bytes, source: Message) -> None:
        """
        Write a message's value at the start of the next control step.

        A reset or a snapshot before that drops it. source: input to record. Raises
        InvalidValueError, or MalformedMessageError for another message.
        """
        given = self._value(deserialize(data, self.message_type))
        try:
            value = self._target.checked(given)
        except SimBridgeError:
            self._commands.counts.rejected += 1
            raise
        self._commands.queue.submit(lambda: self._write(value), source, dropped=_drop)
        self._commands.timing.arrived(0)
        self._commands.counts.accepted += 1

    def _write(self, value: np.ndarray) -> None:
        """Write to the current input: a robot of the scene may have been removed."""
        try:
            SceneInput(self._scene, self._target.signal).write(value)
        except SimBridgeError as err:
            self._commands.counts.rejected += 1
            get_logger('sim_bridge').warning(
                f'command on {self.topic} not obeyed: {err}', **once_in(1.0)
            )


def commanded_signals(
    prefix: str, scene: OpenPlxScene, commands: RobotCommands
) -> list[CommandedSignal]:
    """Return a scene's inputs. prefix: for the topics. commands: of one of its robots."""
    inputs = scene.inputs
    return [
        CommandedSignal(f'{prefix}inputs/{topic}', scene, inputs[name], commands)
        for name, topic in signal_topics(inputs).items()
    ]


def _drop() -> None:
    """Write nothing."""
