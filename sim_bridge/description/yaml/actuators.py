"""
Actuators in YAML, for robots whose description has none; beside `joints` of `yaml.constraints`.

    actuators:
      - name: lift
        type: position             # motor (the default), position, velocity, intvelocity, damper,
                                   # general: MuJoCo's shortcuts
        joint: shoulder            # or a site, or a slider-crank:
        # site: {link: hand, position: [0, 0, 0.1], rpy: [0, 0, 0]}
        # reference: {link: base}  # the gear is in its axes; the length is measured from it
        # pin: {link: arm}
        # slider: {link: base}     # moves along z
        # rod_length: 0.3          # [m]
        # coupling: fingers        # see `yaml.couplings`
        in_parent: false           # ball joints: the gear is in axes of the parent link
        gear: 2                    # a number, or a list: 3 for a ball joint, 6 for a site
        control_range: [-1, 1]     # infinite if absent, as the other ranges
        force_range: [-10, 10]
        activation_range: [-1, 1]
        kp: 200                    # position, intvelocity: force = kp (input - length) - kd rate
        kd: 20                     # velocity: kd (control - rate); damper: -kd control rate
        gain: [1, 0, 0]            # general: see `description.actuators`
        bias: [0, 0, 0]
        dynamics: filterexact      # none, integrator, filter, filterexact
        time_constant: 0.05        # [s]
        uses_next: false
"""

from __future__ import annotations

from collections.abc import Iterator
import math
from typing import Any

import numpy as np

from sim_bridge.description.actuators import (
    ActuatorDescription,
    CouplingTransmission,
    CrankTransmission,
    DYNAMICS,
    ENDLESS,
    JointTransmission,
    Range,
    SiteFrame,
    SiteTransmission,
    Transmission,
)
from sim_bridge.description.model import JointType, ONE_AXIS, RobotDescription
from sim_bridge.description.report import unknown
from sim_bridge.description.yaml.section import Section
from sim_bridge.foundation.rotation import matrix_from_rpy

_TYPES = ('motor', 'position', 'velocity', 'intvelocity', 'damper', 'general')
_WITH_KP = ('position', 'intvelocity')
_WITH_KD = ('position', 'velocity', 'intvelocity', 'damper')
_WAYS = ('joint', 'coupling', 'site', 'pin')


def read_actuators(
    document: Section, description: RobotDescription
) -> Iterator[ActuatorDescription]:
    """Yield a document's actuators on a robot, without those with errors."""
    taken = [actuator.name for actuator in description.actuators]
    for name, section in document.named_sections('actuators', 'actuator', taken):
        transmission = _transmission(section, description)
        law = _law(section)
        gear = _gear(section, transmission, description)
        section.close()
        if transmission is not None:
            line = section.place().line
            yield ActuatorDescription(name, transmission, gear=gear, line=line, **law)


def _transmission(section: Section, description: RobotDescription) -> Transmission | None:
    ways = [way for way in _WAYS if section.has(way)]
    joint, coupling = section.text('joint', ''), section.text('coupling', '')
    in_parent = section.flag('in_parent', False)
    frames = {
        key: _frame(section, key, description) for key in ('site', 'reference', 'pin', 'slider')
    }
    rod = section.number('rod_length', math.nan)
    if len(ways) != 1:
        section.error(
            'joint',
            ' and '.join(ways),
            'must be given, or coupling, site, or pin with slider; one of them',
        )
        return None
    if coupling:
        return _of_coupling(section, coupling, description)
    if joint:
        return _of_joint(section, joint, in_parent, description)
    site, pin, slider = frames['site'], frames['pin'], frames['slider']
    if site is not None:
        return SiteTransmission(site, frames['reference'])
    if pin is None:
        return None
    if slider is None or not rod > 0.0:
        section.error('rod_length', '', 'must be above 0, and slider must be given')
        return None
    return CrankTransmission(pin, slider, rod)


def _of_joint(
    section: Section, name: str, in_parent: bool, description: RobotDescription
) -> JointTransmission | None:
    joint = description.joints.get(name)
    place = section.place('joint')
    if joint is None:
        section.findings.error(
            'unknown-joint', place, unknown('joint', name, description.joints), 'joint', name
        )
        return None
    if joint.type not in (*ONE_AXIS, JointType.BALL):
        section.error('joint', name, f'is of type {joint.type.value}, without a coordinate to act')
        return None
    return JointTransmission(name, in_parent)


