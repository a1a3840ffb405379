"""
Slots: records for robots, links and geometries in a simulation.

Public robots, links and geometries are views of slots.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np

from sim_bridge.compilation.collisions import Collisions, LinkShape
from sim_bridge.compilation.compile import Blueprint, BodyShape, combine, compile_robot, on_body
from sim_bridge.compilation.exclusions import Pairs
from sim_bridge.description.model import (
    Inertial,
    JointDescription,
    LinkDescription,
    RobotDescription,
)
from sim_bridge.engine.collision.build import field_heights, fit_field, GeometryRecord
from sim_bridge.engine.data import model as engine
from sim_bridge.engine.data.geometry import (
    ENABLED,
    Geometry,
    KINEMATIC,
    SENSOR,
    STATIC,
    TRACK_SPEED,
)
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.foundation.names import ByName
from sim_bridge.foundation.validation import finite_vector
from sim_bridge.sensors.devices import Device
from sim_bridge.shapes.friction_direction import FrictionDirection
from sim_bridge.shapes.material_table import MaterialTable
from sim_bridge.shapes.placed import Placed
from sim_bridge.shapes.polyhedra import HeightField
from sim_bridge.shapes.shape_records import shape_record
from sim_bridge.shapes.shapes import Shape
from sim_bridge.simulation.part import is_at_start, move_over, own_part, Part, start_part
from sim_bridge.simulation.records import Sleep
from sim_bridge.simulation.self_collision import excluded_bodies

# attributes deleted from a removed robot
_OF_SIMULATION = ('part', 'one_axis', 'q', 'dq', 'u', 'target', 'control', 'motor', 'dynamics')
_NONE = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class LinkMedium:
    """
    Gravity and the medium's effect on a link, in the link's axes.

    Damping rates [1/s]; effective mass coefficients [1]. enable_wind: whether winds push it.
    """

    gravity: bool = True
    linear_velocity_damping: tuple[float, ...] = _NONE
    angular_velocity_damping: tuple[float, ...] = _NONE
    mass_coefficients: tuple[float, ...] = _NONE
    inertia_coefficients: tuple[float, ...] = _NONE
    enable_wind: bool = False

    @property
    def resists(self) -> bool:
        """Whether the medium adds mass or drags."""
        return any(
            (
                *self.linear_velocity_damping,
                *self.angular_velocity_damping,
                *self.mass_coefficients,
                *self.inertia_coefficients,
            )
        )

    def with_rates(self, what: str, value: object, unit: str, place: str) -> LinkMedium:
        """Return a copy with other rates or coefficients `what`; raises InvalidValueError."""
        expected = f'3 numbers of at least 0, one for each axis of the link [{unit}]'
        numbers = finite_vector(what, value, 3, place, expected)
        if (numbers < 0.0).any():
            raise InvalidValueError(what, value, expected, place)
        changed: dict[str, Any] = {what: tuple(numbers.tolist())}
        return replace(self, **changed)


class LinkSlot:
    """
    A robot's link.

    number: index among the robot's links. placement: pose on its body. inertial: mass properties,
    None without mass. mass [kg], center (3,) [m] and inertia (3, 3) about it [kg m²]: the same, in
    link axes. track_axis: (3,) rotation axis for a crawler's surface, in link axes, else None.
    """

    def __init__(self, robot: RobotSlot, number: int, description: LinkDescription):
        """Take mass and medium from a description."""
        self.robot = robot
        self.number = number
        self.name = description.name
        self.placement = robot.blueprint.links[description.name]
        self.medium = LinkMedium(description.gravity, enable_wind=description.enable_wind)
        self.track_axis: np.ndarray | None = None
        self.take(description.inertial)

    def take(self, inertial: Inertial | None) -> None:
        """Set the link's mass properties alone."""
        self.inertial = inertial
        self.mass = 0.0 if inertial is None else inertial.mass
        self.center = np.zeros(3) if inertial is None else np.array(inertial.pose.position)
        axes = np.eye(3) if inertial is None else inertial.pose.rotation
        self.inertia = np.zeros((3, 3)) if inertial is None else axes @ inertial.inertia @ axes.T

    def body_inertia(self) -> np.ndarray:
        """Return its body's row in `Model.inertia`, from the masses of all links on it."""
        body, masses = self.placement.body, []
        # in compilation order, for the same bits
        for name, placement in self.robot.blueprint.links.items():
            own = self.robot.link(name).inertial
            if placement.body == body and own is not None:
                masses.append((own, placement))
        return combine(masses, f'robot {self.robot.name!r}, link {self.name!r}')

    @property
    def body(self) -> int:
        """Its body's number in the joined model."""
        return self.robot.part.at.body + self.placement.body

    @property
    def site(self) -> int:
        """Its row among the observed sites."""
        return self.robot.first_site + self.number


