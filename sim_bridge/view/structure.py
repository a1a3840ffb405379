"""World structure for the page: links, surfaces, joints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from sim_bridge.foreign.appearance import Color
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import matrix_from_quaternion
from sim_bridge.page.channel import Sizes
from sim_bridge.page.records import JointRecord, LinkRecord, Mesh, MeshFile, Part, Structure
from sim_bridge.robots.body_type import motion_of_link
from sim_bridge.robots.default_colors import color_of
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.link import Link
from sim_bridge.robots.robot import Robot
from sim_bridge.shapes.mesh_cache import colored_surfaces_of_file, ColoredSurface
from sim_bridge.shapes.mesh_files import MeshArrays, VRML_SUFFIX
from sim_bridge.shapes.outlines import Surface
from sim_bridge.shapes.shapes import Box, Cylinder, Plane, PRIMITIVES, Shape, Sphere
from sim_bridge.shapes.tessellation import tessellated
from sim_bridge.simulation.slots import GeometrySlot
from sim_bridge.view.attached import loops_of, sensors_of
from sim_bridge.view.belts import Belts
from sim_bridge.view.odometry import Odometry
from sim_bridge.view.seen import cameras_of
from sim_bridge.view.signals import signals_of
from sim_bridge.world.world import World

_SIDES = 32
_CONTROLS = ('effort', 'velocity', 'position', 'servo')
_PLANE = 50.0  # half the edge of the square drawn for a plane [m]


class _Meshes:
    """Meshes of a structure, each stored once."""

    def __init__(self) -> None:
        self.meshes: list[Mesh | MeshFile] = []
        self.numbers: dict[object, int] = {}
        # keeps objects alive, so that their ids stay unique
        self._kept: list[object] = []

    def of(self, shape: Shape) -> tuple[int, tuple[float, float, float]]:
        """Return a shape's mesh index and scale."""
        key, scale, plain = _unit(shape)
        if key not in self.numbers:
            self._add(key, mesh_of(plain), shape)
        return self.numbers[key], scale

    def of_field(self, slot: GeometrySlot) -> int:
        """Return a height field's mesh index; it is not shared, since heights change."""
        self._add(slot, mesh_of(slot.present_shape))
        return self.numbers[slot]

    def of_file(self, path: str) -> int:
        """Return the mesh index for a file read by the page."""
        if path not in self.numbers:
            self._add(path, MeshFile(path))
        return self.numbers[path]

    def of_arrays(self, arrays: MeshArrays) -> int:
        """Return the mesh index for a mesh contained in a description."""
        if id(arrays) not in self.numbers:
            self._add(
                id(arrays),
                Mesh(arrays.vertices.astype(np.float32), arrays.triangles.astype(np.uint32)),
                arrays,
            )
        return self.numbers[id(arrays)]

    def of_surface(self, own: ColoredSurface) -> int:
        """Return the mesh index for a mesh file's surface."""
        if id(own) not in self.numbers:
            self._add(id(own), Mesh(own.vertices, own.triangles), own)
        return self.numbers[id(own)]

    def _add(self, key: object, mesh: Mesh | MeshFile, kept: object = None) -> None:
        self.numbers[key] = len(self.meshes)
        self.meshes.append(mesh)
        self._kept.append(kept)


class Described(NamedTuple):
    """
    World structure for the page, and its places in the simulation's arrays.

    sites: (links,) rows in `Simulation.observed_sites`. trees: (links,) first body of each link's
    tree. geometry_links: (geometries,) link record indices, as floats. signals: sensor value
    arrays. readings: drawn sensor value arrays. fields: mesh indices for height
    fields. belts: gives belt speeds. odometry: gives the last signals. warnings: parts
    that cannot be drawn.
    """

    structure: Structure
    sizes: Sizes
    sites: np.ndarray
    trees: np.ndarray
    geometry_links: np.ndarray
    signals: tuple[FloatArray, ...]
    readings: tuple[np.ndarray, ...]
    fields: Mapping[GeometrySlot, int]
    belts: Belts
    odometry: Odometry
    warnings: tuple[str, ...] = ()


def describe(world: World, title: str, abilities: frozenset[str]) -> Described:
    """Return a world's structure and frame sizes."""
    meshes = _Meshes()
    links: list[LinkRecord] = []
    parts: list[Part] = []
    joints: list[JointRecord] = []
    places: dict[int, int] = {}
    trees: list[int] = []
    warnings: list[str] = []
    for number, robot in enumerate(world.robots.values()):
        for link in robot.links:
            places[link.slot.site] = len(links)
            trees.append(int(world.simulation.cache.model.root[link.slot.body]))
            color = color_of(robot, number)
            visuals = _visuals(robot, link, len(links), meshes, color, warnings)
            role = 'collision' if visuals else 'both'
            parts += [
                _part(geometry, len(links), meshes, color, role) for geometry in link.geometries
            ]
            links.append(_link(robot, link, motion_of_link(world.simulation, link.slot)))
            parts += visuals
        joints += _joints(robot, places)
    state = world.state
    names, signals = signals_of(world)
    odometry = Odometry(
        {
            robot.name: places[robot.root_link.slot.site]
            for robot in world.robots.values()
            if _moves_as_a_whole(robot)
        }
    )
    names += odometry.names
    sensors, readings = sensors_of(world, places)
    belts = Belts(world.geometries, places)
    cameras, scenery = cameras_of(world, places)
    return Described(
        Structure(
            title,
            tuple(meshes.meshes),
            tuple(parts),
            tuple(links),
            tuple(joints),
            names,
            world.time_step,
            abilities,
            sensors,
            loops_of(world, places),
            belts.records,
            cameras=cameras,
            scenery=scenery,
        ),
        Sizes(
            len(links),
            len(state.q),
            len(state.v),
            len(names),
            sum(map(len, readings)),
            len(belts.records),
        ),
        np.array(list(places), int),
        np.array(trees, int),
        np.array([places[geometry.link.slot.site] for geometry in world.geometries], float),
        (*signals, odometry.values),
        readings,
        {
            each: number
            for each, number in meshes.numbers.items()
            if isinstance(each, GeometrySlot)
        },
        belts,
        odometry,
        tuple(warnings),
    )


