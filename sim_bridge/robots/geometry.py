"""A geometry: a shape that collides, on a link of a robot in a world."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from sim_bridge.engine.data.geometry import ENABLED, SENSOR
from sim_bridge.engine.data.geometry import Geometry as GeometryArrays
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.validation import finite_vector, name_set, truth
from sim_bridge.robots.interfaces import LinkInterface
from sim_bridge.shapes.materials import Material
from sim_bridge.shapes.shapes import Shape
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.slots import GeometrySlot


class Geometry(DeclaredAttributes):
    """
    A shape that collides.

    Its shape and place on the link are fixed; `enabled`, `sensor`, `material`, `groups` and
    `surface_velocity` can be changed at any time.
    """

    __slots__ = ('link', 'name', 'slot')
    internal_names = DeclaredAttributes.internal_names | {'index', 'slot'}

    def __init__(self, link: LinkInterface, slot: GeometrySlot):
        """Belong to a link; World makes geometries."""
        self.link = link
        self.name = slot.name
        self.slot = slot

    def __repr__(self) -> str:
        """Show the names."""
        kind = type(self.shape).__name__
        return f'<Geometry {self.name!r} ({kind}) of {self.link.robot.name!r}>'

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        robot = self.link.robot.name
        return f'robot {robot!r}, link {self.link.name!r}, geometry {self.name!r}'

    @property
    def shape(self) -> Shape:
        """What it fills."""
        return self.slot.shape.placed.shape

    @property
    def p(self) -> np.ndarray:
        """(3,) position of the shape's frame [m], world."""
        return self.link.p + self.link.R @ np.array(self.slot.shape.placed.position)

    @property
    def R(self) -> np.ndarray:
        """(3, 3) rotation of the shape's frame: takes vectors in its axes to world axes."""
        return self.link.R @ self.slot.shape.placed.rotation

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
        materials = self._simulation.materials
        return materials[list(materials)[self._arrays.material[self.index]]]

    @material.setter
    def material(self, value: Material | str) -> None:
        self._arrays.material[self.index] = self._simulation.materials.number(value)
        self._simulation.invalidate()

    @property
    def groups(self) -> frozenset[str]:
        """Names of the collision groups it belongs to; to be set."""
        return self.slot.groups

    @groups.setter
    def groups(self, value: Iterable[str]) -> None:
        self.slot.groups = name_set('groups', value, self.place)
        self._simulation.regroup()

    @property
    def surface_velocity(self) -> np.ndarray:
        """(3,) of its surface relative to the link [m/s], the shape's axes; to be set."""
        return self._arrays.belt[self.index].copy()

    @surface_velocity.setter
    def surface_velocity(self, value: Sequence[float]) -> None:
        velocity = finite_vector('surface_velocity', value, 3, self.place)
        self._arrays.belt[self.index] = velocity
        self._simulation.invalidate()

    @property
    def index(self) -> int:
        """Number among the world's geometries."""
        self._simulation.settle()
        return self.slot.index

    @property
    def _simulation(self) -> Simulation:
        return self.link.robot.simulation

    @property
    def _arrays(self) -> GeometryArrays:
        return self.link.robot.simulation.geometry

    def _flag(self, bit: int) -> bool:
        return bool(self._arrays.flags[self.slot.index] & bit)

    def _set_flag(self, bit: int, value: bool) -> None:
        flags, index = self._arrays.flags, self.slot.index
        flags[index] = flags[index] | bit if value else flags[index] & ~bit
        # what rests on it must not sleep on
        self._simulation.invalidate()
