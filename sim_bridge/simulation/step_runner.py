"""Simulation steps: rounds of the step call, and the causes for early ends."""

from __future__ import annotations

from threading import get_ident

import numpy as np

from sim_bridge.compiler.build import build
from sim_bridge.engine.data.collision_scratch import ABSENT
from sim_bridge.engine.data.contact_problem import Solution
from sim_bridge.engine.data.model import Options
from sim_bridge.engine.data.workspace import Workspace
from sim_bridge.engine.pipeline.run_stage import run_stage
from sim_bridge.engine.pipeline.step import (
    DIVERGED,
    INTERRUPTED,
    NO_ROOM,
    NOT_COMPILED,
    NOT_FINITE,
)
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import SimulationError
from sim_bridge.foundation.validation import whole_number
from sim_bridge.sensors.step_and_sample import (
    ANEW,
    GO_ON,
    NO_RANDOM_NUMBERS,
    PROGRESS_SIZE,
    SAMPLE,
    STATUS,
)
from sim_bridge.simulation import assembly, records
from sim_bridge.simulation.cache import Cache
from sim_bridge.simulation.observation import Observation
from sim_bridge.simulation.python_calls import PythonCalls
from sim_bridge.simulation.records import StepReport, Worst
from sim_bridge.simulation.registry import Registry
from sim_bridge.simulation.run import MOST_STEPS, Run
from sim_bridge.simulation.staleness import (
    APPLIED,
    CONTACT_MATERIALS,
    JOINT_VELOCITIES,
    OBSERVATION,
    PUSHES,
    Staleness,
    STEPPER,
    TO_STEP,
)
from sim_bridge.simulation.step_hooks import StepHooks
from sim_bridge.simulation.stepper import Stepper
from sim_bridge.simulation.thread_guard import guarded, ThreadGuard
from sim_bridge.simulation.user_contacts import UserContactArrays

# after a step
_OBSERVED = ~OBSERVATION
_STEPPED = OBSERVATION | APPLIED


class DivergenceError(SimulationError):
    """
    A step gave numbers not finite, or diverged; the state before it is kept.

    velocities: (nv,) velocities after a diverging step, else None.
    """

    def __init__(self, message: str, velocities: np.ndarray | None = None):
        """Take a message, and velocities."""
        super().__init__(message)
        self.velocities = velocities


