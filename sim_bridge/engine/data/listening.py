"""Contact listeners: their subscriptions, and the contact events in the current step."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import IntMatrix, IntVector
from sim_bridge.engine.data.parts import Dims, make

# contact events between geometries: bits in Listening.wanted
IMPACT, CONTACT, SEPARATION = 1, 2, 4
# bits in Listening.side: a geometry is on the listener's first or second side
FIRST, SECOND = 1, 2
# entry in Listening.size: number of pairs that separated
ENDED = 0


class Listening(NamedTuple):
    """Contact listeners, and events of the current step's contacts, sorted by pair."""

    call: Annotated[IntVector, Dims(2)]
    """STAGE and CALLBACK, as in `fields`: address of this stage, and of the Python callback."""
    wanted: Annotated[IntVector, Dims('ne')]
    """Bits IMPACT, CONTACT, SEPARATION."""
    side: Annotated[IntMatrix, Dims('ne', 'heard')]
    """Bits FIRST, SECOND."""
    event: Annotated[IntVector, Dims('heard_pairs')]
    """IMPACT or CONTACT, at the first contact of each wanted pair; 0 elsewhere."""
    keep: Annotated[IntVector, Dims('heard_pairs')]
    """1 for each contact; listeners write 0 to remove a contact."""
    size: Annotated[IntVector, Dims(1)]
    """Entry ENDED: number of rows in `ended`."""
    ended: Annotated[IntMatrix, Dims('heard_pairs', 2, points_at='ng')]
    """Wanted pairs that touched in the last step and no longer touch."""


def make_listening(sides: np.ndarray, wanted: np.ndarray, room: int) -> Listening:
    """Return the listeners' part; sides: (ne, ng), wanted: (ne,), room: contact capacity."""
    sizes = {
        'ne': sides.shape[0],
        'heard': sides.shape[1],
        'heard_pairs': room if sides.shape[0] else 0,
    }
    return make(Listening, sizes, side=sides, wanted=wanted)


def no_listening() -> Listening:
    """Return the listeners' part of a world without listeners."""
    return make_listening(np.zeros((0, 0), np.int64), np.zeros(0, np.int64), 0)
