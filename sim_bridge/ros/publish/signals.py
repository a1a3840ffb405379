"""OpenPLX scene outputs as messages, and signal topic names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from geometry_msgs.msg import Vector3Stamped
from std_msgs.msg import Bool, Float64, Float64MultiArray

from sim_bridge.foundation.errors import UnknownNameError
from sim_bridge.ros.publish.streams import Copy, PreparedStream
from sim_bridge.ros.wire.messages import (
    FlagMessage,
    marks,
    PreparedMessage,
    UnstampedMessage,
    WORLD_FRAME,
)
from sim_bridge.ros.wire.qos import topic_name
from sim_bridge.world.signals import FLAG, Output

if TYPE_CHECKING:
    from sim_bridge.ros.publish.sinks import Sink
    from sim_bridge.world.openplx import OpenPlxScene


class OutputStream(PreparedStream):
    """
    Topic for an output.

    A number is a Float64, true or false a Bool, a range [least, greatest] a Float64MultiArray, a
    vector a Vector3Stamped in the world frame. Nothing is sent after the output's body or joint is
    removed.
    """

    def __init__(
        self, sink: Sink, topic: str, scene: OpenPlxScene, output: Output, rate_hz: float
    ) -> None:
        """Open the topic for a scene output. rate_hz: as in `Stream`."""
        self._scene = scene
        self._output: Output | None = output
        kind, message = _message(output)
        (self._values,) = message.blocks
        super().__init__(sink, topic, kind, message, copies=self._copies, rate_hz=rate_hz)

    def refresh(self) -> None:
        """Ask whether the topic has subscribers, and whether the output still exists."""
        super().refresh()
        self.is_wanted = self.is_wanted and self._output is not None

    def locate(self) -> None:
        """Find the body or joint again, after robots were added or removed."""
        if self._output is not None:
            try:
                self._output = Output(self._scene, self._output.signal)
            except UnknownNameError:
                self._output = None
            self.refresh()

    def _copies(self) -> list[Copy]:
        """Return the block to copy; none for an output that `_read` computes for each message."""
        source = None if self._output is None else self._output.source()
        self.supply(self.message, self._read if source is None else None)
        if source is None:
            return []
        view, offset, sign = source
        return [Copy(self._values, view, None, offset, sign)]

    def _read(self) -> None:
        if self._output is not None:
            self._values[:] = self._output.read()


def output_streams(
    sink: Sink, prefix: str, scene: OpenPlxScene, rate_hz: float
) -> list[OutputStream]:
    """Return the streams for a scene's enabled outputs. prefix: before the topics."""
    sent = {name: output for name, output in scene.outputs.items() if output.signal.enabled}
    return [
        OutputStream(sink, f'{prefix}outputs/{topic}', scene, sent[name], rate_hz)
        for name, topic in signal_topics(sent).items()
    ]


def signal_topics(names: Iterable[str]) -> dict[str, str]:
    """
    Return a valid topic name for each signal name, in order.

    `motors[0]/torque` gives `motors_0/torque`; of two equal names the later one is numbered.
    """
    found: dict[str, str] = {}
    for name in names:
        plain = topic = '/'.join(topic_name(part.rstrip(']')) for part in name.split('/'))
        number = 1
        while topic in found.values():
            number += 1
            topic = f'{plain}_{number}'
        found[name] = topic
    return found


def _message(output: Output) -> tuple[type, PreparedMessage]:
    """Return the message type for an output, and the message with one block of its size."""
    if output.unit == FLAG:
        return Bool, FlagMessage()
    if output.size == 3:
        message = Vector3Stamped()
        message.header.frame_id = WORLD_FRAME
        message.vector.x, message.vector.y, message.vector.z = marks(0, 3)
        return Vector3Stamped, PreparedMessage(message, (3,))
    if output.size == 2:
        return Float64MultiArray, UnstampedMessage(Float64MultiArray(data=marks(0, 2)), (2,))
    return Float64, UnstampedMessage(Float64(data=marks(0, 1)[0]), (1,))
