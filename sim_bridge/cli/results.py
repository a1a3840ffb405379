"""Where the results of a study are."""

from __future__ import annotations

from pathlib import Path


def results_folder(study: Path, given: str | None) -> Path:
    """Return the folder of a study's results; given: by the user, or None."""
    return Path(given) if given else study.with_name(f'{study.stem}_results')
