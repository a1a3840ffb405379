"""Expanding xacro files, through the `xacro` package where it is installed."""

from __future__ import annotations

from collections.abc import Mapping
import importlib.util
import json
import os
from pathlib import Path
import sys

from sim_bridge.description.report import Findings, Place
from sim_bridge.description.xml.document import Document, parse_document

# limits of an expansion; the largest robots need 1 s and 100 MB
LIMIT_S = 10.0
MOST_BYTES = 1 << 30

_PREFIX = 'xacro:'
_PLACE = Place('xacro')
_SCRIPT = Path(__file__).with_name('xacro_process.py')


def is_xacro(name: str, document: Document) -> bool:
    """Return whether a document needs expanding, by its name or its use of the namespace."""
    if Path(name).suffix == '.xacro':
        return True
    if not any(
        '/xacro' in value for key, value in document.root.attrib.items() if key.startswith('xmlns')
    ):
        return False
    # expanded files keep the namespace
    return any(
        node.tag.startswith(_PREFIX)
        or any('${' in text or '$(' in text for text in node.attrib.values())
        for node in document.root.walk()
    )


def expand(
    name: str, document: Document, arguments: Mapping[str, object], findings: Findings
) -> Document | None:
    """
    Expand a xacro document; None, with an error among the findings, if it cannot be.

    name: its path, from which includes count, or '<string>'. The lines of all later findings are
    those of the expanded text, which `RobotDescription.xml` holds.
    """
    if importlib.util.find_spec('xacro') is None:
        message = 'this is a xacro file and the xacro package is not installed: pip install xacro'
        findings.error('xacro-missing', _PLACE, message)
        return None
    answer = _answer({
        'text': document.text,
        'file': None if name == '<string>' else os.fspath(name),
        'mappings': {key: str(value) for key, value in arguments.items()},
        'path': sys.path,
        'most_bytes': MOST_BYTES,
    })
    if 'error' in answer:
        message = f'cannot be expanded: {answer["error"]}'
        findings.error('xacro', _PLACE, ' '.join(message.split()))
        return None
    for line in dict.fromkeys(answer['printed'].splitlines()):
        findings.warning('xacro', _PLACE, line.removeprefix('warning: '))
    return parse_document(answer['text'], findings)


def _answer(request: dict[str, object]) -> dict[str, str]:
    """Expand a document in a child process, since that may never end."""
    # imported here, since most robots are no xacro files
    import subprocess

    command = [sys.executable, '-I', os.fspath(_SCRIPT)]
    try:
        process = subprocess.run(
            command, input=json.dumps(request), capture_output=True, text=True, check=False,
            encoding='utf-8', timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return {'error': f'it is not done within {LIMIT_S:g} s'}
    try:
        answer: dict[str, str] = json.loads(process.stdout)
        return answer
    except ValueError:
        said = process.stderr.strip().splitlines() or [f'exit code {process.returncode}']
        return {'error': f'{said[-1]}; it may take {MOST_BYTES >> 20} MB of memory'}