def _moves_as_a_whole(robot: Robot) -> bool:
    """Return whether a robot has several links or crawlers, and a movable base."""
    return (
        not robot.fixed_base
        and robot.motion != 'static'
        and (len(robot.links) > 1 or bool(robot.crawlers))
    )


def _part(geometry: Geometry, link: int, meshes: _Meshes, color: Color, role: str) -> Part:
    mesh, scale = (
        meshes.of(geometry.shape)
        if geometry.slot.heights is None
        else (meshes.of_field(geometry.slot), (1.0, 1.0, 1.0))
    )
    opacity = 0.3 if geometry.sensor else color[3]
    return Part(
        role,
        geometry.name,
        link,
        mesh,
        geometry.position,
        matrix_from_quaternion(geometry.orientation),
        scale,
        (*color[:3], opacity),
    )


def _visuals(
    robot: Robot, link: Link, number: int, meshes: _Meshes, color: Color, warnings: list[str]
) -> list[Part]:
    """Return a link's visual parts in its description; appends warnings for missing ones."""
    description = robot.description.links.get(link.name)
    found = []
    for k, visual in enumerate(() if description is None else description.visuals):
        scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
        place = f'robot {robot.name!r}, link {link.name!r}'
        if visual.kind == 'mesh' and visual.surface is None:
            if not visual.path:
                warnings.append(f'{place}: mesh {visual.filename[:200]} is not found')
                continue
            scale = (visual.size[0], visual.size[1], visual.size[2])
        try:
            if visual.kind != 'mesh':
                mesh, scale = meshes.of(PRIMITIVES[visual.kind](*visual.size))
            elif visual.surface is not None:
                mesh = meshes.of_arrays(visual.surface)
            elif visual.path.lower().endswith(VRML_SUFFIX):
                # one part for each colour
                found += [
                    Part(
                        'visual',
                        visual.name or f'{link.name}_visual_{k}',
                        number,
                        meshes.of_surface(each),
                        visual.pose.position,
                        visual.pose.rotation,
                        scale,
                        visual.color or each.color or color,
                    )
                    for each in colored_surfaces_of_file(visual.path, visual.part)
                ]
                continue
            else:
                mesh = meshes.of_file(visual.path)
        except InvalidValueError as err:
            warnings.append(f'{place}: {err}')
            continue
        found.append(
            Part(
                'visual',
                visual.name or f'{link.name}_visual_{k}',
                number,
                mesh,
                visual.pose.position,
                visual.pose.rotation,
                scale,
                visual.color or color,
            )
        )
    return found


def _link(robot: Robot, link: Link, motion: str) -> LinkRecord:
    if not link.m:
        return LinkRecord(link.name, robot.name, 0.0, np.zeros(3), np.zeros(3), np.eye(3), motion)
    moments, axes = np.linalg.eigh(link.I)
    # equivalent box: 12 I_x / m = y² + z²
    squares = 12.0 / link.m * (0.5 * moments.sum() - moments)
    return LinkRecord(
        link.name, robot.name, link.m, link.c, np.sqrt(np.maximum(squares, 0.0)), axes, motion
    )


def _joints(robot: Robot, places: dict[int, int]) -> list[JointRecord]:
    slot = robot.slot
    first_q = slot.part.at.q + slot.blueprint.first_q
    found = []
    for k, name in enumerate(robot.joint_names):
        (axis,), link = robot.joint(name).axes, robot.joint(name).link2
        assert link is not None
        found.append(
            JointRecord(
                name,
                robot.name,
                first_q + k,
                slot.one_axis.start + k,
                places[link.slot.site],
                axis.direction,
                not axis.is_linear,
                axis.lower,
                axis.upper,
                axis.velocity_limit,
                axis.effort_limit,
                _CONTROLS,
            )
        )
    return found


def _unit(shape: Shape) -> tuple[object, tuple[float, float, float], Shape]:
    """Return a shape's mesh cache key, its scale, and the shape to tessellate."""
    if isinstance(shape, Box):
        x, y, z = shape.size
        return Box, (x, y, z), Box((1.0, 1.0, 1.0))
    if isinstance(shape, Sphere):
        return Sphere, (shape.radius,) * 3, Sphere(1.0)
    if isinstance(shape, Cylinder):
        return Cylinder, (shape.radius, shape.radius, shape.length), Cylinder(1.0, 1.0)
    return (Plane if isinstance(shape, Plane) else id(shape)), (1.0, 1.0, 1.0), shape


def mesh_of(shape: Shape) -> Mesh:
    """Return a shape's surface; a square for a plane."""
    found = _square() if isinstance(shape, Plane) else tessellated(shape, _SIDES)
    return Mesh(found.vertices.astype(np.float32), found.triangles.astype(np.uint32))


def _square() -> Surface:
    corners = np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]) * _PLANE
    return Surface(corners, np.array([(0, 1, 2), (0, 2, 3)], np.int64))
