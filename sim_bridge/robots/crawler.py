"""A crawler of a robot in a world: a link whose surface runs around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.foundation.errors import StateError
from sim_bridge.foundation.validation import finite_vector

if TYPE_CHECKING:
    from sim_bridge.description.model import CrawlerDescription
    from sim_bridge.robots.link import Link

# column of Geometry.track
_SPEED = 3


class Crawler:
    """
    A continuous track, or a belt that goes round: Choreonoid's pseudo continuous track.

    The link itself keeps its shape and place. At a contact with the outward normal n its surface
    runs along axis × n at `speed`, which no load slows down; where n is along the axis, at the
    track's sides, it does not run. Where the material's friction differs by direction, the
    first is the one the track runs in, unless the geometry names its own.
    """

    def __init__(self, link: Link, description: CrawlerDescription):
        """Let a link's surface run; robots make crawlers."""
        self.link = link
        self.description = description
        self.name = description.name
        link.crawler = self

    def __repr__(self) -> str:
        """Show the names."""
        return f'<Crawler {self.name!r} of {self.link.robot.name!r}>'

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return f'robot {self.link.robot.name!r}, crawler {self.name!r}'

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
        geometries = self.link.geometries
        if not geometries:
            return 0.0
        return float(self._tracks[geometries[0].index, _SPEED])

    @speed.setter
    def speed(self, value: float) -> None:
        speed = finite_vector('speed', value, 1, self.place, 'a finite number [m/s]')[0]
        if speed == self.speed:
            return
        if not self.link.geometries:
            raise StateError(
                f'speed of {self.place}: link {self.link.name!r} touches nothing, since it has no '
                "geometry. Give it a collision element, or load it with collisions='hull'")
        for geometry in self.link.geometries:
            self._tracks[geometry.index, _SPEED] = speed
        # what rests on it must not sleep on
        self.link.robot.world.invalidate()

    @property
    def center(self) -> np.ndarray:
        """(3,) mean of the places of its link's geometries [m], world; else the link's origin."""
        geometries = self.link.geometries
        if not geometries:
            return self.link.p
        return np.mean([geometry.p for geometry in geometries], axis=0)

    @property
    def _tracks(self) -> np.ndarray:
        return self.link.robot.world.geometry.track
