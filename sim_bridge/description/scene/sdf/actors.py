"""SDF actors: kinematic bodies on paths through waypoints."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np

from sim_bridge.description.formats import SDF
from sim_bridge.description.model import (
    GeometryDescription,
    Inertial,
    LinkDescription,
    Pose,
    RobotDescription,
)
from sim_bridge.description.poses import read_only
from sim_bridge.description.report import Findings, Report
from sim_bridge.description.scene.waypoints import Waypoints
from sim_bridge.description.sdf_model.document import Entity, Library
from sim_bridge.description.sdf_model.load import read_model
from sim_bridge.description.sdf_model.scope import build_scope, Scope
from sim_bridge.description.sdf_model.tags import NOT_NEGATIVE, POSITIVE, Tags

_LINK = 'actor'
_OF_SCRIPTS = ('auto_start',)


def read_actor(
    entity: Entity, scope: Scope, library: Library
) -> tuple[RobotDescription, Waypoints] | None:
    """
    Return an actor's body and path; None, with warnings, for a defective one.

    The body has the actor's links, or else its skin as a visual, without collision.
    """
    findings = library.findings
    own = Findings()
    tags = Tags(entity.element, entity.place, own)
    pose, base = Tags(entity.posed, entity.place, own).pose()
    scope.check(base, entity.place, 'relative_to', own)
    path = _path(tags, scope.pose_of(base) @ pose)
    skin = tags.inside('skin')
    for node in tags.findall('animation'):
        inner = tags.of(node)
        inner.close(('filename', 'scale', 'interpolate_x'))
    visual = None if skin is None else _skin(skin, entity, library)
    tags.close(('pose', 'link', 'joint', 'plugin', 'static', 'origin'))
    if not findings.take_part(own, 'actor'):
        return None
    if entity.element.find('link') is not None:
        inner_scope = build_scope(entity, library)
        moving = replace(entity, static=False)
        return read_model(moving, library, inner_scope, is_placed=False), path
    # a mass without effect: no force moves the body
    inertial = Inertial(1.0, Pose(), read_only(np.eye(3)))
    link = LinkDescription(_LINK, inertial, () if visual is None else (visual,))
    body = RobotDescription(
        entity.name or _LINK,
        _LINK,
        MappingProxyType({_LINK: link}),
        MappingProxyType({}),
        (),
        Report(library.main),
        source=library.main,
        format=SDF.name,
    )
    return body, path


def _skin(tags: Tags, entity: Entity, library: Library) -> GeometryDescription | None:
    filename, scale = tags.text('filename'), tags.number('scale', 1.0, POSITIVE)
    tags.close()
    if not filename or filename == '__default__':
        return None
    uri = library.uri_of(filename, entity.file)
    return GeometryDescription('mesh', (scale,) * 3, Pose(), 'skin', uri, line=tags.node.line)


def _path(tags: Tags, pose: Pose) -> Waypoints:
    """Return an actor's path; its own pose, with a warning noted, without waypoints."""
    script = tags.inside('script')
    points: list[tuple[float, Pose]] = []
    loops, delay = True, 0.0
    if script is not None:
        loops, delay = script.flag('loop', True), script.number('delay_start', 0.0, NOT_NEGATIVE)
        for node in script.findall('trajectory'):
            trajectory = script.of(node)
            for waypoint in map(trajectory.of, trajectory.findall('waypoint')):
                time = waypoint.number('time', 0.0, NOT_NEGATIVE)
                own, _ = waypoint.pose()
                waypoint.close()
                points.append((time, pose @ own))
            if trajectory.number('tension', 0.0):
                place = trajectory.place.at('tension')
                message = 'is not simulated, ignored: lines between waypoints are straight'
                tags.findings.warning('not-simulated', place, message)
            trajectory.close()
        script.close(_OF_SCRIPTS)
    # the first waypoint counts at each time
    by_time = dict(reversed(points))
    if not by_time:
        message = 'has no waypoints; it stands at its pose'
        tags.findings.warning('not-simulated', tags.place, message)
        return Waypoints((0.0,), (pose,))
    times = sorted(by_time)
    return Waypoints(tuple(times), tuple(by_time[time] for time in times), delay, loops)
