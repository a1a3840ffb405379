"""YAML files, read together with the lines of their keys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from sim_bridge.description.report import Findings, Place
from sim_bridge.foreign.files import read_file
from sim_bridge.foreign.yaml_text import load_yaml, TextLoader, YamlTextError

_MERGE = 'tag:yaml.org,2002:merge'


class MappingWithLines(dict[Any, Any]):
    """Mapping in a YAML file. lines: each key's line, from 1."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.lines: dict[object, int] = {}


class LineLoader(TextLoader):
    """Loader for mappings with lines; `joined` decides about a key given twice."""

    def key_of(self, node: yaml.Node) -> Any:
        """Return a key's value; raises YAMLError for a list or a mapping."""
        self.check_key(node)
        return self.construct_object(node, deep=True)

    def construct_yaml_map(self, node: yaml.MappingNode) -> MappingWithLines:
        """Return a complete mapping; its own keys override merged keys (`<<`)."""
        count = sum(key_node.tag != _MERGE for key_node, _ in node.value)
        self.flatten_mapping(node)
        mapping, own = MappingWithLines(), set()
        for number, (key_node, value_node) in enumerate(node.value):
            key = self.key_of(key_node)
            is_own = number >= len(node.value) - count
            value = self.construct_object(value_node, deep=True)
            mapping[key] = self.joined(mapping[key], value, key_node) if key in own else value
            mapping.lines[key] = key_node.start_mark.line + 1
            if is_own:
                own.add(key)
        return mapping

    def joined(self, first: Any, second: Any, key: yaml.Node) -> Any:
        """Return the value of a key given twice; raises YAMLError."""
        raise yaml.constructor.ConstructorError(
            None, None, f'the key {self.key_of(key)!r} is given twice', key.start_mark
        )


LineLoader.add_constructor(
    yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, LineLoader.construct_yaml_map
)


def read_anchored(path: Path, anchor: str) -> Any:
    """
    Return the value at an anchor (&name) in a file; None if the anchor is missing.

    anchor: '' for the whole content. Raises OSError and YamlTextError.
    """
    data = read_file(path)
    if not anchor:
        return load_yaml(data, LineLoader)
    found: list[Any] = []

    class Finder(LineLoader):
        """Loader keeping the value for the node at a given line and column."""

        def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
            value = super().construct_object(node, deep)
            mark = node.start_mark
            if not found and mark is not None and (mark.line, mark.column) == place:
                found.append(value)
            return value

    content = load_yaml(data, LineLoader)
    place = next(
        (
            (event.start_mark.line, event.start_mark.column)
            for event in yaml.parse(data, getattr(yaml, 'CSafeLoader', yaml.SafeLoader))
            if isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent))
            and event.anchor == anchor
            and event.start_mark is not None
        ),
        None,
    )
    if content is None or place is None:
        return None
    load_yaml(data, Finder)
    return found[0] if found else None


def read_mapping(path: Path, findings: Findings) -> Mapping[str, object] | None:
    """Return the mapping in a file; None, with an error among the findings, for other content."""
    try:
        content = load_yaml(read_file(path), LineLoader)
    except OSError as err:
        findings.error('unreadable', Place('file', str(path)), f'cannot be read: {err.strerror}')
        return None
    except YamlTextError as err:
        place = Place('file', path.name, err.line)
        findings.error('not-yaml', place, f'is no YAML: {err.problem}')
        return None
    if not isinstance(content, Mapping):
        findings.error('not-yaml', Place('file', path.name), 'must hold a mapping')
        return None
    return content
