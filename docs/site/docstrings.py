"""
This package's docstrings as reStructuredText, for Sphinx's autodoc.

Docstrings are plain text: paragraphs, `name: meaning` lists, lists with dashes. Indented lines
are kept unchanged, and text in backticks is code.
"""

from __future__ import annotations

from collections.abc import Iterator
import itertools
import re
from typing import Any

_TERM = re.compile(r'[*\w.]+(?:, [*\w.]+)*: ')


def _text(line: str) -> str:
    """Return a line with its code marked as code and all other characters escaped."""
    parts = re.split(r'`([^`]*)`', line)
    for at, part in enumerate(parts):
        # text directly after code, as in `Link`s, would not end the code
        parts[at] = rf'\ ``{part}``\ ' if at % 2 else re.sub(r'([\\*_|`])', r'\\\1', part)
    return ''.join(parts)


def _items(block: list[str], starts: re.Pattern[str]) -> Iterator[str]:
    """Join a block's lines into items; each item begins where `starts` matches."""
    item: list[str] = []
    for line in block:
        if item and starts.match(line):
            yield ' '.join(item)
            item = []
        item.append(line.strip())
    yield ' '.join(item)


def to_rst(lines: list[str]) -> Iterator[str]:
    """Yield a docstring's lines as reStructuredText."""
    for is_text, group in itertools.groupby(lines, key=lambda line: bool(line.strip())):
        block = list(group)
        if not is_text:
            continue
        first = block[0]
        if first.startswith(' '):
            yield from ('::', '', *(f'    {line}' for line in block))
        elif first.startswith('- '):
            yield from (f'- {_text(item[2:])}' for item in _items(block, re.compile('- ')))
        elif _TERM.match(first) and all(
            _TERM.match(line) or line.startswith(' ') for line in block
        ):
            for item in _items(block, _TERM):
                names, _, meaning = item.partition(': ')
                codes = ', '.join(f'``{name}``' for name in names.split(', '))
                yield f'- {codes}: {_text(meaning)}'
        else:
            yield _text(' '.join(line.strip() for line in block))
        yield ''


def _process(
    app: Any, what: str, name: str, thing: object, options: Any, lines: list[str]
) -> None:
    # default NamedTuple field docstrings have no information
    lines[:] = to_rst([line for line in lines if 'Alias for field number' not in line])


def setup(app: Any) -> dict[str, bool]:
    """Let Sphinx convert each docstring."""
    app.connect('autodoc-process-docstring', _process)
    return {'parallel_read_safe': True}
