"""Counts of accepted and rejected commands, and the age of their stamps."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np


@dataclass
class CommandCounts:
    """
    Counts of commands so far.

    accepted, rejected: messages. clamped: accepted messages beyond an effort or velocity limit.
    late: messages with a stamp older than allowed. missed: expected commands not received.
    timeouts: how often commands timed out. outdated: dropped messages, which answered states from
    before a reset.
    """

    accepted: int = 0
    clamped: int = 0
    rejected: int = 0
    late: int = 0
    missed: int = 0
    timeouts: int = 0
    outdated: int = 0


class CommandTiming:
    """
    Tracks command stamps, and the times between commands, in simulated time.

    A command answering a state carries the state's stamp. Its age when it takes effect is the
    latency of the whole loop, through both middlewares and the controller.
    """

    WINDOW = 1024

    def __init__(self, counts: CommandCounts, period_ns: int, limit_ns: int) -> None:
        """
        Start counting.

        counts: counts of late and missed commands are updated. period_ns: expected time between
        two commands [ns]; 0: none, and no command is counted as missed. limit_ns: age from which a
        command is late [ns]; 0: none.
        """
        self._counts, self._period_ns, self._limit_ns = counts, period_ns, limit_ns
        self._stamps: deque[int] = deque(maxlen=self.WINDOW)
        self._ages_ns: deque[int] = deque(maxlen=self.WINDOW)

    def arrived(self, stamp_ns: int) -> None:
        """Record the arrival of a command with this stamp [ns], 0 for none."""
        if stamp_ns:
            self._stamps.append(stamp_ns)

    def applied(self, time_ns: int, before_ns: int | None) -> None:
        """
        Record that received commands take effect; on the physics thread.

        time_ns: current time [ns]. before_ns: time when the previous command took effect [ns];
        None for the first.
        """
        while self._stamps:
            age = time_ns - self._stamps.popleft()
            self._ages_ns.append(age)
            if self._limit_ns and age > self._limit_ns:
                self._counts.late += 1
        if self._period_ns and before_ns is not None:
            self._counts.missed += max(0, (time_ns - before_ns - 1) // self._period_ns)

    def restart(self) -> None:
        """Drop all records, after a reset."""
        self._stamps.clear()
        self._ages_ns.clear()

    def ages(self) -> dict[str, float]:
        """Return percentiles of recent stamp ages [s]; empty if there were none."""
        # copied at once, since the other thread goes on
        ages = np.array(list(self._ages_ns)) * 1e-9
        if not len(ages):
            return {}
        return {
            name: float(np.percentile(ages, percent))
            for name, percent in (('p50', 50.0), ('p99', 99.0), ('max', 100.0))
        }
