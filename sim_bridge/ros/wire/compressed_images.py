"""
Compressed images, as image_transport's plugins `compressed` and `compressedDepth` have them.

Source: image_transport_plugins, compressed_publisher.cpp and codec.cpp. Depth in metres becomes
inverse depth in 16 bits: code = A / z + B, 0 for none, with A and B before the picture.
"""

from __future__ import annotations

from array import array
import io
import struct

import numpy as np
from PIL import Image
from sensor_msgs.msg import CompressedImage

from sim_bridge.description.cameras import CameraDescription

_COLORS = ('rgb8', 'bgr8', 'rgba8', 'bgra8')
# A: resolution 1 / A of the square of a depth [m]; depths below A / 65535 have no code
_INVERSE_DEPTH = 100.0 * 101.0
_MOST_CODE = 65535
# format 0 (inverse depth), A, B
_DEPTH_HEAD = struct.Struct('<iff')
_PNG_LEVELS = {'image': 3, 'depth': 1}


def encoding_to_compress(camera: CameraDescription) -> str:
    """Return the encoding of the pixels for `compressed_message`: of colours rgb8."""
    if camera.format in _COLORS:
        return 'rgb8'
    return 'mono8' if camera.compression == 'jpeg' else camera.format


def compressed_message(
    camera: CameraDescription, output: str, pixels: np.ndarray, frame_id: str, stamp_ns: int
) -> CompressedImage:
    """
    Return a message; output: 'image' or 'depth'.

    pixels: an image in `encoding_to_compress`, or depth in the camera's format. stamp_ns: [ns].
    """
    if output == 'image':
        words, data = _image(camera, pixels)
    else:
        words, data = _depth(camera, pixels)
    message = CompressedImage(format=words, data=array('B', data))
    message.header.frame_id = frame_id
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 1_000_000_000)
    return message


def inverse_depth(depth: np.ndarray, far: float) -> tuple[np.ndarray, float, float]:
    """
    Return the 16-bit codes for depths [m], A and B.

    far: depth of the code 1 [m]. Depths beyond it, infinite ones, and those below A / 65535 have
    the code 0.
    """
    constant = 1.0 - _INVERSE_DEPTH / far
    with np.errstate(divide='ignore', invalid='ignore'):
        codes = np.rint(_INVERSE_DEPTH / depth + constant)
    is_known = (depth > 0.0) & (codes >= 1.0) & (codes <= _MOST_CODE)
    return np.where(is_known, codes, 0.0).astype(np.uint16), _INVERSE_DEPTH, constant


def _image(camera: CameraDescription, pixels: np.ndarray) -> tuple[str, bytes]:
    is_color = camera.format in _COLORS
    if camera.compression == 'png':
        words = f'{camera.format}; png compressed {"bgr8" if is_color else ""}'
        return words, _png(pixels, _PNG_LEVELS['image'])
    words = f'{camera.format}; jpeg compressed {"bgr8" if is_color else "mono8"}'
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, 'JPEG', quality=camera.jpeg_quality)
    return words, content.getvalue()


def _depth(camera: CameraDescription, pixels: np.ndarray) -> tuple[str, bytes]:
    scale = constant = 0.0
    if camera.depth_format == '32FC1':
        pixels, scale, constant = inverse_depth(pixels, camera.clip[1])
    words = f'{camera.depth_format}; compressedDepth png'
    head = _DEPTH_HEAD.pack(0, scale, constant)
    return words, head + _png(pixels, _PNG_LEVELS['depth'])


def _png(pixels: np.ndarray, level: int) -> bytes:
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, 'PNG', compress_level=level)
    return content.getvalue()
