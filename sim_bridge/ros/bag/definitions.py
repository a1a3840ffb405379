"""Message type definitions, for readers without the types installed."""

from __future__ import annotations

from functools import cache
import json
import os
from pathlib import Path
import re
import sys

from sim_bridge.foundation.errors import UnknownNameError

_RULE = '=' * 80

# in a .msg file, the line of a field or constant starts with its type
_FIELD = re.compile(r'^\s*([A-Za-z]\w*(?:/\w+)*)(?:<=\d+)?(?:\[[<=\d]*\])?\s+\w+', re.MULTILINE)
_PRIMITIVES = {
    'bool',
    'byte',
    'char',
    'float32',
    'float64',
    'int8',
    'uint8',
    'int16',
    'uint16',
    'int32',
    'uint32',
    'int64',
    'uint64',
    'string',
    'wstring',
}


def type_name(message_type: type) -> str:
    """Return the ROS name for a message class: 'sensor_msgs/msg/JointState'."""
    package = message_type.__module__.split('.')[0]
    return f'{package}/msg/{message_type.__name__}'


@cache
def full_definition(name: str) -> str:
    """
    Return the .msg text for a type and all nested types, in rosbag2's format.

    Raises UnknownNameError if the package's files are not found.
    """
    seen: set[str] = set()

    def text_of(package: str, kind: str) -> str:
        text = _file(package, kind, 'msg').read_text(encoding='utf-8')
        parts = [text]
        for inner in sorted(_types_in(text, package)):
            if inner not in seen:
                seen.add(inner)
                parts.append(f'{_RULE}\nMSG: {inner}\n{text_of(*inner.split("/"))}')
        return '\n'.join(parts)

    package, _, kind = name.split('/')
    return text_of(package, kind)


@cache
def type_hash(name: str) -> str:
    """Return a type's hash (REP 2016), 'RIHS01_…'; '' if ROS lacks it (Humble)."""
    package, _, kind = name.split('/')
    try:
        described = json.loads(_file(package, kind, 'json').read_text(encoding='utf-8'))
    except FileNotFoundError:
        return ''
    return next(
        (each['hash_string'] for each in described['type_hashes'] if each['type_name'] == name), ''
    )


def _file(package: str, kind: str, suffix: str) -> Path:
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    # ROS 2 wheels put their files beside Python
    folders = [
        Path(prefix) / 'share' / package / 'msg' for prefix in (*prefixes, sys.prefix) if prefix
    ]
    for folder in folders:
        if folder.is_dir():
            return folder / f'{kind}.{suffix}'
    raise UnknownNameError(
        'message package', package, map(str, folders), 'AMENT_PREFIX_PATH and the prefix'
    )


def _types_in(text: str, package: str) -> set[str]:
    """Return the message types used by a definition's fields, as 'package/Type'."""
    found = set()
    for word in _FIELD.findall(re.sub(r'#.*', '', text)):
        if word not in _PRIMITIVES:
            # a name without a package belongs to the same package
            found.add(word if '/' in word else f'{package}/{word}')
    return found
