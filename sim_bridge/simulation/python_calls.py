"""Python function calls from within a simulation's compiled code: one rule for all."""

from __future__ import annotations

from collections.abc import Callable

from sim_bridge.compiler.stage import Callback
from sim_bridge.foundation.errors import StateError


class PythonCalls:
    """
    The running Python functions, and their errors.

    They must not step, change or save their world. Only some may read it.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._running: list[Callable[[int], None]] = []
        self._error: BaseException | None = None
        self.is_closed = False
        """Whether a function runs that may not even read the world."""

    def callback(self, function: Callable[[int], None], *, reads: bool = False) -> Callback:
        """
        Return the kernel callback for a function taking a phase number.

        reads: whether the function may read the world.

        The callback returns -1 after an error; kernels then end early, and `raise_error` follows.
        """

        def call(phase: int) -> int:
            closed = self.is_closed
            try:
                if function in self._running:
                    self.check()
                self._running.append(function)
                self.is_closed = not reads
                try:
                    function(phase)
                finally:
                    self._running.pop()
                    self.is_closed = closed
            except BaseException as err:  # noqa: BLE001 - kernels cannot raise; `raise_error` does
                self._error = self._error or err
                return -1
            return 0

        return Callback(call)

    @property
    def is_running(self) -> bool:
        """Whether one is being called."""
        return bool(self._running)

    def check(self) -> None:
        """Raise StateError while one is being called."""
        if self._running:
            raise StateError(
                'a function runs in the middle of a step: a listener to contacts, a friction '
                'function, or one of gravity or a force field. It must not step, change or save '
                'the world; World.before_step and after_step are for that. Only a listener may '
                'read the world, any other uses its arguments alone'
            )

    def raise_error(self) -> None:
        """Raise the first error since this was called last."""
        error, self._error = self._error, None
        if error is not None:
            raise error
