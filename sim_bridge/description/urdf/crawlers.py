"""
Links acting as continuous tracks, from `<sim_bridge>` and from Gazebo's track controllers.

A crawler's link keeps its carrying joint, mostly a fixed one; only its surface moves.
Gazebo's TrackController names the link and the vehicle's drive direction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from sim_bridge.description.mechanism.constraints import direction
from sim_bridge.description.model import (
    CrawlerDescription,
    JointDescription,
    JointType,
    LinkDescription,
)
from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.poses import read_only
from sim_bridge.description.report import Findings, Place, unknown
from sim_bridge.description.urdf.extension import CRAWLER, TAG
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.schema import clean
from sim_bridge.description.xml.values import element_text
from sim_bridge.foundation.rotation import matrix_from_rpy

# part of the plugin's file name under Gazebo and its predecessor Ignition
_PLUGIN = 'track-controller-system'


@dataclass(frozen=True)
class _Declared:
    """Crawler as declared; its link may be missing. joint: '' if not given."""

    link: str
    axis: np.ndarray | None
    joint: str
    spot: Place


def read_crawlers(
    root: Element,
    links: Mapping[str, LinkDescription],
    joints: Mapping[str, JointDescription],
    findings: Findings,
) -> tuple[CrawlerDescription, ...]:
    """
    Return a robot's crawlers, each on an existing link and with a unique name.

    If `<sim_bridge>` and Gazebo name the same link, `<sim_bridge>` counts.
    """
    carrier = {joint.child: joint for joint in joints.values()}
    own = list(_extension_crawlers(root, findings))
    covered = {one.link for one in own}
    gazebo = [one for one in _gazebo_crawlers(root, findings) if one.link not in covered]
    kept: dict[str, CrawlerDescription] = {}
    for one in (*own, *gazebo):
        if one.link and one.link not in links:
            message = unknown('link', one.link, links)
            findings.error('unknown-link', one.spot, message, value=one.link)
        elif any(one.link == other.link for other in kept.values()):
            findings.error('duplicate-name', one.spot, 'is already a crawler', value=one.link)
        elif one.link and one.axis is not None:
            name = _name(one, carrier.get(one.link), joints, findings)
            if name in kept:
                message = f'the crawler of link {kept[name].link!r} has this name'
                findings.error('duplicate-name', one.spot, message, 'joint', name)
            elif name:
                kept[name] = CrawlerDescription(name, one.link, one.axis, one.spot.line)
    return tuple(kept.values())


def _extension_crawlers(root: Element, findings: Findings) -> Iterator[_Declared]:
    for outer in root.findall(TAG):
        for node in outer.findall('crawler'):
            place = Place('crawler', node.get('link', ''), node.line)
            crawler = clean(node, CRAWLER, place, findings)
            yield _Declared(
                crawler.get('link', '').strip(),
                direction(crawler.floats('axis'), place.at('axis'), findings),
                crawler.get('joint', '').strip(),
                place.at('link'),
            )


def _gazebo_crawlers(root: Element, findings: Findings) -> Iterator[_Declared]:
    """Yield the tracks in Gazebo's plugins; their drive direction is x of `track_orientation`."""
    for gazebo in root.findall('gazebo'):
        for node in gazebo.findall('plugin'):
            if _PLUGIN not in node.get('filename', ''):
                continue
            place = Place('gazebo/plugin', '', node.line)
            parts = {element.tag: element for element in node}
            if 'link' not in parts or not element_text(parts['link']):
                findings.error('missing-tag', place.child('link', node.line), 'missing')
                continue
            axis = np.array([0.0, 1.0, 0.0])
            turn = parts.get('track_orientation')
            if turn is not None:
                at = place.child(turn.tag, turn.line)
                rpy = parse_numbers(element_text(turn), Numbers(3), at, findings, '')
                axis = axis if rpy is None else matrix_from_rpy(rpy) @ axis
            link = parts['link']
            spot = place.child('link', link.line)
            yield _Declared(element_text(link), read_only(axis), '', spot)


def _name(
    one: _Declared,
    carrier: JointDescription | None,
    joints: Mapping[str, JointDescription],
    findings: Findings,
) -> str:
    """
    Return the name for crawler commands; '', with an error noted, if it is taken.

    The default is the fixed carrying joint's name, else the link's name.
    """
    fixed = carrier if carrier is not None and carrier.type is JointType.FIXED else None
    name = one.joint or (one.link if fixed is None else fixed.name)
    if name not in joints or joints[name] is fixed:
        return name
    if joints[name] is carrier:
        message = 'this joint moves by itself; choose another name'
    else:
        message = f'this joint carries link {joints[name].child!r}; choose another name'
    findings.error('crawler-joint', one.spot, message, 'joint', name)
    return ''
