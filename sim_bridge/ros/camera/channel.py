"""
Channel between the node and its camera process: packets on a Unix socket, counts in memory.

The physics thread never waits for a slow camera process: packets that find no room are dropped,
except scenes, which are sent again. Large packets go by a memory file.
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
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.ros.camera.topics import CameraTopics
from sim_bridge.sensors.picture_hashes import Hashes
from sim_bridge.sight.lamps import Surroundings
from sim_bridge.sight.visual import Visual

MOST_CAMERAS = 256
WANTED, SENT, DROPPED, RENDERED_NS, AGE_NS = range(5)
_COUNTS = 8

# packets: kind, scene number, camera number, stamp [ns]
_HEAD = struct.Struct('=qqqq')
_ANSWER = struct.Struct('=qq')
_SCENE, _FRAME = 0, 1
_MOST_PACKET = 60_000
_BUFFER = 8 << 20
_MOST_ANSWER = 4096


class Scene(NamedTuple):
    """
    The present structure.

    cameras: by number. sites: each camera's own frame, by number among the poses. visuals,
    surroundings: seen by cameras. names: of robots and bodies, by instance from 1.
    keeps_hashes: whether all pictures are rendered, and answers have their hashes. A frame
    belongs to the scene with its number.
    """

    number: int = 0
    cameras: Sequence[CameraTopics] = ()
    sites: Sequence[int] = ()
    visuals: Sequence[Visual] = ()
    surroundings: Surroundings = Surroundings()
    names: Sequence[str] = ()
    keeps_hashes: bool = False


class Frame(NamedTuple):
    """
    Poses at a camera's sample.

    scene: number. camera: number in the scene. stamp: [ns]. poses: (n, 12) frames of all links
    and sensors.
    """

    scene: int
    camera: int
    stamp: int
    poses: np.ndarray


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


def send_scene(end: socket.socket, scene: Scene) -> None:
    """Send a scene; raises BlockingIOError if there is no room, OSError at the end."""
    head = _HEAD.pack(_SCENE, scene.number, 0, 0)
    _send(end, head, pickle.dumps(tuple(scene), pickle.HIGHEST_PROTOCOL))


def send_frame(end: socket.socket, frame: Frame) -> None:
    """Send a frame; raises as `send_scene` does."""
    _send(end, _HEAD.pack(_FRAME, frame.scene, frame.camera, frame.stamp), frame.poses.tobytes())


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


def receive(end: socket.socket) -> Scene | Frame:
    """Wait for a packet; raises EOFError at the end."""
    try:
        packet, descriptors, _, _ = socket.recv_fds(end, _MOST_PACKET + _HEAD.size, 1)
    except OSError:
        raise EOFError from None
    if not packet:
        raise EOFError
    kind, scene, camera, stamp = _HEAD.unpack_from(packet)
    content: Any = packet[_HEAD.size :]
    for descriptor in descriptors:
        with os.fdopen(descriptor, 'rb') as file:
            file.seek(0)
            content = file.read()
    if kind == _SCENE:
        return Scene(*pickle.loads(content))
    return Frame(scene, camera, stamp, np.frombuffer(content).reshape(-1, 12))


def _send(end: socket.socket, head: bytes, content: bytes) -> None:
    if len(content) <= _MOST_PACKET:
        end.send(head + content, socket.MSG_DONTWAIT)
        return
    file = os.memfd_create('sim_bridge_cameras')
    try:
        os.write(file, content)
        socket.send_fds(end, [head], [file], socket.MSG_DONTWAIT)
    finally:
        os.close(file)
