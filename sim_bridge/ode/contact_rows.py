"""User contacts of one step, in the engine's format."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.ode.mass import Triple
from sim_bridge.shapes.material import ContactMaterial
from sim_bridge.simulation.user_contacts import user_contact_impulses, UserContactArrays

_ANY = (0.0, 0.0, 0.0)


class ContactRow(NamedTuple):
    """
    Valid contact: two geometry indices, and the fields of a `UserContact`.

    The contact joint checks it once: a world may have thousands of contacts in each step.
    """

    a: int
    b: int
    point: Triple
    normal: Triple
    depth: float
    direction: Triple | None
    material: ContactMaterial


def user_contact_arrays(simulation: Any, rows: list[ContactRow]) -> Any:
    """Return checked contacts for `World.step`."""
    if not rows:
        return ()
    numbers: dict[ContactMaterial, int] = {}
    # most rows share few materials; hashing a material is slower than comparing identities
    known: dict[int, int] = {}
    for row in rows:
        if id(row.material) not in known:
            known[id(row.material)] = numbers.setdefault(row.material, len(numbers))
    motions = np.array([(each.motion or 0.0, each.motion2 or 0.0) for each in numbers])
    law = np.array([known[id(row.material)] for row in rows])
    return UserContactArrays(
        np.array([(row.a, row.b) for row in rows], np.int64),
        np.array([row.point for row in rows]),
        np.array([row.normal for row in rows]),
        np.array([-row.depth for row in rows]),
        np.array([row.direction or _ANY for row in rows]),
        motions[law],
        law,
        np.array([simulation.registry.materials.law_of(each) for each in numbers]),
    )


def forces_of(simulation: Any, rows: list[ContactRow]) -> FloatArray:
    """Return (m, 6) force on the first geometry [N], torque about the point, in the last step."""
    pairs = [(row.a, row.b) for row in rows]
    return user_contact_impulses(simulation.cache.state, pairs) / simulation.run.time_step
