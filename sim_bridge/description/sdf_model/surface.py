"""Contact parameters in SDF: `<surface>`."""

from __future__ import annotations

import math
import re
from typing import Any

from sim_bridge.description.collision_bits import ALL_BITS, group_of
from sim_bridge.description.model import ContactDescription
from sim_bridge.description.numbers import Numbers
from sim_bridge.description.report import Findings
from sim_bridge.description.sdf_model.tags import NOT_NEGATIVE, Tags

# no spring: the reference's default, written by exporters
_RIGID = 1e12
_FRICTION = Numbers(minimum=0.0, infinite=True)
_MASKS = Numbers(minimum=0.0)
_HEXADECIMAL = re.compile(r'0[xX][0-9a-fA-F]{1,8}')
# effective radius of a round contact patch under constant pressure, times its friction
PATCH = 3.0 * math.pi / 16.0
# greatest approach velocity [m/s] that is meant as no threshold
_SLOW = 0.01
# parameters of contact solving, which is exact here
_SOLVING = ('soft_cfm', 'soft_erp')
_OF_BULLET = (*_SOLVING, 'split_impulse', 'split_impulse_penetration_threshold', 'kp', 'kd')


def read_surface(tags: Tags) -> tuple[ContactDescription, frozenset[str]]:
    """
    Return the contact parameters in a `<surface>` element, and its collision groups.

    Invalid values are ignored with warnings, as in Gazebo.
    """
    own, outer = Findings(), tags.findings
    tags.findings = own
    values = _friction(tags) | _bounce(tags) | _contact(tags)
    tags.ignore(('soft_contact',), 'bodies are rigid')
    tags.close()
    outer.take_part(own, '')
    groups = values.pop('groups', frozenset())
    return ContactDescription(**values), groups


def _friction(tags: Tags) -> dict[str, Any]:
    friction = tags.inside('friction')
    if friction is None:
        return {}
    values: dict[str, Any] = {}
    ode, bullet = friction.inside('ode'), friction.inside('bullet')
    if bullet is not None:
        names = ('friction', 'friction2')
        given = _coefficients(bullet, names)
        values |= given if ode is None else {}
        bullet.ignore(('rolling_friction',), '')
        bullet.close()
    if ode is not None:
        values |= _coefficients(ode, ('mu', 'mu2'))
        values |= _slip(ode)
        ode.close()
    torsional = friction.inside('torsional')
    if torsional is not None:
        values |= _torsional(torsional)
    friction.close()
    return values


def _coefficients(tags: Tags, names: tuple[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, key in zip(names, ('friction', 'friction2'), strict=True):
        number = tags.numbers(name, _FRICTION)
        if number is not None:
            values[key] = number[0]
    direction = tags.vector('fdir1', (0.0, 0.0, 0.0))
    node = tags.node.find('fdir1')
    if any(direction) and node is not None:
        values['direction'] = direction
        values['direction_link'] = node.get('gz:expressed_in') or node.get('ignition:expressed_in')
    return values


def _slip(tags: Tags) -> dict[str, Any]:
    first, second = (tags.number(name, 0.0, NOT_NEGATIVE) for name in ('slip1', 'slip2'))
    slip = max(first, second)
    if first != second:
        message = f'one slip for all directions is simulated, {slip:g}, the greater one'
        tags.findings.warning('not-simulated', tags.place, message, 'slip1 slip2')
    return {'slip': slip} if slip else {}


def _torsional(tags: Tags) -> dict[str, Any]:
    coefficient = tags.number('coefficient', 1.0, NOT_NEGATIVE)
    radius = tags.number('patch_radius', 0.0, NOT_NEGATIVE)
    by_patch = tags.flag('use_patch_radius', True)
    ode = tags.inside('ode')
    if ode is not None and ode.number('slip', 0.0):
        ode.ignore(('slip',), '')
    if not by_patch:
        tags.ignore(('surface_radius',), 'rigid contacts have no depth; give patch_radius')
        radius = 0.0
    tags.find('surface_radius')
    tags.close()
    torque = PATCH * coefficient * radius
    return {'spinning_friction': torque} if torque else {}


def _bounce(tags: Tags) -> dict[str, Any]:
    bounce = tags.inside('bounce')
    if bounce is None:
        return {}
    share = bounce.number('restitution_coefficient', 0.0, NOT_NEGATIVE)
    threshold = bounce.number('threshold', 0.0)
    bounce.close()
    if share > 0.0 and threshold > _SLOW:
        bounce.ignore(('threshold',), 'bodies bounce at every speed')
    return {'restitution': min(share, 1.0)} if share else {}


def _contact(tags: Tags) -> dict[str, Any]:
    contact = tags.inside('contact')
    if contact is None:
        return {}
    values: dict[str, Any] = {}
    if contact.flag('collide_without_contact'):
        values['is_sensor'] = True
    contact.find('collide_without_contact_bitmask')
    values |= _masks(contact)
    if contact.number('elastic_modulus', -1.0) > 0.0:
        contact.ignore(('elastic_modulus', 'poissons_ratio'), 'kp and kd are')
    contact.find('poissons_ratio')
    ode, bullet = contact.inside('ode'), contact.inside('bullet')
    if bullet is not None:
        bullet.close(_OF_BULLET)
    if ode is not None:
        values |= _springs(ode)
    contact.close()
    return values


def _springs(tags: Tags) -> dict[str, Any]:
    values: dict[str, Any] = {}
    stiffness = tags.number('kp', _RIGID, NOT_NEGATIVE)
    damping = tags.number('kd', 1.0, NOT_NEGATIVE)
    if 0.0 < stiffness < _RIGID:
        values |= {'stiffness': stiffness, 'damping': damping}
    speed = tags.numbers('max_vel', NOT_NEGATIVE)
    if speed is not None:
        values['max_velocity'] = speed[0]
    if tags.number('min_depth', 0.0):
        message = "ignored, as by Gazebo's default engine: contacts carry loads from touching on"
        tags.findings.warning('no-effect', tags.place.child('min_depth', tags.node.line), message)
    tags.close(_SOLVING)
    return values


def _masks(tags: Tags) -> dict[str, Any]:
    """Return the collision group for both bit masks; nothing for full masks."""
    collide = _mask(tags, 'collide_bitmask', ALL_BITS)
    category = _mask(tags, 'category_bitmask', collide)
    if collide == category == ALL_BITS:
        return {}
    if not collide and not category:
        return {'enabled': False}
    return {'groups': frozenset({group_of(category, collide)})}


def _mask(tags: Tags, tag: str, usual: int) -> int:
    """Return 16 bits, which may be written in hexadecimal digits."""
    text = tags.text(tag)
    if _HEXADECIMAL.fullmatch(text):
        return int(text, 16) & ALL_BITS
    return int(tags.number(tag, usual, _MASKS)) & ALL_BITS
