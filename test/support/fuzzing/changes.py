"""Changes of a running world, and queries, with extreme numbers among usual ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from shipped import path_of

from fuzzing.judge import check_words
from fuzzing.stepping import step_on
import sim_bridge as sb
from sim_bridge.description import sensors_from_mapping

_MOST, _NUMBERS = 6, 24
# JSON has words for non-finite numbers
_ODD = (
    0.0,
    -0.0,
    1.0,
    -1.0,
    1e-320,
    1e-160,
    1e-12,
    1e6,
    1e12,
    1e150,
    -1e300,
    float('inf'),
    float('nan'),
    0.1,
    0.2,
)
_SENSORS = {
    'height': {'type': 'altimeter', 'noise': {'vertical_position': {'stddev': 1.0}}},
    'air': {'type': 'air_pressure'},
    'place': {'type': 'pose'},
    'scan': {
        'type': 'lidar',
        'horizontal': {'samples': 9, 'min_angle': -1.5, 'max_angle': 1.5},
        'update_rate': 500.0,
    },
}
_LAWS = ('solver', 'integrator', 'contact_margin', 'sleep', 'iterations', 'erp', 'cfm')
_SHAPES = (
    lambda next_: sb.Sphere(next_()),
    lambda next_: sb.HollowCylinder(next_(), next_(), next_()),
    lambda next_: sb.HollowCone(next_(), next_(), next_(), next_(), next_()),
    lambda next_: sb.Cone(next_(), next_(), next_()),
    lambda next_: sb.Ellipsoid((next_(), next_(), next_())),
)


def make(rng: Random) -> bytes:
    """Return changes as JSON: their names, and numbers for each."""
    odd = rng.choice((0.0, 0.05, 0.3))
    return json.dumps(
        [
            [
                rng.choice(list(_CHANGES)),
                [
                    rng.choice(_ODD) if rng.random() < odd else rng.uniform(-0.5, 1.0)
                    for _ in range(_NUMBERS)
                ],
            ]
            for _ in range(rng.randint(1, _MOST))
        ]
    ).encode()


def run(case: bytes, folder: Path) -> None:
    """Apply the changes; refused ones change nothing, and the world can be stepped afterwards."""
    world = _pattern().copy()
    done, error = False, None
    for name, numbers in json.loads(case):
        before = world.state_hash()
        try:
            _CHANGES[name](world, iter(numbers).__next__)
            done = True
        except sb.SimulationError as err:
            check_words(err)
        except sb.SimBridgeError as err:
            check_words(err)
            error = err
            assert world.state_hash() == before, f'refused, {name} changed the world'
    step_on(world)
    if not done and error is not None:
        raise error


@cache
def _pattern() -> sb.World:
    world = sb.World(seed=3)
    world.load_urdf(
        path_of('arm'),
        collisions='none',
        sensors=sensors_from_mapping(
            {name: {'link': 'link_2', **each} for name, each in _SENSORS.items()}
        ),
    )
    heights = 0.1 * np.random.default_rng(1).normal(size=(4, 5))
    world.add_body(sb.HeightField(heights, (4, 4)), 'land', motion='static')
    for number, shape in enumerate(
        (
            sb.Sphere(0.1),
            sb.HollowCylinder(0.2, 0.1, 0.1),
            sb.Box((0.2, 0.2, 0.2)),
            sb.HollowCone(0.2, 0.1, 0.1),
        )
    ):
        world.add_body(shape, f'body{number}', mass=1.0, position=(0.3 * number, 1.0, 0.4))
    world.step(3)
    return world


def _vector(next_: Callable[[], float]) -> list[float]:
    return [next_(), next_(), next_()]


def _body(world: sb.World, next_: Callable[[], float]) -> sb.Robot:
    return world.robots[f'body{_choice(next_, 4)}']


def _choice(next_: Callable[[], float], count: int) -> int:
    """Return a number below a count."""
    number = abs(next_())
    return int(1000.0 * number) % count if number < 9.0 else 0


def _cast(world: sb.World, next_: Callable[[], float]) -> None:
    p0, p1 = ([_vector(next_) for _ in range(3)] for _ in range(2))
    is_culled = next_() > 0
    hits = world.raycasts(p0, p1, cull=is_culled)
    for row, (start, end) in enumerate(zip(p0, p1, strict=True)):
        one = world.raycast(start, end, cull=is_culled)
        assert (one is None) == (hits.indices[row] < 0)
        if one is not None:
            assert one.distance == hits.distances[row] >= 0.0 <= one.depth
            assert np.isfinite(one.point).all() and np.isfinite(one.normal).all()


def _weigh(world: sb.World, next_: Callable[[], float]) -> None:
    link, choice = _body(world, next_).root_link, next_()
    if choice < 0.0:
        link.m = next_()
    elif choice < 0.5:
        link.c = _vector(next_)
    else:
        link.I = np.diag(np.abs(_vector(next_)))


def _set_law(world: sb.World, next_: Callable[[], float]) -> None:
    name = _LAWS[_choice(next_, len(_LAWS))]
    words = {
        'solver': ('direct', 'iterative'),
        'integrator': ('rk5', 'momentum', 'midpoint'),
        'sleep': (True, False),
    }
    value = next_()
    options = words.get(name)
    setattr(
        world,
        name,
        options[int(value > 0)]
        if options
        else (int(9 * value) if name == 'iterations' and np.isfinite(value) else value),
    )


def _touch(world: sb.World, next_: Callable[[], float]) -> None:
    wanted = next_()
    answers = 'remove' if wanted < 0.0 else None if wanted < 0.5 else [wanted]
    listener = world.on_contact(lambda event: answers, _body(world, next_))
    try:
        world.step(2)
    finally:
        listener.remove()


def _put_material(world: sb.World, next_: Callable[[], float]) -> None:
    geometry, which = _body(world, next_).geometries[0], next_()
    if which > 0.0:
        geometry.material = sb.Material(
            f'stuff{which}',
            friction=next_(),
            restitution=next_(),
            youngs_modulus=next_(),
            adhesion=next_(),
            rolling_friction=next_(),
        )
    else:
        world.materials.set_contact_material(
            'default',
            'default',
            sb.ContactMaterial(friction=next_(), slip=next_(), stiffness=next_(), motion=next_()),
        )


def _constant(force: list[float], *_: object) -> list[float]:
    return force


def _measure(world: sb.World, next_: Callable[[], float]) -> None:
    a, b = (_shape(next_) for _ in range(2))
    found = sb.distance(a, (_vector(next_), (0, 0, 0, 1)), b, (_vector(next_), (0, 0, 0, 1)))
    assert np.isfinite(found.distance), found.distance


def _shape(next_: Callable[[], float]) -> sb.Shape:
    return _SHAPES[_choice(next_, len(_SHAPES))](next_)


_CHANGES: dict[str, Callable[[sb.World, Callable[[], float]], Any]] = {
    'raycast': _cast,
    'set_heights': lambda world, next_: (
        world.robots['land']
        .geometries[0]
        .set_heights(
            [[next_() for _ in range(2)] for _ in range(2)], int(next_() > 0), int(next_() > 0)
        )
    ),
    'mass properties': _weigh,
    'settings': _set_law,
    'uniform field': lambda world, next_: world.add_force_field(sb.UniformField(_vector(next_))),
    'point field': lambda world, next_: world.add_force_field(
        sb.PointField(_vector(next_), next_(), next_())
    ),
    'drag': lambda world, next_: world.add_force_field(
        sb.Drag(linear=next_(), quadratic=next_(), angular=next_())
    ),
    'function field': lambda world, next_: world.add_force_field(
        partial(_constant, _vector(next_))
    ),
    'events': _touch,
    'material': _put_material,
    'hollow': lambda world, next_: world.add_body(
        sb.HollowCylinder(next_(), next_(), next_()), mass=1.0, position=_vector(next_)
    ),
    'added shape': lambda world, next_: _body(world, next_).root_link.add_geometry(
        sb.Placed(_shape(next_), _vector(next_))
    ),
    'moved shape': lambda world, next_: setattr(
        _body(world, next_).geometries[0], 'position', _vector(next_)
    ),
    'pose': lambda world, next_: _body(world, next_).set_base_pose(
        _vector(next_), (0.0, 0.0, 0.0, 1.0)
    ),
    'distance': _measure,
    'step': lambda world, next_: world.step(20),
    'save': lambda world, next_: world.restore(world.save()),
    'reset': lambda world, next_: world.reset(),
}
