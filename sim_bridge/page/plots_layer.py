"""Plots over time of what frames hold."""

from __future__ import annotations

import numpy as np
from viser import uplot

from sim_bridge.page.channel import Frame, NUMBERS
from sim_bridge.page.layer import Context, PlainLayer
from sim_bridge.page.poses import Poses
from sim_bridge.page.records import Structure

_COLORS = ('#1f77b4', '#ff7f0e', '#2ca02c', '#d62728', '#9467bd', '#8c564b', '#e377c2', '#17becf')
_MOST = 8  # curves
_EVERY = 6  # frames between two pictures
_TIME = NUMBERS.index('time')
_OF_RUN = {'contacts': 'contacts', 'time of a step [s]': 'tick_time', 'lateness [s]': 'lateness',
           'missed deadlines': 'missed', 'pivots of the solver': 'pivots',
           'sweeps of the solver': 'sweeps', 'residual of contacts [m/s]': 'residual'}

_Value = tuple[str, tuple[int, ...]]  # an array of a frame, and the place in it


class PlotsLayer(PlainLayer):
    """Curves of joints, links, sensors and timing; they can be held still while data comes."""

    def __init__(self, context: Context):
        """Make the widgets."""
        super().__init__(context)
        gui = self.server.gui
        self._values: dict[str, _Value] = {}
        self._curves: dict[str, list[float]] = {}
        self._times: list[float] = []
        self._wanted: list[str] = []
        self._labels = ['']
        self._count = 0
        with context.plots:
            self._what = gui.add_dropdown('Value', ('—',))
            add, clear = gui.add_button('Add'), gui.add_button('Clear')
            self._window = gui.add_slider('Seconds', 1, 60, 1, 10)
            self._is_held = gui.add_checkbox('Hold still', False)
            self._plot = gui.add_uplot(
                (np.zeros(1), np.zeros(1)), _series(self._labels), aspect=1.0,
                scales={'x': uplot.Scale(time=False, auto=True)})
        add.on_click(lambda _: self._add(self._what.value))
        clear.on_click(lambda _: self._clear())

    def show(self, structure: Structure) -> None:
        """List what can be plotted."""
        self._values = _values(structure)
        self._what.options = tuple(self._values) or ('—',)
        self._wanted = [name for name in self._wanted if name in self._values]

    def update(self, frame: Frame, poses: Poses) -> None:
        """Add the newest values, and draw now and then."""
        time = float(frame.numbers[_TIME])
        if self._times and time < self._times[-1]:
            self._forget()
        if not self._times or time > self._times[-1]:
            self._times.append(time)
            for name in self._wanted:
                curve = self._curves.setdefault(name, [np.nan] * (len(self._times) - 1))
                array, place = self._values[name]
                curve.append(float(getattr(frame, array)[place]))
        self._drop_old(time)
        self._count += 1
        if self._count % _EVERY == 0 and self._wanted and not self._is_held.value:
            self._draw()

    def _add(self, name: str) -> None:
        if name in self._values and name not in self._wanted and len(self._wanted) < _MOST:
            self._wanted = [*self._wanted, name]

    def _clear(self) -> None:
        self._wanted, self._labels = [], ['']
        self._plot.data, self._plot.series = (np.zeros(1), np.zeros(1)), _series([''])

    def _forget(self) -> None:
        self._times, self._curves = [], {}

    def _drop_old(self, time: float) -> None:
        count = int(np.searchsorted(self._times, time - self._window.value))
        if count:
            del self._times[:count]
            for name in list(self._curves):
                if name in self._wanted:
                    del self._curves[name][:count]
                else:
                    del self._curves[name]

    def _draw(self) -> None:
        names = [name for name in self._wanted if len(self._curves.get(name, ())) > 1]
        if names:
            data = (np.array(self._times), *(np.array(self._curves[name]) for name in names))
            if names != self._labels:
                self._labels, self._plot.series = names, _series(names)
            self._plot.data = data


def _series(names: list[str]) -> tuple[uplot.Series, ...]:
    return (uplot.Series(label='time [s]'), *(
        uplot.Series(label=name, stroke=_COLORS[k % len(_COLORS)], width=2)
        for k, name in enumerate(names)))


def _values(structure: Structure) -> dict[str, _Value]:
    """Return where each value is in a frame, by its name."""
    found: dict[str, _Value] = {}
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
