"""Functions called before and after each step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from sim_bridge.description.force_fields import name_of
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.simulation.slots import RobotSlot

BEFORE, AFTER = 'before', 'after'


class StepHook(DeclaredAttributes):
    """A function called before or after each step, until `remove` is called."""

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
        """The function's argument: the world or a robot."""
        self.slot = slot

    def __repr__(self) -> str:
        """Show the function and when it is called."""
        return f'<StepHook: {name_of(self.function)} {self.when} each step>'

    def remove(self) -> None:
        """Stop calling the function; does nothing for a removed hook."""
        self._hooks.remove(self)


class Watcher(Protocol):
    """An observer watching all steps in a world."""

    def stepped(self) -> None:
        """Handle a successful step."""

    def failed(self, error: Exception) -> None:
        """Handle an error in `World.step`."""


class StepHooks:
    """A simulation's hooks, in the order they were added."""

    def __init__(self) -> None:
        """Begin with none."""
        self.present: tuple[StepHook, ...] = ()
        self.watcher: Watcher | None = None
        """Not contained in snapshots and copies."""
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
        Add a function for the target; raises InvalidValueError if it cannot be called.

        slot: the target robot; the hook ends at its removal.
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
        """Set the step observer, None for none."""
        self.watcher, self.is_used = watcher, bool(self.present) or watcher is not None

    def call(self, when: str) -> None:
        """Call the functions for a time, 'before' or 'after'; removed robots' hooks end."""
        for hook in self.present:
            if hook.when != when or hook not in self.present:
                continue
            if hook.slot is not None and hook.slot.is_removed:
                self.remove(hook)
            else:
                hook.function(hook.target)

    def _set(self, hooks: tuple[StepHook, ...]) -> None:
        self.present, self.is_used = hooks, bool(hooks) or self.watcher is not None
