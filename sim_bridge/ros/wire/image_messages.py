"""Messages for cameras, serialized once, filled in place: images, point clouds and camera_info."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sensor_msgs.msg import CameraInfo as CameraInfoMessageType
from sensor_msgs.msg import Image, PointCloud2, PointField

from sim_bridge.description.camera_info import camera_info
from sim_bridge.description.cameras import CameraDescription, COLORED
from sim_bridge.ros.wire.messages import PreparedMessage

_ITEMS = {'32FC1': np.float32, '16UC1': np.uint16, 'mono16': np.uint16}
_OF_GAZEBO = 'gazebo'
_CHANNELS = {'rgb8': 3, 'bgr8': 3, 'rgba8': 4, 'bgra8': 4}
_POINT_SIZE = 16  # bytes: x, y, z, and one for the colour
_IS_BIG = sys.byteorder == 'big'


def image_encoding(camera: CameraDescription, key: str, *, is_wide: bool = False) -> str:
    """
    Return the encoding of an image topic.

    key: in `CameraTopics.topics`. is_wide: whether there are labels above 255. Gazebo's maps are
    rgb8.
    """
    if key == 'image':
        return camera.format
    if key == COLORED or (key == 'labels' and camera.layout.startswith(_OF_GAZEBO)):
        return 'rgb8'
    if key == 'labels':
        return '16UC1' if is_wide else 'mono8'
    return '16UC1' if key == 'instances' else camera.depth_format


def pixel_layout(word: str) -> tuple[np.dtype[Any], int]:
    """Return an encoding's item type and channels."""
    return np.dtype(_ITEMS.get(word, np.uint8)), _CHANNELS.get(word, 1)


class ImageMessage(PreparedMessage):
    """
    A sensor_msgs/Image with colours, depths or labels.

    pixels: (height, width) or (height, width, channels) in the camera's format, a view of the
    message.
    """

    def __init__(
        self, camera: CameraDescription, key: str, frame_id: str, *, is_wide: bool = False
    ) -> None:
        """Prepare a message; key, is_wide: see `image_encoding`."""
        encoding = image_encoding(camera, key, is_wide=is_wide)
        items, channels = pixel_layout(encoding)
        shape = (camera.height, camera.width, channels)
        pixels = np.zeros(shape if channels > 1 else shape[:2], items)
        message = Image(
            height=camera.height,
            width=camera.width,
            encoding=encoding,
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
    An organised sensor_msgs/PointCloud2 with x, y, z [m], one row for each pixel row.

    A camera with an image has colours too, in the field rgb as PCL packs them. points: (height,
    width, 4) float32, a view of the message; the last holds the colour. colors: the same bytes,
    (height, width, 4) uint8 in bgra8's order.
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
                for k, axis in enumerate(_fields(camera))
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
        self.colors = self.points.view(np.uint8)[..., 12:]


def _fields(camera: CameraDescription) -> tuple[str, ...]:
    """Return a cloud's fields, each with 4 bytes."""
    return ('x', 'y', 'z', 'rgb') if 'image' in camera.outputs else ('x', 'y', 'z')


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
