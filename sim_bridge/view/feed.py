"""
Data exchange between a simulator and its page.

The simulating thread writes frames to shared memory and reads a queue; two other threads exchange
messages with the page, so the simulating thread never waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from importlib.util import find_spec
import os
from pathlib import Path
from queue import SimpleQueue
import socket
import subprocess
import tempfile
import threading

import numpy as np

from sim_bridge.engine.data.state import ASLEEP, State
from sim_bridge.engine.pipeline.observe import SITE_SIZE
from sim_bridge.foundation import forks
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import extra_hint, MissingPackageError, StateError
from sim_bridge.page.channel import CONTACTS, Frame, PUSHES, Ring
from sim_bridge.page.messages import Scene, SimulatorEnd
from sim_bridge.page.records import Notice, Request, Reshaping
from sim_bridge.simulation.slots import GeometrySlot
from sim_bridge.trust.child import python_module
from sim_bridge.view.structure import describe, mesh_of
from sim_bridge.view.watch import Watch
from sim_bridge.world.world import World

NO_TIMING = (0.0, 0.0, 0.0, 0.0)
Timing = tuple[float, float, float, float]
"""Part of `NUMBERS`: control steps, missed ones, lateness, duration of one."""
_START_TIMEOUT = 30.0  # s
_SHARED = Path('/dev/shm')  # in memory; if it is missing, a file on disk serves


class PageProcess:
    """Page in a separate process."""

    def __init__(self, port: int = 0, take: Callable[[Request], None] | None = None):
        """
        Start the process; returns at once.

        port: server port, 0 for a free one. take: called on another thread with each request,
        instead of `requests`; also with 'opened', and finally with 'ended' and a text. Raises
        MissingPackageError without viser.
        """
        if find_spec('viser') is None:
            raise MissingPackageError('the live page', extra_hint('view'))
        own, other = socket.socketpair()
        with other:
            os.set_inheritable(other.fileno(), True)
            self._process = subprocess.Popen(
                python_module('sim_bridge.page.process', str(other.fileno()), str(port)),
                pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                # the process ends with the simulator; Ctrl-C must not reach it, since the
                # simulator may survive Ctrl-C
                start_new_session=True,
            )
        self._end = SimulatorEnd(own)
        self._outbox: SimpleQueue[tuple[Scene | Reshaping | Notice, int | None] | None] = (
            SimpleQueue()
        )
        self._inbox: deque[Request] = deque()
        self._taker = take
        self._opened = threading.Event()
        self.url, self.visitor_url, self._failure = '', '', ''
        self._threads = [
            threading.Thread(target=run, name=name, daemon=True)
            for name, run in (('page-out', self._send), ('page-in', self._receive))
        ]
        for thread in self._threads:
            thread.start()
        self._is_own = True
        forks.in_child(self, PageProcess._begin_in_child)

    def _begin_in_child(self) -> None:
        """Leave the page to the parent process, in a forked child process."""
        self._is_own = False
        self._end.leave()

    @property
    def is_alive(self) -> bool:
        """Whether the process runs and belongs to this process, not to its parent."""
        return self._is_own and self._process.poll() is None

    def check_own(self) -> None:
        """Raise StateError in a forked child process."""
        if not self._is_own:
            raise StateError(
                'the page belongs to the process that opened it, before it was forked; open '
                'another one in the child process with World.view'
            )

    def wait(self) -> str:
        """Wait until the server is open; return its address. Raises StateError on failure."""
        self.check_own()
        if not self._opened.wait(_START_TIMEOUT) or not self.url:
            raise StateError(f'the page cannot be opened: {self._failure or "it does not start"}')
        return self.url

    def tell(self, message: Scene | Reshaping | Notice, memory: int | None = None) -> None:
        """Send a message on another thread; memory: a descriptor, closed after sending."""
        self._outbox.put((message, memory))

    def requests(self) -> Iterator[Request]:
        """Yield the requests received since the last call."""
        while self._inbox:
            yield self._inbox.popleft()

    def close(self) -> None:
        """
        End the process and its threads, except the calling thread.

        Without effect in a forked child process: the page is the parent's.
        """
        if not self._is_own:
            return
        # the process has nothing to clean up
        self._process.kill()
        self._process.wait()
        self._outbox.put(None)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
        self._end.close()

    def _send(self) -> None:
        while (item := self._outbox.get()) is not None:
            message, memory = item
            try:
                self._end.tell(message, memory)
            except OSError:
                continue  # the process has ended; drop the messages
            finally:
                if memory is not None:
                    os.close(memory)

    def _receive(self) -> None:
        try:
            while True:
                self._take(self._end.request())
        except EOFError:
            self._failure = self._failure or 'its process ended'
            self._opened.set()
            if self._taker is not None:
                self._taker(Request('ended', {'text': self._failure}))

    def _take(self, request: Request) -> None:
        if request.name == 'failed':
            self._failure = request.values['text']
            return
        if request.name == 'opened':
            self.url, self.visitor_url = request.values['url'], request.values['visitor_url']
            self._opened.set()
        if self._taker is not None:
            self._taker(request)
        elif request.name != 'opened':
            self._inbox.append(request)


class Feed:
    """
    Writer of world frames for a page.

    The array addresses, here and in shared memory, are looked up once after each change.
    """

    def __init__(self, page: PageProcess, world: World, title: str, abilities: frozenset[str]):
        """Start without a frame."""
        self._page, self._world = page, world
        self._title, self._abilities = title, abilities
        self._simulation = world.simulation
        self._layout = -1
        self._watch = Watch(world)

    def publish(
        self, is_paused: bool, speed: float, pushes: FloatArray, timing: Timing = NO_TIMING
    ) -> None:
        """
        Write a frame with the present state; call it on the owner's thread.

        pushes: (n, 6) points [m] and forces [N], world. timing: control step statistics.
        """
        simulation = self._simulation
        sites = simulation.observation.sites()
        changes = self._watch.changes()
        if simulation.cache.layout != self._layout or changes.is_all:
            self._describe()
        for field in changes.fields:
            self._reshape(field)
        ring, state = self._ring, simulation.cache.state
        frame = ring.next()
        # whole rows: parts of rows would be copied twice
        np.take(sites, self._described.sites, axis=0, out=self._sites, mode='clip')
        np.copyto(frame.poses, self._poses)
        np.copyto(frame.q, state.q)
        np.copyto(frame.v, state.v)
        np.copyto(frame.u, state.u)
        np.equal(state.idle[self._described.trees], ASLEEP, out=frame.asleep)
        self._described.odometry.look(self._sites)
        np.concatenate(self._described.signals, out=frame.signals)
        found = int(state.contact_size[0])
        if found:
            self._write_contacts(state, frame, min(found, CONTACTS))
        shown = min(len(pushes), PUSHES)
        if shown:
            frame.pushes[:shown] = pushes[:shown]
        if self._described.readings:
            np.concatenate(self._described.readings, out=frame.readings)
        if self._described.belts.records:
            np.copyto(frame.belts, self._described.belts.speeds(simulation.cache.geometry))
        report = simulation.runner.report
        frame.numbers[:] = (
            self._world.time,
            found,
            shown,
            is_paused,
            speed,
            *timing,
            report.pivots,
            report.sweeps,
            report.residual,
        )
        ring.publish()

    def _write_contacts(self, state: State, frame: Frame, count: int) -> None:
        """Write contacts and their link indices."""
        rows = frame.contacts[:count]
        np.concatenate(
            (
                state.contact_point[:count],
                state.contact_normal[:count],
                state.contact_impulse[:count, :3],
                state.contact_gap[:count, None],
            ),
            1,
            rows,
        )
        rows[:, 6:] *= self._to_force_and_depth
        np.take(
            self._described.geometry_links,
            state.contact_geometry[:count],
            out=frame.contact_links[:count],
            mode='clip',
        )

    def _reshape(self, field: GeometrySlot) -> None:
        """Send a height field's new surface, and nothing else."""
        # a newer structure already contains it
        number = self._described.fields.get(field)
        if number is not None:
            self._page.tell(Reshaping(number, mesh_of(field.present_shape)))

    def _describe(self) -> None:
        # described again by the next call if this one is interrupted
        self._layout, rate = -1, 1.0 / self._world.time_step
        self._to_force_and_depth = np.array((rate, rate, rate, -1.0))
        self._described = describe(self._world, self._title, self._abilities)
        structure, sizes = self._described.structure, self._described.sizes
        self._sites = np.empty((sizes.links, SITE_SIZE))
        self._poses = self._sites[:, :12]
        with tempfile.TemporaryFile(dir=_SHARED if _SHARED.is_dir() else None) as file:
            self._ring = Ring(sizes, os.dup(file.fileno()))
            self._page.tell(Scene(structure, sizes), os.dup(file.fileno()))
        for warning in self._described.warnings:
            self._page.tell(Notice('warning', warning))
        self._layout = self._simulation.cache.layout
