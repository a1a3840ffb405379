"""Contact benchmarks give all engines the same scenes, as published."""

from __future__ import annotations

from dataclasses import replace
import importlib.util
import json

import numpy as np
import pytest

from benchmarks import boxes, friction, piles, simbenchmark, stack, stand
from benchmarks.chains import our_robot
from benchmarks.contest import is_ours, OURS
from benchmarks.mechanism import Motion, quaternion_along, rotation_from
from benchmarks.overlap import deepest, sphere_overlaps
from benchmarks.peers import build_scene, CONTACT_ENTRIES, find_missing
from benchmarks.peers.contact_mujoco import friction_by_material
from benchmarks.scene import ANYTHING, energy_of_solids, Plane, Scene, Solid, Surface
from benchmarks.scenes import (
    anymals,
    bin_of_balls,
    bouncing,
    heap,
    quadruped,
    rolling,
    ROLLING_DIRECTIONS,
    slope,
    tumbling_boxes,
    unequal_pair,
)
from benchmarks.scenes import stack as stack_scene
from benchmarks.shapes import Box, inertia_of, Placed, Sphere
from benchmarks.urdf import read_urdf, write_urdf

needs_bullet = pytest.mark.skipif(
    importlib.util.find_spec('pybullet') is None, reason='there is no PyBullet for this Python'
)

SCENES = {
    'rolling': rolling,
    'bouncing': bouncing,
    'heap': lambda: heap(3),
    'bin': lambda: bin_of_balls(2),
    'boxes': lambda: tumbling_boxes(2),
    'stack': lambda: stack_scene(3),
    'pair': unequal_pair,
    'slope': lambda: slope(directions=4),
    'anymals': lambda: anymals(2),
    'quadruped': quadruped,
}
ONE_OF_EACH = 'MuJoCo', 'ODE dWorldStep', 'Bullet'
# one engine of each kind suffices for common properties
ENGINES = (
    'sim_bridge',
    'MuJoCo',
    'MuJoCo noslip',
    'ODE dWorldStep',
    'ODE dWorldQuickStep',
    'Bullet',
    'Bullet multibody',
)


def engines(names):
    """Turn engine names into test parameters, skipping Bullet if it has no wheel."""
    return [
        pytest.param(name, marks=needs_bullet if name.startswith('Bullet') else ())
        for name in names
    ]


def distance(a, b):
    """Return the largest difference between two motions, over all quantities."""
    return max(
        np.abs(getattr(a, field) - getattr(b, field)).max()
        for field in ('com', 'rotation', 'velocity', 'angular')
    )


def two_balls(gap):
    """Return a scene with two 0.1 m balls, one on the ground, the other `gap` above it."""
    inertia = inertia_of(Sphere(0.1), 1.0)
    return Scene(
        'two balls',
        1e-3,
        {(ANYTHING, ANYTHING): Surface()},
        solids=tuple(
            Solid(Sphere(0.1), 1.0, inertia, np.array([0.0, 0.0, z])) for z in (0.1, 0.3 + gap)
        ),
    )


@pytest.mark.parametrize('scene', SCENES)
@pytest.mark.parametrize('name', engines(ENGINES))
def test_scene_starts_as_defined(name, scene):
    """Read back the scene's start from every engine, before any step."""
    scene = SCENES[scene]()
    # Bullet keeps the axes of links in single precision
    assert distance(build_scene(name, scene).motion(), scene.start()) < 1e-6


@pytest.mark.parametrize('scene', SCENES)
@pytest.mark.parametrize('name', engines(ENGINES))
def test_engines_agree_for_a_while(name, scene):
    """Stay within centimetres of a reference engine, and repeat after a reset."""
    scene = SCENES[scene]()
    peer, motions = build_scene(name, scene), []
    for _ in range(2):
        peer.reset()
        peer.step(20)
        motions.append(peer.motion())
    # not the same bits: ODE visits its shapes in another order
    assert distance(*motions) < 1e-9
    reference = build_scene('MuJoCo', scene)
    reference.step(20)
    assert np.abs(motions[0].com - reference.motion().com).max() < 0.02
    moved = np.abs(motions[0].com - scene.start().com).max()
    assert moved < 0.1


@pytest.mark.parametrize('name', engines(ENGINES))
def test_planes_hold_resting_bodies(name):
    """Hold a ball on the ground while another one falls onto it."""
    peer = build_scene(name, two_balls(0.01))
    peer.step(10)
    assert peer.contact_count >= 1
    motion = peer.motion()
    assert motion.com[0, 2] == pytest.approx(0.1, abs=1e-3)
    assert motion.velocity[1, 2] == pytest.approx(-9.81e-2, rel=1e-6)


