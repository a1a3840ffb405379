"""Links in SDF: mass properties, shapes and contact parameters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

from sim_bridge.description.collision_bits import ALL_BITS, Bits, bits_of
from sim_bridge.description.model import ContactDescription, GeometryDescription, LinkDescription
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf_model.surface import PATCH
from sim_bridge.description.sdf_model.write.text import add, add_pose, numbers
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.names import free_name
from sim_bridge.shapes.polyhedra import TriangleMesh
from sim_bridge.shapes.stl_files import stl_file

# sizes by kind, in the order of a geometry's size
_SIZES = {
    'sphere': ('radius',),
    'cylinder': ('radius', 'length'),
    'capsule': ('radius', 'length'),
    'cone': ('radius', 'length'),
}
_VECTORS = {'box': 'size', 'ellipsoid': 'radii'}
_MOMENTS = ('xx', 'xy', 'xz', 'yy', 'yz', 'zz')
# contact parameters of ODE in SDF
_CONTACT = {'stiffness': 'kp', 'damping': 'kd', 'max_velocity': 'max_vel', 'layer': 'min_depth'}


class LinkWriter:
    """
    Writer for links.

    folder: the SDF file's folder; None: triangles without a file are left out. has_groups:
    whether the shapes' collision groups are written.
    """

    def __init__(self, folder: Path | None, has_groups: bool, findings: Findings) -> None:
        self._folder, self._has_groups, self._findings = folder, has_groups, findings

    def write(self, element: Element, link: LinkDescription) -> None:
        """Add a link's mass properties and shapes to its element."""
        if not link.gravity:
            add(element, 'gravity', 'false')
        if link.enable_wind:
            add(element, 'enable_wind', 'true')
        if link.contact.self_collide is not None:
            add(element, 'self_collide', 'true' if link.contact.self_collide else 'false')
        self._inertial(element, link)
        names: set[str] = set()
        for tag, shapes in (('collision', link.collisions), ('visual', link.visuals)):
            for shape in shapes:
                place = Place(f'link/{tag}', link.name, shape.line)
                own = SubElement(element, tag)
                if not self._geometry(SubElement(own, 'geometry'), shape, place):
                    element.remove(own)
                    continue
                # SDF needs a name for each shape
                name = free_name(shape.name or f'{link.name}_{tag}', names.__contains__)
                names.add(name)
                own.set('name', name)
                add_pose(own, shape.pose)
                if tag == 'visual':
                    self._material(own, shape)
                else:
                    contact = contact_of(shape, link)
                    _surface(own, contact, self._masks(shape, contact, place))

    def _masks(
        self, shape: GeometryDescription, contact: ContactDescription, place: Place
    ) -> Bits | None:
        """Return category and mask; None for SDF's defaults."""
        if not contact.enabled:
            return 0, 0
        if not shape.groups or not self._has_groups:
            return None
        bits = bits_of(next(iter(shape.groups)))
        if bits is None or len(shape.groups) > 1 or max(bits) > ALL_BITS:
            message = 'SDF has no counterpart for its collision groups: left out'
            self._findings.warning('unsupported', place, message)
            return None
        return bits

    def _inertial(self, element: Element, link: LinkDescription) -> None:
        own = link.inertial
        inertial = SubElement(element, 'inertial')
        if own is None:
            # without it, SDF's link has 1 kg
            add(inertial, 'mass', 0.0)
        else:
            add_pose(inertial, own.pose)
            add(inertial, 'mass', own.mass)
        moments = SubElement(inertial, 'inertia')
        for name in _MOMENTS:
            at = 'xyz'.index(name[0]), 'xyz'.index(name[1])
            add(moments, f'i{name}', 0.0 if own is None else own.inertia[at])

    def _geometry(self, element: Element, shape: GeometryDescription, place: Place) -> bool:
        """Add a shape; return False, with a warning, if SDF cannot hold it."""
        if shape.kind == 'mesh':
            try:
                uri, scale = self._mesh(shape)
            except (InvalidValueError, OSError) as err:
                message = f'is left out: {err}'
                self._findings.warning('unsupported', place, message, 'mesh', shape.filename)
                return False
            mesh = SubElement(element, 'mesh')
            add(mesh, 'uri', uri)
            if scale != (1.0, 1.0, 1.0):
                add(mesh, 'scale', numbers(scale))
            if shape.part:
                add(SubElement(mesh, 'submesh'), 'name', shape.part)
            return True
        if shape.kind == 'heightmap':
            message = 'a height map is left out of the written SDF'
            self._findings.warning('unsupported', place, message)
            return False
        own = SubElement(element, shape.kind)
        if shape.kind == 'plane':
            add(own, 'normal', '0 0 1')
        elif shape.kind in _VECTORS:
            add(own, _VECTORS[shape.kind], numbers(shape.size))
        else:
            for name, value in zip(_SIZES[shape.kind], shape.size, strict=True):
                add(own, name, value)
        return True

    def _mesh(self, shape: GeometryDescription) -> tuple[str, tuple[float, ...]]:
        if shape.surface is None:
            return _uri(shape.filename, shape.path), shape.size
        if self._folder is None:
            raise InvalidValueError('mesh', shape.filename, 'a folder for its STL file')
        folder = self._folder.resolve()
        file = stl_file(TriangleMesh(*shape.surface), folder / 'meshes')
        return str(file.relative_to(folder)), (1.0, 1.0, 1.0)

    def _material(self, visual: Element, shape: GeometryDescription) -> None:
        material = Element('material')
        if shape.color is not None:
            color = numbers(shape.color)
            add(material, 'ambient', color)
            add(material, 'diffuse', color)
        if shape.texture:
            metal = SubElement(SubElement(material, 'pbr'), 'metal')
            add(metal, 'albedo_map', _uri(shape.texture, shape.texture_path))
        if len(material):
            visual.append(material)


