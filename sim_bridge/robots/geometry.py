"""A geometry: a shape that collides, on a link of a robot in a world."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from sim_bridge.engine.data.geometry import ENABLED, SENSOR, STATIC
from sim_bridge.engine.data.geometry import Geometry as GeometryArrays
from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly, Settable
from sim_bridge.foundation.validation import finite_vector, name_set, truth
from sim_bridge.robots.owners import Link, Robot
from sim_bridge.shapes.materials import Material
from sim_bridge.shapes.shapes import Shape
from sim_bridge.simulation.simulation import Dirty, Simulation
from sim_bridge.simulation.slots import GeometrySlot


def _flag(name: str, bit: int, doc: str) -> Settable[bool, bool]:
    """Return the property of a bit of a geometry's flags."""
    def read(geometry: Geometry) -> bool:
        return bool(geometry._arrays.flags[geometry.slot.index] & bit)

    def write(geometry: Geometry, value: object) -> None:
        is_set = truth(name, value, geometry.place)
        flags, index = geometry._arrays.flags, geometry.slot.index
        flags[index] = flags[index] | bit if is_set else flags[index] & ~bit
        if bit == SENSOR and flags[index] & STATIC:
            # it may need other stages
            geometry._simulation.mark(Dirty.STEPPER)
        # wake what rests on it
        geometry._simulation.invalidate()

    return Settable(read, write, doc=doc)


class Geometry(DeclaredAttributes):
    """
    A shape that collides.

    Its shape and place on the link are fixed; `enabled`, `sensor`, `material`, `groups` and
    `surface_velocity` can be changed at any time.
    """

    __slots__ = ('link', 'name', 'slot')
    internal_names = DeclaredAttributes.internal_names | {'index', 'slot'}

    def __init__(self, link: Link, slot: GeometrySlot):
        """Show a slot of a link; World makes geometries."""
        self.link: Final = link
        self.name: Final = slot.name
        self.slot = slot

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what a pickle or a copy keeps: the robot, and the number on it."""
        return _geometry_of, (self.link.robot, self.slot.number)

    def __repr__(self) -> str:
        """Show the names."""
        kind = type(self.shape).__name__
        return f'<Geometry {self.name!r} ({kind}) of {self.link.robot.name!r}>'

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        robot = self.link.robot.name
        return f'robot {robot!r}, link {self.link.name!r}, geometry {self.name!r}'

    shape = ReadOnly[Shape]('slot.shape.placed.shape', 'The shape.')

    @property
    def p(self) -> FloatArray:
        """(3,) position of the shape's frame [m], world."""
        return self.link.p + self.link.R @ np.array(self.slot.shape.placed.position)

    @property
    def R(self) -> FloatArray:
        """(3, 3) rotation of the shape's frame: takes vectors in its axes to world axes."""
        return self.link.R @ self.slot.shape.placed.rotation

    enabled = _flag('enabled', ENABLED, 'Whether it collides at all; can be set.')
    sensor = _flag(
        'sensor', SENSOR, 'Whether its contacts are reported without forces; can be set.')

    @property
    def material(self) -> Material:
        """Its material; can be set to a material or the name of one."""
        materials = self._simulation.materials
        return materials[list(materials)[self._arrays.material[self.index]]]

    @material.setter
    def material(self, value: Material | str) -> None:
        self._arrays.material[self.index] = self._simulation.materials.number(value)
        self._simulation.invalidate()

    @property
    def groups(self) -> frozenset[str]:
        """Names of its collision groups; can be set."""
        return self.slot.groups

    @groups.setter
    def groups(self, value: Iterable[str]) -> None:
        self.slot.groups = name_set('groups', value, self.place)
        self._simulation.regroup()

    @property
    def surface_velocity(self) -> FloatArray:
        """(3,) velocity of the surface on the link [m/s], in the shape's axes; can be set."""
        return self._arrays.belt[self.index].copy()

    @surface_velocity.setter
    def surface_velocity(self, value: Vector) -> None:
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


def _geometry_of(robot: Robot, number: int) -> Any:
    return robot.geometries[number]
