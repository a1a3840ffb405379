"""
Parallel compilation of units.

This process reads the kernels and writes LLVM text. Worker processes, one per processor, compile
it to machine code. Processes started at the same time share the work: each waits for the units
another one is compiling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
import contextlib
import os
from pathlib import Path
import queue
import signal
import sys
import time
from typing import NamedTuple, Protocol, TYPE_CHECKING, TypeVar
import warnings

from sim_bridge.compiler import llvm, objects
from sim_bridge.compiler.progress import Progress, show
from sim_bridge.trust.child import python_program
from sim_bridge.trust.folders import folder

if TYPE_CHECKING:
    from concurrent.futures import Future

# on Ctrl-C, workers exit without a traceback
_BEGIN = 'import runpy, signal; signal.signal(signal.SIGINT, signal.SIG_DFL); '
_WORKER = f'{_BEGIN}runpy.run_path({llvm.__file__!r}, run_name="__main__")'
_APART = f'{_BEGIN}runpy.run_module("sim_bridge.compiler", run_name="__main__")'
# crash signals: the same text would crash this process, too
_CRASHES = {signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV}
_PACKAGES = Path(__file__).parents[2]
# first estimate [seconds per line of LLVM text]
_SECONDS_PER_LINE = 1.2e-4


class Text(NamedTuple):
    """
    LLVM text for one unit.

    facts: JSON stored with the object: the result's kind, and the source lines reported by index
    checks.
    """

    llvm: str
    facts: str


class Compilable(Protocol):
    """Interface of `unit.Unit` for compilation."""

    @property
    def name(self) -> str:
        """Name for progress reports."""

    @property
    def place(self) -> str:
        """Module and kernel name, MODULE:KERNEL."""

    @property
    def key(self) -> str:
        """Digest of all inputs to the object."""

    @property
    def size(self) -> int:
        """Relative estimate of the compile time."""

    def emit(self) -> Text:
        """Read the kernels; raises KernelError if one is outside the subset."""


AnyUnit = TypeVar('AnyUnit', bound=Compilable)

Report = Callable[[Progress], None]
_listeners: list[Report] = [show]


@contextlib.contextmanager
def listening(report: Report) -> Iterator[None]:
    """Report progress to a function during a block, in addition to the terminal."""
    _listeners.append(report)
    try:
        yield
    finally:
        _listeners.remove(report)


def missing(units: Iterable[AnyUnit]) -> list[AnyUnit]:
    """Return the units not compiled yet."""
    return [unit for unit in dict.fromkeys(units) if objects.find(unit.key) is None]


def build(units: Iterable[Compilable]) -> None:
    """
    Compile the missing units; return when all units can be loaded.

    Raises KernelError if a kernel is outside the subset.
    """
    wanted = missing(units)
    if not wanted:
        return
    objects.warn_unless_kept()
    with contextlib.ExitStack() as locks:
        ours = [
            unit for unit in wanted if locks.enter_context(objects.alone(unit.key, wait=False))
        ]
        # another process may have finished some of them meanwhile
        _compile(missing(ours))
    others = [unit for unit in wanted if unit not in ours]
    if others:
        _await(others)


def _await(units: Sequence[Compilable]) -> None:
    """Wait for units compiled by other processes; compile those left unfinished."""
    track = _Track(len(units), time.perf_counter())
    track.report('')
    for unit in units:
        with objects.alone(unit.key, wait=True):
            _compile(missing([unit]))
        track.finish('', '')
    track.close()


def build_apart(units: Iterable[Compilable]) -> None:
    """
    Compile the missing units in a separate process, at low priority.

    The threads of this process keep running, whereas `build` would hold the global interpreter
    lock. Units failing to compile are compiled again when they are needed; a warning gives the
    reason.
    """
    wanted = missing(units)
    if not wanted:
        return
    objects.warn_unless_kept()
    if not sys.executable or folder() is None:
        return
    names = [unit.place for unit in wanted]
    track = _Track(len(wanted), time.perf_counter())
    track.report('')
    # imported late, here and below: most processes find all units compiled
    import subprocess

    paths = [str(_PACKAGES), *sys.path]
    problem = ''
    try:
        done = subprocess.run(
            python_program(_APART, *names, path=paths),
            check=False,
            text=True,
            errors='replace',
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
    except OSError as error:
        problem = f'cannot be started: {error}'
    else:
        if done.returncode != 0:
            said = done.stderr.strip().splitlines()[-1:]
            problem = ': '.join([f'ended {_way_of_ending(done.returncode)}', *said])
    track.close()
    if problem:
        warnings.warn(
            f'the process compiling kernels {problem}; they are compiled here '
            'when they are needed',
            RuntimeWarning,
            stacklevel=2,
        )


def _way_of_ending(code: int) -> str:
    """Describe how a process ended: its signal or exit code."""
    if code >= 0:
        return f'with exit code {code}'
    try:
        return f'by signal {signal.Signals(-code).name}'
    except ValueError:  # a real-time signal without a name
        return f'by signal {-code}'


def _compile(units: Sequence[Compilable]) -> None:
    if not units:
        return
    track = _Track(len(units), time.perf_counter())
    track.report('')
    count = min(len(units), len(os.sched_getaffinity(0)))
    # a single unit is compiled here: starting a process takes longer
    with _Workers(count if count > 1 and sys.executable else 0) as workers:
        jobs = []
        # longest first: started last, it would keep all others waiting at the end
        for unit in sorted(units, key=lambda unit: unit.size, reverse=True):
            text = unit.emit()
            track.announce(text.llvm)
            jobs.append(workers.submit(_finish, unit, text, track))
        for job in jobs:
            job.result()
    track.close()


def _finish(
    compile_text: Callable[[str], bytes], unit: Compilable, text: Text, track: _Track
) -> None:
    objects.keep(unit.key, objects.Object(compile_text(text.llvm), text.facts))
    track.finish(unit.name, text.llvm)


class _Track:
    """Progress of a build; estimates the remaining time from the number of lines."""

    def __init__(self, total: int, start: float):
        self._total, self._start = total, start
        self._done, self._lines, self._all_lines = 0, 0, 0
        self._announced = 0

    def announce(self, text: str) -> None:
        self._announced += 1
        self._all_lines += text.count('\n')

    def finish(self, name: str, text: str) -> None:
        self._done += 1
        self._lines += text.count('\n')
        self.report(name)

    def report(self, name: str) -> None:
        spent = time.perf_counter() - self._start
        pace = spent / self._lines if self._lines else _SECONDS_PER_LINE
        left = max(self._all_lines - self._lines, 0) * pace
        self._tell(Progress(self._done, self._total, name, spent, left))

    def close(self) -> None:
        spent = time.perf_counter() - self._start
        self._tell(Progress(self._total, self._total, '', spent, 0.0, is_over=True))

    def _tell(self, progress: Progress) -> None:
        for listener in list(_listeners):
            listener(progress)


class _Worker:
    """Process compiling texts one by one; if it has ended, this process compiles them."""

    def __init__(self) -> None:
        import subprocess

        self._is_unwanted = False
        self._process = subprocess.Popen(
            python_program(_WORKER), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._source, self._target = self._process.stdin, self._process.stdout

    def compile(self, text: str) -> bytes:
        """Return the object file; raises RuntimeError if the compilation fails."""
        encoded = text.encode()
        try:
            self._source.write(len(encoded).to_bytes(8, 'little') + encoded)
            self._source.flush()
            status, size = self._target.read(1), self._target.read(8)
            code = self._target.read(int.from_bytes(size, 'little'))
        except BrokenPipeError:
            status, size, code = b'', b'', b''
        if len(size) < 8 or len(code) < int.from_bytes(size, 'little'):
            return self._compile_here(text)
        if status != b'\0':
            raise RuntimeError(code.decode())
        return code

    def _compile_here(self, text: str) -> bytes:
        """Compile in this process if the worker was killed, for instance when memory ran out."""
        code = self._process.wait()
        if self._is_unwanted or -code in _CRASHES:
            raise RuntimeError(f'a process that compiles kernels ended {_way_of_ending(code)}')
        return llvm.compile_text(text)

    def kill(self) -> None:
        """Kill the process in any state."""
        self._is_unwanted = True
        self._process.kill()

    def close(self) -> None:
        """Close the idle process."""
        with contextlib.suppress(BrokenPipeError):
            self._source.close()
        self._target.close()
        self._process.wait()


class _Workers:
    """Worker processes, each with a waiting thread; without processes, one compiling thread."""

    def __init__(self, count: int):
        from concurrent.futures import ThreadPoolExecutor

        self._workers: list[_Worker] = []
        with contextlib.suppress(OSError):  # if no process can be started, compile in a thread
            self._workers += (_Worker() for _ in range(count))
        compilers = [worker.compile for worker in self._workers] or [llvm.compile_text]
        self._free: queue.SimpleQueue[Callable[[str], bytes]] = queue.SimpleQueue()
        for each in compilers:
            self._free.put(each)
        self._threads = ThreadPoolExecutor(len(compilers), 'compile')

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            for worker in self._workers:
                worker.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self._workers:
            worker.close()

    def submit(self, work: Callable[..., None], *arguments: object) -> Future[None]:
        """Run work(compile_text, *arguments) with an idle worker."""

        def with_worker() -> None:
            compile_text = self._free.get()
            try:
                work(compile_text, *arguments)
            finally:
                self._free.put(compile_text)

        return self._threads.submit(with_worker)
