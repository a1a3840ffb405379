"""
Gazebo's plugins for links: pushes, paths, joints that detach, and touches.

Tags and defaults are those of gz-sim's ApplyLinkWrench, TrajectoryFollower, DetachableJoint and
TouchPlugin, and of gazebo_ros_force.
"""

from __future__ import annotations

import math

from sim_bridge.description.force_fields import Wrench
from sim_bridge.description.plugin_inputs import (
    DetachInput,
    EntityWrenchInput,
    LinkWrenchInput,
    TouchInput,
    WaypointInput,
)
from sim_bridge.description.sdf.plugin_effects import Effect, FieldNames
from sim_bridge.description.sdf.plugin_tags import NOT_NEGATIVE, PluginTags, POSITIVE
from sim_bridge.description.sdf.plugin_topics import topics_of
from sim_bridge.description.sensor_kinds import ContactSettings

_OWN = '__model__'
_FRAMES = ('world', 'link')
_CIRCLE_POINTS = 8
_Path = tuple[tuple[tuple[float, float], ...], str]


def read_wrenches(tags: PluginTags, names: FieldNames) -> Effect:
    """Return gz-sim's pushes on links and robots by name, with the file's lasting ones."""
    links = tags.description.links
    own = {name: Wrench() for name in links}
    for child in tags.children('persistent'):
        inner = tags.inside(child)
        name, kind = inner.text('entity_name'), inner.text('entity_type')
        force, torque = inner.vector('force'), inner.vector('torque')
        inner.close()
        link = tags.description.root if kind == 'model' else name.split('::')[-1]
        if kind not in ('link', 'model') or link not in own:
            message = 'names no link of this robot, ignored'
            tags.findings.warning('unknown-link', tags.at(child), message, value=name)
            continue
        own[link] = Wrench(
            [a + b for a, b in zip(own[link].force, force, strict=True)],
            [a + b for a, b in zip(own[link].torque, torque, strict=True)],
        )
    topic, persistent, clear = (
        tags.topic(tags.text(tag, default=usual), tag)
        for tag, usual in (
            ('topic', 'world/default/wrench'),
            ('topic_persistent', 'world/default/wrench/persistent'),
            ('topic_clear', 'world/default/wrench/clear'),
        )
    )
    fields = tuple((link, names.new(link)) for link in links)
    tags.close(('verbose',))
    return Effect(
        'wrench',
        tuple((own[link], (link,)) for link in links),
        (EntityWrenchInput(topic, persistent, clear, fields),),
    )


def read_force(tags: PluginTags, names: FieldNames) -> Effect:
    """Return gazebo_ros' push on one link, at its mass centre."""
    name = 'gazebo_ros_force'
    link = tags.link('link_name', 'bodyName')
    frame = tags.text('force_frame', default=_FRAMES[0])
    if frame not in _FRAMES:
        message = f'must be {" or ".join(_FRAMES)}; world is assumed'
        tags.findings.warning('bad-value', tags.place, message, 'force_frame', frame)
    topics = topics_of(tags.node)
    given = topics.remapped(name) or tags.text('topicName') or topics.resolved(name)
    topic = tags.topic(given, 'topicName')
    field = names.new(link)
    tags.close(('ros', 'robotNamespace', 'update_rate', 'updateRate'))
    wrench = Wrench(point=_center(tags, link), is_local=frame == _FRAMES[1])
    return Effect('wrench', ((wrench, (link,)),), (LinkWrenchInput(topic, field),))


def _center(tags: PluginTags, link: str) -> tuple[float, ...]:
    """Return a link's mass centre; zero without one."""
    known = tags.description.links.get(link)
    inertial = None if known is None else known.inertial
    return (0.0, 0.0, 0.0) if inertial is None else tuple(inertial.pose.position.tolist())


def read_waypoints(tags: PluginTags, names: FieldNames) -> Effect:
    """Return gz-sim's push on a link along waypoints."""
    link = tags.link('link_name')
    points, origin = _path(tags)
    stops_turning = tags.flag('zero_vel_on_bearing_reached')
    if stops_turning and link != tags.description.root:
        message = 'applies to the root link only, ignored'
        tags.findings.warning('not-simulated', tags.place, message, 'zero_vel_on_bearing_reached')
    usual = f'model/{tags.description.name}/trajectory_follower/pause'
    entry = WaypointInput(
        tags.topic(tags.text('topic', default=usual), 'topic'),
        link,
        names.new(link),
        points,
        origin,
        tags.flag('loop'),
        tags.number('force', 60.0),
        tags.number('torque', 50.0),
        tags.number('range_tolerance', 0.5, NOT_NEGATIVE),
        math.radians(tags.number('bearing_tolerance', 2.0, NOT_NEGATIVE)),
        stops_turning and link == tags.description.root,
    )
    tags.close()
    wrench = Wrench(point=_center(tags, link), is_local=True)
    return Effect('path', ((wrench, (link,)),), (entry,))


