"""Shapes and their assets in MJCF."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

from sim_bridge.description.collision_bits import ALL_BITS, Bits, bits_of, has_rules, MUJOCO_BITS
from sim_bridge.description.mjcf.write.text import number, numbers, placed
from sim_bridge.description.model import (
    ContactDescription,
    GeometryDescription,
    LinkDescription,
    RobotDescription,
)
from sim_bridge.description.report import Findings, Place
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.names import free_name
from sim_bridge.shapes.material import Material
from sim_bridge.shapes.mesh_cache import mesh_of_file
from sim_bridge.shapes.polyhedra import TriangleMesh
from sim_bridge.shapes.shapes import Cone
from sim_bridge.shapes.stl_files import stl_file
from sim_bridge.shapes.tessellation import tessellated

# for infinite friction; MuJoCo's solvers need a number
_GREATEST_FRICTION = 1e3
# mesh files read by MuJoCo
_READ = ('.stl', '.obj', '.msh')
_VISUAL_GROUP, _COLLISION_GROUP = '2', '3'


class GeometryWriter:
    """
    Writer for geoms and their mesh files.

    folder: the MJCF file's folder; None: meshes without a readable file are left out. default:
    contype and conaffinity of shapes without collision groups.
    """

    def __init__(
        self, assets: Element, folder: Path | None, default: Bits, findings: Findings
    ) -> None:
        self._assets, self._folder, self._findings = assets, folder, findings
        self._default = default
        self._meshes: dict[tuple[str, tuple[float, ...], str], str] = {}
        self._names: set[str] = set()

    def write(self, body: Element, link: LinkDescription) -> None:
        """Add a link's visuals and collision shapes to its body."""
        # one geom becomes a visual and a collision; contacts name the collision
        touched = {each.name for each in link.collisions} - {''}
        for number_, visual in enumerate(link.visuals):
            place = Place('link/visual', link.name, visual.line)
            geom = self._geom(body, visual, place)
            if geom is not None:
                geom.attrib |= {'contype': '0', 'conaffinity': '0', 'group': _VISUAL_GROUP}
                own = f'{visual.name}_visual' if visual.name in touched else visual.name
                self._name(geom, own or f'{link.name}_visual_{number_}')
                if visual.color is not None:
                    geom.set('rgba', numbers(visual.color))
        for number_, collision in enumerate(link.collisions):
            place = Place('link/collision', link.name, collision.line)
            geom = self._geom(body, collision, place)
            if geom is not None:
                geom.set('group', _COLLISION_GROUP)
                self._name(geom, collision.name or f'{link.name}_collision_{number_}')
                contact = collision.contact or link.contact
                _write_contact(geom, contact)
                if contact.enabled and not contact.is_sensor:
                    self._write_bits(geom, collision, place)
                if collision.material is not None:
                    _write_material(geom, collision.material)

    def _name(self, geom: Element, wanted: str) -> None:
        name = free_name(wanted, self._names.__contains__)
        self._names.add(name)
        geom.set('name', name)

    def _geom(self, body: Element, geometry: GeometryDescription, place: Place) -> Element | None:
        if geometry.kind in ('mesh', 'cone'):
            mesh = self._mesh(geometry, place)
            if mesh is None:
                return None
            attributes = {'type': 'mesh', 'mesh': mesh}
        else:
            write = _PRIMITIVES.get(geometry.kind)
            if write is None:
                self._lose(place, geometry.kind)
                return None
            attributes = write(geometry.size)
        geom = SubElement(body, 'geom', attributes)
        placed(geom, geometry.pose)
        return geom

    def _mesh(self, geometry: GeometryDescription, place: Place) -> str | None:
        """Return a mesh asset's name; None, with a finding, if there is no file for it."""
        key = geometry.path or f'{geometry.kind} {id(geometry)}', geometry.size, geometry.part
        if key not in self._meshes:
            try:
                file, scale = self._mesh_file(geometry)
            except (InvalidValueError, OSError) as err:
                message = f'is left out: {err}'
                self._findings.warning('unsupported', place, message, 'mesh', geometry.filename)
                return None
            name = free_name(Path(geometry.path).stem or place.name, self._names.__contains__)
            self._names.add(name)
            asset = SubElement(self._assets, 'mesh', name=name, file=self._relative(file))
            if scale != (1.0, 1.0, 1.0):
                asset.set('scale', numbers(scale))
            self._meshes[key] = name
        return self._meshes[key]

    def _mesh_file(self, geometry: GeometryDescription) -> tuple[Path, tuple[float, ...]]:
        path = Path(geometry.path)
        if geometry.path and not geometry.part and path.suffix.lower() in _READ:
            return path.resolve(), geometry.size
        if self._folder is None:
            raise InvalidValueError('mesh', geometry.filename, 'a folder for its STL file')
        if geometry.kind == 'cone':
            # MuJoCo has no cone
            mesh = TriangleMesh(*tessellated(Cone(*geometry.size)))
        elif geometry.surface is not None:
            mesh = TriangleMesh(*geometry.surface)
        else:
            mesh = mesh_of_file(geometry.path, geometry.size, geometry.part)
        return stl_file(mesh, self._folder.resolve() / 'meshes'), (1.0, 1.0, 1.0)

    def _relative(self, file: Path) -> str:
        if self._folder is None or not file.is_relative_to(self._folder.resolve()):
            return str(file)
        return str(file.relative_to(self._folder.resolve()))

    def _write_bits(self, geom: Element, collision: GeometryDescription, place: Place) -> None:
        """Set contype and conaffinity, left out at MuJoCo's defaults."""
        bits = self._default
        if collision.groups:
            own = bits_of(next(iter(collision.groups)))
            if own is None or len(collision.groups) > 1:
                self._lose(place, 'collision groups')
            else:
                bits = own
        if bits != MUJOCO_BITS:
            # MuJoCo reads signed numbers
            names = ('contype', 'conaffinity')
            geom.attrib |= {
                name: str(each - (1 << 32) if each >> 31 else each)
                for name, each in zip(names, bits, strict=True)
            }

    def _lose(self, place: Place, part: str) -> None:
        message = f'MJCF has no counterpart for its {part}: left out'
        self._findings.warning('unsupported', place, message)


