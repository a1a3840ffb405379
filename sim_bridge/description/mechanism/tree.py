"""Kinematic tree of a description: one root, no cycles, and the rules of mimic joints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sim_bridge.description.model import (
    JointDescription,
    LinkDescription,
    Mimic,
    ONE_AXIS,
    RobotDescription,
)
from sim_bridge.description.report import Findings, Place, unknown


def check_tree(
    links: Mapping[str, LinkDescription],
    joints: Iterable[JointDescription],
    complete: bool,
    robot: Place,
    findings: Findings,
) -> str:
    """
    Check that the joints connect the links to one tree; return its root, '' if there is none.

    complete: whether the list has every joint in the file. Unreadable joints may be the ones that
    connect the loose links.
    """
    parent_joint: dict[str, JointDescription] = {}
    for joint in joints:
        place = Place('joint', joint.name, joint.line)
        if joint.child in parent_joint:
            other = parent_joint[joint.child]
            message = (
                f'already the child of joint {other.name!r} in line {other.line}; '
                'loop joints belong into <sim_bridge>'
            )
            findings.error(
                'two-parents', place.child('child', joint.line), message, 'link', joint.child
            )
            complete = False
        else:
            parent_joint[joint.child] = joint
    if not links:
        findings.warning('no-links', robot, 'has no link: there is nothing to simulate')
        return ''
    _report_cycles(parent_joint, findings)
    roots = [name for name in links if name not in parent_joint]
    if len(roots) > 1 and complete:
        second = links[roots[1]]
        message = (
            f'{len(roots)} links have no parent joint: {_listing(roots)}; a robot has one root'
        )
        findings.error('several-roots', Place('link', second.name, second.line), message)
    return roots[0] if roots else ''


def is_tree(description: RobotDescription) -> bool:
    """Return whether exactly one path leads from the root to every link."""
    children = [joint.child for joint in description.joints.values()]
    if len(set(children)) < len(children) or description.root in children:
        return False
    reached = {joint.child for joint in parents_first(description)}
    return reached | {description.root} == set(description.links)


def _report_cycles(parent_joint: Mapping[str, JointDescription], findings: Findings) -> None:
    """Report every joint cycle once."""
    settled: set[str] = set()
    for start in parent_joint:
        path: dict[str, None] = {}
        link = start
        while link in parent_joint and link not in settled and link not in path:
            path[link] = None
            link = parent_joint[link].parent
        if link in path:
            ring = list(path)[list(path).index(link) :]
            joint = min((parent_joint[name] for name in ring), key=lambda joint: joint.line)
            message = f'closes a cycle of links: {_listing([*reversed(ring), ring[-1]])}'
            findings.error(
                'cycle', Place('joint', joint.name, joint.line), message, 'child', joint.child
            )
        settled.update(path)


def _listing(names: list[str]) -> str:
    shown = ', '.join(names[:10])
    return f'{shown} … ({len(names)} in all)' if len(names) > 10 else shown


def resolve_mimics(
    joints: Mapping[str, JointDescription], findings: Findings
) -> dict[str, JointDescription]:
    """
    Return the joints with every mimic rule referring to a joint without a mimic rule.

    In a chain `q1 = m1 q2 + o1`, `q2 = m2 q3 + o2` the first rule becomes `q1 = m1 m2 q3 +
    (m1 o2 + o1)`. A joint following a missing joint is left free, as in other parsers.
    """
    mimics = {
        joint.name: joint.mimic
        for joint in joints.values()
        if joint.mimic is not None and _can_follow(joint, joint.mimic.joint, joints, findings)
    }
    masters, rings = _masters(mimics)
    for name in filter(rings.__contains__, joints):
        # one report per cycle, at its alphabetically first joint
        place = Place('joint/mimic', name, joints[name].line)
        message = f'the joint follows itself: {" follows ".join([*rings[name], name])}'
        findings.error('mimic-cycle', place, message, 'joint', mimics[name].joint)
    return {name: replace(joint, mimic=masters.get(name)) for name, joint in joints.items()}


def check_mimic_limits(joints: Mapping[str, JointDescription], findings: Findings) -> None:
    """Report mimic joints whose limits leave the followed joint no position."""
    free = {name: (joint.limits.lower, joint.limits.upper) for name, joint in joints.items()}
    for joint in joints.values():
        if joint.mimic is None:
            continue
        followed = joint.mimic.joint
        own = joint.limits.lower, joint.limits.upper
        first, last = joint.mimic.range_of_followed(*own)
        lower, upper = max(free[followed][0], first), min(free[followed][1], last)
        if lower <= upper:
            free[followed] = lower, upper
            continue
        place = Place('joint/mimic', joint.name, joint.line)
        message = (
            f'its limits {own[0]:g} to {own[1]:g} are ignored: none of its positions satisfies '
            f'them while {followed!r} is within {free[followed][0]:g} to {free[followed][1]:g}'
        )
        findings.warning('mimic-limits', place, message, 'joint', followed)


def _can_follow(
    joint: JointDescription,
    followed: str,
    joints: Mapping[str, JointDescription],
    findings: Findings,
) -> bool:
    place = Place('joint/mimic', joint.name, joint.line)
    if followed not in joints:
        message = f'left free: {unknown("joint", followed, joints)}'
        findings.warning('mimic-unknown', place, message, 'joint', followed)
        return False
    kind = joints[followed].type
    if kind not in ONE_AXIS:
        findings.error(
            'mimic-type', place, f'a {kind.value} joint cannot be followed', 'joint', followed
        )
        return False
    return True


def _masters(mimics: Mapping[str, Mimic]) -> tuple[dict[str, Mimic | None], dict[str, list[str]]]:
    """
    Return every follower's resolved mimic rule, and the cycles by their first joint.

    The rule is None for a joint in a cycle or with a chain leading into one. Each joint is visited
    once, so long chains take linear time.
    """
    masters: dict[str, Mimic | None] = {}
    rings: dict[str, list[str]] = {}
    for name in mimics:
        path: dict[str, None] = {}
        while name in mimics and name not in masters and name not in path:
            path[name] = None
            name = mimics[name].joint
        names = list(path)
        if name in path:
            ring = names[names.index(name) :]
            first = ring.index(min(ring))
            rings[ring[first]] = ring[first:] + ring[:first]
            masters.update(dict.fromkeys(names))
            continue
        for each in reversed(names):
            own = mimics[each]
            further = masters.get(own.joint)
            if own.joint not in mimics:
                masters[each] = own
            elif further is None:
                masters[each] = None
            else:
                masters[each] = Mimic(
                    further.joint,
                    own.multiplier * further.multiplier,
                    own.position(further.offset),
                )
    return masters, rings


def parents_first(description: RobotDescription) -> list[JointDescription]:
    """
    Return the joints ordered from the root: each after the joint carrying its parent link.

    A link with several parents, or in a cycle, is reached once; `check_tree` reports it.
    """
    outgoing: dict[str, list[JointDescription]] = {}
    for joint in description.joints.values():
        outgoing.setdefault(joint.parent, []).append(joint)
    ordered: list[JointDescription] = []
    links, reached = [description.root], {description.root}
    for link in links:
        for joint in outgoing.get(link, ()):
            if joint.child not in reached:
                reached.add(joint.child)
                ordered.append(joint)
                links.append(joint.child)
    return ordered
