"""Frames in memory shared by two processes."""

import os
import tempfile
import threading

import numpy as np
import pytest

from sim_bridge.page.channel import Frame, Ring, Sizes

SIZES = Sizes(links=3, positions=4, velocities=5, signals=2)


@pytest.fixture
def rings():
    """Yield a written ring and a read ring, over the same memory."""
    with tempfile.TemporaryFile() as file:
        yield tuple(Ring(SIZES, os.dup(file.fileno())) for _ in range(2))


def fill(frame: Frame, value: float) -> None:
    for array in frame:
        array[...] = value


def test_a_reader_gets_the_newest_frame_once(rings):
    """Read the newest of several frames, and none until the next one."""
    writer, reader = rings
    assert reader.read() is None
    for value in (1.0, 2.0):
        fill(writer.next(), value)
        writer.publish()
    frame = reader.read()
    assert all((array == 2.0).all() for array in frame)
    assert frame.poses.shape == (3, 12)
    assert len(frame.q) == 4
    assert len(frame.v) == len(frame.u) == 5
    assert reader.read() is None


def test_read_frames_are_copies(rings):
    """Keep a read frame while frames are written over it."""
    writer, reader = rings
    fill(writer.next(), 1.0)
    writer.publish()
    frame = reader.read()
    for value in range(2, 10):
        fill(writer.next(), value)
        writer.publish()
    assert all((array == 1.0).all() for array in frame)


def test_no_frame_is_read_while_it_is_written(rings):
    """Never read halves of two frames, with a writer that never waits."""
    writer, reader = rings
    is_done = threading.Event()

    def write() -> None:
        for value in range(20_000):
            fill(writer.next(), value)
            writer.publish()
        is_done.set()

    thread = threading.Thread(target=write)
    thread.start()
    read = 0
    while not is_done.is_set() or not read:
        frame = reader.read()
        if frame is not None:
            read += 1
            values = np.concatenate([array.ravel() for array in frame])
            assert (values == values[0]).all()
    thread.join()
    assert read
