"""Link between a robot and its controller in a run, with faults."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from sim_bridge.ros.wire.messages import STAMP
from sim_bridge.sweep.controllers import Controller
from sim_bridge.sweep.plan import Disturbance


class Link:
    """
    Link from published states to a controller, and from its commands to the robot.

    Each published state is answered before the next control step begins.
    """

    def __init__(
        self,
        controller: Controller,
        take: Callable[[bytes], None],
        faults: Sequence[Disturbance],
        draw: np.random.Generator,
    ) -> None:
        """
        Set up the link.

        take: passes a command to the robot. faults: this link's faults. draw: generator for their
        random numbers.
        """
        self._controller, self._take, self._faults, self._draw = controller, take, faults, draw
        self._state: bytes | None = None
        self._frozen: bytes | None = None
        self._before: bytes | None = None
        self._late: deque[tuple[int, bytes]] = deque()
        self.commands = 0
        """Number of commands passed on."""

    def describe(self, text: str) -> None:
        """Pass the robot's description to the controller."""
        self._controller.control(text)

    def show(self, state: bytes) -> None:
        """Take a published state."""
        self._state = state

    def answer(self, step: int, time_s: float) -> None:
        """Answer the last state, before control step `step` begins at a time [s]."""
        acting = {each.kind: each for each in self._faults if each.begin <= time_s < each.end}
        state, self._state = self._state, None
        if state is not None:
            seen = self._seen(state, 'freeze' in acting)
            if 'silence' not in acting and 'death' not in acting:
                command = self._controller.answer(seen)
                lost = acting.get('loss')
                is_lost = lost is not None and self._draw.random() < lost.values['probability']
                if command is not None and not is_lost:
                    late = acting.get('delay')
                    due = step + (0 if late is None else late.values['steps'])
                    self._late.append((due, command))
        while self._late and self._late[0][0] <= step:
            self.commands += 1
            self._take(self._late.popleft()[1])

    def _seen(self, state: bytes, is_frozen: bool) -> bytes:
        """Return the state for the controller: the present one, or a frozen one, newly stamped."""
        if not is_frozen:
            self._frozen, self._before = None, state
            return state
        if self._frozen is None:
            self._frozen = self._before or state
        return self._frozen[: STAMP.start] + state[STAMP] + self._frozen[STAMP.stop :]
