"""
Parameter files in ROS 2 format, read without a ROS node.

All verbs and all nodes of this package read their files here, and no file is passed to rcl.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim_bridge.description.yaml.parameter_blocks import BLOCK, ParameterBlock, parts_of, Problem
from sim_bridge.description.yaml.parameter_values import read_text
from sim_bridge.foreign.files import read_file
from sim_bridge.foreign.yaml_text import YamlTextError
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.params.parameter_names import belongs_to_others

_EXPECTED = f'a YAML parameter file: nodes, each with a block {BLOCK}'


@dataclass(frozen=True)
class ParameterFile:
    """Content of a parameter file. Nodes refuse a file with problems."""

    blocks: tuple[ParameterBlock, ...]
    problems: tuple[Problem, ...]

    @property
    def has_blocks(self) -> bool:
        """Whether the file has the key ros__parameters."""
        return bool(self.blocks) or any(each.key == BLOCK for each in self.problems)

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
    parts = list(parts_of(content, ''))
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
