"""Simulator status: compilation, timing, solver, sleeping links, command sources."""

from __future__ import annotations

import time

import numpy as np

from sim_bridge.page.channel import Frame, NUMBERS
from sim_bridge.page.layer import Context, PlainLayer
from sim_bridge.page.poses import Poses
from sim_bridge.page.records import Notice, Structure
from sim_bridge.page.widgets import plain

_PERIOD = 0.5  # between two updates [s]
_NAMED = 8  # most sleeping links named
_MARKS = {'ok': '✅', 'warning': '⚠️', 'error': '❌'}


class StatusLayer(PlainLayer):
    """Layer for texts about the simulator; each text is hidden while it is empty."""

    def __init__(self, context: Context):
        """Add the texts."""
        super().__init__(context)
        gui = self.server.gui
        with context.run:
            self._progress = gui.add_markdown('', visible=False)
            with gui.add_folder('Timing and solver', expand_by_default=False):
                self._timing = gui.add_markdown('—')
            self._folder = gui.add_folder('Simulator', visible=False)
            with self._folder:
                self._parts = gui.add_markdown('')
        self._names: list[str] = []
        self._since = self._from = 0.0
        self._ticks = self._missed = self._late = self._longest = 0.0

    def show(self, structure: Structure) -> None:
        """Take the link names."""
        self._names = [f'{link.robot}/{link.name}' for link in structure.links]
        self._progress.visible = False

    def update(self, frame: Frame, poses: Poses) -> None:
        """Accumulate frame numbers, and show them at intervals."""
        said = dict(zip(NUMBERS, frame.numbers.tolist(), strict=True))
        now = time.monotonic()
        if not self._since or said['time'] < self._from:
            self._begin(now, said['time'])
        self._ticks += said['ticks']
        self._missed += said['missed']
        self._late = max(self._late, said['lateness'])
        self._longest = max(self._longest, said['tick_time'])
        if now - self._since >= _PERIOD:
            self._timing.content = '  \n'.join(self._lines(said, now, frame.asleep))
            self._begin(now, said['time'])

    def notice(self, notice: Notice) -> None:
        """Show the compilation progress, and the simulator's parts."""
        if notice.kind == 'progress':
            self._progress.content, self._progress.visible = f'⏳ {plain(notice.text)}', True
        elif notice.kind == 'status':
            lines = []
            for value in notice.values:
                level, _, text = value.partition(' ')
                lines.append(f'{_MARKS.get(level, "")} {plain(text)}')
            self._parts.content = '  \n'.join(lines)
            self._folder.visible = True

    def _begin(self, now: float, simulated: float) -> None:
        """Restart the accumulation, at real and simulated times [s]."""
        self._since, self._from = now, simulated
        self._ticks = self._missed = self._late = self._longest = 0.0

    def _lines(self, said: dict[str, float], now: float, asleep: np.ndarray) -> list[str]:
        factor = (said['time'] - self._from) / (now - self._since)
        lines = [f'{factor:.3f} s simulated per second']
        if self._ticks:
            lines.append(
                f'{self._ticks / (now - self._since):.0f} control steps per second, of up to '
                f'{1e3 * self._longest:.3f} ms; late by up to {1e3 * self._late:.3f} ms, '
                f'{self._missed:.0f} missed'
            )
        lines.append(
            f'{said["contacts"]:.0f} contacts; solver: {said["pivots"]:.0f} pivots, '
            f'{said["sweeps"]:.0f} sweeps, residual {said["residual"]:.2g} m/s'
        )
        sleepers = np.flatnonzero(asleep)
        named = ', '.join(self._names[k] for k in sleepers[:_NAMED])
        more = ' …' if len(sleepers) > _NAMED else ''
        lines.append(
            f'asleep: {len(sleepers)} of {len(asleep)} links'
            + (f': {plain(named)}{more}' if named else '')
        )
        return lines
