"""Listeners to contacts: what they want to hear, and what there was in the present step."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import IntMatrix, IntVector
from sim_bridge.engine.data.parts import Dims, make

# what happens to a pair of geometries: bits of Listening.wanted
IMPACT, CONTACT, SEPARATION = 1, 2, 4
# bits of Listening.side: a geometry is on the first side of a listener, on the second
FIRST, SECOND = 1, 2
# entries of Listening.size: pairs that separated
ENDED = 0


class Listening(NamedTuple):
    """Listeners to contacts. Contacts are those of the present step, sorted by pair."""

    call: Annotated[IntVector, Dims(2)]
    """STAGE and CALLBACK as of `fields`: of this stage, and what calls functions of Python."""
    wanted: Annotated[IntVector, Dims('ne')]
    """IMPACT, CONTACT, SEPARATION, as bits."""
    side: Annotated[IntMatrix, Dims('ne', 'heard')]
    """FIRST, SECOND, as bits."""
    event: Annotated[IntVector, Dims('heard_pairs')]
    """Of the first contact of each pair that is wanted IMPACT or CONTACT; 0 of others."""
    keep: Annotated[IntVector, Dims('heard_pairs')]
    """1 for each contact; listeners set 0 for those to remove."""
    size: Annotated[IntVector, Dims(1)]
    """ENDED."""
    ended: Annotated[IntMatrix, Dims('heard_pairs', 2, points_at='ng')]
    """Pairs that touched in the last step, do not now, and are wanted."""


def make_listening(sides: np.ndarray, wanted: np.ndarray, room: int) -> Listening:
    """Return the part of listeners; sides: (ne, ng), wanted: (ne,), room: for contacts."""
    sizes = {
        'ne': sides.shape[0],
        'heard': sides.shape[1],
        'heard_pairs': room if sides.shape[0] else 0,
    }
    return make(Listening, sizes, side=sides, wanted=wanted)


def no_listening() -> Listening:
    """Return the part of a world without listeners."""
    return make_listening(np.zeros((0, 0), np.int64), np.zeros(0, np.int64), 0)
