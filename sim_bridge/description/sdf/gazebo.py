"""Joint and link physics in `<gazebo>` elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sim_bridge.description.model import JointDescription, LinkDescription, ONE_AXIS
from sim_bridge.description.numbers import Numbers
from sim_bridge.description.report import Findings, Place, unknown
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
    'enable_wind': ('false', '0'),
    'initial_joint_position': (),
}
# tags, and whether their value true lets gravity act
_GRAVITY = {'gravity': True, 'turnGravityOff': False}
# ODE's damping: velocity fraction lost by a link in each step, whatever the time step
_DECAY = ('dampingFactor', 'velocity_decay')


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
    # '' is the robot itself; the sensor reader reports sensors with unknown references
    known_names = {'', *joints, *links}
    for node in root.findall('gazebo'):
        reference = node.get('reference', '')
        place = Place('gazebo', reference, node.line)
        if reference not in known_names and not node.findall('sensor'):
            findings.warning(
                'unknown-reference',
                place,
                unknown('link or joint', reference, [*joints, *links]),
                'reference',
                reference,
            )
    for reference, element, place in gazebo_elements(root):
        _warn_of_physics(element, place, findings)
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


def _warn_of_physics(element: Element, place: Place, findings: Findings) -> None:
    text = element_text(element).lower()
    harmless = _NOT_SIMULATED.get(element.tag)
    if harmless is not None and text not in harmless:
        findings.warning('not-simulated', place, 'is not simulated, ignored', value=text)
    if element.tag in _DECAY:
        shares = ' '.join(filter(None, [text, *map(element_text, element)]))
        if any(share.strip('0.') for share in shares.split()):
            findings.warning(
                'not-simulated',
                place,
                'is a fraction of the velocity lost in each Gazebo step, ignored; '
                'link.linear_velocity_damping and link.angular_velocity_damping are rates [1/s]',
                value=shares,
            )
