"""The line of output that says where the live page is, and how others find the address in it."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r'live page: (http://\S+)')


def announcement(url: str) -> str:
    """Return the line for an address."""
    return f'live page: {url}'


def address_in(line: str) -> str:
    """Return the address in a line of output; '' if it has none."""
    found = _ADDRESS.search(line)
    return found[1] if found else ''
