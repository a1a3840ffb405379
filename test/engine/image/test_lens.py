"""Lenses beside OpenCV's numbers and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sim_bridge.compiler.reference import Reference
from sim_bridge.engine.data.lens import (
    BROWN,
    EQUIDISTANT,
    IDENTITY,
    PINHOLE,
    RADIAL,
    SINE,
    TANGENT,
)
from sim_bridge.engine.image.lens import fill_rays, project_points
from sim_bridge.engine.image.make_lens import intrinsics_of, make_lens

WIDTH, HEIGHT = 64, 48
CAMERA = (53.1, 52.4, 31.25, 23.5)
PLUMB_BOB = (-0.28, 0.09, 0.0011, -0.0007, -0.01)
RATIONAL = (0.42, -0.11, 0.0008, -0.0012, 0.013, 0.61, -0.09, 0.021)
FISHEYE = (0.021, -0.013, 0.004, -0.0007)
# points [m] and their pixels by OpenCV 5: projectPoints, fisheye.projectPoints
POINTS = [
    (0.0, 0.0, 1.0),
    (0.3, -0.2, 1.1),
    (-0.5, 0.4, 0.9),
    (0.9, 0.65, 1.4),
    (-0.02, -0.6, 1.0),
]
OPENCV = {
    'plumb_bob': (
        BROWN,
        PLUMB_BOB,
        [
            (31.25, 23.5),
            (45.29571620771994, 14.263194771606408),
            (5.2184019372423265, 44.065068255947295),
            (60.486106211174814, 44.38951775947517),
            (30.271227009845415, -5.05874672529956),
        ],
    ),
    'rational_polynomial': (
        BROWN,
        RATIONAL,
        [
            (31.25, 23.5),
            (45.43030271938783, 14.171087727609258),
            (4.000496220654245, 45.00798220605057),
            (62.05478372395821, 45.50953006436015),
            (30.22875773888165, -6.038420185334214),
        ],
    ),
    'equidistant': (
        EQUIDISTANT,
        FISHEYE,
        [
            (31.25, 23.5),
            (45.271957527464245, 14.275259580174183),
            (5.4471194492588, 43.87018366642319),
            (60.31716376770579, 44.21620836844652),
            (30.288655537916203, -4.960141137396015),
        ],
    ),
}


def rays_of(lens, width=WIDTH, height=HEIGHT):
    """Return all pixel rays, (height, width, 3)."""
    rays = np.zeros((height, width, 3))
    fill_rays(lens, rays)
    return rays


def pixels_of(lens, points):
    """Return the points' pixels, (n, 2)."""
    points = np.ascontiguousarray(points, float).reshape(-1, 3)
    pixels = np.zeros((len(points), 2))
    project_points(lens, points, pixels)
    return pixels


def grid(width=WIDTH, height=HEIGHT):
    """Return u and v for all pixels, (height * width, 2)."""
    return np.stack(np.meshgrid(np.arange(width), np.arange(height)), -1).reshape(-1, 2)


@pytest.mark.parametrize('size', [(640, 480), (641, 481), (1, 1), (2, 3)])
def test_the_field_of_view_ends_at_the_outer_edges_of_pixels(size):
    """Put whole numbers at pixel centres, the axis into the image's middle, for odd sizes too."""
    fov, (width, height) = 1.2, size
    lens = make_lens(PINHOLE, intrinsics_of(width, height, fov))
    rays = rays_of(lens, width, height)
    np.testing.assert_allclose(rays, -rays[::-1, ::-1] + [0, 0, 2], atol=1e-15)
    pixel = 2.0 * math.tan(0.5 * fov) / width
    np.testing.assert_allclose(rays[0, -1, 0] + 0.5 * pixel, math.tan(0.5 * fov), rtol=1e-14)
    np.testing.assert_allclose(np.diff(rays[:, :, 1], axis=0), pixel, rtol=1e-9)


@pytest.mark.parametrize('name', OPENCV)
def test_points_are_projected_as_by_opencv(name):
    """Agree on pixels within 1e-9."""
    model, coefficients, expected = OPENCV[name]
    found = pixels_of(make_lens(model, CAMERA, coefficients), POINTS)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize(
    ('model', 'coefficients', 'function'),
    [
        (PINHOLE, (), IDENTITY),
        (BROWN, PLUMB_BOB, IDENTITY),
        (BROWN, RATIONAL, IDENTITY),
        (BROWN, (0.3, 0.1), IDENTITY),
        (BROWN, (0.0, 0.0, 0.01, 0.02), IDENTITY),
        (EQUIDISTANT, FISHEYE, IDENTITY),
        (EQUIDISTANT, (), IDENTITY),
        (RADIAL, (2.0, 2.0), TANGENT),
        (RADIAL, (2.0, 2.0), SINE),
        (RADIAL, (1.0, 1.0), SINE),
        (RADIAL, (1.05, 1.0, 0.0), IDENTITY),
    ],
)
def test_rays_return_to_their_pixels(model, coefficients, function):
    """Invert each lens on all pixels, within 1e-9 px; directions beyond z = 0 included."""
    lens = make_lens(model, CAMERA, coefficients, skew=0.7, function=function)
    rays = rays_of(lens)
    assert np.isfinite(rays).all()
    np.testing.assert_allclose(pixels_of(lens, 3.7 * rays), grid(), atol=1e-9)


