"""Body pairs within a robot excluded from contact, from its initial configuration."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sim_bridge.compilation.collisions import Collisions
from sim_bridge.compilation.compile import Blueprint, BodyShape
from sim_bridge.compilation.exclusions import adjacent_bodies, kept_by_tags, Pairs, pairs_of_links
from sim_bridge.description.model import RobotDescription
from sim_bridge.engine.collision.build import build_geometry
from sim_bridge.engine.collision.probe import locate, measure_convex_pairs
from sim_bridge.shapes.polyhedra import HeightField, TriangleMesh
from sim_bridge.shapes.shape_records import shape_record
from sim_bridge.shapes.shapes import Plane, Shape
from sim_bridge.simulation.handles import make_probe
from sim_bridge.simulation.part import Part

# overlap depth [m]: parts drawn to fit touch each other
_TOUCHING = 1e-4


def excluded_bodies(
    description: RobotDescription, blueprint: Blueprint, collisions: Collisions, added: Part
) -> Pairs:
    """
    Return the excluded pairs among the robot's bodies, the lower number first.

    The rules are in `compilation.exclusions`. added: the arrays it was added with.
    collisions.self_collision: False, no two bodies touch; True, all pairs allowed by the rules
    may touch; None, likewise, but if links have Gazebo's `selfCollide`, only the pairs allowed by
    it may touch.
    """
    body_of = {shape.link: shape.body for shape in blueprint.shapes}
    bodies = sorted(set(body_of.values()))
    if collisions.self_collision is False or len(bodies) < 2:
        return frozenset(combinations(bodies, 2))
    has_shape = np.isin(np.arange(len(blueprint.model.parent)), bodies)
    excluded: Pairs = frozenset()
    if not collisions.lists_all:
        excluded = adjacent_bodies(blueprint.model, has_shape)
    if collisions.self_collision is None:
        excluded |= kept_by_tags(description, body_of) or frozenset()
    if collisions.separated is not None:
        excluded |= pairs_of_links(collisions.separated, body_of)
    else:
        excluded |= _overlapping_bodies(blueprint, added, excluded)
    return frozenset(pair for pair in excluded if has_shape[list(pair)].all())


def _overlapping_bodies(blueprint: Blueprint, added: Part, known: Pairs) -> Pairs:
    """
    Return the body pairs overlapping in the initial configuration, without the known.

    Meshes count as their convex hulls.
    """
    shapes = [shape for shape in blueprint.shapes if _is_bounded(shape)]
    model, state, _ = added
    geometry = build_geometry(
        [
            shape_record(
                _hull_of(shape.placed.shape),
                body=shape.body,
                rotation=shape.rotation,
                position=shape.position,
            )
            for shape in shapes
        ]
    )
    probe = make_probe(model, state, geometry)
    locate(probe.handle)
    pairs = np.array(
        [
            (i, j)
            for i, j in combinations(range(len(shapes)), 2)
            if shapes[i].body != shapes[j].body and _bodies_of(shapes[i], shapes[j]) not in known
        ],
        np.int64,
    ).reshape(-1, 2)
    pairs = pairs[_boxes_meet(probe.pose, geometry.bounds, pairs)]
    measured = np.empty((len(pairs), 10))
    if len(pairs):
        measure_convex_pairs(probe.handle, pairs, measured)
    return frozenset(
        _bodies_of(shapes[i], shapes[j])
        for (i, j), gap in zip(pairs.tolist(), measured[:, 0], strict=True)
        if gap <= _TOUCHING
    )


def _bodies_of(a: BodyShape, b: BodyShape) -> tuple[int, int]:
    return min(a.body, b.body), max(a.body, b.body)


def _is_bounded(shape: BodyShape) -> bool:
    return not isinstance(shape.placed.shape, (Plane, HeightField))


def _hull_of(shape: Shape) -> Shape:
    return shape.convex_hull() if isinstance(shape, TriangleMesh) else shape


def _boxes_meet(poses: np.ndarray, bounds: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """
    Tell (np,) for every pair whether the boxes around both, along their own axes, meet.

    Boxes are apart if they are apart along an axis of either or a product of one of each
    (Gottschalk 1996). poses: (n, 12). bounds: (n, 6) centre and half extents [m], as in Geometry.
    """
    first, second = pairs.T
    rotations, half = poses[:, :9].reshape(-1, 3, 3), bounds[:, 3:] + 0.5 * _TOUCHING
    centers = poses[:, 9:] + np.einsum('nij,nj->ni', rotations, bounds[:, :3])
    axes_a, axes_b = (np.swapaxes(rotations[k], 1, 2) for k in (first, second))
    products = np.cross(axes_a[:, :, None], axes_b[:, None]).reshape(-1, 9, 3)
    axes = np.concatenate([axes_a, axes_b, products], axis=1)
    apart = np.abs(np.einsum('nki,ni->nk', axes, centers[second] - centers[first]))
    reach_a = np.einsum('nkj,nj->nk', np.abs(axes @ rotations[first]), half[first])
    reach_b = np.einsum('nkj,nj->nk', np.abs(axes @ rotations[second]), half[second])
    # parallel edges have no product, and their row says nothing
    return (apart <= reach_a + reach_b + 1e-12).all(axis=1)
