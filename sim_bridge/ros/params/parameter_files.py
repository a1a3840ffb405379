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
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError

_FOREIGN = ('use_sim_time', 'start_type_description_service')
_FOREIGN_PREFIXES = ('qos_overrides.',)

_EXPECTED = 'a YAML parameter file: nodes, each with a block ros__parameters'


def parameters_in(path: str | Path, node: str) -> dict[str, Any]:
    """
    Return a parameter file's values for a node, with nested names joined by dots.

    node: full name, for example '/left/sim_bridge'. In the file, `*` matches one word in the name
    and `**` any number; later blocks override earlier ones. Raises InvalidValueError.
    """
    try:
        content = load_yaml(read_file(path))
    except (OSError, YamlTextError) as err:
        reason = getattr(err, 'strerror', None) or str(err)
        raise InvalidValueError('parameter file', str(path), f'{_EXPECTED} ({reason})') from err
    if not isinstance(content or {}, Mapping) or _has_strays(content or {}):
        raise InvalidValueError('parameter file', str(path), _EXPECTED)
    found: dict[str, Any] = {}
    for name, block, _ in parameter_blocks(content or {}):
        if _matches(name, node):
            if not isinstance(block or {}, Mapping):
                raise InvalidValueError('parameter file', str(path), _EXPECTED)
            found.update(flattened(block or {}))
    return found


def parameter_in(word: str) -> tuple[str, Any]:
    """Return name and value of 'name:=value', the value in YAML. Raises InvalidValueError."""
    name, separator, text = word.partition(':=')
    try:
        if name and separator:
            return name, load_yaml(text)
    except YamlTextError:
        pass
    raise InvalidValueError('parameter', word, 'NAME:=VALUE, the value as in YAML')


@cache
def names_of_nodes() -> Mapping[str, Mapping[str, bool]]:
    """Return each node's parameter names, and whether each one is a parameter block."""
    text = (share_directory() / 'config' / 'sim_bridge.yaml').read_text(encoding='utf-8')
    names: dict[str, dict[str, bool]] = {}
    # blocks have no default and appear as comments
    for node, block, name in re.findall(
        r'^(?:/\*\*/(\w+)|    (# (?=\w+:$))?(\w+)):', text, re.MULTILINE
    ):
        if node:
            names[node] = {}
        else:
            names[[*names][-1]][name] = bool(block)
    return names


@cache
def names_of_all_nodes() -> frozenset[str]:
    """Return the parameter and block names of all nodes in this package."""
    return frozenset(name for names in names_of_nodes().values() for name in names)


def is_foreign(name: str) -> bool:
    """Return whether rclpy itself declares a parameter, on any node or for a publisher."""
    return name in _FOREIGN or name.startswith(_FOREIGN_PREFIXES)


def check_parameter_name(name: str, node: str) -> None:
    """
    Raise UnknownNameError for a parameter unknown to a node in this package.

    Use this for names typed for one node. Files may address several nodes and other versions.
    """
    known = names_of_nodes()[node]
    block, dot, member = name.partition('.')
    if is_foreign(name) or name in known or (dot and member and known.get(block)):
        return
    others = [each for each, names in names_of_nodes().items() if block in names]
    place = f'node {node!r}'
    if others:
        place += f'; it belongs to {" and ".join(others)}: set it there by a parameter file'
    raise UnknownNameError('parameter', name, known, place)


def parameter_blocks(tree: Mapping[str, Any], path: str = '') -> Iterator[tuple[str, Any, int]]:
    """Yield all ros__parameters blocks: node name pattern, content, line number."""
    for key, value in tree.items():
        if key == 'ros__parameters':
            yield path, value, getattr(tree, 'lines', {}).get(key, 0)
        elif isinstance(value, Mapping):
            yield from parameter_blocks(value, f'{path}/{str(key).strip("/")}')


def _has_strays(tree: Mapping[str, Any]) -> bool:
    """Return whether values appear outside all ros__parameters blocks; ROS refuses them."""
    return any(
        _has_strays(value) if isinstance(value, Mapping) else value is not None
        for key, value in tree.items()
        if key != 'ros__parameters'
    )


def _matches(pattern: str, node: str) -> bool:
    expression = ''.join(
        {'/**': '(/[^/]+)*', '/*': '/[^/]+'}.get(part, re.escape(part))
        for part in re.findall(r'/[^/]*', pattern)
    )
    return re.fullmatch(expression, node) is not None


def flattened(tree: Mapping[str, Any], prefix: str = '') -> Iterator[tuple[str, Any]]:
    """Yield nested parameters with dotted names."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f'{prefix}{name}.')
        else:
            yield f'{prefix}{name}', value
