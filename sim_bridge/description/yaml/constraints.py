"""
Loop joints in YAML, for robots whose description cannot be changed.

    joints:
      - name: loop                       # '<link1>_<link2>' if absent
        type: hinge                      # the types of ConstraintType
        link1: coupler
        link2: rocker                    # or world
        position1: [0.26, 0, 0]          # anchor on link1 [m]; its origin if absent
        position2: [0, 0, 0.2]           # anchor on link2; if absent, initially at position1
        rpy1: [0, 0, 0]                  # the joint's axes on link1 [rad]; or orientation1, a
        rpy2: [0, 0, 0]                  # quaternion x y z w; if all are absent, as at the start
        axis: [0, 1, 0]                  # in the joint's axes on link1
        axis2: [1, 0, 0]                 # on link2: universal, hinge2
        distance: 0.3                    # distance [m]
        limits: {lower: -1, upper: 1, effort: 10, velocity: 2}    # lower_effort: -10 if absent
        dynamics: {damping: 0.1, friction: 0, stiffness: 0, reference: 0}
        erp: 0.2                         # with cfm; rigid if both are absent
        cfm: 1.0e-6
        compliance:                      # instead of erp and cfm, by direction
          stiffness: [1e5, 1e5, 1e6, .inf, .inf, .inf]  # along and about the joint's x, y, z on
          damping: [10, 10, 20, 0, 0, 0]                # link1 [N/m, N s/m; N m/rad, N m s/rad]
        break_force: 100                 # breaking limits of the transmitted force [N] and
        break_torque: 5                  # torque [N m]; unbreakable if both are absent

The file may have `actuators` and `couplings` too, see `yaml.actuators` and `yaml.couplings`.

The extra joints of a Choreonoid body are accepted unchanged: the list may be called
`extra_joints`, its keys `link1_name`, `link1_local_pos`, `joint_type` and so on, or the same in
camel case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
import math
from pathlib import Path
from typing import Any

import numpy as np

from sim_bridge.description.actuators import ActuatorDescription, CouplingDescription
from sim_bridge.description.compliance import Compliance
from sim_bridge.description.mechanism.constraints import (
    attach,
    Declared,
    direction,
    read_compliance,
    read_limits,
    read_type,
    TYPES,
)
from sim_bridge.description.model import JointDynamics, RobotDescription
from sim_bridge.description.poses import read_quaternion
from sim_bridge.description.report import DescriptionError, Findings
from sim_bridge.description.yaml.actuators import read_actuators
from sim_bridge.description.yaml.couplings import read_couplings
from sim_bridge.description.yaml.section import read_document, Section
from sim_bridge.foundation.rotation import matrix_from_rpy

# key synonyms, including Choreonoid's
_WORDS = {
    'type': ('joint_type', 'jointType'),
    'link1': ('link1_name', 'link1Name'),
    'link2': ('link2_name', 'link2Name'),
    'position1': ('link1_local_pos', 'link1LocalPos', 'translation_in_link1'),
    'position2': ('link2_local_pos', 'link2LocalPos', 'translation_in_link2'),
    'axis': ('jointAxis', 'joint_axis'),
}
_OTHERS = ('actuators', 'couplings')
_LISTS = ('joints', 'extra_joints', 'extraJoints')
_LIMITS = ('lower', 'upper', 'effort', 'velocity', 'lower_effort')
_DYNAMICS = ('damping', 'friction', 'stiffness', 'reference')
_SPOTS = ('link1', 'link2', 'axis', 'axis2', 'distance', 'limits', 'dynamics')
_SIGNED = ('lower', 'upper', 'reference', 'lower_effort')


def add_extra_joints(
    description: RobotDescription, source: str | Path | Mapping[str, object]
) -> RobotDescription:
    """
    Return the description with joints, actuators and couplings from a YAML file or a mapping.

    Raises DescriptionError, with every defect and its line in that file, if a key or value is
    wrong or a link or joint does not exist.
    """
    findings = Findings()
    label, _, content = read_document(source, findings)
    declared, actuators = list[Declared](), list[ActuatorDescription]()
    couplings = list[CouplingDescription]()
    if content is not None:
        document = Section(content, 'file', findings)
        couplings += read_couplings(document, description)
        coupled = replace(description, couplings=(*description.couplings, *couplings))
        actuators += read_actuators(document, coupled)
        declared += read_joints(document, findings)
    extra = attach(declared, description, findings, description.constraints)
    report = findings.report(label)
    if not report.ok:
        raise DescriptionError(report)
    # lines in this file are no lines of the file that the description's report names
    warnings = tuple(replace(finding, line=0) for finding in report.findings)
    return replace(
        description,
        constraints=(*description.constraints, *extra),
        actuators=(*description.actuators, *actuators),
        couplings=(*description.couplings, *couplings),
        report=replace(description.report, findings=description.report.findings + warnings),
    )


def read_joints(document: Section, findings: Findings) -> Iterator[Declared]:
    """Yield a document's loop joints."""
    given = [name for name in _LISTS if document.has(name)]
    name = given[0] if given else _LISTS[0]
    if not given and not any(map(document.has, _OTHERS)):
        document.error(name, '', 'missing')
    for section in document.list_of_sections(name):
        joint = _joint(section, findings)
        section.close()
        if joint is not None:
            yield joint
    document.close()


