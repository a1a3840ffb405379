"""First friction direction for two materials: an axis in a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.foundation.arrays import Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_vector

DirectionLike = tuple[Any, Vector]
"""(frame, axis), the argument of `direction_of`."""

_EXPECTED = (
    '(frame, axis): a link, geometry, robot or None for the world, or the names (robot, link); '
    'and 3 numbers'
)


class FrictionDirection(NamedTuple):
    """
    Unit vector (3,) in a link frame.

    robot, link: names; link None: the robot's root link; both None: the world frame.
    """

    robot: str | None
    link: str | None
    axis: tuple[float, ...]


def direction_of(value: Any, place: str) -> FrictionDirection:
    """
    Return the direction for (frame, axis), an argument of `ContactMaterial`.

    Raises InvalidValueError for any other value, and for a zero axis.
    """
    if isinstance(value, FrictionDirection):
        return value
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise InvalidValueError('direction', value, _EXPECTED, place)
    frame: Any = value[0]
    given = value[1]
    axis = _unit_vector(given, place)
    if frame is None:
        return FrictionDirection(None, None, axis)
    frame = getattr(frame, 'root_link', frame)
    if hasattr(frame, 'link'):
        # `frame` is a geometry: use the axis in its link's frame
        axis = tuple((frame.slot.shape.placed.rotation @ np.array(axis)).tolist())
        frame = frame.link
    names = (frame.robot.name, frame.name) if hasattr(frame, 'robot') else frame
    names = (names, None) if isinstance(names, str) else names
    if (
        not isinstance(names, Sequence)
        or len(names) != 2
        or not isinstance(names[0], str)
        or not isinstance(names[1], str | None)
    ):
        raise InvalidValueError('direction', value, _EXPECTED, place)
    return FrictionDirection(names[0], names[1], axis)


def _unit_vector(axis: Vector, place: str) -> tuple[float, ...]:
    vector = finite_vector('axis of direction', axis, 3, place)
    length = float(np.linalg.norm(vector))
    if not length > 0.0:
        raise InvalidValueError('axis of direction', axis, 'a vector of non-zero length', place)
    return tuple((vector / length).tolist())
