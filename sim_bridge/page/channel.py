"""
Channel between a simulator and its page: frames in shared memory.

The simulator never waits for the page. Frames are in a ring of slots; the page copies the newest
one, then checks whether it was overwritten meanwhile. The memory is an unlinked file: it is freed
when both processes have ended.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
from typing import NamedTuple

import numpy as np

CONTACTS = 2048
"""Greatest number of contacts in a frame; further ones are left out."""
PUSHES = 16
CONTACT_SIZE = 10
"""Position (3), normal (3), force (3) on a, depth."""
_SLOTS = 4
_LATEST, _SEQUENCE = 0, 1  # in the ring's head: slot and number of the newest frame
_HEAD_BYTES = 64
_LENGTH = struct.Struct('<q')
_ALIGNMENT = 64


NUMBERS = (
    'time',
    'contacts',
    'pushes',
    'is_paused',
    'wanted_speed',
    'ticks',
    'missed',
    'lateness',
    'tick_time',
    'pivots',
    'sweeps',
    'residual',
)
"""
Names of `Frame.numbers`: simulated time [s], rows of contacts (all present ones) and pushes,
pause flag, target ratio of simulated to real time (0: unlimited), control steps taken and missed,
greatest lateness and mean duration of a control step since the last frame [s]; pivots, sweeps and
residual [m/s] of the solver in the last step, as in `StepReport`.
"""


class Frame(NamedTuple):
    """
    Simulation state at an instant; float64, rows beyond the counts are stale.

    numbers: see `NUMBERS`. poses: (links, 12) rotation row by row, position [m]. q, v, u: of all
    joints. asleep: (links,) 0 or 1. contacts: (n, 10) position, normal (from b to a), force on a
    [N], depth [m]. contact_links: (n, 2) of a and b. pushes: (n, 6) point, force. signals: sensor
    values, in the order of `Structure.signals`. readings: sensor values drawn by
    `Structure.sensors`. belts: speeds along the outlines of `Structure.belts` [m/s].
    """

    numbers: np.ndarray
    poses: np.ndarray
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    asleep: np.ndarray
    contacts: np.ndarray
    contact_links: np.ndarray
    pushes: np.ndarray
    signals: np.ndarray
    readings: np.ndarray
    belts: np.ndarray


class Sizes(NamedTuple):
    """Row counts in a frame: links, positions, velocities, sensor values and belts."""

    links: int
    positions: int
    velocities: int
    signals: int
    readings: int = 0
    belts: int = 0


def _shapes(sizes: Sizes) -> Frame:
    """Return a frame's array shapes."""
    links, positions, velocities, signals, readings, belts = sizes
    return Frame(
        *(
            (each,) if isinstance(each, int) else each
            for each in (  # type: ignore[arg-type]
                len(NUMBERS),
                (links, 12),
                positions,
                velocities,
                velocities,
                links,
                (CONTACTS, CONTACT_SIZE),
                (CONTACTS, 2),
                (PUSHES, 6),
                signals,
                readings,
                belts,
            )
        )
    )


def empty_frame(sizes: Sizes) -> Frame:
    """Return a zero frame in its own memory."""
    return Frame(*map(np.zeros, _shapes(sizes)))


class Ring:
    """
    Frame ring in shared memory: one process writes, the other reads the newest.

    The writer stores the number of the newest frame after its data, behind a lock that acts as a
    memory barrier on all processors. The reader copies, then checks that it was fast enough.
    """

    def __init__(self, sizes: Sizes, file: int):
        """Map a file, given by its descriptor; the descriptor is closed."""
        shapes = _shapes(sizes)
        counts = [int(np.prod(shape)) for shape in shapes]
        size = -(-8 * sum(counts) // _ALIGNMENT) * _ALIGNMENT
        length = _HEAD_BYTES + _SLOTS * size
        os.ftruncate(file, length)
        self._memory = mmap.mmap(file, length)
        os.close(file)
        self._head = np.frombuffer(self._memory, np.int64, 2)
        self._frames: list[Frame] = []
        self._wholes: list[np.ndarray] = []
        for k in range(_SLOTS):
            whole = np.frombuffer(self._memory, float, sum(counts), _HEAD_BYTES + k * size)
            self._wholes.append(whole)
            self._frames.append(_split(whole, shapes))
        self._shapes, self._fence = shapes, threading.Lock()
        self._sequence = 0

    def next(self) -> Frame:
        """Return the frame to write before `publish`."""
        return self._frames[(self._sequence + 1) % _SLOTS]

    def publish(self) -> None:
        """Make the last written frame the newest."""
        with self._fence:
            self._sequence += 1
        self._head[_SEQUENCE] = self._sequence

    def read(self) -> Frame | None:
        """Copy the newest frame, None if it was read before."""
        while (newest := int(self._head[_SEQUENCE])) != self._sequence:
            with self._fence:
                copy = self._wholes[newest % _SLOTS].copy()
            if int(self._head[_SEQUENCE]) - newest < _SLOTS - 1:
                self._sequence = newest
                return _split(copy, self._shapes)
        return None


def _split(whole: np.ndarray, shapes: Frame) -> Frame:
    """Return a frame's arrays as views on one array."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    parts = np.split(whole, ends[:-1])
    return Frame(*(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)))
