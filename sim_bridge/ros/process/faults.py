"""Callback exceptions: caught, counted, and logged once per place in the code."""

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
    Exceptions raised by a node's callbacks.

    An uncaught callback exception would end the process, and with it the simulation. All methods
    are callable from any thread.
    """

    def __init__(self, logger: Callable[[], RcutilsLogger]) -> None:
        """
        Start without exceptions.

        logger: returns the logger; it may not exist yet.
        """
        self._logger = logger
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def counts(self) -> dict[str, int]:
        """Number of exceptions by type and place, for example 'TypeError in commands.py:73'."""
        with self._lock:
            return dict(self._counts)

    def note(self, source: str, error: Exception) -> None:
        """
        Count an exception; log the first one of its type and place with its trace.

        source: name of the failed callback, for example "service 'reset'".
        """
        place = _place_of(error)
        with self._lock:
            self._counts[place] += 1
            is_new = self._counts[place] == 1
        if is_new:
            trace = ''.join(traceback.format_exception(type(error), error, error.__traceback__))
            self._logger().error(
                f'{source} failed; the node goes on. Further failures in the same place are only '
                f'counted, on /diagnostics.\n{trace}'
            )

    def guard(
        self,
        source: str,
        callback: Callable[..., Any],
        fallback: Callable[..., Any] = lambda error, *given: None,
    ) -> Callable[..., Any]:
        """
        Return a callback without exceptions.

        source: name in the log. fallback: called with the exception and the arguments of a failed
        callback; returns the value in place of the callback's.
        """

        @functools.wraps(callback)
        def guarded(*given: Any) -> Any:
            try:
                return callback(*given)
            except Exception as error:  # noqa: BLE001 - no exception may end the node
                self.note(source, error)
                return fallback(error, *given)

        return guarded


def described(error: Exception) -> str:
    """Return an unexpected exception as one line of bounded length."""
    return f'{type(error).__name__}: {brief(str(error))}'


def _place_of(error: Exception) -> str:
    """Return the type of an exception and the line raising it."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = ''.join(f' in {frame.filename.rpartition("/")[2]}:{frame.lineno}' for frame in last)
    return f'{type(error).__name__}{where}'
