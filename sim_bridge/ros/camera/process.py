"""
Camera process program: `python -m sim_bridge.ros.camera.process SOCKET COUNTS NODE`.

SOCKET: descriptor for the connection to the node. COUNTS: descriptor of the counts' memory. NODE:
full name of the node. The process ends with the connection.
"""

from __future__ import annotations

from collections import deque
from contextlib import ExitStack
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
    Frame,
    receive,
    RENDERED_NS,
    Scene,
    SENT,
    WANTED,
)
from sim_bridge.ros.camera.publishing import CameraPublishers
from sim_bridge.sensors.picture_hashes import Hashes
from sim_bridge.sight.scenery import Scenery

# longest delay before a new subscriber's first picture [s]
_PERIOD_S = 0.02
# frames that wait for each camera
_WAITING = 2


class Cameras:
    """The present scene's cameras."""

    def __init__(self, end: socket.socket, counts: Counts, node: Node) -> None:
        """Listen to a connection on another thread."""
        self._end, self._counts, self._node = end, counts.values, node
        self._scene, self._scenery = Scene(), Scenery([])
        self._open: list[CameraPublishers] = []
        self._scenes: deque[Scene] = deque()
        # frames in order, with their arrival [ns]
        self._waiting: deque[tuple[Frame, int]] = deque()
        self._news = threading.Condition()
        self._is_over = False
        threading.Thread(target=self._listen, name='poses', daemon=True).start()

    def run(self) -> None:
        """Render and publish until the connection ends."""
        while True:
            with self._news:
                if not self._waiting and not self._scenes and not self._is_over:
                    self._news.wait(_PERIOD_S)
                if self._is_over:
                    return
                scene = self._scenes.popleft() if self._scenes else None
                item = self._waiting.popleft() if scene is None and self._waiting else None
            if scene is not None:
                self._show(scene)
            if item is not None:
                self._render(*item)
            for number, camera in enumerate(self._open):
                self._counts[number, WANTED] = camera.refresh()

    def _listen(self) -> None:
        try:
            while True:
                packet = receive(self._end)
                with self._news:
                    self._take(packet)
                    self._news.notify()
        except EOFError:
            with self._news:
                self._is_over = True
                self._news.notify()

    def _take(self, packet: Scene | Frame) -> None:
        if isinstance(packet, Scene):
            # older frames belong to another scene
            self._drop(list(self._waiting))
            self._scenes.append(packet)
            return
        item = packet, time.monotonic_ns()
        own = [each for each in self._waiting if each[0].camera == packet.camera]
        self._drop(own[: max(0, len(own) + 1 - _WAITING)])
        self._waiting.append(item)

    def _drop(self, items: list[tuple[Frame, int]]) -> None:
        for item in items:
            self._waiting = deque(each for each in self._waiting if each is not item)
            self._counts[item[0].camera, DROPPED] += 1
            answer(self._end, item[0])

    def _show(self, scene: Scene) -> None:
        for camera in self._open:
            camera.close()
        self._scene, self._scenery = scene, Scenery(scene.visuals)
        self._counts[:] = 0
        self._open = [
            CameraPublishers(self._node, topics, scene, self._scenery) for topics in scene.cameras
        ]

    def _render(self, frame: Frame, arrived: int) -> None:
        hashes: Hashes = {}
        if frame.scene == self._scene.number:
            began = time.monotonic_ns()
            camera = self._open[frame.camera]
            hashes = camera.publish(frame, self._scene.sites[frame.camera])
            now, row = time.monotonic_ns(), self._counts[frame.camera]
            row[RENDERED_NS], row[AGE_NS] = now - began, now - arrived
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
        np.seterr(invalid='ignore')
        Cameras(end, counts, node).run()


if __name__ == '__main__':
    main()
