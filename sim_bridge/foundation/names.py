"""Names that must differ from those in use."""

from __future__ import annotations

from collections.abc import Callable


def free_name(wanted: str, is_taken: Callable[[str], bool], first: int = 1) -> str:
    """
    Return the wanted name if it is free, else the first free of `wanted_2`, `wanted_3` and so on.

    first: the number to begin with, where lower ones are known to be taken; 1 stands for the
    wanted name itself.
    """
    number = first
    while is_taken(name := wanted if number == 1 else f'{wanted}_{number}'):
        number += 1
    return name
