"""Curves that are drawn: what pages and pictures of them are made of."""

from __future__ import annotations

from typing import NamedTuple

from sim_bridge.foundation.arrays import FloatArray


class Curve(NamedTuple):
    """times, values: (n,); values that are not finite are gaps."""

    name: str
    times: FloatArray
    values: FloatArray


class Panel(NamedTuple):
    """Curves over the same axes; panels lie below each other, and share the axis of time."""

    name: str
    curves: list[Curve]

    def add(self, name: str, times: FloatArray, values: FloatArray) -> None:
        """Add a curve."""
        self.curves.append(Curve(name, times, values))
