"""Names in messages and registries: mappings by name, unused names, and counted nouns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from itertools import count
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar

from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError

_NAMES_SHOWN = 40
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_Thing = TypeVar('_Thing')


class ByName(dict[str, _Thing]):
    """Objects by name; an unknown name raises UnknownNameError, a KeyError."""

    def __init__(self, kind: str, place: str, things: Mapping[str, _Thing] = _NOTHING):
        """Begin with some objects; kind (singular) and place: used in messages."""
        super().__init__(things)
        self._kind, self._place = kind, place

    def __getitem__(self, name: str) -> _Thing:
        """Return an object by name; raises InvalidValueError for other keys than texts."""
        if not isinstance(name, str):
            raise InvalidValueError(f'name of a {self._kind}', name, 'a text', self._place)
        return super().__getitem__(name)

    def __missing__(self, name: object) -> NoReturn:
        raise UnknownNameError(self._kind, name, self, self._place)


def bytes_text(size: int) -> str:
    """Return a number of bytes as kB or MB, with one decimal from 1 MB."""
    return f'{size / 1e6:.1f} MB' if size >= 1_000_000 else f'{size / 1e3:.0f} kB'


def counted(number: int, thing: str, things: str = '') -> str:
    """Return a number and a noun: '1 link', '2 links'; things: irregular plural."""
    return f'{number} {thing if number == 1 else things or f"{thing}s"}'


def free_name(
    wanted: str, is_taken: Callable[[str], bool], used: MutableMapping[str, int] | None = None
) -> str:
    """
    Return the wanted name if it is free, else the first free one of `wanted_2`, `wanted_3` etc.

    used: last number used in earlier calls, by wanted name; smaller numbers are not tried again.
    This matters for many names.
    """
    last = 0 if used is None else used.get(wanted, 0)
    for number in count(last + 1):
        name = wanted if number == 1 else f'{wanted}_{number}'
        if not is_taken(name):
            break
    if used is not None:
        used[wanted] = number
    return name


def new_name(
    name: str | None,
    default: str,
    taken: Mapping[str, object],
    place: str = '',
    used: MutableMapping[str, int] | None = None,
) -> str:
    """
    Return a user's name, or the default if it is None, numbered as in `free_name`.

    Raises InvalidValueError for an empty name or a name already taken.
    """
    if name is None:
        return free_name(default, taken.__contains__, used)
    if not isinstance(name, str) or not name:
        raise InvalidValueError('name', name, 'a text that is not empty', place)
    if name in taken:
        names = ', '.join(list(taken)[:_NAMES_SHOWN])
        raise InvalidValueError('name', name, f'one that is not taken yet (taken: {names})', place)
    return name
