"""
The connection between a simulator and its page: messages on a socket, frames in shared memory.

The simulator never waits for the page. Frames lie in a ring of slots; the page copies the newest
and looks afterwards whether it was overwritten meanwhile. The memory is an unlinked file, which
goes when both processes have.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
from typing import NamedTuple

import numpy as np

CONTACTS = 2048
"""Contacts of a frame that are shown; of more, the first."""
PUSHES = 16
CONTACT_SIZE = 10
"""Position (3), normal (3), force (3) on a, depth."""
_SLOTS = 4
_LATEST, _SEQUENCE = 0, 1  # of the ring's head: place and number of the newest frame
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
Names of `Frame.numbers`: simulated time [s], rows of contacts (all there are) and pushes, whether
it is paused, the wanted ratio of simulated to real time (0: none), control steps taken and missed,
the greatest lateness and the mean time of a control step since the last frame [s]; of the last
step the solver's pivots, sweeps and residual [m/s], as in `StepReport`.
"""


class Frame(NamedTuple):
    """
    The state of a simulation at an instant; float64, rows beyond the counts are stale.

    numbers: `NUMBERS`. poses: (links, 12) rotation row by row, position [m]. q, v, u: of all
    joints. asleep: (links,) 0 or 1. contacts: (n, 10) position, normal (from b to a), force on a
    [N], depth [m]. contact_links: (n, 2) of a and b. pushes: (n, 6) point, force. signals: values
    of sensors, in the order of `Structure.signals`. readings: those that `Structure.sensors` draw.
    belts: speeds along the outlines of `Structure.belts` [m/s].
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
    """How many rows a frame has: of links, positions, velocities, sensor values and belts."""

    links: int
    positions: int
    velocities: int
    signals: int
    readings: int = 0
    belts: int = 0


def _shapes(sizes: Sizes) -> Frame:
    """Return the shapes of a frame's arrays."""
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
    """Return a frame without contents, in memory of its own."""
    return Frame(*map(np.zeros, _shapes(sizes)))


class Ring:
    """
    Frames in memory that two processes share: one writes, the other reads the newest.

    The number of the newest frame is written after its data, past a lock that is a barrier on all
    processors; a reader copies, and looks whether it was fast enough.
    """

    def __init__(self, sizes: Sizes, file: int):
        """Map a file, given by its descriptor, which is closed."""
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
        """Return the frame to be written before `publish`."""
        return self._frames[(self._sequence + 1) % _SLOTS]

    def publish(self) -> None:
        """Make the frame written last the newest."""
        with self._fence:
            self._sequence += 1
        self._head[_SEQUENCE] = self._sequence

    def read(self) -> Frame | None:
        """Return a copy of the newest frame, None if there is none that was not read before."""
        while (newest := int(self._head[_SEQUENCE])) != self._sequence:
            with self._fence:
                copy = self._wholes[newest % _SLOTS].copy()
            if int(self._head[_SEQUENCE]) - newest < _SLOTS - 1:
                self._sequence = newest
                return _split(copy, self._shapes)
        return None


def _split(whole: np.ndarray, shapes: Frame) -> Frame:
    """Return views of an array."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    parts = np.split(whole, ends[:-1])
    return Frame(*(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)))
