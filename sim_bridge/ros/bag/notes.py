"""
What the notes in a bag hold: topics of JSON, whose shapes are checked before anything is done.

A bag may come from anywhere. A shape is a type; a list with the shape of all its items, or with
one for each; a mapping from `str` to the shape of all its values; a mapping from names, of which
those with a question mark may lack; or a tuple of alternatives, `None` among them.
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
    },
    CANCEL: {'robot': str, 'number': int},
    SENDERS_LEFT: {'robot': str},
    'reset': {'clock': bool, 'time?': bool, 'state?': bool},
    'save': {},
    'restore': {'number': int, 'clock': bool},
    'move': {'name': str, 'pose': (None, [[float], [float]]), 'twist': (None, [[float], [float]])},
    'pull': {'robot': str, 'link': str, 'point': (None, [float]), 'target': [float]},
    'drop': {},
    'push': {'robot': str, 'link': str, 'force': [float], 'seconds': float},
    'publish_state': {},
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
"""The inputs by their kind."""

_WORDS = {
    bool: 'true or false',
    int: 'an integer',
    float: 'a number',
    str: 'a text',
    None: 'null',
    object: 'anything',
}


def content_of(message: Message) -> dict[str, Any]:
    """Return the object of JSON in a message; raises ReplayError."""
    try:
        content = json.loads(deserialize(message.data, String).data)
    except (MalformedMessageError, ValueError, RecursionError) as err:
        raise unusable(message, brief(err)) from err
    try:
        return instance_of('it', content, dict, 'an object of JSON')
    except InvalidValueError as err:
        raise unusable(message, str(err)) from err


def check_shape(message: Message, content: object, shape: Any, what: str = '') -> None:
    """Check what a message holds; raises ReplayError. what: the part that it is."""
    try:
        _check(what or 'it', content, shape)
    except InvalidValueError as err:
        raise unusable(message, str(err)) from err


def unusable(message: Message, reason: str) -> ReplayError:
    """Return the error for a message that cannot be replayed."""
    return ReplayError(
        f'the message of {message.topic} recorded at {message.time_ns} ns cannot be replayed: '
        f'{reason}'
    )


def _check(what: str, value: Any, shape: Any) -> None:
    """Raise InvalidValueError for a value of another shape."""
    if isinstance(shape, tuple):
        _, other = shape
        if value is not None:
            _check(what, value, other)
    elif isinstance(shape, list):
        count = len(shape) if len(shape) > 1 else None
        if not isinstance(value, list) or len(value) != (count or len(value)):
            raise InvalidValueError(what, value, f'a list of {count}' if count else 'a list')
        for number, item in enumerate(value):
            _check(f'{what}[{number}]', item, shape[number if count else 0])
    elif isinstance(shape, Mapping):
        if not isinstance(value, dict):
            raise InvalidValueError(what, value, 'an object of JSON')
        if str not in shape:
            known = {name.rstrip('?') for name in shape}
            needed = {name for name in shape if not name.endswith('?')}
            if not needed <= value.keys() <= known:
                raise InvalidValueError(
                    f'names in {what}', list(value), ', '.join(shape) or 'none'
                )
        for name, item in value.items():
            _check(f'{what}.{name}', item, shape.get(name, shape.get(f'{name}?', shape.get(str))))
    elif shape is not object:
        # of JSON's numbers an integer is a float, too; true is neither
        kinds = (int, float) if shape is float else shape
        if not isinstance(value, kinds) or isinstance(value, bool) is not (shape is bool):
            raise InvalidValueError(what, value, _WORDS[shape])
