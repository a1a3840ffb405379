"""
Sensors in SDF's words: in `<gazebo reference="…">`, or under `<robot>` as iDynTree has them.

Sources: sdformat 1.11 (sensor.sdf, forcetorque.sdf, imu.sdf, lidar.sdf, noise.sdf), SDF 1.4 for
the classic imu noise, and the keys for frame and output of the gazebo_ros plugins inside a sensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from sim_bridge.description.model import NoiseDescription, Pose, SensorDescription
from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.poses import read_only
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.cameras import camera_elements, read_camera_element
from sim_bridge.description.sdf.gps_plugin import is_gps_plugin, read_gps_plugin, velocity_output
from sim_bridge.description.sdf.noise import (
    read_classic_noise,
    read_noise_group,
    read_quantity_noise,
)
from sim_bridge.description.sdf.plugin_topics import read_topic, topics_of
from sim_bridge.description.sdf.rays import as_plugin_output, GZ_LIDARS, read_ray_element
from sim_bridge.description.sdf.values import read_pose
from sim_bridge.description.sensor_kinds import (
    CAMERA,
    Choice,
    KINDS,
    MeasuredBy,
    Names,
    NAVSAT,
    SensorKind,
    Setting,
    Switch,
    Values,
)
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import BOOLEANS, element_text, read_number, warn_of_unknown
from sim_bridge.foundation.rotation import matrix_from_rpy

SENSOR = 'sensor'
"""Word for a sensor left out of a robot."""

_RATE = Numbers(minimum=0.0)
_FRAME_TAGS = ('gz_frame_id', 'ignition_frame_id', 'frame_id')
_PLUGIN_TOPIC_TAGS = ('topicName', 'topic_name')
_OUTPUTS = ('~/out', 'out')
_PLUGIN_FRAME_TAGS = ('frame_name', 'frameName', 'frame_id')
_SILENT = {'always_on', 'visualize', 'enable_metrics', 'parent', 'origin', *_FRAME_TAGS}
# plugins from before Gazebo had sensors of these types
SENSOR_PLUGINS = ('gazebo_ros_ft_sensor', 'gazebo_ros_imu', 'gazebo_ros_f3d')


def _gazebo_types() -> dict[str, SensorKind]:
    """Return the sensor kinds, by their words in `<sensor type="…">`."""
    return {word: kind for kind in KINDS.values() for word in kind.sdf_types}


def _robot_types() -> dict[str, SensorKind]:
    """Return the sensor kinds by their words in a `<sensor>` under `<robot>`, as in iDynTree."""
    own = {word: kind for kind in KINDS.values() for word in kind.robot_types}
    return _gazebo_types() | own


def read_gazebo_sensors(root: Element, findings: Findings) -> Iterator[SensorDescription]:
    """
    Yield the sensors in the `<gazebo>` elements.

    In SDF's URDF extension the reference names a joint or a link. Joints come first for kinds on a
    joint, links for all others.
    """
    joints = {node.get('name') for node in root.findall('joint')}
    links = {node.get('name') for node in root.findall('link')}
    for gazebo in root.findall('gazebo'):
        reference = gazebo.get('reference', '')
        for node in gazebo:
            place = Place(f'sensor/{node.tag}', node.get('name', ''), node.line)
            if node.tag == 'sensor':
                for sensor in _read_sensors(node, _gazebo_types(), findings):
                    yield _on_reference(sensor, reference, joints, links)
            elif is_gps_plugin(node):
                own = Findings()
                receiver = read_gps_plugin(node, links, own)
                if findings.take_part(own, SENSOR):
                    yield receiver
            elif node.tag.startswith('sensor:'):
                message = 'sensors of this form are not supported, ignored'
                findings.warning('unsupported-sensor', place, message)
            elif node.tag == 'plugin' and any(
                word in node.get('filename', '') for word in SENSOR_PLUGINS
            ):
                message = 'Gazebo plugins are not run; declare a <sensor> of this type'
                findings.warning(
                    'unsupported-sensor', place, message, 'filename', node.get('filename')
                )


def read_robot_sensors(root: Element, findings: Findings) -> Iterator[SensorDescription]:
    """Yield the sensors directly under `<robot>`."""
    for node in root.findall('sensor'):
        for sensor in _read_sensors(node, _robot_types(), findings):
            place = Place('sensor', sensor.name, node.line)
            parent, origin = node.find('parent'), node.find('origin')
            placed = sensor
            if parent is not None:
                placed = replace(sensor, joint=parent.get('joint'), link=parent.get('link'))
            pose = sensor.pose if origin is None else _read_origin(origin, place, findings)
            yield replace(placed, pose=pose)


def _on_reference(
    sensor: SensorDescription, reference: str, joints: set[str], links: set[str]
) -> SensorDescription:
    joint_first = sensor.kind.on_joint
    is_joint = reference in joints and (joint_first or reference not in links)
    if is_joint or (joint_first and reference not in links):
        return replace(sensor, joint=reference)
    return replace(sensor, link=reference)


def _read_sensors(
    node: Element, kinds: Mapping[str, SensorKind], findings: Findings
) -> Iterator[SensorDescription]:
    """Yield a sensor, or a multicamera's cameras; none of another kind or with defects."""
    for camera in camera_elements(node):
        own = Findings()
        sensor = _read_sensor(node, kinds, own, camera)
        if findings.take_part(own, SENSOR) and sensor is not None:
            yield sensor


