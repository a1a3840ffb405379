"""
Mimic rules from Gazebo Classic's mimic joint plugins.

Plugins: roboticsgroup_gazebo_plugins and its forks, xarm_gazebo, cob_gazebo_plugins. Each moves a
joint by `multiplier * position of joint + offset`, as URDF's <mimic> does. Gazebo Classic ignores
<mimic>, so the plugin's rule counts where both are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sim_bridge.description.model import JointDescription, Mimic, ONE_AXIS
from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.report import Findings, Place, unknown
from sim_bridge.description.sdf.plugin_topics import name_in
from sim_bridge.description.xml.document import Element

# tags for the followed and the following joint, in the plugins' forks
_FOLLOWED = ('joint', 'jointName', 'joint_name')
_FOLLOWER = ('mimicJoint', 'mimic_joint', 'mimic_joint_name')
# PID laws, limits and namespaces: the rule is exact, without a law
_WITHOUT_EFFECT = (
    'hasPID',
    'pgain',
    'igain',
    'dgain',
    'pid',
    'sensitiveness',
    'maxEffort',
    'robotNamespace',
    'ros',
)
_NUMBER = Numbers()


def is_mimic_plugin(node: Element) -> bool:
    """Return whether a plugin makes one joint follow another."""
    return 'mimic' in node.get('filename', '')


def with_mimic_plugins(
    root: Element, joints: Mapping[str, JointDescription], findings: Findings
) -> dict[str, JointDescription]:
    """Return the joints with the mimic plugins' rules; a defective plugin is left out."""
    found = dict(joints)
    for gazebo in root.findall('gazebo'):
        for node in gazebo.findall('plugin'):
            if is_mimic_plugin(node):
                own = Findings()
                rule = _rule(node, found, own)
                if findings.take_part(own, 'mimic plugin') and rule is not None:
                    name, mimic = rule
                    found[name] = replace(found[name], mimic=mimic)
    return found


def _rule(
    node: Element, joints: Mapping[str, JointDescription], findings: Findings
) -> tuple[str, Mimic] | None:
    """Return the following joint and its rule; None with errors noted for a defective one."""
    place = Place('gazebo/plugin', node.get('name', ''), node.line)
    followed = _joint(node, _FOLLOWED, joints, place, findings)
    name = _joint(node, _FOLLOWER, joints, place, findings)
    multiplier = _number(node, 'multiplier', 1.0, place, findings)
    offset = _number(node, 'offset', 0.0, place, findings)
    _warn_of_others(node, place, findings)
    if not followed or not name:
        return None
    line = [followed]
    while (above := joints[line[-1]].mimic) is not None and above.joint in joints:
        if above.joint in line:
            # a ring that the joints themselves have is reported for them
            break
        line.append(above.joint)
    if name in line:
        message = f'the joint would follow itself: {" follows ".join([name, *line])}'
        findings.error('mimic-cycle', place, message, value=name)
        return None
    mimic, given = Mimic(followed, multiplier, offset), joints[name].mimic
    if given is not None and given != mimic:
        message = (
            f'replaces the <mimic> rule {given.multiplier:g} * {given.joint} + {given.offset:g}, '
            'which Gazebo Classic ignores'
        )
        findings.warning('mimic-replaced', place, message, value=name)
    return name, mimic


def _warn_of_others(node: Element, place: Place, findings: Findings) -> None:
    """Warn of tags without an effect here, except zeros: forks have higher-order terms."""
    known = (*_FOLLOWED, *_FOLLOWER, 'multiplier', 'offset', *_WITHOUT_EFFECT)
    for child in node:
        if child.tag not in known and name_in(child) not in ('0', '0.0'):
            inner = place.child(child.tag, child.line)
            findings.warning('unknown-tag', inner, 'is not simulated, ignored')


def _joint(
    node: Element,
    tags: tuple[str, ...],
    joints: Mapping[str, JointDescription],
    place: Place,
    findings: Findings,
) -> str:
    """Return the one-axis joint in the first given tag; '' with an error noted."""
    children = [child for tag in tags for child in node.findall(tag)]
    if not children:
        findings.error('missing-tag', place.child(tags[0], node.line), 'missing')
        return ''
    child = children[0]
    name, inner = name_in(child), place.child(child.tag, child.line)
    if name not in joints:
        findings.error('mimic-unknown', inner, unknown('joint', name, joints), value=name)
        return ''
    kind = joints[name].type
    if kind not in ONE_AXIS:
        findings.error('mimic-type', inner, f'a {kind.value} joint cannot mimic', value=name)
        return ''
    return name


def _number(node: Element, tag: str, usual: float, place: Place, findings: Findings) -> float:
    for child in node.findall(tag)[-1:]:
        inner = place.child(tag, child.line)
        values = parse_numbers(name_in(child), _NUMBER, inner, findings, '')
        return usual if values is None else values[0]
    return usual
