"""
Channel between the node and its camera process: scenes on a Unix socket, counts in memory.

Frames are in a ring of each scene (`ring`). The physics thread never waits for a slow camera
process: a scene that finds no room is sent again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
import json
import mmap
import os
import pickle
import socket
import struct
from typing import NamedTuple

import numpy as np

from sim_bridge.ros.camera.ring import Frame, Ring
from sim_bridge.ros.camera.topics import CameraTopics
from sim_bridge.sensors.picture_hashes import Hashes
from sim_bridge.sight.lamps import Surroundings
from sim_bridge.sight.visual import Visual

MOST_CAMERAS = 256
WANTED, SENT, DROPPED, RENDERED_NS, AGE_NS = range(5)
_COUNTS = 8

# a scene's number; 0 asks to look into the ring at once
_HEAD = struct.Struct('=q')
_ANSWER = struct.Struct('=qq')
_BUFFER = 8 << 20
_MOST_ANSWER = 4096


class Scene(NamedTuple):
    """
    The present structure.

    cameras: by number. sites: each camera's own frame, by number among the poses. visuals,
    surroundings: seen by cameras. names: of robots and bodies, by instance from 1.
    keeps_hashes: whether all pictures are rendered, and answers have their hashes.
    """

    number: int = 0
    cameras: Sequence[CameraTopics] = ()
    sites: Sequence[int] = ()
    visuals: Sequence[Visual] = ()
    surroundings: Surroundings = Surroundings()
    names: Sequence[str] = ()
    keeps_hashes: bool = False


class Counts:
    """
    Each camera's counts, shared by both processes; each number has one writer.

    values: (MOST_CAMERAS, 8) columns WANTED (topics with subscribers), SENT and DROPPED
    (frames since the start), RENDERED_NS and AGE_NS (of the last frame, until sent).
    """

    def __init__(self, file: int):
        """Map a memory file; the descriptor is closed."""
        size = MOST_CAMERAS * _COUNTS * 8
        os.ftruncate(file, size)
        self._memory = mmap.mmap(file, size)
        os.close(file)
        self.values = np.frombuffer(self._memory, np.int64).reshape(MOST_CAMERAS, _COUNTS)


def make_sockets() -> tuple[socket.socket, socket.socket]:
    """Return both ends for a connection with separate packets."""
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in ends:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
    return ends


def send_scene(end: socket.socket, scene: Scene, ring: int) -> None:
    """
    Send a scene and its ring.

    ring: memory file for its frames. Raises BlockingIOError if there is no room, OSError at the
    end.
    """
    file = os.memfd_create('sim_bridge_cameras')
    try:
        content = pickle.dumps(tuple(scene), pickle.HIGHEST_PROTOCOL)
        with os.fdopen(os.dup(file), 'wb') as writing:
            writing.write(content)
        socket.send_fds(end, [_HEAD.pack(scene.number)], [file, ring], socket.MSG_DONTWAIT)
    finally:
        os.close(file)


def wake(end: socket.socket) -> None:
    """Let the camera process look into the ring at once; raises OSError at the end."""
    with suppress(BlockingIOError):
        end.send(_HEAD.pack(0), socket.MSG_DONTWAIT)


def answer(end: socket.socket, frame: Frame, hashes: Hashes | None = None) -> None:
    """Tell the node that a frame is done; without effect if it takes no answers."""
    content = json.dumps(hashes).encode() if hashes else b''
    with suppress(OSError):
        end.send(_ANSWER.pack(frame.camera, frame.stamp) + content, socket.MSG_DONTWAIT)


def read_answer(end: socket.socket) -> tuple[int, int, Hashes]:
    """Wait for a finished frame's camera, stamp and hashes; raises EOFError, OSError."""
    packet = end.recv(_MOST_ANSWER)
    if not packet:
        raise EOFError
    camera, stamp = _ANSWER.unpack_from(packet)
    content = packet[_ANSWER.size :]
    return camera, stamp, json.loads(content) if content else {}


def receive(end: socket.socket) -> tuple[Scene, Ring] | None:
    """Wait for a scene with its ring; None for a call to wake up. Raises EOFError at the end."""
    try:
        packet, descriptors, _, _ = socket.recv_fds(end, _HEAD.size, 2)
    except OSError:
        raise EOFError from None
    if not packet:
        raise EOFError
    if not descriptors:
        return None
    file, ring = descriptors
    with os.fdopen(file, 'rb') as reading:
        reading.seek(0)
        scene = Scene(*pickle.loads(reading.read()))
    found = Ring(ring)
    os.close(ring)
    return scene, found
