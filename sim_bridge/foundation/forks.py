"""Forked child processes: only the forking thread survives, so objects with threads adapt."""

from __future__ import annotations

from collections.abc import Callable
import os
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

_Owner = TypeVar('_Owner')
_followers: WeakKeyDictionary[Any, Callable[[Any], None]] = WeakKeyDictionary()


def in_child(owner: _Owner, adapt: Callable[[_Owner], None]) -> None:
    """
    Call adapt(owner) in every child process forked while the owner exists.

    owner: hashed by identity. adapt: a function that raises nothing and does not refer to the
    owner; it runs before anything else in the child, in the only thread left.
    """
    _followers[owner] = adapt


def _adapt_all() -> None:
    for owner, adapt in list(_followers.items()):
        adapt(owner)


if hasattr(os, 'register_at_fork'):
    os.register_at_fork(after_in_child=_adapt_all)