def _of_coupling(
    section: Section, name: str, description: RobotDescription
) -> CouplingTransmission | None:
    known = [coupling.name for coupling in description.couplings]
    if name not in known:
        message = unknown('coupling', name, known)
        section.findings.error(
            'unknown-coupling', section.place('coupling'), message, 'coupling', name
        )
        return None
    return CouplingTransmission(name)


def _frame(section: Section, key: str, description: RobotDescription) -> SiteFrame | None:
    inner = section.section(key)
    if inner is None:
        return None
    link = inner.text('link', '', required=True)
    position = inner.vector('position', 3, (0.0, 0.0, 0.0))
    rpy = inner.vector('rpy', 3, (0.0, 0.0, 0.0))
    inner.close()
    if link not in description.links:
        section.findings.error(
            'unknown-link', inner.place('link'), unknown('link', link, description.links), 'link'
        )
        return None
    return SiteFrame(link, np.array(position), matrix_from_rpy(rpy))


def _gear(
    section: Section, transmission: Transmission | None, description: RobotDescription
) -> tuple[float, ...]:
    size = 1
    if isinstance(transmission, SiteTransmission):
        size = 6
    elif isinstance(transmission, JointTransmission):
        is_ball = description.joints[transmission.joint].type is JointType.BALL
        size = 3 if is_ball else 1
    value = section.peek('gear')
    if isinstance(value, (list, tuple)):
        return tuple(section.vector('gear', size, (1.0,)))
    number = section.number('gear', 1.0)
    if value is not None and size > 1:
        section.error('gear', value, f'must be a list of {size} numbers')
    return (number,)


def _law(section: Section) -> dict[str, Any]:
    """Return ranges, force law and dynamics."""
    kind = section.choice('type', _TYPES, 'motor')
    law: dict[str, Any] = {
        f'{name}_range': _range(section, f'{name}_range')
        for name in ('control', 'force', 'activation')
    }
    kp = _gain(section, 'kp', kind in _WITH_KP, 1.0)
    kd = _gain(section, 'kd', kind in _WITH_KD, 0.0 if kind in _WITH_KP else 1.0)
    gain, bias = (
        _coefficients(section, key, kind == 'general', default)
        for key, default in (('gain', (1.0, 0.0, 0.0)), ('bias', (0.0, 0.0, 0.0)))
    )
    law['gain'], law['bias'] = {
        'motor': ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0)),
        'position': ((kp, 0.0, 0.0), (0.0, -kp, -kd)),
        'intvelocity': ((kp, 0.0, 0.0), (0.0, -kp, -kd)),
        'velocity': ((kd, 0.0, 0.0), (0.0, 0.0, -kd)),
        'damper': ((0.0, 0.0, -kd), (0.0, 0.0, 0.0)),
        'general': (gain, bias),
    }[kind]
    law['dynamics'] = section.choice(
        'dynamics', DYNAMICS, 'integrator' if kind == 'intvelocity' else 'none'
    )
    law['time_constant'] = section.number('time_constant', 1.0)
    if not 0.0 < law['time_constant'] < math.inf:
        section.error('time_constant', law['time_constant'], 'must be a finite number above 0 [s]')
    law['uses_next'] = section.flag('uses_next', False)
    return law


def _gain(section: Section, key: str, is_used: bool, default: float) -> float:
    value = section.number(key, default)
    if section.has(key) and not is_used:
        section.error(key, value, 'is not used by this type')
    elif not (math.isfinite(value) and value >= 0.0):
        section.error(key, value, 'must be a finite number of at least 0')
    return value


def _coefficients(
    section: Section, key: str, is_used: bool, default: tuple[float, float, float]
) -> tuple[float, ...]:
    value = section.vector(key, 3, default)
    if section.has(key) and not is_used:
        section.error(key, section.peek(key), 'belongs to type general')
    return tuple(value)


def _range(section: Section, key: str) -> Range:
    value = section.vector(key, 2, None)
    if value is None:
        return ENDLESS
    lower, upper = value
    if not lower <= upper:
        section.error(key, section.peek(key), 'must begin with the lower limit')
    return lower, upper
