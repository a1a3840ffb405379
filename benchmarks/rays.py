"""
Time for 1000 rays against 100 shapes, compared with MuJoCo and Coal in one run.

Balls, boxes, capsules, cylinders and ellipsoids, about 0.5 m, at random places in a 10 m cube.
10 m rays start at its middle in all directions, as from a lidar, or at random places in random
directions.
"""

from __future__ import annotations

from collections.abc import Callable
import time

import coal
import mujoco
import numpy as np

from benchmarks.report import Report, Target
import sim_bridge as sb
from sim_bridge.foundation.rotation import matrix_from_quaternion

SHAPES, RAYS, LENGTH = 100, 1000, 10.0
OWN, OWN_CALL, OWN_ONE = 'sim_bridge', 'sim_bridge, World.raycasts', 'sim_bridge, World.raycast'
MANY, ONE, THIN = 'MuJoCo, mj_multiRay', 'MuJoCo, mj_ray', 'Coal, thin capsules'

_KINDS = (
    (sb.Sphere(0.3), 'sphere', (0.3,), lambda: coal.Sphere(0.3)),
    (sb.Box((0.5, 0.4, 0.6)), 'box', (0.25, 0.2, 0.3), lambda: coal.Box(0.5, 0.4, 0.6)),
    (sb.Capsule(0.2, 0.5), 'capsule', (0.2, 0.25), lambda: coal.Capsule(0.2, 0.5)),
    (sb.Cylinder(0.25, 0.6), 'cylinder', (0.25, 0.3), lambda: coal.Cylinder(0.25, 0.6)),
    (
        sb.Ellipsoid((0.2, 0.3, 0.4)),
        'ellipsoid',
        (0.2, 0.3, 0.4),
        lambda: coal.Ellipsoid(0.2, 0.3, 0.4),
    ),
)

_NOTES = """Microseconds of processor time for {rays} rays; least of {rounds} rounds in which
the engines take turns of three calls. Only the first column includes building the scene's
tree: World.raycasts keeps it while nothing moves, as the others do. World.raycast, mj_ray and
Coal are called from Python, ray by ray. mj_multiRay takes rays from one point. Coal has
no rays: capsules of 1 um against its dynamic tree find whether a ray hits, not where."""


def run(rounds: int = 30) -> Report:
    """Measure both ray patterns."""
    report = Report('rays')
    random = np.random.default_rng(0)
    poses = [(random.uniform(-5.0, 5.0, 3), _quaternion(random)) for _ in range(SHAPES)]
    angle = np.linspace(0.0, 2.0 * np.pi, RAYS, endpoint=False)
    around = LENGTH * np.column_stack([np.cos(angle), np.sin(angle), 0.0 * angle])
    ways = random.normal(size=(RAYS, 3))
    ways *= LENGTH / np.linalg.norm(ways, axis=1)[:, None]
    patterns = {
        'lidar': (np.zeros((RAYS, 3)), around),
        'random': (random.uniform(-5.0, 5.0, (RAYS, 3)), ways),
    }
    times, apart = {}, {}
    for name, (starts, ends) in patterns.items():
        calls = {
            **_own(poses, starts, ends),
            **_mujoco(poses, starts, ends, name == 'lidar'),
            **_coal(poses, starts, ends),
        }
        found = {each: call() for each, call in calls.items()}
        apart[name] = _difference(found[OWN], found[ONE])
        times[name] = _measure(calls, rounds)
    engines = (OWN, OWN_CALL, MANY, OWN_ONE, ONE, THIN)
    report.add_table(
        f'{RAYS} rays against {SHAPES} shapes: microseconds',
        ['rays', *engines],
        [
            [name, *[f'{row[each] * 1e6:.0f}' if each in row else '-' for each in engines]]
            for name, row in times.items()
        ],
        _NOTES.format(rays=RAYS, rounds=rounds),
    )
    report.add_targets(
        [
            *(
                Target(f'{name}: {RAYS} rays [us]', row[OWN] * 1e6, 100.0)
                for name, row in times.items()
            ),
            *(Target(f'{name}: apart from MuJoCo [m]', gap, 1e-9) for name, gap in apart.items()),
            Target(
                'lidar: time relative to mj_multiRay',
                times['lidar'][OWN] / times['lidar'][MANY],
                1.0,
            ),
        ]
    )
    report.add_versions({'MuJoCo': mujoco.__version__, 'Coal': coal.__version__})
    report.data.update(unit='s', times=times, rounds=rounds)
    return report


