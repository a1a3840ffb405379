"""What is published of a robot and of the clock: one `Stream` per topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TYPE_CHECKING

from geometry_msgs.msg import WrenchStamped
import numpy as np
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu

import sim_bridge as sb
from sim_bridge.errors import InvalidValueError
from sim_bridge.ros import topics
from sim_bridge.ros.messages import (
    ClockMessage,
    diagonal_covariance,
    ImuMessage,
    pack_stamp,
    PreparedMessage,
    WrenchMessage,
)

if TYPE_CHECKING:
    from sim_bridge.ros.sinks import Sink
    from sim_bridge.sensors.devices import Device


class Rate:
    """Tells which steps are due at a rate of their own; in integers, so that nothing drifts."""

    def __init__(self, rate_hz: float) -> None:
        """
        Begin.

        rate_hz: in simulated time [Hz]; 0, or a rate above that of the steps, for every step.
        """
        self._period_ns = round(1e9 / rate_hz) if rate_hz else 1
        self._latest = 0

    def is_due(self, time_ns: int) -> bool:
        """Tell whether a period has begun at this time [ns] or since the time asked for before."""
        period = time_ns // self._period_ns
        is_due = period != self._latest
        self._latest = period
        return is_due

    def restart(self, time_ns: int) -> None:
        """Go on from this time [ns], which may be earlier."""
        self._latest = time_ns // self._period_ns


class Stampable(Protocol):
    """A message that is kept and brought up to date, and goes out with a stamp."""

    def stamped(self, stamp: bytes) -> Any:
        """Return it as it is now with this stamp, serialized or as a message object."""


class Stream:
    """
    One topic.

    The message is filled only while it reaches anybody. Asking the middleware costs as much as
    filling, so it is asked now and then (`refresh`) and not for every message.
    """

    def __init__(
        self,
        sink: Sink,
        topic: str,
        message_type: type,
        message: Stampable,
        fill: Callable[[], None] = lambda: None,
        *,
        rate_hz: float,
    ) -> None:
        """
        Open the topic.

        message: what is published. fill: brings it up to date. rate_hz: how often [Hz], which
        decides how much is kept for those who are slow to take it.
        """
        self._outlet = sink.open(topic, message_type, topics.stream_qos(rate_hz))
        self.message_type = message_type
        self._message, self._fill = message, fill
        self.is_wanted = False
        self.refresh()

    def supply(self, message: Stampable, fill: Callable[[], None]) -> None:
        """Publish another message of the same type from now on."""
        self._message, self._fill = message, fill

    @property
    def topic(self) -> str:
        """Name of the topic with its namespace."""
        return self._outlet.topic

    def refresh(self) -> None:
        """Look whether messages reach anybody."""
        self.is_wanted = self._outlet.is_wanted()

    def send(self, message: Any) -> None:
        """Publish another message between those of the readings."""
        self._outlet.publish(message)

    def publish(self, stamp: bytes) -> None:
        """Publish the present readings with this stamp (see `messages.pack_stamp`)."""
        if self.is_wanted:
            self._fill()
            self._outlet.publish(self._message.stamped(stamp))


@dataclass
class SensorStreams:
    """All streams of one device, which send whenever it has taken a sample."""

    device: Device
    streams: tuple[Stream, ...]
    published_step: int = -1

    def publish(self, step: int, time_ns: int, time_step_ns: int, stamp: bytes) -> None:
        """
        Publish the device's sample, once, stamped with the time it was taken at.

        step, time_ns, stamp: those of now; time_step_ns: time between two steps [ns].
        """
        sampled = self.device.sample_step
        if sampled != self.published_step:
            self.published_step = sampled
            # with several physics steps in a control step the sample may be older than now
            taken = stamp if sampled == step else pack_stamp(
                time_ns - (step - sampled) * time_step_ns)
            for stream in self.streams:
                stream.publish(taken)

    def restart(self) -> None:
        """Take note that the device has forgotten its samples."""
        self.published_step = self.device.sample_step


def clock_stream(sink: Sink, rate_hz: float) -> Stream:
    """Make the stream of /clock."""
    return Stream(sink, '/clock', Clock, ClockMessage(), rate_hz=rate_hz)


def sensor_streams(
    sink: Sink, prefix: str, frame_prefix: str, robot: sb.Robot, truth: bool
) -> list[SensorStreams]:
    """
    Make the streams of all sensors of a robot.

    prefix: of topics. frame_prefix: of the frames that messages name. truth: publish the
    noise-free twin of every sensor, not only of those whose description asks for it. Raises
    InvalidValueError if two sensors would publish on one topic.
    """
    imus = robot.devices(sb.ImuSensor)
    inside_imus = {id(part) for imu in imus for part in (imu.gyro, imu.accelerometer)}
    channels = [
        (device, [_wrench_channel(device, frame_prefix)])
        for device in robot.devices(sb.ForceSensor)]
    channels += [
        (imu, [
            _imu_channel(imu, frame_prefix),
            _gyro_channel(imu.gyro, frame_prefix),
            _accel_channel(imu.accelerometer, frame_prefix),
        ])
        for imu in imus
    ]
    for kind, channel in (
        (sb.RateGyroSensor, _gyro_channel),
        (sb.AccelerationSensor, _accel_channel),
    ):
        alone = [device for device in robot.devices(kind) if id(device) not in inside_imus]
        channels += [(device, [channel(device, frame_prefix)]) for device in alone]
    found = [_streams(sink, prefix, device, of_device, truth) for device, of_device in channels]
    _check_distinct(found)
    return found


@dataclass(frozen=True)
class _Channel:
    """
    One quantity of a device on one topic.

    suffix: the topic's last name. make: builds the message, and the function that fills it, of the
    noisy readings or, if told so, of their truth.
    """

    suffix: str
    message_type: type
    make: Callable[[bool], tuple[PreparedMessage, Callable[[], None]]]


def _streams(
    sink: Sink, prefix: str, device: Device, channels: list[_Channel], truth: bool
) -> SensorStreams:
    streams = []
    for index, channel in enumerate(channels):
        # a topic of the description's replaces that of the sensor's main quantity, which comes
        # first
        given = device.description.topic if index == 0 else ''
        topic = given or f'{topics.topic_name(device.name)}/{channel.suffix}'
        topic = topic if topic.startswith('/') else prefix + topic
        streams.append(Stream(
            sink, topic, channel.message_type, *channel.make(False),
            rate_hz=device.update_rate))
        if truth or device.description.truth:
            twin = channel.make(True)
            streams.append(Stream(
                sink, f'{topic}/truth', channel.message_type, *twin,
                rate_hz=device.update_rate))
    return SensorStreams(device, tuple(streams))


def _check_distinct(found: list[SensorStreams]) -> None:
    owners: dict[str, str] = {}
    for sensor in found:
        name = sensor.device.name
        for stream in sensor.streams:
            if stream.topic in owners:
                expected = f'a topic of its own; sensor {owners[stream.topic]!r} publishes there'
                raise InvalidValueError(f'topic of sensor {name!r}', stream.topic, expected)
            owners[stream.topic] = name


def _wrench_channel(device: sb.ForceSensor, prefix: str) -> _Channel:
    def make(is_truth):
        message = WrenchMessage(prefix + device.frame_id)
        reading = device.truth if is_truth else device
        force, torque = reading.f, reading.tau

        def fill() -> None:
            message.force[:], message.torque[:] = force, torque

        return message, fill

    return _Channel('wrench', WrenchStamped, make)


def _imu_channel(imu: sb.ImuSensor, prefix: str) -> _Channel:
    has_orientation = imu.description.enable_orientation

    def make(is_truth):
        message = ImuMessage(
            prefix + imu.frame_id,
            np.zeros(9) if has_orientation else None,
            _covariance(imu, 'angular_velocity', is_truth),
            _covariance(imu, 'linear_acceleration', is_truth),
        )
        w = (imu.gyro.truth if is_truth else imu.gyro).w
        dv = (imu.accelerometer.truth if is_truth else imu.accelerometer).dv
        orientation = imu['orientation']

        def fill() -> None:
            if has_orientation:
                message.orientation[:] = orientation
            message.angular_velocity[:], message.linear_acceleration[:] = w, dv

        return message, fill

    return _Channel('imu', Imu, make)


def _gyro_channel(gyro: sb.RateGyroSensor, prefix: str) -> _Channel:
    def make(is_truth):
        covariance = _covariance(gyro, 'angular_velocity', is_truth)
        message = ImuMessage(prefix + gyro.frame_id, None, covariance, None)
        w = (gyro.truth if is_truth else gyro).w

        def fill() -> None:
            message.angular_velocity[:] = w

        return message, fill

    return _Channel('gyro', Imu, make)


def _accel_channel(accelerometer: sb.AccelerationSensor, prefix: str) -> _Channel:
    def make(is_truth):
        covariance = _covariance(accelerometer, 'linear_acceleration', is_truth)
        message = ImuMessage(prefix + accelerometer.frame_id, None, None, covariance)
        dv = (accelerometer.truth if is_truth else accelerometer).dv

        def fill() -> None:
            message.linear_acceleration[:] = dv

        return message, fill

    return _Channel('accel', Imu, make)


def _covariance(device: Device, quantity: str, is_truth: bool) -> np.ndarray:
    """Give the covariance of a quantity's white noise; ROS reads zeros as unknown."""
    deviations = np.zeros(3) if is_truth else device.standard_deviations(quantity)
    return diagonal_covariance(deviations)