class GeometrySettings(NamedTuple):
    """Views into a robot's changeable rows in the engine's Geometry."""

    flags: np.ndarray
    material: np.ndarray
    belt: np.ndarray
    track: np.ndarray


class GeometryPlace(NamedTuple):
    """A geometry's pose on its link, and its friction direction; as in `LinkShape`."""

    position: tuple[float, ...]
    orientation: tuple[float, ...]
    friction_direction: tuple[float, ...] | None
    friction_link: str


class GeometrySlot:
    """
    A robot's geometry.

    number: index among the robot's geometries. groups: collision groups. weighs: whether masses
    include it. heights: a height field's heights (rows, columns) [m], a view into the engine's
    array once arrays are joined, else None.
    """

    def __init__(self, link: LinkSlot, number: int, name: str, shape: BodyShape):
        """Belong to a link."""
        self.link = link
        self.number = number
        self.name = name
        self.shape = shape
        self.groups = frozenset(shape.placed.groups)
        self.weighs = shape.placed.mass
        self.heights: np.ndarray | None = None

    @property
    def index(self) -> int:
        """Its row in the joined arrays."""
        return self.link.robot.first_geometry + self.number

    @property
    def place(self) -> GeometryPlace:
        """Where it is on its link now."""
        placed, friction_link = self.shape.placed, self.on_link.friction_link
        return GeometryPlace(
            placed.position, placed.orientation, placed.friction_direction, friction_link
        )

    @property
    def on_link(self) -> LinkShape:
        """Its shape on its link, as it was added or placed since."""
        return self.link.robot.collisions.shapes[self.number]

    def present(self, materials: MaterialTable) -> Placed:
        """Return its present shape on the link."""
        known, row = self.link.robot.geometry_settings, self.number
        placed = replace(self.shape.placed, shape=self.present_shape, mass=self.weighs)
        if known is None:
            return placed
        return replace(
            placed,
            material=list(materials)[known.material[row]],
            enabled=bool(known.flags[row] & ENABLED),
            sensor=bool(known.flags[row] & SENSOR),
        )

    @property
    def present_shape(self) -> Shape:
        """The present shape; a height field's heights can change."""
        shape = self.shape.placed.shape
        if (
            self.heights is None
            or not isinstance(shape, HeightField)
            or np.array_equal(self.heights, shape.heights)
        ):
            return shape
        return HeightField(self.heights, shape.size, shape.bottom)

    def bind(self, geometry: Geometry) -> None:
        """Take the joined arrays."""
        if isinstance(self.shape.placed.shape, HeightField):
            self.heights = field_heights(geometry, self.index)

    def fit(self, geometry: Geometry) -> None:
        """Fit the bounds to changed heights."""
        shape = self.shape.placed.shape
        if isinstance(shape, HeightField):
            fit_field(geometry, self.index, shape.bottom)

    def record(self, materials: MaterialTable) -> GeometryRecord:
        """Return its present record for the engine, on its body in the model, without groups."""
        robot, shape, placed = self.link.robot, self.shape, self.shape.placed
        flags = (ENABLED if placed.enabled else 0) | (SENSOR if placed.sensor else 0)
        motion = 0
        if robot.immobile[shape.body]:
            motion = STATIC | (KINEMATIC if robot.is_kinematic else 0)
        belt, axis, speed = placed.surface_velocity, np.zeros(3), 0.0
        if self.link.track_axis is not None:
            axis = np.array(placed.rotation).T @ self.link.track_axis
        known = robot.geometry_settings
        if known is None or self.number >= len(known.flags):
            material = materials.number(placed.material)
        else:
            row = self.number
            flags, material = known.flags[row] & (ENABLED | SENSOR), known.material[row]
            belt, speed = known.belt[row].copy(), known.track[row, TRACK_SPEED]
        return shape_record(
            self.present_shape,
            rotation=shape.rotation,
            position=shape.position,
            body=robot.part.at.body + shape.body,
            material=int(material),
            flags=int(flags) | motion,
            belt=belt,
            track=(*axis, speed),
            direction=shape.direction,
            direction_body=-1
            if shape.direction_body < 0
            else (robot.part.at.body + shape.direction_body),
            slip=placed.rolling_slip,
            name=self.name,
        )


