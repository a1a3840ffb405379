"""Sensors in MJCF: sites, cameras and MuJoCo's sensors."""

from __future__ import annotations

from collections.abc import Mapping
import math
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from sim_bridge.description.cameras import CameraDescription
from sim_bridge.description.mjcf.write.text import number, numbers, placed
from sim_bridge.description.model import Pose, SensorDescription
from sim_bridge.description.rays import RaySettings
from sim_bridge.description.report import Findings, Place
from sim_bridge.description.sensor_kinds import (
    ACCELEROMETER,
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
        if isinstance(settings, WrenchSettings) and (
            settings.frame != 'sensor' or settings.measure_direction != 'child_to_parent'
        ):
            message = 'is written in its own axes, of the child on the parent, as MuJoCo measures'
            findings.warning('changed', place, message)
        _write_site(body, sensor.name, sensor.pose)
        for kind, suffix in _AT_SITES[sensor.kind]:
            at = {'objtype': 'site', 'objname': sensor.name}
            at = at if kind == 'framequat' else {'site': sensor.name}
            SubElement(sensors, kind, {'name': f'{sensor.name}{suffix}', **at})
    elif sensor.kind is RANGE_SENSOR and settings.count == 1:
        _write_ray(body, sensors, sensor, settings)
    else:
        message = f'MJCF has no counterpart for a sensor of kind {sensor.kind.word!r}: left out'
        findings.warning('unsupported', place, message)
        return
    if sensor.noise:
        findings.warning('unsupported', place, 'its noise is left out: MuJoCo adds none')


def _write_site(body: Element, name: str, pose: Pose) -> None:
    placed(SubElement(body, 'site', name=name), pose)


def _write_ray(
    body: Element, sensors: Element, sensor: SensorDescription, rays: RaySettings
) -> None:
    _write_site(body, sensor.name, sensor.pose @ Pose(rotation=_RAY))
    ray = SubElement(sensors, 'rangefinder', name=sensor.name, site=sensor.name)
    if math.isfinite(rays.maximum):
        ray.set('cutoff', number(rays.maximum))


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
