"""Messages for cameras, serialized once, filled in place: images, point clouds and camera_info."""

from __future__ import annotations

import sys

import numpy as np
from sensor_msgs.msg import CameraInfo as CameraInfoMessageType
from sensor_msgs.msg import Image, PointCloud2, PointField

from sim_bridge.description.cameras import camera_info, CameraDescription
from sim_bridge.ros.wire.messages import PreparedMessage

_ITEMS = {'32FC1': np.float32, '16UC1': np.uint16}
_POINT_SIZE = 16  # bytes: x, y, z, and one for the colour
_IS_BIG = sys.byteorder == 'big'


class DepthMessage(PreparedMessage):
    """
    A sensor_msgs/Image with depths.

    pixels: (height, width) float32 [m] or uint16 [mm], a view of the message.
    """

    def __init__(self, camera: CameraDescription, frame_id: str) -> None:
        """Prepare a message for a camera's depth format."""
        items = _ITEMS[camera.depth_format]
        pixels = np.zeros((camera.height, camera.width), items)
        message = Image(
            height=camera.height,
            width=camera.width,
            encoding=camera.depth_format,
            is_bigendian=_IS_BIG,
            step=pixels.strides[0],
            data=pixels.tobytes(),
        )
        message.header.frame_id = frame_id
        super().__init__(message, ())
        # the pixels are the last bytes
        at = len(self.buffer) - pixels.nbytes
        self.pixels = np.frombuffer(self.buffer, items, pixels.size, at).reshape(pixels.shape)


class CloudMessage(PreparedMessage):
    """
    An organised sensor_msgs/PointCloud2 with x, y, z [m], one row for each row of pixels.

    points: (height, width, 4) float32, a view of the message; the last is unused.
    """

    def __init__(self, camera: CameraDescription, frame_id: str) -> None:
        """Prepare a message for a camera's size."""
        points = np.zeros((camera.height, camera.width, 4), np.float32)
        message = PointCloud2(
            height=camera.height,
            width=camera.width,
            point_step=_POINT_SIZE,
            row_step=points.strides[0],
            fields=[
                PointField(name=axis, offset=4 * k, datatype=PointField.FLOAT32, count=1)
                for k, axis in enumerate('xyz')
            ],
            is_bigendian=_IS_BIG,
            is_dense=False,
            data=points.tobytes(),
        )
        message.header.frame_id = frame_id
        super().__init__(message, ())
        # the points precede the last byte, is_dense
        at = len(self.buffer) - 1 - points.nbytes
        self.points = np.frombuffer(self.buffer, np.float32, points.size, at).reshape(points.shape)


class CameraInfoMessage(PreparedMessage):
    """A sensor_msgs/CameraInfo."""

    def __init__(self, camera: CameraDescription, frame_id: str) -> None:
        """Prepare the message for a camera; its numbers never change."""
        info = camera_info(camera)
        message = CameraInfoMessageType(
            height=camera.height,
            width=camera.width,
            distortion_model=info.distortion_model,
            d=info.D.tolist(),
            k=info.K.ravel().tolist(),
            r=info.R.ravel().tolist(),
            p=info.P.ravel().tolist(),
        )
        message.header.frame_id = frame_id
        super().__init__(message, ())
