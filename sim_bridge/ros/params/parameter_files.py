"""Node parameters without a ROS node: from files and arguments in ROS 2 format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
import re
from typing import Any

from sim_bridge.description import share_directory
from sim_bridge.foreign.files import read_file
from sim_bridge.foreign.yaml_text import load_yaml, YamlTextError
from sim_bridge.foundation.errors import InvalidValueError

_EXPECTED = 'a YAML file of parameters: nodes, in each a block ros__parameters'


def parameters_in(path: str | Path, node: str) -> dict[str, Any]:
    """
    Return a parameter file's values for a node, with nested names joined by dots.

    node: full name, such as '/left/sim_bridge'. In the file's names `*` stands for one word and
    `**` for any number of them; later blocks override earlier ones. Raises InvalidValueError.
    """
    try:
        content = load_yaml(read_file(path))
    except (OSError, YamlTextError) as err:
        reason = getattr(err, 'strerror', None) or str(err)
        raise InvalidValueError('parameter file', str(path), f'{_EXPECTED} ({reason})') from err
    if not isinstance(content or {}, Mapping):
        raise InvalidValueError('parameter file', str(path), _EXPECTED)
    found: dict[str, Any] = {}
    for name, block in _blocks(content or {}, ''):
        if _matches(name, node):
            if not isinstance(block or {}, Mapping):
                raise InvalidValueError('parameter file', str(path), _EXPECTED)
            found.update(_flattened(block or {}, ''))
    return found


def parameter_in(word: str) -> tuple[str, Any]:
    """Return the name and value of 'name:=value', the value in YAML. Raises InvalidValueError."""
    name, separator, text = word.partition(':=')
    try:
        if name and separator:
            return name, load_yaml(text)
    except YamlTextError:
        pass
    raise InvalidValueError('parameter', word, 'NAME:=VALUE, the value as in YAML')


@cache
def names_of_all_nodes() -> frozenset[str]:
    """Return the names of the parameters, and blocks of them, of all nodes of this package."""
    text = (share_directory() / 'config' / 'sim_bridge.yaml').read_text(encoding='utf-8')
    # blocks have no default, and are there as comments
    return frozenset(re.findall(r'^    (?:# (?=\w+:$))?(\w+):', text, re.MULTILINE))


def _blocks(tree: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    """Yield all ros__parameters blocks, each with the name of its node."""
    for key, value in tree.items():
        if key == 'ros__parameters':
            yield path, value
        elif isinstance(value, Mapping):
            yield from _blocks(value, f'{path}/{str(key).strip("/")}')


def _matches(pattern: str, node: str) -> bool:
    expression = ''.join(
        {'/**': '(/[^/]+)*', '/*': '/[^/]+'}.get(part, re.escape(part))
        for part in re.findall(r'/[^/]*', pattern))
    return re.fullmatch(expression, node) is not None


def _flattened(tree: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flattened(value, f'{prefix}{name}.')
        else:
            yield f'{prefix}{name}', value
