"""Functions that are called before and after each step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple

from sim_bridge.description.force_fields import name_of
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.foundation.validation import whole_number
from sim_bridge.robots.owners import World
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation import snapshots
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.world.made_contacts import made_of, MadeContact

BEFORE, AFTER = 'before', 'after'


class StepHook(DeclaredAttributes):
    """A function that is called before or after each step, until `remove` is called."""

    __slots__ = ('_hooks', 'function', 'target', 'when')

    def __init__(
        self, hooks: StepHooks, when: str, function: Callable[[Any], object], target: Any
    ):
        """Belong to a world; made by `World.before_step` and its like."""
        self._hooks = hooks
        self.when = when
        """'before' or 'after'."""
        self.function = function
        self.target = target
        """The world or the robot that the function gets."""

    def __repr__(self) -> str:
        """Show when which function is called."""
        return f'<StepHook: {name_of(self.function)} {self.when} each step>'

    def remove(self) -> None:
        """Call the function no more; nothing happens where it is removed already."""
        self._hooks.remove(self)


class HookRecord(NamedTuple):
    """A hook as plain data; robot: the name of its target, None for the world."""

    when: str
    function: Callable[[Any], object]
    robot: str | None


class StepHooks:
    """The hooks of a world, in the order in which they were added."""

    def __init__(self, world: World, simulation: Simulation):
        """Begin with none."""
        self._world, self._simulation = world, simulation
        self.hooks: list[StepHook] = []
        self._is_running = False

    def add(self, when: str, function: Callable[[Any], object], target: Any) -> StepHook:
        """Add a function; raises InvalidValueError for what cannot be called."""
        if not callable(function):
            raise InvalidValueError('function', function, 'a function of one argument')
        hook = StepHook(self, when, function, target)
        self.hooks.append(hook)
        self._simulation.guard(True)
        return hook

    def remove(self, hook: StepHook) -> None:
        """Remove a hook, if it is there."""
        self.hooks = [each for each in self.hooks if each is not hook]
        self._simulation.guard(bool(self.hooks))

    def records(self) -> tuple[HookRecord, ...]:
        """Return what `restore` takes."""
        return tuple(
            HookRecord(each.when, each.function,
                       each.target.name if isinstance(each.target, Robot) else None)
            for each in self.hooks if not _is_gone(each))

    def restore(self, records: tuple[HookRecord, ...]) -> None:
        """Add the hooks of a world that this one is a copy of."""
        for when, function, robot in records:
            self.add(when, function, self._world if robot is None else self._world.robots[robot])

    def step(self, n: int, contacts: Iterable[MadeContact]) -> None:
        """
        Take n steps with the hooks, one after the other; the first with the contacts given.

        Where anything raises, the world is as it was before that step, unless robots or joints
        were added or removed meanwhile.
        """
        n = whole_number('n', n)
        if self._is_running:
            raise StateError('a step hook has called World.step, which calls step hooks')
        self._is_running = True
        try:
            for step in range(n):
                self._take(contacts if step == 0 else ())
        finally:
            self._is_running = False

    def _take(self, contacts: Iterable[MadeContact]) -> None:
        start = snapshots.save(self._simulation)
        try:
            self._call(BEFORE)
            # hooks may have changed who is in the world
            self._simulation.step(1, made_of(self._simulation, contacts))
            self._call(AFTER)
        except BaseException:
            # of another structure there is no way back
            with suppress(InvalidValueError):
                snapshots.restore(self._simulation, start)
            raise

    def _call(self, when: str) -> None:
        for hook in tuple(self.hooks):
            if hook.when != when or hook not in self.hooks:
                continue
            if _is_gone(hook):
                self.remove(hook)
            else:
                hook.function(hook.target)


def _is_gone(hook: StepHook) -> bool:
    return isinstance(hook.target, Robot) and hook.target.slot.is_removed
