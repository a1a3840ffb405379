"""Force rows in the engine's arrays: one a link, or one a shape in a fluid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sim_bridge.description.flows import BoxFlow, EllipsoidFlow
from sim_bridge.description.fluid_forces import (
    AdvancedLiftDrag,
    Buoyancy,
    BuoyancyEngine,
    full_array,
    Hydrodynamics,
    LiftDrag,
    Rotor,
    Thruster,
)
from sim_bridge.description.force_fields import PlacedForce, Wrench
from sim_bridge.engine.data import fields as columns
from sim_bridge.foundation.rotation import matrix_from_quaternion
from sim_bridge.shapes.polyhedra import solid_mass_properties
from sim_bridge.shapes.shapes import Cylinder, Shape, Sphere
from sim_bridge.shapes.tessellation import tessellated
from sim_bridge.simulation.slots import LinkSlot

KINDS: dict[type, int] = {
    Rotor: columns.ROTOR,
    Thruster: columns.THRUSTER,
    LiftDrag: columns.LIFT_DRAG,
    Hydrodynamics: columns.HYDRODYNAMICS,
    Buoyancy: columns.BUOYANCY,
    AdvancedLiftDrag: columns.AIRCRAFT,
    BuoyancyEngine: columns.BLADDER,
    Wrench: columns.WRENCH,
    BoxFlow: columns.BOX_FLOW,
    EllipsoidFlow: columns.ELLIPSOID_FLOW,
}
"""Engine's numbers for forces at places."""
_SIDES = 48  # facets about the axis, for round shapes without a closed form


class FluidRow(NamedTuple):
    """
    Fluid force row.

    values: as in `Fields.fluid`. joint: velocity coordinate, -1 for none. other: body bearing a
    rotor's torque, -1 for none.
    """

    values: np.ndarray
    joint: int = -1
    other: int = -1


def fluid_rows(field: PlacedForce, link: LinkSlot) -> Iterator[FluidRow]:
    """Yield a field's rows on a link."""
    if isinstance(field, Buoyancy):
        yield from _immersed(field, link)
    elif isinstance(field, Hydrodynamics):
        yield FluidRow(_hull(field, link))
    elif isinstance(field, LiftDrag):
        yield FluidRow(_wing(field), _coordinate(link, field.joint) if field.joint else -1)
    elif isinstance(field, AdvancedLiftDrag):
        yield FluidRow(_aircraft(field, link))
    elif isinstance(field, BuoyancyEngine):
        yield FluidRow(_bladder(field))
    elif isinstance(field, BoxFlow):
        yield FluidRow(_box(field, link))
    elif isinstance(field, EllipsoidFlow):
        yield FluidRow(_ellipsoid(field, link))
    elif isinstance(field, Wrench):
        values = [*field.force, *field.torque, *field.point, float(field.is_local)]
        yield FluidRow(np.array(values))
    else:
        yield _propeller(field, link)


def added_inertia(field: Hydrodynamics, link: LinkSlot) -> np.ndarray:
    """Return (6, 6) the added mass about the link's origin in the body's axes, linear first."""
    turn = np.kron(np.eye(2), link.placement.rotation)
    return turn @ field.added_inertia @ turn.T


def _coordinate(link: LinkSlot, joint: str) -> int:
    """Return a joint's velocity coordinate; the joint is on the link's robot."""
    return link.robot.part.at.v + link.robot.blueprint.joint_v[joint]


def _axis(link: LinkSlot, name: str) -> np.ndarray:
    """Return (3,) a joint's axis in its child link's axes."""
    joint = link.robot.description.joints[name]
    return joint.child_pose.rotation.T @ joint.axis


def _propeller(field: Rotor | Thruster, link: LinkSlot) -> FluidRow:
    joint = _coordinate(link, field.joint)
    axis = _axis(link, field.joint)
    if isinstance(field, Thruster):
        row = np.zeros(columns.THRUSTER_SIZE)
        row[columns.LAG_UP] = row[columns.LAG_DOWN] = field.time_constant
        row[columns.PER_SQUARE] = field.thrust_per_square
        loss = field.advance_coefficient * (1.0 - field.wake_fraction)
        row[columns.PER_ADVANCE] = loss * field.density * field.diameter**3
        row[:3] = axis
        return FluidRow(row, joint)
    parent = link.robot.link(link.robot.description.joints[field.joint].parent)
    values = (
        *axis,
        field.time_constant_up,
        field.time_constant_down,
        -1.0 if field.is_clockwise else 1.0,
        field.slowdown,
        field.thrust_constant,
        field.moment_constant,
        field.drag_constant,
        field.rolling_constant,
        *field.wind,
    )
    return FluidRow(np.array(values), joint, parent.body)


def _directions(field: LiftDrag | AdvancedLiftDrag) -> list[np.ndarray]:
    """Return the unit forward and upward directions."""
    return [np.array(each) / np.linalg.norm(each) for each in (field.forward, field.upward)]


def _wing(field: LiftDrag) -> np.ndarray:
    return np.concatenate(
        [
            field.cp,
            *_directions(field),
            [
                *(field.cla, field.cda, field.cma, field.alpha_stall),
                *(field.cla_stall, field.cda_stall, field.cma_stall),
                *(field.air_density, field.area, field.a0),
                *(field.control_joint_rad_to_cl, field.cm_delta),
                *(float(field.radial_symmetry), float(field.reversible)),
            ],
            field.wind,
        ]
    )


