"""Sweep report: one self-contained page with its data and plotly."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from sim_bridge.sweep.design import SALTELLI
from sim_bridge.sweep.distributions import FLOAT, INTEGER
from sim_bridge.sweep.findings import replay_bag, replay_page, SUCCESS, SweepFindings
from sim_bridge.sweep.rows import DONE, Row

_GOOD, _BAD, _PLAIN = '#2a9d5c', '#d1495b', '#3d6fa5'
_MOST_POINTS = 20_000
_MOST_BINS = 60
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 1200px; padding: 0 1em;
  color: #222 }
table { border-collapse: collapse; margin: 0.5em 0 1.5em; font-size: 14px }
th, td { padding: 0.25em 0.8em; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child, td.text { text-align: left }
code { background: #f4f4f4; padding: 0 0.3em }
.wide { overflow-x: auto }
.good { color: #2a9d5c } .bad { color: #d1495b }
"""


def write_report(findings: SweepFindings, folder: Path, file: Path) -> None:
    """
    Write the page.

    folder: results folder, for links to replays. Raises OSError.
    """
    study = findings.study
    parts = [
        f'<h1>{escape(study.source.name)}</h1>',
        f'<p>{escape(study.description)}</p>',
        _summary(findings),
        '<h2>Distributions</h2>',
        _distributions_table(findings),
        _figure(_histograms(findings), is_first=True),
        '<h2>Worst cases</h2>',
        _worst(findings, folder, file),
        '<h2>Sensitivity</h2>',
        _sensitivity(findings),
        '<h2>Measures over inputs</h2>',
        _figure(_scatter(findings)),
        '<h2>Study</h2>',
        f'<pre>{escape(study.source.read_text(encoding="utf-8"))}</pre>',
    ]
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<title>{escape(study.source.stem)}</title><style>{_STYLE}</style></head><body>\n'
        + '\n'.join(parts)
        + '\n</body></html>\n'
    )
    file.write_text(page, encoding='utf-8')


def _summary(findings: SweepFindings) -> str:
    study, rows = findings.study, findings.rows
    total = study.design.count
    lines = [
        f'{len(rows)} of {total} runs, design {study.design.kind}, seed {study.design.seed}. '
        + ', '.join(f'{count} {name}' for name, count in findings.statuses.items())
        + '.'
    ]
    if findings.share is not None:
        share, low, high = findings.share
        lines.append(
            f'<b>{100 * share:.1f} %</b> succeeded (95 % interval: {100 * low:.1f} to '
            f'{100 * high:.1f} %).'
        )
        lines += [
            f'<code>{escape(name)}: {escape(study.criteria[name].text)}</code> does not hold in '
            f'{count} runs.'
            for name, count in findings.failing.items()
        ]
    wall = [row.wall_s for row in rows]
    if wall:
        steps = sum(row.steps for row in rows)
        lines.append(
            f'{sum(wall):.1f} s of processes, {sum(row.simulated_s for row in rows):.1f} s '
            f'simulated, {steps} control steps.'
        )
    html = ''.join(f'<p>{line}</p>' for line in lines)
    if findings.reasons:
        html += '<h3>Runs without measures</h3>' + _table(
            ['why', 'runs', 'the first'],
            [[escape(text), str(count), str(run)] for text, count, run in findings.reasons[:20]],
            texts={0},
        )
    return html


def _distributions_table(findings: SweepFindings) -> str:
    rows = []
    for name, each in findings.measures.items():
        values = each.values
        rows.append(
            [
                f'{escape(name)} <code>{escape(findings.study.measures[name])}</code>',
                str(len(values)),
                str(each.never),
                *(
                    _number(value)
                    for value in (
                        (float(values.mean()), float(values.std()))
                        if len(values)
                        else (math.nan, math.nan)
                    )
                ),
                *(_number(each.quantile(share)) for share in (0.0, 0.05, 0.5, 0.95, 1.0)),
            ]
        )
    return _table(
        [
            'measure',
            'values',
            'never',
            'mean',
            'deviation',
            'least',
            '5 %',
            'median',
            '95 %',
            'greatest',
        ],
        rows,
        texts={0},
    )


