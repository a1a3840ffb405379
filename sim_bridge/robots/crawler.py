"""Robot crawler in a world: a link with a moving surface."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from sim_bridge.description.model import CrawlerDescription
from sim_bridge.engine.data.geometry import TRACK_SPEED
from sim_bridge.foundation.arrays import FloatArray, Number
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import StateError
from sim_bridge.foundation.validation import finite_vector
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.owners import Link, Robot


class Crawler(DeclaredAttributes):
    """
    A continuous track or conveyor belt, after Choreonoid's pseudo continuous track.

    The link itself does not move. At a contact with outward normal n, its surface moves along
    axis × n at `speed`, whatever the load; if n is along the axis (at the track's sides), it does
    not move. If the material's friction depends on the direction, its first direction is the
    direction of motion, unless the geometry has its own.
    """

    __slots__ = ('_geometries', 'description', 'link', 'name')

    def __init__(self, link: Link, geometries: list[Geometry], description: CrawlerDescription):
        """Make the view of a link's crawler; only robots call this. geometries: the link's."""
        self.link: Final = link
        self.description: Final = description
        self.name: Final = description.name
        self._geometries = geometries

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the arguments for pickles and copies: the robot and the crawler's name."""
        return _crawler_of, (self.link.robot, self.name)

    def __repr__(self) -> str:
        """Show crawler and robot name."""
        return f'<Crawler {self.name!r} of {self.link.robot.name!r}>'

    @property
    def place(self) -> str:
        """Robot and crawler name, for messages."""
        return f'robot {self.link.robot.name!r}, crawler {self.name!r}'

    @property
    def can_run(self) -> bool:
        """Whether the link has a geometry; otherwise the speed has no effect."""
        return bool(self._geometries)

    @property
    def axis(self) -> FloatArray:
        """(3,) unit vector along the rotation axis, link frame."""
        return np.array(self.description.axis)

    @property
    def speed(self) -> float:
        """
        Surface speed [m/s]; 0 at the start and after `World.reset`; can be set.

        Setting it raises InvalidValueError unless given a finite number, and StateError for a link
        without collision geometry.
        """
        if not self._geometries:
            return 0.0
        return float(self._tracks[self._geometries[0].index, TRACK_SPEED])

    @speed.setter
    def speed(self, value: Number) -> None:
        speed = finite_vector('speed', value, 1, self.place, 'a finite number [m/s]')[0]
        if speed == self.speed:
            return
        if not self._geometries:
            raise StateError(
                f'speed of {self.place}: link {self.link.name!r} touches nothing: it has no '
                "geometry. Give it a collision element, or load it with collisions='hull'"
            )
        simulation = self.link.robot.simulation
        rows = [geometry.index for geometry in self._geometries]
        # also wakes bodies resting on it
        simulation.write(simulation.cache.geometry, 'track', (rows, TRACK_SPEED), speed)

    @property
    def center(self) -> FloatArray:
        """(3,) mean geometry position [m], world; the link's origin without geometries."""
        if not self._geometries:
            return self.link.p
        return np.mean([geometry.p for geometry in self._geometries], axis=0)

    @property
    def _tracks(self) -> FloatArray:
        return self.link.robot.simulation.cache.geometry.track


def _crawler_of(robot: Robot, name: str) -> Any:
    return robot.crawler(name)
