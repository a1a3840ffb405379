"""Translucent surfaces, beside closed forms."""

from __future__ import annotations

import numpy as np
from picturing import looking
import pytest

import sim_bridge as sb
from sim_bridge.engine.data.lens import EQUIDISTANT, PINHOLE
from sim_bridge.engine.image.make_lens import intrinsics_of, make_lens
from sim_bridge.foreign.appearance import Piece
from sim_bridge.foundation.srgb import linear_from_srgb
from sim_bridge.sight.lamps import Lamp, Surroundings
from sim_bridge.sight.optics import Optics
from sim_bridge.sight.renderer import Renderer
from sim_bridge.sight.scenery import Scenery
from sim_bridge.sight.visual import Visual

SIZE = (40, 30)
LENSES = {
    'pinhole': make_lens(PINHOLE, intrinsics_of(*SIZE, 0.8)),
    'fisheye': make_lens(EQUIDISTANT, (20.0, 20.0, 19.5, 14.5)),
}
ABOVE = looking((0.01, 0.0, 3.0), (0.0, 0.0, 0.0))
NO_BODIES = np.zeros((0, 12))
GROUND = Visual(sb.Plane(), color=(0.2, 0.5, 0.9, 1.0), label=1)
CORNERS = np.array([(-9.0, -9, 0), (9, -9, 0), (9, 9, 0), (-9, 9, 0)])
HALVES = np.array([[0, 1, 2], [0, 2, 3]])


def seen(visuals, lens='pinhole', lamps=(), samples=1, threads=1):
    """Return a renderer with a picture under white ambient light."""
    around = Surroundings(lamps, (1.0,) * 3, (0.0,) * 3, (0.0,) * 3)
    optics = Optics(*SIZE, LENSES[lens])
    renderer = Renderer(Scenery(visuals), optics, threads, around, samples)
    renderer.render(ABOVE, NO_BODIES)
    return renderer


def sheet(height, color, label=2):
    """Return a large square at a height."""
    return Visual(
        Piece(CORNERS, HALVES), position=np.array([0, 0, height]), color=color, label=label
    )


def blended(colors, ground=GROUND.color):
    """Return the light of sheets, the nearest first, over the ground."""
    light = linear_from_srgb(np.array(ground[:3]))
    for color in colors[::-1]:
        light = light + color[3] * (linear_from_srgb(np.array(color[:3])) - light)
    return light


COLORS = [(0.9, 0.1, 0.1, 0.3), (0.1, 0.8, 0.1, 0.45), (0.2, 0.2, 0.7, 0.7), (0.9, 0.9, 0.2, 0.2)]


@pytest.mark.parametrize('lens', LENSES)
def test_layers_are_blended_by_depth(lens):
    """Equal the closed form in any order of visuals; see through up to an opacity of a half."""
    sheets = [sheet(2.0 - 0.3 * k, color) for k, color in enumerate(COLORS)]
    for order in (sheets, sheets[::-1]):
        renderer = seen([GROUND, *order], lens)
        here = renderer.visual >= 0
        assert here.mean() > 0.9
        expected = blended(COLORS)
        np.testing.assert_allclose(
            renderer.light()[here], np.broadcast_to(expected, (here.sum(), 3)), atol=1e-6
        )
        # the third sheet is the first with half an opacity
        height = ABOVE[0, 11] - renderer.depth()[here] if lens == 'pinhole' else 1.4
        assert height == pytest.approx(1.4, abs=0.05)
        assert (renderer.labels()[here] == 2).all()
    clear = seen([GROUND, *(sheet(2.0 - 0.3 * k, (*c[:3], 0.4)) for k, c in enumerate(COLORS))])
    assert (clear.labels()[clear.visual >= 0] == 1).all()
    assert np.array_equal(clear.depth(), seen([GROUND]).depth())


def test_at_most_eight_layers_are_seen():
    """Leave out the ninth and tenth sheet."""
    color = (0.8, 0.3, 0.5, 0.15)
    renderer = seen([GROUND, *(sheet(2.0 - 0.1 * k, color) for k in range(10))])
    light = renderer.light()[renderer.visual >= 0]
    np.testing.assert_allclose(
        light, np.broadcast_to(blended([color] * 8), light.shape), atol=1e-6
    )


def test_shapes_are_layers_too():
    """Blend a sphere, a box and a plane in closed form."""
    color = (0.9, 0.2, 0.2, 0.4)
    for shape in (sb.Sphere(0.4), sb.Box((0.6, 0.6, 0.6)), sb.Cylinder(0.4, 0.5), sb.Plane()):
        layer = Visual(shape, position=np.array([0.0, 0.0, 0.9]), color=color, label=2)
        light = seen([GROUND, layer]).light()
        np.testing.assert_allclose(light[15, 20], blended([color]), atol=1e-6)


@pytest.mark.parametrize(('opacity', 'is_dark'), [(0.45, False), (0.55, True), (1.0, True)])
def test_shadows_pass_below_half_an_opacity(opacity, is_dark):
    """Darken the ground below a ball from an opacity of a half."""
    lamp = Lamp(direction=(0.6, 0.0, -0.8))
    ball = Visual(sb.Sphere(0.2), position=np.array([-0.6, 0, 0.8]), color=(1, 1, 1, opacity))
    lit = seen([GROUND], lamps=[lamp]).light()
    light = seen([GROUND, ball], lamps=[lamp]).light()
    # the ball's shadow is at the origin
    assert (light[15, 20] < 0.7 * lit[15, 20]).all() == is_dark
    assert np.array_equal(light[15, 20], lit[15, 20]) != is_dark


def test_texture_opacity_cuts_holes():
    """See depth, labels, colours and shadows through the transparent half of a texture."""
    picture = np.full((8, 512, 4), 255, np.uint8)
    picture[:, 256:, 3] = 0
    picture[..., 1] = 0
    places = (CORNERS[:, :2] / 18.0 + 0.5).astype(np.float32)
    cut = Visual(
        Piece(CORNERS, HALVES, places=places, picture=picture),
        position=np.array([0, 0, 1.0]),
        label=2,
    )
    lamp = Lamp(direction=(-0.6, 0.0, -0.8))
    renderer, plain = seen([GROUND, cut], lamps=[lamp]), seen([GROUND], lamps=[lamp])
    # the upper half of the picture is opaque
    upper, lower = np.s_[:12], np.s_[18:]
    assert (renderer.labels()[upper] == 2).all() and (renderer.labels()[lower] == 1).all()
    assert (renderer.depth()[upper] < 2.1).all()
    assert np.array_equal(renderer.depth()[lower], plain.depth()[lower])
    assert np.array_equal(renderer.light()[lower], plain.light()[lower])
    assert (renderer.light()[upper][..., 1] < 1e-6).all()


def test_threads_and_samples_change_no_layer():
    """Give equal light on 1, 2 and 4 threads, and flat colours at edges of sheets alone."""
    lamp = Lamp('point', position=(0.3, 0.2, 2.5))
    ball = Visual(sb.Sphere(0.3), position=np.array([0.1, 0.2, 1.0]), color=(0.9, 0.5, 0.1, 0.6))
    visuals = [GROUND, ball, sheet(1.5, COLORS[0]), sheet(0.5, COLORS[2])]
    results = []
    for threads in (1, 2, 4):
        renderer = seen(visuals, 'fisheye', [lamp], 4, threads)
        results.append((renderer.light().copy(), renderer.normals(), renderer.depth()))
        renderer.close()
    for other in results[1:]:
        assert all(map(np.array_equal, results[0], other))
