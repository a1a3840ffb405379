"""Links in SDF."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sim_bridge.description.model import (
    ContactDescription,
    GeometryDescription,
    Inertial,
    LinkDescription,
    Pose,
)
from sim_bridge.description.poses import read_only
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf_model.geometry import Context, HEIGHTMAP, PLANE, read_geometry
from sim_bridge.description.sdf_model.materials import read_material
from sim_bridge.description.sdf_model.scope import Scope
from sim_bridge.description.sdf_model.surface import read_surface
from sim_bridge.description.sdf_model.tags import NOT_NEGATIVE, POSITIVE, Tags
from sim_bridge.description.xml.document import Element
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.shapes.mesh_cache import mesh_of_file
from sim_bridge.shapes.placed import combined_mass_properties, Placed
from sim_bridge.shapes.polyhedra import TriangleMesh
from sim_bridge.shapes.shapes import PRIMITIVES, Shape

WATER = 1000.0
"""Density without one in the file [kg/m³]."""
# parts of a link read elsewhere
_ELSEWHERE = ('sensor', 'battery', 'pose', 'origin', 'plugin')
_OTHERS = ('light', 'projector', 'audio_sink', 'audio_source', 'particle_emitter')
# a `<collision>` with its shapes
_Body = tuple[Element, list[GeometryDescription]]
_MOMENTS = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
# which do not concern motion, or pictures here
_OF_COLLISIONS = (
    'laser_retro',
    'max_contacts',
    'auto_inertia_params',
    'density',
    'pose',
    'origin',
)
_OF_VISUALS = ('cast_shadows', 'laser_retro', 'visibility_flags', 'meta', 'plugin', 'origin')


def build_link(
    node: Element, scope: Scope, context: Context, wind: bool, self_collide: bool
) -> LinkDescription:
    """
    Return the link in a `<link>` element.

    scope: its model. wind, self_collide: the model's own, used where the link has none.
    """
    name = scope.prefix + node.get('name')
    findings = context.library.findings
    tags = Tags(node, Place('link', name, node.line), findings)
    usual = node.get('name')
    bodies = [
        (each, _collision(each, tags, scope, usual, context)) for each in tags.findall('collision')
    ]
    collisions = [shape for _, shapes in bodies for shape in shapes]
    visuals = [
        shape
        for each in tags.findall('visual')
        for shape in _visual(each, tags, scope, usual, context)
    ]
    if any(shape.kind == HEIGHTMAP for shape in visuals):
        visuals = _without_height_maps(visuals, collisions, tags)
    inertial = _inertial(tags, scope, usual, bodies, context)
    link = LinkDescription(
        name,
        inertial,
        tuple(visuals),
        tuple(collisions),
        ContactDescription(self_collide=tags.flag('self_collide', self_collide)),
        gravity=tags.flag('gravity', True),
        enable_wind=tags.flag('enable_wind', wind),
        line=node.line,
    )
    if tags.flag('kinematic') and not context.is_static:
        tags.ignore(('kinematic',), 'the link moves under forces')
    _warn_of_decay(tags)
    tags.flag('must_be_base_link')
    tags.ignore(_OTHERS, '')
    tags.close(_ELSEWHERE)
    return link


def _warn_of_decay(tags: Tags) -> None:
    decay = tags.inside('velocity_decay')
    if decay is None:
        return
    if any(decay.number(name, 0.0) for name in ('linear', 'angular')):
        message = (
            'is a share of the velocity lost in each step, ignored; '
            'link.linear_velocity_damping and link.angular_velocity_damping are rates [1/s]'
        )
        tags.findings.warning('not-simulated', decay.place, message)
    decay.close()


def _collision(
    node: Element, link: Tags, scope: Scope, usual: str, context: Context
) -> list[GeometryDescription]:
    """Return a collision's shapes; a defective one is left out with warnings."""
    own = Findings()
    tags = Tags(node, link.place.child('collision', node.line), own)
    pose = scope.placed(tags, usual)
    surface = tags.inside('surface')
    contact: ContactDescription | None = None
    groups: frozenset[str] = frozenset()
    if surface is not None:
        contact, groups = read_surface(surface)
        contact = None if contact == ContactDescription() else contact
    geometry, shapes = tags.inside('geometry'), []
    if geometry is None:
        own.error('missing-tag', tags.place.child('geometry', node.line), 'missing')
    else:
        shapes = read_geometry(geometry, pose, node.get('name'), context)
    tags.close(_OF_COLLISIONS)
    if not link.findings.take_part(own, 'collision'):
        return []
    return [replace(shape, contact=contact, groups=groups) for shape in shapes]


