"""Gain and noise, beside their distribution."""

from __future__ import annotations

import math

import numpy as np
from picturing import looking
import pytest

import sim_bridge as sb
from sim_bridge.description.cameras import CameraNoise
from sim_bridge.engine.data.lens import PINHOLE
from sim_bridge.engine.image.make_lens import intrinsics_of, make_lens
from sim_bridge.sight.exposure import draw_of, Exposure
from sim_bridge.sight.lamps import Surroundings
from sim_bridge.sight.optics import Optics
from sim_bridge.sight.renderer import ENCODINGS, Renderer
from sim_bridge.sight.scenery import Scenery
from sim_bridge.sight.visual import Visual

SIZE = (160, 120)
ABOVE = looking((0.01, 0.0, 3.0), (0.0, 0.0, 0.0))
STDDEV = 0.04


def seen(exposure, draw=0, threads=1, ambient=0.4):
    """Return a renderer that sees a plane of one colour."""
    optics = Optics(*SIZE, make_lens(PINHOLE, intrinsics_of(*SIZE, 0.8)))
    scenery = Scenery([Visual(sb.Plane(), color=(0.7, 0.7, 0.7, 1.0))])
    around = Surroundings((), (ambient,) * 3)
    renderer = Renderer(scenery, optics, threads, around, exposure=exposure)
    renderer.render(ABOVE, np.zeros((0, 12)), draw)
    return renderer


def test_noise_of_images_is_normal_and_independent():
    """Check mean, deviation, tails, and the correlation of neighbours and channels."""
    plain = seen(Exposure()).image().astype(float)
    noise = seen(Exposure(image=CameraNoise(0.02, STDDEV)), 7).image() - plain
    deviation = 255.0 * STDDEV
    assert noise.mean() == pytest.approx(255.0 * 0.02, abs=4.0 * deviation / math.sqrt(noise.size))
    assert noise.std() == pytest.approx(deviation, rel=0.02)
    z = (noise - noise.mean()) / noise.std()
    for limit in (1.0, 2.0, 3.0):
        share = math.erfc(limit / math.sqrt(2.0))
        assert (abs(z) > limit).mean() == pytest.approx(share, rel=0.3 if limit > 2.0 else 0.06)
    neighbours = [
        (z[:, 1:] * z[:, :-1]).mean(),
        (z[1:] * z[:-1]).mean(),
        (z[..., 0] * z[..., 1]).mean(),
    ]
    assert np.abs(neighbours).max() < 4.0 / math.sqrt(SIZE[0] * SIZE[1])


def test_noise_follows_from_the_draw_alone():
    """Repeat with the same draw on all threads; differ with another; agree in all formats."""
    exposure = Exposure(image=CameraNoise(0.0, STDDEV), depth=CameraNoise(0.0, 0.01))
    first, same, other = (seen(exposure, draw, n) for draw, n in ((3, 1), (3, 4), (4, 1)))
    for encoding in ENCODINGS:
        assert np.array_equal(first.image(encoding), same.image(encoding))
        assert not np.array_equal(first.image(encoding), other.image(encoding))
    assert np.array_equal(first.depth(), same.depth())
    assert not np.array_equal(first.depth(), other.depth())
    same.close()
    rgb = first.image('rgb8')
    assert np.array_equal(first.image('bgra8')[..., 2::-1], rgb)
    assert np.array_equal(first.image('bayer_rggb8')[::2, ::2], rgb[::2, ::2, 0])
    draws = {draw_of(key, number) for key in range(40) for number in range(40)}
    assert len(draws) == 1600 and all(-(1 << 63) <= each < 1 << 63 for each in draws)


def test_noise_of_depths_grows_with_their_square():
    """Check the deviation; points have the same depths; none comes before the near plane."""
    noise = CameraNoise(0.01, 0.002, 0.004)
    renderer, plain = seen(Exposure(depth=noise), 5), seen(Exposure())
    error = (renderer.depth() - plain.depth()).astype(float)
    deviation = 0.002 + 0.004 * 9.0
    assert error.std() == pytest.approx(deviation, rel=0.03)
    assert error.mean() == pytest.approx(0.01, abs=4.0 * deviation / math.sqrt(error.size))
    points = renderer.points()
    np.testing.assert_allclose(points[..., 2], renderer.depth(), rtol=1e-6)
    np.testing.assert_allclose(
        points[..., :2] / points[..., 2:], renderer.optics.rays[..., :2], rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(renderer.millimetres(), 1000.0 * renderer.depth(), atol=0.501)
    wild = seen(Exposure(depth=CameraNoise(0.0, 5.0)), 5)
    assert wild.depth().min() == np.float32(wild.optics.near)


def test_gain_multiplies_the_light():
    """Equal a picture with twice the light."""
    assert np.array_equal(seen(Exposure(2.0)).image(), seen(Exposure(), ambient=0.8).image())
