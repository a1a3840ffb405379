"""Scenes of pictures: shapes at their poses, contacts and forces."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.foundation.errors import MissingPackageError


@pytest.fixture
def world():
    """Return a world with ground, a turned box on it and a ball in the air."""
    world = sb.World()
    world.add_ground(height=0.5)
    turn = (0.0, 0.0, np.sin(np.pi / 8), np.cos(np.pi / 8))
    world.add_body(
        sb.Box((0.2, 0.4, 0.6)), 'box', mass=1.0, position=(1.0, 2.0, 0.8), orientation=turn
    )
    world.add_body(sb.Sphere(0.1), 'ball', mass=1.0, position=(1.0, 3.0, 2.0))
    return world


def test_shapes_are_in_their_places(world):
    """Place corners by the geometry's frame; draw ground around the other parts."""
    box, ball, ground = sb.view.Scene(world).parts
    assert [box.name, ball.name, ground.name] == ['box', 'ball', 'ground']
    body = world.robots['box'].root_link
    own = (box.vertices - body.p) @ body.R
    np.testing.assert_allclose(np.abs(own), np.tile([0.1, 0.2, 0.3], (8, 1)), atol=1e-12)
    np.testing.assert_allclose(
        np.linalg.norm(ball.vertices - (1.0, 3.0, 2.0), axis=1), 0.1, atol=1e-12
    )
    assert ground.is_endless
    assert (ground.vertices[:, 2] == 0.5).all()
    assert (ground.vertices[:, :2].min(axis=0) < box.vertices[:, :2].min(axis=0)).all()
    assert (ground.vertices[:, :2].max(axis=0) > ball.vertices[:, :2].max(axis=0)).all()
    assert box.color != ball.color


def test_a_scene_keeps_the_time_at_which_it_was_made(world):
    """Add the same world twice, before and after a motion, with its own opacity and colours."""
    scene = sb.view.Scene(world, {'ball': (0.1, 0.2, 0.3)})
    world.step(100)
    scene.add_world(world, {'ball': (0.1, 0.2, 0.3, 0.5)}, opacity=0.5)
    before, after = (part for part in scene.parts if part.name == 'ball')
    assert before.color == (0.1, 0.2, 0.3, 1.0)
    assert after.color == (0.1, 0.2, 0.3, 0.25)
    fallen = before.vertices - after.vertices
    np.testing.assert_allclose(
        fallen,
        np.tile([0.0, 0.0, 2.0 - world.robots['ball'].root_link.p[2]], (len(fallen), 1)),
        atol=1e-9,
    )
    assert fallen[0, 2] > 0.04


def test_contacts_forces_and_lines(world):
    """Put arrows from the points along the forces, with their lengths; discs across normals."""
    contacts = world.find_contacts(margin=1e-3)
    assert len(contacts) == 4
    scene = sb.view.Scene()
    forces = np.tile([0.0, 0.0, 2.0], (4, 1))
    scene.add_forces(contacts, forces, scale=0.25)
    (arrows,) = scene.parts
    tips = arrows.vertices.reshape(4, -1, 3)[:, -1]
    np.testing.assert_allclose(tips, contacts.points_a + 0.5 * contacts.normals, atol=1e-12)
    scene.add_patches(contacts, radius=0.1)
    discs = scene.parts[-1].vertices.reshape(4, -1, 3)
    np.testing.assert_allclose(discs.mean(axis=1), contacts.points_a, atol=1e-3)
    assert np.ptp(discs[0], axis=0) == pytest.approx([0.2, 0.2, 0.004], abs=1e-3)
    scene.add_contacts(contacts, normals=True, length=0.3)
    assert [part.name for part in scene.parts[2:]] == ['points', 'points', 'arrows'], (
        'no lines where the gap is 0'
    )


@pytest.mark.parametrize(
    ('call', 'words'),
    [
        (lambda scene, world: scene.add_world(world, {'bal': (1, 0, 0)}), "'bal'.*mean 'ball'"),
        (lambda scene, world: scene.add_world(world, {'ball': (1, 0)}), 'red, green, blue'),
        (lambda scene, world: scene.add_world(world, {'ball': (1, 0, 2)}), 'from 0 to 1'),
        (lambda scene, world: scene.add_world(3), 'a World'),
        (lambda scene, world: scene.add_world(world, opacity=2.0), 'opacity'),
        (lambda scene, world: scene.add_contacts([1]), 'find_contacts'),
        (lambda scene, world: scene.add_points([1.0, 2.0]), r'\(n, 3\)'),
        (lambda scene, world: scene.add_lines(np.zeros((2, 3)), np.zeros((1, 3))), r'\(2, 3\)'),
        (lambda scene, world: scene.add_points(np.zeros((1, 3)), radius=-1.0), 'radius'),
        (lambda scene, world: scene.save('x.png', pixels=(0, 3)), 'pixels'),
        (lambda scene, world: scene.save('x.jpg'), r'\.png'),
        (lambda scene, world: scene.save('x.png', eye=scene.center), 'apart from the target'),
    ],
)
def test_invalid_scene_arguments_are_named(world, call, words):
    """Name the value and the accepted ones; add nothing."""
    scene = sb.view.Scene()
    with pytest.raises(sb.SimBridgeError, match=words):
        call(scene, world)
    assert scene.parts == []


@pytest.mark.parametrize('pixels', [(640, 480), (300, 600)])
def test_the_camera_shows_all(world, monkeypatch, pixels):
    """See all vertices within the angle of view, and nearly at its edge."""
    seen = []
    monkeypatch.setattr('sim_bridge.view.scene.draw', lambda parts, view, path: seen.append(view))
    scene = sb.view.Scene(world)
    scene.save('x.png', pixels=pixels)
    (view,) = seen
    forward = view.target - view.eye
    forward /= np.linalg.norm(forward)
    aside = np.cross(forward, (0.0, 0.0, 1.0))
    aside /= np.linalg.norm(aside)
    points = np.concatenate([part.vertices for part in scene.parts if not part.is_endless])
    depth, x, y = np.array([forward, aside, np.cross(aside, forward)]) @ (points - view.eye).T
    slope = np.tan(np.radians(15.0))
    width, height = abs(x / depth).max(), abs(y / depth).max()
    reach = max(width * pixels[1] / pixels[0], height) / slope
    assert 0.85 < reach < 1.0


def test_a_missing_renderer_is_named(world, monkeypatch, tmp_path):
    """Name the package to install without VTK."""
    original = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith('vtk'):
            raise ModuleNotFoundError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, '__import__', without)
    with pytest.raises(MissingPackageError, match='make tools FILM=1'):
        sb.view.Scene(world).save(tmp_path / 'x.png')
