"""Exceptions of callbacks: survived, counted, and logged once for each place in the code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
import functools
import threading
import traceback
from typing import Any, TYPE_CHECKING

from sim_bridge.foundation.errors import brief

if TYPE_CHECKING:
    from rclpy.impl.rcutils_logger import RcutilsLogger


class Faults:
    """
    The exceptions that callbacks of a node have raised.

    An exception that leaves a callback would end the process, and with it the simulation. Callable
    from any thread.
    """

    def __init__(self, logger: Callable[[], RcutilsLogger]) -> None:
        """
        Start with none.

        logger: returns the logger, which may not exist yet.
        """
        self._logger = logger
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def counts(self) -> dict[str, int]:
        """Number of exceptions by type and place, such as 'TypeError in commands.py:73'."""
        with self._lock:
            return dict(self._counts)

    def note(self, what: str, error: Exception) -> None:
        """
        Count an exception, and log the first one of its type and place with its trace.

        what: the callback that raised it, such as "service 'reset'".
        """
        place = _place_of(error)
        with self._lock:
            self._counts[place] += 1
            is_new = self._counts[place] == 1
        if is_new:
            trace = ''.join(traceback.format_exception(type(error), error, error.__traceback__))
            self._logger().error(
                f'{what} failed; the node goes on. Further failures in the same place are only '
                f'counted, on /diagnostics.\n{trace}'
            )

    def guard(
        self,
        what: str,
        callback: Callable[..., Any],
        fallback: Callable[..., Any] = lambda error, *given: None,
    ) -> Callable[..., Any]:
        """
        Return a callback that raises no exception.

        what: its name in the log. fallback: called with the exception and the arguments of a
        callback that failed; returns what the callback should have returned.
        """

        @functools.wraps(callback)
        def guarded(*given: Any) -> Any:
            try:
                return callback(*given)
            except Exception as error:  # noqa: BLE001 - whatever it is, the node must live on
                self.note(what, error)
                return fallback(error, *given)

        return guarded


def described(error: Exception) -> str:
    """Return an unexpected exception in one line of bounded length."""
    return f'{type(error).__name__}: {brief(str(error))}'


def _place_of(error: Exception) -> str:
    """Return the type of an exception and the line that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = ''.join(f' in {frame.filename.rpartition("/")[2]}:{frame.lineno}' for frame in last)
    return f'{type(error).__name__}{where}'
