"""
Sensors in SDF's words: in `<gazebo reference="…">`, or under `<robot>` as iDynTree has them.

Sources: sdformat 1.11 (sensor.sdf, forcetorque.sdf, imu.sdf, lidar.sdf, noise.sdf), SDF 1.4 for
the classic imu noise, and the keys for frame and output of the gazebo_ros plugins inside a sensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypedDict

from sim_bridge.description.model import (
    NoiseDescription,
    Pose,
    ScanDescription,
    SCANNING,
    SensorDescription,
    SensorKind,
    WRENCH_DIRECTIONS,
    WRENCH_FRAMES,
)
from sim_bridge.description.noise import QUANTITIES
from sim_bridge.description.numbers import Numbers, parse_numbers
from sim_bridge.description.poses import read_only
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.noise import read_axis_noise, read_classic_noise, read_noise
from sim_bridge.description.sdf.scans import (
    gives_one_range,
    read_scan,
    read_sonar,
    remapped_output,
    SCAN_TAGS,
    with_radiation,
)
from sim_bridge.description.sdf.values import read_pose
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import BOOLEANS, element_text, read_number, warn_of_unknown
from sim_bridge.foundation.rotation import matrix_from_rpy

KINDS = {
    'force_torque': SensorKind.FORCE_TORQUE,
    'imu': SensorKind.IMU,
    'contact': SensorKind.CONTACT,
    'magnetometer': SensorKind.MAGNETOMETER,
    'altimeter': SensorKind.ALTIMETER,
    'air_pressure': SensorKind.AIR_PRESSURE,
    'sonar': SensorKind.RANGE,
    **dict.fromkeys(('lidar', 'gpu_lidar', 'ray', 'gpu_ray'), SensorKind.LIDAR),
}
# iDynTree's names
ROBOT_KINDS = {**KINDS, 'accelerometer': SensorKind.ACCELEROMETER, 'gyroscope': SensorKind.GYRO}

_INNER = {
    SensorKind.FORCE_TORQUE: 'force_torque',
    SensorKind.CONTACT: 'contact',
    SensorKind.MAGNETOMETER: 'magnetometer',
    SensorKind.ALTIMETER: 'altimeter',
    SensorKind.AIR_PRESSURE: 'air_pressure',
    SensorKind.RANGE: 'sonar',
}
_CHOICES = {'frame': WRENCH_FRAMES, 'measure_direction': WRENCH_DIRECTIONS}
_RATE = Numbers(minimum=0.0)
_ALTITUDE = 'reference_altitude'
_FRAME_TAGS = ('gz_frame_id', 'ignition_frame_id', 'frame_id')
_PLUGIN_FRAME_TAGS = ('frame_name', 'frameName', 'frame_id')
_SILENT = {'always_on', 'visualize', 'enable_metrics', 'parent', 'origin', *_FRAME_TAGS}
# plugins from before Gazebo had sensors of these types
SENSOR_PLUGINS = ('gazebo_ros_ft_sensor', 'gazebo_ros_imu', 'gazebo_ros_f3d')


class _Settings(TypedDict, total=False):
    """Settings in the element of the sensor's kind, by the names of SensorDescription."""

    frame: str
    measure_direction: str
    noise: Mapping[str, NoiseDescription]
    enable_orientation: bool
    scan: ScanDescription
    collisions: tuple[str, ...]
    reference_altitude: float


def read_gazebo_sensors(root: Element, findings: Findings) -> Iterator[SensorDescription]:
    """
    Yield the sensors of the `<gazebo>` elements.

    The reference is given as both joint and link names at once in SDF's URDF extension, so it is
    put where the name belongs: joints first for force-torque sensors, links first for the rest.
    """
    joints = {node.get('name') for node in root.findall('joint')}
    links = {node.get('name') for node in root.findall('link')}
    for gazebo in root.findall('gazebo'):
        reference = gazebo.get('reference', '')
        for node in gazebo:
            place = Place(f'sensor/{node.tag}', node.get('name', ''), node.line)
            if node.tag == 'sensor':
                sensor = _read_sensor(node, KINDS, findings)
                if sensor is not None:
                    yield _on_reference(sensor, reference, joints, links)
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
        sensor = _read_sensor(node, ROBOT_KINDS, findings)
        if sensor is None:
            continue
        place = Place('sensor', sensor.name, node.line)
        parent, origin = node.find('parent'), node.find('origin')
        if parent is not None:
            sensor = replace(sensor, joint=parent.get('joint'), link=parent.get('link'))
        pose = sensor.pose if origin is None else _read_origin(origin, place, findings)
        yield replace(sensor, pose=pose)


def _on_reference(
    sensor: SensorDescription, reference: str, joints: set[str], links: set[str]
) -> SensorDescription:
    joint_first = sensor.kind is SensorKind.FORCE_TORQUE
    is_joint = reference in joints and (joint_first or reference not in links)
    if is_joint or (joint_first and reference not in links):
        return replace(sensor, joint=reference)
    return replace(sensor, link=reference)


