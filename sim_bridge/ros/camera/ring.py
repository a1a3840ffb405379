"""
Ring of frames in shared memory, from the physics thread to the camera process.

A write costs a few microseconds and wakes nobody: a woken process may take the processor of the
physics thread. The camera process looks into the ring at intervals. Each slot is written before
the count that makes it known; a reader copies a slot, then checks that it was not overwritten.
"""

from __future__ import annotations

import mmap
import os
import time
from typing import NamedTuple

import numpy as np

from sim_bridge.sensors.camera_pictures import FRAME_SIZE

_LEAST_SLOTS, _SLOTS_PER_CAMERA = 64, 4
# first numbers in the file: frames written and read, pose values in a frame, slots
_WRITTEN, _READ, _SIZE, _SLOTS = range(4)
_HEAD = 8
# first numbers in a slot: camera, stamp, write time
_SLOT_HEAD = 3


class Frame(NamedTuple):
    """
    Poses at a camera's sample.

    camera: number in the scene. stamp: [ns]. written: monotonic write time [ns]. poses: (n, 18)
    frames of all links and sensors with velocities, as in `sensors.cameras`.
    """

    camera: int
    stamp: int
    written: int
    poses: np.ndarray


def make_ring(sites: int, cameras: int) -> int:
    """Return a memory file for a ring; sites: frames in the poses. cameras: that write to it."""
    slots, size = max(_LEAST_SLOTS, _SLOTS_PER_CAMERA * cameras), FRAME_SIZE * sites
    file = os.memfd_create('sim_bridge_camera_poses')
    os.ftruncate(file, 8 * (_HEAD + slots * (_SLOT_HEAD + size)))
    os.pwrite(file, np.array([0, 0, size, slots], np.int64).tobytes(), 0)
    return file


class Ring:
    """One end of a ring, which has one writer and one reader."""

    def __init__(self, file: int):
        """Map a file from `make_ring`; the descriptor stays open."""
        self._memory = mmap.mmap(file, 0)
        numbers = np.frombuffer(self._memory, np.int64)
        self._head = numbers[:_HEAD]
        self.size = int(numbers[_SIZE])
        """Numbers in a frame's poses."""
        self._slots = int(numbers[_SLOTS])
        rows = numbers[_HEAD:].reshape(self._slots, _SLOT_HEAD + self.size)
        self._marks, self._poses = rows[:, :_SLOT_HEAD], rows[:, _SLOT_HEAD:].view(float)
        self._next = 0

    def write(self, camera: int, stamp: int, poses: np.ndarray) -> int:
        """
        Add a frame; return the camera whose unread frame it replaces, -1 for none.

        poses: (18 n,).
        """
        number = self._next
        slot = number % self._slots
        marks = self._marks[slot]
        lost = int(marks[0]) if number - self._head[_READ] >= self._slots else -1
        marks[:] = camera, stamp, time.monotonic_ns()
        self._poses[slot] = poses
        self._next = self._head[_WRITTEN] = number + 1
        return lost

    def read(self) -> list[Frame]:
        """Return the new frames, without those that were replaced unread."""
        end = int(self._head[_WRITTEN])
        if end == self._next:
            return []
        first = max(self._next, end - self._slots + 1)
        frames = [self._copy(number % self._slots) for number in range(first, end)]
        # the writer may have reached their slots meanwhile
        spoiled = max(0, int(self._head[_WRITTEN]) - self._slots + 1 - first)
        self._next = self._head[_READ] = end
        return frames[spoiled:]

    def _copy(self, slot: int) -> Frame:
        camera, stamp, written = self._marks[slot].tolist()
        return Frame(camera, stamp, written, self._poses[slot].reshape(-1, FRAME_SIZE).copy())
