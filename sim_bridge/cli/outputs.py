"""Output files of verbs, checked before the work begins."""

from __future__ import annotations

import os
from pathlib import Path

from sim_bridge.foundation.errors import InvalidValueError


def need_folder(file: Path) -> None:
    """Raise InvalidValueError if the folder of an output is missing or not writable."""
    folder = file.parent
    if not folder.is_dir():
        raise InvalidValueError(
            '--output', str(file), f'a file in a folder that exists; {str(folder)!r} does not'
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidValueError(
            '--output', str(file), f'a writable file; folder {str(folder)!r} is not writable'
        )