def _visual(
    node: Element, link: Tags, scope: Scope, usual: str, context: Context
) -> list[GeometryDescription]:
    own = Findings()
    tags = Tags(node, link.place.child('visual', node.line), own)
    pose = scope.placed(tags, usual)
    geometry = tags.inside('geometry')
    shapes = [] if geometry is None else read_geometry(geometry, pose, node.get('name'), context)
    transparency = tags.number('transparency', 0.0, NOT_NEGATIVE)
    looks = read_material(tags.inside('material'), transparency, context.library, context.file)
    tags.close(_OF_VISUALS)
    if not link.findings.take_part(own, ''):
        return []
    return [replace(each, color=looks.color, texture=looks.texture) for each in shapes]


def _without_height_maps(
    visuals: list[GeometryDescription], collisions: list[GeometryDescription], tags: Tags
) -> list[GeometryDescription]:
    """Return the other visuals: a link without visuals shows its collisions."""
    others = [shape for shape in visuals if shape.kind != HEIGHTMAP]
    if others or not any(shape.kind == HEIGHTMAP for shape in collisions):
        message = 'height maps are seen as the only collision of their link; not drawn'
        tags.findings.warning('not-simulated', tags.place.child('visual', tags.node.line), message)
    return others


# --- mass --------------------------------------------------------------------------------------


def _inertial(
    link: Tags, scope: Scope, usual: str, bodies: list[_Body], context: Context
) -> Inertial | None:
    """Return the mass properties; 1 kg and 1 kg m², as in the reference, if absent."""
    tags = link.inside('inertial')
    if tags is None:
        if context.is_static:
            return None
        message = 'missing; the values of SDF are taken: 1 kg, 1 kg m²'
        link.findings.warning(
            'missing-inertial', link.place.child('inertial', link.node.line), message
        )
        return Inertial(1.0, Pose(), read_only(np.eye(3)), link.node.line)
    if context.is_static:
        # nothing moves, and files have any numbers here
        return None
    pose = scope.placed(tags, usual)
    if tags.node.get('auto').lower() in ('true', '1'):
        return _from_shapes(link, tags, bodies)
    mass = tags.number('mass', 1.0)
    inner = tags.inside('inertia')
    numbers = {name: 1.0 if name[1] == name[2] else 0.0 for name in _MOMENTS}
    if inner is not None:
        numbers = {name: inner.number(name, value) for name, value in numbers.items()}
        inner.close()
    xx, xy, xz, yy, yz, zz = numbers.values()
    tags.ignore(('fluid_added_mass',), 'the plugin hydrodynamics has added mass')
    tags.close(('density', 'auto_inertia_params'))
    inertia = read_only(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    return Inertial(mass, pose, inertia, tags.node.line)


def _from_shapes(link: Tags, tags: Tags, bodies: list[_Body]) -> Inertial | None:
    """Return the collisions' mass properties, scaled to a given mass."""
    usual = tags.number('density', WATER, POSITIVE)
    solids = [
        (each, Tags(node, link.at(node), link.findings).number('density', usual, POSITIVE))
        for node, shapes in bodies
        for each in _solid(shapes)
    ]
    if not solids:
        message = 'auto needs a collision with a volume, and the link has none; give its mass'
        tags.findings.error('bad-value', tags.place, message, 'auto', tags.node.get('auto'))
        return None
    shapes, weights = [], []
    try:
        for each, density in solids:
            placed = Placed(
                _shape(each),
                each.pose.position.tolist(),
                quaternion_from_matrix(each.pose.rotation).tolist(),
            )
            shapes.append(placed)
            weights.append(density)
        own = combined_mass_properties(shapes, weights)
    except InvalidValueError as err:
        tags.findings.error('bad-value', tags.place, f'auto: {err}')
        return None
    mass = tags.number('mass', own.mass, POSITIVE)
    tags.close(('auto_inertia_params', 'inertia', 'pose'))
    inertia = own.inertia * (mass / own.mass)
    center = Pose(read_only(own.center_of_mass))
    return Inertial(mass, center, read_only(inertia), tags.node.line)


def _solid(collisions: list[GeometryDescription]) -> Iterator[GeometryDescription]:
    return (each for each in collisions if each.kind not in (PLANE, HEIGHTMAP))


def _shape(geometry: GeometryDescription) -> Shape:
    if geometry.kind in PRIMITIVES:
        return PRIMITIVES[geometry.kind](*geometry.size)
    if geometry.surface is not None:
        return TriangleMesh(*geometry.surface)
    return mesh_of_file(geometry.filename.removeprefix('file://'), geometry.size, geometry.part)
