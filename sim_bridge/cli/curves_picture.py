"""Curves as a picture, drawn by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sim_bridge.cli.curves import labelled, Panel

_WIDTH, _HEIGHT = 9.0, 2.6  # panel size [inch]
_MOST_NAMES = 12  # largest number of curves in a panel with legend


def write_picture(panels: Sequence[Panel], title: str, file: Path) -> None:
    """
    Write curves to a PNG, SVG or PDF file; the caller has checked for matplotlib.

    Raises OSError.
    """
    from matplotlib.figure import Figure

    figure = Figure((_WIDTH, 0.8 + _HEIGHT * len(panels)), dpi=120, layout='constrained')
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for ax, panel in zip(axes, panels, strict=True):
        for curve in panel.curves:
            ax.plot(curve.times, curve.values, linewidth=1.0, label=curve.name)
        ax.set_title(panel.name, fontsize='medium', parse_math=False)
        ax.grid(alpha=0.3)
        if 1 < len(panel.curves) <= _MOST_NAMES:
            legend = ax.legend(fontsize='small')
            for text in legend.get_texts():
                text.set_parse_math(False)
    for first, last, unit in labelled(panels):
        # the middle panel carries the label shared by several panels
        middle = axes[(first + last) // 2]
        at = 0.5 if (last - first) % 2 == 0 else 0.0
        middle.set_ylabel(f'[{unit}]', y=at, parse_math=False)
    axes[-1].set_xlabel('time [s]')
    figure.suptitle(title, parse_math=False)
    figure.savefig(file)
