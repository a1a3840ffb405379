"""Expansion of xacro files by the `xacro` package, if it is installed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import importlib.util
import os
from pathlib import Path
import re
from typing import Any

from sim_bridge.description.report import Findings, Place
from sim_bridge.description.xml.document import Document, parse_document
from sim_bridge.foreign.files import TEXT_BYTES
from sim_bridge.foreign.reader_process import Limits, read_apart, ReadingError
from sim_bridge.foundation.errors import plain

# limits for an expansion; the largest robots need 1 s and 100 MB
LIMITS = Limits(seconds=10.0, memory_bytes=1 << 30, answer_bytes=TEXT_BYTES)

_READER = 'sim_bridge.foreign.xacro_reader'
_PREFIX = 'xacro:'
_UNDEFINED = re.compile(r'Undefined substitution argument (\w+)')
# arguments with the robot's name; launch files often give them
_NAMES = ('name', 'robot_name')
_SUBSTITUTION = re.compile(r'\$\((find|dirname|arg|env|optenv|eval|cwd|anon)\b')
_PLACE = Place('xacro')


def is_xacro(name: str, document: Document) -> bool:
    """
    Return whether a document needs expansion, by its name or its content.

    `$(find …)` and the like are expanded in any file: launch files expand every robot.
    """
    if Path(name).suffix == '.xacro':
        return True
    # expanded files keep the namespace
    has_namespace = any(
        '/xacro' in value for key, value in document.root.attrib.items() if key.startswith('xmlns')
    )
    return any(
        has_namespace
        and (node.tag.startswith(_PREFIX) or any('${' in text for text in node.attrib.values()))
        or any(map(_SUBSTITUTION.search, (node.text, *node.attrib.values())))
        for node in document.root.walk()
    )


def expand(
    name: str,
    document: Document,
    arguments: Mapping[str, object],
    package_paths: Iterable[str | Path],
    findings: Findings,
) -> Document | None:
    """
    Expand a xacro document; None, with an error among the findings, if this fails.

    name: path of the document, base of its relative includes, or '<string>'. package_paths:
    folders searched first for `$(find …)`. The lines of all later findings belong to the expanded
    text in `RobotDescription.xml`.
    """
    if importlib.util.find_spec('xacro') is None:
        message = 'this is a xacro file and the xacro package is not installed: pip install xacro'
        findings.error('xacro-missing', _PLACE, message)
        return None
    request = {
        'file': None if name == '<string>' else os.fspath(name),
        'mappings': {key: plain(value) for key, value in arguments.items()},
        'package_paths': [os.fspath(path) for path in package_paths],
    }
    try:
        answer, text = _read(name, request, document.text.encode(), findings)
    except ReadingError as err:
        missing = _UNDEFINED.search(str(err))
        hint = f'; give it as a xacro argument, {missing[1]}:=VALUE' if missing else ''
        findings.error('xacro', _PLACE, f'cannot be expanded: {err}{hint}')
        return None
    for choice in answer.get('chosen', ()):
        findings.warning('xacro', _PLACE, _chosen(choice), choice['name'])
    for line in dict.fromkeys(str(answer.get('printed', '')).splitlines()):
        findings.warning('xacro', _PLACE, line.removeprefix('warning: '))
    return parse_document(text, findings)


def _chosen(choice: Mapping[str, Any]) -> str:
    """Return the warning about an argument's value from a launch file."""
    name, value, others = choice['name'], choice['value'], choice['alternatives']
    reason = (
        'is not given' if choice['before'] is None else f'is {choice["before"]!r}: no such file'
    )
    also = f'; also {", ".join(others)}' if others else ''
    return f'argument {name!r} {reason}; {name}:={value} is used, by {choice["place"]}{also}'


def _read(
    name: str, request: dict[str, Any], data: bytes, findings: Findings
) -> tuple[dict[str, Any], bytes]:
    """
    Return the expanded text; a missing argument for the robot's name becomes the file's name.

    Raises ReadingError.
    """
    try:
        return read_apart(_READER, LIMITS, request, data)
    except ReadingError as err:
        missing = _UNDEFINED.search(str(err))
        if missing is None or missing[1] not in _NAMES or missing[1] in request['mappings']:
            raise
        stem = 'robot' if name == '<string>' else Path(name).name.partition('.')[0]
        message = f'argument {missing[1]!r} is not given; {stem!r} is used'
        findings.warning('xacro', _PLACE, message, missing[1])
        mappings = {**request['mappings'], missing[1]: stem}
        return _read(name, {**request, 'mappings': mappings}, data, findings)
