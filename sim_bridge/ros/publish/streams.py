"""Published topics of a robot, and the clock: one `Stream` per topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import functools
from typing import Any, NamedTuple, Protocol

from geometry_msgs.msg import PointStamped, PoseStamped, Vector3Stamped, WrenchStamped
import numpy as np
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import FluidPressure, Imu, LaserScan, MagneticField, PointCloud2, Range
from std_msgs.msg import Bool

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.publish.sinks import Sink
from sim_bridge.ros.wire.messages import (
    ClockMessage,
    diagonal_covariance,
    ImuMessage,
    MagneticFieldMessage,
    PreparedMessage,
    WORLD_FRAME,
    WrenchMessage,
)
from sim_bridge.ros.wire.place_messages import (
    HeightMessage,
    PoseMessage,
    PressureMessage,
    RiseMessage,
)
from sim_bridge.ros.wire.qos import stream_qos, topic_name
from sim_bridge.ros.wire.scan_messages import (
    LaserScanMessage,
    LidarCloudMessage,
    RangeMessage,
    TouchMessage,
)
from sim_bridge.sensors.devices import Device


class Rate:
    """A message rate, counted in integers so that it does not drift."""

    def __init__(self, rate_hz: float) -> None:
        """
        Set the rate.

        rate_hz: in simulated time [Hz]; 0, or a rate above that of the steps, for every step.
        """
        self.period_ns = round(1e9 / rate_hz) if rate_hz else 1
        """Time between two that are due [ns]."""
        self._latest = 0

    def is_due(self, time_ns: int) -> bool:
        """Return whether a period has begun by this time [ns] since the last call."""
        period = time_ns // self.period_ns
        is_due = period != self._latest
        self._latest = period
        return is_due

    def restart(self, time_ns: int) -> None:
        """Continue from this time [ns], which may be earlier."""
        self._latest = self.period_of(time_ns)

    def period_of(self, time_ns: int) -> int:
        """Return the number of the period that contains a time [ns]."""
        return time_ns // self.period_ns


class Copy(NamedTuple):
    """
    A block of numbers in a message, and the array that it is copied from.

    added: array that is added to the copied numbers; None for nothing. offset: what is taken from
    each number of the source before, sign: by what that is multiplied.
    """

    target: np.ndarray
    source: np.ndarray
    added: np.ndarray | None = None
    offset: float = 0.0
    sign: float = 1.0


class Stampable(Protocol):
    """A message that is updated in place and published with a stamp."""

    def stamped(self, stamp: bytes) -> Any:
        """Return the present message with this stamp, serialized or as a message object."""


class Stream:
    """
    One published topic.

    The message is filled only while the topic has subscribers. Asking the middleware for
    subscribers costs as much as filling, so it is asked at intervals (`refresh`), not for every
    message.

    published: how many messages have gone out.
    """

    def __init__(
        self,
        sink: Sink,
        topic: str,
        message_type: type,
        message: Stampable,
        fill: Callable[[], None] | None = None,
        *,
        copies: Callable[[], Sequence[Copy]] = tuple,
        rate_hz: float,
        is_reliable: bool = True,
    ) -> None:
        """
        Open the topic.

        message: what is published. fill: updates the message. copies: returns the blocks that are
        only copied, which an `Outbox` does for many streams at once. rate_hz: publishing rate
        [Hz], which determines the queue depth for slow subscribers. is_reliable: whether lost
        messages are sent again.
        """
        self._outlet = sink.open(topic, message_type, stream_qos(rate_hz, is_reliable))
        self.message_type = message_type
        self.message, self._fill, self.copies = message, fill, copies
        self.is_wanted = False
        self.published = 0
        self.refresh()

    def supply(self, message: Stampable, fill: Callable[[], None] | None) -> None:
        """Publish another message of the same type from now on."""
        self.message, self._fill = message, fill

    @property
    def topic(self) -> str:
        """Full name of the topic."""
        return self._outlet.topic

    def refresh(self) -> None:
        """Ask whether the topic has subscribers."""
        self.is_wanted = self._outlet.is_wanted()

    def send(self, message: Any) -> None:
        """Publish an extra message between those of the readings."""
        self._outlet.publish(message)

    def publish(self, stamp: bytes) -> None:
        """Publish the present readings with this stamp (see `messages.pack_stamp`)."""
        if self.is_wanted:
            for target, source, added, offset, sign in self.copies():
                target[:] = sign * (source - offset)
                if added is not None:
                    target += added
            if self._fill is not None:
                self._fill()
            self.published += 1
            self._outlet.publish(self.message.stamped(stamp))


class PreparedStream(Stream):
    """A topic whose message gets its numbers and its stamp from an `Outbox`."""

    message: PreparedMessage

    def send_filled(self) -> None:
        """Publish the message, whose numbers and stamp are up to date."""
        if self._fill is not None:
            self._fill()
        self.published += 1
        self._outlet.publish(self.message.content())


class SensorStreams(NamedTuple):
    """All streams of one device, published whenever it has taken a sample."""

    device: Device
    streams: tuple[PreparedStream, ...]


def clock_stream(sink: Sink, rate_hz: float) -> Stream:
    """Return the stream of /clock."""
    return Stream(sink, '/clock', Clock, ClockMessage(), rate_hz=rate_hz)


def sensor_streams(
    sink: Sink, prefix: str, frame_prefix: str, robot: sb.Robot, parameters: SimulatorParameters
) -> list[SensorStreams]:
    """
    Return the streams of all sensors of a robot.

    prefix: of topics. frame_prefix: of the frame names in messages. parameters: which topics there
    are, and their QoS. Raises InvalidValueError if two sensors would publish on one topic.
    """
    imus = robot.devices(sb.ImuSensor)
    inside_imus = {id(part) for imu in imus for part in (imu.gyro, imu.accelerometer)}
    channels: list[tuple[Device, list[_Channel]]] = [
        (device, [_wrench_channel(device, frame_prefix)])
        for device in robot.devices(sb.ForceSensor)
    ]
    channels += [
        (
            imu,
            [
                _motion_channel('imu', imu, frame_prefix, imu.gyro, imu.accelerometer),
                _gyro_channel(imu.gyro, frame_prefix),
                _accel_channel(imu.accelerometer, frame_prefix),
                *(_data_channels(imu, frame_prefix) if parameters.imu_data_topics else ()),
            ],
        )
        for imu in imus
    ]
    plain: list[tuple[type[Device], Sequence[Callable[[Any, str], _Channel]]]] = [
        (sb.RateGyroSensor, [_gyro_channel]),
        (sb.AccelerationSensor, [_accel_channel]),
        (sb.RangeSensor, [_range_channel]),
        (sb.LidarSensor, [_lidar_channel]),
        (sb.ContactSensor, [_wrench_channel, _touch_channel]),
        (sb.MagnetometerSensor, [_field_channel]),
        (sb.AltimeterSensor, [_height_channel, _rise_channel]),
        (sb.AirPressureSensor, [_pressure_channel]),
        (sb.PoseSensor, [_pose_channel]),
    ]
    channels += [
        (device, [make(device, frame_prefix) for make in of_kind])
        for kind, of_kind in plain
        for device in robot.devices(kind)
        if id(device) not in inside_imus
    ]
    found = [
        _streams(sink, prefix, device, of_device, parameters) for device, of_device in channels
    ]
    _check_distinct(found)
    return found


@dataclass(frozen=True)
class _Channel:
    """
    One quantity of a device on one topic.

    suffix: last part of the topic name. make: builds the message and its copied blocks, from the
    noisy readings or, on request, from the noise-free ones.
    """

    suffix: str
    message_type: type
    make: Callable[[bool], tuple[PreparedMessage, Sequence[Copy]]]


def _streams(
    sink: Sink,
    prefix: str,
    device: Device,
    channels: list[_Channel],
    parameters: SimulatorParameters,
) -> SensorStreams:
    is_reliable = parameters.sensor_qos == 'reliable'
    streams = []
    for index, channel in enumerate(channels):
        # a topic of the description's replaces that of the sensor's main quantity, which comes
        # first
        given = device.description.topic if index == 0 else ''
        topic = given or f'{topic_name(device.name)}/{channel.suffix}'
        topic = topic if topic.startswith('/') else prefix + topic
        has_truth = parameters.publish_truth or device.description.truth
        twins = [False, True] if has_truth else [False]
        for is_truth in twins:
            message, copies = channel.make(is_truth)
            streams.append(
                PreparedStream(
                    sink,
                    f'{topic}/truth' if is_truth else topic,
                    channel.message_type,
                    message,
                    copies=functools.partial(_same, copies),
                    rate_hz=device.update_rate,
                    is_reliable=is_reliable,
                )
            )
    return SensorStreams(device, tuple(streams))


def _same(copies: Sequence[Copy]) -> Sequence[Copy]:
    """Return the blocks, which stay where they are."""
    return copies


def _check_distinct(found: list[SensorStreams]) -> None:
    owners: dict[str, str] = {}
    for sensor in found:
        name = sensor.device.name
        for stream in sensor.streams:
            if stream.topic in owners:
                expected = f'a topic of its own; sensor {owners[stream.topic]!r} publishes there'
                raise InvalidValueError(f'topic of sensor {name!r}', stream.topic, expected)
            owners[stream.topic] = name


def _wrench_channel(device: sb.ForceSensor | sb.ContactSensor, prefix: str) -> _Channel:
    def make(is_truth: bool) -> tuple[PreparedMessage, list[Copy]]:
        message = WrenchMessage(prefix + device.frame_id)
        reading = device.truth if is_truth else device
        return message, [Copy(message.force, reading.f), Copy(message.torque, reading.tau)]

    return _Channel('wrench', WrenchStamped, make)


def _field_channel(device: sb.MagnetometerSensor, prefix: str) -> _Channel:
    def make(is_truth: bool) -> tuple[PreparedMessage, list[Copy]]:
        message = MagneticFieldMessage(
            prefix + device.frame_id, _covariance(device, 'magnetic_field', is_truth)
        )
        return message, [Copy(message.field, (device.truth if is_truth else device).B)]

    return _Channel('magnetic_field', MagneticField, make)


def _height_channel(device: sb.AltimeterSensor, prefix: str) -> _Channel:
    def make(is_truth: bool) -> tuple[PreparedMessage, list[Copy]]:
        message, reading = HeightMessage(WORLD_FRAME), device.truth if is_truth else device
        return message, [Copy(message.value, reading['vertical_position'])]

    return _Channel('altitude', PointStamped, make)


def _rise_channel(device: sb.AltimeterSensor, prefix: str) -> _Channel:
    def make(is_truth: bool) -> tuple[PreparedMessage, list[Copy]]:
        message, reading = RiseMessage(WORLD_FRAME), device.truth if is_truth else device
        return message, [Copy(message.value, reading['vertical_velocity'])]

    return _Channel('vertical_velocity', Vector3Stamped, make)


def _pressure_channel(device: sb.AirPressureSensor, prefix: str) -> _Channel:
    def make(is_truth: bool) -> tuple[PreparedMessage, list[Copy]]:
        variance = 0.0 if is_truth else float(device.standard_deviations('pressure')[0]) ** 2
        message = PressureMessage(prefix + device.frame_id, variance)
        return message, [Copy(message.value, (device.truth if is_truth else device)['pressure'])]

    return _Channel('air_pressure', FluidPressure, make)


def _pose_channel(device: sb.PoseSensor, prefix: str) -> _Channel:
    def make(is_truth: bool) -> tuple[PreparedMessage, list[Copy]]:
        message, reading = PoseMessage(WORLD_FRAME), device.truth if is_truth else device
        return message, [
            Copy(message.position, reading['position']),
            Copy(message.orientation, reading['orientation']),
        ]

    return _Channel('pose', PoseStamped, make)


def _touch_channel(device: sb.ContactSensor, prefix: str) -> _Channel:
    def make(is_truth: bool) -> tuple[PreparedMessage, list[Copy]]:
        return TouchMessage(device), []

    return _Channel('touching', Bool, make)


def _range_channel(device: sb.RangeSensor, prefix: str) -> _Channel:
    def make(is_truth: bool) -> tuple[PreparedMessage, list[Copy]]:
        ranges = (device.truth if is_truth else device).ranges
        return RangeMessage(prefix + device.frame_id, device, ranges), []

    return _Channel('range', Range, make)


def _lidar_channel(lidar: sb.LidarSensor, prefix: str) -> _Channel:
    is_flat = len(lidar.elevations) == 1
    kind = LaserScanMessage if is_flat else LidarCloudMessage

    def make(is_truth: bool) -> tuple[PreparedMessage, list[Copy]]:
        ranges = (lidar.truth if is_truth else lidar).ranges
        return kind(prefix + lidar.frame_id, lidar, ranges), []

    return _Channel('scan' if is_flat else 'points', LaserScan if is_flat else PointCloud2, make)


def _data_channels(imu: sb.ImuSensor, prefix: str) -> list[_Channel]:
    """Return the topics of REP 145: data with an orientation, data_raw without one."""
    parts = imu.gyro, imu.accelerometer
    raw = _motion_channel('data_raw', imu, prefix, *parts, has_orientation=False)
    if not imu.description.enable_orientation:
        return [raw]
    return [raw, _motion_channel('data', imu, prefix, *parts)]


def _motion_channel(
    suffix: str,
    device: Device,
    prefix: str,
    gyro: sb.RateGyroSensor | None,
    accelerometer: sb.AccelerationSensor | None,
    has_orientation: bool = True,
) -> _Channel:
    """Return the channel of a gyro, an accelerometer, or an IMU, which has both."""
    has_orientation = (
        has_orientation
        and isinstance(device, sb.ImuSensor)
        and device.description.enable_orientation
    )

    def make(is_truth: bool) -> tuple[PreparedMessage, list[Copy]]:
        message = ImuMessage(
            prefix + device.frame_id,
            np.zeros(9) if has_orientation else None,
            _covariance(device, 'angular_velocity', is_truth) if gyro else None,
            _covariance(device, 'linear_acceleration', is_truth) if accelerometer else None,
        )
        copies = []
        if gyro:
            copies.append(Copy(message.angular_velocity, (gyro.truth if is_truth else gyro).w))
        if accelerometer:
            dv = (accelerometer.truth if is_truth else accelerometer).dv
            copies.append(Copy(message.linear_acceleration, dv))
        if has_orientation:
            copies.append(Copy(message.orientation, device['orientation']))
        return message, copies

    return _Channel(suffix, Imu, make)


def _gyro_channel(gyro: sb.RateGyroSensor, prefix: str) -> _Channel:
    return _motion_channel('gyro', gyro, prefix, gyro, None)


def _accel_channel(accelerometer: sb.AccelerationSensor, prefix: str) -> _Channel:
    return _motion_channel('accel', accelerometer, prefix, None, accelerometer)


def _covariance(device: Device, quantity: str, is_truth: bool) -> np.ndarray:
    """Return the covariance of a quantity's white noise; ROS reads zeros as unknown."""
    deviations = np.zeros(3) if is_truth else device.standard_deviations(quantity)
    return diagonal_covariance(deviations)
