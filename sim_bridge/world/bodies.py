"""What queries and exclusions of contacts are about: robots, links and geometries."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import is_series
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.link import Link
from sim_bridge.robots.owners import World
from sim_bridge.robots.robot import Robot

Body = Robot | Link | Geometry
"""What a query can be about: all geometries of a robot or a link, or one."""


def geometries_of(name: str, what: object, world: World) -> list[Geometry]:
    """
    Return a geometry itself, or all of a robot or link.

    name: of the argument, for the InvalidValueError of what is no such thing of this world.
    """
    if isinstance(what, Geometry) and what.link.robot.world is world:
        return [what]
    if isinstance(what, Link) and what.robot.world is world:
        return what.geometries
    if isinstance(what, Robot) and what.world is world:
        return what.geometries
    raise InvalidValueError(name, what, 'a robot, link or geometry of this world')


def geometry_numbers(name: str, what: object, world: World) -> np.ndarray:
    """Return (n,) the numbers of the geometries of a robot or link, or that of one; as above."""
    return np.array([geometry.index for geometry in geometries_of(name, what, world)], np.int64)


def exclude(world: World, a: object, b: object, is_excluded: bool) -> None:
    """Exclude contacts between two links or geometries; as `World.exclude`."""
    for name, what in (('a', a), ('b', b)):
        if not isinstance(what, Link | Geometry):
            raise InvalidValueError(name, what, 'a link or a geometry of this world')
        geometries_of(name, what, world)
    if isinstance(a, Link) and isinstance(b, Link):
        world.simulation.registry.separate(a.slot, b.slot, is_excluded)
    elif isinstance(a, Geometry) and isinstance(b, Geometry) and a is not b:
        world.simulation.registry.keep_apart(a.slot, b.slot, is_excluded)
    else:
        raise InvalidValueError('b', b, 'another geometry if a is one, a link if a is a link')


def numbers_of_all(name: str, what: Any, world: World) -> np.ndarray:
    """Return the numbers of the geometries of one such thing, or of several; as above."""
    bodies = tuple(what) if is_series(what) else (what,)
    return np.concatenate(
        [np.zeros(0, np.int64), *(geometry_numbers(name, one, world) for one in bodies)]
    )
