"""Geometry: a collision shape on a robot link in a world."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from sim_bridge.engine.data.geometry import ENABLED, SENSOR, STATIC
from sim_bridge.engine.data.geometry import Geometry as GeometryArrays
from sim_bridge.foundation.arrays import FloatArray, Matrix, Vector
from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly, Settable
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_vector, name_set, truth
from sim_bridge.robots.owners import Link, Robot
from sim_bridge.robots.shape_changes import change_shape, check_present, remove_shape
from sim_bridge.shapes.material import Material
from sim_bridge.shapes.placed import Placed
from sim_bridge.shapes.polyhedra import HeightField
from sim_bridge.shapes.shapes import Shape
from sim_bridge.simulation.change import Change
from sim_bridge.simulation.rollback import all_or_nothing
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.slots import GeometrySlot
from sim_bridge.simulation.staleness import STEPPER


def _flag(name: str, bit: int, doc: str) -> Settable[bool, bool]:
    """Return a property for one bit in a geometry's flags."""

    def read(geometry: Geometry) -> bool:
        return bool(geometry._arrays.flags[geometry.slot.index] & bit)

    def write(geometry: Geometry, value: object) -> None:
        # usual case, without a text for messages
        is_set = value if type(value) is bool else truth(name, value, geometry.place)
        simulation, slot = geometry._simulation, geometry.slot
        if bit == SENSOR and not is_set and slot.shape.placed.shape.is_sensor:
            raise InvalidValueError(name, value, 'True for a line', geometry.place)
        simulation.thread_guard.check()
        arrays, index = simulation.cache.geometry, slot.index
        flags = arrays.flags[index]
        if bit == SENSOR and flags & STATIC:
            # a static geometry with contact forces may need other stages
            simulation.staleness.mark(STEPPER)
        # also wakes bodies resting on it
        simulation.write(arrays, 'flags', index, flags | bit if is_set else flags & ~bit)

    return Settable(read, write, doc=doc)


