"""Tape playback in the page: pause, speed, steps, seeking."""

from __future__ import annotations

from collections.abc import Mapping
import os
from pathlib import Path
import tempfile
import time
from typing import Any

from sim_bridge.foundation.errors import SimBridgeError
from sim_bridge.foundation.validation import number_from
from sim_bridge.page.channel import NUMBERS, Ring
from sim_bridge.page.messages import Scene
from sim_bridge.page.records import Notice, Request, TapeRecord
from sim_bridge.page.tape import fill, Tape
from sim_bridge.view.feed import PageProcess

_PERIOD = 1.0 / 60.0  # between frames [s]
_SHARED = Path('/dev/shm')
_TIME, _IS_PAUSED = NUMBERS.index('time'), NUMBERS.index('is_paused')
_SPEED = NUMBERS.index('wanted_speed')
_MOST_SPEED = 1000.0
ABILITIES = frozenset({'play', 'pause', 'step', 'speed', 'reset', 'seek'})


class Player:
    """Plays a tape in a page until the page is closed. A context manager: it closes the page."""

    def __init__(self, tape: Tape, port: int = 0, speed: float = 1.0, paused: bool = False):
        """Open the page; raises StateError if it cannot be opened."""
        self._tape = tape
        self._page = PageProcess(port)
        self.is_paused, self.speed, self.time = paused, speed, tape.begin
        self._shown: tuple[object, ...] = ()
        self._take = -1
        self._ring: Ring | None = None
        self.url = self._page.wait()

    def __enter__(self) -> Player:
        """Return itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the page."""
        self._page.close()

    def run(self) -> None:
        """Play until the page's process ends, or the program is interrupted."""
        before = time.monotonic()
        while self._page.is_alive:
            now = time.monotonic()
            self.advance(now - before)
            before = now
            time.sleep(_PERIOD)

    def advance(self, passed: float) -> None:
        """Execute the page's requests, and show the frame due after some real time [s]."""
        for request in self._page.requests():
            try:
                self._obey(request)
            except SimBridgeError as err:
                self._page.tell(Notice('error', str(err)))
        if not self.is_paused:
            self.time = min(self.time + passed * self.speed, self._tape.end)
            # the end stays on screen until somebody seeks
            self.is_paused = self.time >= self._tape.end
        self._show()

    def _obey(self, request: Request) -> None:
        name, values = request
        if name == 'play':
            if self.time >= self._tape.end:
                self.time = self._tape.begin
            self.is_paused = False
        elif name == 'pause':
            self.is_paused = True
        elif name == 'speed':
            self.speed = number_from(
                'speed', values.get('factor'), 0.0, _MOST_SPEED, '', 'a number from 0 to 1000'
            )
        elif name == 'reset':
            self.time = self._tape.begin
        elif name == 'seek':
            self.time = number_from(
                'time',
                values.get('time'),
                self._tape.begin,
                self._tape.end,
                '',
                f'a time from {self._tape.begin:g} to {self._tape.end:g} s',
            )
        elif name == 'step':
            self._step(values)

    def _step(self, values: Mapping[str, Any]) -> None:
        """Advance some frames, and pause."""
        count = int(number_from('steps', values.get('steps'), 1, 1e9, '', 'a number above 0'))
        take, moment = self._tape.at(self.time)
        while count and (take, moment) != self._last():
            moment += 1
            if moment == len(self._tape.takes[take].moments):
                take, moment = take + 1, 0
            count -= 1
        self.is_paused, self.time = True, self._tape.takes[take].moments[moment].time

    def _last(self) -> tuple[int, int]:
        return len(self._tape.takes) - 1, len(self._tape.takes[-1].moments) - 1

    def _show(self) -> None:
        number, moment = self._tape.at(self.time)
        now = (self.time, self.is_paused, self.speed)
        if now == self._shown:
            return
        take = self._tape.takes[number]
        if number != self._take:
            self._take = number
            record = TapeRecord(self._tape.begin, self._tape.end, tuple(self._tape.marks))
            with tempfile.TemporaryFile(dir=_SHARED if _SHARED.is_dir() else None) as file:
                self._ring = Ring(take.sizes, os.dup(file.fileno()))
                self._page.tell(
                    Scene(take.structure._replace(abilities=ABILITIES, tape=record), take.sizes),
                    os.dup(file.fileno()),
                )
        assert self._ring is not None
        frame = self._ring.next()
        fill(frame, take.moments[moment])
        # the exact time, even for a mark between two frames
        frame.numbers[_TIME] = self.time
        frame.numbers[_IS_PAUSED], frame.numbers[_SPEED] = self.is_paused, self.speed
        self._ring.publish()
        self._shown = now
