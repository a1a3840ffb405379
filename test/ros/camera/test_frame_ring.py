"""Ring of frames between two ends in shared memory."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from sim_bridge.ros.camera.ring import make_ring, Ring

SITES = 3


@pytest.fixture
def ends():
    """Return writer and reader of a ring for one camera, 64 slots."""
    file = make_ring(SITES, 1)
    yield Ring(file), Ring(file)
    os.close(file)


def poses(number):
    """Return poses that tell their frame."""
    return np.full(18 * SITES, float(number))


def test_frames_arrive_in_order(ends):
    """Read camera, stamp and poses of all new frames, once."""
    writer, reader = ends
    assert reader.read() == []
    for number in range(5):
        assert writer.write(number % 2, 10 * number, poses(number)) == -1
    frames = reader.read()
    assert [(each.camera, each.stamp) for each in frames] == [
        (0, 0),
        (1, 10),
        (0, 20),
        (1, 30),
        (0, 40),
    ]
    assert all((each.poses == k).all() for k, each in enumerate(frames))
    assert frames[0].poses.shape == (SITES, 18)
    assert reader.read() == []


def test_the_newest_frames_stay(ends):
    """Name the camera of each frame that is replaced unread."""
    writer, reader = ends
    lost = [writer.write(number % 3, number, poses(number)) for number in range(70)]
    assert lost == [-1] * 64 + [number % 3 for number in range(6)]
    stamps = [each.stamp for each in reader.read()]
    # one slot is left to the writer
    assert stamps == list(range(7, 70))
    assert writer.write(0, 70, poses(70)) == -1


def test_many_cameras_have_slots():
    """Hold several frames of each camera that is due at once."""
    file = make_ring(1, 100)
    writer, reader = Ring(file), Ring(file)
    os.close(file)
    assert {writer.write(k, 0, np.zeros(18)) for k in range(300)} == {-1}
    assert len(reader.read()) == 300


def test_no_frame_is_torn(ends):
    """Read whole frames only, while another thread overwrites them."""
    writer, reader = ends
    is_over = threading.Event()

    def write():
        for number in range(20_000):
            writer.write(0, number, poses(number))
        is_over.set()

    thread = threading.Thread(target=write)
    thread.start()
    last, count = -1, 0
    while not is_over.is_set() or count == 0:
        for frame in reader.read():
            assert (frame.poses == frame.stamp).all() and frame.stamp > last
            last, count = frame.stamp, count + 1
    thread.join()
