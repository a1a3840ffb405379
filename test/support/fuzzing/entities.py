"""Entity changes in a running world, in the format of the node's parameter `changes`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from shipped import path_of

from fuzzing.stepping import step_on
import sim_bridge as sb
from sim_bridge.world.changes import apply_changes


def renamed(changes: Any) -> Any:
    """Return the documented changes, applied to a link and a joint of the arm."""
    arm = changes['arm']
    return {
        **changes,
        'crate': {key: value for key, value in changes['crate'].items() if key != 'density'},
        'arm': {
            'links': {'link_2': arm['links']['hand']},
            'joints': {'joint_2': arm['joints']['elbow']},
        },
    }


def run(case: bytes, folder: Path) -> None:
    """Apply the changes; refused ones change nothing, and the world continues."""
    world = _pattern().copy()
    before, shapes = world.state_hash(), list(world.geometries)
    try:
        apply_changes(
            world.robots, world.simulation, case.decode(errors='replace'), "parameter 'changes'"
        )
    except sb.SimBridgeError:
        assert world.state_hash() == before, 'refused, changes changed the world'
        assert world.geometries == shapes, 'refused, changes left shapes'
        step_on(world)
        raise
    step_on(world)


@cache
def _pattern() -> sb.World:
    world = sb.World(seed=3)
    world.add_ground()
    world.materials.add(sb.Material('steel'))
    world.load_urdf(path_of('arm'), 'arm', collisions='none')
    field = sb.HeightField(np.zeros((5, 3)), (0.2, 0.2), bottom=-0.1)
    world.add_body(
        [
            sb.Placed(sb.Box((0.2, 0.2, 0.1)), name='lid'),
            sb.Placed(sb.Sphere(0.05), name='knob'),
            sb.Placed(field, name='field'),
        ],
        'crate',
        mass=2.0,
        position=(1.0, 0.0, 0.06),
    )
    world.step(3)
    return world
