"""
Chunk compression by the available packages.

Python contains Zstandard since 3.14; `backports.zstd` provides the same for earlier versions, and
Debian has `python3-zstandard`. All of them release the interpreter lock while they work.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
import importlib
from types import ModuleType
from typing import NamedTuple

from sim_bridge.foundation.errors import MissingPackageError, UnknownNameError

NONE, ZSTD, LZ4 = '', 'zstd', 'lz4'

# for messages from a 1 kHz run, the next levels save a few percent and take twice the time
_ZSTD_LEVEL = 1

_MODULES = {ZSTD: ('compression.zstd', 'backports.zstd', 'zstandard'), LZ4: ('lz4.frame',)}
_HINTS = {
    ZSTD: "Python 3.14, or `pip install backports.zstd`, or Debian's python3-zstandard",
    LZ4: "`pip install lz4`, or Debian's python3-lz4",
}


class Codec(NamedTuple):
    """
    Functions for compressing chunks.

    compress: returns the compressed bytes. decompress: returns at most `most` uncompressed bytes;
    raises an exception of its package for damaged bytes.
    """

    compress: Callable[[bytes], bytes]
    decompress: Callable[[bytes, int], bytes]


@cache
def codec(compression: str) -> Codec:
    """
    Return a codec by its name in MCAP files: '', 'zstd' or 'lz4'.

    Raises UnknownNameError, or MissingPackageError if no package provides it.
    """
    if compression == NONE:
        return Codec(bytes, lambda data, most: data)
    if compression not in _MODULES:
        raise UnknownNameError('compression', compression, _MODULES)
    for name in _MODULES[compression]:
        try:
            return codec_of(importlib.import_module(name))
        except ImportError:
            continue
    raise MissingPackageError(f'compression {compression!r}', _HINTS[compression])


def codec_of(module: ModuleType) -> Codec:
    """Return the codec provided by a package."""
    if module.__name__ == 'zstandard':
        return Codec(
            lambda data: bytes(module.ZstdCompressor(level=_ZSTD_LEVEL).compress(data)),
            lambda data, most: bytes(module.ZstdDecompressor().stream_reader(data).read(most)),
        )
    if module.__name__ == 'lz4.frame':
        return Codec(
            module.compress,
            lambda data, most: bytes(module.LZ4FrameDecompressor().decompress(data, most)),
        )
    return Codec(
        lambda data: bytes(module.compress(data, _ZSTD_LEVEL)),
        lambda data, most: bytes(module.ZstdDecompressor().decompress(data, most)),
    )