def _quaternion(random: np.random.Generator) -> np.ndarray:
    q = random.normal(size=4)
    return q / np.linalg.norm(q)


def _measure(calls: dict[str, Callable], rounds: int) -> dict[str, float]:
    best = dict.fromkeys(calls, np.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            # the caches hold another engine's data at the first call of a turn
            for _ in range(3):
                start = time.thread_time()
                call()
                best[name] = min(best[name], time.thread_time() - start)
    return best


def _difference(own: np.ndarray, other: np.ndarray) -> float:
    """Return the greatest difference in distance, infinite if only one engine hits."""
    if not np.array_equal(np.isnan(own), np.isnan(other)):
        return np.inf
    return float(np.nanmax(np.abs(own - other)))


def _own(poses, starts, ways) -> dict[str, Callable]:
    world = sb.World()
    for number, (p, q) in enumerate(poses):
        world.add_body(_KINDS[number % len(_KINDS)][0], motion='static', position=p, orientation=q)
    ends = starts + ways
    search, distances = world.simulation.cache.handles.rays, np.empty(RAYS)
    call = search.prepare(
        starts,
        ends,
        np.empty(RAYS, np.int64),
        np.empty((RAYS, 3)),
        np.empty((RAYS, 3)),
        distances,
        np.empty(RAYS),
    )

    def cast() -> np.ndarray:
        search.forget()
        call()
        return distances

    def single() -> np.ndarray:
        hits = [world.raycast(start, end) for start, end in zip(starts, ends, strict=True)]
        return np.array([np.nan if hit is None else hit.distance for hit in hits])

    return {OWN: cast, OWN_CALL: lambda: world.raycasts(starts, ends).distances, OWN_ONE: single}


def _mujoco(poses, starts, ways, is_common: bool) -> dict[str, Callable]:
    spec = mujoco.MjSpec()
    for number, (p, (x, y, z, w)) in enumerate(poses):
        _, kind, size, _ = _KINDS[number % len(_KINDS)]
        spec.worldbody.add_geom(
            type=getattr(mujoco.mjtGeom, f'mjGEOM_{kind.upper()}'),
            size=[*size, 0.0, 0.0][:3],
            pos=p,
            quat=(w, x, y, z),
        )
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    directions = ways / LENGTH
    struck, found, one = np.zeros(RAYS, np.int32), np.zeros(RAYS), np.zeros(1, np.int32)

    def many() -> np.ndarray:
        mujoco.mj_multiRay(
            model,
            data,
            starts[0],
            directions.ravel(),
            None,
            1,
            -1,
            struck,
            found,
            None,
            RAYS,
            LENGTH,
        )
        return found

    def single() -> np.ndarray:
        distances = np.array(
            [
                mujoco.mj_ray(model, data, start, direction, None, 1, -1, one)
                for start, direction in zip(starts, directions, strict=True)
            ]
        )
        distances[(distances < 0.0) | (distances > LENGTH)] = np.nan
        return distances

    return {**({MANY: many} if is_common else {}), ONE: single}


def _coal(poses, starts, ways) -> dict[str, Callable]:
    manager = coal.DynamicAABBTreeCollisionManager()
    shapes = [
        coal.CollisionObject(_KINDS[number % len(_KINDS)][3](), matrix_from_quaternion(q), p)
        for number, (p, q) in enumerate(poses)
    ]
    for shape in shapes:
        manager.registerObject(shape)
    manager.setup()
    capsule, rays = coal.Capsule(1e-6, LENGTH), []
    for start, way in zip(starts, ways, strict=True):
        z = way / LENGTH
        x = np.cross(z, (0.3, 0.5, 0.8))
        x /= np.linalg.norm(x)
        R = np.column_stack([x, np.cross(z, x), z])
        rays.append(coal.CollisionObject(capsule, R, start + 0.5 * way))

    def collide() -> np.ndarray:
        touching = []
        for ray in rays:
            callback = coal.CollisionCallBackDefault()
            manager.collide(ray, callback)
            touching.append(callback.data.result.isCollision())
        return np.array(touching, float)

    return {THIN: collide}
