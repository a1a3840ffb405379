"""Single bodies: from shapes and a mass to a one-link robot description."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from sim_bridge.compilation.collisions import Collisions, shapes_on
from sim_bridge.compilation.mass_properties import (
    checked_inertia,
    checked_mass,
    inertial_of,
    MaterialOf,
    properties_of,
)
from sim_bridge.description.labels import checked_label
from sim_bridge.description.mechanism.sensors import add_sensors
from sim_bridge.description.model import (
    Inertial,
    LinkDescription,
    MOTIONS,
    RobotDescription,
    SensorDescription,
)
from sim_bridge.description.report import Report
from sim_bridge.description.sensor_kinds import ContactSettings
from sim_bridge.foundation.arrays import Matrix, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_vector, items_of, one_of
from sim_bridge.shapes.material import Material
from sim_bridge.shapes.placed import as_placed, Placed
from sim_bridge.shapes.polyhedra import HeightField
from sim_bridge.shapes.shapes import Shape


@dataclass(frozen=True, kw_only=True)
class BodySpec:
    """Arguments of `World.add_body`, unchecked."""

    shapes: Shape | Placed | Iterable[Shape | Placed]
    mass: float | None = None
    inertia: Vector | Matrix | None = None
    center_of_mass: Vector | None = None
    density: float | None = None
    motion: str = 'dynamic'
    material: Material | str | None = None
    sensors: Iterable[SensorDescription] = ()
    label: int = 0


def describe_body(
    spec: BodySpec, name: str, material_of: MaterialOf
) -> tuple[RobotDescription, Collisions]:
    """
    Return a one-link robot named like the body, and its collision shapes.

    material_of: returns the material for a Material, a name or None; its density is used. Raises
    InvalidValueError, naming the body, for invalid values.
    """
    place = f'body {name!r}'
    shapes = as_placed(spec.shapes)
    check_motion(spec.motion, shapes, place)
    inertial = None
    if spec.motion == 'dynamic' or spec.mass is not None or spec.density is not None:
        inertial = _inertial(spec, shapes, place, material_of)
    link = LinkDescription(name, inertial, label=checked_label(spec.label, place))
    description = RobotDescription(
        name=name,
        root=name,
        links=MappingProxyType({name: link}),
        joints=MappingProxyType({}),
        sensors=(),
        report=Report(place),
    )
    sensors = items_of('sensors', spec.sensors, SensorDescription, 'descriptions of sensors')
    if sensors:
        description = _with_sensors(description, sensors, shapes)
    return description, shapes_on(name, shapes)


def _with_sensors(
    description: RobotDescription, sensors: Iterable[SensorDescription], shapes: Iterable[Placed]
) -> RobotDescription:
    """Return the description with sensors on its link; raises DescriptionError."""
    own, link = {placed.name for placed in shapes}, description.root
    for sensor in sensors:
        watched = sensor.settings
        for name in watched.collisions if isinstance(watched, ContactSettings) else ():
            if name not in own:
                raise InvalidValueError(
                    'collisions',
                    name,
                    f'names of shapes of the body: {", ".join(sorted(own))}',
                    f'sensor {sensor.name!r}',
                )
    # collision names refer to the body's shapes, which the description does not contain
    extended = add_sensors(
        description,
        [replace(sensor, link=sensor.link or link, settings=None) for sensor in sensors],
    )
    given = {sensor.name: sensor.settings for sensor in sensors}
    return replace(
        extended,
        sensors=tuple(replace(sensor, settings=given[sensor.name]) for sensor in extended.sensors),
    )


def check_motion(motion: object, shapes: Iterable[Placed], place: str) -> None:
    """Raise InvalidValueError for an unknown motion, or one impossible with these shapes."""
    one_of('motion', motion, MOTIONS, place)
    if motion != 'static':
        for placed in shapes:
            if placed.shape.is_endless:
                raise InvalidValueError(
                    'motion',
                    motion,
                    f"'static', since a {type(placed.shape).__name__} has no end"
                    f'{" without a bottom" if isinstance(placed.shape, HeightField) else ""}',
                    place,
                )


def _inertial(
    spec: BodySpec, shapes: tuple[Placed, ...], place: str, material_of: MaterialOf
) -> Inertial:
    """Return mass, centre of mass and inertia as given; compute missing ones from the shapes."""
    mass = None if spec.mass is None else checked_mass(spec.mass, place)
    center, inertia = np.zeros(3), None
    if spec.center_of_mass is not None:
        center = finite_vector(
            'center_of_mass', spec.center_of_mass, 3, place, '3 finite numbers [m]'
        )
    if spec.inertia is not None:
        inertia = checked_inertia(spec.inertia, place)
    if mass is None or inertia is None or spec.density is not None:
        own = properties_of(
            shapes,
            mass,
            spec.density,
            lambda given: material_of(spec.material if given is None else given),
            place,
        )
        mass = own.mass
        center = own.center_of_mass if spec.center_of_mass is None else center
        inertia = own.inertia if inertia is None else inertia
    return inertial_of(mass, center, inertia)
