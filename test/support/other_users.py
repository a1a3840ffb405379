"""Another user's files, for tests run by root or by anybody."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

NOBODY = 65534


class OtherUser:
    """File owner other than this user and root."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        """Take pytest's fixture; root gives files away, other users only appear to."""
        self._patch = monkeypatch
        self._given: set[tuple[int, int]] = set()

    def take(self, path: Path) -> None:
        """Give a file, folder or link to this user."""
        if os.getuid() == 0:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
            return
        if not self._given:
            for name in ('lstat', 'fstat'):
                self._patch.setattr(os, name, self._seen_by(getattr(os, name)))
        status = os.lstat(path)
        self._given.add((status.st_dev, status.st_ino))

    def _seen_by(self, look):
        def status_of(*arguments, **options):
            status = look(*arguments, **options)
            if (status.st_dev, status.st_ino) not in self._given:
                return status
            values = list(status[:10])
            values[4] = NOBODY
            return os.stat_result(values)

        return status_of


@pytest.fixture
def other_user(monkeypatch):
    """Return another user."""
    return OtherUser(monkeypatch)
