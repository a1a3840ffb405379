"""Result figures for the documentation."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use('Agg')

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.energy import SAMPLE_STEPS, TIME_STEP
from benchmarks.friction import CONE
from benchmarks.report import Report


def draw(report: Report, folder: Path) -> list[Path]:
    """Draw a report's figure, if it has one; return the paths written."""
    painter = {
        'step': _draw_step,
        'energy': _draw_energy,
        'piles': _draw_piles,
        'stand': _draw_stand,
        'friction': _draw_friction,
    }.get(report.name)
    if painter is None:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f'benchmark_{report.name}.png'
    figure = painter(report.data)
    figure.savefig(path, dpi=120, bbox_inches='tight')
    plt.close(figure)
    return [path]


def _draw_step(data):
    chains = {
        n: {name: seconds * 1e6 for name, seconds in row.items()}
        for n, row in data['chains'].items()
    }
    figure, axes = plt.subplots(figsize=(7.0, 4.5))
    _draw_growth(axes, chains, 'links of the chain')
    axes.set(ylabel='time per step [µs]')
    axes.legend(fontsize='small')
    return figure


def _draw_piles(data):
    figure, panels = plt.subplots(1, 2, figsize=(12.0, 4.5), sharey=True)
    for axes, phase in zip(panels, ('falling', 'rest'), strict=True):
        _draw_growth(
            axes,
            {
                count: {name: times[phase] for name, times in rows.items()}
                for count, rows in data['piles'].items()
            },
            'balls in the bin',
        )
        axes.set(title={'falling': 'falling together', 'rest': 'lying in a pile'}[phase])
    panels[0].set(ylabel='time per step of 1 ms [µs]')
    panels[1].legend(fontsize='small')
    return figure


def _draw_stand(data):
    figure, axes = plt.subplots(figsize=(7.0, 4.5))
    _draw_growth(axes, data['robots'], 'standing ANYmals')
    axes.set(ylabel='time per step of 5 ms [µs]')
    axes.legend(fontsize='small')
    return figure


def _draw_friction(data):
    figure, axes = plt.subplots(figsize=(6.0, 6.0), subplot_kw={'projection': 'polar'})
    for name, angles in data['angles'].items():
        directions = 2.0 * np.pi * np.arange(len(angles) + 1) / len(angles)
        axes.plot(directions, [*angles, angles[0]], marker='.', label=name, linewidth=_width(name))
    axes.plot(
        np.linspace(0.0, 2.0 * np.pi, 200), np.full(200, CONE), 'k:', linewidth=0.8, label='exact'
    )
    axes.set(title='tilt at which a block slips [deg]', ylim=(0.0, 40.0))
    axes.legend(fontsize='small', loc='lower right')
    return figure


def _draw_growth(axes, rows, label):
    """Draw times by engine over a number, on logarithmic axes."""
    for name in dict.fromkeys(name for row in rows.values() for name in row):
        numbers = [n for n, row in rows.items() if name in row]
        axes.loglog(
            numbers,
            [rows[n][name] for n in numbers],
            marker='o',
            label=name,
            linewidth=_width(name),
        )
    axes.set(xlabel=label, xticks=list(rows))
    axes.set_xticklabels(rows)
    axes.minorticks_off()
    axes.grid(alpha=0.3)


def _width(name):
    return 2.5 if name == 'sim_bridge' else 1.2


def _draw_energy(data):
    scenes = data['scenes']
    titles = list(scenes)[:2]
    figure, panels = plt.subplots(1, len(titles), figsize=(12.0, 4.2))
    for axes, title in zip(panels, titles, strict=True):
        for name, row in scenes[title].items():
            error = np.abs(row['energies'])
            times = np.arange(len(error)) * SAMPLE_STEPS * TIME_STEP
            axes.semilogy(times, np.maximum(error, 1e-16), label=name, linewidth=_width(name))
        axes.set(title=title, xlabel='time [s]', ylabel='energy error [J]')
        axes.grid(alpha=0.3)
    panels[0].legend(fontsize='small')
    return figure
