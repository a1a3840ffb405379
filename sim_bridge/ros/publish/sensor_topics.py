"""
Sensor topics: a row for each message, looked up by the kind's word.

A row names message fields and the quantities that fill them. Rays and flags have their own message
classes in `wire.scan_messages`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from geometry_msgs.msg import (
    PointStamped,
    PoseStamped,
    TwistStamped,
    Vector3Stamped,
    WrenchStamped,
)
import numpy as np
from sensor_msgs.msg import (
    FluidPressure,
    Imu,
    LaserScan,
    MagneticField,
    NavSatFix,
    PointCloud2,
    Range,
)
from std_msgs.msg import Bool

from sim_bridge.description.sensor_kinds import Switch
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.wire.fix_message import FixMessage
from sim_bridge.ros.wire.messages import FieldMessage, PreparedMessage, WORLD_FRAME
from sim_bridge.ros.wire.scan_messages import (
    LaserScanMessage,
    LidarCloudMessage,
    RangeMessage,
    TouchMessage,
)
from sim_bridge.sensors.devices import Device, Reading


class Field(NamedTuple):
    """
    A message field: a number, or a message with numbers x, y, z and perhaps w.

    path: attribute names from the message on, separated by dots. quantity: device quantity.
    covariance: field for the noise covariance, or for a number's variance; '' for none.
    """

    path: str
    quantity: str
    covariance: str = ''


def _always(device: Device, parameters: SimulatorParameters) -> bool:
    return True


@dataclass(frozen=True)
class SensorTopic:
    """
    A message for a sensor kind.

    suffix: last part of the topic name. message_type: ROS class. fields: filled by copying. make:
    where copying is not enough, returns the message for a frame, a device, and its reading or its
    truth. is_in_world: whether the frame is the world's; else it is the device's. measured:
    quantities in the message, if it leaves out any; None for all. is_wanted: whether a device has
    this topic. named_by: setting with the topic's name, '' for none. broadcast: topic name below a
    sensor broadcaster of ros2_control, '' for the suffix.
    """

    suffix: str
    message_type: type
    fields: tuple[Field, ...] = ()
    make: Callable[[str, Device, Reading], PreparedMessage] | None = None
    is_in_world: bool = False
    measured: frozenset[str] | None = None
    is_wanted: Callable[[Device, SimulatorParameters], bool] = _always
    named_by: str = ''
    broadcast: str = ''

    def given_name(self, device: Device, is_main: bool) -> str:
        """Return the topic name that the description gives, '' for none."""
        own = str(getattr(device.description.settings, self.named_by)) if self.named_by else ''
        return own or (device.description.topic if is_main else '')

    def message(
        self, device: Device, prefix: str, *, is_truth: bool, frame_id: str = ''
    ) -> tuple[PreparedMessage, list[tuple[np.ndarray, np.ndarray]]]:
        """
        Return the message for a device, and pairs of a block and the array that fills it.

        prefix: before the frame name. is_truth: whether it holds the noise-free values. frame_id:
        frame name in place of the device's.
        """
        frame = WORLD_FRAME if self.is_in_world else prefix + (frame_id or device.frame_id)
        reading = device.truth if is_truth else device
        if self.make is not None:
            return self.make(frame, device, reading), []
        quantities = measured_quantities(device)
        if self.measured is not None:
            quantities = quantities & self.measured
        filled = [field for field in self.fields if field.quantity in quantities]
        deviations = {
            field.covariance: _deviations(device, field.quantity, is_truth)
            if field in filled
            else None
            for field in self.fields
            if field.covariance
        }
        message = FieldMessage(
            self.message_type, frame, [each.path for each in filled], deviations
        )
        sources = (reading[field.quantity] for field in filled)
        return message, list(zip(message.blocks, sources, strict=True))


def measured_quantities(device: Device) -> set[str]:
    """Return a device's quantities, except those switched off in its settings."""
    settings = device.description.settings
    off = {
        each.quantity
        for key, each in device.kind.keys.items()
        if isinstance(each, Switch) and not getattr(settings, key, True)
    }
    return {each.name for each in device.kind.quantities} - off


def _deviations(device: Device, quantity: str, is_truth: bool) -> np.ndarray:
    """Return the standard deviations of a quantity's white noise; ROS reads zeros as unknown."""
    has_noise = any(each.name == quantity and each.has_noise for each in device.kind.quantities)
    return np.zeros(3) if is_truth or not has_noise else device.standard_deviations(quantity)


