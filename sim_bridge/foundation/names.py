"""Names: things by name, names that must differ from those in use, and numbers of things."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

from sim_bridge.foundation.errors import UnknownNameError

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_Thing = TypeVar('_Thing')


class ByName(dict[str, _Thing]):
    """Things by name; asking for a name that is not there raises UnknownNameError, a KeyError."""

    def __init__(self, kind: str, place: str, things: Mapping[str, _Thing] = _NOTHING):
        """Begin with some things; kind, in the singular, and place: of them, for messages."""
        super().__init__(things)
        self._kind, self._place = kind, place

    def __missing__(self, name: object) -> NoReturn:
        raise UnknownNameError(self._kind, name, self, self._place)


def counted(number: int, thing: str, things: str = '') -> str:
    """Return a number and what is counted, '1 link', '2 links'; things: a plural not in s."""
    return f'{number} {thing if number == 1 else things or f"{thing}s"}'


def free_name(wanted: str, is_taken: Callable[[str], bool]) -> str:
    """Return the wanted name if it is free, else the first free of `wanted_2`, `wanted_3` etc."""
    name, number = wanted, 2
    while is_taken(name):
        name, number = f'{wanted}_{number}', number + 1
    return name
