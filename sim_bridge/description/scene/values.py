"""Settings from a scene file, which are applied one by one, each with its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sim_bridge.description.report import Place
from sim_bridge.description.yaml.section import Section

_RATES = (
    'linear_velocity_damping',
    'angular_velocity_damping',
    'mass_coefficients',
    'inertia_coefficients',
)
_SETTINGS = ('solver', 'integrator')
_SETTING_NUMBERS = ('contact_margin', 'iterations', 'erp', 'cfm', 'step_budget')
SLEEP_KEYS = ('linear', 'angular', 'steps', 'time', 'average_samples')


@dataclass(frozen=True, eq=False)
class Values:
    """Settings by name, in order."""

    items: Mapping[str, Any]
    _section: Section

    @classmethod
    def given(cls, values: Mapping[str, Any], section: Section) -> Values:
        """Return the values that are not None, as settings in a section."""
        return cls(
            MappingProxyType({key: value for key, value in values.items() if value is not None}),
            section,
        )

    def replaced(self, key: str, value: Any) -> Values:
        """Return the settings with another value for a key; None removes the key."""
        return Values.given({**self.items, key: value}, self._section)

    def only(self, key: str) -> Values:
        """Return the settings reduced to one key."""
        return Values.given({key: self.items[key]}, self._section)

    def place(self, key: str) -> Place:
        """Return a key's place; the section's place if the key is missing."""
        return self._section.place(key)


def read_settings(world: Section) -> Values:
    """Read `World`'s settable attributes."""
    values: dict[str, Any] = {key: world.text(key, None) for key in _SETTINGS}
    values |= {key: _whole(world.number(key, None)) for key in _SETTING_NUMBERS}
    return Values.given({**values, 'sleep': read_sleep(world)}, world)


def read_link(section: Section) -> Values:
    """Read gravity and damping for a link: `Link` attributes; one rate applies to all axes."""
    values: dict[str, Any] = {'gravity': section.flag('gravity', None)}
    for key in _RATES:
        rates = numbers(section, key)
        values[key] = (rates,) * 3 if isinstance(rates, float) else rates
    return Values.given(values, section)


def read_robot(section: Section) -> Values:
    """Read the sleep settings for a robot or an object, and whether it is disabled."""
    return Values.given(
        {'sleep': read_sleep(section), 'disabled': section.flag('disabled', None)}, section
    )


def read_sleep(section: Section) -> bool | Mapping[str, float] | None:
    """Return a flag for sleep, or arguments for `Sleep`; None if absent or invalid."""
    if not isinstance(section.peek('sleep'), Mapping):
        return section.flag('sleep', None)
    inner = section.section('sleep')
    assert inner is not None
    given = {key: inner.number(key, None) for key in SLEEP_KEYS}
    inner.close()
    return MappingProxyType({key: value for key, value in given.items() if value is not None})


def numbers(section: Section, key: str) -> float | tuple[float, ...] | None:
    """Return a number, or a number list; None if absent or invalid."""
    if not isinstance(section.peek(key), (list, tuple)):
        return section.number(key, None)
    matrix = section.matrix(key)
    if matrix is not None and matrix.ndim != 1:
        section.error(key, section.peek(key), 'must be a number or a list of numbers')
        return None
    return None if matrix is None else tuple(matrix.tolist())


def _whole(value: float | None) -> float | None:
    """Return an integer for a whole number, other values unchanged."""
    return int(value) if value is not None and value.is_integer() else value