def contact_of(shape: GeometryDescription, link: LinkDescription) -> ContactDescription:
    """Return a collision shape's contact parameters, with those of its material."""
    contact, own = shape.contact or link.contact, shape.material
    if own is None:
        return contact
    return replace(
        contact,
        friction=own.friction,
        friction2=own.friction2,
        restitution=own.restitution or None,
        spinning_friction=own.spinning_friction or None,
        slip=own.slip or None,
    )


def _uri(filename: str, path: str) -> str:
    """Return a file's URI; a relative path starts at the robot's file, not at the written one."""
    # package:// and model:// stay
    is_uri = '://' in filename or not path
    return filename if is_uri else str(Path(path).resolve())


def _surface(collision: Element, contact: ContactDescription, masks: Bits | None) -> None:
    """Add contact parameters; SDF gives them to each collision."""
    surface = Element('surface')
    _friction(surface, contact)
    if contact.restitution:
        bounce = SubElement(surface, 'bounce')
        add(bounce, 'restitution_coefficient', contact.restitution)
        add(bounce, 'threshold', 0.0)
    own = Element('contact')
    if contact.is_sensor:
        add(own, 'collide_without_contact', 'true')
    if masks is not None:
        category, collide = masks
        add(own, 'collide_bitmask', str(collide))
        add(own, 'category_bitmask', str(category))
    laws = {tag: getattr(contact, name) for name, tag in _CONTACT.items()}
    if any(each is not None for each in laws.values()):
        ode = SubElement(own, 'ode')
        for tag, value in laws.items():
            if value is not None:
                add(ode, tag, value)
    if len(own):
        surface.append(own)
    if len(surface):
        collision.append(surface)


def _friction(surface: Element, contact: ContactDescription) -> None:
    friction = Element('friction')
    ode = Element('ode')
    across = contact.friction if contact.friction2 is None else contact.friction2
    for tag, value in (('mu', contact.friction), ('mu2', across)):
        if value is not None:
            add(ode, tag, value)
    if contact.direction is not None:
        direction = add(ode, 'fdir1', numbers(contact.direction))
        if contact.direction_link:
            direction.set('gz:expressed_in', contact.direction_link)
    if contact.slip:
        add(ode, 'slip1', contact.slip)
        add(ode, 'slip2', contact.slip)
    if len(ode):
        friction.append(ode)
    if contact.spinning_friction:
        torsional = SubElement(friction, 'torsional')
        add(torsional, 'coefficient', 1.0)
        add(torsional, 'patch_radius', contact.spinning_friction / PATCH)
    if len(friction):
        surface.append(friction)
