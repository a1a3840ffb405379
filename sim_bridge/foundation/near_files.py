"""Hints at files and folders with names similar to a missing path."""

from __future__ import annotations

import contextlib
from pathlib import Path

from sim_bridge.foundation.errors import close_match


def path_meant(path: Path) -> str:
    """Return '; did you mean …?' naming a similar file in the same folder; '' if none."""
    beside: list[str] = []
    with contextlib.suppress(OSError, ValueError):
        beside = [each.name for each in path.parent.iterdir()]
    close = close_match(path.name, beside)
    return f'; did you mean {str(path.with_name(close))!r}?' if close else ''
