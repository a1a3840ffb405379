"""Compressed images, decoded by OpenCV as image_transport_plugins' subscribers do."""

from __future__ import annotations

import struct

import cv2
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.ros.wire.compressed_images import (
    compressed_message,
    encoding_to_compress,
    inverse_depth,
)

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

SIZE = (64, 48)


def shaded():
    """Return a smooth picture, red to the right and blue downwards."""
    v, u = np.mgrid[: SIZE[1], : SIZE[0]]
    return np.stack([4 * u, np.full_like(u, 90), 5 * v], -1).astype(np.uint8)


def decoded(message, offset=0):
    """Return the pixels in a message."""
    data = np.frombuffer(message.data, np.uint8)[offset:]
    return cv2.imdecode(data, cv2.IMREAD_UNCHANGED)


@pytest.mark.parametrize('encoding', ['rgb8', 'bgr8', 'rgba8', 'bgra8'])
def test_colors_survive_in_opencv_s_order(encoding):
    """Decode blue, green, red: exactly from PNG, to a few steps from JPEG."""
    for compression, error in (('png', 0), ('jpeg', 6)):
        camera = sb.CameraDescription(size=SIZE, format=encoding, compression=compression)
        assert encoding_to_compress(camera) == 'rgb8'
        message = compressed_message(camera, 'image', shaded(), 'eye', 1_500_000_000)
        assert message.format == f'{encoding}; {compression} compressed bgr8'
        assert (message.header.frame_id, message.header.stamp.nanosec) == ('eye', 500_000_000)
        pixels = decoded(message)[..., ::-1].astype(int)
        assert np.abs(pixels - shaded()).max() <= error


@pytest.mark.parametrize(
    ('encoding', 'compression', 'words', 'item'),
    [
        ('mono8', 'png', 'mono8; png compressed ', np.uint8),
        ('mono8', 'jpeg', 'mono8; jpeg compressed mono8', np.uint8),
        ('mono16', 'png', 'mono16; png compressed ', np.uint16),
        ('mono16', 'jpeg', 'mono16; jpeg compressed mono8', np.uint8),
        ('bayer_rggb8', 'png', 'bayer_rggb8; png compressed ', np.uint8),
        ('bayer_rggb8', 'jpeg', 'bayer_rggb8; jpeg compressed mono8', np.uint8),
    ],
)
def test_other_formats_have_one_channel(encoding, compression, words, item):
    """Keep 16 bits and mosaics in PNG; JPEG has 8 bits of grey."""
    camera = sb.CameraDescription(size=SIZE, format=encoding, compression=compression)
    is_kept = compression == 'png'
    assert encoding_to_compress(camera) == (encoding if is_kept else 'mono8')
    pixels = shaded()[..., 0].astype(item) * (item(257) if item is np.uint16 else item(1))
    message = compressed_message(camera, 'image', pixels, 'eye', 0)
    found = decoded(message)
    assert message.format == words and found.dtype == item
    assert np.abs(found.astype(int) - pixels).max() <= (0 if is_kept else 4)


def test_millimetres_are_kept():
    """Decode 16UC1 exactly after 12 bytes."""
    camera = sb.CameraDescription(size=SIZE, depth_format='16UC1')
    depth = np.arange(SIZE[0] * SIZE[1], dtype=np.uint16).reshape(SIZE[::-1]) * 21
    message = compressed_message(camera, 'depth', depth, 'eye', 0)
    assert message.format == '16UC1; compressedDepth png'
    assert np.array_equal(decoded(message, 12), depth)


def test_metres_are_coded_by_their_inverse():
    """Decode as codec.cpp does, to half a code's step; unknown depths have the code 0."""
    camera = sb.CameraDescription(size=SIZE, clip=(0.05, 20.0))
    depth = np.random.default_rng(7).uniform(0.16, 20.0, SIZE[::-1]).astype(np.float32)
    depth[0] = np.inf, *(-np.inf,) * 8, *(0.1,) * 8, *(30.0,) * (SIZE[0] - 17)
    message = compressed_message(camera, 'depth', depth, 'eye', 0)
    assert message.format == '32FC1; compressedDepth png'
    kind, scale, constant = struct.unpack_from('<iff', bytes(message.data))
    assert kind == 0
    codes = decoded(message, 12)
    assert codes.dtype == np.uint16 and not codes[0].any()
    found = scale / (codes[1:].astype(np.float32) - np.float32(constant))
    # dz = z² / A for a step
    assert (np.abs(found - depth[1:]) <= 0.51 * depth[1:] ** 2 / scale).all()
    assert inverse_depth(np.float32([20.0]), 20.0)[0] == 1
