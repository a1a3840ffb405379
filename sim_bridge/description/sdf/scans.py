"""SDF's `lidar` (once `ray`) elements, and what gazebo_ros plugins say of their output."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
import math
from types import MappingProxyType

from sim_bridge.description.model import NoiseDescription, RADIATIONS, ScanDescription
from sim_bridge.description.numbers import Numbers
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.scans import ANGLES, RANGE, scan_of
from sim_bridge.description.sdf.noise import read_noise
from sim_bridge.description.xml.document import Element
from sim_bridge.description.xml.values import element_text, read_numbers, warn_of_unknown

SCAN_TAGS = ('lidar', 'ray')
# keys of `sonar`, and the rays along each angle of its cone
_SONAR = {'min': RANGE['min'], 'max': RANGE['max'], 'radius': Numbers(minimum=0.0)}
_SONAR_RAYS = 9
_RANGE_OUTPUT, _RANGE_PLUGIN = 'sensor_msgs/Range', 'gazebo_ros_range'


def read_scan(
    node: Element, place: Place, findings: Findings
) -> tuple[ScanDescription, Mapping[str, NoiseDescription]]:
    """Read the rays of a `<lidar>` element, and the noise of its ranges."""
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
    noise = {}
    for element in node.findall('noise'):
        # <type> in classic files, an attribute in all other noise elements
        kind = next(
            (element_text(each) for each in element.findall('type')), element.get('type', 'none')
        )
        read = read_noise(element, kind, place.child('noise', element.line), findings)
        if read.kind != 'none':
            noise['range'] = read
    rays = scan_of(angles['horizontal'], angles['vertical'], limits, place, findings)
    return rays, MappingProxyType(noise)


def read_sonar(node: Element, place: Place, findings: Findings) -> ScanDescription:
    """Read a `<sonar>` element: rays in a cone about x whose base, at `max`, has the radius."""
    warn_of_unknown(node, {*_SONAR, 'geometry'}, place, findings)
    given = {'min': 0.0, 'max': 1.0, 'radius': 0.5, **read_numbers(node, _SONAR, place, findings)}
    half = math.atan2(given['radius'], given['max'])
    spread = {'samples': _SONAR_RAYS, 'min_angle': -half, 'max_angle': half}
    limits = {'min': given['min'], 'max': given['max']}
    return replace(scan_of(spread, spread, limits, place, findings), radiation='ultrasound')


def gives_one_range(sensor: Element) -> bool:
    """Return whether a plugin makes a sensor_msgs/Range of the rays, the least of their ranges."""
    return any(
        _RANGE_PLUGIN in plugin.get('filename', '')
        or any(element_text(each) == _RANGE_OUTPUT for each in plugin.findall('output_type'))
        for plugin in sensor.findall('plugin')
    )


def with_radiation(scan: ScanDescription, sensor: Element) -> ScanDescription:
    """Return the rays with the radiation that a plugin names, if one does."""
    for plugin in sensor.findall('plugin'):
        for each in plugin.findall('radiation_type') + plugin.findall('radiation'):
            if element_text(each).lower() in RADIATIONS:
                scan = replace(scan, radiation=element_text(each).lower())
    return scan


def remapped_output(sensor: Element) -> str:
    """Return the topic that a gazebo_ros plugin's output, `~/out`, is remapped to; '' for none."""
    for plugin in sensor.findall('plugin'):
        for ros in plugin.findall('ros'):
            namespace = next((element_text(each) for each in ros.findall('namespace')), '')
            for each in ros.findall('remapping'):
                source, _, target = element_text(each).partition(':=')
                target = target.strip()
                if source.strip() in ('~/out', 'out') and target:
                    is_relative = namespace and not target.startswith('/')
                    return f'{namespace.rstrip("/")}/{target}' if is_relative else target
    return ''
