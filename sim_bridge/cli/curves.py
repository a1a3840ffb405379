"""Curves and panels: data for plotted pages and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sim_bridge.foundation.arrays import FloatArray


class Curve(NamedTuple):
    """times, values: (n,); non-finite values are gaps. unit: '' if unknown."""

    name: str
    times: FloatArray
    values: FloatArray
    unit: str = ''


class Panel(NamedTuple):
    """Curves over the same axes; panels are stacked and share the time axis."""

    name: str
    curves: list[Curve]

    def add(self, name: str, times: FloatArray, values: FloatArray, unit: str = '') -> None:
        """Add a curve."""
        self.curves.append(Curve(name, times, values, unit))

    @property
    def unit(self) -> str:
        """Units of the curves, without duplicates; '' if one of them is unknown."""
        units = dict.fromkeys(curve.unit for curve in self.curves)
        return '' if '' in units else ', '.join(units)


def labelled(panels: Sequence[Panel]) -> Iterator[tuple[int, int, str]]:
    """
    Yield first panel, last panel and unit of neighbouring panels sharing a vertical axis label.

    Panels with unknown units have no label.
    """
    first = 0
    for number, panel in enumerate(panels):
        if number + 1 == len(panels) or panels[number + 1].unit != panel.unit:
            if panel.unit:
                yield first, number, panel.unit
            first = number + 1
