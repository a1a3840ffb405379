"""Any robot written as URDF, for programs that publish its frames or draw it."""

from __future__ import annotations

from collections.abc import Iterable
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Comment, Element, SubElement

import numpy as np

from sim_bridge.description.formats import URDF
from sim_bridge.description.model import (
    GeometryDescription,
    JointDescription,
    JointDynamics,
    JointLimits,
    JointType,
    LinkDescription,
    Pose,
    RobotDescription,
)
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.names import free_name
from sim_bridge.foundation.rotation import matrix_from_quaternion, rpy_from_matrix
from sim_bridge.shapes.mesh_cache import mesh_of_file
from sim_bridge.shapes.mesh_files import VRML_SUFFIX
from sim_bridge.shapes.placed import Placed
from sim_bridge.shapes.polyhedra import ConvexHull, TriangleMesh
from sim_bridge.shapes.shapes import Box, Capsule, Cylinder, Ellipsoid, PRIMITIVES, Shape, Sphere
from sim_bridge.shapes.stl_files import stl_file
from sim_bridge.shapes.tessellation import tessellated

_UNBOUNDED, _FREE = JointLimits(), JointDynamics()


def urdf_text(
    robot: RobotDescription,
    shapes: Iterable[tuple[str, Placed]] = (),
    mesh_folder: Path | None = None,
) -> str:
    """
    Return a robot's tree as URDF: links, visuals and joints.

    shapes: further shapes by link. mesh_folder: folder for triangles, written as STL files named
    after their contents; None: meshes made of triangles are left out. Where URDF requires equal
    joint and link frames, a massless frame is added between joint and link. Loop joints are left
    out and a ball joint becomes a floating joint; XML comments say so.
    """
    return _Writer(robot, mesh_folder).text(list(shapes))


def published_urdf(robot: RobotDescription, mesh_folder: Path | None = None) -> str:
    """
    Return the text for `robot_description`: the URDF as read, or the tree in another format.

    mesh_folder: see `urdf_text`.
    """
    return robot.xml if robot.format == URDF.name else urdf_text(robot, (), mesh_folder)