def _histograms(findings: SweepFindings) -> Any:
    from plotly.graph_objects import Bar
    from plotly.subplots import make_subplots

    count = len(findings.measures)
    columns = min(count, 3)
    lines = -(-count // columns)
    figure = make_subplots(rows=lines, cols=columns, subplot_titles=list(findings.measures))
    success = {row.run: row.success for row in findings.rows}
    for k, each in enumerate(findings.measures.values()):
        place = {'row': k // columns + 1, 'col': k % columns + 1}
        # binned here: a million values would make the page large
        bins = min(max(round(math.sqrt(len(each.values))), 8), _MOST_BINS)
        edges = np.histogram_bin_edges(each.values, bins)
        for is_good, name, color in (
            (True, 'succeeded', _GOOD),
            (False, 'did not', _BAD),
            (None, 'runs', _PLAIN),
        ):
            own = [
                float(value)
                for value, run in zip(each.values, each.runs, strict=True)
                if success[int(run)] is is_good
            ]
            if own:
                counts, _ = np.histogram(own, edges)
                figure.add_trace(
                    Bar(
                        x=(0.5 * (edges[1:] + edges[:-1])).tolist(),
                        y=counts.tolist(),
                        name=name,
                        legendgroup=name,
                        showlegend=k == 0,
                        marker_color=color,
                    ),
                    **place,
                )
    figure.update_layout(barmode='stack', bargap=0.02, height=90 + 260 * lines)
    return figure


def _scatter(findings: SweepFindings) -> Any:
    from plotly.graph_objects import Box, Scattergl
    from plotly.subplots import make_subplots

    study = findings.study
    inputs, measures = list(study.inputs), list(findings.measures)
    figure = make_subplots(
        rows=len(measures),
        cols=len(inputs),
        shared_xaxes=True,
        shared_yaxes=True,
        horizontal_spacing=0.3 / max(len(inputs), 8),
        vertical_spacing=0.25 / max(len(measures), 6),
    )
    stride = max(1, -(-len(findings.rows) // _MOST_POINTS))
    rows = [row for row in findings.rows if row.status == DONE][::stride]
    for i, measure in enumerate(measures, 1):
        for j, name in enumerate(inputs, 1):
            kind = study.inputs[name].distribution.kind
            values = [row.measures.get(measure) for row in rows]
            if kind not in (FLOAT, INTEGER):
                figure.add_trace(
                    Box(
                        x=[str(row.inputs[name]) for row in rows],
                        y=values,
                        showlegend=False,
                        marker_color=_PLAIN,
                    ),
                    row=i,
                    col=j,
                )
            else:
                figure.add_trace(
                    Scattergl(
                        x=[row.inputs[name] for row in rows],
                        y=values,
                        mode='markers',
                        showlegend=False,
                        text=[f'run {row.run}' for row in rows],
                        marker={'size': 4, 'opacity': 0.6, 'color': [_color(row) for row in rows]},
                    ),
                    row=i,
                    col=j,
                )
            if i == len(measures):
                figure.update_xaxes(title_text=name, row=i, col=j)
        figure.update_yaxes(title_text=measure, row=i, col=1)
    figure.update_layout(height=90 + 260 * len(measures))
    return figure


def _color(row: Row) -> str:
    return _PLAIN if row.success is None else _GOOD if row.success else _BAD


def _sensitivity(findings: SweepFindings) -> str:
    study = findings.study
    html = ''
    if study.design.kind == SALTELLI:
        html += (
            '<p>Sobol indices: the share of the variance of a measure that an input alone '
            'explains (first), and together with all others (total).</p>'
        )
        for name, shares in findings.indices.items():
            html += f'<h3>{escape(name)}, of {shares[0].used} samples</h3>' + _table(
                ['input', 'first', 'total'],
                [
                    [escape(own), f'{share.first:.3f}', f'{share.total:.3f}']
                    for own, share in zip(study.inputs, shares, strict=True)
                ],
            )
    measures = [*findings.measures, *([SUCCESS] if study.criteria else [])]
    html += (
        '<p>Rank correlation of inputs and measures, from -1 to 1, of texts from 0 to 1; grey '
        'where chance alone gives as much in one of twenty studies. What goes up and down again '
        'has none: see the charts, or the indices of the design saltelli.</p>'
    )
    lines = []
    for own in study.inputs:
        cells = [escape(own)]
        for measure in measures:
            found = findings.correlations[own, measure]
            text = '–' if found is None else f'{found.value:+.2f}'
            cells.append(
                f'<span style="color:#aaa">{text}</span>'
                if found is None or found.p > 0.05
                else f'<b>{text}</b>'
            )
        lines.append(cells)
    return html + _table(['input', *map(escape, measures)], lines)


def _worst(findings: SweepFindings, folder: Path, file: Path) -> str:
    study = findings.study
    by = findings.by
    order = f'least {by[1:]}' if by.startswith('-') else f'greatest {by}'
    lines = []
    for row in findings.worst:
        state = (
            row.status
            if row.status != DONE
            else ('' if row.success is None else 'succeeded' if row.success else 'did not succeed')
        )
        kind = 'bad' if row.status != DONE or row.success is False else 'good'
        lines.append(
            [
                str(row.run),
                f'<span class="{kind}">{state}</span>',
                *(_value(row.inputs.get(name)) for name in study.inputs),
                *(_value(row.measures.get(name)) for name in study.measures),
                f'<code>{row.state_hash[:12]}</code>',
                _replay(row.run, folder, file, study.source),
            ]
        )
    return (
        f'<p>Those that did not end or succeed first, then by the {escape(order)}.</p>'
        + _table(
            [
                'run',
                '',
                *map(escape, study.inputs),
                *map(escape, study.measures),
                'hash',
                'replay',
            ],
            lines,
            texts={1, 2 + len(study.inputs) + len(study.measures) + 1},
        )
    )


def _replay(run: int, folder: Path, file: Path, study: Path) -> str:
    """Return the links to a run's replay page and bag, or the command that makes them."""
    page, bag = replay_page(folder, run), replay_bag(folder, run)
    links = [
        f'<a href="{escape(_relative(path, file))}">{text}</a>'
        for path, text in ((page, 'play'), (bag, 'bag'))
        if path.exists()
    ]
    command = f'sim_bridge sweep replay {study} --run {run}'
    return ', '.join(links) or f'<code>{escape(command)}</code>'


def _relative(path: Path, file: Path) -> str:
    """Return a path as a link in a page."""
    import os
    from urllib.parse import quote

    return quote(os.path.relpath(path, file.resolve().parent))


def _figure(figure: Any, is_first: bool = False) -> str:
    """Return a figure for the page; the first one contains plotly."""
    figure.update_layout(template='plotly_white', margin={'l': 60, 'r': 20, 't': 50, 'b': 50})
    return str(
        figure.to_html(
            full_html=False,
            include_plotlyjs=is_first,
            config={'displaylogo': False, 'plotlyServerURL': '', 'showSendToCloud': False},
        )
    )


def _table(
    head: Sequence[str], rows: Sequence[Sequence[str]], texts: set[int] | None = None
) -> str:
    """Return a table; texts: left-aligned column indices."""

    def line(cells: Sequence[str], tag: str) -> str:
        return (
            '<tr>'
            + ''.join(
                f'<{tag}{" class=text" if texts and k in texts else ""}>{cell}</{tag}>'
                for k, cell in enumerate(cells)
            )
            + '</tr>'
        )

    return (
        f'<div class="wide"><table>{line(head, "th")}'
        f'{"".join(line(row, "td") for row in rows)}</table></div>'
    )


def _value(value: Any) -> str:
    if value is None:
        return '–'
    if isinstance(value, float):
        return _number(value)
    return escape(value if isinstance(value, str) else json.dumps(value))


def _number(value: float) -> str:
    return (
        f'{value:.5g}'
        if math.isfinite(value)
        else {math.inf: '∞', -math.inf: '-∞'}.get(value, '–')
    )
