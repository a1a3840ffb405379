"""
Collision shapes of a robot, from its URDF.

Primitives stay primitives; each mesh becomes a convex hull or, as an option, several hulls or its
triangles.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from sim_bridge.description.formats import SDF
from sim_bridge.description.model import ContactDescription, GeometryDescription, RobotDescription
from sim_bridge.description.report import ERROR, Findings, Place, WARNING
from sim_bridge.description.resources import explain_unresolved
from sim_bridge.foreign.reader_process import sharing
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.foundation.validation import one_of
from sim_bridge.shapes.material import Material
from sim_bridge.shapes.mesh_cache import hull_of_file, hulls_of_file, mesh_of_file
from sim_bridge.shapes.meshes.kept import kept_hulls
from sim_bridge.shapes.placed import Placed
from sim_bridge.shapes.polyhedra import ConvexHull, HeightField, TriangleMesh
from sim_bridge.shapes.shapes import PRIMITIVES, Shape

HEIGHTMAP = 'heightmap'
HULL, HULLS, MESH, NONE = 'hull', 'hulls', 'mesh', 'none'
CHOICES = HULL, HULLS, MESH, NONE
AUTO = 'auto'
"""Missing meshes are left out if others are found, which no wrong search path explains."""
_PATHS_SHOWN = 8
# contact parameters outside the material
_NOT_OF_MATERIALS = ('self_collide', 'direction', 'layer', 'is_sensor', 'enabled')
# [s] max_step_size of Gazebo's worlds
_GAZEBO_STEP = 1e-3


class LinkShape(NamedTuple):
    """
    Shape on a named link.

    friction_link: link whose axes the friction direction is expressed in; '' for the shape's own.
    """

    link: str
    placed: Placed
    friction_link: str = ''


@dataclass(frozen=True, eq=False)
class Collisions:
    """
    Collision shapes of a robot, and the exceptions to collisions.

    shapes: in link order. self_collision: self-collision setting, as
    accepted by `simulation.self_collision.excluded_bodies`. separated: pairs of links that never
    collide; None: pairs overlapping in the initial configuration. lists_all: whether `separated`
    has the links connected by joints, too, as far as these do not collide.
    """

    shapes: tuple[LinkShape, ...] = ()
    self_collision: bool | None = None
    separated: frozenset[frozenset[str]] | None = None
    lists_all: bool = False


def shapes_on(link: str, shapes: Iterable[Placed]) -> Collisions:
    """Return collision shapes that are all on one link."""
    return Collisions(tuple(LinkShape(link, placed) for placed in shapes))


@sharing()
def read_shapes(
    description: RobotDescription,
    findings: Findings,
    meshes: str = HULL,
    missing_meshes: str = ERROR,
) -> tuple[LinkShape, ...]:
    """
    Return the shapes of all links.

    meshes: 'hull', each mesh's convex hull; 'hulls', the hulls in a convex decomposition of each
    mesh, which all get the element's name; 'mesh', its triangles. missing_meshes: severity
    ('error' or 'warning') of the finding for a missing or unreadable mesh; it then collides with
    nothing. 'auto': the mesh is left out if any other mesh file is there, or no
    package is missing. Raises InvalidValueError for other words.
    """
    one_of('missing_meshes', missing_meshes, (ERROR, WARNING, AUTO))
    are_parts = missing_meshes == AUTO and _knows_meshes(description)
    severity = ERROR if missing_meshes == AUTO else missing_meshes
    materials: dict[ContactDescription, Material] = {}
    shapes = []
    for link in description.links.values():
        of_link = _material(description, link.name, link.contact, materials)
        for geometry in link.collisions:
            contact, material = link.contact, of_link or link.material or None
            if geometry.contact is not None:
                contact = _of_collision(geometry.contact, link.contact)
                material = _material(description, link.name, contact, materials) or material
            place = Place('link/collision', link.name, geometry.line)
            own = Findings()
            found = _shapes(geometry, meshes, place, own, severity)
            if are_parts:
                findings.take_part(own, 'collision')
            else:
                findings.found.update(own.found)
            shapes += [
                LinkShape(
                    link.name,
                    Placed(
                        shape,
                        geometry.pose.position.tolist(),
                        quaternion_from_matrix(geometry.pose.rotation).tolist(),
                        geometry.name,
                        geometry.material or material,
                        contact.is_sensor,
                        contact.enabled,
                        geometry.groups,
                        friction_direction=contact.direction,
                        rolling_slip=contact.rolling_slip,
                    ),
                    contact.direction_link,
                )
                for shape in found
            ]
    return tuple(shapes)


def _of_collision(own: ContactDescription, link: ContactDescription) -> ContactDescription:
    """Return a collision's contact parameters; missing ones are the link's."""
    given = {
        each.name: getattr(own, each.name)
        for each in fields(own)
        if getattr(own, each.name) != each.default
    }
    return replace(link, **given)


def _knows_meshes(description: RobotDescription) -> bool:
    """
    Return whether a missing mesh is a defect in the robot's file.

    With a missing package and no mesh at all, the search path is wrong.
    """
    meshes = [
        geometry
        for link in description.links.values()
        for geometry in link.collisions
        if geometry.kind == 'mesh' and geometry.surface is None
    ]
    return any(each.path for each in meshes) or not any(each.lacks_package for each in meshes)


def _shapes(
    geometry: GeometryDescription, meshes: str, place: Place, findings: Findings, severity: str
) -> tuple[Shape, ...]:
    """Return the shapes of a collision element; none, with a finding, for an unreadable mesh."""
    if geometry.kind in PRIMITIVES:
        return (PRIMITIVES[geometry.kind](*geometry.size),)
    place = place.child('geometry/mesh', geometry.line)
    if geometry.kind == HEIGHTMAP:
        return _height_field(geometry, place, findings, severity)
    if geometry.surface is not None:
        try:
            if meshes == HULL and not geometry.is_terrain:
                return (ConvexHull(geometry.surface.vertices),)
            mesh = TriangleMesh(*geometry.surface)
            return (mesh,) if meshes == MESH or geometry.is_terrain else kept_hulls(mesh)
        except InvalidValueError as err:
            findings.error('bad-geometry', place, str(err))
            return ()
    if not geometry.path:
        paths = list(geometry.searched)
        more = f' and {len(paths) - _PATHS_SHOWN} more' if len(paths) > _PATHS_SHOWN else ''
        message = f'not found; looked for {", ".join(paths[:_PATHS_SHOWN])}{more}'
        if not paths:
            message = explain_unresolved(geometry.filename)
        if severity == ERROR:
            # for warnings, the description reader has already added one
            findings.error('mesh-not-found', place, message, 'filename', geometry.filename)
        return ()
    try:
        if meshes == HULLS:
            return hulls_of_file(geometry.path, geometry.size, geometry.part)
        read = hull_of_file if meshes == HULL else mesh_of_file
        return (read(geometry.path, geometry.size, geometry.part),)
    except InvalidValueError as err:
        findings.add(severity, 'mesh-unreadable', place, str(err), 'filename', geometry.filename)
        return ()


def _height_field(
    geometry: GeometryDescription, place: Place, findings: Findings, severity: str
) -> tuple[Shape, ...]:
    """Return a picture's height field; none, with a finding, for an unreadable file."""
    try:
        return (HeightField.from_image(geometry.path or geometry.filename, geometry.size),)
    except InvalidValueError as err:
        findings.add(severity, 'heightmap', place, str(err), 'uri', geometry.filename)
        return ()


