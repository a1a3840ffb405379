"""
Parameters of nodes, from parameter files in ROS 2 format, as the nodes themselves get them.

rcl reads the files: dotted and nested names are equal, a key given twice counts twice, `*` and
`**` stand for any names, and later values override earlier ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim_bridge.description.report import Findings, Place
from sim_bridge.description.yaml.file import MappingWithLines
from sim_bridge.description.yaml.parameter_blocks import ParameterBlock, parts_of
from sim_bridge.description.yaml.parameter_values import read_text, RepeatedKeysLoader
from sim_bridge.foreign.files import read_file
from sim_bridge.foreign.yaml_text import YamlTextError


@dataclass(frozen=True)
class NodeParameters:
    """
    Parameters of one node.

    values: nested by the words of the names, with lines. path: last file with a block for this
    node by name.
    """

    values: MappingWithLines
    path: Path


class ParameterFiles:
    """Blocks of several parameter files, in their order. path: the last file."""

    def __init__(self, paths: Iterable[Path], findings: Findings) -> None:
        """Read the files; a file that cannot be read is an error among the findings."""
        self.path = Path()
        self._blocks: list[tuple[Path, ParameterBlock]] = []
        for path in paths:
            self.path = path
            self._blocks += [(path, block) for block in _blocks(path, findings)]

    def of_node(self, name: str, namespace: str) -> NodeParameters:
        """
        Return a node's parameters.

        If no block names the node in this namespace, blocks for its name in any namespace count:
        launch files set namespaces that a robot's file does not show.
        """
        full = f'/{namespace}/{name}' if namespace else f'/{name}'
        chosen = [each for each in self._blocks if each[1].matches(full)]
        if all(block.is_for_all for _, block in chosen):
            chosen += [each for each in self._blocks if each[1].name == name]
        values = MappingWithLines()
        for _, block in chosen:
            for key, value in block.values.items():
                _insert(values, key.split('.'), value, block.lines[key])
        named = [path for path, block in chosen if not block.is_for_all]
        return NodeParameters(values, (named or [path for path, _ in chosen] or [self.path])[-1])

    def names(self) -> Iterator[str]:
        """Yield the names of nodes that a block names, each once."""
        yield from dict.fromkeys(block.name for _, block in self._blocks if not block.is_for_all)


def _blocks(path: Path, findings: Findings) -> Iterator[ParameterBlock]:
    """Yield a file's blocks; rcl refuses the other contents, which are warnings here."""
    try:
        content = read_text(read_file(path), RepeatedKeysLoader)
    except (OSError, YamlTextError) as err:
        line = getattr(err, 'line', 0)
        problem = getattr(err, 'problem', '') or getattr(err, 'strerror', None) or str(err)
        message = f'no parameters are read from it: {problem}'
        findings.error('not-yaml', Place('file', path.name, line), message)
        return
    if not isinstance(content, Mapping):
        findings.error('not-yaml', Place('file', path.name), 'must hold a mapping')
        return
    for part in parts_of(content, ''):
        if isinstance(part, ParameterBlock):
            yield part
        elif not part.is_repetition:
            findings.warning('outside-block', Place('file', path.name, part.line), part.message)


def _insert(values: MappingWithLines, words: list[str], value: Any, line: int) -> None:
    """Set a parameter by the words of its name; a mapping there is replaced."""
    for word in words[:-1]:
        values.lines.setdefault(word, line)
        inner = values.get(word)
        if not isinstance(inner, MappingWithLines):
            inner = values[word] = MappingWithLines()
        values = inner
    values[words[-1]], values.lines[words[-1]] = value, line
