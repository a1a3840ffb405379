"""Bodies' sleep thresholds, as in the engine's model."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import Literal

import numpy as np

from sim_bridge.engine.data import model as columns
from sim_bridge.simulation.records import Sleep
from sim_bridge.simulation.slots import RobotSlot

OwnSleep = Sleep | Literal[False] | None
"""When a robot falls asleep: False for never, None for when its world says."""


def sample_count(slots: Sequence[RobotSlot], default: Sleep | None) -> int:
    """Return the number of velocities kept for bodies whose mean velocity decides on sleep."""
    return sum(
        len(slot.blueprint.model.kind) * sleep.average_samples
        for slot in slots
        if (sleep := _of(slot, default)) and sleep.average_samples > 1
    )


def sleep_rows(
    slots: Sequence[RobotSlot], default: Sleep | None, time_step: float, bodies: int
) -> np.ndarray:
    """Return a world's `Model.sleep`; default: for robots without their own settings."""
    rows, first = np.zeros((bodies, columns.SLEEP_SIZE)), 0
    for slot in slots:
        sleep, start = _of(slot, default), slot.part.at.body
        if not sleep:
            continue
        steps = max(sleep.steps, math.ceil(sleep.time / time_step), 1)
        for row in rows[start : start + len(slot.blueprint.model.kind)]:
            row[:] = sleep.linear, sleep.angular, steps, sleep.average_samples, first
            first += sleep.average_samples if sleep.average_samples > 1 else 0
    return rows


def _of(slot: RobotSlot, default: Sleep | None) -> Sleep | None:
    return default if slot.sleep is None else slot.sleep or None
