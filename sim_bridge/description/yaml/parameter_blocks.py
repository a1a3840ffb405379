"""Blocks of a parameter file of ROS 2: node name patterns, and parameters by dotted name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
import re
from typing import Any

from sim_bridge.foundation.errors import brief

BLOCK = 'ros__parameters'
_ANY_NODE = ('*', '**')


@dataclass(frozen=True)
class ParameterBlock:
    """
    The parameters for the nodes matching a pattern.

    pattern: node name; `*` stands for one word, `**` for any number. values: by dotted name.
    lines: each name's line. line: the block's.
    """

    pattern: str
    values: Mapping[str, Any]
    lines: Mapping[str, int]
    line: int

    @property
    def name(self) -> str:
        """Last word of the pattern."""
        return self.pattern.rpartition('/')[2]

    @property
    def is_for_all(self) -> bool:
        """Whether the last word of the pattern matches any node name."""
        return self.name in _ANY_NODE

    def matches(self, node: str) -> bool:
        """Return whether the pattern matches a node's full name, for example '/left/pd'."""
        expression = ''.join(
            {'/**': '(/[^/]+)*', '/*': '/[^/]+'}.get(part, re.escape(part))
            for part in re.findall(r'/[^/]*', self.pattern)
        )
        return re.fullmatch(expression, node) is not None


@dataclass(frozen=True)
class Problem:
    """
    Defect of a parameter file.

    key: the key with the defect. line: its line, 0 if unknown. is_repetition: whether a parameter
    is given twice, which rcl accepts: the later value counts.
    """

    key: str
    line: int
    message: str
    is_repetition: bool = False


def parts_of(tree: Mapping[str, Any], path: str) -> Iterator[ParameterBlock | Problem]:
    """Yield the blocks and problems below a key path of node names."""
    lines: Mapping[str, int] = getattr(tree, 'lines', {})
    for key, value in tree.items():
        line = lines.get(key, 0)
        if key == BLOCK:
            yield from _block(value, path, line)
        elif isinstance(value, Mapping):
            yield from parts_of(value, f'{path}/{key.strip("/")}')
        elif value is not None:
            message = f'{key} = {brief(value)} is outside any block {BLOCK}'
            yield Problem(key, line, message)


def _block(value: Any, path: str, line: int) -> Iterator[ParameterBlock | Problem]:
    """Yield the block of a node name pattern, and its problems."""
    if not path:
        yield Problem(BLOCK, line, f'{BLOCK} stands below no node name')
    if value is None:
        value = {}
    if not isinstance(value, Mapping):
        message = f'{BLOCK} = {brief(value)}: expected names and values'
        yield Problem(BLOCK, line, message)
        return
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for name, member, at in _flat(value, '', line):
        if name in values:
            yield Problem(name, at, f'{name} is given twice', True)
        values[name], lines[name] = member, at
    yield ParameterBlock(path, values, lines, line)


def _flat(block: Mapping[str, Any], prefix: str, line: int) -> Iterator[tuple[str, Any, int]]:
    """Yield dotted name, value and line of each parameter in a block; see `flattened`."""
    lines = getattr(block, 'lines', {})
    for name, value in block.items():
        at = lines.get(name, line)
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f'{prefix}{name}.', at)
        else:
            yield f'{prefix}{name}', value, at
