"""
Free what an environment holds for nothing; `make` runs this once what a run needs is installed.

Wheels cannot hold links: a library of three names is there three times, and one that ten wheels
need, ten times. Copies become links to one file here. The wheels of ROS bring the headers of the
middleware and of messages in C++ too, and numpy and scipy bring their tests: nothing here is built
with the former (message packages are, with the other headers), or runs the latter.
"""

from __future__ import annotations

from collections import defaultdict
import contextlib
import hashlib
import os
from pathlib import Path
import shutil
import sys

# smaller ones are not worth a look
_LEAST_BYTES = 1 << 14


def link_copies(folder: Path) -> None:
    """Let files below a folder that are equal share their place on the disk."""
    by_size: dict[int, list[Path]] = defaultdict(list)
    for path in folder.rglob('*.so*'):
        if path.is_file() and not path.is_symlink() and path.stat().st_size >= _LEAST_BYTES:
            by_size[path.stat().st_size].append(path)
    for paths in by_size.values():
        first: dict[bytes, Path] = {}
        for path in sorted(paths) if len(paths) > 1 else ():
            kept = first.setdefault(hashlib.sha256(path.read_bytes()).digest(), path)
            if not kept.samefile(path):
                link = path.with_name(f'{path.name}.link')
                # file systems without links keep them all
                with contextlib.suppress(OSError):
                    link.unlink(missing_ok=True)
                    os.link(kept, link)
                    link.replace(path)


def main(environment: Path) -> None:
    """Trim a virtual environment."""
    headers = environment / 'include'
    for name in ('fastdds', 'fastrtps', 'foonathan_memory'):
        shutil.rmtree(headers / name, ignore_errors=True)
    # of messages; libraries keep theirs
    for path in headers.glob('*/*/*/detail/*.hpp'):
        path.unlink()
    for name in ('numpy', 'scipy'):
        for folder in list(environment.glob(f'lib/python3*/site-packages/{name}/**/tests')):
            shutil.rmtree(folder, ignore_errors=True)
    link_copies(environment / 'lib')


if __name__ == '__main__':
    main(Path(sys.argv[1]))
