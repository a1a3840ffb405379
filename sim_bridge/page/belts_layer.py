"""Stripes moving with belt and track surfaces."""

from __future__ import annotations

import numpy as np

from sim_bridge.page.channel import Frame, NUMBERS
from sim_bridge.page.layer import Context, PlainLayer, ROOT
from sim_bridge.page.poses import Poses
from sim_bridge.page.records import BeltRecord, Structure
from sim_bridge.page.widgets import update_node

_TIME = NUMBERS.index('time')
_COLOR = (40, 44, 52)
_APART = 0.08  # approximate distance between stripes [m]
_LEAST, _MOST = 6, 60  # stripes on a belt
_NO_LINES = np.zeros((0, 2, 3), np.float32)


class _Belt:
    """Stripe positions on an outline."""

    def __init__(self, record: BeltRecord):
        self.record = record
        self._points = np.concatenate([record.outline, record.outline[:1]])
        lengths = np.linalg.norm(np.diff(self._points, axis=0), axis=1)
        self._at = np.concatenate([[0.0], np.cumsum(lengths)])
        count = int(np.clip(round(self._at[-1] / _APART), _LEAST, _MOST))
        self._stripes = np.arange(count) * (self._at[-1] / count)
        self.offset = 0.0

    def lines(self) -> np.ndarray:
        """Return the stripes (n, 2, 3) in the link's frame."""
        at = (self._stripes + self.offset) % self._at[-1]
        middles = np.stack([np.interp(at, self._at, self._points[:, k]) for k in range(3)], 1)
        return np.stack([middles - self.record.half_width, middles + self.record.half_width], 1)


class BeltsLayer(PlainLayer):
    """Moving belts and tracks, by simulated time; unchanged stripes are not sent."""

    def __init__(self, context: Context):
        """Add an empty node."""
        super().__init__(context)
        with context.show:
            self._is_on = self.server.gui.add_checkbox(
                'Stripes of belts', True, hint='They run with belts and tracks'
            )
        self._node = self.server.scene.add_line_segments(
            f'{ROOT}/belts', _NO_LINES, _COLOR, thickness=2.0, thickness_units='screen'
        )
        self._belts: list[_Belt] = []
        self._time = 0.0
        self._shown = _NO_LINES

    def show(self, structure: Structure) -> None:
        """Take the belts."""
        self._belts = [_Belt(record) for record in structure.belts]

    def update(self, frame: Frame, poses: Poses) -> None:
        """Move the stripes by the motion since the last frame."""
        time = float(frame.numbers[_TIME])
        # the time goes back at resets
        passed, self._time = max(time - self._time, 0.0), time
        lines = [_NO_LINES]
        for belt, speed in zip(self._belts, frame.belts, strict=True):
            belt.offset += float(speed) * passed
            link = belt.record.link
            lines.append(belt.lines() @ poses.rotations[link].T + poses.positions[link])
        points = np.concatenate(lines).astype(np.float32) if self._is_on.value else _NO_LINES
        if not np.array_equal(points, self._shown):
            self._shown = points
            update_node(self.server, self._node, points=points)
