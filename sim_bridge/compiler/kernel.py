"""
Kernels: functions of the subset of Python that docs/kernels.md describes.

`kernel` is inlined where it is called, and its sums and products become part of the calling
expression where it is nothing but `return expression`; `subroutine` is called: for what is large
and used in several places. `entry.entry` can be called from Python too, and a `stage.Stage` is
compiled on its own. `lanes` is a kernel that computes the same for several items, in straight
lines of code: units that hold one compute such things side by side in vectors. Called from Python,
kernels and subroutines run as the Python functions that they are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any

from sim_bridge.compiler.source import tree_of


class Kernel:
    """A function of the subset, compiled when it is first needed."""

    # of the wrapped function
    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[..., Any], *, is_inlined: bool, has_lanes: bool = False):
        """Wrap a Python function."""
        self.function, self.is_inlined, self.has_lanes = function, is_inlined, has_lanes
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Run the Python function."""
        return self.function(*arguments)

    def __repr__(self) -> str:
        return f'<{type(self).__name__.lower()} {self.__module__}.{self.__qualname__}>'

    @cached_property
    def tree(self) -> ast.FunctionDef:
        """Its syntax tree."""
        return tree_of(self.function)

    @cached_property
    def local_names(self) -> frozenset[str]:
        """Its parameters and variables."""
        return frozenset(self.function.__code__.co_varnames)


def kernel(function: Callable[..., Any]) -> Kernel:
    """Make a function a kernel that is inlined into those that call it."""
    return Kernel(function, is_inlined=True)


def lanes(function: Callable[..., Any]) -> Kernel:
    """Make a function a kernel that is inlined, and its unit one that computes in vectors."""
    return Kernel(function, is_inlined=True, has_lanes=True)


def subroutine(function: Callable[..., Any]) -> Kernel:
    """Make a function a kernel that is called, not inlined."""
    return Kernel(function, is_inlined=False)
