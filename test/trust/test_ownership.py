"""Files loaded as code or trusted: other users of the machine must not control them."""

from __future__ import annotations

import os
from pathlib import Path
import stat
import subprocess
import sys

import pytest

from sim_bridge.trust import child, ownership
from sim_bridge.trust.ownership import read_trusted, UntrustedFileError

pytest_plugins = ['other_users']


@pytest.fixture
def trusted(tmp_path):
    """Return a file owned by this user: home/cache/file."""
    ownership.make_private(tmp_path / 'home' / 'cache')
    path = tmp_path / 'home' / 'cache' / 'file'
    ownership.write_private(path, b'content')
    return path


def modes(path: Path) -> int:
    """Return a file's permission bits."""
    return stat.S_IMODE(path.lstat().st_mode)


def test_own_files_are_read(trusted):
    """Read a file closed to other users."""
    assert read_trusted(trusted) == b'content'


@pytest.mark.parametrize('place', ['', '..', '../..'], ids=['file', 'folder', 'folder above'])
def test_other_users_files_are_refused(trusted, place, other_user):
    """Refuse another user's file, and all files in another user's folder."""
    place = Path(os.path.normpath(trusted / place))
    other_user.take(place)
    with pytest.raises(UntrustedFileError, match='belongs to user 65534') as caught:
        read_trusted(trusted)
    assert caught.value.filename == str(place)


@pytest.mark.parametrize('place', ['', '..', '../..'], ids=['file', 'folder', 'folder above'])
def test_files_open_to_all_writers_are_refused(trusted, place):
    """Refuse a file open to other writers, and all files in such a folder."""
    place = Path(os.path.normpath(trusted / place))
    place.chmod(0o777)
    with pytest.raises(UntrustedFileError, match=r'written by all users \(mode 0777\)') as caught:
        read_trusted(trusted)
    assert caught.value.filename == str(place)


def test_group_with_other_members_is_refused(trusted, monkeypatch):
    """Refuse a file open to a group, except this user's own group."""
    trusted.chmod(0o660)
    monkeypatch.setattr(ownership, '_is_own_group', lambda group: False)
    with pytest.raises(UntrustedFileError, match='written by group'):
        read_trusted(trusted)
    monkeypatch.setattr(ownership, '_is_own_group', lambda group: group == trusted.stat().st_gid)
    assert read_trusted(trusted) == b'content'


def test_link_in_place_of_the_file_is_refused(trusted, tmp_path):
    """Refuse a link, also one to this user's file."""
    trusted.rename(tmp_path / 'elsewhere')
    trusted.symlink_to(tmp_path / 'elsewhere')
    with pytest.raises(UntrustedFileError, match='is a symbolic link'):
        read_trusted(trusted)


def test_own_links_to_a_folder_are_followed(trusted, tmp_path):
    """Follow this user's links, absolute or relative, as `~/.cache` on another disk."""
    for name, target in {'absolute': trusted.parent, 'relative': 'home/./../home/cache'}.items():
        (tmp_path / name).symlink_to(target)
        assert read_trusted(tmp_path / name / 'file') == b'content'


def test_links_of_others_are_refused(trusted, tmp_path, other_user):
    """Refuse another user's link, though it leads to this user's folder."""
    link = tmp_path / 'link'
    link.symlink_to(trusted.parent)
    other_user.take(link)
    with pytest.raises(UntrustedFileError) as caught:
        read_trusted(link / 'file')
    assert caught.value.filename == str(link)


def test_link_to_a_folder_of_others_is_refused(trusted, tmp_path):
    """Check the folders on a link's path, too."""
    (tmp_path / 'open').mkdir()
    trusted.parent.rename(tmp_path / 'open' / 'cache')
    (tmp_path / 'open').chmod(0o777)
    trusted.parent.symlink_to(tmp_path / 'open' / 'cache')
    with pytest.raises(UntrustedFileError) as caught:
        read_trusted(trusted)
    assert caught.value.filename == str(tmp_path / 'open')


