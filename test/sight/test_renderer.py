"""Visuals in pictures, beside ray casts against static twins."""

from __future__ import annotations

from pathlib import Path

from meshes import lumpy_ball
import numpy as np
from picturing import cast_picture, looking
import pytest
from visual_twins import twin_of

import sim_bridge as sb
from sim_bridge.description.cameras import CameraDescription
from sim_bridge.engine.data.lens import BROWN, EQUIDISTANT, PINHOLE
from sim_bridge.engine.image.make_lens import intrinsics_of, make_lens
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.sight.optics import Optics
from sim_bridge.sight.renderer import Renderer
from sim_bridge.sight.scenery import Scenery
from sim_bridge.sight.visual import Visual
from sim_bridge.world.visuals import link_poses, visuals_of

URDF = Path(__file__).resolve().parents[2] / 'urdf'
NO_POSES = np.zeros((0, 12))
SIZE = (61, 83)
LENSES = {
    'pinhole': make_lens(PINHOLE, intrinsics_of(*SIZE, 1.1)),
    'plumb_bob': make_lens(BROWN, intrinsics_of(*SIZE, 1.1), (-0.2, 0.05, 0.001, -0.001)),
    'fisheye': make_lens(EQUIDISTANT, (20.0, 20.0, 30.0, 41.0)),
}
CAMERA = looking((1.2, -1.1, 0.9), (0.0, 0.0, 0.3))


def robot_world(name):
    """Return a world with the ground and a shipped robot, in motion."""
    world = sb.World()
    world.add_ground()
    world.load_urdf(URDF / f'{name}.urdf', position=(0.0, 0.0, 0.3))
    world.step(20)
    return world


def scenery_of(world):
    """Return the scenery; nothing is missing."""
    warnings = []
    scenery = Scenery(visuals_of(world, warnings.append))
    assert not warnings
    return scenery


@pytest.mark.parametrize('lens', LENSES)
@pytest.mark.parametrize('name', ['rover', 'arm', 'quadruped'])
def test_visuals_are_seen_where_rays_hit_them(name, lens):
    """Equal a ray cast against each visual, in all pixels."""
    world = robot_world(name)
    scenery, poses = scenery_of(world), link_poses(world)
    renderer = Renderer(scenery, Optics(*SIZE, LENSES[lens]))
    renderer.render(CAMERA, poses)
    distance, visual = cast_picture(twin_of(scenery, poses), CAMERA, LENSES[lens], SIZE)
    is_near = distance < renderer.optics.far
    np.testing.assert_allclose(
        renderer.picture.distance, np.where(is_near, distance, np.inf), rtol=1e-9
    )
    assert ((renderer.visual >= 0) == is_near).all()
    assert (renderer.visual == visual)[is_near].mean() > 0.95
    assert len(np.unique(renderer.visual)) > 3


def ball_file(folder):
    """Write a mesh file; return the text for a robot with this visual, scaled and shifted."""
    vertices, triangles = lumpy_ball()
    lines = ['v {} {} {}'.format(*vertex) for vertex in vertices]
    lines += ['f {} {} {}'.format(*(corner + 1 for corner in triangle)) for triangle in triangles]
    (folder / 'ball.obj').write_text('\n'.join(lines) + '\n')
    return """<robot name="ball"><link name="base">
        <visual><origin xyz="0.1 0 0.2" rpy="0.3 0.2 0.1"/>
          <geometry><mesh filename="{}/ball.obj" scale="0.3 0.2 -0.25"/></geometry></visual>
        <visual><geometry><mesh filename="{}/gone.obj"/></geometry></visual>
        <collision><geometry><box size="2 2 2"/></geometry></collision></link></robot>"""


def ball_world(folder):
    """Return a world with the robot in `ball_file`."""
    made = sb.World()
    (folder / 'ball.urdf').write_text(ball_file(folder).replace('{}', str(folder)))
    made.load_urdf(folder / 'ball.urdf', base='fixed')
    return made


def test_visual_meshes_are_seen_instead_of_collision_shapes(tmp_path):
    """See a scaled, mirrored mesh in its pose; name the missing mesh."""
    world, warnings = ball_world(tmp_path), []
    scenery, poses = Scenery(visuals_of(world, warnings.append)), link_poses(world)
    assert len(scenery.visuals) == 1 and len(warnings) == 1 and 'gone.obj' in warnings[0]
    renderer = Renderer(scenery, Optics(*SIZE, LENSES['pinhole']))
    renderer.render(CAMERA, poses)
    distance, _ = cast_picture(twin_of(scenery, poses), CAMERA, LENSES['pinhole'], SIZE)
    np.testing.assert_allclose(renderer.picture.distance, distance, rtol=1e-9)
    assert 0.02 < np.isfinite(distance).mean() < 0.5


@pytest.mark.parametrize('scale', ['1 1 1', '1e-320 1e-320 1e-320'])
def test_meshes_without_area_are_named(tmp_path, scale):
    """Name a mesh whose triangles have equal corners, in its file or by its scale."""
    corners = ((0, 0, 0),) * 3 if scale == '1 1 1' else ((0, 0, 0), (1e-9, 0, 0), (0, 1e-9, 0))
    lines = [f'v {x} {y} {z}' for x, y, z in corners]
    (tmp_path / 'point.obj').write_text('\n'.join([*lines, 'f 1 2 3']))
    path = tmp_path / 'robot.urdf'
    path.write_text(
        '<robot name="r"><link name="a"><visual><geometry>'
        f'<mesh filename="point.obj" scale="{scale}"/></geometry></visual></link></robot>'
    )
    world = sb.World()
    world.load_urdf(path, base='fixed')
    with pytest.warns(UserWarning, match='three different corners'):
        image = world.render((0, 0, 1), (1, 0, 0.3), sb.CameraDescription(size=(4, 3)))
    assert image.shape == (3, 4, 3)


