"""The cache of compiled kernels: kept while nothing changes, never stale."""

from __future__ import annotations

import os
from pathlib import Path
import shutil
import subprocess
import sys

from sim_bridge.engine import jit

# `solve3` of free_body.py calls `dot` and `cross` of vec3.py, which Numba's own cache does not see
PROBE = """
from sim_bridge.engine.free_body import probe
from sim_bridge.engine.jit import CACHE_FOLDER
unit = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
x = probe(unit, (3.0, 4.0, 5.0))
print(*x, sum(probe.stats.cache_hits.values()), CACHE_FOLDER)
"""
ENTRY = """

from sim_bridge.engine.jit import entry


@entry
def probe(m, b):
    return solve3(m, b)
"""


def copy_engine(folder: Path) -> Path:
    """Copy the engine's sources, in a package of their own."""
    engine = folder / 'sim_bridge' / 'engine'
    sources = Path(jit.__file__).parent
    shutil.copytree(sources, engine, ignore=shutil.ignore_patterns('__pycache__'))
    (folder / 'sim_bridge' / '__init__.py').touch()
    return engine


def append(path: Path, text: str) -> None:
    """Add to the end of a file."""
    path.write_text(path.read_text() + text)


def run_probe(folder: Path) -> tuple[list[float], int, str]:
    """Give what the engine in a folder computes, its cache hits and its cache folder."""
    environment = {
        **os.environ, 'PYTHONPATH': str(folder), 'NUMBA_CACHE_DIR': str(folder / 'cache')}
    result = subprocess.run(
        [sys.executable, '-c', PROBE], cwd=folder, env=environment,
        stdout=subprocess.PIPE, text=True, check=True)
    *numbers, hits, cache = result.stdout.split()
    return [float(number) for number in numbers], int(hits), cache


def test_edit_of_any_file_changes_the_digest(tmp_path):
    """Digest every file: an edit, a new file and a new name each give another digest."""
    engine = copy_engine(tmp_path)
    assert jit.source_digest(engine) == jit.source_digest()
    digests = [jit.source_digest(engine)]
    for path in sorted(engine.rglob('*.py')):
        append(path, '\n')
        digests.append(jit.source_digest(engine))
    (engine / 'new.py').touch()
    digests.append(jit.source_digest(engine))
    (engine / 'new.py').rename(engine / 'newer.py')
    digests.append(jit.source_digest(engine))
    assert len(digests) > 20
    assert len(set(digests)) == len(digests)


def test_cache_is_used_again_until_a_called_file_changes(tmp_path):
    """Load from the cache in a second process; compile anew after an edit of a helper's file."""
    engine = copy_engine(tmp_path)
    append(engine / 'free_body.py', ENTRY)
    first, hits, cache = run_probe(tmp_path)
    assert (first, hits) == ([3.0, 4.0, 5.0], 0)
    assert run_probe(tmp_path) == (first, 1, cache)

    vec3 = engine / 'vec3.py'
    before = vec3.read_text()
    vec3.write_text(before.replace(
        'return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]',
        'return 2.0 * (a[0] * b[0] + a[1] * b[1] + a[2] * b[2])'))
    assert vec3.read_text() != before
    edited, hits, other_cache = run_probe(tmp_path)
    # the determinant, a `dot`, is doubled, and divides
    assert (edited, hits) == ([1.5, 2.0, 2.5], 0)
    assert other_cache != cache

    vec3.write_text(before)
    assert run_probe(tmp_path) == (first, 1, cache)
