"""Folder of a study's results."""

from __future__ import annotations

from pathlib import Path


def results_folder(study: Path, given: str | None) -> Path:
    """Return the folder of a study's results; given: the user's choice, or None."""
    return Path(given) if given else study.with_name(f'{study.stem}_results')
