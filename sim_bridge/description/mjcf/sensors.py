"""
Sensors and cameras of MJCF bodies as devices.

An accelerometer and a gyro at one site are one IMU, with the orientation if a framequat is there,
too. Values of joints and poses of frames are in the joint states and on tf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
import math
from types import MappingProxyType
from typing import Any

import numpy as np

from sim_bridge.description.cameras import CameraDescription
from sim_bridge.description.mechanism.sensors import attach
from sim_bridge.description.mjcf.compiled import CompiledModel
from sim_bridge.description.mjcf.notes import Notes
from sim_bridge.description.model import (
    NoiseDescription,
    Pose,
    RobotDescription,
    SensorDescription,
)
from sim_bridge.description.rays import RaySettings
from sim_bridge.description.sensor_kinds import (
    ACCELEROMETER,
    AXES,
    CAMERA,
    CONTACT,
    FORCE_TORQUE,
    GYRO,
    IMU,
    ImuSettings,
    MagneticSettings,
    MAGNETOMETER,
    RANGE_SENSOR,
    SensorKind,
    WrenchSettings,
)
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.names import free_name

# rotation from the sensor's axes (x ahead, z up) to those of MuJoCo's camera (-z ahead, y up), and
# to those of a rangefinder's site (z ahead)
_CAMERA_AXES = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]])
_RANGE_AXES = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
_DEFAULT_SIZE = (640, 480)
_AT_SITES: Mapping[str, tuple[SensorKind, str]] = MappingProxyType(
    {
        'accelerometer': (ACCELEROMETER, 'linear_acceleration'),
        'gyro': (GYRO, 'angular_velocity'),
        'magnetometer': (MAGNETOMETER, 'magnetic_field'),
        'force': (FORCE_TORQUE, 'force'),
        'torque': (FORCE_TORQUE, 'torque'),
        'rangefinder': (RANGE_SENSOR, 'range'),
        'touch': (CONTACT, ''),
    }
)
_ELSEWHERE = {
    'jointpos': 'its value is in the joint states',
    'jointvel': 'its value is in the joint states',
    **{
        f'frame{what}': 'poses and velocities of frames are on tf and in the links'
        for what in ('pos', 'quat', 'xaxis', 'yaxis', 'zaxis', 'linvel', 'angvel')
    },
    'ballquat': 'orientations of links are on tf',
}


def with_devices(
    description: RobotDescription, model: CompiledModel, links: Mapping[int, str], notes: Notes
) -> RobotDescription:
    """Return a robot with its bodies' sensors and cameras. links: link names by body."""
    made = _Devices(description, model, links, notes)
    found: dict[str, SensorDescription] = {}
    for sensor in (*made.sensors(), *made.cameras()):
        name = free_name(sensor.name, found.__contains__)
        placed = attach(replace(sensor, name=name), description, notes.findings)
        if placed is not None:
            found[name] = placed
    return replace(description, sensors=tuple(found.values()))


def name_unplaced(model: CompiledModel, notes: Notes) -> None:
    """Name the sensors without a device: those not at sites."""
    for number, word in enumerate(model.words('sensor_type')):
        if word in _AT_SITES:
            continue
        if word in _ELSEWHERE:
            place = model.place('sensor', number)
            notes.findings.warning('no-device', place, _ELSEWHERE[word])
        else:
            notes.left_out('sensor', number, f'sensors of type {word} are not simulated')


