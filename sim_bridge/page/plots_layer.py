"""Plots of frame values over time."""

from __future__ import annotations

import numpy as np
from viser import uplot

from sim_bridge.page.channel import Frame, NUMBERS
from sim_bridge.page.history import History, Value
from sim_bridge.page.layer import Context, PlainLayer
from sim_bridge.page.poses import Poses
from sim_bridge.page.records import Structure
from sim_bridge.page.widgets import in_order

_COLORS = ('#1f77b4', '#ff7f0e', '#2ca02c', '#d62728', '#9467bd', '#8c564b', '#e377c2', '#17becf')
_MOST = 8  # curves
_EVERY = 6  # frames between two drawings
_TIME = NUMBERS.index('time')
_NARROWEST = 0.01  # half the smallest vertical range, relative to the values
_NOTHING, _SAME = 1e-9, 1e-3  # limits below which values, and their differences, count as rounding
_OF_RUN = {
    'contacts': 'contacts',
    'time of a step [s]': 'tick_time',
    'lateness [s]': 'lateness',
    'missed deadlines': 'missed',
    'pivots of the solver': 'pivots',
    'sweeps of the solver': 'sweeps',
    'residual of contacts [m/s]': 'residual',
}


class PlotsLayer(PlainLayer):
    """Layer for curves of joints, links, sensors and timing; the drawing can be held."""

    def __init__(self, context: Context):
        """Add the widgets."""
        super().__init__(context)
        gui = self.server.gui
        self._values: dict[str, Value] = {}
        self._history: History | None = None
        self._wanted: list[str] = []
        self._labels = ['']
        self._count = 0
        with context.plots:
            self._what = gui.add_dropdown('Value', ('—',))
            add, clear = gui.add_button('Add'), gui.add_button('Clear')
            self._window = gui.add_slider('Seconds', 1, 60, 1, 10)
            self._is_held = gui.add_checkbox('Hold still', False)
            self._plot = gui.add_uplot(
                (np.zeros(1), np.zeros(1)), _series(self._labels), aspect=1.0, scales=_scales()
            )
        add.on_click(in_order(lambda _: self._add(self._what.value)))
        clear.on_click(in_order(lambda _: self._clear()))

    def show(self, structure: Structure) -> None:
        """List the available values."""
        self._values, self._history = _values(structure), None
        self._what.options = tuple(self._values) or ('—',)
        self._wanted = [name for name in self._wanted if name in self._values]

    def update(self, frame: Frame, poses: Poses) -> None:
        """Store the newest values, and draw at intervals."""
        if self._history is None:
            self._history = History(self._values, frame)
        self._history.add(float(frame.numbers[_TIME]), frame)
        self._count += 1
        if self._count % _EVERY == 0 and self._wanted and not self._is_held.value:
            self._draw(self._history, self._wanted)

    def _add(self, name: str) -> None:
        if name in self._values and name not in self._wanted and len(self._wanted) < _MOST:
            self._wanted = [*self._wanted, name]

    def _clear(self) -> None:
        self._wanted, self._labels = [], ['']
        self._plot.data, self._plot.series = (np.zeros(1), np.zeros(1)), _series([''])

    def _draw(self, history: History, names: list[str]) -> None:
        times, values = history.window(self._window.value, names)
        if len(times) < 2:
            return
        if names != self._labels:
            self._labels, self._plot.series = names, _series(names)
        scales = _scales(values)
        if scales != self._plot.scales:
            self._plot.scales = scales
        self._plot.data = (times, *values)


def _scales(values: np.ndarray | None = None) -> dict[str, uplot.Scale]:
    """
    Return the scales to plot values (curves, n).

    A value that is not finite, for example from a ray without a hit, is a gap in a curve; it would
    leave the chart empty under automatic range. Values that differ by rounding only would get a
    range with identical labels.
    """
    scales = {'x': uplot.Scale(time=False, auto=True)}
    if values is None:
        return scales
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    middle = 0.5 * (low + high)
    half = _NARROWEST * (abs(middle) if abs(middle) > _NOTHING else 1.0)
    # in steps, so that the range does not change with every value
    if high - low < _SAME * half:
        number = round(middle / half)
        scales['y'] = uplot.Scale(range=(half * (number - 1), half * (number + 1)))
    elif known.size < values.size:
        step = 10.0 ** np.floor(np.log10(high - low))
        scales['y'] = uplot.Scale(
            range=(float(step * np.floor(low / step)), float(step * np.ceil(high / step)))
        )
    return scales


def _series(names: list[str]) -> tuple[uplot.Series, ...]:
    return (
        uplot.Series(label='time [s]'),
        *(
            uplot.Series(label=name, stroke=_COLORS[k % len(_COLORS)], width=2)
            for k, name in enumerate(names)
        ),
    )


def _values(structure: Structure) -> dict[str, Value]:
    """Return each value's place in a frame, by name."""
    found: dict[str, Value] = {}
    for joint in structure.joints:
        name = f'{joint.robot}/{joint.name}'
        unit, effort = ('rad', 'N m') if joint.is_turning else ('m', 'N')
        found[f'{name} position [{unit}]'] = 'q', (joint.row,)
        found[f'{name} velocity [{unit}/s]'] = 'v', (joint.v_row,)
        found[f'{name} effort [{effort}]'] = 'u', (joint.v_row,)
    for number, signal in enumerate(structure.signals):
        found[signal] = 'signals', (number,)
    for number, link in enumerate(structure.links):
        if link.is_movable:
            for k, axis in enumerate('xyz'):
                found[f'{link.robot}/{link.name} {axis} [m]'] = 'poses', (number, 9 + k)
    for label, number_name in _OF_RUN.items():
        found[label] = 'numbers', (NUMBERS.index(number_name),)
    return found
