"""Expanding xacro files, through the `xacro` package where it is installed."""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import io
import os
from pathlib import Path

from sim_bridge.description.document import Document, parse_document
from sim_bridge.description.report import Findings, Place

_PREFIX = 'xacro:'
_PLACE = Place('xacro')


def is_xacro(name: str, document: Document) -> bool:
    """Tell whether a document needs expanding: by its name, or by its use of the namespace."""
    if Path(name).suffix == '.xacro':
        return True
    if not any(
        '/xacro' in value for key, value in document.root.attrib.items() if key.startswith('xmlns')
    ):
        return False
    # files that were expanded keep the namespace
    return any(
        node.tag.startswith(_PREFIX)
        or any('${' in text or '$(' in text for text in node.attrib.values())
        for node in document.root.iter()
    )


def expand(
    name: str, document: Document, arguments: Mapping[str, object], findings: Findings
) -> Document | None:
    """
    Expand a xacro document; None, with an error among the findings, if it cannot be.

    name: its path, from which includes count, or '<string>'. The lines of all later findings are
    those of the expanded text, which `RobotDescription.xml` holds.
    """
    try:
        import xacro
    except ImportError:
        message = 'this is a xacro file and the xacro package is not installed: pip install xacro'
        findings.error('xacro-missing', _PLACE, message)
        return None
    mappings = {key: str(value) for key, value in arguments.items()}
    printed = io.StringIO()
    file = None if name == '<string>' else os.fspath(name)
    try:
        with contextlib.redirect_stderr(printed), contextlib.redirect_stdout(printed):
            xacro.init_stacks(file)
            dom = xacro.parse(document.text, file)
            xacro.process_doc(dom, mappings=mappings)
            text = dom.toprettyxml(indent='  ')
    except Exception as err:  # noqa: BLE001  xacro evaluates the file's own expressions: anything can come out
        message = f'cannot be expanded: {type(err).__name__}: {err}'
        findings.error('xacro', _PLACE, ' '.join(message.split()))
        return None
    for line in dict.fromkeys(printed.getvalue().splitlines()):
        findings.warning('xacro', _PLACE, line.removeprefix('warning: '))
    return parse_document(text, findings)
