"""
The physics thread: calls one function at absolute deadlines, and serves requests in between.

The thread owns the ticked object. No other thread accesses it, so no lock is needed. A callback
that needs the object submits a function (`Pacer.submit`) and does not wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
import functools
import threading
import time
from typing import Protocol

from sim_bridge.ros.process.statistics import TickStatistics

# Longest uninterrupted sleep: the period of `Paced.attend` at any pace, and of polls of
# `Paced.is_ready`.
_LONGEST_SLEEP_NS = 10_000_000
_LONGEST_WAIT_S = _LONGEST_SLEEP_NS * 1e-9

# Period of `Paced.idle` while there is nothing to tick.
_IDLE_PERIOD_NS = 100_000_000

# Time of ticking without sleep after which the thread counts as too slow for the pace.
_LONGEST_RUSH_NS = 100_000_000


class Clock(Protocol):
    """A monotonic clock to sleep by."""

    def now_ns(self) -> int:
        """Return the current time [ns]."""

    def sleep_until(self, time_ns: int) -> None:
        """Sleep until this time [ns] or later."""

    def wait(self, event: threading.Event, timeout_s: float) -> None:
        """Wait until the event is set, or for this long [s]."""


class SteadyClock:
    """The system's monotonic clock."""

    now_ns = staticmethod(time.monotonic_ns)

    def sleep_until(self, time_ns: int) -> None:
        """Sleep until this time [ns] or later."""
        left = time_ns - time.monotonic_ns()
        if left > 0:
            time.sleep(left * 1e-9)

    def wait(self, event: threading.Event, timeout_s: float) -> None:
        """Wait until the event is set, or for this long [s]."""
        event.wait(timeout_s)


class Paced(Protocol):
    """The object run by a pacer. All methods are called on the pacer's thread."""

    def begin(self) -> None:
        """Prepare the thread, before anything else is called."""

    def tick(self) -> None:
        """Take a tick. An exception pauses the pacer, which can be resumed."""

    def attend(self) -> None:
        """Do periodic work while no tick is taken: every 10 ms, and before requests are served."""

    def idle(self) -> None:
        """Do periodic work while paused, about ten times a second."""

    def is_ready(self) -> bool:
        """Return whether a tick can be taken; called again after `Pacer.wake` and every 10 ms."""

    def set_rushing(self, is_rushing: bool) -> None:
        """Adapt to a thread too slow to sleep between ticks, or to one sleeping again."""

    def fail(self, error: Exception) -> None:
        """Report the exception of a tick, after the pacer has paused."""

    def survive(self, activity: str, error: Exception) -> None:
        """Report an exception of other work, such as a request; ticks continue afterwards."""