def _joint(section: Section, findings: Findings) -> Declared | None:
    name = section.text('name', '')
    section.rename(f'joint.{name}')
    word = {key: _word(section, key) for key in _WORDS}
    if not name:
        name = '_'.join(str(section.peek(word[key])) for key in ('link1', 'link2'))
        section.rename(f'joint.{name}')
    link1, link2 = (section.text(word[key], '', required=True) for key in ('link1', 'link2'))
    type_name = section.text(word['type'], '', required=True)
    spot = section.place(word['type']).at(word['type'])
    kind = read_type(type_name, TYPES, spot, findings) if type_name else None
    values: dict[str, Any] = {
        'positions': [section.vector(word[f'position{k}'], 3, None) for k in (1, 2)],
        'rotations': [_rotation(section, k, findings) for k in (1, 2)],
        'axes': [_axis(section, key, findings) for key in (word['axis'], 'axis2')],
        'distance': _number(section, 'distance', positive=True),
        'limits': read_limits(
            _numbers(section, 'limits', _LIMITS), section.place('limits'), findings
        ),
        'dynamics': JointDynamics(**_numbers(section, 'dynamics', _DYNAMICS)),
        'erp': _number(section, 'erp'),
        'cfm': _number(section, 'cfm'),
        'compliance': _compliance(section, findings),
        'break_force': _number(section, 'break_force', positive=True),
        'break_torque': _number(section, 'break_torque', positive=True),
    }
    if kind is None:
        return None
    keys = {spot: word.get(spot, spot) for spot in _SPOTS}
    spots = {spot: section.place(key).at(key) for spot, key in keys.items() if section.has(key)}
    spots['compliance'] = section.place('compliance' if section.has('compliance') else 'erp')
    return Declared(name, kind, section.place(), link1, link2, spots=spots, **values)


def _word(section: Section, name: str) -> str:
    """Return the synonym used for a key in a joint; report a second synonym."""
    section.knows(name)
    used = [word for word in (name, *_WORDS[name]) if section.has(word)]
    for word in used[1:]:
        section.knows(word)
        section.error(word, section.peek(word), f'{used[0]} is given too and means the same')
    return used[0] if used else name


def _rotation(section: Section, k: int, findings: Findings) -> np.ndarray | None:
    """Return the rotation of the joint's axes on a link; None if not given."""
    rpy = section.vector(f'rpy{k}', 3, None)
    quaternion = section.vector(f'orientation{k}', 4, None)
    if quaternion is None:
        return None if rpy is None else matrix_from_rpy(rpy)
    key = f'orientation{k}'
    if rpy is not None:
        section.error(key, section.peek(key), f'rpy{k} is given too; keep one')
    return read_quaternion(' '.join(map(repr, quaternion)), section.place(key), findings, key)


def _axis(section: Section, key: str, findings: Findings) -> np.ndarray | None:
    vector = section.vector(key, 3, None)
    spot = section.place(key).at(key)
    return None if vector is None else direction(vector, spot, findings, warn=False)


def _compliance(section: Section, findings: Findings) -> Compliance | None:
    inner = section.section('compliance')
    if inner is None:
        return None
    springs, dampers = (inner.matrix(name) for name in ('stiffness', 'damping'))
    inner.close()
    if springs is None and inner.has('stiffness'):
        return None
    return read_compliance(springs, dampers, section.place('compliance'), findings)


def _numbers(section: Section, key: str, names: tuple[str, ...]) -> dict[str, float]:
    inner = section.section(key)
    if inner is None:
        return {}
    values = {name: _number(inner, name, name in _SIGNED, key == 'limits') for name in names}
    inner.close()
    return {name: value for name, value in values.items() if value is not None}


def _number(
    section: Section,
    key: str,
    signed: bool = False,
    infinite: bool = False,
    positive: bool = False,
) -> float | None:
    """Return a number in its key's range; None if absent or invalid."""
    value = section.number(key, None)
    if value is None:
        return None
    if math.isnan(value) or (math.isinf(value) and not infinite):
        section.error(key, value, 'must be finite')
        return None
    if (value < 0.0 and not signed) or (positive and value == 0.0):
        section.error(key, value, f'must be {"above" if positive else "at least"} 0')
        return None
    return value
