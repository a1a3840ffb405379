"""The inputs of a robot, which are applied and recorded on the physics thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Message(NamedTuple):
    """A received command: the name of its topic, and its bytes."""

    topic: str
    data: bytes


class ControlChange(NamedTuple):
    """The arguments of `RobotCommands.set_control`."""

    axis: str
    control: str
    kp: float
    kd: float


class InputNote(NamedTuple):
    """Any other input: its kind, and values that JSON can represent."""

    kind: str
    values: dict[str, Any]


Input = Message | ControlChange | InputNote

# carries out a request, on the physics thread
Request = Callable[[], None]
