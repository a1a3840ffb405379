"""The step call: one compiled call for steps, observations and samples."""

from __future__ import annotations

from typing import cast, NamedTuple

import numpy as np

from sim_bridge.compiler.calls import Call
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.collision_scratch import make_collision_scratch
from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.engine.data.model import Model, Options, velocity_count
from sim_bridge.engine.data.workspace import Workspace
from sim_bridge.engine.data.world_table import Handle
from sim_bridge.engine.pipeline.runge_kutta import step_smoothly, TABLEAU
from sim_bridge.engine.pipeline.step import step
from sim_bridge.sensors.measure import measure_surroundings
from sim_bridge.sensors.sampling import Sampling
from sim_bridge.sensors.step_and_sample import advance, ANEW, PROGRESS_SIZE
from sim_bridge.simulation.friction_calls import FrictionCalls

_TABLEAU = np.array(TABLEAU)
# steps times velocities for some 30 us: Python's other threads can wait for them
_SHORT = 64
# from the end of the argument words: number of the first step, how many, and how to begin
_FIRST, _COUNT, _BEGINNING = -3, -2, -1


class StepperCalls(NamedTuple):
    """
    A world's step call and observer call, for kernels.

    advance, observe: their places, as `memory.run_call` takes them. words: the step call's. first:
    where the first step, the number of steps and the beginning are among them; result: where the
    results begin. observer: the observer call's handle.
    """

    advance: tuple[int, int]
    words: np.ndarray
    first: int
    result: int
    observe: tuple[int, int]
    observer: Handle


class Stepper:
    """
    A stepping handle and its prepared call.

    progress: (4,) figures from the last call, as in `sensors.step_and_sample`.
    """

    def __init__(
        self,
        handle: Handle,
        observer: Handle,
        observe: Call,
        site_row: np.ndarray,
        sampling: Sampling,
        gravity: np.ndarray,
        worst: np.ndarray,
        counter: np.ndarray,
        friction: FrictionCalls | None = None,
        *,
        is_smooth: bool,
    ) -> None:
        """
        Prepare the call; all its units have been compiled.

        observer, observe, site_row: the observer's handle, call and result. worst: (9,) greatest
        solver figures, updated in place. counter: (1,) step count, updated in place.
        friction: kept alive. is_smooth: whether steps are of fifth order.
        """
        self.handle = handle
        self._friction = friction
        self.progress = np.zeros(PROGRESS_SIZE, np.int64)
        calls = [step.prepare(handle, 0)]
        if is_smooth:
            calls.append(step_smoothly.prepare(handle, _TABLEAU, 0))
        words = [np.frombuffer(memoryview(call.words), np.int64) for call in calls]
        if not is_smooth:
            words.append(np.zeros(0, np.int64))
        places = [calls[0].place, calls[-1].place, observe.place, (0, 0)]
        words.append(np.zeros(0, np.int64))
        # calls run by address are kept alive
        self._calls, self._handles = [*calls, observe], [handle, observer]
        self._measures: list[Call] = []
        if sampling.needs_measure:
            seen = _seen_by_devices(handle, observer)
            call = measure_surroundings.prepare(
                seen, 0, sampling.table, site_row, np.zeros(0, np.int64)
            )
            places[-1] = call.place
            words[-1] = np.frombuffer(memoryview(call.words), np.int64)
            self._measures.append(call)
            self._handles.append(seen)
        self._run, self._run_short = (
            advance.prepare(
                handle,
                observer,
                np.array(places, np.int64),
                sampling.table,
                gravity,
                site_row,
                *words,
                self.progress,
                worst,
                counter,
                0,
                0,
                ANEW,
                is_short=is_short,
            )
            for is_short in (False, True)
        )
        # contacts may take any time
        is_bounded = cast('Options', world.options(handle)).detect == 0
        size = velocity_count(cast('Model', world.model(handle)))
        self._most_short = _SHORT // max(size, 1) * is_bounded
        end = self._run.argument_words
        self._first, self._count, self._beginning = (
            end + place for place in (_FIRST, _COUNT, _BEGINNING)
        )
        self._select(1, ANEW)

    @property
    def calls(self) -> StepperCalls:
        """The calls for stepping and for observing, to be run by their places."""
        words = np.frombuffer(memoryview(self._run.words), np.int64)
        return StepperCalls(
            self._run.place,
            words,
            self._first,
            self._run.argument_words,
            self._calls[-1].place,
            self._handles[1],
        )

    @property
    def memory(self) -> list[np.ndarray]:
        """All words with array addresses: handle tables, and call arguments."""
        calls = [*self._calls, *self._measures, self._run]
        return [
            *(handle.table.reshape(-1) for handle in self._handles),
            *(np.frombuffer(memoryview(call.words), np.int64) for call in calls),
        ]

    def advance(self, first: int, n: int, beginning: int = ANEW) -> tuple[int, int, bool]:
        """Take n steps and the samples between them; as `sensors.step_and_sample`."""
        if n != self._present_count or beginning != self._present_beginning:
            self._select(n, beginning)
        self._words[self._first] = first
        return self._call()

    def _select(self, n: int, beginning: int) -> None:
        """Prepare the call for a number of steps; most users take as many every time."""
        # until everything is prepared
        self._present_count = -1
        self._call = self._run if n > self._most_short else self._run_short
        self._words = self._call.words
        self._words[self._count], self._words[self._beginning] = n, beginning
        self._present_count, self._present_beginning = n, beginning


def _seen_by_devices(handle: Handle, observer: Handle) -> Handle:
    """Return the handle for `measure`, with the poses computed by the observer."""
    scratch = make_collision_scratch(handle.part(Geometry), 0, 0)
    return handle.replaced(observer.part(Workspace), scratch)
