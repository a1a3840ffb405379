"""Deadline statistics of the physics thread, measured tick by tick."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TimingReport:
    """
    Timing since the previous report.

    elapsed: real time [s]. ticks: number of ticks. missed: deadlines passed without a tick. rate:
    ticks per real second. real_time_factor: simulated seconds per real second. lateness:
    {percentile: s} from deadline to tick. duration: {percentile: s} of a tick. Both cover the
    latest ticks and are empty without ticks.
    """

    elapsed: float
    ticks: int
    missed: int
    rate: float
    real_time_factor: float
    lateness: dict[str, float]
    duration: dict[str, float]


class TickStatistics:
    """
    Statistics written by the physics thread, read by another thread.

    ticks, missed: totals since the start. A reader may see the latest tick counted but not yet
    timed, with hardly any effect on percentiles; this avoids a lock.
    """

    WINDOW = 8192
    PERCENTILES = {'p50': 50.0, 'p99': 99.0, 'p99.9': 99.9, 'max': 100.0}

    def __init__(self, tick_ns: int) -> None:
        """
        Start counting.

        tick_ns: simulated time of a tick [ns].
        """
        self.ticks = 0
        self.missed = 0
        self._tick_ns = tick_ns
        self._lateness_ns = np.zeros(self.WINDOW, dtype=np.int64)
        self._duration_ns = np.zeros(self.WINDOW, dtype=np.int64)
        self._reported_ticks = 0
        self._reported_missed = 0
        self._reported_at_ns: int | None = None

    def record(self, lateness_ns: int, duration_ns: int) -> None:
        """Count a tick. lateness_ns: delay after its deadline. duration_ns: its duration."""
        slot = self.ticks % self.WINDOW
        self._lateness_ns[slot] = lateness_ns
        self._duration_ns[slot] = duration_ns
        self.ticks += 1

    def since(self, ticks: int) -> tuple[float, float]:
        """
        Return the greatest lateness and the mean duration [s] of all ticks after tick `ticks`.

        Both are 0 without ticks. The call costs a few microseconds for a few ticks.
        """
        new = min(self.ticks - ticks, self.WINDOW)
        if new <= 0:
            return 0.0, 0.0
        end = self.ticks % self.WINDOW
        slots = slice(end - new, end) if end >= new else np.arange(end - new, end)
        return (
            float(self._lateness_ns[slots].max()) * 1e-9,
            float(self._duration_ns[slots].mean()) * 1e-9,
        )

    def report(self, now_ns: int) -> TimingReport:
        """Return a summary since the last report; the first one covers everything so far."""
        ticks, missed = self.ticks, self.missed
        since = self._reported_at_ns
        elapsed = 0.0 if since is None else (now_ns - since) * 1e-9
        new = ticks - self._reported_ticks
        latest = np.arange(ticks - min(new, self.WINDOW), ticks) % self.WINDOW
        report = TimingReport(
            elapsed=elapsed,
            ticks=new,
            missed=missed - self._reported_missed,
            rate=new / elapsed if elapsed else 0.0,
            real_time_factor=new * self._tick_ns * 1e-9 / elapsed if elapsed else 0.0,
            lateness=self._percentiles(self._lateness_ns[latest]),
            duration=self._percentiles(self._duration_ns[latest]),
        )
        self._reported_ticks, self._reported_missed, self._reported_at_ns = ticks, missed, now_ns
        return report

    def _percentiles(self, values_ns: np.ndarray) -> dict[str, float]:
        if not len(values_ns):
            return {}
        levels = np.percentile(values_ns, list(self.PERCENTILES.values()))
        return {
            name: float(level) * 1e-9 for name, level in zip(self.PERCENTILES, levels, strict=True)
        }