def default_bits(robot: RobotDescription) -> Bits:
    """
    Return contype and conaffinity for a robot's shapes without collision groups.

    Beside shapes with bit masks, it has all of SDF's 16 bits.
    """
    return (ALL_BITS, ALL_BITS) if has_rules(robot.links.values()) else MUJOCO_BITS


def _write_contact(geom: Element, contact: ContactDescription) -> None:
    if contact.friction is not None or contact.spinning_friction is not None:
        sliding = 1.0 if contact.friction is None else contact.friction
        spinning = contact.spinning_friction or 0.0
        geom.set('friction', numbers((min(sliding, _GREATEST_FRICTION), spinning, 0.0)))
        geom.set('condim', '4' if spinning else '3')
    if contact.is_sensor or not contact.enabled:
        geom.attrib |= {'contype': '0', 'conaffinity': '0'}


def _write_material(geom: Element, material: Material) -> None:
    """Set friction: sliding, then torsional and rolling [m], and the directions that have it."""
    turning = material.spinning_friction, material.rolling_friction
    sliding = min(material.friction, _GREATEST_FRICTION)
    geom.set('friction', numbers((sliding, *turning)))
    geom.set('condim', '6' if turning[1] else '4' if turning[0] else '3')


def _box(size: tuple[float, ...]) -> dict[str, str]:
    return {'type': 'box', 'size': numbers(0.5 * each for each in size)}


def _sphere(size: tuple[float, ...]) -> dict[str, str]:
    return {'type': 'sphere', 'size': number(size[0])}


def _cylinder(size: tuple[float, ...]) -> dict[str, str]:
    return {'type': 'cylinder', 'size': numbers((size[0], 0.5 * size[1]))}


def _capsule(size: tuple[float, ...]) -> dict[str, str]:
    return _cylinder(size) | {'type': 'capsule'}


def _ellipsoid(size: tuple[float, ...]) -> dict[str, str]:
    return {'type': 'ellipsoid', 'size': numbers(size)}


def _plane(size: tuple[float, ...]) -> dict[str, str]:
    # without end; MuJoCo accepts planes on fixed bodies only
    return {'type': 'plane', 'size': '0 0 1'}


_PRIMITIVES: dict[str, Callable[[tuple[float, ...]], dict[str, str]]] = {
    'box': _box,
    'sphere': _sphere,
    'cylinder': _cylinder,
    'capsule': _capsule,
    'ellipsoid': _ellipsoid,
    'plane': _plane,
}
