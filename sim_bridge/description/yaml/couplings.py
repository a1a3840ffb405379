"""
Linear couplings of joints in YAML, beside `joints` and `actuators`.

    couplings:
      - name: fingers
        joints: [left_finger, right_finger]
        factors: [1, 1]            # the length is the sum of positions times factors
        stiffness: 10              # spring on the length; none if absent
        damping: 0.5
        spring_range: [0, 0.1]     # lengths without spring force [rad or m]; [0, 0] if absent
"""

from __future__ import annotations

from collections.abc import Iterator
import math

from sim_bridge.description.actuators import CouplingDescription
from sim_bridge.description.model import ONE_AXIS, RobotDescription
from sim_bridge.description.report import unknown
from sim_bridge.description.yaml.section import Section


def read_couplings(
    document: Section, description: RobotDescription
) -> Iterator[CouplingDescription]:
    """Yield a document's couplings on a robot, without those with errors."""
    taken = [coupling.name for coupling in description.couplings]
    for name, section in document.named_sections('couplings', 'coupling', taken):
        joints = section.texts('joints') or ()
        if not joints:
            section.error('joints', '', 'must list the joints')
            section.knows('factors')
        factors = section.vector('factors', len(joints), (1.0,) * len(joints)) if joints else ()
        stiffness, damping = _coefficient(section, 'stiffness'), _coefficient(section, 'damping')
        lower, upper = section.vector('spring_range', 2, (0.0, 0.0))
        if not lower <= upper:
            section.error(
                'spring_range', section.peek('spring_range'), 'must begin with the lower limit'
            )
        section.close()
        if _are_known(section, joints, description) and joints:
            line = section.place().line
            yield CouplingDescription(
                name, joints, tuple(factors), stiffness, damping, (lower, upper), line
            )


def _coefficient(section: Section, key: str) -> float:
    value = section.number(key, 0.0)
    if not (math.isfinite(value) and value >= 0.0):
        section.error(key, value, 'must be a finite number of at least 0')
    return value


def _are_known(section: Section, joints: tuple[str, ...], description: RobotDescription) -> bool:
    is_right = True
    for name in joints:
        joint = description.joints.get(name)
        if joint is None:
            message = unknown('joint', name, description.joints)
            section.findings.error(
                'unknown-joint', section.place('joints'), message, 'joint', name
            )
        elif joint.type not in ONE_AXIS:
            section.error('joints', name, f'is of type {joint.type.value}, not of one axis')
        is_right = is_right and joint is not None and joint.type in ONE_AXIS
    return is_right
