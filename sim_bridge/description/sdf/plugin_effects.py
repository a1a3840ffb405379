"""One plugin's effect on a robot: force fields with unique names, and inputs."""

from __future__ import annotations

from dataclasses import dataclass

from sim_bridge.description.force_fields import DeclaredField
from sim_bridge.description.plugin_inputs import PluginInput


@dataclass(frozen=True)
class Effect:
    """One plugin's effect. kind: word for people. fields: by link names, () for all."""

    kind: str
    fields: tuple[tuple[DeclaredField, tuple[str, ...]], ...] = ()
    inputs: tuple[PluginInput, ...] = ()


class FieldNames:
    """Field names for a plugin, in order; unique on the robot."""

    def __init__(self, stem: str, taken: set[str]) -> None:
        """Begin without names. stem: before each name. taken: other fields' names."""
        self._stem, self._taken = stem, taken
        self.given: list[str] = []

    def new(self, name: str) -> str:
        """Return a new name like this one."""
        full, number = self._stem + name, 2
        while full in self._taken:
            full, number = f'{self._stem}{name}_{number}', number + 1
        self._taken.add(full)
        self.given.append(full)
        return full