def test_a_fisheye_lens_sees_behind_itself():
    """Map angles beyond 90 degrees, up to the cutoff."""
    lens = make_lens(EQUIDISTANT, (20.0, 20.0, 31.5, 23.5), cutoff=math.radians(100.0))
    rays = rays_of(lens)
    angle = np.hypot(*(grid() - [31.5, 23.5]).T).reshape(HEIGHT, WIDTH) / 20.0
    seen = angle <= math.radians(100.0)
    assert np.isfinite(rays[seen]).all() and np.isnan(rays[~seen]).all() and not seen.all()
    np.testing.assert_allclose(np.arccos(rays[seen][:, 2]), angle[seen], atol=1e-12)
    assert rays[seen][:, 2].min() < -0.1
    assert np.isnan(pixels_of(lens, [(0.0, 1.0, -0.5)])).all()


@pytest.mark.parametrize(
    ('coefficients', 'function', 'radius'),
    [
        ((1.0, 1.0), TANGENT, np.tan),
        ((2.0, 2.0), TANGENT, lambda angle: 2.0 * np.tan(angle / 2.0)),
        ((1.0, 1.0), IDENTITY, lambda angle: angle),
        ((2.0, 2.0), SINE, lambda angle: 2.0 * np.sin(angle / 2.0)),
        ((1.0, 1.0), SINE, np.sin),
    ],
    ids=['gnomonical', 'stereographic', 'equidistant', 'equisolid_angle', 'orthographic'],
)
def test_radial_lenses_are_those_of_sdf(coefficients, function, radius):
    """Follow SDF's table with lens types."""
    lens = make_lens(RADIAL, (50.0, 50.0, 0.0, 0.0), coefficients, function=function)
    angle = np.linspace(0.0, 1.4, 30)
    points = np.stack([0.6 * np.sin(angle), -0.8 * np.sin(angle), np.cos(angle)], -1)
    expected = 50.0 * radius(angle)[:, None] * [0.6, -0.8]
    np.testing.assert_allclose(pixels_of(lens, points), expected, atol=1e-11)


def test_pixels_beyond_a_fold_have_no_ray():
    """End where a barrel distortion r (1 - 0.3 r²) stops growing: r² = 1 / 0.9."""
    lens = make_lens(BROWN, (30.0, 30.0, 31.5, 23.5), (-0.3,))
    assert abs(lens.limit - 1.0 / math.sqrt(0.9)) < 1e-12
    rays = rays_of(lens)
    radius = np.hypot(*(grid() - [31.5, 23.5]).T).reshape(HEIGHT, WIDTH) / 30.0
    seen = radius < lens.limit * 2.0 / 3.0
    assert np.isfinite(rays[seen]).all() and np.isnan(rays[~seen]).all() and not seen.all()
    assert np.hypot(rays[..., 0], rays[..., 1])[seen].max() <= lens.limit


def test_a_fold_with_tangential_terms_leaves_no_second_solution():
    """Give the inner solution or none, never one on the overturned part."""
    lens = make_lens(BROWN, (30.0, 30.0, 31.5, 23.5), (-0.3, 0.0, 0.004, -0.003))
    rays = rays_of(lens)
    seen = np.isfinite(rays[..., 0])
    # nearly the pixels within the fold for the radial terms alone
    assert abs(seen.sum() - math.pi * (20.0 * lens.limit) ** 2) < 50
    assert np.hypot(rays[..., 0], rays[..., 1])[seen].max() <= lens.limit
    np.testing.assert_allclose(
        pixels_of(lens, rays[seen]), grid().reshape(HEIGHT, WIDTH, 2)[seen], atol=1e-9
    )


@pytest.mark.parametrize(
    ('model', 'coefficients'), [(BROWN, RATIONAL), (EQUIDISTANT, FISHEYE), (RADIAL, (2.0, 2.0))]
)
def test_rays_have_the_bits_of_the_reference(model, coefficients):
    """Compare compiled code with the reference interpreter."""
    lens = make_lens(model, (5.0, 5.0, 3.0, 2.0), coefficients, function=TANGENT)
    wanted = np.zeros((5, 7, 3))
    Reference()(fill_rays)(lens, wanted)
    assert np.array_equal(rays_of(lens, 7, 5), wanted, equal_nan=True)