class _Writer:
    def __init__(self, robot: RobotDescription, mesh_folder: Path | None):
        self._robot, self._folder = robot, mesh_folder
        self._root = Element('robot', name=robot.name)
        self._taken = set(robot.links)

    def text(self, shapes: list[tuple[str, Placed]]) -> str:
        for link in self._robot.links.values():
            self._link(link, [placed for name, placed in shapes if name == link.name])
        for joint in self._robot.joints.values():
            self._joint(joint)
        loops = ', '.join(each.name for each in self._robot.constraints)
        if loops:
            self._root.append(_comment(f'joints that close loops are not in a URDF: {loops}'))
        ElementTree.indent(self._root)
        return ElementTree.tostring(self._root, encoding='unicode')

    def _link(self, link: LinkDescription, shapes: list[Placed]) -> None:
        element = SubElement(self._root, 'link', name=link.name)
        own = link.inertial
        if own is not None:
            inertial = SubElement(element, 'inertial')
            _origin(inertial, own.pose)
            SubElement(inertial, 'mass', value=_number(own.mass))
            SubElement(
                inertial,
                'inertia',
                {
                    f'i{a}{b}': _number(own.inertia['xyz'.index(a), 'xyz'.index(b)])
                    for a, b in ('xx', 'xy', 'xz', 'yy', 'yz', 'zz')
                },
            )
        for tag, geometries in (('visual', link.visuals), ('collision', link.collisions)):
            for geometry in geometries:
                self._described(element, tag, geometry)
        for placed in shapes:
            touches = placed.enabled and not placed.sensor
            pose = Pose(np.array(placed.position), matrix_from_quaternion(placed.orientation))
            for kind in ('visual', 'collision') if touches else ('visual',):
                self._geometry(element, kind, placed.shape, pose)

    def _described(self, link: Element, tag: str, geometry: GeometryDescription) -> None:
        first = len(link)
        self._shape(link, tag, geometry)
        if tag == 'visual' and geometry.color is not None:
            for element in link[first:]:
                if element.tag == tag:
                    # a name is required, and means nothing without a text
                    material = SubElement(element, 'material', name='')
                    SubElement(material, 'color', rgba=_numbers(geometry.color))

    def _shape(self, link: Element, tag: str, geometry: GeometryDescription) -> None:
        if geometry.kind == 'heightmap':
            link.append(_comment(f'{tag} left out: the height map {geometry.filename}'))
            return
        if geometry.kind != 'mesh':
            self._geometry(link, tag, PRIMITIVES[geometry.kind](*geometry.size), geometry.pose)
            return
        if geometry.surface is not None:
            self._geometry(link, tag, TriangleMesh(*geometry.surface), geometry.pose)
            return
        if geometry.part or (geometry.path.endswith(VRML_SUFFIX) and self._folder is not None):
            # few programs read parts of files and VRML
            try:
                mesh = mesh_of_file(geometry.path, geometry.size, geometry.part)
            except InvalidValueError as err:
                link.append(_comment(f'{tag} left out: {err}'))
            else:
                self._geometry(link, tag, mesh, geometry.pose)
            return
        element = SubElement(link, tag)
        _origin(element, geometry.pose)
        SubElement(
            SubElement(element, 'geometry'),
            'mesh',
            filename=geometry.filename,
            scale=_numbers(geometry.size),
        )

    def _geometry(self, link: Element, kind: str, shape: Shape, pose: Pose) -> None:
        if isinstance(shape, Capsule):
            # URDF has no capsule
            self._geometry(link, kind, Cylinder(shape.radius, shape.length), pose)
            for end in (-0.5, 0.5):
                place = pose @ Pose(np.array([0.0, 0.0, end * shape.length]))
                self._geometry(link, kind, Sphere(shape.radius), place)
            return
        if isinstance(shape, Box):
            name, sizes = 'box', {'size': _numbers(shape.size)}
        elif isinstance(shape, Sphere):
            name, sizes = 'sphere', {'radius': _number(shape.radius)}
        elif isinstance(shape, Cylinder):
            name, sizes = (
                'cylinder',
                {'radius': _number(shape.radius), 'length': _number(shape.length)},
            )
        elif isinstance(shape, Ellipsoid) and self._folder is not None:
            # URDF has no ellipsoid
            self._geometry(link, kind, TriangleMesh(*tessellated(shape)), pose)
            return
        elif isinstance(shape, (ConvexHull, TriangleMesh)) and self._folder is not None:
            name, sizes = 'mesh', {'filename': stl_file(shape, self._folder).as_uri()}
        else:
            link.append(_comment(f'{kind} left out: {shape!r}'))
            return
        element = SubElement(link, kind)
        _origin(element, pose)
        SubElement(SubElement(element, 'geometry'), name, sizes)

    def _joint(self, joint: JointDescription) -> None:
        parent, origin, last = joint.parent, joint.origin, joint.child_pose
        if joint.type is JointType.PISTON:
            # two joints in series, named like their axes in joint states
            between = self._frame(f'{joint.name}_slide_frame')
            self._add(
                f'{joint.name}/slide',
                JointType.PRISMATIC,
                parent,
                between,
                origin,
                joint.axis,
                joint.limits,
                joint.dynamics,
            )
            name, kind, parent, origin = f'{joint.name}/turn', JointType.REVOLUTE, between, Pose()
            limits, dynamics = joint.limits2, joint.dynamics2
        else:
            name, kind = joint.name, joint.type
            limits, dynamics = joint.limits, joint.dynamics
        if kind not in (
            JointType.FIXED,
            JointType.REVOLUTE,
            JointType.CONTINUOUS,
            JointType.PRISMATIC,
        ):
            self._root.append(_comment(f'joint {name} is of type {kind.value}'))
            kind = JointType.FLOATING
        if kind in (JointType.FIXED, JointType.FLOATING):
            origin, last = origin @ last, Pose()
        child = joint.child if last.is_identity else self._frame(f'{joint.name}_frame')
        written = self._add(name, kind, parent, child, origin, joint.axis, limits, dynamics)
        if joint.mimic is not None:
            rule = SubElement(written, 'mimic', joint=joint.mimic.joint)
            rule.set('multiplier', _number(joint.mimic.multiplier))
            rule.set('offset', _number(joint.mimic.offset))
        if child != joint.child:
            self._add(f'{joint.name}_at_0', JointType.FIXED, child, joint.child, last)

    def _frame(self, wanted: str) -> str:
        """Add a link without mass; return its name."""
        name = free_name(wanted, self._taken.__contains__)
        self._taken.add(name)
        SubElement(self._root, 'link', name=name)
        return name

    def _add(
        self,
        name: str,
        kind: JointType,
        parent: str,
        child: str,
        origin: Pose,
        axis: np.ndarray | None = None,
        limits: JointLimits = _UNBOUNDED,
        dynamics: JointDynamics = _FREE,
    ) -> Element:
        is_bounded = math.isfinite(limits.lower) and math.isfinite(limits.upper)
        if kind is JointType.REVOLUTE and not is_bounded:
            kind = JointType.CONTINUOUS
        element = SubElement(self._root, 'joint', name=name, type=kind.value)
        _origin(element, origin)
        SubElement(element, 'parent', link=parent)
        SubElement(element, 'child', link=child)
        if axis is None or kind in (JointType.FIXED, JointType.FLOATING):
            return element
        SubElement(element, 'axis', xyz=_numbers(axis))
        values = {'effort': _number(limits.effort), 'velocity': _number(limits.velocity)}
        if kind is not JointType.CONTINUOUS:
            values |= {'lower': _number(limits.lower), 'upper': _number(limits.upper)}
        SubElement(element, 'limit', values)
        if dynamics.damping or dynamics.friction:
            SubElement(
                element,
                'dynamics',
                damping=_number(dynamics.damping),
                friction=_number(dynamics.friction),
            )
        return element


def _comment(text: str) -> Any:
    return Comment(f' {text.replace("--", "- -")} ')


def _origin(element: Element, pose: Pose) -> None:
    SubElement(
        element,
        'origin',
        xyz=_numbers(pose.position),
        rpy=_numbers(rpy_from_matrix(pose.rotation)),
    )


def _numbers(values: Iterable[float]) -> str:
    return ' '.join(map(_number, values))


def _number(value: float) -> str:
    """Return a number as text that is read to the same bits; infinity as the greatest number."""
    return repr(float(np.nan_to_num(value)))