class Pacer:
    """
    Ticks periodically on its own thread.

    Deadlines are absolute: a late tick does not delay later ones. A tick late by whole periods has
    missed as many deadlines. They are counted and dropped, never caught up in a burst, and
    simulated time falls behind.
    """

    def __init__(
        self,
        paced: Paced,
        tick_ns: int,
        *,
        real_time_factor: float = 1.0,
        paused: bool = False,
        clock: Clock | None = None,
    ) -> None:
        """
        Prepare the thread; `start` starts it.

        paced: object to run.
        tick_ns: simulated time of one tick [ns].
        real_time_factor: simulated seconds per second; 0 for as fast as possible.
        paused: whether to start paused.
        clock: clock to sleep by; the system clock by default.
        """
        self.statistics = TickStatistics(tick_ns)
        self._paced = paced
        self._clock: Clock = SteadyClock() if clock is None else clock
        self._tick_ns = tick_ns
        self._period_ns = 0
        self._deadline_ns = 0
        self._rested_ns = 0
        self._idled_ns = 0
        self._is_rushing = False
        self._is_paused = paused
        self._error: Exception | None = None
        self._is_stopping = False
        self._requests: deque[Callable[[], None]] = deque()
        self._owed: deque[_OwedTicks] = deque()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self.run, name='physics', daemon=True)
        self.real_time_factor = real_time_factor

    @property
    def real_time_factor(self) -> float:
        """Target of simulated seconds per real second; 0 for as fast as possible."""
        return self._real_time_factor

    @real_time_factor.setter
    def real_time_factor(self, factor: float) -> None:
        self._real_time_factor = factor
        self._period_ns = round(self._tick_ns / factor) if factor else 0

    @property
    def is_paused(self) -> bool:
        """Whether ticks are taken only when `step` requests them."""
        return self._is_paused

    @property
    def error(self) -> Exception | None:
        """The exception of the last tick, until the pacer is resumed or stepped."""
        return self._error

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread after its current tick, and join it."""
        self._is_stopping = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def submit(self, request: Callable[[], None]) -> None:
        """
        Queue a function to run soon on the physics thread, between two ticks; from any thread.

        Its exceptions are reported, and the thread goes on.
        """
        self._requests.append(request)
        self._wake.set()

    def wake(self) -> None:
        """Make the thread call `is_ready` again soon; from any thread."""
        self._wake.set()

    def pause(self) -> None:
        """Stop ticking. Physics thread only: other threads use `submit(pacer.pause)`."""
        self._is_paused = True

    def resume(self) -> None:
        """Tick again. Physics thread only, like `pause`."""
        self._is_paused = False
        self._error = None
        self._deadline_ns = self._clock.now_ns()

    def step(
        self,
        ticks: int,
        on_done: Callable[[Exception | None], None],
        on_tick: Callable[[int], bool] = lambda remaining: True,
    ) -> None:
        """
        Take this many ticks, one or more, while paused, at the usual pace.

        After the last tick, `on_done` is called with None. If a tick raises an exception,
        `on_done` is called with the exception at once, and all stepping ends. on_tick: called
        after each tick with the number of remaining ticks; False ends the stepping. Physics thread
        only, like `pause`.
        """
        self._error = None
        if not self._owed:
            self._deadline_ns = self._clock.now_ns()
        self._owed.append(_OwedTicks(ticks, on_done, on_tick))

    def drop_steps(self, error: Exception) -> None:
        """
        Drop all ticks requested with `step`, and pass the error to their callers.

        Physics thread only, like `pause`.
        """
        owed, self._owed = self._owed, deque()
        for waiting in owed:
            self._attempt('the end of stepping', functools.partial(waiting.on_done, error))

    def run(self) -> None:
        """Tick until `stop`; the thread's main function."""
        self._paced.begin()
        self._deadline_ns = self._rested_ns = self._clock.now_ns()
        while not self._is_stopping:
            if self._requests:
                self._serve_requests()
            if self._is_paused and not self._owed:
                self._stand_by()
            elif not self._is_ready():
                self._await_readiness()
            elif self._is_due():
                self._tick_now()
            else:
                self._attend()

    def _stand_by(self) -> None:
        """Wait briefly for requests."""
        now = self._clock.now_ns()
        if now - self._idled_ns >= _IDLE_PERIOD_NS:
            self._idled_ns = now
            self._attempt('work while paused', self._paced.idle)
        self._attend()
        self._wait()

    def _attend(self) -> None:
        self._attempt('work between ticks', self._paced.attend)

    def _is_ready(self) -> bool:
        try:
            return self._paced.is_ready()
        except Exception as error:  # noqa: BLE001 - no exception may end the thread
            self._paced.survive('readiness for a tick', error)
            return False

    def _await_readiness(self) -> None:
        """Sleep until `wake`; waiting past the deadline does not count as lateness."""
        self._wait()
        self._deadline_ns = max(self._deadline_ns, self._clock.now_ns())

    def _wait(self) -> None:
        self._rest()
        self._clock.wait(self._wake, _LONGEST_WAIT_S)
        self._wake.clear()

    def _serve_requests(self) -> None:
        # a command sent before a reset request takes effect before it
        self._attend()
        while self._requests:
            self._attempt('request', self._requests.popleft())

    def _is_due(self) -> bool:
        """Sleep towards the deadline; return whether it is reached."""
        now = self._clock.now_ns()
        # the period may have been shortened meanwhile
        self._deadline_ns = min(self._deadline_ns, now + self._period_ns)
        if now < self._deadline_ns:
            until = min(self._deadline_ns, now + _LONGEST_SLEEP_NS)
            self._rest()
            self._clock.sleep_until(until)
            return until == self._deadline_ns
        if not self._is_rushing and now - self._rested_ns > _LONGEST_RUSH_NS:
            self._set_rushing(True)
        return True

    def _rest(self) -> None:
        """Note that the thread is about to yield the processor."""
        self._rested_ns = self._clock.now_ns()
        if self._is_rushing:
            self._set_rushing(False)

    def _set_rushing(self, is_rushing: bool) -> None:
        self._is_rushing = is_rushing
        self._attempt('scheduling', functools.partial(self._paced.set_rushing, is_rushing))

    def _tick_now(self) -> None:
        period = self._period_ns
        started = self._clock.now_ns()
        lateness = started - self._deadline_ns if period else 0
        try:
            self._paced.tick()
        except Exception as error:  # noqa: BLE001 - no exception may end the thread
            self._fail(error)
            return
        self.statistics.record(lateness, self._clock.now_ns() - started)
        if period:
            missed = lateness // period
            self.statistics.missed += missed
            self._deadline_ns += (1 + missed) * period
        else:
            self._deadline_ns = started
        if self._owed:
            self._attempt('stepping', self._count_down)

    def _count_down(self) -> None:
        owed = self._owed[0]
        owed.remaining -= 1
        try:
            goes_on = owed.on_tick(owed.remaining) and owed.remaining > 0
        except Exception as error:
            self._owed.popleft()
            owed.on_done(error)
            raise
        if not goes_on:
            self._owed.popleft()
            owed.on_done(None)

    def _attempt(self, activity: str, function: Callable[[], None]) -> None:
        """Call a function; report an exception and go on."""
        try:
            function()
        except Exception as error:  # noqa: BLE001 - no exception may end the thread
            self._paced.survive(activity, error)

    def _fail(self, error: Exception) -> None:
        self._is_paused = True
        self._error = error
        self._paced.fail(error)
        self.drop_steps(error)


class _OwedTicks:
    """An unfinished call of `step`."""

    def __init__(
        self,
        remaining: int,
        on_done: Callable[[Exception | None], None],
        on_tick: Callable[[int], bool],
    ) -> None:
        self.remaining, self.on_done, self.on_tick = remaining, on_done, on_tick
