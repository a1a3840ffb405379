"""Time per step for several engines, measured in turns so that all see the same machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
import time

import numpy as np

from benchmarks.mechanism import State
from benchmarks.peers import Peer

# long enough for the clock, short enough that all rounds in a row see the same machine
BATCH_S = 0.01
# 2 s: a chain swings moderately, so that all engines do the work of an ordinary state
MAX_STEPS = 2000
MIN_STEPS = 5


@dataclass
class Stepper:
    """An engine, the initial state for every batch, and the call that runs a batch."""

    peer: Peer
    state: State
    work: Callable[[int], None]
    batch: int = MIN_STEPS

    def time_batch(self) -> float:
        """Return the seconds per step in one batch, after another batch that warms the caches."""
        self.peer.reset(self.state)
        self.work(self.batch)
        self.peer.reset(self.state)
        # processor time of this thread excludes other programs
        start = time.thread_time()
        self.work(self.batch)
        return (time.thread_time() - start) / self.batch

    def calibrate(self) -> None:
        """Choose the batch size so that a batch takes about BATCH_S."""
        self.batch = int(np.clip(BATCH_S / max(self.time_batch(), 1e-9), MIN_STEPS, MAX_STEPS))


def native(peer: Peer, state: State) -> Stepper:
    """Time all steps in a batch by one call."""
    return Stepper(peer, state, peer.work)


def per_call(peer: Peer, state: State, step: Callable[[], None]) -> Stepper:
    """Time one Python call of `step` per `peer` step."""

    def work(n):
        for _ in range(n):
            step()

    return Stepper(peer, state, work)


def measure(steppers: Mapping[str, Stepper], rounds: int) -> dict[str, float]:
    """Return the median seconds per step for each stepper; they take turns in every round."""
    for stepper in steppers.values():
        stepper.calibrate()
        stepper.calibrate()
    times: dict[str, list[float]] = {name: [] for name in steppers}
    for _ in range(rounds):
        for name, stepper in steppers.items():
            times[name].append(stepper.time_batch())
    return {name: float(np.median(values)) for name, values in times.items()}


def time_in_turns(
    runs: Mapping[str, Callable[[int], None]], slices: int, steps: int
) -> dict[str, np.ndarray]:
    """
    Return the seconds per step for each motion slice, (slices,) for each engine.

    Every engine goes through the whole motion; they take turns after every slice of `steps`.
    """
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(slices):
        for name, run in runs.items():
            start = time.thread_time()
            run(steps)
            times[name].append((time.thread_time() - start) / steps)
    return {name: np.array(values) for name, values in times.items()}
