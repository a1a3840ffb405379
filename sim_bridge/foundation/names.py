"""Names that must differ from those in use."""

from __future__ import annotations

from collections.abc import Callable


def free_name(wanted: str, is_taken: Callable[[str], bool]) -> str:
    """Return the wanted name if it is free, else the first free of `wanted_2`, `wanted_3` etc."""
    name, number = wanted, 2
    while is_taken(name):
        name, number = f'{wanted}_{number}', number + 1
    return name