@pytest.mark.parametrize('name', engines(ENGINES))
def test_push_moves_a_body_by_newtons_law(name):
    """Push a floating box for ten steps, then release it by a reset."""
    scene = replace(tumbling_boxes(2), gravity=np.zeros(3))
    peer = build_scene(name, scene)
    peer.push(1, np.array([30.0, 0.0, -60.0]))
    peer.step(10)
    gained = peer.motion().velocity - scene.start().velocity
    np.testing.assert_allclose(
        gained[1], np.array([3.0, 0.0, -6.0]) * 10 * scene.time_step, atol=1e-12
    )
    np.testing.assert_allclose(gained[0], 0.0, atol=1e-12)
    peer.reset()
    peer.step(10)
    np.testing.assert_allclose(peer.motion().velocity, scene.start().velocity, atol=1e-12)


@pytest.mark.parametrize('normal', [(0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, -0.6, 0.8)])
@pytest.mark.parametrize('name', engines(ENGINES))
def test_planes_stand_anyhow(name, normal):
    """Press a ball against a plane at any attitude: it stays in place."""
    normal = np.array(normal)
    origin = np.array([0.3, -0.2, 0.5])
    ball = Solid(Sphere(0.1), 1.0, inertia_of(Sphere(0.1), 1.0), origin + 0.1 * normal)
    scene = Scene(
        'pressed',
        1e-3,
        {(ANYTHING, ANYTHING): Surface()},
        solids=(ball,),
        planes=(Plane(origin, normal),),
        gravity=-10.0 * normal,
    )
    peer = build_scene(name, scene)
    peer.step(100)
    assert np.abs(peer.motion().com[0] - ball.position).max() < 2e-3
    axis = rotation_from(quaternion_along(normal))[:, 2]
    np.testing.assert_allclose(axis, normal, atol=1e-15)


@pytest.mark.parametrize(('direction', 'published'), [('y', 7.65e-9), ('xy', 3.145)])
def test_ode_rolls_as_published(direction, published):
    """Reach ODE's published errors: small along y, stuck on its pyramid along xy."""
    scene = rolling()
    error = simbenchmark.rolling_error(
        build_scene('ODE dWorldStep', scene), scene, ROLLING_DIRECTIONS[direction], 4.0
    )
    assert error == pytest.approx(published, rel=0.01)


@needs_bullet
def test_bullet_rolls_as_published():
    """Reach Bullet's published rounding error at 1000 iterations."""
    scene = rolling()
    error = simbenchmark.rolling_error(
        build_scene('Bullet 1000 iterations', scene), scene, ROLLING_DIRECTIONS['xy'], 1.0
    )
    assert error < 1e-26


@pytest.mark.parametrize(
    ('name', 'published'),
    [('ODE dWorldStep', 18808.0), pytest.param('Bullet', 7.407e6, marks=needs_bullet)],
)
def test_balls_bounce_as_published(name, published):
    """Lose the published energy with 10 ms steps."""
    scene = bouncing(1e-2)
    assert simbenchmark.bouncing_error(build_scene(name, scene), scene, 20.0) == pytest.approx(
        published, rel=0.01
    )


@needs_bullet
def test_box_errs_as_published_for_bullet():
    """Reach Bullet's published errors on scpeters' thrown box."""
    scene = boxes.scenes()['complex']
    found = boxes.errors(build_scene('Bullet', scene), scene, 10.0)
    assert found[boxes.MOMENTUM] == pytest.approx(0.01245, rel=0.01)
    assert found[boxes.ENERGY] == pytest.approx(0.01358, rel=0.01)
    assert found[boxes.POSITION] == pytest.approx(0.049, rel=0.01)


def test_slip_angles_show_the_pyramid_of_ode():
    """Find Coulomb's angle along ODE's friction axes and the corner of its pyramid between."""
    scene = slope(0.5, directions=8)
    angles = friction.slip_angles(build_scene('ODE dWorldStep', scene), scene, halvings=9)
    np.testing.assert_allclose(angles[::2], np.degrees(np.arctan(0.5)), atol=0.1)
    np.testing.assert_allclose(angles[1::2], np.degrees(np.arctan(0.5 * np.sqrt(2.0))), atol=0.1)


def test_sphere_overlaps_cover_all_pairs():
    """Find the depths in a crowd of spheres as numpy does from all pairs."""
    scene, rng = heap(4), np.random.default_rng(8)
    start = scene.start()
    motion = replace(start, com=rng.uniform(0.0, 0.8, start.com.shape))
    gaps = np.linalg.norm(motion.com[:, None] - motion.com[None], axis=2) - 0.2
    expected = np.sort(
        [*-gaps[np.triu(gaps < 0.0, k=1)], *(0.1 - motion.com[:, 2])[motion.com[:, 2] < 0.1]]
    )
    np.testing.assert_allclose(np.sort(sphere_overlaps(scene, motion)), expected, atol=1e-15)
    assert len(expected) > 50


def test_deepest_finds_corners():
    """Measure the depth of a box corner in the ground, and in the box below."""
    scene = stack_scene(2)
    start = scene.start()
    assert deepest(scene, start) == pytest.approx(0.0, abs=1e-15)
    lowered = replace(start, com=start.com - [[0.0, 0.0, 0.001], [0.0, 0.0, 0.004]])
    assert deepest(scene, lowered) == pytest.approx(0.003)
    assert deepest(two_balls(-0.002), two_balls(-0.002).start()) == pytest.approx(0.002)


