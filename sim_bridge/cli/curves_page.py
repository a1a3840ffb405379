"""Curves as one self-contained page with its data and plotly."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from sim_bridge.cli.curves import labelled, Panel

_HEIGHT = 320  # panel height [pixels]
_MOST_SVG = 20_000  # most points drawn as SVG; larger pages use WebGL


def write_page(panels: Sequence[Panel], title: str, file: Path) -> None:
    """Write curves to an HTML file; the caller has checked for plotly. Raises OSError."""
    from plotly.graph_objects import Scatter, Scattergl
    from plotly.subplots import make_subplots

    curves = [curve for panel in panels for curve in panel.curves]
    kind = Scatter if sum(len(curve.times) for curve in curves) <= _MOST_SVG else Scattergl
    figure = make_subplots(
        rows=len(panels),
        shared_xaxes=True,
        vertical_spacing=0.12 / len(panels),
        subplot_titles=[panel.name for panel in panels],
    )
    for row, panel in enumerate(panels, 1):
        for curve in panel.curves:
            figure.add_trace(
                kind(
                    x=curve.times,
                    y=curve.values,
                    name=curve.name,
                    mode='lines',
                    legend='legend' if row == 1 else f'legend{row}',
                ),
                row=row,
                col=1,
            )
        top = figure.layout['yaxis' if row == 1 else f'yaxis{row}'].domain[1]
        figure.layout['legend' if row == 1 else f'legend{row}'] = {'y': top, 'yanchor': 'top'}
    for first, last, unit in labelled(panels):
        if first == last:
            figure.update_yaxes(title_text=f'[{unit}]', row=last + 1)
            continue
        # one label for all of them, halfway
        ends = [
            figure.layout['yaxis' if row == 0 else f'yaxis{row + 1}'].domain
            for row in (first, last)
        ]
        figure.add_annotation(
            text=f'[{unit}]',
            textangle=-90,
            showarrow=False,
            xref='paper',
            yref='paper',
            x=0.0,
            xanchor='right',
            xshift=-45,
            y=0.5 * (ends[0][1] + ends[1][0]),
        )
    figure.update_xaxes(title_text='time [s]', row=len(panels))
    figure.update_layout(
        title_text=title,
        height=120 + _HEIGHT * len(panels),
        hovermode='x unified',
        template='plotly_white',
        showlegend=True,
    )
    page = figure.to_html(
        include_plotlyjs=True,
        config={
            'displaylogo': False,
            'scrollZoom': True,
            'plotlyServerURL': '',
            'showSendToCloud': False,
        },
    )
    page = page.replace('<head>', f'<head><title>{escape(title)}</title>', 1)
    file.write_text(page, encoding='utf-8')