class Geometry(DeclaredAttributes):
    """
    A collision shape on a link.

    The shape itself is fixed. `position` and `orientation` on the link, `enabled`, `sensor`,
    `material`, `groups`, `surface_velocity` and `friction_direction` can be set at any time, and
    height field heights with `set_heights`. Snapshots contain these values; `World.reset` leaves
    them unchanged.
    """

    __slots__ = ('link', 'name', 'slot')
    internal_names = DeclaredAttributes.internal_names | {'index', 'slot'}

    def __init__(self, link: Link, slot: GeometrySlot):
        """Make the view of a geometry in its slot; only robots and links call this."""
        self.link: Final = link
        self.name: Final = slot.name
        self.slot = slot

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the arguments for pickles and copies: the robot and the geometry's number."""
        return _geometry_of, (self.link.robot, self.slot.number)

    def __repr__(self) -> str:
        """Show the names and the shape class."""
        kind = type(self.shape).__name__
        return f'<Geometry {self.name!r} ({kind}) of {self.link.robot.name!r}>'

    @property
    def place(self) -> str:
        """Robot, link and geometry name, for messages."""
        robot = self.link.robot.name
        return f'robot {robot!r}, link {self.link.name!r}, geometry {self.name!r}'

    shape = ReadOnly[Shape](
        'slot.present_shape', 'The shape; a height field with its current heights.'
    )

    @property
    def p(self) -> FloatArray:
        """(3,) shape frame position [m], world."""
        return self.link.p + self.link.R @ np.array(self._placed.position)

    @property
    def R(self) -> FloatArray:
        """(3, 3) shape frame rotation; takes vectors in its axes to world axes."""
        return self.link.R @ self._placed.rotation

    @property
    def position(self) -> FloatArray:
        """(3,) shape frame position in the link frame [m]; can be set."""
        return np.array(self._placed.position)

    @position.setter
    def position(self, value: Vector) -> None:
        change_shape(self._simulation, self.slot, position=value)

    @property
    def orientation(self) -> FloatArray:
        """(4,) shape frame orientation in the link, quaternion x y z w; can be set."""
        return np.array(self._placed.orientation)

    @orientation.setter
    def orientation(self, value: Vector) -> None:
        change_shape(self._simulation, self.slot, orientation=value)

    @property
    def friction_direction(self) -> FloatArray | None:
        """
        (3,) first friction direction (ODE's fdir1), in the shape's axes; can be set.

        None for any direction. A file may give it in another link's axes; it is then returned so.
        """
        direction = self._placed.friction_direction
        return None if direction is None else np.array(direction)

    @friction_direction.setter
    def friction_direction(self, value: Vector | None) -> None:
        change_shape(self._simulation, self.slot, friction_direction=value)

    def remove(self) -> None:
        """
        Remove the geometry and its contacts from the link; consequences as for `add_geometry`.

        See `Link.add_geometry`. Later use raises StateError.
        """
        of_link, of_robot = self.link.geometries, self.link.robot.geometries
        with all_or_nothing(self._simulation, of_link, of_robot):
            remove_shape(self._simulation, self.slot)
            of_link.remove(self)
            of_robot.remove(self)

    enabled = _flag('enabled', ENABLED, 'Whether the geometry collides; can be set.')
    sensor = _flag(
        'sensor', SENSOR, 'Whether its contacts are reported without forces; can be set.'
    )

    @property
    def mass(self) -> bool:
        """Whether the geometry counts in `Link.update_mass_properties`; can be set."""
        return self.slot.weighs

    @mass.setter
    def mass(self, value: bool) -> None:
        self.slot.weighs = truth('mass', value, self.place)

    @property
    def material(self) -> Material:
        """Material; can be set to a material or a material name."""
        materials = self._simulation.registry.materials
        return materials[list(materials)[self._arrays.material[self.index]]]

    @material.setter
    def material(self, value: Material | str) -> None:
        simulation = self._simulation
        arrays, materials = simulation.cache.geometry, simulation.registry.materials
        # valid with the arrays
        index = self.slot.index
        if (value if isinstance(value, str) else getattr(value, 'name', None)) in materials:
            simulation.write(arrays, 'material', index, materials.number(value))
            return
        count = len(materials)
        with Change(simulation.staleness):
            try:
                simulation.write(arrays, 'material', index, materials.number(value))
            except BaseException:
                materials.take_back(count)
                raise

    @property
    def groups(self) -> frozenset[str]:
        """Names of its collision groups; can be set."""
        return self.slot.groups

    @groups.setter
    def groups(self, value: Iterable[str]) -> None:
        simulation, groups = self._simulation, name_set('groups', value, self.place)
        with Change(simulation.staleness, self.slot):
            simulation.staleness.set(self.slot, 'groups', groups)
            simulation.registry.regroup()

    @property
    def surface_velocity(self) -> FloatArray:
        """(3,) surface velocity relative to the link [m/s], in the shape's axes; can be set."""
        return self._arrays.belt[self.index].copy()

    @surface_velocity.setter
    def surface_velocity(self, value: Vector) -> None:
        velocity = finite_vector('surface_velocity', value, 3, self.place)
        self._simulation.write(self._arrays, 'belt', self.index, velocity)

    def set_heights(self, heights: Matrix, row: int = 0, column: int = 0) -> None:
        """
        Change a height field block, and wake the bodies resting on it.

        heights: (m, n) heights along z [m], finite, at least the field's `bottom`; each row of the
        array is one column of points along x. row, column: first grid point. The body's
        mass stays unchanged. Raises InvalidValueError for another shape, and for a block
        that does not fit.
        """
        shape, simulation = self._placed.shape, self._simulation
        if not isinstance(shape, HeightField):
            raise InvalidValueError('shape', shape, 'a HeightField', self.place)
        block = shape.checked_block(heights, row, column, self.place)
        simulation.thread_guard.check()
        arrays, present = self._arrays, self.slot.heights
        assert present is not None
        rows, columns = slice(row, row + len(block)), slice(column, column + block.shape[1])
        write_view = simulation.staleness.write_view
        try:
            with Change(simulation.staleness):
                write_view(GeometryArrays, 'height', present, (rows, columns), block)
                self.slot.fit(arrays)
        except BaseException:
            self.slot.fit(arrays)
            raise

    @property
    def index(self) -> int:
        """Index in the world's geometries."""
        self._simulation.cache.settle()
        return self.slot.index

    @property
    def _simulation(self) -> Simulation:
        check_present(self.slot)
        return self.link.robot.simulation

    @property
    def _placed(self) -> Placed:
        check_present(self.slot)
        return self.slot.shape.placed

    @property
    def _arrays(self) -> GeometryArrays:
        return self._simulation.cache.geometry


def _geometry_of(robot: Robot, number: int) -> Any:
    return robot.geometries[number]
