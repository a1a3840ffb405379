"""Intrinsics: functions that kernels can call and that emit their own code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from sim_bridge.compiler.function import Function
    from sim_bridge.compiler.kinds import Value


class Intrinsic(ABC):
    """A function for kernels: callable from Python, and able to emit its own instructions."""

    @abstractmethod
    def __call__(self, *arguments: Any) -> Any:
        """Perform in Python the operation of the emitted instructions."""

    @abstractmethod
    def emit(self, function: Function, arguments: list[Value]) -> Value:
        """Emit the instructions into a function; raises TypeError for wrong arguments."""

    @property
    @abstractmethod
    def content(self) -> str:
        """Description of the instructions, apart from the compiler, for the digest of a unit."""
