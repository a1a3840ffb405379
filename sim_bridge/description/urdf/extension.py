"""
`<sim_bridge>` under `<robot>`: elements missing in URDF; other tools ignore them.

    <sim_bridge>
      <joint name="loop" type="hinge">              <!-- the types of ConstraintType -->
        <link1 name="coupler" xyz="0.26 0 0"/>      <!-- rpy, quat_xyzw: the joint's axes -->
        <link2 name="rocker" xyz="0 0 0.2"/>        <!-- name="world": the world -->
        <axis xyz="0 1 0"/>                         <!-- in the joint's axes on link1 -->
        <axis2 xyz="1 0 0"/>                        <!-- on link2: universal, hinge2 -->
        <distance value="0.3"/>                     <!-- m: distance -->
        <limit lower="-1" upper="1" effort="10" velocity="2"/>
        <dynamics damping="0.1" friction="0" stiffness="0" reference="0"/>
        <compliance erp="0.2" cfm="1e-6"/>          <!-- rigid if absent -->
        <toughness force="100" torque="5"/>         <!-- breaking limits; unbreakable if absent -->
        <compliance stiffness="1e5 1e5 1e6 inf inf inf" damping="10 10 20 0 0 0"/>   <!-- or so -->
      </joint>
      <crawler link="left_track" axis="0 1 0" joint="left_track_joint"/>
    </sim_bridge>

docs/closed_loops.md explains them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sim_bridge.description.mechanism.constraints import (
    Declared,
    direction,
    read_compliance,
    read_limits,
    read_type,
    TYPES,
)
from sim_bridge.description.model import JointDynamics
from sim_bridge.description.numbers import Numbers
from sim_bridge.description.poses import read_only, read_quaternion
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.urdf.schema import ORIGIN
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.schema import Child, clean, Schema, Text
from sim_bridge.foundation.rotation import matrix_from_rpy

TAG = 'sim_bridge'

_OPTIONAL = Numbers(required=False)
_NOT_NEGATIVE = Numbers(required=False, minimum=0.0)
_POSITIVE = Numbers(1, 'inf', False, 0.0, above=True)
_STOP = Numbers(required=False, infinite=True)
_CAP = Numbers(required=False, minimum=0.0, infinite=True)
_END = Child(Schema({'name': Text(), **ORIGIN.attributes}), required=True)
_AXIS = Child(Schema({'xyz': Numbers(3, '1 0 0')}))
_JOINT = Schema(
    {'name': Text(), 'type': Text()},
    {
        'link1': _END,
        'link2': _END,
        'axis': _AXIS,
        'axis2': _AXIS,
        'distance': Child(Schema({'value': Numbers(default='1', minimum=0.0, above=True)})),
        'limit': Child(
            Schema(
                {
                    'lower': _STOP,
                    'upper': _STOP,
                    'effort': _CAP,
                    'velocity': _CAP,
                    'lower_effort': _STOP,
                }
            )
        ),
        'dynamics': Child(
            Schema(
                {
                    'damping': _NOT_NEGATIVE,
                    'friction': _NOT_NEGATIVE,
                    'stiffness': _NOT_NEGATIVE,
                    'reference': _OPTIONAL,
                }
            )
        ),
        'toughness': Child(Schema({'force': _POSITIVE, 'torque': _POSITIVE})),
        'compliance': Child(
            Schema(
                {
                    'erp': _NOT_NEGATIVE,
                    'cfm': _NOT_NEGATIVE,
                    'stiffness': Numbers(6, 'inf' + 5 * ' inf', False, 0.0, infinite=True),
                    'damping': Numbers(6, '0' + 5 * ' 0', False, 0.0),
                }
            )
        ),
    },
)
CRAWLER = Schema({'link': Text(), 'axis': Numbers(3, '0 1 0'), 'joint': Text(required=False)})
# read_joints and read_crawlers check the contents of these elements
_WHOLE = Schema(silent=frozenset({'joint', 'crawler'}))
# by tag: the attribute named in its findings
_SPOTS = {
    'link1': 'name',
    'link2': 'name',
    'axis': 'xyz',
    'axis2': 'xyz',
    'distance': '',
    'limit': '',
    'dynamics': '',
    'toughness': 'force',
    'compliance': 'erp',
}


def check_extension(root: Element, findings: Findings) -> None:
    """Report unknown children and attributes in `<sim_bridge>` elements."""
    for node in root.findall(TAG):
        clean(node, _WHOLE, Place(TAG, '', node.line), findings)


def read_joints(root: Element, findings: Findings) -> Iterator[Declared]:
    """Yield the loop joints in the `<sim_bridge>` elements."""
    for outer in root.findall(TAG):
        for node in outer.findall('joint'):
            joint = _read_joint(node, findings)
            if joint is not None:
                yield joint


def _read_joint(node: Element, findings: Findings) -> Declared | None:
    place = Place('joint', node.get('name', ''), node.line)
    joint = clean(node, _JOINT, place, findings)
    word = joint.get('type', '')
    kind = read_type(word, TYPES, place.at('type'), findings) if word else None
    if kind is None:
        return None
    parts = {element.tag: element for element in joint}
    one = Declared(place.name.strip(), kind, place)
    one.spots = {
        'limits' if tag == 'limit' else tag: place.child(tag, element.line).at(_SPOTS[tag])
        for tag, element in parts.items()
    }
    for k, tag in enumerate(('link1', 'link2')):
        # a missing link was reported, and its element holds only defaults
        if node.find(tag) is not None:
            at = one.spots[tag]
            one.positions[k], one.rotations[k] = _frame(parts[tag], at, findings)
            setattr(one, tag, parts[tag].get('name', '').strip())
    for k, tag in enumerate(('axis', 'axis2')):
        if tag in parts:
            one.axes[k] = direction(parts[tag].floats('xyz'), one.spots[tag], findings)
    if 'distance' in parts:
        one.distance = parts['distance'].floats('value')[0]
    if 'limit' in parts:
        values = {key: float(value) for key, value in parts['limit'].attrib.items()}
        one.limits = read_limits(values, one.spots['limits'], findings)
    if 'dynamics' in parts:
        one.dynamics = JointDynamics(
            **{key: float(value) for key, value in parts['dynamics'].attrib.items()}
        )
    for key, value in parts['toughness'].attrib.items() if 'toughness' in parts else ():
        setattr(one, f'break_{key}', float(value))
    if 'compliance' in parts:
        given = parts['compliance']
        for key in ('erp', 'cfm'):
            if key in given.attrib:
                setattr(one, key, float(given.get(key)))
        springs, dampers = (
            given.floats(key) if key in given.attrib else None for key in ('stiffness', 'damping')
        )
        one.compliance = read_compliance(springs, dampers, one.spots['compliance'], findings)
    return one


def _frame(
    node: Element, place: Place, findings: Findings
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return a frame's position and rotation on a link, each None if not given."""
    position = read_only(node.floats('xyz')) if 'xyz' in node.attrib else None
    quaternion = node.get('quat_xyzw')
    if 'quat_xyzw' not in node.attrib:
        rpy = node.floats('rpy') if 'rpy' in node.attrib else None
        return position, None if rpy is None else matrix_from_rpy(rpy)
    if 'rpy' in node.attrib:
        message = 'both rpy and quat_xyzw are given; keep one'
        findings.error('two-rotations', place, message, 'quat_xyzw', quaternion)
    return position, read_quaternion(quaternion, place, findings, 'quat_xyzw')
