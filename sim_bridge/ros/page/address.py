"""The output line with the live page's address, and the search for the address in a line."""

from __future__ import annotations

import re

_ADDRESS = re.compile(r'live page: (http://\S+)')


def announcement(url: str) -> str:
    """Return the output line for an address."""
    return f'live page: {url}'


def address_in(line: str) -> str:
    """Return the address in an output line; '' if it contains none."""
    found = _ADDRESS.search(line)
    return found[1] if found else ''