def _has_orientation(device: Device, parameters: SimulatorParameters) -> bool:
    return parameters.imu_data_topics and 'orientation' in measured_quantities(device)


def _has_data_topics(device: Device, parameters: SimulatorParameters) -> bool:
    return parameters.imu_data_topics


def _has_two_topics(device: Device, parameters: SimulatorParameters) -> bool:
    return bool(device.description.settings.cloud_topic)


def _has_scan(device: Device, parameters: SimulatorParameters) -> bool:
    is_flat = int(device.description.settings.vertical_samples) == 1
    return is_flat or _has_two_topics(device, parameters)


def _has_cloud(device: Device, parameters: SimulatorParameters) -> bool:
    return _has_two_topics(device, parameters) or not _has_scan(device, parameters)


def _velocity_as(message: str) -> Callable[[Device, SimulatorParameters], bool]:
    """Return whether a receiver's velocity has a message type, as a device function."""
    return lambda device, parameters: device.description.settings.velocity_message == message


_IMU_FIELDS = tuple(
    Field(name, name, f'{name}_covariance')
    for name in ('orientation', 'angular_velocity', 'linear_acceleration')
)
_RATES = frozenset({'angular_velocity', 'linear_acceleration'})
_WRENCH = SensorTopic(
    'wrench', WrenchStamped, (Field('wrench.force', 'force'), Field('wrench.torque', 'torque'))
)
_GYRO = SensorTopic('gyro', Imu, _IMU_FIELDS, measured=frozenset({'angular_velocity'}))
_ACCEL = SensorTopic('accel', Imu, _IMU_FIELDS, measured=frozenset({'linear_acceleration'}))

TOPICS: Mapping[str, tuple[SensorTopic, ...]] = {
    'force_torque': (_WRENCH,),
    'imu': (
        SensorTopic('imu', Imu, _IMU_FIELDS),
        _GYRO,
        _ACCEL,
        # REP 145: data_raw without orientation, data with it
        SensorTopic('data_raw', Imu, _IMU_FIELDS, measured=_RATES, is_wanted=_has_data_topics),
        SensorTopic('data', Imu, _IMU_FIELDS, is_wanted=_has_orientation),
    ),
    'gyro': (_GYRO,),
    'accelerometer': (_ACCEL,),
    'range': (SensorTopic('range', Range, make=RangeMessage),),
    'lidar': (
        SensorTopic('scan', LaserScan, make=LaserScanMessage, is_wanted=_has_scan),
        SensorTopic(
            'points',
            PointCloud2,
            make=LidarCloudMessage,
            is_wanted=_has_cloud,
            named_by='cloud_topic',
        ),
    ),
    'contact': (_WRENCH, SensorTopic('touching', Bool, make=TouchMessage)),
    'magnetometer': (
        SensorTopic(
            'magnetic_field',
            MagneticField,
            (Field('magnetic_field', 'magnetic_field', 'magnetic_field_covariance'),),
        ),
    ),
    'altimeter': (
        SensorTopic(
            'altitude', PointStamped, (Field('point.z', 'vertical_position'),), is_in_world=True
        ),
        SensorTopic(
            'vertical_velocity',
            Vector3Stamped,
            (Field('vector.z', 'vertical_velocity'),),
            is_in_world=True,
        ),
    ),
    'air_pressure': (
        SensorTopic(
            'air_pressure', FluidPressure, (Field('fluid_pressure', 'pressure', 'variance'),)
        ),
    ),
    'navsat': (
        SensorTopic('fix', NavSatFix, make=FixMessage, broadcast='gps/fix'),
        SensorTopic(
            'velocity',
            Vector3Stamped,
            (Field('vector', 'velocity'),),
            is_wanted=_velocity_as('vector'),
            named_by='velocity_topic',
        ),
        SensorTopic(
            'twist',
            TwistStamped,
            (Field('twist.linear', 'velocity'),),
            is_wanted=_velocity_as('twist'),
            named_by='velocity_topic',
        ),
    ),
    # published by the camera process, see `ros.camera`
    'camera': (),
    'pose': (
        SensorTopic(
            'pose',
            PoseStamped,
            (Field('pose.position', 'position'), Field('pose.orientation', 'orientation')),
            is_in_world=True,
        ),
    ),
}
"""Topics by kind word; the first is the main topic, which a description may rename."""
