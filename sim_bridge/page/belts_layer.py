"""Stripes that run with the surfaces of belts and tracks."""

from __future__ import annotations

import numpy as np

from sim_bridge.page.channel import Frame, NUMBERS
from sim_bridge.page.layer import Context, PlainLayer, ROOT
from sim_bridge.page.poses import Poses
from sim_bridge.page.records import BeltRecord, Structure
from sim_bridge.page.widgets import update_node

_TIME = NUMBERS.index('time')
_COLOR = (40, 44, 52)
_APART = 0.08  # of stripes, about [m]
_LEAST, _MOST = 6, 60  # stripes of a belt
_NO_LINES = np.zeros((0, 2, 3), np.float32)


class _Belt:
    """Where stripes are on an outline."""

    def __init__(self, record: BeltRecord):
        self.record = record
        self._points = np.concatenate([record.outline, record.outline[:1]])
        lengths = np.linalg.norm(np.diff(self._points, axis=0), axis=1)
        self._at = np.concatenate([[0.0], np.cumsum(lengths)])
        count = int(np.clip(round(self._at[-1] / _APART), _LEAST, _MOST))
        self._stripes = np.arange(count) * (self._at[-1] / count)
        self.offset = 0.0

    def lines(self) -> np.ndarray:
        """Return (n, 2, 3) the stripes in the link's frame."""
        at = (self._stripes + self.offset) % self._at[-1]
        middles = np.stack([np.interp(at, self._at, self._points[:, k]) for k in range(3)], 1)
        return np.stack([middles - self.record.half_width, middles + self.record.half_width], 1)


class BeltsLayer(PlainLayer):
    """Belts and tracks run while simulated time goes on; what stands still is not sent."""

    def __init__(self, context: Context):
        """Make the node, empty."""
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
        """Move the stripes by what passed since the frame before."""
        time = float(frame.numbers[_TIME])
        # it goes back at resets
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