def _read_sensor(
    node: Element, kinds: Mapping[str, SensorKind], findings: Findings, camera: Element | None
) -> SensorDescription | None:
    """Return a sensor; camera: the element of one of several cameras, else None."""
    name, word = node.get('name', ''), node.get('type', '')
    place = Place('sensor', name, node.line)
    if word not in kinds:
        message = f'not supported, ignored; supported are {", ".join(kinds)}'
        findings.warning('unsupported-sensor', place, message, 'type', word)
        return None
    if not name:
        findings.error('missing-attribute', place, 'missing', 'name')
        return None
    kind = kinds[word]
    known = {'update_rate', 'topic', 'pose', 'plugin', *_SILENT, word, *kind.sdf_elements}
    warn_of_unknown(node, known, place, findings)
    inner = camera
    if inner is None:
        inner = next((each for each in node if each.tag in kind.sdf_elements), None)
    is_by_rays = kind.measured_by is MeasuredBy.RAYS
    if inner is None and is_by_rays:
        message = f'without <{kind.sdf_elements[0]}> it has no rays, ignored'
        findings.warning('unsupported-sensor', place, message)
        return None
    topics = [_remapped_output(node), _text(node, ('topic',))]
    settings: Any = None
    topics.append(_plugin_text(node, _PLUGIN_TOPIC_TAGS))
    noise: Mapping[str, NoiseDescription] = {}
    values: dict[str, Any] = {}
    pose = _read_pose(node.find('pose'), place, findings)
    frame_id = _text(node, _FRAME_TAGS) or _plugin_text(node, _PLUGIN_FRAME_TAGS)
    if kind is CAMERA:
        element = read_camera_element(node, inner, place, findings)
        settings, pose = element.settings, pose @ element.pose
        frame_id = element.frame_id or frame_id
        topics = [element.topic or topics[1]]
        if camera is not None:
            name = f'{name}_{camera.get("name", "")}'
    elif inner is not None:
        within = place.child(inner.tag, inner.line)
        if is_by_rays:
            settings, noise = read_ray_element(inner, within, findings)
            kind, settings = as_plugin_output(kind, settings, node)
        else:
            values, noise = _read_element(kind, inner, within, findings)
            values = {key: value for key, value in values.items() if key in kind.keys}
            settings = kind.settings(**values)
        if kind.has_inner_topic:
            topics.append(_text(inner, ('topic',)))
    topic = _first_topic(topics, place.child('topic', node.line), findings)
    if word in GZ_LIDARS and topic and not topics[0]:
        settings = replace(settings, cloud_topic=f'{topic}/points')
    if kind is NAVSAT:
        settings = velocity_output(settings or kind.settings(), node, place, findings)
    if 'frame' in kind.keys and 'frame' not in values and not pose.is_identity:
        message = 'without <frame> the axes are those of the sensor; in Gazebo, of the child link'
        findings.warning('frame-default', place.child('pose', node.line), message)
    return SensorDescription(
        name=name,
        kind=kind,
        link='',
        pose=pose,
        update_rate=_rate(node.find('update_rate'), place, findings),
        noise=MappingProxyType(noise),
        settings=settings,
        frame_id=frame_id,
        topic=topic,
        line=node.line,
    )


def _first_topic(texts: list[str], place: Place, findings: Findings) -> str:
    """Return the first topic name in these texts; '' for none."""
    names = (read_topic(text, place, findings) for text in texts)
    return next(filter(None, names), '')


