"""Light, shadows, normals, edges and encodings, beside closed forms."""

from __future__ import annotations

from functools import partial

from meshes import lumpy_ball
import numpy as np
from picturing import looking
import pytest

import sim_bridge as sb
from sim_bridge.compiler.entry import Entry
from sim_bridge.compiler.reference import Reference
from sim_bridge.engine.data.lens import BROWN, PINHOLE
from sim_bridge.engine.image.make_lens import intrinsics_of, make_lens
from sim_bridge.foreign.appearance import Piece
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.srgb import linear_from_srgb, srgb_from_linear
from sim_bridge.shapes.tessellation import tessellated
from sim_bridge.sight import lines, shading
from sim_bridge.sight import renderer as rendering
from sim_bridge.sight.lamps import Lamp, Surroundings
from sim_bridge.sight.optics import Optics
from sim_bridge.sight.renderer import ENCODINGS, Renderer
from sim_bridge.sight.scenery import Scenery
from sim_bridge.sight.visual import Visual

SIZE = (90, 70)
LENS = make_lens(PINHOLE, intrinsics_of(*SIZE, 1.1))
CAMERA = looking((0.4, -2.0, 1.5), (0.0, 0.0, 0.2))
NO_BODIES = np.zeros((0, 12))
GREEN = (0.2, 0.6, 0.4, 1.0)
PLANE = Visual(sb.Plane(), color=GREEN)


def seen(visuals, lamps=(), samples=1, threads=1, lens=LENS, **others):
    """Return a renderer with a picture."""
    surroundings = Surroundings(lamps, **others)
    renderer = Renderer(Scenery(visuals), Optics(*SIZE, lens), threads, surroundings, samples)
    renderer.render(CAMERA, NO_BODIES)
    return renderer


def places_of(renderer):
    """Return the points seen by all pixels, world; nan for none."""
    rays, distance = renderer.optics.rays, renderer.picture.distance
    local = rays * np.where(np.isfinite(distance), distance, np.nan)[..., None]
    return local @ CAMERA[0, :9].reshape(3, 3).T + CAMERA[0, 9:]


BASE = linear_from_srgb(np.array(GREEN[:3]))


@pytest.mark.parametrize(
    ('lamp', 'gain'),
    [
        (
            Lamp(direction=(0.3, 0.4, -1.2), color=(0.5, 0.6, 0.7)),
            lambda x: np.full(x.shape[:-1], 1.2 / 1.3),
        ),
        (
            Lamp('point', position=(0.1, 0.2, 1.0), attenuation=(0.3, 0.2, 0.1), range=1.6),
            lambda x: point_gain(x - (0.1, 0.2, 1.0), (0.3, 0.2, 0.1), 1.6),
        ),
        (
            Lamp(
                'spot', position=(0, 0, 2), direction=(0, 0, -1), inner=0.4, outer=0.8, falloff=2
            ),
            lambda x: point_gain(x - (0, 0, 2), (1, 0, 0), np.inf) * cone_gain(x - (0, 0, 2)),
        ),
    ],
)
def test_lamps_light_a_plane_by_their_equations(lamp, gain):
    """Equal base × (ambient + colour × cosine × attenuation × cone), in each pixel."""
    renderer = seen([PLANE], [lamp], ambient=(0.1, 0.2, 0.3))
    point = places_of(renderer)
    here = np.isfinite(point[..., 0])
    expected = BASE * ((0.1, 0.2, 0.3) + gain(point)[..., None] * np.array(lamp.color))
    np.testing.assert_allclose(renderer.light()[here], expected[here], rtol=1e-6)
    assert here.mean() > 0.3


def point_gain(way, falloff, reach):
    """Return cosine over attenuation on the plane z = 0."""
    d = np.linalg.norm(way, axis=-1)
    cosine = -way[..., 2] / d
    return np.where(d <= reach, cosine / np.polynomial.polynomial.polyval(d, falloff), 0.0)


def cone_gain(way):
    """Return the spot's share for half angles of 0.2 and 0.4 rad and the exponent 2."""
    cosine = -way[..., 2] / np.linalg.norm(way, axis=-1)
    share = (cosine - np.cos(0.4)) / (np.cos(0.2) - np.cos(0.4))
    return np.clip(share, 0.0, 1.0) ** 2


