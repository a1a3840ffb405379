"""Contents of a sweep study, as plain data and as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sim_bridge.cli.overview_text import MOST
from sim_bridge.description.yaml.overlay import path_text
from sim_bridge.foundation.errors import brief
from sim_bridge.foundation.names import counted
from sim_bridge.sweep.distributions import Distribution, Integers, Normal, Uniform
from sim_bridge.sweep.study import Study

Data = dict[str, Any]


def study_data(study: Study) -> Data:
    """Return a study's contents."""
    design = study.design
    return {
        'description': study.description,
        'design': design.kind,
        'seed': design.seed,
        'runs': design.count,
        'inputs': [
            {
                'name': name,
                'paths': [path_text(path) for path in each.paths],
                'distribution': type(each.distribution).__name__.lower(),
                **{
                    key: list(value) if isinstance(value, tuple) else value
                    for key, value in asdict(each.distribution).items()  # type: ignore[call-overload]
                },
                'told': _distribution_text(each.distribution),
            }
            for name, each in study.inputs.items()
        ],
        'measures': dict(study.measures),
        'criteria': {name: each.text for name, each in study.criteria.items()},
        'first': design.of(0),
    }


def study_text(study: Mapping[str, Any], most: int | None = MOST) -> str:
    """Return a study's data as text; most: lines per list, None for all."""
    lines = [
        *([study['description']] if study['description'] else []),
        f'design {study["design"]}: {counted(study["runs"], "run")}, seed {study["seed"]}',
        '',
        'inputs: where, values',
    ]
    lines += [
        f'  {each["name"]}  {", ".join(each["paths"])}: {each["told"]}'
        for each in study['inputs'][:most]
    ]
    lines += ['', 'measures', *(f'  {name}  {text}' for name, text in study['measures'].items())]
    if study['criteria']:
        lines += [
            '',
            'a run succeeds if',
            *(f'  {name}  {text}' for name, text in study['criteria'].items()),
        ]
    return '\n'.join(lines)


def _distribution_text(distribution: Distribution) -> str:
    """Return a distribution in words."""
    if isinstance(distribution, Uniform):
        kind = 'log-uniform' if distribution.is_log else 'uniform'
        return f'{kind} from {distribution.low:g} to {distribution.high:g}'
    if isinstance(distribution, Integers):
        return f'whole numbers from {distribution.low} to {distribution.high}'
    if isinstance(distribution, Normal):
        return f'normal, mean {distribution.mean:g}, deviation {distribution.deviation:g}'
    return f'one of {brief(list(getattr(distribution, "values", ())))}'
