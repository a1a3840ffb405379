"""Warnings for names that users should no longer use."""

from __future__ import annotations

import warnings


def warn_renamed(old: str, new: str, level: int = 1) -> None:
    """Warn that a name was renamed, `level` callers above the function that calls this."""
    warnings.warn(f'{old} is now called {new}', DeprecationWarning, stacklevel=2 + level)