@pytest.mark.parametrize('kind', ['directional', 'point'])
def test_a_sphere_casts_the_shadow_of_its_equation(kind):
    """Darken the ground exactly where the line to the lamp meets the sphere."""
    centre, radius = np.array([0.1, 0.3, 0.5]), 0.3
    lamp = Lamp(kind, direction=(0.3, -0.4, -1.0), position=(-0.3, 0.6, 1.9))
    ball = Visual(sb.Sphere(radius), position=centre)
    renderer = seen([PLANE, ball], [lamp])
    point, ground = places_of(renderer), renderer.visual == 0
    way = -np.array(lamp.direction) if kind == 'directional' else lamp.position - point
    unit = way / np.linalg.norm(way, axis=-1, keepdims=True)
    aside = centre - point
    along = (aside * unit).sum(-1)
    gap = np.linalg.norm(aside - along[..., None] * unit, axis=-1)
    dark = gap < radius
    ambient = (BASE * 0.4).astype(np.float32)
    found = np.isclose(renderer.light(), ambient, rtol=1e-6).all(axis=-1)
    clear = ground & (abs(gap - radius) > 1e-5)
    assert np.array_equal(found[clear], dark[clear])
    assert dark[ground].sum() > 50
    no_shadow = Lamp(kind, lamp.color, lamp.direction, lamp.position, cast_shadows=False)
    light = seen([PLANE, ball], [no_shadow]).light()
    assert (light[ground] > 1.01 * ambient).all()


def test_a_lamp_in_a_housing_is_not_blinded():
    """Light the ground through the closed sphere around a lamp, but not through an open mesh."""
    shell = tessellated(sb.Sphere(0.1))
    lamp = Lamp('point', position=(0.0, 0.3, 1.0))
    for piece, is_lit in [
        (Piece(shell.vertices, shell.triangles), True),
        (Piece(shell.vertices, shell.triangles[5:]), False),
    ]:
        around = Visual(piece, position=np.array([0.0, 0.3, 1.0]))
        renderer = seen([PLANE, around], [lamp], ambient=(0.0, 0.0, 0.0))
        bright = (renderer.light()[renderer.visual == 0] > 0.0).all(axis=-1)
        assert bright.all() if is_lit else bright.mean() < 0.2


def test_normals_are_smooth_up_to_40_degrees():
    """Bend a faceted sphere's normals to the sphere's own, and keep a box's."""
    ball = tessellated(sb.Sphere(0.5), 48)
    renderer = seen([Visual(Piece(ball.vertices, ball.triangles))])
    here = renderer.visual == 0
    point = places_of(renderer)[here]
    exact = point / np.linalg.norm(point, axis=-1, keepdims=True)
    cosine = (renderer.normals()[here] * exact).sum(-1)
    # facets are up to 4 degrees from the sphere's normals
    assert cosine.min() > np.cos(np.radians(1.0)) and here.sum() > 200
    cube = tessellated(sb.Box((0.5, 0.5, 0.5)))
    renderer = seen([Visual(Piece(cube.vertices, cube.triangles))])
    normals = renderer.normals()[renderer.visual == 0]
    np.testing.assert_allclose(abs(normals).max(axis=-1), 1.0, atol=1e-6)
    assert len(np.unique(np.round(normals), axis=0)) == 3


def test_squares_have_their_colours_near_and_their_mean_far_away():
    """Show each square's colour; no moiré if squares are smaller than pixels."""
    second, side = (0.9, 0.1, 0.1, 1.0), 0.3
    renderer = seen([Visual(sb.Plane(), color=GREEN, checker=(side, second))])
    point, light = places_of(renderer), renderer.light() / 0.4
    cell = point[..., :2] / side
    away = abs(cell - np.round(cell)).min(axis=-1)
    near = (renderer.picture.distance < 2.5) & (away > 0.2)
    parity = np.floor(cell).sum(axis=-1) % 2
    other = linear_from_srgb(np.array(second[:3]))
    expected = np.where(parity[..., None] == 0, BASE, other)
    np.testing.assert_allclose(light[near], expected[near], atol=1e-5)
    assert near.sum() > 300
    fine = seen([Visual(sb.Plane(), color=GREEN, checker=(0.002, second))])
    mean = np.broadcast_to(0.2 * (BASE + other), light.shape)
    np.testing.assert_allclose(fine.light(), mean, atol=0.02)


def test_edges_show_the_covered_share_of_each_pixel():
    """Average 16 directions where a bright square ends, and no others."""
    corners = np.array([(-1.0, -1, 0), (0.1, -1, 0), (0.3, 1, 0), (-1, 1, 0)])
    sheet = Visual(
        Piece(corners, np.array([[0, 1, 2], [0, 2, 3]])),
        color=(0.0, 0.0, 0.0, 1.0),
        emissive=(1.0, 1.0, 1.0),
    )
    black = {'ambient': (0.0,) * 3, 'horizon': (0.0,) * 3, 'zenith': (0.0,) * 3}
    plain, smooth = (seen([sheet], samples=k, **black).light()[..., 0] for k in (1, 16))
    fine = Optics(
        8 * SIZE[0],
        8 * SIZE[1],
        make_lens(
            PINHOLE,
            (8 * LENS.fx, 8 * LENS.fy, 8 * (LENS.cx + 0.5) - 0.5, 8 * (LENS.cy + 0.5) - 0.5),
        ),
    )
    exact = Renderer(Scenery([sheet]), fine)
    exact.render(CAMERA, NO_BODIES)
    covered = (exact.visual == 0).reshape(SIZE[1], 8, SIZE[0], 8).mean(axis=(1, 3))
    assert set(np.unique(plain)) == {0.0, 1.0}
    assert abs(smooth - covered).max() < 0.26 and abs(smooth - covered).mean() < 0.002
    assert abs(smooth - covered).mean() < 0.2 * abs(plain - covered).mean()