class StepRunner:
    """
    A simulation's steps.

    hooks: functions before and after each step; `World.step` calls them.
    """

    def __init__(
        self,
        run: Run,
        registry: Registry,
        staleness: Staleness,
        cache: Cache,
        observation: Observation,
        guard: ThreadGuard,
        calls: PythonCalls,
    ) -> None:
        """Begin without hooks."""
        self._run, self._registry, self._staleness = run, registry, staleness
        self._cache, self._observation = cache, observation
        self._guard, self._calls = guard, calls
        self._counter, self._fields = run.counter, registry.fields
        self.hooks = StepHooks()

    @guarded
    def step(self, n: int = 1, contacts: UserContactArrays | None = None) -> None:
        """
        Advance by n steps, with user contacts in the first step.

        Raises DivergenceError, and InvalidValueError for an invalid number of steps.
        """
        if type(n) is not int or not 0 <= n <= MOST_STEPS:
            n = whole_number('n', n, MOST_STEPS)
        thread, guard, staleness, cache = get_ident(), self._guard, self._staleness, self._cache
        before, first = guard.holder, self._counter.value
        if before:
            before, first = guard.admit(), self._counter.value
        guard.holder = thread
        before_joints: tuple[FloatArray, FloatArray] | None = None
        try:
            if contacts is not None:
                cache.make_user_contact_room(contacts)
            if staleness.flags & JOINT_VELOCITIES:
                before_joints = cache.coordinates()
            if staleness.flags & TO_STEP:
                cache.refresh(TO_STEP)
            if contacts is not None or staleness.flags & PUSHES:
                self._advance_with_pushes(first, n, contacts)
            else:
                self._advance(first, n, ANEW)
        except BaseException:
            self._recover(first, before_joints)
            raise
        finally:
            guard.holder = before

    def warm_up(self) -> None:
        """Compile or load every kernel in a running simulation; nothing else changes."""
        build(self._cache.units)
        self._cache.renew_stepper()
        self.prepare_step()

    def prepare_step(self) -> None:
        """Compile or load the kernels for the next step; later contacts may need more."""
        cache, observation = self._cache, self._observation
        handle = cache.stepper.handle.replaced(observation.observer().workspace)
        detect = handle.part(Options).detect
        if detect and run_stage(handle, detect, 0) == ABSENT:
            cache.compile_close()
        cache.stepper.advance(self._counter.value, 0)
        observation.energy()
        observation.momentum()

    @property
    def report(self) -> StepReport:
        """The report on the last `step` call."""
        cache = self._cache
        solution, stepper = cache.handles.problem.solution, cache.current_stepper
        progress: np.ndarray = np.zeros(PROGRESS_SIZE, np.int64)
        if stepper is not None and not self._staleness.flags & STEPPER:
            progress = stepper.progress
        tolerance = self._run.options.contact_tolerance
        return records.report_of(progress, solution, cache.contact_count, tolerance)

    def take_worst(self) -> Worst:
        """Sum up the reports on all `step` calls since the last call to this method."""
        return records.take_worst(self._cache.worst)

    def forget_report(self) -> None:
        """Clear the report on the last `step` call."""
        stepper = self._cache.current_stepper
        if stepper is not None:
            stepper.progress[:] = 0
            stepper.handle.part(Solution).residual[:] = 0.0

    @property
    def calls_python(self) -> bool:
        """Whether steps may call Python functions."""
        registry = self._registry
        return (
            self.hooks.is_used
            or registry.fields.has_functions
            or bool(registry.listeners.listeners)
            or bool(registry.materials.friction_functions)
            or bool(self._staleness.flags & CONTACT_MATERIALS)
        )

    def _advance_with_pushes(self, first: int, n: int, contacts: UserContactArrays | None) -> None:
        """Take n steps, with external wrenches and user contacts in the first step."""
        cache = self._cache
        if contacts is not None:
            cache.contacts.user_contacts.fill(contacts, cache.contacts.contact_materials)
            self._staleness.flags |= PUSHES
        if n == 0:
            cache.contacts.user_contacts.clear()
            return
        unconverged = cache.worst[0]
        self._advance(first, 1, ANEW)
        self._drop_pushes()
        if n > 1:
            # the rest is the same call: it counts once
            cache.worst[0] = unconverged
            self._advance(self._counter.value, n - 1, GO_ON)

    def _advance(self, first: int, n: int, beginning: int) -> None:
        """Take n steps from step `first` on; handle early kernel ends."""
        cache, staleness = self._cache, self._staleness
        while True:
            stepper = cache.current_stepper
            assert stepper is not None
            status, done, is_observed = stepper.advance(first, n, beginning)
            flags = staleness.flags
            staleness.flags = flags & _OBSERVED | APPLIED if is_observed else flags | _STEPPED
            if not status:
                break
            first, n = first + done, n - done
            beginning = self._handle(status, stepper)
        if self._fields.has_functions:
            self._calls.raise_error()

    def _handle(self, status: int, stepper: Stepper) -> int:
        """Handle the cause for an early end; return how the next kernel call begins."""
        cache = self._cache
        if status == NO_RANDOM_NUMBERS:
            cache.robots.sites.sampling.prepare(self._counter.value)
            return SAMPLE
        if status == INTERRUPTED:
            self._calls.raise_error()
        elif status in (NOT_FINITE, DIVERGED):
            velocities = None
            if status == DIVERGED:
                velocities = stepper.handle.part(Workspace).v_next.copy()
            self._drop_pushes()
            raise DivergenceError(f'step {self._counter.value + 1} diverges', velocities)
        elif status in (NO_ROOM, NOT_COMPILED):
            if status == NO_ROOM:
                cache.make_room(2 * assembly.contact_room(cache.robots.state))
            else:
                cache.compile_close()
            cache.stepper.progress[:] = stepper.progress
        return GO_ON

    def _recover(self, first: int, before_joints: tuple[FloatArray, FloatArray] | None) -> None:
        """
        Finish the kernel's steps when anything is raised, an interrupt too.

        The kernel counts steps in memory; the marks, the pending samples and the pushes' end
        follow from there. first: number of the call's first step. before_joints: positions and
        velocities before new constraints changed them, restored unless a step is complete.
        """
        cache, staleness, stepper = self._cache, self._staleness, self._cache.current_stepper
        if self._counter.value > first:
            staleness.flags |= _STEPPED
            if staleness.flags & PUSHES:
                self._drop_pushes()
        elif before_joints is not None:
            cache.separate_joints(*before_joints)
        cache.contacts.user_contacts.clear()
        while stepper is not None and stepper.progress[STATUS] == NO_RANDOM_NUMBERS:
            cache.robots.sites.sampling.prepare(self._counter.value)
            stepper.advance(self._counter.value, 0, SAMPLE)

    def _drop_pushes(self) -> None:
        """Clear the step's external wrenches and user contacts."""
        self._cache.robots.state.wrench[:] = 0.0
        self._cache.contacts.user_contacts.clear()
        self._staleness.flags &= ~PUSHES
