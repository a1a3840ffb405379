"""Compiled units by content: compiled once, shared by all, never stale, never blocking."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
import shutil
import subprocess
import sys

from kernel_pairs import program
import pytest

from sim_bridge.compiler import build, llvm, objects
from sim_bridge.compiler.kinds import FLOAT
from sim_bridge.compiler.unit import Unit
from sim_bridge.trust import folders, ownership

pytest_plugins = ['other_users']

FILES = {
    'helpers.py': """
from sim_bridge.compiler.kernel import kernel
SCALE = 2.0
@kernel
def scaled(x):
    y = x * SCALE
    return y
""",
    'constants.py': """
from enum import IntEnum
LIMIT = 10.0
OTHER = 3.0
class Color(IntEnum):
    RED = 1
    BLUE = 2
""",
    'parts.py': """
from typing import NamedTuple
from sim_bridge.compiler.arrays import FloatVector
from sim_bridge.compiler.argument_table import openers_of
class Body(NamedTuple):
    low: FloatVector
    high: FloatVector
open_body, = openers_of([Body])
""",
    'kernels.py': """
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.argument_table import Table
import constants
from constants import LIMIT
from helpers import scaled
@entry
def scale(x: float, n: int):
    n += 1
    x += n
    return scaled(x)
""",
    'limits.py': """
from sim_bridge.compiler.entry import entry
import constants
from constants import LIMIT
@entry
def limit(x: float):
    return min(x, LIMIT), constants.Color.BLUE + 0
""",
    'bodies.py': """
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.argument_table import Table
from parts import Body, open_body
@entry
def read(body: Body):
    return body.low[0]
@entry
def open_and_read(table: Table):
    return open_body(table).low[0]
""",
}

# prints one line of JSON: the compiled units, all units' keys and texts, and one result
PROBE = """
import hashlib, json, sys
from sim_bridge.compiler import build
from sim_bridge.trust import folders
import kernels, limits, bodies
units = {each.__name__: each.unit
         for each in (kernels.scale, limits.limit, bodies.read, bodies.open_and_read)}
if 'keys' in sys.argv:
    sys.exit(print(json.dumps({name: unit.key for name, unit in units.items()})))
if 'ready' in sys.argv:
    print('ready', flush=True)
    sys.stdin.readline()
seen = []
def report(progress):
    if 'stop' in sys.argv:
        print('compiling', flush=True)
        sys.stdin.readline()
    seen.append(progress)
with build.listening(report):
    build.build(units.values())
    result = kernels.scale(1.5, 2), limits.limit(50.0)
print(json.dumps({
    'compiled': sorted(each.name for each in seen if each.name), 'result': result,
    'keys': {name: unit.key for name, unit in units.items()},
    'texts': hashlib.sha256(''.join(unit.emit()[0] for unit in units.values()).encode())
    .hexdigest(), 'folder': str(folders.folder())}))
"""
UNITS = ['limit', 'open_and_read', 'read', 'scale']
RESULT = [9.0, [10.0, 2]]


class Checkout:
    """A folder with the compiler and some kernels, and a cache."""

    def __init__(self, folder: Path, cache: Path):
        """Copy the compiler, and write the kernels."""
        self.folder, self.cache = folder, cache
        package = folder / 'sim_bridge'
        for module in (build, ownership):
            source = Path(module.__file__).parent
            shutil.copytree(
                source, package / source.name, ignore=shutil.ignore_patterns('__pycache__')
            )
        (package / '__init__.py').touch()
        for name, text in FILES.items():
            (folder / name).write_text(text)

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace a text in a file."""
        text = (self.folder / file).read_text()
        assert old in text
        (self.folder / file).write_text(text.replace(old, new))

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen:
        """Start a process that builds all units and uses some."""
        environment = {
            **os.environ,
            'PYTHONPATH': str(self.folder),
            folders.VARIABLE: str(self.cache),
            'PYTHONDONTWRITEBYTECODE': '1',
            **variables,
        }
        return subprocess.Popen(
            [sys.executable, '-c', PROBE, *arguments],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, **variables: str) -> dict:
        """Return a process's output."""
        return outcome_of(self.start(**variables))

    def objects(self) -> list[Path]:
        """List the objects in the cache."""
        return sorted(self.cache.glob('*.object'))