class RobotSlot:
    """
    A robot: its description, its blueprint, and its slice of the joined arrays.

    number: ordinal among all robots ever added to the simulation, from 1. part: where its numbers
    are at present. initial: numbers for `reset`. added: numbers at its addition. carrier: link on
    which a joint mounts its base; None for a free base or a base in the world. first_site,
    first_geometry: first rows in the joined arrays. geometry_settings: its geometries' rows,
    once arrays are joined. sleep: when it falls asleep, as `OwnSleep`.

    Views of the one-axis joints, (n,) each [rad or m; N m or N]: q, dq, u, control, motor, and
    target (n, 2).
    """

    part: Part
    initial: Part
    added: Part
    one_axis: slice
    q: np.ndarray
    dq: np.ndarray
    u: np.ndarray
    target: np.ndarray
    control: np.ndarray
    motor: np.ndarray
    dynamics: Any
    """Its `robot_dynamics.RobotDynamics`, from its first use on, else None."""

    def __init__(
        self,
        name: str,
        description: RobotDescription,
        blueprint: Blueprint,
        collisions: Collisions,
    ):
        """Begin with separate arrays, at rest."""
        self.name = name
        self.number = 0
        self.description = description
        self.blueprint = blueprint
        self.collisions = collisions
        self.carrier: LinkSlot | None = None
        self.first_site = self.first_geometry = 0
        self.geometry_settings: GeometrySettings | None = None
        self.links = [
            LinkSlot(self, number, link) for number, link in enumerate(description.links.values())
        ]
        self._link_of = {link.name: link for link in self.links}
        for crawler in description.crawlers:
            self.link(crawler.link).track_axis = np.array(crawler.axis)
        self.geometries: list[GeometrySlot] = []
        on_link = dict.fromkeys(description.links, 0)
        for number, shape in enumerate(blueprint.shapes):
            name = shape.placed.name or f'{shape.link}_collision_{on_link[shape.link]}'
            self.geometries.append(GeometrySlot(self.link(shape.link), number, name, shape))
            on_link[shape.link] += 1
        self.devices: list[Device] = []
        self.bind(own_part(blueprint.model))
        self._immobile: np.ndarray | None = None
        self.sleep: Sleep | Literal[False] | None = None
        self.known_excluded: Pairs | None = None
        """The result of `excluded`, once it has been computed."""

    def __getattr__(self, name: str) -> NoReturn:
        """Raise StateError for attributes deleted by `leave`."""
        if name in _OF_SIMULATION:
            raise StateError(removed(self.name))
        raise AttributeError(name)

    def link(self, name: str) -> LinkSlot:
        """Return an existing link's slot."""
        return self._link_of[name]

    @property
    def is_removed(self) -> bool:
        """Whether it has left its simulation."""
        return 'part' not in self.__dict__

    @property
    def immobile(self) -> np.ndarray:
        """(nb,) Whether no force moves a body."""
        if self._immobile is None:
            self._immobile = engine.immobile_bodies(self.blueprint.model)
        return self._immobile

    @property
    def is_kinematic(self) -> bool:
        """Whether the base is kinematic."""
        return bool(self.blueprint.model.kind[0] == engine.KINEMATIC)

    @property
    def excluded(self) -> Pairs:
        """Pairs of its bodies that never touch, from the state at its addition."""
        if self.known_excluded is None:
            self.known_excluded = excluded_bodies(
                self.description, self.blueprint, self.collisions, self.added
            )
        return self.known_excluded

    @excluded.setter
    def excluded(self, value: Pairs) -> None:
        self.known_excluded = value

    @property
    def is_asleep(self) -> bool:
        """Whether all its trees rest and are not simulated."""
        own, (_, state, at) = self.blueprint.model, self.part
        trees = own.root[own.kind != engine.GROUND]
        return len(trees) > 0 and bool((state.idle[at.body + trees] < 0).all())

    def bind(self, part: Part) -> None:
        """Set where its numbers are from now on."""
        self.part = part
        self.dynamics = None
        model, state, at = part
        count = len(self.blueprint.joint_names)
        start, start_q = at.v + self.blueprint.first_v, at.q + self.blueprint.first_q
        self.one_axis = rows = slice(start, start + count)
        self.q = state.q[start_q : start_q + count]
        self.dq, self.u, self.target = state.v[rows], state.u[rows], state.target[rows]
        self.course = state.course[rows]
        self.control, self.motor = state.control[rows], state.motor[rows]

    def add_geometry(self, shape: LinkShape, name: str, materials: MaterialTable) -> GeometrySlot:
        """Add a shape to a link; the geometry arrays must be rebuilt."""
        own = on_body(shape, self.blueprint.links)
        slot = GeometrySlot(self.link(shape.link), len(self.geometries), name, own)
        self._keep_exclusions()
        self.geometries = [*self.geometries, slot]
        self.collisions = replace(self.collisions, shapes=(*self.collisions.shapes, shape))
        self.blueprint = replace(self.blueprint, shapes=(*self.blueprint.shapes, own))
        if self.geometry_settings is not None:
            record = slot.record(materials)
            track = np.array(record.track)
            for other in self.geometries[:-1]:
                if other.link is slot.link:
                    track[TRACK_SPEED] = self.geometry_settings.track[other.number, TRACK_SPEED]
            rows = record.flags & (ENABLED | SENSOR), record.material, record.belt, track
            self.geometry_settings = GeometrySettings(
                *(
                    np.concatenate([known, [row]])
                    for known, row in zip(self.geometry_settings, rows, strict=True)
                )
            )
        return slot

    def remove_geometry(self, slot: GeometrySlot) -> None:
        """Remove a geometry; the geometry arrays must be rebuilt."""
        self._keep_exclusions()
        number = slot.number
        self.geometries.remove(slot)
        for place, other in enumerate(self.geometries):
            other.number = place
        shapes, on_bodies = list(self.collisions.shapes), list(self.blueprint.shapes)
        del shapes[number], on_bodies[number]
        self.collisions = replace(self.collisions, shapes=tuple(shapes))
        self.blueprint = replace(self.blueprint, shapes=tuple(on_bodies))
        if self.geometry_settings is not None:
            self.geometry_settings = GeometrySettings(
                *(np.delete(known, number, axis=0) for known in self.geometry_settings)
            )
        slot.number = -1

    def change_geometry(self, number: int, place: GeometryPlace) -> BodyShape:
        """Change a geometry's pose; return its shape on its body."""
        known = self.geometries[number]
        shape = LinkShape(
            known.link.name,
            replace(
                known.shape.placed,
                position=place.position,
                orientation=place.orientation,
                friction_direction=place.friction_direction,
            ),
            place.friction_link,
        )
        own = on_body(shape, self.blueprint.links)
        shapes, on_bodies = list(self.collisions.shapes), list(self.blueprint.shapes)
        self._keep_exclusions()
        shapes[number], on_bodies[number] = shape, own
        self.collisions = replace(self.collisions, shapes=tuple(shapes))
        self.blueprint = replace(self.blueprint, shapes=tuple(on_bodies))
        self.geometries[number].shape = own
        return own

    def _keep_exclusions(self) -> None:
        """Compute the excluded body pairs before its shapes change."""
        self.known_excluded = self.excluded

    def bind_geometries(self, geometry: Geometry) -> None:
        """Set the arrays with its geometries, from row `first_geometry` on."""
        rows = slice(self.first_geometry, self.first_geometry + len(self.geometries))
        self.geometry_settings = GeometrySettings(
            *(getattr(geometry, field)[rows] for field in GeometrySettings._fields)
        )
        for slot in self.geometries:
            slot.bind(geometry)

    def compiled(
        self,
        fixed_base: bool,
        *,
        is_kinematic: bool = False,
        mount: JointDescription | None = None,
    ) -> Blueprint:
        """Return its blueprint with another base and its present masses; as `compile_robot`."""
        links = {
            link.name: replace(self.description.links[link.name], inertial=link.inertial)
            for link in self.links
        }
        description = replace(self.description, links=MappingProxyType(links))
        return compile_robot(description, fixed_base, self.collisions.shapes, is_kinematic, mount)

    def rebuild(
        self, blueprint: Blueprint, carrier: LinkSlot | None, part: Part | None = None
    ) -> None:
        """
        Change how the base is mounted or moved.

        part: its new arrays; if None, the base's coordinates become zero and all else stays.
        """
        part = part or move_over(self.blueprint, self.part, blueprint)
        self.blueprint, self.carrier = blueprint, carrier
        for link in self.links:
            link.placement = blueprint.links[link.name]
        for geometry, shape in zip(self.geometries, blueprint.shapes, strict=True):
            geometry.shape = shape
        self._immobile = self.known_excluded = None
        self.bind(part)

    def remember(self) -> None:
        """Make the present state the state for `reset`."""
        self.initial = start_part(self.part, self.blueprint.model)

    @property
    def is_at_start(self) -> bool:
        """Whether the configuration and the velocities are those for `reset`."""
        return is_at_start(self.part, self.initial, self.blueprint.model)

    @property
    def trees(self) -> np.ndarray:
        """First bodies in all its trees, and in the tree carrying it."""
        first = self.part.at.body
        return np.unique(self.part.model.root[first : first + len(self.blueprint.model.kind)])

    def leave(self) -> None:
        """Detach from the simulation: everything except the description then raises StateError."""
        for device in self.devices:
            device.retire(removed(self.name))
        for name in _OF_SIMULATION:
            delattr(self, name)


