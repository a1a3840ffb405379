"""Figures of the results, for the documentation."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use('Agg')

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.energy import SAMPLE_STEPS, TIME_STEP
from benchmarks.report import Report


def draw(report: Report, folder: Path) -> list[Path]:
    """Draw the figure of a report, if it has one; return the paths written."""
    painter = {'step': _draw_step, 'energy': _draw_energy}.get(report.name)
    if painter is None:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f'benchmark_{report.name}.png'
    figure = painter(report.data)
    figure.savefig(path, dpi=120, bbox_inches='tight')
    plt.close(figure)
    return [path]


def _draw_step(data):
    figure, axes = plt.subplots(figsize=(7.0, 4.5))
    names = list(dict.fromkeys(name for row in data['chains'].values() for name in row))
    for name in names:
        lengths = [n for n, row in data['chains'].items() if name in row]
        axes.loglog(lengths, [data['chains'][n][name] * 1e6 for n in lengths], marker='o',
                    label=name, linewidth=2.5 if name == 'sim_bridge' else 1.2)
    axes.set(xlabel='links of the chain', ylabel='time per step [µs]', xticks=lengths)
    axes.set_xticklabels(lengths)
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(fontsize='small')
    return figure


def _draw_energy(data):
    scenes = data['scenes']
    titles = list(scenes)[:2]
    figure, panels = plt.subplots(1, len(titles), figsize=(12.0, 4.2))
    for axes, title in zip(panels, titles, strict=True):
        for name, row in scenes[title].items():
            error = np.abs(row['energies'])
            times = np.arange(len(error)) * SAMPLE_STEPS * TIME_STEP
            axes.semilogy(times, np.maximum(error, 1e-16), label=name,
                          linewidth=2.5 if name == 'sim_bridge' else 1.2)
        axes.set(title=title, xlabel='time [s]', ylabel='energy error [J]')
        axes.grid(alpha=0.3)
    panels[0].legend(fontsize='small')
    return figure
