"""
Parameter files in ROS 2 format, read without a ROS node.

All verbs and all nodes of this package read their files here, and no file is passed to rcl.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
import re
from typing import Any

from sim_bridge.foreign.files import read_file
from sim_bridge.foreign.yaml_text import YamlTextError
from sim_bridge.foundation.errors import brief, InvalidValueError
from sim_bridge.ros.params.parameter_names import belongs_to_others
from sim_bridge.ros.params.parameter_text import read_text

_BLOCK = 'ros__parameters'
_EXPECTED = f'a YAML parameter file: nodes, each with a block {_BLOCK}'
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
    def is_for_all(self) -> bool:
        """Whether the last word of the pattern matches any node name."""
        return self.pattern.rpartition('/')[2] in _ANY_NODE

    def matches(self, node: str) -> bool:
        """Return whether the pattern matches a node's full name, for example '/left/pd'."""
        expression = ''.join(
            {'/**': '(/[^/]+)*', '/*': '/[^/]+'}.get(part, re.escape(part))
            for part in re.findall(r'/[^/]*', self.pattern)
        )
        return re.fullmatch(expression, node) is not None


@dataclass(frozen=True)
class Problem:
    """Defect of a parameter file. key: the key with the defect. line: its line, 0 if unknown."""

    key: str
    line: int
    message: str


@dataclass(frozen=True)
class ParameterFile:
    """Content of a parameter file. Nodes refuse a file with problems."""

    blocks: tuple[ParameterBlock, ...]
    problems: tuple[Problem, ...]

    @property
    def has_blocks(self) -> bool:
        """Whether the file has the key ros__parameters."""
        return bool(self.blocks) or any(each.key == _BLOCK for each in self.problems)

    def merged(self, node: str, program: str) -> ParameterBlock:
        """
        Return a node's parameters from all blocks; later blocks override earlier ones.

        Parameters of other nodes of this package, given to all nodes, are left out. node: full
        name, for example '/left/sim_bridge'. program: its name in config/sim_bridge.yaml.
        """
        values: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for block in self.blocks:
            if block.matches(node):
                for name, value in block.values.items():
                    if not (block.is_for_all and belongs_to_others(name, program)):
                        values[name], lines[name] = value, block.lines[name]
        return ParameterBlock(node, values, lines, 0)


def read_parameter_file(path: str | Path) -> ParameterFile:
    """Read a file; raises InvalidValueError for an unreadable file, or other content."""
    try:
        content = read_text(read_file(path))
    except (OSError, YamlTextError) as err:
        reason = getattr(err, 'strerror', None) or str(err)
        raise InvalidValueError('parameter file', str(path), f'{_EXPECTED} ({reason})') from err
    if content is None:
        return ParameterFile((), ())
    if not isinstance(content, Mapping):
        raise InvalidValueError('parameter file', str(path), _EXPECTED)
    parts = list(_parts(content, ''))
    return ParameterFile(
        tuple(each for each in parts if isinstance(each, ParameterBlock)),
        tuple(each for each in parts if isinstance(each, Problem)),
    )


def parameters_in(path: str | Path, node: str, program: str = '') -> dict[str, Any]:
    """
    Return a parameter file's values for a node, with nested names joined by dots.

    node: full name, for example '/left/sim_bridge'. program: its name in config/sim_bridge.yaml
    before remapping. Raises InvalidValueError.
    """
    file = read_parameter_file(path)
    for each in file.problems:
        raise InvalidValueError(
            'parameter file', str(path), f'{_EXPECTED} (line {each.line}: {each.message})'
        )
    return dict(file.merged(node, program or node.rpartition('/')[2]).values)


def _parts(tree: Mapping[str, Any], path: str) -> Iterator[ParameterBlock | Problem]:
    """Yield the blocks and problems below a key path of node names."""
    lines: Mapping[str, int] = getattr(tree, 'lines', {})
    for key, value in tree.items():
        line = lines.get(key, 0)
        if key == _BLOCK:
            yield from _block(value, path, line)
        elif isinstance(value, Mapping):
            yield from _parts(value, f'{path}/{key.strip("/")}')
        elif value is not None:
            message = f'{key} = {brief(value)} is outside any block {_BLOCK}'
            yield Problem(key, line, message)


def _block(value: Any, path: str, line: int) -> Iterator[ParameterBlock | Problem]:
    """Yield the block of a node name pattern, and its problems."""
    if not path:
        yield Problem(_BLOCK, line, f'{_BLOCK} stands below no node name')
    if value is None:
        value = {}
    if not isinstance(value, Mapping):
        message = f'{_BLOCK} = {brief(value)}: expected names and values'
        yield Problem(_BLOCK, line, message)
        return
    values: dict[str, Any] = {}
    lines: dict[str, int] = {}
    for name, member, at in _flat(value, '', line):
        if name in values:
            yield Problem(name, at, f'{name} is given twice')
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