def body_of_direction(
    slots: Mapping[str, RobotSlot], direction: FrictionDirection
) -> tuple[int, Sequence[float]]:
    """
    Return a friction direction's body, -1 for the world, and the axis (3,) in its axes.

    Raises UnknownNameError for an unknown robot or link.
    """
    if direction.robot is None:
        return -1, direction.axis
    slot = ByName('robot', '', slots)[direction.robot]
    links = ByName('link', f'robot {slot.name!r}', {each.name: each for each in slot.links})
    link = links[slot.description.root if direction.link is None else direction.link]
    return link.body, link.placement.rotation @ np.array(direction.axis)


def removed(name: str) -> str:
    """Return the error message for a removed robot."""
    return (
        f'robot {name!r} was removed from its world, by World.remove; what is needed of it '
        'is to be taken before'
    )


def with_pulled(
    model: engine.Model, links: Iterable[LinkSlot], first_body: int = 0
) -> engine.Model:
    """
    Return a model in which point gravity pulls these links' masses.

    first_body: the model's first body, as numbered in the world. The arrays are
    replaced if other links are pulled than before.
    """
    heavy = [link for link in links if link.mass > 0.0]
    bodies = np.array([link.body - first_body for link in heavy], np.int64)
    masses = np.array(
        [
            (link.mass, *link.placement.position + link.placement.rotation @ link.center)
            for link in heavy
        ]
    ).reshape(-1, 4)
    if np.array_equal(bodies, model.pulled_body):
        model.pulled[:] = masses
        return model
    return model._replace(pulled_body=bodies, pulled=masses)
