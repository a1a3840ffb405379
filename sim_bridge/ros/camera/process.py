"""
Camera process program: `python -m sim_bridge.ros.camera.process SOCKET COUNTS NODE FOLDER`.

SOCKET: descriptor for the connection to the node. COUNTS: descriptor of the counts' memory. NODE:
full name of the node. FOLDER: middleware settings, removed once they are read. The process ends
with the connection.
"""

from __future__ import annotations

from collections import deque
from contextlib import ExitStack
import shutil
import socket
import sys
import threading
import time

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from sim_bridge.ros.camera.channel import (
    AGE_NS,
    answer,
    Counts,
    DROPPED,
    receive,
    RENDERED_NS,
    Scene,
    SENT,
    WANTED,
)
from sim_bridge.ros.camera.publishing import CameraPublishers
from sim_bridge.ros.camera.ring import Frame, Ring
from sim_bridge.sight.scenery import Scenery

# longest delay before a new subscriber's first picture [s]
_PERIOD_S = 0.02
# time between two looks into the ring while pictures are wanted [s]
_LOOK_S = 0.002
# frames that wait for each camera
_WAITING = 2


class Cameras:
    """The present scene's cameras."""

    def __init__(self, end: socket.socket, counts: Counts, node: Node) -> None:
        """Listen to a connection on another thread."""
        self._end, self._counts, self._node = end, counts.values, node
        self._scene, self._scenery = Scene(), Scenery([])
        self._ring: Ring | None = None
        self._open: list[CameraPublishers] = []
        self._scenes: deque[tuple[Scene, Ring]] = deque()
        # frames in order
        self._waiting: deque[Frame] = deque()
        self._news = threading.Condition()
        self._is_over = self._is_called = False
        self._refreshed = 0.0
        threading.Thread(target=self._listen, name='scenes', daemon=True).start()

    def run(self) -> None:
        """Render and publish until the connection ends."""
        while True:
            with self._news:
                if not self._waiting and not self._scenes and not self._is_called:
                    self._news.wait_for(lambda: self._has_news, self._period)
                if self._is_over:
                    return
                self._is_called = False
                scene = self._scenes.popleft() if self._scenes else None
            self._look()
            if scene is not None:
                # older frames belong to another scene
                self._drop(list(self._waiting))
                self._show(*scene)
            elif self._waiting:
                self._render(self._waiting.popleft())
            self._refresh()

    @property
    def _has_news(self) -> bool:
        return self._is_over or self._is_called or bool(self._scenes)

    @property
    def _period(self) -> float:
        """Time until the next look into the ring [s]."""
        is_wanted = self._counts[: len(self._open), WANTED].any() or self._scene.keeps_hashes
        return _LOOK_S if is_wanted else _PERIOD_S

    def _refresh(self) -> None:
        """Count the subscribers, at intervals."""
        now = time.monotonic()
        if now - self._refreshed < _PERIOD_S:
            return
        self._refreshed = now
        for number, camera in enumerate(self._open):
            self._counts[number, WANTED] = camera.refresh()

    def _listen(self) -> None:
        try:
            while True:
                packet = receive(self._end)
                with self._news:
                    if packet is None:
                        self._is_called = True
                    else:
                        self._scenes.append(packet)
                    self._news.notify()
        except EOFError:
            with self._news:
                self._is_over = True
                self._news.notify()

    def _look(self) -> None:
        """Take the new frames; of those that wait for a camera, the newest stay."""
        for frame in [] if self._ring is None else self._ring.read():
            own = [each for each in self._waiting if each.camera == frame.camera]
            self._drop(own[: max(0, len(own) + 1 - _WAITING)])
            self._waiting.append(frame)

    def _drop(self, frames: list[Frame]) -> None:
        for frame in frames:
            self._waiting = deque(each for each in self._waiting if each is not frame)
            self._counts[frame.camera, DROPPED] += 1
            answer(self._end, frame)

    def _show(self, scene: Scene, ring: Ring) -> None:
        for camera in self._open:
            camera.close()
        self._scene, self._scenery, self._ring = scene, Scenery(scene.visuals), ring
        self._counts[:] = 0
        self._open = [
            CameraPublishers(self._node, topics, scene, self._scenery) for topics in scene.cameras
        ]
        self._refreshed = 0.0

    def _render(self, frame: Frame) -> None:
        began = time.monotonic_ns()
        hashes = self._open[frame.camera].publish(frame, self._scene.sites[frame.camera])
        now, row = time.monotonic_ns(), self._counts[frame.camera]
        row[RENDERED_NS], row[AGE_NS] = now - began, now - frame.written
        row[SENT] += 1
        answer(self._end, frame, hashes)


def main() -> None:
    """Run the camera process."""
    descriptor, memory = (int(each) for each in sys.argv[1:3])
    namespace, _, name = sys.argv[3].rpartition('/')
    end, counts = socket.socket(fileno=descriptor), Counts(memory)
    with ExitStack() as closing:
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        closing.callback(rclpy.try_shutdown)
        node = Node(
            f'{name}_cameras',
            namespace=namespace,
            start_parameter_services=False,
            enable_rosout=False,
        )
        closing.callback(node.destroy_node)
        # a node that is killed cannot remove it
        shutil.rmtree(sys.argv[4], ignore_errors=True)
        np.seterr(invalid='ignore')
        Cameras(end, counts, node).run()


if __name__ == '__main__':
    main()
