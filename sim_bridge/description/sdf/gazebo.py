"""Joint and link physics in `<gazebo>` elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sim_bridge.description.model import JointDescription, LinkDescription, ONE_AXIS
from sim_bridge.description.numbers import Numbers
from sim_bridge.description.report import Findings, Place, unknown
from sim_bridge.description.sdf import contact
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import (
    element_text,
    gazebo_elements,
    read_boolean,
    read_number,
)

_SPRING = {'springStiffness': 'stiffness', 'springReference': 'reference'}
# tags of <gazebo> that would change the motion of a robot and are not simulated, with their
# values that have no effect
_NOT_SIMULATED = {
    'kinematic': ('false', '0'),
    'static': ('false', '0'),
    'initial_joint_position': (),
}
# tags, and whether their value true lets gravity act
_GRAVITY = {'gravity': True, 'turnGravityOff': False}
# tags that apply to links only, to joints only, and to links and robots
_PARTS = {
    **dict.fromkeys(contact.OF_LINKS, 'links'),
    **dict.fromkeys(_SPRING, 'joints'),
    **dict.fromkeys(contact.OF_LINKS_AND_ROBOTS, 'links and robots'),
}
# tags read by other modules; appearance, lights and sound; parameters of other engines
_OTHERS = {
    *('sensor', 'joint', 'plugin'),
    *('material', 'visual', 'light', 'audio_sink', 'audio_source', 'laserRetro', 'projector'),
    *('implicitSpringDamper', 'provideFeedback', 'maxContacts', 'fudgeFactor', 'cfmDamping'),
    *('stopErp', 'stopCfm', 'stopKp', 'stopKd', 'allow_auto_disable', 'canonicalBody'),
    *('preserveFixedJoint', 'disableFixedJointLumping', 'disableJointLumping'),
}
# ODE's damping: velocity fraction lost by a link in each step, whatever the time step
_DECAY = ('dampingFactor', 'velocity_decay')
_WIND = 'enable_wind'
_KNOWN = frozenset({*_PARTS, *_GRAVITY, _WIND, *_NOT_SIMULATED, *_DECAY, *_OTHERS})


def with_joint_physics(
    root: Element,
    joints: Mapping[str, JointDescription],
    links: Mapping[str, LinkDescription],
    findings: Findings,
) -> dict[str, JointDescription]:
    """
    Return the joints with the springs declared by their `<gazebo reference="joint">` elements.

    `springStiffness` [N m/rad or N/m] pulls to the position `springReference` [rad or m].
    `implicitSpringDamper` has no effect: springs and dampers are always implicit. Unknown
    references and physics without simulation give warnings.
    """
    known = dict(joints)
    # '' is the robot itself; the sensor reader reports unknown references of sensors
    known_names = {'', *joints, *links}
    for node in root.findall('gazebo'):
        reference = node.get('reference', '')
        place = Place('gazebo', reference, node.line)
        only_sensors = bool(node.children) and all(child.tag == 'sensor' for child in node)
        if reference not in known_names and not only_sensors:
            findings.warning(
                'unknown-reference',
                place,
                unknown('link or joint', reference, [*joints, *links]),
                'reference',
                reference,
            )
    for reference, element, place in gazebo_elements(root):
        _warn_of_physics(element, place, findings)
        if reference in known_names:
            _warn_of_part(reference, element, place, links, joints, findings)
        if element.tag in _SPRING and reference in joints:
            known[reference] = _with_spring(known[reference], element, place, findings)
    return known


def with_gravity(
    root: Element, links: Mapping[str, LinkDescription], findings: Findings
) -> dict[str, LinkDescription]:
    """
    Return the links with the gravity switches from their `<gazebo>` elements.

    SDF's tag is `gravity`, old Gazebo's `turnGravityOff`; the last one counts.
    """
    known = dict(links)
    for reference, element, place in gazebo_elements(root):
        if element.tag not in _GRAVITY:
            continue
        value = read_boolean(element, place, findings)
        if value is None:
            continue
        if reference in known:
            gravity = value == _GRAVITY[element.tag]
            known[reference] = replace(known[reference], gravity=gravity)
        elif value != _GRAVITY[element.tag]:
            findings.warning(
                'not-simulated',
                place,
                'applies to links only, ignored',
                value=element_text(element).lower(),
            )
    return known


def with_wind(
    root: Element, links: Mapping[str, LinkDescription], findings: Findings
) -> dict[str, LinkDescription]:
    """Return the links with `enable_wind`; a link's own tag counts more than the robot's."""
    for_all, own = False, dict[str, bool]()
    for reference, element, place in gazebo_elements(root):
        if element.tag != _WIND:
            continue
        value = read_boolean(element, place, findings)
        if value is None:
            continue
        if not reference:
            for_all = value
        elif reference in links:
            own[reference] = value
        else:
            findings.warning('ignored-tag', place, 'applies to links and robots only, ignored')
    return {
        name: replace(link, enable_wind=own.get(name, for_all)) for name, link in links.items()
    }


def _with_spring(
    joint: JointDescription, element: Element, place: Place, findings: Findings
) -> JointDescription:
    if joint.type not in ONE_AXIS:
        findings.warning(
            'ignored-tag', place, f'has no meaning for a {joint.type.value} joint, ignored'
        )
        return joint
    quantity = _SPRING[element.tag]
    allowed = Numbers(minimum=0.0) if quantity == 'stiffness' else Numbers()
    value = read_number(element, allowed, place, findings)
    if value is None:
        return joint
    return replace(joint, dynamics=replace(joint.dynamics, **{quantity: value}))


def _warn_of_part(
    reference: str,
    element: Element,
    place: Place,
    links: Mapping[str, LinkDescription],
    joints: Mapping[str, JointDescription],
    findings: Findings,
) -> None:
    """Report a tag that does not apply to the part of the robot in `reference`."""
    parts = _PARTS.get(element.tag)
    applies = {
        'links': reference in links,
        'joints': reference in joints,
        'links and robots': not reference or reference in links,
    }
    if parts is not None and not applies[parts]:
        findings.warning('ignored-tag', place, f'applies to {parts} only, ignored')


def _warn_of_physics(element: Element, place: Place, findings: Findings) -> None:
    tag, text = element.tag, element_text(element).lower()
    # the sensor reader reports the old form sensor:TYPE
    if tag not in _KNOWN and not tag.startswith('sensor:'):
        findings.warning('unknown-tag', place, 'unknown tag, ignored')
    harmless = _NOT_SIMULATED.get(tag)
    if harmless is not None and text not in harmless:
        findings.warning('not-simulated', place, 'is not simulated, ignored', value=text)
    if tag in _DECAY:
        shares = ' '.join(filter(None, [text, *map(element_text, element)]))
        if any(share.strip('0.') for share in shares.split()):
            findings.warning(
                'not-simulated',
                place,
                'is a fraction of the velocity lost in each Gazebo step, ignored; '
                'link.linear_velocity_damping and link.angular_velocity_damping are rates [1/s]',
                value=shares,
            )