def test_encodings_hold_the_srgb_values():
    """Round sRGB to 8 bits; reorder, weigh and mask the channels."""
    renderer = seen([Visual(sb.Plane(), checker=(0.3, GREEN))], [Lamp()], samples=4)
    images = {name: renderer.image(name) for name in ENCODINGS}
    rgb = images['rgb8'].astype(int)
    exact = 255.0 * srgb_from_linear(np.clip(renderer.light().astype(float), 0.0, 1.0))
    # the table is coarsest at black
    assert abs(rgb - exact).max() < 1.0
    assert np.array_equal(images['bgr8'], images['rgb8'][..., ::-1])
    assert np.array_equal(images['rgba8'][..., :3], images['rgb8'])
    assert np.array_equal(images['bgra8'][..., :3], images['bgr8'])
    assert (images['rgba8'][..., 3] == 255).all() and (images['bgra8'][..., 3] == 255).all()
    grey = rgb @ (0.299, 0.587, 0.114)
    assert abs(images['mono8'] - grey).max() <= 0.5 + 1e-9
    assert abs(images['mono16'] - 257 * grey).max() <= 0.5 + 1e-6
    for name in ('rggb', 'grbg', 'gbrg', 'bggr'):
        for k, channel in enumerate(name):
            part = np.s_[k // 2 :: 2, k % 2 :: 2]
            assert np.array_equal(
                images[f'bayer_{name}8'][part], rgb[part][..., 'rgb'.index(channel)]
            )
    with pytest.raises(InvalidValueError, match='bayer_rggb8'):
        renderer.image('yuv422')


def mixed():
    """Return visuals with closed forms, meshes, textures and vertex colours."""
    vertices, triangles = lumpy_ball()
    rng = np.random.default_rng(5)
    painted = Piece(
        0.3 * vertices,
        triangles,
        colors=rng.integers(0, 256, (len(vertices), 4), np.uint8),
        places=vertices[:, :2].astype(np.float32),
        picture=rng.integers(0, 256, (9, 16, 4), np.uint8),
    )
    return [
        Visual(painted, position=np.array([0.2, -0.6, 0.5])),
        Visual(sb.Plane(), checker=(0.3, GREEN)),
        Visual(sb.TriangleMesh(0.4 * vertices, triangles), position=np.array([0.3, 0.2, 0.4])),
        Visual(sb.Cylinder(0.2, 0.5), position=np.array([-0.4, 0.1, 0.3]), color=GREEN),
    ]


LAMPS = (Lamp(), Lamp('spot', position=(0, -1, 2), inner=0.5, outer=0.9))


def test_threads_change_no_bit_in_colours():
    """Equal images and normals on 1, 2 and 4 threads."""
    lens = make_lens(BROWN, intrinsics_of(*SIZE, 1.1), (-0.2, 0.05, 0.001, -0.001))
    results = []
    for threads in (1, 2, 4):
        renderer = seen(mixed(), LAMPS, 9, threads, lens)
        results.append((renderer.light().copy(), renderer.normals(), renderer.image('bgra8')))
        renderer.close()
    for other in results[1:]:
        assert all(map(np.array_equal, results[0], other))


def test_the_reference_shades_with_the_same_bits(monkeypatch):
    """Compare compiled code with the reference interpreter, bit by bit."""
    optics = Optics(9, 7, make_lens(PINHOLE, intrinsics_of(9, 7, 1.0)))

    def images():
        renderer = Renderer(Scenery(mixed()), optics, 1, Surroundings(LAMPS))
        renderer.render(CAMERA, NO_BODIES)
        return [renderer.light(), renderer.normals(), *map(renderer.image, ENCODINGS)]

    found, reference = images(), Reference()
    for module in (rendering, shading, lines):
        for name, each in vars(module).copy().items():
            if isinstance(each, Entry):
                interpreted = reference(each)
                interpreted.prepare = partial(partial, interpreted)
                monkeypatch.setattr(module, name, interpreted)
    assert all(map(np.array_equal, found, images()))


@pytest.mark.parametrize(
    'values',
    [
        {'kind': 'sun'},
        {'direction': (0.0, 0.0, 0.0)},
        {'attenuation': (0.0, 0.0, 0.0)},
        {'kind': 'spot', 'inner': 0.5, 'outer': 0.4},
    ],
)
def test_bad_lamps_are_refused(values):
    """Name the wrong value."""
    with pytest.raises(InvalidValueError):
        Lamp(**values)
