"""SHA-256 of files."""

from __future__ import annotations

import hashlib
from pathlib import Path

_PART_BYTES = 1 << 20


def sha256(path: Path) -> str:
    """Return a file's SHA-256; '' if it is not a regular file or cannot be read."""
    digest = hashlib.sha256()
    try:
        # a device has no end
        if not path.is_file():
            return ''
        with path.open('rb') as file:
            while part := file.read(_PART_BYTES):
                digest.update(part)
    except OSError:
        return ''
    return digest.hexdigest()