class _Devices:
    """Devices for one robot."""

    def __init__(
        self,
        description: RobotDescription,
        model: CompiledModel,
        links: Mapping[int, str],
        notes: Notes,
    ):
        self._model, self._links, self._notes = model, links, notes
        self._joint_of = {joint.child: joint.name for joint in description.joints.values()}
        self._by_site: dict[int, dict[str, int]] = {}
        for number, word in enumerate(model.words('sensor_type')):
            if model.words('sensor_objtype')[number] == 'site':
                site = int(model['sensor_objid'][number])
                self._by_site.setdefault(site, {}).setdefault(word, number)

    def sensors(self) -> Iterator[SensorDescription]:
        for number, word in enumerate(self._model.words('sensor_type')):
            if word not in _AT_SITES:
                continue
            site = int(self._model['sensor_objid'][number])
            if self._model.words('sensor_objtype')[number] != 'site':
                if int(self._model['cam_bodyid'][site]) in self._links:
                    self._notes.left_out('sensor', number, 'only sites have rangefinders here')
                continue
            body = int(self._model['site_bodyid'][site])
            if body not in self._links:
                continue
            together = self._by_site.get(site, {})
            if {'accelerometer', 'gyro'} <= together.keys() and word in ('accelerometer', 'gyro'):
                if together['accelerometer'] == number:
                    yield self._imu(site, body, together)
                elif together['gyro'] == number:
                    continue
                continue
            sensor = self._at_site(number, word, site, body)
            if sensor is not None:
                yield sensor

    def _imu(self, site: int, body: int, together: Mapping[str, int]) -> SensorDescription:
        noise = {
            **self._noise(together['accelerometer'], 'linear_acceleration'),
            **self._noise(together['gyro'], 'angular_velocity'),
        }
        return SensorDescription(
            self._model.name('site', site),
            IMU,
            self._links[body],
            pose=self._model.pose('site', site),
            update_rate=self._rate(together['gyro']),
            noise=MappingProxyType(noise),
            settings=ImuSettings('framequat' in together),
            line=self._model.line('sensor', together['accelerometer']),
        )

    def _at_site(self, number: int, word: str, site: int, body: int) -> SensorDescription | None:
        model, notes = self._model, self._notes
        kind, quantity = _AT_SITES[word]
        link, pose, joint = self._links[body], model.pose('site', site), ''
        settings: Any = None
        if word in ('force', 'torque'):
            joint = self._joint_of.get(link, '')
            settings = WrenchSettings('sensor', 'parent_to_child')
            if not joint:
                notes.left_out('sensor', number, 'no joint carries this body')
                return None
        elif word == 'rangefinder':
            if int(model['sensor_dim'][number]) != 1:
                notes.left_out('sensor', number, 'only distances are measured', 'data')
                return None
            pose = pose @ Pose(np.zeros(3), _RANGE_AXES)
            cutoff = float(model['sensor_cutoff'][number])
            settings = RaySettings(maximum=cutoff or math.inf)
        elif word == 'magnetometer':
            x, y, z = map(float, model.option('magnetic'))
            settings = MagneticSettings((x, y, z))
        elif word == 'touch':
            notes.changed(
                'sensor', number, 'measures all contacts of the body, in and out of the site'
            )
        if word != 'rangefinder' and model['sensor_cutoff'][number]:
            notes.left_out('sensor', number, 'values are not cut off', 'cutoff')
        return SensorDescription(
            model.name('sensor', number),
            kind,
            link,
            joint=joint,
            pose=pose,
            update_rate=self._rate(number),
            noise=MappingProxyType(self._noise(number, quantity)),
            settings=settings,
            line=model.line('sensor', number),
        )

    def _rate(self, number: int) -> float:
        """Return the update rate [Hz], 0 for every step."""
        interval = self._model.get('sensor_interval')
        period = 0.0 if interval is None else float(np.ravel(interval[number])[0])
        return 1.0 / period if period > 0.0 else 0.0

    def _noise(self, number: int, quantity: str) -> dict[str, NoiseDescription]:
        deviation = float(self._model['sensor_noise'][number])
        if not deviation or not quantity:
            return {}
        own = NoiseDescription('gaussian', stddev=deviation)
        if quantity == 'range':
            return {quantity: own}
        return {f'{quantity}.{axis}': own for axis in AXES}

    def cameras(self) -> Iterator[SensorDescription]:
        model, notes = self._model, self._notes
        for number in range(model.count('cam')):
            body = int(model['cam_bodyid'][number])
            if body not in self._links:
                continue
            if model.words('cam_projection') and model.words('cam_projection')[number].startswith(
                'ortho'
            ):
                notes.left_out('cam', number, 'cameras without perspective are not simulated')
                continue
            if model.words('cam_mode')[number] != 'fixed':
                notes.changed('cam', number, 'stays fixed to its body', 'mode')
            settings = self._attempt(number, self._camera)
            if settings is not None:
                yield SensorDescription(
                    model.name('cam', number),
                    CAMERA,
                    self._links[body],
                    pose=model.pose('cam', number) @ Pose(np.zeros(3), _CAMERA_AXES),
                    update_rate=CAMERA.usual_rate,
                    settings=settings,
                    line=model.line('cam', number),
                )

    def _attempt(
        self, number: int, make: Callable[[int], CameraDescription]
    ) -> CameraDescription | None:
        try:
            return make(number)
        except InvalidValueError as err:
            self._notes.left_out('cam', number, str(err))
            return None

    def _camera(self, number: int) -> CameraDescription:
        model = self._model
        width, height = (int(n) for n in model['cam_resolution'][number])
        if width <= 1 or height <= 1:
            width, height = _DEFAULT_SIZE
        middle = (0.5 * (width - 1), 0.5 * (height - 1))
        sensor = model['cam_sensorsize'][number].astype(float)
        if sensor.all():
            focal, offset = np.split(model['cam_intrinsic'][number].astype(float), 2)
            across, along = focal * (width, height) / sensor
            shift = offset * (width, height) / sensor
            middle = (middle[0] - float(shift[0]), middle[1] + float(shift[1]))
        else:
            half = 0.5 * math.radians(float(model['cam_fovy'][number]))
            across = along = 0.5 * height / math.tan(half)
        return CameraDescription(
            size=(width, height),
            intrinsics=(float(across), float(along), float(middle[0]), float(middle[1]), 0.0),
        )
