"""Physics thread's end: frames that are due and wanted, and their poses."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
import os
from pathlib import Path
import socket
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

import sim_bridge as sb
from sim_bridge.description.cameras import BOXES
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.camera.announced import AnnouncedTopics, OpticalFrames
from sim_bridge.ros.camera.channel import (
    AGE_NS,
    Counts,
    DROPPED,
    make_sockets,
    MOST_CAMERAS,
    read_answer,
    RENDERED_NS,
    Scene,
    send_scene,
    SENT,
    wake,
    WANTED,
)
from sim_bridge.ros.camera.ring import make_ring, Ring
from sim_bridge.ros.camera.topics import camera_topics, CameraTopics, VISION, with_own_topics
from sim_bridge.ros.camera.transport import environment_with_profile
from sim_bridge.ros.camera.triggers import Triggers
from sim_bridge.ros.interfaces.store import absence
from sim_bridge.ros.wire.qos import optional_messages
from sim_bridge.sensors.camera_pictures import FRAME_SIZE
from sim_bridge.sensors.picture_hashes import Hashes
from sim_bridge.sensors.step_and_sample import UNSAMPLED
from sim_bridge.trust.child import python_module
from sim_bridge.world.visuals import visuals_of

if TYPE_CHECKING:
    import subprocess
    import tempfile

    from sim_bridge.ros.process.polling import PollingMixin

# an answer that does not come within this time means a process that is stuck [s]
_MOST_WAIT_S = 30.0
_END_S = 5.0


class Carrier(NamedTuple):
    """A robot with cameras; prefix, frame_prefix: before its topics and frames."""

    robot: sb.Robot
    prefix: str
    frame_prefix: str


class _Late(NamedTuple):
    """A sample that waits until it is due [ns]; poses: (12 n,)."""

    due: int
    stamp: int
    poses: np.ndarray


class _Fed:
    """
    A camera that is fed.

    number: in the scene. asked: frames written. lost: frames replaced before they were read.
    stamp: of the last one [ns]. late: samples waiting for their latency. is_due: whether the next
    sample is sent; for cameras with a trigger.
    """

    def __init__(self, number: int, device: sb.CameraSensor) -> None:
        self.number, self.device = number, device
        self.latest = device.sample_step
        self.asked = self.lost = self.stamp = 0
        self.latency_ns = round(device.settings.latency * 1e9)
        self.late: deque[_Late] = deque()
        self.is_due = not device.settings.trigger


class CameraCount(NamedTuple):
    """A camera's frames since it is in the world; see `channel.Counts`."""

    name: str
    wanted: int
    sent: int
    dropped: int
    rendered_ms: float
    age_ms: float


