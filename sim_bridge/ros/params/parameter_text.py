"""
Values in parameter files and on command lines, in the syntax of rcl.

Differences to other YAML files: 1e3 is a number, 1_000, 1:30 and dates are texts, and keys are
texts as written. Differences to rcl: lists may mix integers and floats, and contain lists and
blocks; y and n are texts, since joints have such names; null is no value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import json
import re
from typing import Any

import yaml

from sim_bridge.description.yaml.file import LineLoader
from sim_bridge.foreign.yaml_text import load_yaml, YamlTextError
from sim_bridge.foundation.errors import plain

_TAG = 'tag:yaml.org,2002:'
_INTEGER = re.compile(r'[-+]?(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)', re.ASCII)
_FLOAT = re.compile(
    r'[-+]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|\.(inf|Inf|INF)|(?i:inf|infinity|nan))'
    r'|\.(nan|NaN|NAN)',
    re.ASCII,
)
_WORDS = {
    **{
        form(word): 'bool'
        for word in ('yes', 'no', 'true', 'false', 'on', 'off')
        for form in (str.lower, str.upper, str.capitalize)
    },
    **dict.fromkeys(('', '~', 'null', 'Null', 'NULL'), 'null'),
    '<<': 'merge',
}

# switches for rcl
_LETTERS = ('y', 'Y', 'n', 'N')


class _Loader(LineLoader):
    """Loader for parameters."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """Return the tag of a node; plain scalars follow rcl."""
        if kind is yaml.ScalarNode and implicit[0]:
            return _TAG + _type_of(value)
        return super().resolve(kind, value, implicit)

    def key_of(self, node: yaml.Node) -> str:
        """Return a key as written; raises YAMLError for a list or a mapping."""
        self.check_key(node)
        return str(node.value)


def _type_of(text: str) -> str:
    """Return the type of a plain scalar, as a tag's last word."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return 'int' if _fits(text) else 'float'
    return 'float' if _FLOAT.fullmatch(text) else 'str'


def _fits(text: str) -> bool:
    """Return whether an integer has at most 64 bits; rcl reads others as floats."""
    digits = text.lstrip('+-')
    return digits[:1] == '0' or len(digits) < 20 and -(2**63) <= int(text) < 2**63


def read_text(data: bytes | str) -> Any:
    """Return the content of a parameter file, or a value; raises YamlTextError."""
    return load_yaml(data, _Loader)


def as_argument(value: Any) -> str:
    """
    Return a value in the syntax of rcl, for a node's command line.

    Texts are quoted where another value would be read. Mixed numbers in a list become floats: rcl
    refuses such lists.
    """
    if isinstance(value, str) and _is_clear(value):
        return value
    return json.dumps(of_one_type(value), ensure_ascii=False)


def _is_clear(text: str) -> bool:
    """Return whether a text without quotes is read as itself, also by rcl."""
    try:
        return read_text(text) == text and text not in _LETTERS
    except YamlTextError:
        return False


def as_ros(value: Any) -> Any:
    """Return a value of a type that ROS parameters have; other values as texts."""
    value = of_one_type(value)
    if isinstance(value, list):
        kinds = {type(each) for each in value}
        is_plain = len(kinds) < 2 and all(_is_plain(each) for each in value)
    else:
        is_plain = _is_plain(value)
    return value if is_plain else plain(value)


def _is_plain(value: Any) -> bool:
    """Return whether a value is a text, switch or number with at most 64 bits."""
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return isinstance(value, (str, float))


def of_one_type(value: Any) -> Any:
    """Return a list of integers and floats as a list of floats; other values as they are."""
    if isinstance(value, (list, tuple)) and {type(each) for each in value} == {int, float}:
        return [float(each) for each in value]
    return list(value) if isinstance(value, tuple) else value


def flattened(tree: Mapping[str, Any], prefix: str = '') -> Iterator[tuple[str, Any]]:
    """Yield nested parameters with dotted names; an empty block is a value."""
    for name, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from flattened(value, f'{prefix}{name}.')
        else:
            yield f'{prefix}{name}', value
