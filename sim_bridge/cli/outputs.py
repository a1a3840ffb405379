"""Files that verbs write in the end, looked at before the work begins."""

from __future__ import annotations

import os
from pathlib import Path

from sim_bridge.foundation.errors import InvalidValueError


def need_folder(file: Path) -> None:
    """Raise InvalidValueError where the folder of an output is not there, or takes no files."""
    folder = file.parent
    if not folder.is_dir():
        raise InvalidValueError(
            '--output', str(file), f'a file in a folder that exists; {str(folder)!r} does not'
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InvalidValueError(
            '--output', str(file), f'a file that can be written; {str(folder)!r} takes none'
        )
