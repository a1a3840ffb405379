"""Geometries that a query is about: those of a robot, a link, or one."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import is_series
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.link import Link
from sim_bridge.robots.robot import Robot

Body = Robot | Link | Geometry
"""What a query can be about: all geometries of a robot or a link, or one."""


def geometry_numbers(name: str, what: Body, world: Any) -> np.ndarray:
    """
    Return (n,) the numbers of the geometries of a robot, link or geometry of a world.

    Raises InvalidValueError, with the argument's name, for anything else.
    """
    robot = what if isinstance(what, Robot) else getattr(
        getattr(what, 'link', what), 'robot', None)
    if (not isinstance(what, Robot | Link | Geometry) or not isinstance(robot, Robot)
            or robot.simulation is not world.simulation):
        raise InvalidValueError(name, what, 'a robot, link or geometry of this world')
    own = [what] if isinstance(what, Geometry) else what.geometries
    return np.array([geometry.index for geometry in own], np.int64)


def numbers_of_all(name: str, what: Any, world: Any) -> np.ndarray:
    """Return the numbers of the geometries of one such thing, or of several; as above."""
    bodies = tuple(what) if is_series(what) else (what,)
    return np.concatenate([
        np.zeros(0, np.int64), *(geometry_numbers(name, one, world) for one in bodies)])
