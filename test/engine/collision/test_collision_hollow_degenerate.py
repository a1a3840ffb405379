"""Hollow shapes with extreme or zero size in extreme poses; hollow shapes with each other."""

from __future__ import annotations

import math

from colliding import Shapes
from meshes import lumpy_ball, mesh_record, random_pose, random_rotation, sheet
import numpy as np
import pytest
from test_collision_hollow import coal_hollow, hollow_record, SHAPES
from test_collision_mesh import coal_distance

from benchmarks.collision import hard_cases, hull_record
from sim_bridge.compiler.argument_table import Table
from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.collision.build import build_geometry, GeometryRecord
from sim_bridge.engine.collision.hollow.measure import measure_any
from sim_bridge.engine.collision.hollow.pairs import collide_hollow, is_lower
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.geometry import (
    BOX,
    CAPSULE,
    CONE,
    CYLINDER,
    ELLIPSOID,
    HEIGHT_FIELD,
    HOLLOW,
    MESH,
    PLANE,
    SPHERE,
)
from sim_bridge.engine.data.state import make_state
from sim_bridge.engine.math.mat3 import load_m
from sim_bridge.engine.math.spatial import store_pose
from sim_bridge.engine.math.vec3 import load3, norm, scale, sub
from sim_bridge.engine.pipeline.join import join_models
from sim_bridge.simulation.handles import make_probe


@entry
def survey(
    table: Table, pair: IntMatrix, pose: FloatMatrix, size: FloatVector, flaw_out: IntVector
):
    """
    Measure and collide pairs with a hollow shape; report impossible results.

    pair: (n, 2). pose: (n, 24) from hard_cases. size: (n,) size of the larger shape [m]. flaw_out:
    (n,) 0 for none, 1: not finite, 2: invalid normal, 3: points that contradict the gap.
    """
    geometry, scratch = world.geometry(table), world.collision(table)
    for row in range(pair.shape[0]):
        a, b = pair[row, 0], pair[row, 1]
        store_pose(scratch.pose, a, load_m(pose, row, 0), load3(pose, row, 9))
        store_pose(scratch.pose, b, load_m(pose, row, 12), load3(pose, row, 21))
        gap, x, y, n = measure_any(geometry, a, b, scratch.pose, scratch)
        flaw = flaw_of(gap, x, n)
        slack = 1e-6 * size[row] + 1e-14 * (norm(x) + norm(y))
        # a needle without a wall, sunk into a surface, has its depth by another point
        is_sunk = gap < 0.0 and max(geometry.shape[a], geometry.shape[b]) >= MESH
        if flaw == 0 and not is_sunk and not norm(sub(sub(x, y), scale(gap, n))) <= slack:
            flaw = 3
        upper, lower = a, b
        if is_lower(geometry, a, b):
            upper, lower = b, a
        count = collide_hollow(geometry, upper, lower, 1e-3 * size[row], scratch)
        for k in range(count):
            if flaw == 0:
                flaw = flaw_of(
                    scratch.candidate_gap[k],
                    load3(scratch.candidate_point, k, 0),
                    load3(scratch.candidate_normal, k, 0),
                )
        flaw_out[row] = flaw


@kernel
def flaw_of(gap, point, n):
    """Return a contact's flaw: 1, 2 as `survey`, or 0."""
    if not math.isfinite(gap + point[0] + point[1] + point[2]):
        return 1
    return 0 if abs(norm(n) - 1.0) < 1e-6 else 2