def _remapped_output(sensor: Element) -> str:
    """Return the topic replacing the output of a gazebo_ros plugin; '' for none."""
    names = (topics_of(plugin).remapped(*_OUTPUTS) for plugin in sensor.findall('plugin'))
    return next(filter(None, names), '')


def _read_element(
    kind: SensorKind, node: Element, place: Place, findings: Findings
) -> tuple[dict[str, Any], dict[str, NoiseDescription]]:
    """
    Return the settings by key, and the noise by channel, in a kind's element.

    kind: sensor kind. The tag may belong to another kind: an accelerometer may have an `<imu>`.
    """
    kind = _gazebo_types().get(node.tag, kind)
    quantities = kind.noisy
    if kind.noise_of_element:
        quantity = quantities[kind.noise_of_element]
        return {}, read_quantity_noise(node, quantity, place, findings)
    settings = {each.tag: (key, each) for key, each in kind.keys.items() if each.tag}
    groups = kind.noise_groups
    known = {*quantities, *settings, *groups, *kind.sdf_tags}
    warn_of_unknown(node, known, place, findings)
    values: dict[str, Any] = {}
    noise: dict[str, NoiseDescription] = {}
    for element in node:
        inner = place.child(element.tag, element.line)
        if element.tag in quantities:
            noise |= read_quantity_noise(element, quantities[element.tag], inner, findings)
        elif element.tag in groups:
            noise |= read_noise_group(element, *groups[element.tag], inner, findings)
        elif element.tag in settings:
            key, setting = settings[element.tag]
            value = _read_setting(setting, element, inner, findings)
            if isinstance(setting, Names):
                values[key] = values.get(key, ()) + value
            elif value is not None:
                values[key] = value
        elif element.tag == 'noise' and 'noise' in kind.sdf_tags:
            noise |= read_classic_noise(element, inner, findings)
        elif element.tag == 'orientation_reference_frame':
            localization = _text(element, ('localization',)) or 'ENU'
            if localization != 'ENU':
                message = 'not supported: the orientation is that in the world frame, ENU'
                findings.warning('orientation-frame', inner, message, value=localization)
    return values, noise


def _read_setting(setting: Setting, node: Element, place: Place, findings: Findings) -> Any:
    """Return a setting's value from an element; None if it is missing or wrong."""
    text = element_text(node)
    if isinstance(setting, Choice):
        if text not in setting.choices:
            message = f'must be one of {", ".join(setting.choices)}'
            findings.error('bad-value', place, message, value=text)
            return None
        return text
    if isinstance(setting, Switch):
        return _boolean(node, place, findings)
    if isinstance(setting, Names):
        return () if text in ('', '__default__') else (text,)
    if isinstance(setting, Values):
        return read_number(node, setting.numbers, place, findings)
    return None


def _read_pose(node: Element | None, place: Place, findings: Findings) -> Pose:
    if node is None:
        return Pose()
    place = place.child('pose', node.line)
    if node.get('relative_to'):
        message = 'not supported: poses count from the link'
        findings.warning('pose-reference', place, message, 'relative_to', node.get('relative_to'))
    return read_pose(node, place, findings)


def _read_origin(node: Element, place: Place, findings: Findings) -> Pose:
    place = place.child('origin', node.line)
    xyz, rpy = (
        parse_numbers(node.get(name, '0 0 0'), Numbers(3), place, findings, name)
        or [0.0, 0.0, 0.0]
        for name in ('xyz', 'rpy')
    )
    return Pose(read_only(xyz), read_only(matrix_from_rpy(rpy)))


def _rate(node: Element | None, place: Place, findings: Findings) -> float:
    if node is None:
        return 0.0
    return read_number(node, _RATE, place.child(node.tag, node.line), findings) or 0.0


def _boolean(node: Element, place: Place, findings: Findings) -> bool:
    text = element_text(node)
    if text.lower() not in BOOLEANS:
        findings.error('bad-value', place, 'must be true or false', value=text)
    return BOOLEANS.get(text.lower(), True)


def _text(node: Element, tags: tuple[str, ...]) -> str:
    return next((element_text(element) for element in node if element.tag in tags), '')


def _plugin_text(node: Element, tags: tuple[str, ...]) -> str:
    return next((text for plugin in node.findall('plugin') if (text := _text(plugin, tags))), '')
