"""The cache folder: the user's own, and another one only where it fails."""

from __future__ import annotations

import os
from pathlib import Path
import tempfile

import pytest

from sim_bridge.trust import folders
from sim_bridge.trust.ownership import make_private

pytest_plugins = ['other_users']


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return the user's cache folder; the temporary folder is a shared one beside it."""
    monkeypatch.delenv(folders.VARIABLE, raising=False)
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    (tmp_path / 'tmp').mkdir()
    (tmp_path / 'tmp').chmod(0o1777)
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path / 'tmp'))
    return tmp_path / 'cache' / 'sim_bridge' / 'kernels'


def temporary() -> Path:
    """Return the folder for processes without a home."""
    return Path(tempfile.gettempdir()) / f'sim_bridge-kernels-{os.getuid()}'


def found() -> folders.Folders:
    """Look for the folders again."""
    return folders.folders.__wrapped__()


def test_temporary_folder_is_not_searched_beside_a_working_home(home):
    """Search the home alone: other users can make the temporary folder first."""
    make_private(temporary())
    assert found() == ((home,), home, ())


def test_temporary_folder_serves_where_the_home_cannot_be_made(home):
    """Use the private temporary folder if there is no home."""
    home.parent.parent.write_text('no folder')
    assert found() == ((temporary(),), temporary(), ())


def test_read_only_home_is_searched_and_the_temporary_folder_written(home, monkeypatch):
    """Search a prepared home, and keep new files in the temporary folder."""
    make_private(home)
    access = os.access
    monkeypatch.setattr(os, 'access', lambda path, mode: path != home and access(path, mode))
    assert found() == ((home, temporary()), temporary(), ())


@pytest.mark.parametrize('hostile', ['link', 'owner', 'mode'])
def test_temporary_folder_of_another_user_is_refused(home, hostile, tmp_path, other_user):
    """Use neither another user's folder nor another user's link, and say why."""
    home.parent.parent.write_text('no folder')
    if hostile == 'link':
        make_private(tmp_path / 'prepared')
        temporary().symlink_to(tmp_path / 'prepared')
    else:
        make_private(temporary())
    if hostile == 'mode':
        temporary().chmod(0o777)
    else:
        other_user.take(temporary())
    searched, written, [reason] = found()
    assert (searched, written) == ((), None)
    assert str(temporary()) in reason


def test_home_that_everybody_can_write_is_refused(home):
    """Use the temporary folder, and keep the reason for the warning."""
    make_private(home)
    home.parent.chmod(0o777)
    searched, written, [reason] = found()
    assert (searched, written) == ((temporary(),), temporary())
    assert reason == f'{home.parent} can be written by all users (mode 0777)'


def test_named_folder_is_checked_too(home, tmp_path, monkeypatch):
    """Refuse a folder named in the environment if everybody can write it."""
    named = tmp_path / 'named'
    monkeypatch.setenv(folders.VARIABLE, str(named))
    assert found() == ((named,), named, ())
    named.chmod(0o777)
    searched, written, [reason] = found()
    assert (searched, written) == ((), None)
    assert str(named) in reason


def test_homes_relative_to_the_working_directory_are_not_used(home, tmp_path, monkeypatch):
    """Keep nothing in the working directory: other users may share it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('XDG_CACHE_HOME', 'cache')
    monkeypatch.setattr(os.path, 'expanduser', lambda path: path)
    assert list(folders.candidates()) == [temporary()]


def test_subfolder_is_closed_to_other_writers(home, monkeypatch):
    """Close a subfolder made by an earlier version with an open umask."""
    make_private(home / 'hulls')
    (home / 'hulls').chmod(0o777)
    monkeypatch.setattr(folders, 'folder', lambda: home)
    assert folders.subfolder('hulls') == home / 'hulls'
    assert (home / 'hulls').stat().st_mode & 0o777 == 0o755