def test_endless_links_end(tmp_path):
    """Raise OSError for a link to itself."""
    (tmp_path / 'link').symlink_to(tmp_path / 'link')
    with pytest.raises(OSError, match='symbolic links'):
        read_trusted(tmp_path / 'link' / 'file')


def test_shared_folder_may_be_above_and_not_around(tmp_path):
    """Accept a folder in /tmp, where others cannot rename it; refuse files in /tmp itself."""
    shared = tmp_path / 'shared'
    shared.mkdir()
    shared.chmod(0o1777)
    ownership.make_private(shared / 'own')
    for folder in (shared / 'own', shared):
        ownership.write_private(folder / 'file', b'content')
    assert read_trusted(shared / 'own' / 'file') == b'content'
    for hostile in (shared / 'file', shared / 'own' / '..' / 'file'):
        with pytest.raises(UntrustedFileError, match='written by all'):
            read_trusted(hostile)


def test_other_kinds_of_files_are_refused(trusted):
    """Refuse pipes and folders, without waiting for a writer."""
    os.mkfifo(trusted.parent / 'pipe')
    for path in (trusted.parent / 'pipe', trusted.parent):
        with pytest.raises(UntrustedFileError, match='not a regular file'):
            read_trusted(path)
    with pytest.raises(FileNotFoundError):
        read_trusted(trusted.parent / 'missing')


def test_umask_opens_nothing(tmp_path):
    """Make folders and files closed to other users, also with umask 0."""
    former = os.umask(0)
    try:
        ownership.make_private(tmp_path / 'a' / 'b')
        ownership.write_private(tmp_path / 'a' / 'b' / 'file', b'content')
        with ownership.locked(tmp_path / 'a' / 'b' / 'lock', wait=True):
            pass
    finally:
        os.umask(former)
    made = sorted((tmp_path / 'a').rglob('*'))
    assert {path.name: modes(path) for path in made} == {'b': 0o700, 'file': 0o600, 'lock': 0o600}
    assert modes(tmp_path / 'a') == 0o700


def test_nothing_is_made_in_folders_of_others(tmp_path):
    """Make no folder where another user could exchange it."""
    (tmp_path / 'open').mkdir()
    (tmp_path / 'open').chmod(0o777)
    with pytest.raises(UntrustedFileError):
        ownership.make_private(tmp_path / 'open' / 'a' / 'b')
    assert not list((tmp_path / 'open').iterdir())


@pytest.mark.parametrize('hostile', ['owner', 'mode', 'link'])
def test_tree_with_one_hostile_file_is_refused(trusted, hostile, other_user):
    """Check every file and folder in a tree, at any depth."""
    ownership.make_private(trusted.parent / 'a' / 'b')
    path = trusted.parent / 'a' / 'b' / 'module.py'
    ownership.write_private(path, b'')
    ownership.check_tree(trusted.parent)
    if hostile == 'owner':
        other_user.take(path)
    elif hostile == 'mode':
        path.parent.chmod(0o777)
    else:
        path.unlink()
        path.symlink_to(trusted)
    with pytest.raises(UntrustedFileError):
        ownership.check_tree(trusted.parent)


@pytest.mark.parametrize('command', ['program', 'module'])
def test_children_import_nothing_from_the_working_directory(tmp_path, command):
    """Import no module in the working directory, as `python -c` and `-m` would."""
    modules = ('ast', 'runpy', 'signal', 'importlib', 'json', 'pkgutil', 'token')
    for name in modules:
        (tmp_path / f'{name}.py').write_text('print("hostile", __name__, flush=True)\n')
    path = [each for each in sys.path if each]
    words = (
        child.python_program('import ast, json; print(sys.argv[1:])', 'a', path=path)
        if command == 'program'
        else child.python_module('token', 'a')
    )
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == ("['a']\n" if command == 'program' else '')
