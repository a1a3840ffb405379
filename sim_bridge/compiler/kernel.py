"""
Kernels: functions in the subset of Python described in docs/kernels.md.

A `kernel` is inlined into its callers. If its body is only `return expression`, its sums and
products become part of the calling expression. A `subroutine` is called, not inlined: use it for
large code with several callers. Python can also call an `entry.entry`. A `stage.Stage` is compiled
separately. A `lanes` kernel computes the same for several items in straight-line code: units
containing one compute equal operations side by side as vectors. Called from Python, kernels and
subroutines run as plain Python functions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any

from sim_bridge.compiler.source import tree_of


class Kernel:
    """Function in the subset, compiled at first use."""

    # copied from the wrapped function
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
        """Syntax tree."""
        return tree_of(self.function)

    @cached_property
    def local_names(self) -> frozenset[str]:
        """Parameters and variables."""
        return frozenset(self.function.__code__.co_varnames)


def kernel(function: Callable[..., Any]) -> Kernel:
    """Make a function a kernel inlined into its callers."""
    return Kernel(function, is_inlined=True)


def lanes(function: Callable[..., Any]) -> Kernel:
    """Make a function an inlined kernel whose unit computes with vectors."""
    return Kernel(function, is_inlined=True, has_lanes=True)


def subroutine(function: Callable[..., Any]) -> Kernel:
    """Make a function a kernel called by its callers, not inlined."""
    return Kernel(function, is_inlined=False)
