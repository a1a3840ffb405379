"""A geometry: a shape that collides, on a link of a robot in a world."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from sim_bridge.engine.collision.build import GeometryRecord
from sim_bridge.engine.data.geometry import ENABLED, SENSOR, STATIC
from sim_bridge.foundation.validation import finite_vector, name_set, truth
from sim_bridge.shapes.shape_records import shape_record

if TYPE_CHECKING:
    from sim_bridge.compilation.compile import BodyShape
    from sim_bridge.engine.data import geometry as collision
    from sim_bridge.robots.link import Link
    from sim_bridge.shapes.materials import Material
    from sim_bridge.shapes.shapes import Shape


class GeometrySettings(NamedTuple):
    """What of geometries can be changed: rows of the arrays of the engine's Geometry."""

    flags: np.ndarray
    material: np.ndarray
    belt: np.ndarray
    track: np.ndarray


def settings_in(geometry: collision.Geometry, rows: slice) -> GeometrySettings:
    """Return the settings in some rows, which stay up to date."""
    return GeometrySettings(
        *(getattr(geometry, field)[rows] for field in GeometrySettings._fields))


class Geometry:
    """
    A shape that collides.

    Its shape and place on the link are fixed; `enabled`, `sensor`, `material`, `groups` and
    `surface_velocity` can be changed at any time.
    """

    def __init__(self, link: Link, name: str, body_shape: BodyShape, number: int):
        """Belong to a link; World makes geometries. number: among the robot's."""
        self.link = link
        self.name = name
        self.put_on(body_shape)
        self._number = number
        self._groups = self._placed.groups

    def __repr__(self) -> str:
        """Show the names."""
        kind = type(self.shape).__name__
        return f'<Geometry {self.name!r} ({kind}) of {self.link.robot.name!r}>'

    def put_on(self, body_shape: BodyShape) -> None:
        """Belong to another body, since the robot was compiled anew."""
        self._placed, self._body = body_shape.placed, body_shape.body
        self._rotation, self._position = body_shape.rotation, body_shape.position

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        robot = self.link.robot.name
        return f'robot {robot!r}, link {self.link.name!r}, geometry {self.name!r}'

    @property
    def shape(self) -> Shape:
        """What it fills."""
        return self._placed.shape

    @property
    def p(self) -> np.ndarray:
        """(3,) position of the shape's frame [m], world."""
        return self.link.p + self.link.R @ np.array(self._placed.position)

    @property
    def R(self) -> np.ndarray:
        """(3, 3) rotation of the shape's frame: takes vectors in its axes to world axes."""
        return self.link.R @ self._placed.rotation

    @property
    def enabled(self) -> bool:
        """Whether it touches anything; to be set."""
        return self._flag(ENABLED)

    @enabled.setter
    def enabled(self, value: bool) -> None:
        self._set_flag(ENABLED, truth('enabled', value, self.place))

    @property
    def sensor(self) -> bool:
        """Whether its contacts are reported, but push nothing; to be set."""
        return self._flag(SENSOR)

    @sensor.setter
    def sensor(self, value: bool) -> None:
        self._set_flag(SENSOR, truth('sensor', value, self.place))

    @property
    def material(self) -> Material:
        """What it is made of; to be set by a material or its name."""
        materials = self._world.materials
        return materials[list(materials)[self._world.geometry.material[self.index]]]

    @material.setter
    def material(self, value: Material | str) -> None:
        self._world.geometry.material[self.index] = self._world.materials.number(value)
        self._world.invalidate()

    @property
    def groups(self) -> frozenset[str]:
        """Names of the collision groups it belongs to; to be set."""
        return self._groups

    @groups.setter
    def groups(self, value: Iterable[str]) -> None:
        self._groups = name_set('groups', value, self.place)
        self._world.regroup()

    @property
    def surface_velocity(self) -> np.ndarray:
        """(3,) of its surface relative to the link [m/s], the shape's axes; to be set."""
        return self._world.geometry.belt[self.index].copy()

    @surface_velocity.setter
    def surface_velocity(self, value: Sequence[float]) -> None:
        velocity = finite_vector('surface_velocity', value, 3, self.place)
        self._world.geometry.belt[self.index] = velocity
        self._world.invalidate()

    # --- for World -------------------------------------------------------------------------------

    @property
    def index(self) -> int:
        """Number among the world's geometries."""
        self._world.settle()
        return self.link.robot.first_geometry + self._number

    def record(self) -> GeometryRecord:
        """Describe it to the engine as it is now, on its body in the world, without groups."""
        robot, placed = self.link.robot, self._placed
        flags = (ENABLED if placed.enabled else 0) | (SENSOR if placed.sensor else 0)
        material, belt = self._world.materials.number(placed.material), placed.surface_velocity
        crawler, axis, speed = self.link.crawler, np.zeros(3), 0.0
        if crawler is not None:
            axis = np.array(placed.rotation).T @ crawler.axis
        known = robot.known_geometry
        if known is not None:
            row = self._number
            flags, material = known.flags[row] & (ENABLED | SENSOR), known.material[row]
            belt, speed = known.belt[row].copy(), known.track[row, 3]
        return shape_record(
            placed.shape, rotation=self._rotation, position=self._position,
            body=robot.part.at.body + self._body, material=int(material),
            flags=int(flags) | (STATIC if robot.immobile[self._body] else 0), belt=belt,
            track=(*axis, speed), direction=placed.friction_direction or (0.0, 0.0, 0.0),
            name=self.name)

    @property
    def _world(self):
        return self.link.robot.world

    def _flag(self, bit: int) -> bool:
        return bool(self._world.geometry.flags[self.index] & bit)

    def _set_flag(self, bit: int, value: bool) -> None:
        flags = self._world.geometry.flags
        flags[self.index] = flags[self.index] | bit if value else flags[self.index] & ~bit
        # what rests on it must not sleep on
        self._world.invalidate()
