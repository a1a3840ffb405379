"""
Conversion of OpenHRP's VRML97 models, with the prototypes Humanoid, Joint, Segment and sensors.

The result has the form of a body file, so one reader checks both formats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import math
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from sim_bridge.description.body.mesh_geometry import GRID
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.yaml.file import MappingWithLines
from sim_bridge.foreign.vrml.scene import children_of, surface_of
from sim_bridge.foreign.vrml.text import GEOMETRIES, GROUPS, Node, VrmlError
from sim_bridge.foundation.errors import brief
from sim_bridge.shapes.vrml_files import nodes_of_file

HUMANOID, _JOINT, _SEGMENT, _SURFACE, _EXTRA = (
    'Humanoid',
    'Joint',
    'Segment',
    'Surface',
    'ExtraJoint',
)
_JOINT_TYPES = MappingProxyType(
    {
        'rotate': 'revolute',
        'slide': 'prismatic',
        'free': 'free',
        'fixed': 'fixed',
        'pseudoContinuousTrack': 'pseudoContinuousTrack',
        'crawler': 'crawler',
    }
)
_DEVICES = MappingProxyType(
    {
        'ForceSensor': 'ForceSensor',
        'Gyro': 'RateGyroSensor',
        'AccelerationSensor': 'AccelerationSensor',
        'RangeSensor': 'RangeSensor',
        'VisionSensor': 'Camera',
        'SpotLightDevice': 'SpotLight',
        'PressureSensor': 'PressureSensor',
        'PhotoInterrupter': 'PhotoInterrupter',
        'TorqueSensor': 'TorqueSensor',
    }
)
_SCAN = MappingProxyType(
    {
        'scanAngle': None,
        'scanStep': None,
        'scanRate': None,
        'minDistance': 0.01,
        'maxDistance': None,
    }
)
_PRIMITIVES: Mapping[str, Mapping[str, tuple[str, tuple[float, ...]]]] = MappingProxyType(
    {
        'Box': {'size': ('size', (2.0, 2.0, 2.0))},
        'Sphere': {'radius': ('radius', (1.0,))},
        'Cylinder': {'radius': ('radius', (1.0,)), 'height': ('height', (2.0,))},
        'Cone': {'radius': ('bottomRadius', (1.0,)), 'height': ('height', (2.0,))},
    }
)
_NO_TURN = (0.0, 0.0, 1.0, 0.0)
_MOST_ELEMENTS = 100_000


def body_of_vrml(path: Path, findings: Findings) -> MappingWithLines | None:
    """Return a VRML model in body file form; None, with an error noted, if invalid."""
    try:
        return _Model(path.stem).of(nodes_of_file(path))
    except OSError as err:
        findings.error('unreadable', Place('file', str(path)), f'cannot be read: {err.strerror}')
    except VrmlError as err:
        findings.error('not-vrml', Place('file', path.name, err.line), err.problem)
    return None


class _Model:
    def __init__(self, name: str):
        self._name = name
        self._links: list[MappingWithLines] = []
        self._count = 0

    def of(self, nodes: list[Node]) -> MappingWithLines:
        humanoids = [node for node in nodes if node.kind == HUMANOID]
        if len(humanoids) > 1:
            raise VrmlError(f'a second {HUMANOID}: a file may hold one robot', humanoids[1].line)
        joints = [_extra_joint(node) for node in nodes if node.kind == _EXTRA]
        name = self._name
        if humanoids:
            name = humanoids[0].name or name
            roots = humanoids[0].nodes('humanoidBody')
            if len(roots) != 1 or roots[0].kind != _JOINT:
                raise VrmlError(f'humanoidBody must hold one {_JOINT}', humanoids[0].line)
            self._joint(roots[0], '')
        else:
            elements = self._elements(nodes, None)
            if not elements:
                raise VrmlError(f'there is neither a {HUMANOID} nor a shape', 1)
            self._links.append(_mapping(1, name='Root', jointType='fixed', elements=elements))
        return _mapping(
            1,
            format='ChoreonoidBody',
            formatVersion=1.0,
            angleUnit='radian',
            name=name,
            links=self._links,
            **({'extraJoints': joints} if joints else {}),
        )

    def _joint(self, node: Node, parent: str) -> None:
        kind = _word(node, 'jointType')
        if kind not in _JOINT_TYPES:
            raise VrmlError(
                f'jointType {brief(kind)}: the types are {", ".join(_JOINT_TYPES)}', node.line
            )
        name = node.name or f'joint{len(self._links)}'
        link = _mapping(
            node.line,
            name=name,
            jointType=_JOINT_TYPES[kind],
            **_place(node),
            **({'parent': parent} if parent else {}),
        )
        number = _number(node, 'jointId', -1.0)
        if number >= 0:
            link['jointId'] = number
        if kind not in ('free', 'fixed'):
            axis = node.fields.get('jointAxis', 'Z')
            link['jointAxis'] = (
                axis[0]
                if isinstance(axis, list) and axis
                else (axis.tolist() if isinstance(axis, np.ndarray) else 'Z')
            )
        for key, ends in (
            ('jointRange', ('llimit', 'ulimit')),
            ('jointVelocityRange', ('lvlimit', 'uvlimit')),
        ):
            limits = [_limit(node, end) for end in ends]
            if any(limit is not None for limit in limits):
                link[key] = ['unlimited' if limit is None else limit for limit in limits]
        ratio = _number(node, 'gearRatio', 1.0)
        current = _limit(node, 'climit')
        if current is not None:
            # current limit [A] times torque constant [N m/A]
            link['maxJointEffort'] = abs(ratio) * _number(node, 'torqueConst', 1.0) * current
        link['rotorInertia'], link['gearRatio'] = _number(node, 'rotorInertia', 0.0), ratio
        whole = _number(node, 'equivalentInertia', 0.0)
        if whole:
            link['jointAxisInertia'] = whole
        link.lines = dict.fromkeys(link, node.line)
        self._links.append(link)
        inner: list[Node] = []
        elements = self._elements(node.nodes('children'), inner)
        # only segments give mass
        link['elements'] = [*elements, _mapping(node.line, type='RigidBody', mass=0.0)]
        for child in inner:
            self._joint(child, name)

    def _elements(
        self, nodes: Iterable[Node], joints: list[Node] | None, is_drawn: bool = False
    ) -> list[Any]:
        """
        Return nodes as link elements.

        joints: collects the joints among them; None if joints are not allowed. is_drawn: whether
        shapes count, as they do inside segments.
        """
        found: list[Any] = []
        for node in nodes:
            self._count += 1
            if self._count > _MOST_ELEMENTS:
                raise VrmlError(
                    f'more than {_MOST_ELEMENTS} parts, each use counted, are not read', node.line
                )
            found += self._element(node, joints, is_drawn or joints is None)
        return found

    def _element(self, node: Node, joints: list[Node] | None, is_drawn: bool) -> list[Any]:
        line = node.line
        if node.kind == _JOINT:
            if joints is None:
                raise VrmlError(
                    f'{_JOINT} {node.name} is inside a node without joints; a {_JOINT} must be '
                    f'among the children of another',
                    line,
                )
            joints.append(node)
            return []
        if node.kind == _SEGMENT:
            inertia = node.numbers('momentsOfInertia', 1, (0.0,) * 9)
            assert inertia is not None
            body = _mapping(
                line,
                type='RigidBody',
                mass=_number(node, 'mass', 0.0),
                centerOfMass=node.row('centerOfMass', (0.0, 0.0, 0.0)).tolist(),
                inertia=inertia[:, 0].tolist(),
            )
            return [body, *self._elements(node.nodes('children'), None, True)]
        if node.kind == _SURFACE:
            return [
                _mapping(line, type=kind, elements=elements)
                for kind in ('Visual', 'Collision')
                if (elements := self._elements(node.nodes(kind.lower()), None, True))
            ]
        if node.kind in _DEVICES and node.body is not None:
            return self._device(node)
        if node.body is not None:
            return self._element(node.body, joints, is_drawn)
        if node.kind == 'Shape':
            return self._shapes(node) if is_drawn else []
        if node.kind not in GROUPS:
            return []
        if node.kind != 'Transform':
            return self._elements(children_of(node), joints, is_drawn)
        return _transformed(node, self._elements(node.nodes('children'), None, is_drawn))

    def _device(self, node: Node) -> list[Any]:
        kind = _DEVICES[node.kind]
        device = _mapping(node.line, type=kind, **_place(node))
        if node.name:
            device['name'] = node.name
        if kind == 'RangeSensor':
            for key, default in _SCAN.items():
                if key in node.fields or default is not None:
                    device[key] = _number(node, key, default or 0.0)
        drawn = (
            self._elements(node.nodes('children'), None, True)
            if kind in ('ForceSensor', 'RateGyroSensor', 'AccelerationSensor', 'RangeSensor')
            else []
        )
        if drawn:
            device['elements'] = [_mapping(node.line, type='Visual', elements=drawn)]
        device.lines = dict.fromkeys(device, node.line)
        return [device]

    def _shapes(self, node: Node) -> list[Any]:
        found = []
        for each in node.nodes('geometry'):
            if each.kind in _PRIMITIVES:
                sizes = {
                    key: each.row(given, default)
                    for key, (given, default) in _PRIMITIVES[each.kind].items()
                }
                geometry = {
                    key: size.tolist() if len(size) > 1 else float(size[0])
                    for key, size in sizes.items()
                }
                found.append((each, _mapping(each.line, type=each.kind, **geometry)))
            elif each.kind == GRID:
                heights = each.numbers('height', 1, ())
                assert heights is not None
                found.append(
                    (
                        each,
                        _mapping(
                            each.line,
                            type=GRID,
                            height=heights[:, 0],
                            ccw=each.flag('ccw', True),
                            **{
                                key: _number(each, key, default)
                                for key, default in (
                                    ('xDimension', 0.0),
                                    ('zDimension', 0.0),
                                    ('xSpacing', 1.0),
                                    ('zSpacing', 1.0),
                                )
                            },
                        ),
                    )
                )
            elif each.kind in GEOMETRIES:
                surface = surface_of(each)
                if surface is not None and len(surface.triangles):
                    found.append(
                        (
                            each,
                            _mapping(
                                each.line,
                                type='TriangleMesh',
                                vertices=surface.vertices,
                                faces=surface.triangles,
                            ),
                        )
                    )
        return [_mapping(each.line, type='Shape', geometry=geometry) for each, geometry in found]


def _transformed(node: Node, elements: list[Any]) -> list[Any]:
    """Return elements inside a Transform; [] if there are none."""
    if not elements:
        return []
    scale = node.row('scale', (1.0, 1.0, 1.0))
    x, y, z, angle = node.row('scaleOrientation', _NO_TURN)
    center = node.row('center', (0.0, 0.0, 0.0))
    line = node.line
    if center.any():
        elements = [
            _mapping(line, type='Transform', translation=(-center).tolist(), elements=elements)
        ]
    is_oriented = angle != 0.0 and (scale != scale[0]).any()
    if is_oriented:
        elements = [
            _mapping(line, type='Transform', rotation=[x, y, z, -angle], elements=elements)
        ]
    if (scale != 1.0).any():
        elements = [_mapping(line, type='Transform', scale=scale.tolist(), elements=elements)]
    if is_oriented:
        elements = [_mapping(line, type='Transform', rotation=[x, y, z, angle], elements=elements)]
    place = _place(node)
    place['translation'] = (node.row('translation', (0.0, 0.0, 0.0)) + center).tolist()
    return [_mapping(line, type='Transform', **place, elements=elements)]


def _place(node: Node) -> dict[str, Any]:
    """Return translation and rotation in body file form."""
    rotation = node.row('rotation', _NO_TURN)
    return {
        'translation': node.row('translation', (0.0, 0.0, 0.0)).tolist(),
        # VRML's rotation about a zero axis is the identity
        'rotation': rotation.tolist() if math.hypot(*rotation[:3]) else list(_NO_TURN),
    }


def _extra_joint(node: Node) -> MappingWithLines:
    kind = _word(node, 'jointType')
    joint = _mapping(
        node.line,
        link1Name=_word(node, 'link1Name'),
        link2Name=_word(node, 'link2Name'),
        link1LocalPos=node.row('link1LocalPos', (0.0, 0.0, 0.0)).tolist(),
        link2LocalPos=node.row('link2LocalPos', (0.0, 0.0, 0.0)).tolist(),
        jointType=kind,
    )
    if node.name:
        joint['name'] = node.name
    if kind != 'ball':
        joint['jointAxis'] = node.row('jointAxis', (0.0, 0.0, 1.0)).tolist()
    joint.lines = dict.fromkeys(joint, node.line)
    return joint


def _mapping(line: int, **values: Any) -> MappingWithLines:
    mapping = MappingWithLines(values)
    mapping.lines = dict.fromkeys(mapping, line)
    return mapping


def _word(node: Node, key: str) -> str:
    return next(iter(node.texts(key)), '')


def _number(node: Node, key: str, default: float) -> float:
    return float(node.row(key, (default,))[0])


def _limit(node: Node, key: str) -> float | None:
    """Return the first number of the list at a key; None if the list is empty."""
    rows = node.numbers(key, 1)
    return None if rows is None or not len(rows) else float(rows[0, 0])