def _read_sensor(
    node: Element, kinds: Mapping[str, SensorKind], findings: Findings
) -> SensorDescription | None:
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
    inner_tags = SCAN_TAGS if kind is SensorKind.LIDAR else (_INNER.get(kind, 'imu'),)
    known = {'update_rate', 'topic', 'pose', 'plugin', *_SILENT, word, *inner_tags}
    warn_of_unknown(node, known, place, findings)
    inner = next((element for element in node if element.tag in inner_tags), None)
    settings: _Settings = {}
    if inner is not None:
        within = place.child(inner.tag, inner.line)
        if kind is SensorKind.LIDAR:
            settings['scan'], settings['noise'] = read_scan(inner, within, findings)
        else:
            settings = _READERS.get(kind, _read_imu)(inner, within, findings)
    elif kind in SCANNING:
        message = f'without <{inner_tags[0]}> it has no rays, ignored'
        findings.warning('unsupported-sensor', place, message)
        return None
    pose = _read_pose(node.find('pose'), place, findings)
    if kind is SensorKind.FORCE_TORQUE and not pose.is_identity and 'frame' not in settings:
        message = 'without <frame> the axes are those of the sensor; in Gazebo, of the child link'
        findings.warning('frame-default', place.child('pose', node.line), message)
    topic = _text(node, ('topic',))
    if kind is SensorKind.CONTACT and inner is not None:
        topic = topic or _text(inner, ('topic',))
    if kind is SensorKind.LIDAR:
        topic = topic or remapped_output(node)
        if gives_one_range(node):
            kind = SensorKind.RANGE
            settings['scan'] = with_radiation(settings.get('scan', ScanDescription()), node)
    return SensorDescription(
        name=name,
        kind=kind,
        link='',
        pose=pose,
        update_rate=_rate(node.find('update_rate'), place, findings),
        frame_id=_text(node, _FRAME_TAGS) or _plugin_text(node, _PLUGIN_FRAME_TAGS),
        topic='' if topic == '__default__' else topic,
        line=node.line,
        **settings,
    )


def _read_force_torque(node: Element, place: Place, findings: Findings) -> _Settings:
    settings: _Settings = {}
    noise: dict[str, NoiseDescription] = {}
    warn_of_unknown(node, {'frame', 'measure_direction', 'force', 'torque'}, place, findings)
    for element in node:
        inner = place.child(element.tag, element.line)
        text = element_text(element)
        choices = _CHOICES.get(element.tag)
        if element.tag in ('force', 'torque'):
            noise.update(read_axis_noise(element, element.tag, inner, findings))
        elif element.tag == 'frame' and text in WRENCH_FRAMES:
            settings['frame'] = text
        elif element.tag == 'measure_direction' and text in WRENCH_DIRECTIONS:
            settings['measure_direction'] = text
        elif choices:
            findings.error('bad-value', inner, f'must be one of {", ".join(choices)}', value=text)
    settings['noise'] = MappingProxyType(noise)
    return settings


def _read_imu(node: Element, place: Place, findings: Findings) -> _Settings:
    settings: _Settings = {}
    noise: dict[str, NoiseDescription] = {}
    known = {
        'noise',
        *QUANTITIES[SensorKind.IMU],
        'orientation_reference_frame',
        'enable_orientation',
        'topic',
    }
    warn_of_unknown(node, known, place, findings)
    for element in node:
        inner = place.child(element.tag, element.line)
        if element.tag == 'noise':
            noise.update(read_classic_noise(element, inner, findings))
        elif element.tag in QUANTITIES[SensorKind.IMU]:
            noise.update(read_axis_noise(element, element.tag, inner, findings))
        elif element.tag == 'enable_orientation':
            settings['enable_orientation'] = _boolean(element, inner, findings)
        elif element.tag == 'orientation_reference_frame':
            localization = _text(element, ('localization',)) or 'ENU'
            if localization != 'ENU':
                message = 'not supported: the orientation is that in the world frame, ENU'
                findings.warning('orientation-frame', inner, message, value=localization)
    settings['noise'] = MappingProxyType(noise)
    return settings


def _read_contact(node: Element, place: Place, findings: Findings) -> _Settings:
    warn_of_unknown(node, {'collision', 'topic'}, place, findings)
    names = (element_text(element) for element in node if element.tag == 'collision')
    return {'collisions': tuple(name for name in names if name not in ('', '__default__'))}


def _read_magnetometer(node: Element, place: Place, findings: Findings) -> _Settings:
    return {'noise': MappingProxyType(read_axis_noise(node, 'magnetic_field', place, findings))}


def _read_channels(node: Element, place: Place, findings: Findings) -> _Settings:
    """Read `<quantity><noise>` of quantities without axes, and the altitude of the origin."""
    settings: _Settings = {}
    noise = {}
    known = QUANTITIES[KINDS[node.tag]]
    is_pressure = node.tag == 'air_pressure'
    more = {_ALTITUDE} if is_pressure else set()
    warn_of_unknown(node, {*known, *more, 'topic'}, place, findings)
    for element in node:
        inner = place.child(element.tag, element.line)
        if element.tag in known:
            for each in element.findall('noise'):
                within = inner.child('noise', each.line)
                read = read_noise(each, each.get('type', 'none'), within, findings)
                if read.kind != 'none':
                    noise[element.tag] = read
        elif element.tag == _ALTITUDE and is_pressure:
            settings['reference_altitude'] = (
                read_number(element, Numbers(), inner, findings) or 0.0
            )
    settings['noise'] = MappingProxyType(noise)
    return settings


def _read_sonar(node: Element, place: Place, findings: Findings) -> _Settings:
    return {'scan': read_sonar(node, place, findings)}


_READERS = {
    SensorKind.ALTIMETER: _read_channels,
    SensorKind.AIR_PRESSURE: _read_channels,
    SensorKind.RANGE: _read_sonar,
    SensorKind.FORCE_TORQUE: _read_force_torque,
    SensorKind.CONTACT: _read_contact,
    SensorKind.MAGNETOMETER: _read_magnetometer,
}


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
