"""Command messages: arbitrary field values, and damaged bytes, to a simulator without a graph."""

from __future__ import annotations

import array
from importlib import import_module
import json
from pathlib import Path
from random import Random
from typing import Any

from following import simulator
from rclpy.serialization import serialize_message
from rosidl_parser.definition import (
    AbstractNestedType,
    AbstractSequence,
    AbstractString,
    AbstractWString,
    Array,
    BasicType,
    NamespacedType,
)

from fuzzing.damage import damaged_bytes, TEXTS
from fuzzing.stepping import step_on

ROBOTS = ('double_pendulum', 'rover', 'tracked_vehicle')
_NUMBERS = (0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 1e-320, float('nan'), float('inf'), -float('inf'))
_WHOLE = (0, 1, -1, 127, -128, 255, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1, -(2**63), 2**64 - 1)
_LENGTHS = (0, 1, 2, 2, 2, 3, 5, 300)
_MESSAGES = 6


def make(rng: Random) -> bytes:
    """Return a robot and messages to it, each with its topic's number, as JSON."""
    name = rng.choice(ROBOTS)
    made = _simulator(name)
    joints = list(made.interfaces[0].commands.names)
    topics = made.interfaces[0].command_topics
    sent = []
    for _ in range(rng.randint(1, _MESSAGES)):
        number = rng.randrange(len(topics))
        data = serialize_message(_message(rng, topics[number].message_type, joints))
        if not rng.randrange(3):
            data = damaged_bytes(rng, data)
        sent.append([number, data.hex()])
    return json.dumps({'robot': name, 'messages': sent}).encode()


def run(case: bytes, folder: Path) -> None:
    """Send the messages, with a step after each; the robot continues after any content."""
    content = json.loads(case)
    made = _simulator(content['robot'])
    (interface,) = made.interfaces
    for number, data in content['messages']:
        interface.command_topics[number].take(bytes.fromhex(data))
        made.tick()
    step_on(made.world)


def _simulator(robot: str) -> Any:
    return simulator(robot=robot, collisions='none', rate=500.0)


def _message(rng: Random, kind: type, joints: list[str]) -> Any:
    message = kind()
    for (name, _), slot in zip(
        kind.get_fields_and_field_types().items(), kind.SLOT_TYPES, strict=True
    ):
        setattr(message, name, _value(rng, slot, joints, getattr(message, name)))
    return message


def _value(rng: Random, slot: Any, joints: list[str], default: Any) -> Any:
    if isinstance(slot, AbstractNestedType):
        length = slot.size if isinstance(slot, Array) else rng.choice(_LENGTHS)
        items = [_value(rng, slot.value_type, joints, 0) for _ in range(length)]
        if (
            isinstance(slot, AbstractSequence)
            and items
            and isinstance(items[0], str)
            and (rng.randrange(2))
        ):
            items = list(joints)
        return array.array('d', items) if isinstance(default, array.array) else items
    if isinstance(slot, NamespacedType):
        kind = getattr(import_module('.'.join(slot.namespaces)), slot.name)
        return _message(rng, kind, joints)
    if isinstance(slot, (AbstractString, AbstractWString)):
        return rng.choice((*joints, *TEXTS))
    assert isinstance(slot, BasicType)
    if slot.typename in ('float', 'double'):
        value = rng.choice(_NUMBERS)
        return value if slot.typename == 'double' or abs(value) < 1e38 else float('nan')
    if slot.typename == 'boolean':
        return bool(rng.randrange(2))
    bits = int(slot.typename.removeprefix('u').removeprefix('int'))
    low, high = (
        (0, 2**bits) if slot.typename.startswith('u') else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    )
    return rng.choice([value for value in _WHOLE if low <= value < high])
