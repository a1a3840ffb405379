"""
Page process program: `python -m sim_bridge.page.process SOCKET PORT`.

SOCKET: descriptor for the connection to the simulator. The process ends with the simulator.
"""

from __future__ import annotations

from collections import deque
import os
import socket
import sys
import threading
from typing import Any

from sim_bridge.page.belts_layer import BeltsLayer
from sim_bridge.page.camera_layer import CameraLayer
from sim_bridge.page.cameras_layer import CamerasLayer
from sim_bridge.page.channel import Ring
from sim_bridge.page.forces_layer import ForcesLayer
from sim_bridge.page.frames_layer import FramesLayer
from sim_bridge.page.guard import Guard
from sim_bridge.page.joints_layer import JointsLayer
from sim_bridge.page.layer import Context, Layer, ROOT
from sim_bridge.page.messages import PageEnd, Scene
from sim_bridge.page.plots_layer import PlotsLayer
from sim_bridge.page.poses import Poses
from sim_bridge.page.push_layer import PushLayer
from sim_bridge.page.records import Notice, Request, Reshaping
from sim_bridge.page.sensors_layer import SensorsLayer
from sim_bridge.page.server import LOOPBACK, open_server
from sim_bridge.page.shapes_layer import ShapesLayer
from sim_bridge.page.status_layer import StatusLayer
from sim_bridge.page.tape_layer import TapeLayer
from sim_bridge.page.time_layer import TimeLayer
from sim_bridge.page.trajectory_layer import TrajectoryLayer

_PERIOD = 1.0 / 60.0  # s


class Page:
    """Layers of a page, and the source of their frames."""

    def __init__(self, end: PageEnd, port: int):
        """Open the server; raises OSError if the port is taken."""
        guard = Guard()
        self._end = end
        self._server = open_server('sim_bridge', port, guard)
        self._ring: Ring | None = None
        self._inbox: deque[tuple[Scene | Reshaping | Notice, int | None]] = deque()
        tabs = self._server.gui.add_tab_group()
        root = self._server.scene.add_frame(ROOT, show_axes=False)
        context = Context(
            self._server,
            self._ask,
            self._say,
            root,
            *(tabs.add_tab(name) for name in ('Run', 'Show', 'Joints', 'Plots')),
        )
        self._layers: list[Layer] = [
            each(context)
            for each in (
                TimeLayer,
                TapeLayer,
                PushLayer,
                StatusLayer,
                CameraLayer,
                ShapesLayer,
                BeltsLayer,
                ForcesLayer,
                FramesLayer,
                SensorsLayer,
                CamerasLayer,
                JointsLayer,
                TrajectoryLayer,
                PlotsLayer,
            )
        ]
        self._has_ended = threading.Event()
        address = f'http://{LOOPBACK}:{self._server.get_port()}/?token='
        self._ask('opened', url=address + guard.owner, visitor_url=address + guard.visitor)

    def run(self) -> None:
        """Show frames until the simulator ends."""
        threading.Thread(target=self._listen, name='messages', daemon=True).start()
        while not self._has_ended.wait(_PERIOD):
            while self._inbox:
                self._take(*self._inbox.popleft())
            frame = None if self._ring is None else self._ring.read()
            if frame is None:
                continue
            poses = Poses(frame.poses)
            with self._server.atomic():
                for layer in self._layers:
                    layer.update(frame, poses)
        self._server.stop()

    def _ask(self, name: str, /, **values: Any) -> None:
        self._end.request(Request(name, values))

    def _say(self, notice: Notice) -> None:
        self._inbox.append((notice, None))

    def _listen(self) -> None:
        try:
            while True:
                self._inbox.append(self._end.message())
        except EOFError:
            self._has_ended.set()

    def _take(self, message: Scene | Reshaping | Notice, memory: int | None) -> None:
        if isinstance(message, Notice):
            for layer in self._layers:
                layer.notice(message)
            return
        if isinstance(message, Reshaping):
            for layer in self._layers:
                layer.reshape(message)
            return
        assert memory is not None
        self._ring = Ring(message.sizes, memory)
        with self._server.atomic():
            for layer in self._layers:
                layer.show(message.structure)


def main() -> None:
    """Run the page."""
    descriptor, port = (int(each) for each in sys.argv[1:3])
    end = PageEnd(socket.socket(fileno=descriptor))
    try:
        page = Page(end, port)
    except OSError as err:
        end.request(Request('failed', {'text': f'port {port}: {os.strerror(err.errno or 0)}'}))
        return
    page.run()


if __name__ == '__main__':
    main()
