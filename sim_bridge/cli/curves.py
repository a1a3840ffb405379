"""Curves that are drawn: what pages and pictures of them are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sim_bridge.foundation.arrays import FloatArray


class Curve(NamedTuple):
    """times, values: (n,); values that are not finite are gaps. unit: '' where it is not known."""

    name: str
    times: FloatArray
    values: FloatArray
    unit: str = ''


class Panel(NamedTuple):
    """Curves over the same axes; panels lie below each other, and share the axis of time."""

    name: str
    curves: list[Curve]

    def add(self, name: str, times: FloatArray, values: FloatArray, unit: str = '') -> None:
        """Add a curve."""
        self.curves.append(Curve(name, times, values, unit))

    @property
    def unit(self) -> str:
        """The units of its curves, each once; '' where one of them is not known."""
        units = dict.fromkeys(curve.unit for curve in self.curves)
        return '' if '' in units else ', '.join(units)


def labelled(panels: Sequence[Panel]) -> Iterator[tuple[int, int, str]]:
    """
    Yield first, last and unit of neighbouring panels that share a label of their vertical axes.

    Panels whose units are not known have none.
    """
    first = 0
    for number, panel in enumerate(panels):
        if number + 1 == len(panels) or panels[number + 1].unit != panel.unit:
            if panel.unit:
                yield first, number, panel.unit
            first = number + 1