def _aircraft(field: AdvancedLiftDrag, link: LinkSlot) -> np.ndarray:
    ratio = field.aspect_ratio
    # a flat plate's drag by its aspect ratio, fitted to Ostowari and Naik, NREL 2559, 1985
    plate = 2.0 / (1.0 + np.exp(-0.224 - 0.115 * max(ratio, 1.0 / ratio)))
    surfaces = [
        (_coordinate(link, joint), *row)
        for joint, row in zip(field.joints, field.controls, strict=True)
    ]
    return np.concatenate(
        [
            field.cp,
            *_directions(field),
            [field.alpha_stall, field.pitch_stall, field.area, field.span],
            [field.chord or field.area / field.span if field.area > 0.0 else 0.0, plate],
            [1.0 / (np.pi * ratio * field.efficiency), field.air_density],
            field.wind,
            np.array(field.derivatives).ravel(),
            [len(surfaces)],
            np.array(surfaces, float).ravel(),
        ]
    )


def _bladder(field: BuoyancyEngine) -> np.ndarray:
    volumes = field.neutral_volume, field.volume, field.target_volume
    return np.array([field.density, *volumes, field.rate, field.since, field.surface])


def _box(field: BoxFlow, link: LinkSlot) -> np.ndarray:
    """Return the values for the box with a link's mass and principal moments of inertia."""
    moments, axes = np.linalg.eigh(link.inertia)
    place = link.placement
    rotation = place.rotation @ axes
    squares = 6.0 * (moments.sum() - 2.0 * moments) / link.mass
    return np.concatenate(
        [
            rotation.ravel(),
            place.position + place.rotation @ link.center,
            field.wind,
            [field.density, field.viscosity],
            np.sqrt(np.maximum(squares, 0.0)),
        ]
    )


def _ellipsoid(field: EllipsoidFlow, link: LinkSlot) -> np.ndarray:
    quaternion = np.array(field.orientation) / np.linalg.norm(field.orientation)
    place = link.placement.placement_of(matrix_from_quaternion(quaternion), np.array(field.center))
    return np.concatenate(
        [
            place.rotation.ravel(),
            place.position,
            field.wind,
            [field.density, field.viscosity],
            field.semiaxes,
            [field.blunt_drag, field.slender_drag, field.angular_drag],
            [field.kutta_lift, field.magnus_lift],
            field.added_mass,
            field.added_inertia,
            [field.share],
        ]
    )


def _hull(field: Hydrodynamics, link: LinkSlot) -> np.ndarray:
    added = field.added_inertia
    # least inertias bound the damping in a step, as for `Drag`
    turning = float(np.linalg.eigvalsh(link.inertia)[0])
    inertias = np.array([link.mass] * 3 + [turning] * 3) + np.maximum(np.diag(added), 0.0)
    curves = []
    for values, is_magnitude in ((field.quadratic_damping, 1.0), (field.mixed_damping, 0.0)):
        full = full_array(values, 3)
        curves += [(*place, is_magnitude, full[tuple(place)]) for place in np.argwhere(full)]
    return np.concatenate(
        [
            field.current,
            [float(field.coriolis)],
            added.ravel(),
            full_array(field.linear_damping, 2).ravel(),
            inertias,
            [len(curves)],
            np.array(curves, float).ravel(),
        ]
    )


def _immersed(field: Buoyancy, link: LinkSlot) -> Iterator[FluidRow]:
    place = link.placement
    if field.volume > 0.0:
        ball = Sphere((0.75 * field.volume / np.pi) ** (1 / 3))
        center = place.position + place.rotation @ np.array(field.center)
        yield FluidRow(_displacing(field, ball, place.rotation, center))
        return
    for geometry in link.robot.geometries:
        shape = geometry.present_shape
        if geometry.link is link and not shape.is_endless and not shape.is_sensor:
            own = geometry.shape
            yield FluidRow(_displacing(field, shape, own.rotation, own.position))


def _displacing(
    field: Buoyancy, shape: Shape, rotation: np.ndarray, position: np.ndarray
) -> np.ndarray:
    """Return the values for a shape. rotation, position: its frame in the body."""
    volume, center, _ = shape.mass_properties(1.0)
    kind, sizes, triangles = columns.BALL, (0.0, 0.0), np.zeros((0, 3, 3))
    if isinstance(shape, Sphere):
        sizes, reach = (shape.radius, 0.0), shape.radius
    elif isinstance(shape, Cylinder):
        kind, sizes = columns.DRUM, (shape.radius, shape.length)
        reach = float(np.hypot(shape.radius, 0.5 * shape.length))
    else:
        kind, triangles = columns.POLYHEDRON, _corners(shape, volume)
        reach = float(np.linalg.norm(triangles, axis=2).max())
    return np.concatenate(
        [
            rotation.ravel(),
            position + rotation @ center,
            [volume, reach, kind, *sizes, field.density, len(field.layers)],
            np.array(field.layers).ravel(),
            [len(triangles)],
            triangles.ravel(),
        ]
    )


def _corners(shape: Shape, volume: float) -> np.ndarray:
    """Return (n, 3, 3) a surface's corners about its centre, with the exact volume."""
    surface = tessellated(shape, _SIDES)
    own = solid_mass_properties(surface.vertices, surface.triangles, 1.0)
    points = (surface.vertices - own.center_of_mass) * (volume / own.mass) ** (1 / 3)
    return points[surface.triangles]


def joined(rows: Sequence[FluidRow]) -> np.ndarray:
    """Return all rows' values, one after the other."""
    return np.concatenate([np.zeros(0), *(row.values for row in rows)])