def outcome_of(process: subprocess.Popen, given: str = '\n') -> dict:
    """Wait for a process; return its output and its warnings."""
    output, errors = process.communicate(given, timeout=120)
    assert process.returncode == 0, errors
    return {**json.loads(output.splitlines()[-1]), 'errors': errors}


@pytest.fixture
def checkout(tmp_path):
    """Return a separate checkout with an empty cache."""
    return Checkout(tmp_path / 'one', tmp_path / 'cache')


@pytest.fixture(scope='module')
def finished(tmp_path_factory):
    """Return a read-only checkout with all units compiled, and its process's output."""
    folder = tmp_path_factory.mktemp('finished')
    made = Checkout(folder / 'one', folder / 'cache')
    return made, made.run()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Return an empty cache folder of this process."""
    where = tmp_path / 'cache'
    ownership.make_private(where)
    monkeypatch.setattr(objects, 'folder', lambda: where)
    monkeypatch.setattr(objects, 'folders', lambda: folders.Folders((where,), where, ()))
    monkeypatch.setattr(objects, '_memory', {})
    return where


# --- sharing -------------------------------------------------------------------------------------


def test_first_process_compiles_and_the_second_does_not(finished):
    """Compile all units once, each into a file; load them in the next process."""
    checkout, first = finished
    assert (first['compiled'], first['result']) == (UNITS, RESULT)
    second = checkout.run()
    assert (second['compiled'], second['result']) == ([], RESULT)
    assert [path.stem for path in checkout.objects()] == sorted(second['keys'].values())


def test_another_checkout_shares_the_objects(finished, tmp_path):
    """Compile nothing if the same sources are in another folder."""
    checkout, first = finished
    other = Checkout(tmp_path / 'elsewhere', checkout.cache).run()
    assert (other['compiled'], other['keys']) == ([], first['keys'])


def test_order_of_sets_does_not_matter(finished):
    """Write the same text in every process, independent of the hash seed."""
    checkout, first = finished
    texts = {checkout.run(PYTHONHASHSEED=seed)['texts'] for seed in ('1', '2')}
    assert texts == {first['texts']}


@pytest.mark.parametrize(
    ('file', 'old', 'new', 'changed'),
    [
        ('helpers.py', 'y = x', 'y = 1.0 * x', ['scale']),
        ('helpers.py', 'SCALE = 2.0', 'SCALE = 3.0', ['scale']),
        ('helpers.py', '\ndef scaled', '\n# said\ndef scaled', None),
        ('kernels.py', 'n += 1', 'n += 2', ['scale']),
        ('limits.py', 'min(', 'max(', ['limit']),
        ('constants.py', 'LIMIT = 10.0', 'LIMIT = 11.0', ['limit']),
        ('constants.py', 'BLUE = 2', 'BLUE = 5', ['limit']),
        ('constants.py', 'OTHER = 3.0', 'OTHER = 4.0', []),
        ('constants.py', 'OTHER = 3.0', 'OTHER = 3.0  # why', []),
        (
            'parts.py',
            '    low: FloatVector\n    high: FloatVector',
            '    high: FloatVector\n    low: FloatVector',
            ['open_and_read', 'read'],
        ),
        (
            'parts.py',
            'low: FloatVector\n',
            'low: FloatVector\n    number: int\n',
            ['open_and_read', 'read'],
        ),
        ('parts.py', 'import NamedTuple', 'import NamedTuple  # said', []),
        ('sim_bridge/compiler/arithmetic.py', 'import ast', 'import ast ', UNITS),
    ],
)
def test_edit_changes_the_keys_of_the_units_it_concerns(
    finished, checkout, file, old, new, changed
):
    """Change only keys of units using the edited kernel, constant, enum, layout or compiler."""
    checkout.edit(file, old, new)
    if changed is None:
        # for a file with kernels, the whole text counts, including comments
        changed = ['scale']
    output, _ = checkout.start('keys').communicate(timeout=60)
    before = finished[1]['keys']
    assert (
        sorted(name for name, key in json.loads(output).items() if key != before[name]) == changed
    )


def test_edit_shows_in_the_result(finished, checkout):
    """Run the present source; after the edit is undone, run the previous object again."""
    shutil.copytree(finished[0].cache, checkout.cache)
    checkout.edit('helpers.py', 'SCALE = 2.0', 'SCALE = 3.0')
    edited = checkout.run()
    assert (edited['result'][0], edited['compiled']) == (13.5, ['scale'])
    checkout.edit('helpers.py', 'SCALE = 3.0', 'SCALE = 2.0')
    again = checkout.run()
    assert (again['result'], again['compiled']) == (RESULT, [])


def test_programs_of_one_name_have_keys_of_their_own():
    """Distinguish kernels without a file by their text."""
    keys = {
        Unit(program(f'def f(x):\n    return x + {number}'), (FLOAT,)).key for number in (1, 2)
    }
    assert len(keys) == 2


def test_key_differs_between_processors(monkeypatch):
    """Compile again on a processor with other instructions."""
    one, other = (Unit(program('def f(x):\n    return x'), (FLOAT,)) for _ in range(2))
    first = one.key
    monkeypatch.setattr(llvm, 'machine_name', lambda: 'another processor')
    other.kernel = one.kernel
    assert other.key != first


# --- damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    'damage',
    [
        lambda content: content[: len(content) // 2],
        lambda content: b'',
        lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
        lambda content: b'x' + content[1:],
        lambda content: content + b'x',
    ],
    ids=['truncated', 'empty', 'one bit', 'other beginning', 'too long'],
)
def test_damaged_object_is_compiled_again(finished, checkout, damage):
    """Treat a damaged object as missing, and replace it."""
    shutil.copytree(finished[0].cache, checkout.cache)
    path = checkout.cache / f'{finished[1]["keys"]["scale"]}.object'
    good = path.read_bytes()
    path.write_bytes(damage(good))
    mended = checkout.run()
    assert (mended['compiled'], mended['result']) == (['scale'], RESULT)
    assert path.read_bytes() == good


def test_objects_are_not_half_written(finished):
    """Leave only complete objects and locks."""
    assert {path.suffix for path in finished[0].cache.iterdir()} <= {'.object', '.lock'}


@pytest.mark.parametrize('level', ['1', '2'])
def test_optimizing_python_shares_the_cache(finished, level):
    """Find objects under -O and -OO, which drop assertions and docstrings, too."""
    found = finished[0].run(PYTHONOPTIMIZE=level)
    assert (found['compiled'], found['result']) == ([], RESULT)
    assert found['texts'] == finished[1]['texts']


# --- folders that cannot be written --------------------------------------------------------------


def test_folder_that_cannot_be_made_warns_and_goes_on(checkout):
    """Compile in every process if nothing can be kept, and name a remedy."""
    checkout.cache.write_text('no folder')
    for _ in range(2):
        found = checkout.run()
        assert (found['compiled'], found['result'], found['folder']) == (UNITS, RESULT, 'None')
        assert 'compiled kernels cannot be kept' in found['errors']
        assert folders.VARIABLE in found['errors']


# a user's view without write permission, also when run as root
READ_ONLY = """
import os
access = os.access
os.access = lambda path, mode, **how: mode != os.W_OK and access(path, mode, **how)
"""


def test_prepared_folder_that_cannot_be_written(finished, checkout):
    """Load existing objects silently; if one is missing, warn once, naming the folder."""
    shutil.copytree(finished[0].cache, checkout.cache)
    (checkout.folder / 'sitecustomize.py').write_text(READ_ONLY)
    found = checkout.run()
    assert (found['compiled'], found['errors']) == ([], '')
    for name in ('scale', 'limit'):
        (checkout.cache / f'{finished[1]["keys"][name]}.object').unlink()
    found = checkout.run()
    assert (found['compiled'], found['result']) == (['limit', 'scale'], RESULT)
    assert found['errors'].count('compiled kernels cannot be kept') == 1
    assert str(checkout.cache) in found['errors'] and folders.VARIABLE in found['errors']


def test_folder_that_is_lost_warns_and_goes_on(tmp_path, monkeypatch):
    """Use an object although it could not be written."""
    monkeypatch.setattr(objects, 'folder', lambda: tmp_path / 'lost')
    made = objects.Object(b'code', '"int"')
    with pytest.warns(RuntimeWarning, match='a compiled kernel cannot be kept'):
        objects.keep('lost key', made)
    assert objects.find('lost key') == made


@pytest.mark.parametrize('hostile', ['owner', 'mode', 'link'])
def test_object_of_another_user_is_not_loaded(cache, tmp_path, hostile, other_user):
    """Run no machine code that another user wrote or can write; replace it by an own one."""
    key = 'a' * 32
    objects.keep(key, objects.Object(b'planted', '"int"'))
    path = cache / f'{key}.object'
    if hostile == 'owner':
        other_user.take(path)
    elif hostile == 'mode':
        path.chmod(0o666)
    else:
        path.rename(tmp_path / 'planted')
        path.symlink_to(tmp_path / 'planted')
    objects._memory.clear()
    with pytest.warns(RuntimeWarning, match=f'the compiled kernel {path} is not used'):
        assert objects.find(key) is None
    objects.keep(key, objects.Object(b'own', '"int"'))
    objects._memory.clear()
    assert objects.find(key).code == b'own'


def test_refused_folder_is_named_before_compilation(monkeypatch):
    """Say why kernels are kept elsewhere, or nowhere."""
    for written, text in {None: 'cannot be kept', Path('/t'): 'are kept in /t'}.items():
        found = folders.Folders((), written, ('/t can be written by all users',))
        monkeypatch.setattr(objects, 'folders', lambda found=found: found)
        with pytest.warns(RuntimeWarning, match=f'{text}: /t can be written'):
            objects.warn_unless_kept.__wrapped__()


def test_objects_are_found_where_nothing_can_be_written(cache, monkeypatch):
    """Read from a prepared folder, as in a container image."""
    made = objects.Object(b'code', '"int"')
    objects.keep('a' * 32, made)
    objects._memory.clear()
    monkeypatch.setattr(objects, 'folders', lambda: folders.Folders((cache,), None, ()))
    monkeypatch.setattr(objects, 'folder', lambda: None)
    assert objects.find('a' * 32) == made


def test_unused_objects_are_deleted_after_a_month(cache):
    """Delete old objects, keep recently used ones."""
    old, used = 'a' * 32, 'b' * 32
    foreign = cache / 'notes.txt'
    foreign.write_text('of somebody who named this folder')
    os.utime(foreign, (0, 0))
    for name, days in [(old, 40), (used, 20)]:
        objects.keep(name, objects.Object(b'code', '"int"'))
        path = cache / f'{name}.object'
        os.utime(path, (path.stat().st_mtime - days * 24 * 3600,) * 2)
    objects._memory.clear()
    assert objects.find(used).code == b'code'
    objects._prune.__wrapped__()
    assert sorted(path.name for path in cache.iterdir()) == [f'{used}.object', 'notes.txt']
    # the age counts from the last use, recorded as modification time
    assert (cache / f'{used}.object').stat().st_mtime > path.stat().st_mtime - 24 * 3600


# --- several at once -----------------------------------------------------------------------------


def test_processes_that_start_at_once_compile_each_unit_once(checkout):
    """Share the work: each process waits for units compiled by another."""
    processes = [checkout.start('ready') for _ in range(4)]
    for each in processes:
        assert each.stdout.readline() == 'ready\n'
    for each in processes:
        each.stdin.write('\n')
        each.stdin.flush()
    found = [outcome_of(each, '') for each in processes]
    assert sorted(name for each in found for name in each['compiled']) == UNITS
    assert [each['result'] for each in found] == [RESULT] * 4


def test_process_waits_for_units_compiled_by_another(finished, checkout, monkeypatch):
    """Compile nothing if another process, holding the lock, has finished it meanwhile."""
    checkout.cache.mkdir()
    monkeypatch.setattr(objects, 'folder', lambda: checkout.cache)
    with contextlib.ExitStack() as locks:
        for key in finished[1]['keys'].values():
            assert locks.enter_context(objects.alone(key, wait=False))
        process = checkout.start('ready')
        assert process.stdout.readline() == 'ready\n'
        process.stdin.write('\n')
        process.stdin.flush()
        for path in finished[0].objects():
            shutil.copy(path, checkout.cache)
    found = outcome_of(process, '')
    assert (found['compiled'], found['result']) == ([], RESULT)


def test_only_one_is_alone(tmp_path, monkeypatch):
    """Give the lock to the first process, and to others only after it."""
    monkeypatch.setattr(objects, 'folder', lambda: tmp_path)
    with objects.alone('key', wait=False) as first, objects.alone('key', wait=False) as second:
        assert (first, second) == (True, False)
    with objects.alone('key', wait=True) as third:
        assert third


def test_killed_process_leaves_no_lock(checkout):
    """Compile at once the unit begun by a killed process."""
    process = checkout.start('stop')
    assert process.stdout.readline() == 'compiling\n'
    process.kill()
    process.communicate(timeout=60)
    assert list(checkout.cache.glob('*.lock'))
    found = checkout.run()
    assert (found['compiled'], found['result']) == (UNITS, RESULT)
