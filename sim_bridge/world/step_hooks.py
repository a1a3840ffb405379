"""Steps with functions called before and after each, and their record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import get_ident
from typing import Any, NamedTuple

from sim_bridge.foundation import forks
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.foundation.validation import whole_number
from sim_bridge.robots.owners import World
from sim_bridge.simulation import snapshots
from sim_bridge.simulation.run import MOST_STEPS
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.step_hooks import AFTER, BEFORE
from sim_bridge.world.user_contacts import user_contact_arrays, UserContact


class HookRecord(NamedTuple):
    """A hook as plain data; robot: its target's name, None for the world."""

    when: str
    function: Callable[[Any], object]
    robot: str | None


class HookedSteps:
    """World steps with hooks."""

    def __init__(self, world: World, simulation: Simulation):
        """Step a simulation; its hooks receive the world or its robots."""
        self._world, self._simulation = world, simulation
        # the thread calling the hooks, 0 for none
        self._thread = 0
        forks.in_child(self, HookedSteps._begin_in_child)

    def _begin_in_child(self) -> None:
        """Adapt to a forked child process: another thread's hooks do not go on there."""
        if self._thread != get_ident():
            self._thread = 0

    def records(self) -> tuple[HookRecord, ...]:
        """Return the hooks as plain data, for `restore`."""
        return tuple(
            HookRecord(each.when, each.function, None if each.slot is None else each.slot.name)
            for each in self._simulation.runner.hooks.present
            if each.slot is None or not each.slot.is_removed
        )

    def restore(self, records: tuple[HookRecord, ...]) -> None:
        """Add the original world's hooks to this copy."""
        for when, function, name in records:
            if name is None:
                self._simulation.runner.hooks.add(when, function, self._world)
            else:
                robot = self._world.robots[name]
                self._simulation.runner.hooks.add(when, function, robot, robot.slot)

    def take(self, n: int, contacts: Iterable[UserContact]) -> None:
        """
        Take n steps with the hooks, one by one; the first with the given contacts.

        After an exception the world is as before that step, unless robots or joints were added or
        removed meanwhile.
        """
        n = whole_number('n', n, MOST_STEPS)
        if self._thread:
            # also refuses other threads
            self._simulation.thread_guard.check()
            if self._thread == get_ident():
                raise StateError('a step hook has called World.step, which calls step hooks')
            raise StateError(
                'another thread is calling the step hooks of this world. Let one thread at a time '
                'step it, by a lock, or give each its own by World.copy'
            )
        self._thread = get_ident()
        try:
            for step in range(n):
                self._take_one(contacts if step == 0 else ())
                watcher = self._simulation.runner.hooks.watcher
                if watcher is not None:
                    watcher.stepped()
        finally:
            self._thread = 0

    def _take_one(self, contacts: Iterable[UserContact]) -> None:
        simulation = self._simulation
        if not simulation.runner.hooks.present and not simulation.registry.fields.has_functions:
            simulation.runner.step(1, user_contact_arrays(simulation, contacts))
            return
        start = snapshots.save(simulation)
        try:
            simulation.runner.hooks.call(BEFORE)
            # hooks may have added or removed robots
            simulation.runner.step(1, user_contact_arrays(simulation, contacts))
            simulation.runner.hooks.call(AFTER)
        except BaseException:
            # a snapshot with another structure cannot be restored
            with suppress(InvalidValueError):
                snapshots.restore(simulation, start)
            raise
