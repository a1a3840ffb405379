"""Files of any kind are read or refused, and closed."""

from __future__ import annotations

import os

import pytest

from sim_bridge.foreign.files import read_file


def _open_files() -> set[str]:
    return set(os.listdir('/proc/self/fd'))


@pytest.mark.parametrize('kind', ['folder', 'pipe', 'large', 'device'])
def test_refused_files_are_closed(tmp_path, kind):
    """Raise OSError with the reason, and leave no descriptor open."""
    path = tmp_path / kind
    if kind == 'folder':
        path.mkdir()
    elif kind == 'pipe':
        os.mkfifo(path)
    elif kind == 'device':
        path = '/dev/zero'
    else:
        path.write_bytes(b'12345')
    before = _open_files()
    with pytest.raises(OSError, match='Is a directory|not a regular file|5 bytes, and at most 4'):
        read_file(path, 4)
    assert _open_files() == before
