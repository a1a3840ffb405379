"""Intrinsics: functions callable from kernels that emit their own code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from sim_bridge.compiler.function import Function
    from sim_bridge.compiler.kinds import Value


class Intrinsic(ABC):
    """Function for kernels: callable from Python, and able to emit its own instructions."""

    @abstractmethod
    def __call__(self, *arguments: Any) -> Any:
        """Do in Python the same as the emitted instructions."""

    @abstractmethod
    def emit(self, function: Function, arguments: list[Value]) -> Value:
        """Emit the instructions into a function; raises TypeError for wrong arguments."""

    @property
    @abstractmethod
    def content(self) -> str:
        """Description of the instructions, for the unit digest; excludes the compiler."""
