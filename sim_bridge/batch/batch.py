"""Batch: many worlds with the same structure, stepped together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import os
from typing import Any, Final, NoReturn

import numpy as np

from sim_bridge.batch.cameras import BatchPictures, Sceneries
from sim_bridge.batch.noises import Noises
from sim_bridge.batch.rows import row_bytes, Rows, SITES, WORST
from sim_bridge.batch.thread_pool import ThreadPool
from sim_bridge.batch.views import BatchContacts, BatchRobot, numbers_in, robots_of
from sim_bridge.engine.pipeline.step import DIVERGED, DONE, NO_ROOM, NOT_FINITE
from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly
from sim_bridge.foundation.errors import InvalidValueError, SimulationError, StateError
from sim_bridge.foundation.memory import memory_limit
from sim_bridge.foundation.names import ByName, bytes_text, counted
from sim_bridge.foundation.validation import function, instance_of, truth, whole_number
from sim_bridge.sensors.advance_worlds import BEGINNING, LEFT, STATUS, STEP, TASK_SIZE, WAITING
from sim_bridge.sensors.step_and_sample import ANEW, GO_ON, NO_RANDOM_NUMBERS, SAMPLE
from sim_bridge.simulation import handles
from sim_bridge.simulation.change import finished
from sim_bridge.simulation.python_calls import PythonCalls
from sim_bridge.simulation.run import MOST_STEPS
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.thread_guard import ThreadGuard
from sim_bridge.world.world import World

Vary = Callable[[World, np.random.Generator], object]
_SHOWN = 5
# bytes of the worlds' own arrays per thread in a round of steps, counted once for each step, and
# the fewest steps in a round: a round takes from a tenth of a second to a few seconds, and worlds
# stay in the caches for several steps
_ROUND, _FEWEST_STEPS = 1 << 28, 32


class Batch(DeclaredAttributes):
    """
    n copies of a world, stepped by compiled code on all processors.

    World k has the same bits as `batch.world(k)` stepped alone, on any thread count. robots:
    by name, with arrays that have a row for each world. seeds: noise seed of each world. failed:
    (n,) whether a step of the world diverged or gave values that are not finite; a failed world
    stands still until it is reset.
    """

    __slots__ = (
        '_base',
        '_guard',
        '_noises',
        '_root',
        '_round',
        '_rows',
        '_start_steps',
        '_task',
        '_threads',
        '_vary',
        'failed',
        'n',
        'raises',
        'robots',
        'seeds',
        'time_step',
    )

    def __init__(
        self,
        world: World,
        n: int,
        seed: int = 0,
        vary: Vary | None = None,
        threads: int | None = None,
        raises: bool = True,
    ):
        """
        Copy a world n times, in its present state; later changes to the original have no effect.

        seed: determines the worlds' noise and `vary`'s random numbers. vary: called with
        each world and its own random generator, to change numbers: masses, friction, gains, poses,
        gravity; it must not add or remove parts. threads: None for all available
        processors. raises: whether `step` raises SimulationError if worlds fail, or only sets
        `failed`.

        Raises InvalidValueError for invalid arguments, for more worlds than the memory holds, for
        a world with Python functions, and if `vary` adds or removes parts.
        """
        instance_of('world', world, World, 'a sim_bridge.World')
        self.n: Final = _at_least_one('n', n)
        functions = [what for what, _ in world.functions]
        if functions:
            raise InvalidValueError(
                'world',
                f'one with {", ".join(functions[:_SHOWN])}',
                'a world without Python functions, since a batch cannot call them; remove them, '
                'or step copies of the world',
            )
        self._root = np.random.SeedSequence(whole_number('seed', seed))
        self.raises: Final = truth('raises', raises)
        if vary is not None:
            function('vary', vary, 'a function of a world and a random generator')
        self.time_step: Final = world.time_step
        self._guard = ThreadGuard(PythonCalls(), 'batch', 'sim_bridge.Batch')
        self._base, self._vary = world.copy(), vary
        work = self._base.copy(_seed(self._sequence(0)))
        size = row_bytes(work.simulation)
        _check_room(self.n, size)
        self.seeds: Final = tuple(_seed(self._sequence(k)) for k in range(self.n))
        self._rows, self._start_steps = Rows(self.n), np.full(self.n, work.step_count)
        self._rows.take_first(work.simulation)
        if vary is not None:
            self._take_varied(work, vary)
        self._task = np.zeros((self.n, TASK_SIZE), np.int64)
        self._task[:, STEP] = self._start_steps
        self.failed: Final = np.zeros(self.n, bool)
        self._noises = Noises(work.simulation.cache.devices, self.seeds)
        count = _processors() if threads is None else _at_least_one('threads', threads)
        workers = [work, *(self._base.copy() for _ in range(min(count, self.n) - 1))]
        self._noises.connect(self._rows)
        self._threads = ThreadPool([each.simulation for each in workers], self._rows, self._task)
        self._threads.connect()
        self._round = len(workers) * _ROUND // max(size, 1)
        self.robots: Final[ByName[BatchRobot]] = robots_of(
            list(work.robots.values()),
            self._rows,
            self._sites,
            partial(
                BatchPictures,
                threads=len(workers),
                sceneries=Sceneries(self._rows, self.world),
                seeds=self.seeds,
                steps=self._task[:, STEP],
            ),
        )

    def __repr__(self) -> str:
        """Show the sizes."""
        robots = ', '.join(list(self.robots)[:_SHOWN]) + (', …' * (len(self.robots) > _SHOWN))
        failed = f', {int(self.failed.sum())} failed' if self.failed.any() else ''
        return f'<Batch of {counted(self.n, "world")}: {robots or "no robots"}{failed}>'

    def __reduce__(self) -> NoReturn:
        """Raise StateError: a copy or a pickle of the worlds would need the threads, too."""
        raise StateError(
            'a batch can be neither copied nor pickled, since it owns threads: copy or pickle its '
            'worlds (batch.world), or build a batch from its world in the other process'
        )

    step_count = ReadOnly[IntArray]('_step_count', '(n,) step count of each world; a copy.')
    time = ReadOnly[FloatArray](
        lambda batch: batch._step_count * batch.time_step, '(n,) time of each world [s]; a copy.'
    )
    nbytes = ReadOnly[int](
        lambda batch: sum(array.nbytes for array in batch._rows.all.values()),
        'Memory of the arrays with a row for each world [bytes].',
    )

    @property
    def contacts(self) -> BatchContacts:
        """Contact points in the last step."""
        return BatchContacts(self._rows, self.time_step)

    def step(self, n: int = 1, where: Any = None) -> None:
        """
        Advance worlds by n steps.

        where: (n,) mask for worlds to advance; None for all. Failed worlds stand still. Raises
        SimulationError, after all other worlds are done, if a step diverges or gives values that
        are not finite: the state before this step is kept. An interrupt ends the call early, after
        the same number of steps, from 0 to n, in all these worlds.
        """
        which, steps = numbers_in(where, self.n), whole_number('n', n, MOST_STEPS)
        self._guard.run_alone(partial(self._step, which, steps))

    def reset(self, where: Any = None) -> None:
        """
        Reset worlds to their initial states, step counts and noise.

        where: (n,) world mask; None for all.
        """
        which = numbers_in(where, self.n)
        self._guard.run_alone(partial(finished, partial(self._reset, which)))

    def take_parameters(self, world: World, where: Any = None) -> None:
        """
        Give worlds the parameters of another world; their states stay unchanged.

        Parameters are all numbers that `vary` may change except the states: masses and inertias,
        joint friction, damping and gains, materials, shape poses, force fields. Resets keep them.
        world: a world with the same structure, for example from `batch.world`. where: (n,) world
        mask; None for all. Raises InvalidValueError for a world with other parts or
        settings.
        """
        instance_of('world', world, World, 'a sim_bridge.World')
        which = numbers_in(where, self.n)
        self._guard.run_alone(partial(self._take_parameters, world, which))

    def world(self, number: int) -> World:
        """
        Return a copy of one world in its present state, as a `World`.

        Raises InvalidValueError for an unknown world number.
        """
        k = whole_number('world', number)
        if k >= self.n:
            raise InvalidValueError('world', number, f'a number below {self.n}')
        world = self._base.copy(self.seeds[k])
        if self._vary is not None:
            self._vary(world, self._generator(k))
        self._guard.run_alone(partial(self._put, k, world.simulation))
        return world

    def _step(self, which: IntArray, n: int) -> None:
        """
        Advance worlds by n steps in rounds, and raise SimulationError about failed ones.

        An interrupted round is finished.
        """
        which = going = which[~self.failed[which]]
        size = max(self._round // max(len(which), 1), _FEWEST_STEPS)
        before = self._rows.all[WORST]
        before = before.copy() if n > size else before
        for first in range(0, max(n, 1), size):
            going = going[~self.failed[going]] if first else going
            begin = partial(self._begin, going, min(size, n - first), GO_ON if first else ANEW)
            finished(partial(self._round_of, going, begin, before, []))
        failed = which[self.failed[which]]
        if len(failed) and self.raises:
            raise _divergence(failed, self._task[failed, STEP], self.time_step)

    def _round_of(
        self, which: IntArray, begin: Callable[[], None], before: FloatArray, begun: list[bool]
    ) -> None:
        """
        Begin a round, unless `begun` is filled, and finish it; can be repeated.

        before: solver figures before the call. The rounds are one call: only the figures at its
        end count.
        """
        if not begun:
            self._rows.all[WORST][which] = before[which]
            begin()
            begun.append(True)
        self._finish(which)

    def _begin(self, which: IntArray, n: int, beginning: int) -> None:
        """Give worlds the task to advance by n steps."""
        self._task[which, LEFT] = n
        self._task[which, BEGINNING] = beginning
        self._task[which, STATUS] = WAITING

    def _finish(self, which: IntArray) -> None:
        """Advance worlds until their tasks are done or they fail; can be repeated."""
        # worlds that threads of an interrupted call still advance are done afterwards
        self._threads.wait()
        while len(which := which[self._task[which, STATUS] != DONE]):
            which = self._mended(which)
            self._threads.advance(which)

    def _reset(self, which: IntArray) -> None:
        self._rows.reset(which)
        self._noises.reset(which)
        self._task[which, STEP] = self._start_steps[which]
        self.failed[which] = False

    def _take_parameters(self, world: World, which: IntArray) -> None:
        simulation, base = world.simulation, self._base.simulation
        simulation.cache.refresh()
        base.cache.refresh()
        if world.functions or _settings(simulation) != _settings(base):
            raise InvalidValueError(
                'world',
                'other settings, parts, kinds of contact laws or functions',
                'a world that differs from those of the batch in numbers only',
            )
        self._rows.take_parameters(which, simulation)

    def _put(self, k: int, simulation: Simulation) -> None:
        """Give a simulation the present state of world k."""
        self._rows.put(k, simulation)
        self._noises.put(k, simulation.cache.devices)
        simulation.run.step_count = int(self._task[k, STEP])
        simulation.staleness.forget_observations()

    def _sites(self) -> FloatArray:
        """Return the observed sites (n, sites, 30) at the present states."""
        observe = partial(self._threads.observe, np.arange(self.n))
        self._guard.run_alone(partial(finished, observe))
        return self._rows.all[SITES]

    @property
    def _step_count(self) -> IntArray:
        return self._task[:, STEP].copy()

    def _mended(self, which: IntArray) -> IntArray:
        """Provide room or random numbers to worlds; return those that can begin or go on."""
        status = self._task[which, STATUS]
        if (status == WAITING).all():
            return which
        has_failed = (status == NOT_FINITE) | (status == DIVERGED)
        self.failed[which[has_failed]] = True
        if (status == NO_ROOM).any():
            self._rows.grow(2 * self._rows.contact_room)
        for k in which[status == NO_RANDOM_NUMBERS].tolist():
            self._noises.prepare(k, int(self._task[k, STEP]), self._rows)
        for cause, beginning in ((NO_ROOM, GO_ON), (NO_RANDOM_NUMBERS, SAMPLE)):
            mended = which[status == cause]
            self._task[mended, BEGINNING], self._task[mended, STATUS] = beginning, WAITING
        return which[~has_failed]

    def _take_varied(self, work: World, vary: Vary) -> None:
        """Set each world's initial state and parameters with `vary`."""
        begin = work.save()
        settings = _settings(work.simulation)
        for k in range(self.n):
            work.restore(begin)
            vary(work, self._generator(k))
            if work.functions or _settings(work.simulation) != settings:
                raise InvalidValueError(
                    f'vary of world {k}',
                    'other settings, kinds of contact laws or functions',
                    'a function that changes numbers only; set these in the world before the '
                    'batch is built',
                )
            self._start_steps[k] = work.step_count
            self._rows.take(k, work.simulation)
        work.restore(begin)

    def _sequence(self, k: int) -> np.random.SeedSequence:
        return np.random.SeedSequence(self._root.entropy, spawn_key=(k,))

    def _generator(self, k: int) -> np.random.Generator:
        """Return `vary`'s random generator for a world."""
        return np.random.default_rng(self._sequence(k))


