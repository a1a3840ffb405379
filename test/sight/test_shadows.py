"""Shadows of robots, beside ray casts from the lamps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from picturing import cast_lines, looking
import pytest
from visual_twins import twin_of

import sim_bridge as sb
from sim_bridge.engine.data.lens import BROWN
from sim_bridge.engine.image.make_lens import intrinsics_of, make_lens
from sim_bridge.sight.lamps import Lamp, Surroundings
from sim_bridge.sight.optics import Optics
from sim_bridge.sight.renderer import Renderer
from sim_bridge.sight.scenery import Scenery
from sim_bridge.world.visuals import link_poses, visuals_of

URDF = Path(__file__).resolve().parents[2] / 'urdf'
SIZE = (120, 90)
CAMERA = looking((1.2, -1.1, 0.9), (0.0, 0.0, 0.3))
DARK = (0.0, 0.0, 0.0)
LAMPS = {
    'sun': Lamp(direction=(-0.5, 0.3, -0.9)),
    'bulb': Lamp('point', position=(0.3, 0.1, 1.4)),
    'spot': Lamp(
        'spot', position=(-0.6, 0.5, 1.5), direction=(0.5, -0.4, -1.0), inner=0.9, outer=1.0
    ),
}


@pytest.mark.parametrize('lamp', LAMPS)
@pytest.mark.parametrize('name', ['quadruped', 'rover'])
def test_points_are_dark_where_a_ray_from_the_lamp_is_stopped(name, lamp):
    """Equal ray casts against each visual; only points within a micrometre of an edge may not."""
    world = sb.World()
    world.add_ground()
    world.load_urdf(URDF / f'{name}.urdf', position=(0.0, 0.0, 0.3))
    world.step(20)
    scenery, poses = Scenery(visuals_of(world, pytest.fail)), link_poses(world)
    optics = Optics(*SIZE, make_lens(BROWN, intrinsics_of(*SIZE, 0.5), (-0.1, 0.02)))
    around = Surroundings([LAMPS[lamp]], DARK, DARK, DARK)
    open_sky = Surroundings([_without_shadows(LAMPS[lamp])], DARK, DARK, DARK)
    renderer, plain = (Renderer(scenery, optics, 1, each, 1) for each in (around, open_sky))
    for each in (renderer, plain):
        each.render(CAMERA, poses)
    is_facing = plain.light().max(axis=-1) > 0.0
    is_lit = renderer.light().max(axis=-1)[is_facing] > 0.0
    point = _points(renderer)[is_facing] + 2e-6 * renderer.normals()[is_facing]
    direction = np.array(LAMPS[lamp].direction)
    start = np.broadcast_to(LAMPS[lamp].position, point.shape)
    if lamp == 'sun':
        start = point - 10.0 * direction
    _, item = cast_lines(twin_of(scenery, poses), start, point)
    assert (is_lit != (item < 0)).mean() < 5e-4
    assert (~is_lit).sum() > 50 and is_lit.sum() > 500


def _without_shadows(lamp):
    values = {name: getattr(lamp, name) for name in lamp.__dataclass_fields__}
    return Lamp(**{**values, 'cast_shadows': False})


def _points(renderer):
    """Return the points seen by all pixels, world."""
    distance = renderer.picture.distance
    local = renderer.optics.rays * np.where(np.isfinite(distance), distance, 0.0)[..., None]
    return local @ CAMERA[0, :9].reshape(3, 3).T + CAMERA[0, 9:]
