"""A crawler of a robot in a world: a link with a moving surface."""

from __future__ import annotations

import numpy as np

from sim_bridge.description.model import CrawlerDescription
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import StateError
from sim_bridge.foundation.validation import finite_vector
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.interfaces import LinkInterface
from sim_bridge.simulation.geometry_settings import SPEED


class Crawler(DeclaredAttributes):
    """
    A continuous track, or a belt that goes round: Choreonoid's pseudo continuous track.

    The link itself keeps its shape and place. At a contact with the outward normal n its surface
    runs along axis × n at `speed`, which no load slows down; where n is along the axis, at the
    track's sides, it does not run. Where the material's friction differs by direction, the
    first is the one the track runs in, unless the geometry names its own.
    """

    __slots__ = ('_geometries', 'description', 'link', 'name')

    def __init__(
        self, link: LinkInterface, geometries: list[Geometry], description: CrawlerDescription
    ):
        """Let a link's surface run; robots make crawlers. geometries: those of the link."""
        self.link = link
        self.description = description
        self.name = description.name
        self._geometries = geometries

    def __repr__(self) -> str:
        """Show the names."""
        return f'<Crawler {self.name!r} of {self.link.robot.name!r}>'

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return f'robot {self.link.robot.name!r}, crawler {self.name!r}'

    @property
    def can_run(self) -> bool:
        """Whether its link has geometry; a speed would move nothing without."""
        return bool(self._geometries)

    @property
    def axis(self) -> np.ndarray:
        """(3,) unit vector about which the surface runs, in the link's frame."""
        return np.array(self.description.axis)

    @property
    def speed(self) -> float:
        """
        How fast the surface runs [m/s], 0 at first and after `World.reset`; to be set.

        Raises InvalidValueError for what is no finite number, and StateError where the link has no
        geometry, which no speed could move.
        """
        if not self._geometries:
            return 0.0
        return float(self._tracks[self._geometries[0].index, SPEED])

    @speed.setter
    def speed(self, value: float) -> None:
        speed = finite_vector('speed', value, 1, self.place, 'a finite number [m/s]')[0]
        if speed == self.speed:
            return
        if not self._geometries:
            raise StateError(
                f'speed of {self.place}: link {self.link.name!r} touches nothing, since it has no '
                "geometry. Give it a collision element, or load it with collisions='hull'")
        for geometry in self._geometries:
            self._tracks[geometry.index, SPEED] = speed
        # what rests on it must not sleep on
        self.link.robot.simulation.invalidate()

    @property
    def center(self) -> np.ndarray:
        """(3,) mean of the places of its link's geometries [m], world; else the link's origin."""
        if not self._geometries:
            return self.link.p
        return np.mean([geometry.p for geometry in self._geometries], axis=0)

    @property
    def _tracks(self) -> np.ndarray:
        return self.link.robot.simulation.geometry.track