def _settings(simulation: Simulation) -> tuple[Any, ...]:
    """Return the settings common to all worlds in a batch, except array sizes."""
    stages = handles.stages_of(simulation.cache.handles.probe)
    return simulation.run.options, simulation.registry.census(), sorted(stages)


def _divergence(failed: IntArray, steps: IntArray, time_step: float) -> SimulationError:
    shown = ', '.join(
        f'{k} (step {step + 1})'
        for k, step in zip(failed[:_SHOWN].tolist(), steps[:_SHOWN].tolist(), strict=True)
    )
    more = ', …' if len(failed) > _SHOWN else ''
    return SimulationError(
        f'{counted(len(failed), "world")} in the batch diverged or gave values not finite: '
        f'{shown}{more}. Their last valid states are kept, and they stand still until reset; '
        f'try a smaller time step than {time_step:g} s, or inspect one with batch.world'
    )


def _check_room(n: int, size: int) -> None:
    """Raise InvalidValueError if n worlds with `size` bytes each exceed the memory."""
    limit = memory_limit()
    if n * size > limit:
        raise InvalidValueError(
            'n',
            n,
            f'at most {limit // size} worlds: each takes {bytes_text(size)}, and the memory of '
            f'this process is limited to {bytes_text(limit)}',
        )


def _seed(sequence: np.random.SeedSequence) -> int:
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


def _at_least_one(what: str, value: object) -> int:
    if whole_number(what, value) < 1:
        raise InvalidValueError(what, value, 'a whole number of at least 1')
    return int(value)  # type: ignore[call-overload,no-any-return]


def _processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))