def test_energy_of_solids_matches_the_published_box():
    """Match the energy of scpeters/benchmark for its thrown box."""
    scene = tumbling_boxes(1)
    assert energy_of_solids(scene, scene.start()) == pytest.approx(368.5464125, rel=1e-7)


def test_urdf_keeps_shapes(tmp_path):
    """Read back the written collision shapes at their places."""
    mechanism = our_robot('quadruped', shapes=True)
    path = tmp_path / 'again.urdf'
    path.write_text(write_urdf(mechanism), encoding='utf-8')
    again = read_urdf(path, free_root=True, shapes=True)
    for old, new in zip(mechanism.bodies, again.bodies, strict=True):
        assert len(old.shapes) == len(new.shapes) > 0
        for a, b in zip(old.shapes, new.shapes, strict=True):
            assert a.shape == b.shape
            np.testing.assert_allclose(a.position, b.position, atol=1e-12)
            np.testing.assert_allclose(a.rotation, b.rotation, atol=1e-12)
    assert not any(body.shapes for body in read_urdf(path, free_root=True).bodies)


def test_mujoco_frictions_combine_as_wanted():
    """Give each rolling material a friction, and refuse frictions that no maximum produces."""
    assert friction_by_material(rolling()) == {'ball': 0.8, 'ground': 0.4, 'plate': 0.4}
    odd = replace(
        rolling(),
        surfaces={
            ('ball', 'ball'): Surface(0.1),
            ('plate', 'plate'): Surface(0.2),
            ('ball', 'plate'): Surface(0.5),
        },
    )
    with pytest.raises(ValueError, match='no maximum'):
        friction_by_material(odd)


@needs_bullet
def test_bullet_frictions_combine_as_wanted():
    """Give the rolling materials values whose products are the frictions."""
    from benchmarks.peers import contact_bullet

    values = contact_bullet.friction_by_material(rolling())
    assert values['ground'] * values['plate'] == pytest.approx(0.4)
    assert values['ball'] * values['plate'] == pytest.approx(0.8)
    odd = replace(
        rolling(),
        surfaces={
            ('ball', 'ball'): Surface(0.1),
            ('plate', 'plate'): Surface(0.2),
            ('ball', 'plate'): Surface(0.5),
        },
    )
    with pytest.raises(ValueError, match='no products'):
        contact_bullet.friction_by_material(odd)


def test_shapes_stand_at_their_place_on_the_body():
    """Place an off-centre foot correctly."""
    scene = quadruped()
    state = scene.machines[0].state
    # ANYmal starts in the air; its overlapping boxes do not count
    assert deepest(anymals(1), anymals(1).start()) == 0.0
    assert deepest(scene, scene.start()) == pytest.approx(0.0, abs=1e-4)
    sunk = replace(
        scene.machines[0], state=replace(state, position=state.position - [0.0, 0.0, 0.01])
    )
    scene = replace(scene, machines=(sunk,))
    assert deepest(scene, scene.start()) == pytest.approx(0.01, abs=1e-4)


@pytest.mark.parametrize('is_every', [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ('module', 'options'),
    [
        (simbenchmark, {'side': 3}),
        (boxes, {'counts': (1, 2)}),
        (stack, {}),
        pytest.param(friction, {}, marks=pytest.mark.long),
        (stand, {'rows': (1, 2)}),
        (piles, {'sides': (2, 3)}),
    ],
)
def test_benchmark_fills_its_tables(module, options, is_every):
    """Run the installed engines, or all, through a short version, and judge all targets."""
    engines = (
        module.ENGINES
        if is_every
        else tuple(name for name in module.ENGINES if is_ours(name) or name in ONE_OF_EACH)
    )
    report = module.run(duration_scale=0.002, engines=engines, **options)
    here = {name for name in engines if name not in find_missing(CONTACT_ENTRIES)}
    for rows in report.data['tables'].values():
        assert set(rows) == here
        assert all(np.isfinite(number) for row in rows.values() for number in row.values())
    assert report.data['targets']
    assert OURS in here
    assert any(not is_ours(name) for name in here)
    json.dumps(report.data, allow_nan=False)


def test_inertia_of_solids():
    """Match the textbooks' moments of inertia."""
    np.testing.assert_allclose(inertia_of(Sphere(0.5), 1.0), 0.1 * np.eye(3))
    np.testing.assert_allclose(
        np.diag(inertia_of(Box((20.0, 20.0, 1.0)), 10.0)), [334.1666667, 334.1666667, 666.6666667]
    )
    with pytest.raises(TypeError, match='no sphere or box'):
        inertia_of(Placed(Sphere(1.0)), 1.0)


def test_motion_of_a_scene_has_solids_first():
    """Order the bodies: solids, then robots."""
    scene = replace(anymals(1), solids=two_balls(0.0).solids)
    start = scene.start()
    assert isinstance(start, Motion)
    assert len(start.com) == 2 + 13
    np.testing.assert_allclose(start.com[0], [0.0, 0.0, 0.1])
