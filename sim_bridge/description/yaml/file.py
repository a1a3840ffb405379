"""YAML files, read with the lines that keys stand in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from sim_bridge.description.report import Findings, Place
from sim_bridge.shapes.files import read_file


class MappingWithLines(dict[Any, Any]):
    """A mapping of a YAML file. lines: of its keys, from 1."""

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.lines: dict[object, int] = {}


class _Loader(yaml.SafeLoader):
    """Builds mappings that know their lines and refuse a key given twice."""


def _construct_mapping(loader: _Loader, node: yaml.MappingNode) -> MappingWithLines:
    loader.flatten_mapping(node)
    mapping = MappingWithLines()
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if key in mapping:
            raise yaml.constructor.ConstructorError(
                None, None, f'the key {key!r} is given twice', key_node.start_mark)
        mapping[key] = loader.construct_object(value_node, deep=True)
        mapping.lines[key] = key_node.start_mark.line + 1
    return mapping


_Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _construct_mapping)


def read_mapping(path: Path, findings: Findings) -> Mapping[str, object] | None:
    """Return what a file holds; None, with an error among the findings, if that is no mapping."""
    try:
        content = yaml.load(read_file(path), _Loader)
    except OSError as err:
        findings.error('unreadable', Place('file', str(path)), f'cannot be read: {err.strerror}')
        return None
    except RecursionError:
        findings.error('not-yaml', Place('file', path.name), 'is nested too deeply')
        return None
    except yaml.YAMLError as err:
        mark = getattr(err, 'problem_mark', None)
        problem = getattr(err, 'problem', None) or str(err)
        place = Place('file', path.name, mark.line + 1 if mark else 0)
        findings.error('not-yaml', place, f'is no YAML: {problem}')
        return None
    if not isinstance(content, Mapping):
        findings.error('not-yaml', Place('file', path.name), 'must hold a mapping')
        return None
    return content