def _path(tags: PluginTags) -> _Path:
    """Return waypoints and their origin; notes an error for none."""
    for tag, read in (('waypoints', _points), ('circle', _circle), ('line', _line)):
        child = tags.last(tag)
        if child is not None:
            inner = tags.inside(child)
            path = read(inner)
            inner.close()
            return path
    message = 'missing; or circle, or line'
    tags.findings.error('missing-tag', tags.place.child('waypoints', tags.place.line), message)
    return (), 'world'


def _points(tags: PluginTags) -> _Path:
    found = [tags.pair_at(child) for child in tags.children('waypoint')]
    return tuple(point for point in found if point is not None), 'world'


def _circle(tags: PluginTags) -> _Path:
    radius = tags.number('radius', 0.0, POSITIVE)
    angles = [2.0 * math.pi * k / _CIRCLE_POINTS for k in range(_CIRCLE_POINTS)]
    return tuple((radius * math.cos(a), radius * math.sin(a)) for a in angles), 'position'


def _line(tags: PluginTags) -> _Path:
    direction, length = tags.number('direction', 0.0), tags.number('length', 0.0)
    end = length * math.cos(direction), length * math.sin(direction)
    return ((0.0, 0.0), end), 'pose'


def read_detachable(tags: PluginTags, names: FieldNames) -> Effect:
    """Return gz-sim's joint between two links of one or two robots."""
    robot = tags.description.name
    parent, model = tags.link('parent_link'), tags.text('child_model')
    if not model:
        place = tags.place.child('child_model', tags.place.line)
        tags.findings.error('missing-tag', place, 'missing')
    child = tags.link('child_link') if model == _OWN else tags.text('child_link')
    if not child:
        place = tags.place.child('child_link', tags.place.line)
        tags.findings.error('missing-tag', place, 'missing')
    stem = f'model/{robot}/detachable_joint'
    detach = tags.text('detach_topic', 'topic', default=f'{stem}/detach')
    entry = DetachInput(
        tags.topic(detach, 'detach_topic', 'topic'),
        tags.topic(tags.text('attach_topic', default=f'{stem}/attach'), 'attach_topic'),
        tags.topic(
            tags.text('output_topic', default=f'model/{model}/detachable_joint/state'),
            'output_topic',
        ),
        parent,
        '' if model == _OWN else model.split('::')[-1],
        child,
    )
    tags.text('topic')
    tags.close(('suppress_child_warning',))
    return Effect('detachable joint', (), (entry,))


def read_touch(tags: PluginTags, names: FieldNames) -> Effect:
    """Return gz-sim's message about a long enough touch."""
    for tag in ('target', 'time'):
        if tags.last(tag) is None:
            tags.findings.error('missing-tag', tags.place.child(tag, tags.place.line), 'missing')
    wanted = {child.text.strip().split('::')[-1] for child in tags.children('collision')}
    senses_all = tags.flag('create_contact_sensor_for_collision')
    watched = []
    for link in tags.description.links.values():
        for geometry in link.collisions:
            has_sensor = senses_all or any(
                sensor.link == link.name
                and isinstance(sensor.settings, ContactSettings)
                and geometry.name in (sensor.settings.collisions or (geometry.name,))
                for sensor in tags.description.sensors
            )
            if has_sensor and (not wanted or geometry.name in wanted):
                watched.append((link.name, geometry.name))
    if not watched:
        message = 'no collision with a contact sensor to watch'
        tags.findings.error('missing-sensor', tags.place, message)
    stem = tags.text('namespace', default=f'model/{tags.description.name}/touch')
    entry = TouchInput(
        tags.topic(f'{stem}/touched', 'namespace'),
        tags.topic(f'{stem}/enable', 'namespace'),
        tags.text('target'),
        tags.number('time', 0.0, NOT_NEGATIVE),
        tuple(watched),
        tags.flag('enabled'),
    )
    tags.close()
    return Effect('touch', (), (entry,))
