"""Functions that are called before and after each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from sim_bridge.description.force_fields import name_of
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.simulation.slots import RobotSlot

BEFORE, AFTER = 'before', 'after'


class StepHook(DeclaredAttributes):
    """A function that is called before or after each step, until `remove` is called."""

    __slots__ = ('_hooks', 'function', 'slot', 'target', 'when')
    internal_names = DeclaredAttributes.internal_names | {'slot'}

    def __init__(
        self,
        hooks: StepHooks,
        when: str,
        function: Callable[[Any], object],
        target: Any,
        slot: RobotSlot | None,
    ):
        """Belong to a simulation; made by `World.before_step` and its like."""
        self._hooks = hooks
        self.when = when
        """'before' or 'after'."""
        self.function = function
        self.target = target
        """The world or the robot that the function gets."""
        self.slot = slot

    def __repr__(self) -> str:
        """Show when which function is called."""
        return f'<StepHook: {name_of(self.function)} {self.when} each step>'

    def remove(self) -> None:
        """Call the function no more; nothing happens where it is removed already."""
        self._hooks.remove(self)


class Watcher(Protocol):
    """What sees every step of a world."""

    def stepped(self) -> None:
        """Be told after a step that has succeeded."""

    def failed(self, error: Exception) -> None:
        """Be told what `World.step` raises."""


class StepHooks:
    """The hooks of a simulation, in the order in which they were added."""

    def __init__(self) -> None:
        """Begin with none."""
        self.present: tuple[StepHook, ...] = ()
        self.watcher: Watcher | None = None
        """No part of what snapshots and copies have."""
        self.is_used = False
        """Whether there are hooks or a watcher."""

    def add(
        self,
        when: str,
        function: Callable[[Any], object],
        target: Any,
        slot: RobotSlot | None = None,
    ) -> StepHook:
        """
        Add a function of the target; raises InvalidValueError for what cannot be called.

        slot: of the robot that is the target; the hook ends when it is removed.
        """
        if not callable(function):
            raise InvalidValueError('function', function, 'a function of one argument')
        hook = StepHook(self, when, function, target, slot)
        self._set((*self.present, hook))
        return hook

    def remove(self, hook: StepHook) -> None:
        """Remove a hook, if it is there."""
        self._set(tuple(each for each in self.present if each is not hook))

    def watch(self, watcher: Watcher | None) -> None:
        """Set what watches steps, None for nothing."""
        self.watcher, self.is_used = watcher, bool(self.present) or watcher is not None

    def call(self, when: str) -> None:
        """Call the functions that are called then; those of robots that were removed end."""
        for hook in self.present:
            if hook.when != when or hook not in self.present:
                continue
            if hook.slot is not None and hook.slot.is_removed:
                self.remove(hook)
            else:
                hook.function(hook.target)

    def _set(self, hooks: tuple[StepHook, ...]) -> None:
        self.present, self.is_used = hooks, bool(hooks) or self.watcher is not None
