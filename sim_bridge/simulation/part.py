"""
One robot's arrays: its slice of the simulation's arrays, or separate arrays.

A robot starts with separate arrays (`own_part`), so the cost for adding robots is linear in
their number. `assembly` concatenates them when they are needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.compilation.compile import Blueprint
from sim_bridge.engine.data.model import body_count, Model, model_sizes
from sim_bridge.engine.data.parts import arrays_of, make, rows_of
from sim_bridge.engine.data.state import DISABLED, make_state, State
from sim_bridge.engine.pipeline.join import Offsets

_OF_ROBOT = ('nb', 'nq', 'nv', 'nu')
"""Dimensions along which a robot's numbers are a slice of the world's numbers."""
_STATE = {field: along for field, along in rows_of(State).items() if along in _OF_ROBOT}
_OF_START = ('q', 'v', 'v_left', 'hold', 'activation')
_PARAMETERS = {
    field: along
    for field, along in rows_of(Model).items()
    if arrays_of(Model)[field].dims.is_parameter
}


class Part(NamedTuple):
    """A robot's numbers: those in `model` and `state`, from the offsets `at` on."""

    model: Model
    state: State
    at: Offsets


def own_part(compiled: Model) -> Part:
    """Return arrays for a robot alone, at rest, with its own parameters."""
    return Part(with_own_parameters(compiled), make_state(compiled), Offsets(0, 0, 0))


def with_own_parameters(model: Model) -> Model:
    """Return a model with copies of a robot's changeable parameters."""
    return model._replace(**{field: getattr(model, field).copy() for field in _PARAMETERS})


def start_part(part: Part, own: Model) -> Part:
    """
    Copy a robot's start: configuration, velocities, activations, holds and parameters.

    Bodies stay disabled.

    Efforts, controls and the last step's results are left out; its own model gives the sizes.
    """
    counts = model_sizes(own)
    stretches = {along: (part.at.along(along), 0, counts[along]) for along in _OF_ROBOT}
    blank = _at_rest(tuple(counts.items()))
    state = blank._replace(
        **{field: getattr(blank, field).copy() for field in (*_OF_START, 'idle')}
    )
    start = Part(with_own_parameters(own), state, Offsets(0, 0, 0))
    _carry({field: _STATE[field] for field in _OF_START}, part.state, start.state, stretches)
    _carry(_PARAMETERS, part.model, start.model, stretches)
    idle = part.state.idle[part.at.body :][: counts['nb']]
    start.state.idle[idle == DISABLED] = DISABLED
    return start


@lru_cache(maxsize=256)
def _at_rest(sizes: tuple[tuple[str, int], ...]) -> State:
    """Return a robot's state of zeros, for all robots with these model sizes; read-only."""
    state = make(State, {**dict(sizes), 'nc': 0, 'nk': 0, 'na': 0, 'nw': 0})
    for array in state:
        array.flags.writeable = False
    return state


def is_at_start(part: Part, start: Part, own: Model) -> bool:
    """Return whether a robot has the configuration and the velocities of its start."""
    counts = model_sizes(own)
    return all(
        np.array_equal(
            getattr(part.state, field)[part.at.along(along) :][: counts[along]],
            getattr(start.state, field),
        )
        for field, along in (('q', 'nq'), ('v', 'nv'))
    )


def view_part(part: Part, own: Model) -> Part:
    """Return a robot alone, with views into its present state and changeable parameters."""
    counts = model_sizes(own)

    def views(fields: Mapping[str, str], source: NamedTuple) -> dict[str, Any]:
        return {
            field: getattr(source, field)[part.at.along(along) :][: counts[along]]
            for field, along in fields.items()
            if along in _OF_ROBOT
        }

    return Part(
        own._replace(**views(_PARAMETERS, part.model)),
        make_state(own)._replace(**views(_STATE, part.state)),
        Offsets(0, 0, 0),
    )


def carry_over(own: Model, source: Part, target: Part) -> None:
    """Copy one robot's state and parameters to another place; `own` gives the sizes."""
    counts = model_sizes(own)
    stretches = {
        along: (source.at.along(along), target.at.along(along), counts[along])
        for along in _OF_ROBOT
    }
    _carry(_STATE, source.state, target.state, stretches)
    _carry(_PARAMETERS, source.model, target.model, stretches)


def carry_bodies(own: Model, source: Part, target: Part) -> None:
    """Copy one robot's body rows to another place; `own` gives their number."""
    stretch = source.at.body, target.at.body, body_count(own)
    _carry(_STATE, source.state, target.state, {'nb': stretch})


def _carry(
    fields: Mapping[str, str],
    source: NamedTuple,
    target: NamedTuple,
    stretches: Mapping[str, tuple[int, int, int]],
) -> None:
    """Copy array slices; stretches: first source row, target row and count by dimension."""
    for field, along in fields.items():
        if along in stretches:
            start, to, count = stretches[along]
            getattr(target, field)[to : to + count] = getattr(source, field)[start : start + count]


def move_over(old: Blueprint, source: Part, new: Blueprint) -> Part:
    """
    Return arrays for a robot with a changed base mount or base motion type.

    The joints' coordinates and parameters are unchanged, the base's are zero.
    """
    part, counts = own_part(new.model), model_sizes(new.model)
    stretches = {
        'nq': (source.at.q + old.first_q, new.first_q, counts['nq'] - new.first_q),
        'nv': (source.at.v + old.first_v, new.first_v, counts['nv'] - new.first_v),
        'nu': (source.at.actuator, 0, counts['nu']),
    }
    _carry(_STATE, source.state, part.state, stretches)
    _carry(_PARAMETERS, source.model, part.model, stretches)
    return part
