"""SDF's `lidar` (once `ray`) and `sonar` elements, and gazebo_ros plugins for their output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
import math
from types import MappingProxyType

from sim_bridge.description.model import NoiseDescription
from sim_bridge.description.numbers import Numbers
from sim_bridge.description.rays import ANGLES, RADIATIONS, RANGE, RaySettings, read_rays
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sdf.noise import read_noises
from sim_bridge.description.sensor_kinds import LIDAR, RANGE_SENSOR, SensorKind
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import element_text, read_numbers, warn_of_unknown

# keys of `sonar`, and the rays along each angle of its cone
_SONAR = {'min': RANGE['min'], 'max': RANGE['max'], 'radius': Numbers(minimum=0.0)}
_SONAR_RAYS = 9
GZ_LIDARS = ('lidar', 'gpu_lidar')
"""Words in `<sensor type="…">` for gz-sim's lidars: a scan and a cloud each."""

_RANGE_OUTPUT, _RANGE_PLUGIN = 'sensor_msgs/Range', 'gazebo_ros_range'

_Read = tuple[RaySettings, Mapping[str, NoiseDescription]]


def read_ray_element(node: Element, place: Place, findings: Findings) -> _Read:
    """Return the rays and the noise in a `<lidar>`, `<ray>` or `<sonar>` element."""
    return _READERS[node.tag](node, place, findings)


def _read_lidar(node: Element, place: Place, findings: Findings) -> _Read:
    warn_of_unknown(node, {'scan', 'range', 'noise', 'visibility_mask'}, place, findings)
    angles: dict[str, dict[str, float]] = {'horizontal': {}, 'vertical': {}}
    for scan in node.findall('scan'):
        inner = place.child('scan', scan.line)
        warn_of_unknown(scan, angles, inner, findings)
        for element in scan:
            if element.tag in angles:
                within = inner.child(element.tag, element.line)
                warn_of_unknown(element, ANGLES, within, findings)
                angles[element.tag] = read_numbers(element, ANGLES, within, findings)
    limits: dict[str, float] = {}
    for element in node.findall('range'):
        within = place.child('range', element.line)
        warn_of_unknown(element, RANGE, within, findings)
        limits = read_numbers(element, RANGE, within, findings)
    noise = read_noises(node, 'range', place, findings, by_element=True)
    horizontal, vertical = angles['horizontal'], angles['vertical']
    rays = read_rays(horizontal, vertical, limits, place, findings, as_gazebo=True)
    return rays, MappingProxyType(noise)


def _read_sonar(node: Element, place: Place, findings: Findings) -> _Read:
    """Return rays in a cone about x; its base, `max` away, has the `radius`."""
    warn_of_unknown(node, {*_SONAR, 'geometry'}, place, findings)
    given = {'min': 0.0, 'max': 1.0, 'radius': 0.5, **read_numbers(node, _SONAR, place, findings)}
    half = math.atan2(given['radius'], given['max'])
    spread = {'samples': _SONAR_RAYS, 'min_angle': -half, 'max_angle': half}
    limits = {'min': given['min'], 'max': given['max']}
    rays = read_rays(spread, spread, limits, place, findings, 'ultrasound')
    return rays, MappingProxyType({})


_READERS: Mapping[str, Callable[[Element, Place, Findings], _Read]] = {
    'lidar': _read_lidar,
    'ray': _read_lidar,
    'sonar': _read_sonar,
}


def as_plugin_output(
    kind: SensorKind, rays: RaySettings, sensor: Element
) -> tuple[SensorKind, RaySettings]:
    """
    Return the kind and the rays of a sensor, as gazebo_ros plugins in it change them.

    A plugin for sensor_msgs/Range makes a range sensor of a lidar.
    """
    if kind is LIDAR and _gives_one_range(sensor):
        return RANGE_SENSOR, _with_radiation(rays, sensor)
    return kind, rays


def _gives_one_range(sensor: Element) -> bool:
    """Return whether a plugin publishes a sensor_msgs/Range: the least distance of the rays."""
    return any(
        _RANGE_PLUGIN in plugin.get('filename', '')
        or any(element_text(each) == _RANGE_OUTPUT for each in plugin.findall('output_type'))
        for plugin in sensor.findall('plugin')
    )


def _with_radiation(rays: RaySettings, sensor: Element) -> RaySettings:
    """Return the rays with the radiation named by a plugin, if any."""
    for plugin in sensor.findall('plugin'):
        for each in plugin.findall('radiation_type') + plugin.findall('radiation'):
            if element_text(each).lower() in RADIATIONS:
                rays = replace(rays, radiation=element_text(each).lower())
    return rays
