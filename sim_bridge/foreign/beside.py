"""Files named by a mesh file: buffers, materials and pictures."""

from __future__ import annotations

from collections.abc import Mapping
import errno
import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from sim_bridge.foreign.files import DATA_BYTES, read_file

BUFFERS = ('.bin', '.glbin', '.glbuf')


def read_beside(path: Path, name: str, suffixes: tuple[str, ...]) -> bytes:
    """
    Read a file named by a mesh file.

    path: mesh file. name: path relative to the mesh file's folder, or a name beside it. suffixes:
    types that are read; a mesh file may name any other file. Raises OSError for other types, and
    for missing and unreadable files.
    """
    plain = unquote(name).removeprefix('file://').replace('\\', '/')
    if not plain.lower().endswith(suffixes):
        raise OSError(errno.EINVAL, f'its type is none of {", ".join(suffixes)}', name)
    for each in (path.parent / plain, path.parent / Path(plain).name):
        if each.is_file():
            return read_file(each, DATA_BYTES)
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)


def request_with(
    suffix: str, content: bytes, files: Mapping[str, bytes]
) -> tuple[dict[str, Any], bytes]:
    """
    Return a reader's request and data for a mesh file with files beside it.

    suffix: type of the mesh file. content: its bytes. files: content by name.
    """
    sizes = [(name, len(data)) for name, data in files.items()]
    return {'suffix': suffix, 'files': sizes}, b''.join([content, *files.values()])
