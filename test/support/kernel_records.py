"""Recorded kernel calls from simulations: their arguments, results and changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
from dataclasses import dataclass
from functools import cached_property
import importlib
import pkgutil
from typing import Any

from kernel_pairs import differing
import numpy as np

from sim_bridge.compiler import direct
from sim_bridge.compiler.calls import Call
from sim_bridge.compiler.entry import Entry
from sim_bridge.compiler.kernel import Kernel
from sim_bridge.compiler.kinds import INT, Kind, kind_of_argument
from sim_bridge.compiler.reference import Reference
from sim_bridge.description.origin import Origin
import sim_bridge.engine
from sim_bridge.engine.data.model import Model
from sim_bridge.engine.data.workspace import Workspace
from sim_bridge.engine.data.world_table import Handle
from sim_bridge.engine.pipeline.observe import SITE_POSITION, SITE_ROTATION, SITE_V
from sim_bridge.engine.pipeline.step import NOT_CONVERGED
import sim_bridge.sensors
from sim_bridge.sensors.measure import sample_motion
from sim_bridge.sensors.place_readings import CODES, read_place
from sim_bridge.sensors.readings import ACCELEROMETER, FORCE, GYRO, IMU, take_reading
from sim_bridge.sensors.step_and_sample import ANEW, SMOOTH_STEPS, STEPS
from sim_bridge.simulation.stepper import Stepper

# numbers of each kernel's recorded calls: the first ones, then ever rarer ones
_RECORDED = {1, 3, 15, 150, 1500}


# Kernels working on memory by address, which a copy of the arguments does not have: test_memory,
# test_noise, test_sensors, test_scanners and test_batch cover these.
_BY_ADDRESSES = {
    f'sim_bridge.sensors.{name}'
    for name in ('advance_worlds', 'step_and_sample', 'noise_kernels', 'measure')
}


def all_kernels() -> dict[str, Kernel]:
    """Find the engine and sensor kernels, by module and name."""
    found = {}
    for package in (sim_bridge.engine, sim_bridge.sensors):
        for each in pkgutil.walk_packages(package.__path__, f'{package.__name__}.'):
            module = importlib.import_module(each.name)
            found |= {
                f'{each.name.removeprefix("sim_bridge.")}.{value.__name__}': value
                for value in vars(module).values()
                if isinstance(value, Kernel)
                and value.__module__ == each.name
                and each.name not in _BY_ADDRESSES
            }
    return found


# a place on the Earth, and velocities along north, west and up
SETTINGS = [*Origin(47.0, 19.0, heading=20.0).kernel_numbers, 1.0]


class Copier:
    """Copies arguments; copies of arrays sharing memory share memory as well."""

    def __init__(
        self,
        change: Callable[[np.ndarray], np.ndarray] | None = None,
        kept: dict[bytes, bytes] | None = None,
    ):
        """
        Prepare.

        change: function that replaces each float array or number. kept: contents of earlier
        copies; copies with equal contents share them, and are read-only.
        """
        self._change, self._kept = change, kept
        self._owners: dict[int, np.ndarray] = {}
        self._tables: dict[int, Handle] = {}

    def copy(self, value: Any) -> Any:
        """Copy a value; products are replaced by their floats."""
        if isinstance(value, np.ndarray):
            return self._copy_array(value)
        if isinstance(value, tuple):
            items = map(self.copy, value)
            return type(value)(*items) if hasattr(value, '_fields') else tuple(items)
        if isinstance(value, Handle):
            if id(value) not in self._tables:
                self._tables[id(value)] = Handle(*map(self.copy, value.parts))
            return self._tables[id(value)]
        if isinstance(value, float):
            return float(value) if self._change is None else float(self._change(np.array(value)))
        if isinstance(value, (bool, np.bool_)) or value is None:
            return value
        return int(value)

    def _copy_array(self, array: np.ndarray) -> np.ndarray:
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if id(owner) not in self._owners:
            copied = owner.copy() if self._kept is None or not owner.size else self._shared(owner)
            if self._change is not None and copied.dtype == np.float64:
                copied = self._change(copied)
            self._owners[id(owner)] = copied
        offset = array.__array_interface__['data'][0] - owner.__array_interface__['data'][0]
        return np.ndarray(array.shape, array.dtype, self._owners[id(owner)], offset, array.strides)

    def _shared(self, array: np.ndarray) -> np.ndarray:
        """Return a read-only copy, with the memory for all copies with equal contents."""
        content = array.tobytes()
        content = self._kept.setdefault(content, content)
        return np.frombuffer(content, array.dtype).reshape(array.shape)


def differences(ours: Any, theirs: Any, place: str = '') -> Iterator[str]:
    """Yield the places where two values differ, within tuples and tables."""
    if isinstance(ours, Handle):
        for a, b in zip(ours.parts, theirs.parts, strict=True):
            yield from differences(a, b, place)
    elif isinstance(ours, tuple) and hasattr(ours, '_fields'):
        for name, a, b in zip(ours._fields, ours, theirs, strict=True):
            yield from differences(a, b, f'{place} {type(ours).__name__}.{name}')
    elif isinstance(ours, tuple) and isinstance(theirs, tuple) and len(ours) == len(theirs):
        for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(a, b, f'{place}[{number}]')
    elif differing(ours, theirs):
        yield f'{place}: {_shown(ours, theirs)}'


def _shown(ours: Any, theirs: Any) -> str:
    if (
        isinstance(ours, np.ndarray)
        and isinstance(theirs, np.ndarray)
        and (ours.shape == theirs.shape)
    ):
        wrong = np.flatnonzero((ours != theirs) & ((ours == ours) | (theirs == theirs)))
        return (
            f'{len(wrong)} of {ours.size} items, such as item {wrong[:3]}: compiled '
            f'{ours.flat[wrong[:3]]}, reference {theirs.flat[wrong[:3]]}'
        )
    return f'compiled {ours!r}, reference {theirs!r}'


@dataclass
class Record:
    """
    One kernel call.

    before, after: its arguments. result: its return value. size: number of calls within it.
    """

    before: tuple[Any, ...]
    after: tuple[Any, ...]
    result: Any
    size: int

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """Argument kinds."""
        return tuple(map(kind_of_argument, self.before))


class Recorder:
    """Runs entries both in CPython and compiled, and records all kernel calls."""

    def __init__(self) -> None:
        """Begin without records."""
        self.records: dict[Kernel, list[Record]] = {}
        self.wrong: list[str] = []
        self.reference = Reference(self._wrap)
        self._counts: dict[Kernel, int] = {}
        self._kept: dict[bytes, bytes] = {}
        self._calls = 0
        self._is_watching = False

    @property
    def size(self) -> int:
        """Memory for all records [bytes]."""
        return sum(map(len, self._kept))

    def _wrap(self, kernel: Kernel, function: Callable[..., Any]) -> Callable[..., Any]:
        self._counts[kernel], kept = 0, self.records.setdefault(kernel, [])

        def call(*arguments: Any) -> Any:
            self._calls += 1
            self._counts[kernel] += 1
            if self._counts[kernel] not in _RECORDED:
                return function(*arguments)
            begin, before = self._calls, Copier(kept=self._kept).copy(arguments)
            result = function(*arguments)
            copier = Copier(kept=self._kept)
            kept.append(
                Record(
                    before, copier.copy(arguments), copier.copy(result), 1 + self._calls - begin
                )
            )
            return result

        return call

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Record entry calls within a block."""
        self._is_watching = True
        try:
            yield
        finally:
            self._is_watching = False

    @contextlib.contextmanager
    def attached(self, monkeypatch: Any) -> Iterator[None]:
        """Intercept the library's entry calls within a block."""
        call, prepare, repeat = Entry.__call__, Entry.prepare, Call.__call__
        replace, advance = Call.replace, Stepper.advance

        def prepare_watched(entry: Entry, *arguments: Any, is_short: bool = False) -> Call:
            made = prepare(entry, *arguments, is_short=is_short)
            made.watched = entry, arguments
            return made

        def repeat_watched(prepared: Call) -> Any:
            entry, arguments = prepared.watched
            return self._run(
                entry, _present(entry, arguments, prepared.words), lambda: repeat(prepared)
            )

        def replace_watched(prepared: Call, number: int, array: np.ndarray) -> None:
            replace(prepared, number, array)
            entry, arguments = prepared.watched
            prepared.watched = entry, (*arguments[:number], array, *arguments[number + 1 :])

        with monkeypatch.context() as patch:
            patch.setattr(
                Entry,
                '__call__',
                lambda entry, *arguments: self._run(
                    entry, arguments, lambda: call(entry, *arguments)
                ),
            )
            patch.setattr(Entry, 'prepare', prepare_watched)
            patch.setattr(Call, '__call__', repeat_watched)
            # numpy arrays in machine code fall back to calls, which can be intercepted
            patch.setattr(direct, 'is_possible', lambda: False)
            patch.setattr(Call, 'replace', replace_watched)
            patch.setattr(
                Stepper,
                'advance',
                lambda stepper, *how: (self._advance if self._is_watching else advance)(
                    stepper, *how
                ),
            )
            yield

    def _advance(
        self, stepper: Stepper, first: int, n: int, beginning: int = ANEW
    ) -> tuple[int, int, bool]:
        """Do the same as `sensors.step_and_sample`, which runs other entries by address."""
        *steps, observe = stepper._calls
        done, status = 0, 0
        if len(steps) > 1:
            steps[1].words[SMOOTH_STEPS] = n
            done = steps[1]()
        if done < n:
            steps[0].words[STEPS] = n - done
            status, stepped, _ = steps[0]()
            done += stepped
        handle, _, _, site_row = observe.watched[1]
        handle.part(Workspace).pushes[:] = np.nan
        observe()
        gravity, values = handle.part(Model).gravity, np.zeros(16)
        self.reference(sample_motion)(site_row, np.zeros(18 * len(site_row) + 3), 3)
        for site in range(len(site_row)):
            for kind in (FORCE, GYRO, ACCELEROMETER, IMU):
                for turned in (-1, 0):
                    self.reference(take_reading)(
                        kind, site, turned, -1.0, handle, gravity, site_row, values, 3
                    )
            row, settings = site_row[site].tolist(), np.array(SETTINGS)
            x, y, z, p, v = (
                tuple(row[at : at + 3])
                for at in (*range(SITE_ROTATION, SITE_ROTATION + 9, 3), SITE_POSITION, SITE_V)
            )
            for code in CODES.values():
                self.reference(read_place)(code, (x, y, z), p, v, settings, values, 3)
        return (0 if status == NOT_CONVERGED else status), done, True

    def _run(self, entry: Entry, arguments: tuple[Any, ...], run: Callable[[], Any]) -> Any:
        if not self._is_watching:
            return run()
        copies = Copier().copy(arguments)
        wanted = self.reference(entry)(*copies)
        found = run()
        self.wrong += [
            f'{entry.__name__}: {each}'
            for each in (
                *differences(found, wanted, 'result'),
                *differences(arguments, copies, 'argument'),
            )
        ]
        return found


def _present(entry: Entry, arguments: tuple[Any, ...], words: Any) -> tuple[Any, ...]:
    """Return a prepared call's arguments; its integers may have been set since."""
    at, present = 0, []
    for kind, argument in zip(entry._compiled(arguments).kinds, arguments, strict=True):
        present.append(words[at] if kind is INT else argument)
        at += len(kind.leaves)
    return tuple(present)