class CameraFeed:
    """
    Sends wanted cameras' poses to the camera process, which starts with the first subscriber.

    Until then the node announces the topics, and visuals are not read. Call `renew` whenever
    robots, objects or shapes have changed, and `attend` at intervals, both on the executor's
    thread, `renew` while the physics thread waits; `publish` after each control step on the
    physics thread.
    """

    def __init__(
        self,
        world: sb.World,
        node: PollingMixin,
        *,
        is_reliable: bool,
        waits: Callable[[], bool],
        keeps_hashes: bool = False,
    ) -> None:
        """
        Start without cameras.

        node: announces the topics; the camera process has a node beside it. waits: whether
        `publish` returns when the pictures have been sent. keeps_hashes: whether all pictures are
        rendered, for `take_hashes`.
        """
        self._world, self._node = world, node
        self._warned: set[str] = set()
        self._is_reliable, self._waits = is_reliable, waits
        self._announced, self._optical = AnnouncedTopics(node), OpticalFrames(node)
        self._triggers = Triggers(node)
        self._simulation = world.simulation
        self._fed: list[_Fed] = []
        self._keeps_hashes = keeps_hashes
        self._hashes: list[tuple[str, int, Hashes]] = []
        # steps of the samples whose hashes are awaited, by camera and stamp
        self._sampled: dict[tuple[int, int], int] = {}
        self._scene = Scene()
        self._is_told = True
        # of the present scene; numbers in its frames' poses
        self._ring: Ring | None = None
        self._poses = 0
        self._end: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._has_ended = False
        self._counts: Counts | None = None
        # with the camera process's settings
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def renew(self, carriers: Iterable[Carrier]) -> None:
        """
        Serve these robots' cameras from now on.

        Raises InvalidValueError for two cameras with one topic, and for too many cameras.
        """
        found: list[tuple[sb.CameraSensor, CameraTopics]] = [
            (device, self._topics(device, carrier))
            for carrier in carriers
            for device in carrier.robot.devices(sb.CameraSensor)
        ]
        if len(found) > MOST_CAMERAS:
            raise InvalidValueError('cameras', len(found), f'at most {MOST_CAMERAS}')
        cameras = with_own_topics([topics for _, topics in found])
        if not cameras and not self._fed:
            return
        cameras = self._announced.show(cameras)
        self._optical.show(cameras)
        self._fed = [_Fed(number, device) for number, (device, _) in enumerate(found)]
        self._triggers.show(
            (camera, partial(self._request, fed))
            for camera, fed in zip(cameras, self._fed, strict=True)
        )
        self._simulation.cache.settle()
        sites = [device.site for device, _ in found]
        self._poses = max((device.memory.sample.shape[1] for device, _ in found), default=0)
        self._is_told = False
        self._scene = Scene(self._scene.number + 1, cameras, sites)
        if self._keeps_hashes and self._process is None and self._fed:
            # no picture is missing from the bag
            self._start()
        if self._end is not None:
            self._show()

    def attend(self) -> None:
        """Start the camera process if somebody listens; let it take the topics over."""
        if self._process is None:
            if self._announced.is_wanted():
                self._start()
                self._show()
        elif self._process.poll() is not None:
            # writing into the ring does not show it
            self._has_ended = True
        elif self._counts is not None and self._counts.values[:, WANTED].any():
            self._announced.close()

    def publish(self, time_ns: int) -> None:
        """Send the frames due after a control step; time_ns: published simulated time [ns]."""
        if not self._fed or self._end is None:
            return
        if self._has_ended:
            self._give_up('has ended')
            return
        asked: set[tuple[int, int]] = set()
        for fed in self._fed:
            if fed.device.memory.step[0] != fed.latest:
                self._take(fed, time_ns)
            while fed.late and fed.late[0].due <= time_ns:
                self._write(fed, fed.late.popleft())
                asked.add((fed.number, fed.stamp))
        if asked and (self._keeps_hashes or self._waits()):
            self._send(wake)
            self._await(asked)

    def _write(self, fed: _Fed, late: _Late) -> None:
        """Put a sample into the ring."""
        assert self._ring is not None
        fed.asked, fed.stamp = fed.asked + 1, late.stamp
        lost = self._ring.write(fed.number, late.stamp, late.poses)
        if lost >= 0:
            self._fed[lost].lost += 1

    def _take(self, fed: _Fed, time_ns: int) -> None:
        """Keep a new sample if it is wanted, until its latency is over."""
        sampled = fed.latest = fed.device.memory.step[0].item()
        stamp = time_ns - (self._simulation.run.step_count - sampled) * self._world.time_step_ns
        if sampled < 0 or (fed.late and fed.late[-1].stamp >= stamp):
            # the time went back
            fed.late.clear()
        if sampled < 0 or not fed.is_due or not self._is_wanted(fed) or not self._tell_scene():
            return
        poses = fed.device.memory.sample[0]
        if self._ring is None or len(poses) != self._ring.size:
            # bodies came or went, and the next scene is not here yet
            return
        fed.is_due = not fed.device.settings.trigger
        if self._keeps_hashes:
            self._sampled[fed.number, stamp] = sampled
        due = stamp + fed.latency_ns
        fed.late.append(_Late(due, stamp, poses.copy() if fed.latency_ns else poses))

    def _is_wanted(self, fed: _Fed) -> bool:
        if self._counts is None:
            return False
        return self._keeps_hashes or bool(self._counts.values[fed.number, WANTED])

    def _request(self, fed: _Fed) -> bool:
        """Send a camera's next sample; return whether somebody listens."""
        fed.is_due = True
        return self._is_wanted(fed)

    @property
    def has_cameras(self) -> bool:
        """Whether the world has cameras."""
        return bool(self._scene.cameras)

    @property
    def is_running(self) -> bool:
        """Whether the camera process takes poses."""
        return self._end is not None

    @property
    def has_failed(self) -> bool:
        """Whether the camera process has ended before the node."""
        return self._process is not None and not self.is_running

    def counts(self) -> Sequence[CameraCount]:
        """Return all cameras' counts."""
        if self._counts is None:
            return ()
        values = self._counts.values
        return [
            CameraCount(
                self._scene.cameras[fed.number].name,
                fed.asked,
                int(values[fed.number, SENT]),
                int(values[fed.number, DROPPED]) + fed.lost,
                values[fed.number, RENDERED_NS] * 1e-6,
                values[fed.number, AGE_NS] * 1e-6,
            )
            for fed in self._fed
        ]

    def close(self) -> None:
        """End the announcements and the camera process."""
        self._announced.close()
        if self._process is None:
            return
        import subprocess

        if self._end is not None:
            self._end.close()
            self._end = None
        # it ends with the connection; its topics then leave the graph in order
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._folder is not None:
            self._folder.cleanup()

    def _topics(self, device: sb.CameraSensor, carrier: Carrier) -> CameraTopics:
        found = camera_topics(device, carrier.prefix, carrier.frame_prefix, self._is_reliable)
        if BOXES in device.settings.outputs and optional_messages(VISION) is None:
            self._warn_once(f'boxes of {device.name!r} are not published: {absence(VISION)}')
        resolve = self._node.resolve_topic_name
        return found._replace(
            topics={key: resolve(name) for key, name in found.topics.items()},
            infos={key: resolve(name) for key, name in found.infos.items()},
        )

    def _warn_of_visual(self, text: str) -> None:
        """Name a visual that cannot be seen."""
        self._warn_once(f'cameras do not see all: {text}')

    def _warn_once(self, text: str) -> None:
        """Warn, once in the node's life."""
        if text not in self._warned:
            self._warned.add(text)
            self._node.get_logger().warning(text)

    def _start(self) -> None:
        # late imports: nodes without cameras need neither
        import subprocess
        import tempfile

        own, other = make_sockets()
        self._folder = tempfile.TemporaryDirectory(prefix='sim_bridge_cameras_')
        folder = Path(self._folder.name)
        memory = os.memfd_create('sim_bridge_camera_counts')
        with other:
            self._process = subprocess.Popen(
                python_module(
                    'sim_bridge.ros.camera.process',
                    str(other.fileno()),
                    str(memory),
                    self._node.get_fully_qualified_name(),
                    self._folder.name,
                ),
                pass_fds=[other.fileno(), memory],
                env=environment_with_profile(self._scene.cameras, folder / 'profile.xml'),
                stdin=subprocess.DEVNULL,
                # Ctrl-C must not reach it: it ends with the node
                start_new_session=True,
            )
        self._counts = Counts(memory)
        own.settimeout(_MOST_WAIT_S)
        # last: the physics thread may use all of it from now on
        self._end = own

    def _show(self) -> None:
        """Read the visuals and send the scene; poses follow from the next step on."""
        visuals = visuals_of(self._world, self._warn_of_visual) if self._scene.cameras else []
        self._scene = self._scene._replace(
            visuals=visuals,
            surroundings=self._world.surroundings,
            names=list(self._world.robots),
            keeps_hashes=self._keeps_hashes,
        )
        self._tell_scene()

    def _tell_scene(self) -> bool:
        """Send the scene unless it was sent; return whether it was."""
        if not self._is_told:
            file = make_ring(self._poses // FRAME_SIZE, len(self._fed))
            try:
                self._is_told = self._send(partial(send_scene, scene=self._scene, ring=file))
                self._ring = Ring(file)
            finally:
                os.close(file)
        return self._is_told

    def _send(self, send: Callable[[socket.socket], None]) -> bool:
        """Return whether a packet found room; at the process's end, drop the cameras."""
        if self._end is None:
            return False
        try:
            send(self._end)
        except BlockingIOError:
            return False
        except OSError:
            self._give_up('has ended')
            return False
        return True

    def _await(self, frames: set[tuple[int, int]]) -> None:
        """Wait until the process has sent these frames, given by camera and stamp."""
        while frames and self._end is not None:
            try:
                number, stamp, hashes = read_answer(self._end)
            except EOFError:
                self._give_up('has ended')
            except OSError:
                self._give_up('does not answer')
            else:
                frames.discard((number, stamp))
                if hashes:
                    self._keep_hashes(number, stamp, hashes)

    def _keep_hashes(self, number: int, stamp: int, hashes: Hashes) -> None:
        device = self._fed[number].device
        step = self._sampled.pop((number, stamp), UNSAMPLED)
        self._hashes.append((f'{device.link.robot.name}/{device.name}', step, hashes))

    def take_hashes(self) -> list[tuple[str, int, Hashes]]:
        """Return name, step and hashes for all pictures since the last call."""
        found, self._hashes = self._hashes, []
        return found

    def _give_up(self, reason: str) -> None:
        message = f'the camera process {reason}; no pictures. The simulation goes on'
        self._node.get_logger().error(message)
        if self._end is not None:
            with suppress(OSError):
                self._end.close()
        self._end, self._fed = None, []
