"""Small HTML tables for displaying objects in notebooks. All texts are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
import math

import numpy as np

from sim_bridge.foundation.errors import shortened

_MOST_ROWS = 40
_MOST_ITEMS = 12
_CELL = 'style="text-align:left"'


def table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """
    Return a table below a title; beyond 40 rows, only the number of the others is shown.

    Cells are formatted by `cell`. header: one text per column; () for none.
    """
    shown = list(rows)
    left_out = len(shown) - _MOST_ROWS
    lines = [_row('th', header)] if header else []
    lines += [_row('td', map(cell, row)) for row in shown[:_MOST_ROWS]]
    if left_out > 0:
        lines.append(_row('td', [f'… and {left_out} more']))
    return f'<div><b>{escape(shortened(title))}</b><table>{"".join(lines)}</table></div>'


def cell(value: object) -> str:
    """Return a value's text: numbers with four digits, arrays in one line, others shortened."""
    if isinstance(value, np.ndarray):
        items = [cell(float(item)) for item in value.ravel()[:_MOST_ITEMS]]
        return ', '.join(items) + (' …' if value.size > _MOST_ITEMS else '')
    if isinstance(value, float):
        # adding 0.0 turns -0 into 0
        return f'{value + 0.0:.4g}' if math.isfinite(value) else str(value).replace('inf', '∞')
    return shortened(str(value))


def _row(kind: str, texts: Iterable[str]) -> str:
    return f'<tr>{"".join(f"<{kind} {_CELL}>{escape(text)}</{kind}>" for text in texts)}</tr>'