@pytest.mark.parametrize('threads', [2, 3, 4])
def test_threads_change_no_bit(threads):
    """Give equal depths, points and visuals on 1 to 4 threads."""
    world = robot_world('quadruped')
    scenery, poses = scenery_of(world), link_poses(world)
    results = []
    for count in (1, threads):
        renderer = Renderer(scenery, Optics(*SIZE, LENSES['plumb_bob']), count)
        for _ in range(2):
            renderer.render(CAMERA, poses)
        results.append(
            [
                *renderer.picture,
                renderer.depth(),
                renderer.millimetres(),
                renderer.points(),
                renderer.instances(),
            ]
        )
        renderer.close()
    for one, other in zip(*results, strict=True):
        assert np.array_equal(one, other, equal_nan=one.dtype.kind == 'f')


def test_numbers_of_visuals_are_those_of_their_objects():
    """Give each pixel its object's label and instance; 0 for the background."""
    visuals = [
        Visual(sb.Sphere(0.2), position=np.array([0.0, 0.0, 0.3]), label=700, instance=2),
        Visual(sb.Box((0.2, 0.2, 0.2)), position=np.array([0.3, 0.3, 0.3]), label=9, instance=1),
    ]
    renderer = Renderer(Scenery(visuals), Optics(*SIZE, LENSES['pinhole']))
    renderer.render(CAMERA, np.zeros((0, 12)))
    labels, instances = renderer.labels(), renderer.instances()
    for number, (label, instance) in [(0, (700, 2)), (1, (9, 1)), (-1, (0, 0))]:
        here = renderer.visual == number
        assert here.any() and (labels[here] == label).all() and (instances[here] == instance).all()


@pytest.mark.parametrize(
    ('call', 'text'),
    [
        (lambda: Optics(0, 4, LENSES['pinhole']), 'size'),
        (lambda: Optics(5000, 4000, LENSES['pinhole']), '16000000'),
        (lambda: Optics(4, 4, LENSES['pinhole'], 1.0, 1.0), 'clip'),
        (lambda: Optics(4, 4, LENSES['pinhole'], 1.0, np.nan), 'clip'),
        (lambda: Scenery([Visual(sb.Sphere(1.0), label=65536)]), 'label'),
        (lambda: small().render(np.zeros(11), np.zeros((1, 12))), 'camera'),
        (lambda: small().render(np.full(12, np.nan), np.zeros((1, 12))), 'camera'),
        (lambda: small().render(CAMERA, np.zeros((0, 12))), 'poses'),
        (lambda: small().depth(np.zeros((4, 4))), 'out'),
        (lambda: small(0), 'threads'),
    ],
)
def test_bad_input_is_refused(call, text):
    """Name the wrong value."""
    with pytest.raises(InvalidValueError, match=text):
        call()


def small(threads=1):
    """Return a renderer for one moving sphere."""
    scenery = Scenery([Visual(sb.Sphere(0.2), body=0)])
    return Renderer(scenery, Optics(4, 4, LENSES['pinhole']), threads)


@pytest.mark.parametrize('second', [sb.Box((1.0, 1.0, 0.5)), sb.Cylinder(0.4, 0.5)])
def test_coplanar_surfaces_show_the_first_one(second):
    """See no pattern of rounding errors where two faces lie in one plane, turned in space."""
    rotation = sb.World().add_body(sb.Sphere(0.1), orientation=(0.3, 0.2, 0.5, 0.7)).root_link.R
    visuals = [
        Visual(each, rotation=rotation, position=rotation @ [x, 0.0, 0.0])
        for each, x in ((sb.Box((1.0, 1.0, 0.5)), 0.1), (second, 0.0))
    ]
    picture = Renderer(Scenery(visuals), Optics(*SIZE, LENSES['pinhole']))
    picture.render(looking(3.0 * rotation[:, 2] + [0.1, 0.2, 0.0], (0, 0, 0)), NO_POSES)
    first = Renderer(Scenery(visuals[:1]), Optics(*SIZE, LENSES['pinhole']))
    first.render(looking(3.0 * rotation[:, 2] + [0.1, 0.2, 0.0], (0, 0, 0)), NO_POSES)
    is_top = (first.visual == 0) & (np.abs(first.normals() @ rotation[:, 2] - 1.0) < 1e-6)
    assert is_top.sum() > 100
    assert (picture.visual[is_top] == 0).all()


def test_a_lens_without_rays_sees_nothing():
    """Render black, no depth and no points if the cutoff lies between the pixels."""
    world = sb.World()
    world.add_body(sb.Box((1.0, 1.0, 1.0)), position=(0.0, 0.0, 1.0))
    camera = CameraDescription(
        size=(41, 40), lens='equidistant', intrinsics=(30.0, 30.0, 19.5, 0.0, 0.0), cutoff=0.002
    )
    where = (3.0, 0.0, 2.0), (0.0, 0.0, 1.0), camera
    assert not world.render(*where).any()
    assert np.isinf(world.render(*where, 'depth')).all()
    assert np.isnan(world.render(*where, 'points')).all()
