"""Parameter values as texts for command lines, and as values that ROS parameters can have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import json
from typing import Any

from sim_bridge.description.yaml.parameter_values import read_text
from sim_bridge.foreign.yaml_text import YamlTextError
from sim_bridge.foundation.errors import plain

# switches for rcl
_LETTERS = ('y', 'Y', 'n', 'N')


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