def _material(
    robot: RobotDescription,
    link: str,
    contact: ContactDescription,
    known: dict[ContactDescription, Material],
) -> Material | None:
    """Return the material described by Gazebo's tags; links with equal tags share one."""
    surface = ContactDescription(
        **{
            field.name: getattr(contact, field.name)
            for field in fields(contact)
            if field.name not in _NOT_OF_MATERIALS
        }
    )
    if surface == ContactDescription(
        rolling_slip=surface.rolling_slip, direction_link=surface.direction_link
    ):
        # these belong to the shape
        return None
    if surface not in known:
        given = {
            'friction': surface.friction,
            'friction2': surface.friction2,
            'youngs_modulus': surface.stiffness,
            'max_correcting_velocity': surface.max_velocity,
            'restitution': surface.restitution,
            'slip': surface.slip,
            'spinning_friction': surface.spinning_friction,
        }
        if surface.stiffness is not None and surface.damping is not None:
            # relaxation time of a damper kd beside a spring kp; ODE's contact evaluates the spring
            # at the end of the step h, like a further damper h kp
            given['damping'] = surface.damping / surface.stiffness + _GAZEBO_STEP
        values: dict[str, Any] = {
            name: value for name, value in given.items() if value is not None
        }
        name = f'{robot.name}/{link}'
        if robot.format == SDF.name:
            # equal collisions share a material: material pairs are many
            name = ', '.join(f'{key}={value:.9g}' for key, value in values.items())
        known[surface] = Material(name, **values)
    return known[surface]
