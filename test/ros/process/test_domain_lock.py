"""The lock for a ROS domain: other users can neither hold it nor write to the terminal by it."""

from __future__ import annotations

import fcntl
import os
import tempfile

import pytest

from sim_bridge.foundation.errors import StateError
from sim_bridge.ros.process.domain_lock import domain_lock, lock_file
from sim_bridge.trust import folders
from sim_bridge.trust.ownership import make_private

pytest_plugins = ['other_users']


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """Return the environment; its folders are in a folder shared like /tmp."""
    (tmp_path / 'tmp').mkdir()
    (tmp_path / 'tmp').chmod(0o1777)
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path / 'tmp'))
    make_private(tmp_path / 'run')
    make_private(tmp_path / 'cache')
    monkeypatch.setattr(folders, 'folder', lambda: tmp_path / 'cache')
    return {'ROS_DOMAIN_ID': '37', 'XDG_RUNTIME_DIR': str(tmp_path / 'run')}


def refusal(robot: str, environment: dict[str, str]) -> str:
    """Return the error for a run on the domain; '' if it may run."""
    try:
        with domain_lock(robot, '', environment):
            return ''
    except StateError as error:
        return str(error)


def test_lock_is_in_the_runtime_folder(environment, tmp_path):
    """Hold a domain against a second process of this user, by namespace."""
    with domain_lock('arm', '', environment), domain_lock('arm', '/left', environment):
        assert len(list((tmp_path / 'run').iterdir())) == 2
        holder = f'arm (sim_bridge run, process {os.getpid()})'
        assert refusal('pendulum', environment).startswith(holder)
    assert not refusal('pendulum', environment)


def test_different_domains_and_namespaces_have_different_locks(environment):
    """Escape the names in a file name; read a domain as rcl does."""
    pairs = [('0', ''), ('0', 'a_b'), ('0', 'a/b'), ('0', '110'), ('0_110', ''), ('0,110', '')]
    files = [lock_file(domain, space, environment) for domain, space in pairs]
    assert len(set(files)) == len(pairs) and None not in files
    assert len({file.parent for file in files}) == 1
    assert lock_file('00', '/a//b/', environment) == lock_file('0', 'a/b', environment)


@pytest.mark.parametrize('hostile', ['runtime folder', 'temporary folder', 'both'])
def test_folders_of_others_are_not_used(environment, tmp_path, hostile, other_user):
    """Take the next private folder, so that nobody else can hold the lock."""
    temporary = tmp_path / 'tmp' / f'sim_bridge-{os.getuid()}'
    if hostile != 'temporary folder':
        (tmp_path / 'run').chmod(0o777)
    else:
        del environment['XDG_RUNTIME_DIR']
    if hostile != 'runtime folder':
        temporary.mkdir()
        other_user.take(temporary)
    place = temporary if hostile == 'runtime folder' else tmp_path / 'cache'
    assert lock_file('37', '/a/b', environment) == place / 'sim_bridge_run_37,a%2Fb.lock'
    with domain_lock('arm', '', environment):
        assert refusal('arm', environment)


def test_locks_of_others_at_the_former_place_are_ignored(environment, tmp_path):
    """Run although somebody holds a file by a predictable name in the shared folder."""
    del environment['XDG_RUNTIME_DIR']
    with open(tmp_path / 'tmp' / f'sim_bridge_run_{os.getuid()}_37.lock', 'w') as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert not refusal('arm', environment)


def test_nothing_is_held_without_a_private_folder(environment, monkeypatch):
    """Run without the lock."""
    monkeypatch.setattr('sim_bridge.ros.process.domain_lock.runtime_folder', lambda given: None)
    with domain_lock('arm', '', environment):
        assert not refusal('arm', environment)


def test_text_of_the_lock_cannot_control_the_terminal(environment):
    """Show control characters as escapes."""
    with open(lock_file('37', '', environment), 'w') as file:
        file.write('\x1b]0;title\x07\x1b[31mred')
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        said = refusal('arm', environment)
    assert said.startswith('\\x1b]0;title\\x07\\x1b[31mred runs on ROS domain 37')