def shapes_of(random, per_kind):
    """Make hollow and other shapes in all sizes, some flat, some thin; return their radii too."""
    # `hard_cases` never pairs two shapes from the first eighth
    records, radii = [GeometryRecord(PLANE)] * (per_kind * 3), [0.0] * (per_kind * 3)
    for number in range(17 * per_kind):
        unit = 10.0 ** random.uniform(-3, 3)
        low, half, top = unit * 10.0 ** random.uniform(-1, 0, 3)
        inner = random.choice([0.0, 0.3, 0.9, 1.0 - 1e-9, 1.0], 2)
        if number % 5 == 0:
            top, inner[1] = low, inner[0]
        if number % 7 == 1:
            low, half, top = np.array((low, half, top)) * random.integers(0, 2, 3)
        records.append(
            GeometryRecord(HOLLOW, size=(low, half, top), bore=(inner[0] * low, inner[1] * top))
        )
        radii.append(max(low, half, top))
    for kind, count in (
        (SPHERE, 1),
        (CAPSULE, 2),
        (BOX, 3),
        (CYLINDER, 2),
        (CONE, 3),
        (ELLIPSOID, 3),
    ):
        for _ in range(per_kind // 2):
            size = 10.0 ** random.uniform(-3, 3) * 10.0 ** random.uniform(-1, 0, count)
            records.append(GeometryRecord(kind, size=tuple(size)))
            radii.append(max(size))
    for _ in range(per_kind):
        unit = 10.0 ** random.uniform(-3, 3)
        records += [
            hull_record(unit * random.normal(size=(10, 3))),
            mesh_record(tuple(a * b for a, b in zip(lumpy_ball(4, 4), (unit, 1), strict=True))),
            mesh_record(sheet(2, unit)),
            GeometryRecord(
                HEIGHT_FIELD, size=(unit, unit), heights=unit * random.normal(size=(3, 3))
            ),
        ]
        radii += [unit] * 4
    return records, np.array(radii)


def flaws_in(seed, count):
    """Survey `count` pairs; return the number of surveyed pairs, and the flaws."""
    random = np.random.default_rng(seed)
    records, radii = shapes_of(random, 6)
    geometry = build_geometry(records)
    is_hollow = geometry.shape == HOLLOW
    model, _ = join_models([], (0.0, 0.0, 0.0))
    handle = make_probe(model, make_state(model), geometry).handle
    done, wrong = 0, []
    while done < count:
        pair, pose = hard_cases(random, radii, 20_000)
        chosen = is_hollow[pair].any(axis=1) & (pair[:, 0] != pair[:, 1])
        pair, pose = pair[chosen][: count - done].copy(), pose[chosen][: count - done].copy()
        flaw = np.zeros(len(pair), np.int64)
        survey(handle, pair, pose, radii[pair].max(axis=1), flaw)
        wrong += [(int(flaw[k]), pair[k].tolist()) for k in np.flatnonzero(flaw)]
        done += len(pair)
    return done, wrong


def test_random_and_degenerate_configurations():
    """Find nothing impossible in a sample from a million configurations."""
    assert flaws_in(3, 500) == (500, [])


# four minutes each on an otherwise idle machine
@pytest.mark.long
@pytest.mark.parametrize('seed', range(10))
def test_a_million_degenerate_configurations(seed):
    """Find nothing impossible in a million configurations of hollow shapes with all others."""
    assert flaws_in(seed, 100_000) == (100_000, [])


def test_a_point_on_a_wall_without_thickness_touches_it():
    """Measure 0 between a tube without wall thickness and a hollow point on its side."""
    radius = 0.04697745792818337
    tube = GeometryRecord(HOLLOW, size=(radius, 0.011, radius), bore=(radius, radius))
    point = GeometryRecord(HOLLOW, size=(0.0, 0.0, 0.0), bore=(0.0, 0.0))
    # found by a search for impossible results
    turned = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    place = np.array([1.0237773550869016, 0.5873405591366165, -1.1662968879190192])
    other = np.array([1.0237773550869016, 0.5403631012084331, -1.1662968879190192])
    gap, *points, normal = Shapes([tube, point]).measure((turned, place), (np.eye(3), other))
    assert gap == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(points, [other, other], atol=1e-12)
    np.testing.assert_allclose(normal, (0.0, 1.0, 0.0), atol=1e-9)


def test_two_hollow_shapes_are_at_least_so_far_apart():
    """Never measure more than the distance between fine meshes, and mostly the same."""
    rng, exact, apart = np.random.default_rng(8), 0, 0
    # 256 chords are this far within their arcs
    names, tolerance = list(SHAPES), 0.5 * (1.0 - math.cos(math.pi / 256))
    fine = {name: coal_hollow(name, 256) for name in names}
    for a, b in [(a, b) for k, a in enumerate(names) for b in names[k:]]:
        pair = Shapes([hollow_record(a), hollow_record(b)])
        for k in range(5):
            pose = random_pose(rng, 1.0)
            reach = 0.15 if k == 0 else 0.8
            other = random_rotation(rng), pose[1] + rng.normal(size=3) * reach
            distance, point, point_b, normal = pair.measure(pose, other)
            expected = coal_distance(fine[a], pose, fine[b], other)
            if expected > tolerance:
                apart += 1
                assert distance <= expected + tolerance
                exact += distance > expected - 2.0 * tolerance
            np.testing.assert_allclose(
                np.subtract(point, point_b), np.multiply(distance, normal), atol=1e-6
            )
    assert apart > 25 and exact > 0.8 * apart
