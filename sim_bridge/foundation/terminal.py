"""Foreign texts on a terminal: a name from a file or a message must not control it."""

from __future__ import annotations

import re

_COLOURS = re.compile(r'(\x1b\[[0-9;]{0,20}m)')
_KEPT = '\n\t'


def visible(text: str, *, keeps_colours: bool = False) -> str:
    """
    Return a text with control characters and invisible ones as escapes; line ends and tabs stay.

    keeps_colours: keep the sequences for colours, for the output of a program.
    """
    if text.isprintable():
        return text
    if keeps_colours:
        # the odd parts are the sequences
        parts = _COLOURS.split(text)
        parts[::2] = map(visible, parts[::2])
        return ''.join(parts)
    return ''.join(
        each if each.isprintable() or each in _KEPT else each.encode('unicode_escape').decode()
        for each in text
    )
