"""Messages for range sensors, lidars and contact sensors, serialized once, filled in place."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from sensor_msgs.msg import LaserScan, PointCloud2, PointField, Range

from sim_bridge.description.rays import RADIATIONS
from sim_bridge.ros.wire.messages import FlagMessage, PreparedMessage
from sim_bridge.sensors.devices import Reading

# searched for in the serialized bytes; no other message field holds this number
_MARK = np.float32(-2.7182818e-30)


class _RangesMessage(PreparedMessage):
    """
    A message with a 32-bit float block, filled when the message is sent.

    source: (n,) distances [m], read in place.
    """

    def __init__(self, message: Any, source: np.ndarray, count: int) -> None:
        """Serialize a message. count: length of its float block, filled with `_MARK`."""
        super().__init__(message, ())
        at = bytes(self.buffer).index(np.full(count, _MARK).tobytes())
        self.block = np.frombuffer(self.buffer, np.float32, count, at)
        self.source = source

    def fill(self) -> None:
        """Write the current distances."""
        # only noise with an immense stddev exceeds the float range
        with np.errstate(over='ignore'):
            self.block[:] = self.source

    def stamped(self, stamp: bytes) -> bytes:
        """Return the current message with this stamp (see `messages.pack_stamp`)."""
        self.fill()
        return super().stamped(stamp)

    def content(self) -> bytes:
        """Return the current message with its current stamp."""
        self.fill()
        return super().content()


class RangeMessage(_RangesMessage):
    """A sensor_msgs/Range."""

    def __init__(self, frame_id: str, sensor: Any, reading: Reading) -> None:
        """Prepare the message for a `RangeSensor`. reading: with or without noise."""
        rays = sensor.rays
        message = Range(
            radiation_type=RADIATIONS.index(rays.radiation),
            field_of_view=sensor.field_of_view,
            min_range=rays.minimum,
            max_range=rays.maximum,
            range=float(_MARK),
        )
        message.header.frame_id = frame_id
        super().__init__(message, reading.ranges, 1)


class LaserScanMessage(_RangesMessage):
    """A sensor_msgs/LaserScan with a lidar's middle row."""

    def __init__(self, frame_id: str, lidar: Any, reading: Reading) -> None:
        """Prepare the message for a `LidarSensor`. reading: with or without noise."""
        rays, angles = lidar.rays, lidar.angles
        message = LaserScan(
            angle_min=angles[0],
            angle_max=angles[-1],
            angle_increment=(angles[-1] - angles[0]) / max(len(angles) - 1, 1),
            scan_time=1.0 / lidar.update_rate,
            range_min=rays.minimum,
            range_max=rays.maximum,
            ranges=[float(_MARK)] * len(angles),
        )
        message.header.frame_id = frame_id
        width = len(angles)
        # the row that ros_gz_bridge takes
        first = len(reading.ranges) // width // 2 * width
        super().__init__(message, reading.ranges[first : first + width], width)


class LidarCloudMessage(_RangesMessage):
    """
    A sensor_msgs/PointCloud2 with x, y and z in the lidar's frame [m], one row per elevation.

    A ray without a hit has a point at infinity. A hit closer than the least range gives nan.
    """

    def __init__(self, frame_id: str, lidar: Any, reading: Reading) -> None:
        """Prepare the message for a `LidarSensor`. reading: with or without noise."""
        count, width = len(reading.ranges), len(lidar.angles)
        self._directions = lidar.directions
        message = PointCloud2(
            height=count // width,
            width=width,
            point_step=12,
            row_step=12 * width,
            fields=[
                PointField(name=axis, offset=4 * k, datatype=PointField.FLOAT32, count=1)
                for k, axis in enumerate('xyz')
            ],
            is_bigendian=sys.byteorder == 'big',
            is_dense=False,
            data=np.full(3 * count, _MARK).tobytes(),
        )
        message.header.frame_id = frame_id
        super().__init__(message, reading.ranges, 3 * count)

    def fill(self) -> None:
        """Write the current points."""
        distances = np.where(self.source == -math.inf, math.nan, self.source)
        with np.errstate(over='ignore', invalid='ignore'):
            points = distances[:, None] * self._directions
        # infinity times zero is nan
        points[np.isposinf(distances)] = math.inf
        self.block[:] = points.ravel()


class TouchMessage(FlagMessage):
    """A std_msgs/Bool: whether anything touches the geometries watched by a contact sensor."""

    def __init__(self, frame_id: str, sensor: Any, reading: Reading) -> None:
        """Prepare the message for a `ContactSensor`, without frame and noise."""
        super().__init__()
        self._sensor = sensor

    def content(self) -> bytes:
        """Return the current message."""
        self.blocks[0][:] = self._sensor.is_touching
        return super().content()
