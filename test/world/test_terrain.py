"""Terrain: what sinks into it comes up again."""

from __future__ import annotations

from meshes import sheet
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError

HALF = 0.1


def flat(x, y):
    """Return heights of zero."""
    return 0.0 * x


def hills(x, y):
    """Return heights of gentle hills."""
    return 0.05 * np.sin(3.0 * x) * np.cos(2.0 * y)


def grounds(height):
    """Return the same ground as a height field and as an open mesh."""
    vertices, triangles = sheet(20, 4.0, height)
    x, y = np.meshgrid(*2 * [np.linspace(-2.0, 2.0, 21)])
    heights = height(x, y)
    return (sb.HeightField(heights, (4.0, 4.0)),
            sb.TriangleMesh(vertices, triangles[:, ::-1], bottom_margin=1.0))


def rise(ground, start, steps):
    """Let a box rise from a height of its centre; return its link."""
    world = sb.World()
    if ground is None:
        world.add_ground()
    else:
        world.add_body(ground, motion='static')
    box = world.add_body(sb.Box((2 * HALF,) * 3), density=1000.0, position=(0.03, 0.02, start))
    world.step(steps)
    return box.root_link


@pytest.mark.parametrize('kind', [0, 1])
@pytest.mark.parametrize('start', [-0.05, -0.15, -0.5])
def test_a_sunken_box_rises_as_from_a_plane(kind, start):
    """Rise without tilting, as fast as from a plane, and come to rest on the surface."""
    box, plane = (rise(ground, start, 400) for ground in (grounds(flat)[kind], None))
    assert box.p[2] == pytest.approx(plane.p[2], abs=3e-4)
    assert box.p[2] == pytest.approx(start + 0.04, abs=3e-4)
    np.testing.assert_allclose(box.R, np.eye(3), atol=1e-3)
    assert rise(grounds(flat)[kind], start, 7000).p[2] == pytest.approx(HALF, abs=1e-6)


@pytest.mark.parametrize('kind', [0, 1])
def test_a_sunken_box_rises_from_hills(kind):
    """Rise at the same speed from ground that is not flat."""
    box = rise(grounds(hills)[kind], -0.4, 1000)
    assert box.p[2] == pytest.approx(-0.3, abs=3e-3)
    assert rise(grounds(hills)[kind], -0.15, 4000).p[2] > 0.9 * HALF


def test_terrain_ends_at_its_margin_and_its_border():
    """Let fall what is below the margin or beside the terrain, also by distances."""
    terrain = grounds(flat)[1]
    assert rise(terrain, -1.5, 100).p[2] < -1.54
    assert rise(sb.TriangleMesh(terrain.vertices, terrain.triangles), -0.15, 100).p[2] < -0.19
    ball = sb.Sphere(0.1)
    for place, expected in [((0.1, 0.2, 0.3), 0.2), ((0.1, 0.2, -0.3), -0.4),
                            ((2.4, 0.1, -0.3), 0.4)]:
        found = sb.distance(ball, (place, (0, 0, 0, 1)), terrain, ((0, 0, 0), (0, 0, 0, 1)))
        assert found[0] == pytest.approx(expected, abs=1e-9)


def test_only_an_open_mesh_is_terrain():
    """Refuse a margin of a closed mesh, or one that is not positive."""
    corners = np.vstack([np.zeros(3), np.eye(3)])
    faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
    with pytest.raises(InvalidValueError, match='closed'):
        sb.TriangleMesh(corners, faces, bottom_margin=1.0)
    with pytest.raises(InvalidValueError, match='bottom_margin'):
        sb.TriangleMesh(corners, faces[:2], bottom_margin=0.0)
