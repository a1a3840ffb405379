"""Shape surfaces: closed, facing outwards, with the shapes' volumes."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.shapes.tessellation import tessellated

SHAPES = {
    'box': sb.Box((0.3, 0.5, 0.7)),
    'sphere': sb.Sphere(0.4),
    'capsule': sb.Capsule(0.2, 0.9),
    'cylinder': sb.Cylinder(0.2, 0.9),
    'cone': sb.Cone(0.2, 0.9),
    'truncated cone': sb.Cone(0.2, 0.9, 0.1),
    'funnel': sb.Cone(0.1, 0.9, 0.2),
    'pipe': sb.HollowCylinder(0.3, 0.9, 0.2),
    'tent': sb.HollowCone(0.3, 0.9, 0.2),
    'hollow cone': sb.HollowCone(0.2, 0.9, 0.1, 0.4, 0.3),
    'terrain': sb.HeightField(0.1 * np.random.default_rng(1).normal(size=(4, 5)), (2, 1), -0.6),
    'ellipsoid': sb.Ellipsoid((0.3, 0.5, 0.7)),
    'hull': sb.ConvexHull(np.random.default_rng(0).normal(size=(20, 3))),
}


@pytest.mark.parametrize('name', SHAPES)
def test_solids_enclose_their_volume(name):
    """Use each edge twice, in opposite directions; enclose the solid's mass and centre."""
    shape = SHAPES[name]
    vertices, triangles = tessellated(shape, 128)
    _, number = np.unique(vertices.round(12), axis=0, return_inverse=True)
    edges = number.reshape(-1)[triangles[:, [0, 1, 1, 2, 2, 0]]].reshape(-1, 2)
    assert sorted(edges.tolist()) == sorted(edges[:, ::-1].tolist())
    assert (edges[:, 0] != edges[:, 1]).all(), 'no triangle without a surface'
    a, b, c = (vertices[triangles[:, k]] for k in range(3))
    volumes = np.einsum('ij,ij->i', a, np.cross(b, c)) / 6.0
    truth = shape.mass_properties(1.0)
    assert volumes.sum() == pytest.approx(truth.mass, rel=2e-3)
    center = volumes @ (a + b + c) / 4.0 / volumes.sum()
    np.testing.assert_allclose(center, truth.center_of_mass, atol=1e-3)
    np.testing.assert_allclose(
        [vertices.min(axis=0), vertices.max(axis=0)], shape.bounds, atol=1e-3
    )


def test_meshes_of_terrain_reach_down_to_their_bottom():
    """Close an open mesh with sides and a flat underside; leave one without a margin open."""
    vertices = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0.3), (0, 1, 0.3)])
    triangles = [(0, 1, 2), (0, 2, 3)]
    drawn = tessellated(sb.TriangleMesh(vertices, triangles, 0.5))
    a, b, c = (drawn.vertices[drawn.triangles[:, k]] for k in range(3))
    assert np.einsum('ij,ij->i', a, np.cross(b, c)).sum() / 6 == pytest.approx(0.65)
    edges = drawn.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    assert sorted(edges.tolist()) == sorted(edges[:, ::-1].tolist())
    assert len(tessellated(sb.TriangleMesh(vertices, triangles)).triangles) == 2


def test_a_plane_has_no_surface_to_draw():
    """Reject an infinite shape."""
    with pytest.raises(sb.InvalidValueError, match='finite surface'):
        tessellated(sb.Plane())
