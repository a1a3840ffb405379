"""Arguments of contact queries and exclusions: robots, links and geometries."""

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
"""Query argument: a geometry, or a link or robot for all its geometries."""


def geometries_of(name: str, what: object, world: World) -> list[Geometry]:
    """
    Return a geometry itself as a list, or all geometries on a robot or link.

    name: argument name for the InvalidValueError, raised for objects not in this world.
    """
    if isinstance(what, Geometry) and what.link.robot.world is world:
        return [what]
    if isinstance(what, Link) and what.robot.world is world:
        return what.geometries
    if isinstance(what, Robot) and what.world is world:
        return what.geometries
    raise InvalidValueError(name, what, 'a robot, link or geometry of this world')


def geometry_numbers(name: str, what: object, world: World) -> np.ndarray:
    """Return (n,) geometry indices of a robot, link or geometry; see `geometries_of`."""
    return np.array([geometry.index for geometry in geometries_of(name, what, world)], np.int64)


def exclude(world: World, a: object, b: object, is_excluded: bool) -> None:
    """Exclude contacts between two links or two geometries; see `World.exclude`."""
    for name, what in (('a', a), ('b', b)):
        if not isinstance(what, Link | Geometry):
            raise InvalidValueError(name, what, 'a link or a geometry of this world')
        geometries_of(name, what, world)
    if isinstance(a, Link) and isinstance(b, Link):
        world.simulation.registry.separate(a.slot, b.slot, is_excluded)
    elif isinstance(a, Geometry) and isinstance(b, Geometry) and a is not b:
        world.simulation.registry.keep_apart(a.slot, b.slot, is_excluded)
    else:
        raise InvalidValueError('b', b, 'another geometry if a is one, or a link if a is a link')


def numbers_of_all(name: str, what: Any, world: World) -> np.ndarray:
    """Return (n,) geometry indices of one or several bodies; see `geometries_of`."""
    bodies = tuple(what) if is_series(what) else (what,)
    return np.concatenate(
        [np.zeros(0, np.int64), *(geometry_numbers(name, one, world) for one in bodies)]
    )
