"""Sensors in MJCF: sites, cameras and MuJoCo's sensors."""

from __future__ import annotations

from collections.abc import Mapping
import math
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from sim_bridge.description.cameras import CameraDescription
from sim_bridge.description.mjcf.write.text import number, numbers, placed
from sim_bridge.description.model import NoiseDescription, Pose, SensorDescription
from sim_bridge.description.rays import RaySettings
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sensor_kinds import (
    ACCELEROMETER,
    AXES,
    CAMERA,
    FORCE_TORQUE,
    GYRO,
    IMU,
    RANGE_SENSOR,
    WrenchSettings,
)

# MuJoCo's sensors for a kind, with the suffix of their names
_AT_SITES = {
    IMU: (('framequat', '_orientation'), ('gyro', '_gyro'), ('accelerometer', '_accelerometer')),
    GYRO: (('gyro', ''),),
    ACCELEROMETER: (('accelerometer', ''),),
    FORCE_TORQUE: (('force', '_force'), ('torque', '_torque')),
}
# quantity with noise, by MuJoCo's sensor
_QUANTITIES = {
    'gyro': 'angular_velocity',
    'accelerometer': 'linear_acceleration',
    'force': 'force',
    'torque': 'torque',
}
# from x ahead, z up to x right, y up, looking along -z
_CAMERA = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
# from x ahead to z ahead
_RAY = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])


def write_sensor(
    bodies: Mapping[str, Element], sensors: Element, sensor: SensorDescription, findings: Findings
) -> None:
    """Add a sensor; a warning among the findings if MJCF has no counterpart."""
    place = Place('sensor', sensor.name, sensor.line)
    body, settings = bodies[sensor.link], sensor.settings
    if sensor.kind is CAMERA and isinstance(settings, CameraDescription):
        _write_camera(body, sensor, settings, place, findings)
    elif sensor.kind in _AT_SITES:
        if isinstance(settings, WrenchSettings):
            _note_wrench(settings, place, findings)
        _write_site(body, sensor.name, sensor.pose)
        for kind, suffix in _AT_SITES[sensor.kind]:
            at = {'objtype': 'site', 'objname': sensor.name}
            at = at if kind == 'framequat' else {'site': sensor.name}
            element = SubElement(sensors, kind, {'name': f'{sensor.name}{suffix}', **at})
            _write_noise(element, _QUANTITIES.get(kind, ''), sensor, place, findings)
    elif sensor.kind is RANGE_SENSOR and settings.count == 1:
        ray = _write_ray(body, sensors, sensor, settings)
        _write_noise(ray, 'range', sensor, place, findings)
    else:
        message = f'MJCF has no counterpart for a sensor of kind {sensor.kind.word!r}: left out'
        findings.warning('unsupported', place, message)
        return
    for part, value in (
        ('update rate', '' if sensor.kind is CAMERA else sensor.update_rate),
        ('topic', sensor.topic),
        ('frame_id', sensor.frame_id),
    ):
        if value:
            message = f'MJCF has no counterpart for its {part}: left out'
            findings.warning('unsupported', place, message, value=str(value))


def _note_wrench(settings: WrenchSettings, place: Place, findings: Findings) -> None:
    """Name a wrench in other axes or with another sign than MuJoCo's."""
    if settings.frame != 'sensor':
        message = 'is written in its own axes and about its own origin, as MuJoCo measures'
        findings.warning('changed', place, message, value=settings.frame)
    if settings.measure_direction != 'parent_to_child':
        message = 'has the opposite sign in MJCF: MuJoCo measures the force of the parent'
        findings.warning('changed', place, message, value=settings.measure_direction)


def _write_noise(
    element: Element, quantity: str, sensor: SensorDescription, place: Place, findings: Findings
) -> None:
    """Set the standard deviation of a quantity; MuJoCo has one for all its axes."""
    own = [each for name, each in sensor.noise.items() if name.partition('.')[0] == quantity]
    if not own:
        return
    first = own[0]
    is_whole = len(own) == (1 if quantity == 'range' else len(AXES))
    if is_whole and all(each == NoiseDescription('gaussian', stddev=first.stddev) for each in own):
        element.set('noise', number(first.stddev))
    else:
        message = f'its noise of {quantity} is left out: MJCF has one standard deviation alone'
        findings.warning('unsupported', place, message)


def _write_site(body: Element, name: str, pose: Pose) -> None:
    placed(SubElement(body, 'site', name=name), pose)


def _write_ray(
    body: Element, sensors: Element, sensor: SensorDescription, rays: RaySettings
) -> Element:
    _write_site(body, sensor.name, sensor.pose @ Pose(rotation=_RAY))
    ray = SubElement(sensors, 'rangefinder', name=sensor.name, site=sensor.name)
    if math.isfinite(rays.maximum):
        ray.set('cutoff', number(rays.maximum))
    return ray


def _write_camera(
    body: Element,
    sensor: SensorDescription,
    camera: CameraDescription,
    place: Place,
    findings: Findings,
) -> None:
    width, height = camera.size
    element = SubElement(body, 'camera', name=sensor.name, resolution=f'{width} {height}')
    placed(element, sensor.pose @ Pose(rotation=_CAMERA))
    # focal length [px], by which MuJoCo's vertical field of view has the same scale
    focal = (
        0.5 * width / math.tan(0.5 * camera.horizontal_fov)
        if camera.intrinsics is None
        else camera.intrinsics[1]
    )
    # in degrees, whatever the unit of angles is
    element.set('fovy', number(math.degrees(2.0 * math.atan(0.5 * height / focal))))
    if camera.distortion:
        findings.warning('unsupported', place, 'MJCF has no lens distortion: left out')
    if camera.intrinsics is not None:
        message = 'its intrinsics are written as the vertical field of view from fy'
        findings.warning('changed', place, message, 'intrinsics', numbers(camera.intrinsics))
