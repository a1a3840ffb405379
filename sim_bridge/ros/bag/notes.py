"""
Shapes for the JSON notes in a bag, checked before a note is used.

A bag may have any origin. A shape is one of these: a type; a list with one shape for all items, or
one for each; a mapping from `str` to one shape for all values; a mapping from names to shapes,
optional names ending in a question mark; a tuple of alternatives, `None` among them.
"""

from __future__ import annotations

from collections.abc import Mapping
import json
from typing import Any

from std_msgs.msg import String

from sim_bridge.foundation.errors import (
    brief,
    InvalidValueError,
    MalformedMessageError,
    ReplayError,
)
from sim_bridge.foundation.validation import instance_of
from sim_bridge.ros.bag.mcap_reader import Message
from sim_bridge.ros.command.inputs import SENDERS_LEFT
from sim_bridge.ros.command.programs import PROGRAM_INPUT
from sim_bridge.ros.command.trajectories import CANCEL, FOLLOW
from sim_bridge.ros.wire.cdr import deserialize

_TEXTS = {str: str}
_ROWS = [[float]]
_ROWS_OR_NONE = [(None, [float])]

SETUP_SHAPE = {
    'format': int,
    'version': str,
    'namespace': str,
    'parameters': {str: object},
    'descriptions': _TEXTS,
    'files': _TEXTS,
    'topics': _TEXTS,
    'commands': _TEXTS,
    'bundles?': str,
    'hash_version?': int,
}
HASH_SHAPE = {'step': int, 'hash': str}
IMAGE_HASH_SHAPE = {'camera': str, 'step': int, 'hashes': {str: str}}
INPUT_SHAPES: Mapping[str, Any] = {
    'control': {'robot': str, 'axis': str, 'control': str, 'kp': float, 'kd': float},
    FOLLOW: {
        'robot': str,
        'joints': [str],
        'times': [float],
        'positions': _ROWS,
        'velocities': _ROWS_OR_NONE,
        'accelerations': _ROWS_OR_NONE,
        'start_ns': int,
        'path': _ROWS,
        'goal': _ROWS,
        'goal_time': float,
        'interpolates?': bool,
    },
    CANCEL: {'robot': str, 'number': int},
    PROGRAM_INPUT: {
        'robot': str,
        'controller': str,
        'position?': float,
        'max_effort?': float,
        'cancel?': int,
        'feedforward?': bool,
    },
    SENDERS_LEFT: {'robot': str},
    'reset': {'clock': bool, 'time?': bool, 'state?': bool},
    'save': {},
    'restore': {'number': int, 'clock': bool},
    'move': {'name': str, 'pose': (None, [[float], [float]]), 'twist': (None, [[float], [float]])},
    'pull': {'robot': str, 'link': str, 'point': (None, [float]), 'target': [float]},
    'drop': {},
    'push': {'robot': str, 'link': str, 'force': [float], 'seconds': float},
    'controllers': {'robot': str, 'stages': {str: str}},
    'publish_state': {},
    'complete_state': {},
    'configure': {'solver?': str, 'sleep?': bool, 'gravity?': [float], 'integrator?': str},
    'functions': {'names': [str]},
    'force_fields': {'text': str},
    'change': {'text': str},
    'delete': {'name': str},
    'spawn': {
        'name': str,
        'made': (
            None,
            {
                'description': str,
                'namespace': (None, str),
                'position': [float],
                'orientation': [float],
                'files': _TEXTS,
            },
        ),
    },
    'spawn_scene': {
        'name': str,
        'source': str,
        'model': str,
        'position': [float],
        'orientation': [float],
        'namespace': str,
        'namespaces': [str],
        'files': _TEXTS,
        'bundles': str,
    },
}
"""Input shapes by kind."""

_WORDS = {
    bool: 'true or false',
    int: 'an integer',
    float: 'a number',
    str: 'a text',
    None: 'null',
    object: 'anything',
}


def content_of(message: Message) -> dict[str, Any]:
    """Return the JSON object in a message; raises ReplayError."""
    try:
        content = json.loads(deserialize(message.data, String).data)
    except (MalformedMessageError, ValueError, RecursionError) as err:
        raise unusable(message, brief(err)) from err
    try:
        return instance_of('content', content, dict, 'a JSON object')
    except InvalidValueError as err:
        raise unusable(message, str(err)) from err


def check_shape(message: Message, content: object, shape: Any, part: str = '') -> None:
    """Check a message's content; raises ReplayError. part: its name in messages."""
    try:
        _check(part or 'content', content, shape)
    except InvalidValueError as err:
        raise unusable(message, str(err)) from err


def unusable(message: Message, reason: str) -> ReplayError:
    """Return the error for a message unsuitable for a replay."""
    return ReplayError(
        f'the message of {message.topic} recorded at {message.time_ns} ns cannot be replayed: '
        f'{reason}'
    )


def _check(part: str, value: Any, shape: Any) -> None:
    """Raise InvalidValueError for a value with another shape."""
    if isinstance(shape, tuple):
        _, other = shape
        if value is not None:
            _check(part, value, other)
    elif isinstance(shape, list):
        count = len(shape) if len(shape) > 1 else None
        if not isinstance(value, list) or len(value) != (count or len(value)):
            raise InvalidValueError(part, value, f'a list of {count}' if count else 'a list')
        for number, item in enumerate(value):
            _check(f'{part}[{number}]', item, shape[number if count else 0])
    elif isinstance(shape, Mapping):
        if not isinstance(value, dict):
            raise InvalidValueError(part, value, 'a JSON object')
        if str not in shape:
            known = {name.rstrip('?') for name in shape}
            needed = {name for name in shape if not name.endswith('?')}
            if not needed <= value.keys() <= known:
                raise InvalidValueError(
                    f'names in {part}', list(value), ', '.join(shape) or 'none'
                )
        for name, item in value.items():
            _check(f'{part}.{name}', item, shape.get(name, shape.get(f'{name}?', shape.get(str))))
    elif shape is not object:
        # a JSON integer is a float, too; true is neither
        kinds = (int, float) if shape is float else shape
        if not isinstance(value, kinds) or isinstance(value, bool) is not (shape is bool):
            raise InvalidValueError(part, value, _WORDS[shape])
