"""
Values in parameter files and on command lines, in the syntax of rcl.

Differences to other YAML files: 1e3 is a number, 1_000, 1:30 and dates are texts, and keys are
texts as written. Differences to rcl: lists may mix integers and floats, and contain lists and
blocks; y and n are texts, since joints have such names; null is no value.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from sim_bridge.description.yaml.file import LineLoader, MappingWithLines
from sim_bridge.foreign.yaml_text import load_yaml

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


class ParameterLoader(LineLoader):
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


class RepeatedKeysLoader(ParameterLoader):
    """Loader for mappings with keys given twice, as rcl reads them: later values count."""

    def joined(self, first: Any, second: Any, key: yaml.Node) -> Any:
        """Return the values of a key given twice: two mappings are merged."""
        if isinstance(first, MappingWithLines) and isinstance(second, MappingWithLines):
            return _merged(first, second)
        return second


def _merged(first: MappingWithLines, second: MappingWithLines) -> MappingWithLines:
    merged = MappingWithLines(first)
    merged.lines = {**first.lines, **second.lines}
    for key, value in second.items():
        old = first.get(key)
        if isinstance(old, MappingWithLines) and isinstance(value, MappingWithLines):
            value = _merged(old, value)
        merged[key] = value
    return merged


def read_text(data: bytes | str, loader: type[ParameterLoader] = ParameterLoader) -> Any:
    """Return the content of a parameter file, or a value; raises YamlTextError."""
    return load_yaml(data, loader)
