"""Building units: progress, failures, and compilation time."""

from __future__ import annotations

from kernel_pairs import program
import pytest

from sim_bridge.compiler import build, llvm, objects
from sim_bridge.compiler.entry import Entry
from sim_bridge.compiler.errors import KernelError
from sim_bridge.compiler.kinds import FLOAT
from sim_bridge.compiler.unit import Text, Unit


@pytest.fixture
def no_folder(monkeypatch):
    """Keep objects in memory only, without a warning."""
    monkeypatch.setattr(objects, 'folder', lambda: None)
    monkeypatch.setattr(objects, 'warn_unless_kept', lambda: None)


def units_of(*sources: str) -> list[Unit]:
    """Return units with programs taking a float."""
    return [Unit(program(source), (FLOAT,)) for source in sources]


def test_progress_is_reported_until_all_is_done(no_folder):
    """Report each unit by name, the total, and finally that nothing is left."""
    units = units_of('def one(x):\n    return x', 'def two(x):\n    return -x')
    seen = []
    with build.listening(seen.append):
        build.build([*units, units[0]])
    assert [(each.done, each.total) for each in seen] == [(0, 2), (1, 2), (2, 2), (2, 2)]
    assert sorted(each.name for each in seen) == ['', '', 'one', 'two']
    assert all(each.remaining >= 0.0 for each in seen)
    assert seen[-1].remaining == 0.0


def test_nothing_is_reported_where_nothing_is_compiled(no_folder):
    """Report nothing if all units exist."""
    units = units_of('def there(x):\n    return x + 2.0')
    build.build(units)
    seen = []
    with build.listening(seen.append):
        build.build(units)
    assert not seen
    assert build.missing(units) == []


def test_wrong_kernel_is_an_error_of_the_build(no_folder):
    """Raise KernelError, and compile correct kernels afterwards."""
    right, wrong = units_of('def right(x):\n    return x', 'def wrong(x):\n    return x ** 2')
    with pytest.raises(KernelError, match='wrong'):
        build.build([right, wrong])
    build.build([right])
    assert build.missing([right, wrong]) == [wrong]


def test_text_that_llvm_refuses_is_an_error_of_the_build(no_folder, monkeypatch):
    """Raise RuntimeError with LLVM's message, in this process and from a worker."""
    units = units_of('def one(x):\n    return 2.0 * x', 'def two(x):\n    return 3.0 * x')
    monkeypatch.setattr(Unit, 'emit', lambda self: Text('define nonsense', '{}'))
    for wanted in (units[:1], units):
        with pytest.raises(RuntimeError, match='expected'):
            build.build(wanted)
    assert build.missing(units) == units


# worker behaviour: end before reading, be killed at work, be killed in the middle of an answer
ENDS = {
    'before': 'raise SystemExit(7)',
    'at work': 'import os, signal, sys; sys.stdin.buffer.read(8); os.kill(os.getpid(), '
    'signal.SIGKILL)',
    'answering': 'import os, signal, sys; sys.stdin.buffer.read(8); os.write(1, bytes(1) + '
    'bytes([9]) + bytes(7) + b"half"); os.kill(os.getpid(), signal.SIGKILL)',
}


@pytest.mark.parametrize('worker', ENDS.values(), ids=ENDS)
def test_units_left_by_a_worker_are_compiled_here(no_folder, monkeypatch, worker):
    """Build all units although the workers are ended from outside."""
    monkeypatch.setattr(build, '_WORKER', worker)
    sources = 'def one(x):\n    return 4.0 * x', 'def two(x):\n    return x / 3.0'
    units = units_of(*sources, 'def three(x):\n    return x - 1.5')
    build.build(units)
    assert build.missing(units) == []
    assert all(unit.address for unit in units)


def test_worker_that_crashes_is_an_error_of_the_build(no_folder, monkeypatch):
    """Name the signal, and do not compile here a text that would crash this process, too."""
    monkeypatch.setattr(build, '_WORKER', 'import os; os.abort()')
    with pytest.raises(RuntimeError, match='SIGABRT'):
        build.build(units_of('def one(x):\n    return 5.0 * x', 'def two(x):\n    return x / 5.0'))


@pytest.mark.parametrize(
    ('program', 'said'),
    [
        ('raise SystemExit("no such thing")', 'ended with exit code 1: no such thing'),
        ('import os, signal; os.kill(os.getpid(), signal.SIGKILL)', 'ended by signal SIGKILL;'),
    ],
)
def test_process_apart_that_fails_is_warned_of(tmp_path, monkeypatch, program, said):
    """Report its end and its last message, and compile the units when they are needed."""
    monkeypatch.setattr(objects, 'folder', lambda: tmp_path)
    monkeypatch.setattr(build, '_APART', program)
    units = units_of('def apart(x):\n    return x + 7.0')
    with pytest.warns(RuntimeWarning, match=said):
        build.build_apart(units)
    assert build.missing(units) == units


def test_process_apart_that_cannot_start_is_warned_of(tmp_path, monkeypatch):
    """Give the same warning."""
    monkeypatch.setattr(objects, 'folder', lambda: tmp_path)
    monkeypatch.setattr(build.sys, 'executable', str(tmp_path / 'nowhere'))
    with pytest.warns(RuntimeWarning, match='cannot be started'):
        build.build_apart(units_of('def apart(x):\n    return x + 8.0'))


def test_entries_are_compiled_when_they_are_first_called(no_folder, monkeypatch):
    """Compile once, at the first call."""
    texts, compile_text = [], llvm.compile_text

    def compile_and_count(text):
        texts.append(text)
        return compile_text(text)

    monkeypatch.setattr(llvm, 'compile_text', compile_and_count)
    made = Entry(program('def f(x):\n    return x + 0.25').function)
    assert not texts
    assert (made(1.0), made(2.0), len(texts)) == (1.25, 2.25, 1)
