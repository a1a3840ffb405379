"""The scenes with contacts, each defined as it was published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.chains import our_robot, real_robot
from benchmarks.mechanism import Mechanism, zero_state
from benchmarks.scene import ANYTHING, Machine, Plane, Scene, Solid, Surface
from benchmarks.shapes import Box, inertia_of, Sphere

_SMOOTH = {(ANYTHING, ANYTHING): Surface()}


def rolling() -> Scene:
    """
    Return SimBenchmark's rolling: a plate on the ground and 25 balls on it.

    Push the plate, solid 0, with ROLLING_FORCE.
    """
    sunk = 2e-5
    plate = _solid(Box((20.0, 20.0, 1.0)), 10.0, (0.0, 0.0, 0.5 - sunk), material='plate')
    balls = [
        _solid(Sphere(0.5), 1.0, (2.0 * i - 4.0, 2.0 * j - 4.0, 1.5 - 3.0 * sunk), material='ball')
        for i in range(5)
        for j in range(5)
    ]
    return Scene(
        'rolling',
        1e-3,
        {('ground', 'plate'): Surface(0.4), ('plate', 'ball'): Surface(0.8)},
        planes=(Plane(material='ground'),),
        solids=(plate, *balls),
        erp=0.0,
    )


ROLLING_FORCE = 150.0
ROLLING_DIRECTIONS = {
    'y': np.array([0.0, 1.0, 0.0]),
    'xy': np.array([0.5, 0.866025403784439, 0.0]),
}


def rolling_accelerations(force: float = ROLLING_FORCE) -> tuple[float, float]:
    """Return the accelerations of the sliding plate and the balls rolling on it [m/s2]."""
    plate, ball, n, g = 10.0, 1.0, 25, 9.81
    drag = 0.4 * (plate + n * ball) * g
    # friction per ball: it rolls, so that it takes 2/7 of the plate's acceleration
    friction = (force - drag) / plate / (3.5 / ball + n / plate)
    return (force - drag - n * friction) / plate, friction / ball


def bouncing(time_step: float = 1e-3) -> Scene:
    """Return SimBenchmark's bouncing: 49 perfectly elastic balls dropped 5 m above the ground."""
    return Scene(
        'bouncing',
        time_step,
        {(ANYTHING, ANYTHING): Surface(restitution=1.0)},
        solids=tuple(
            _solid(Sphere(0.1), 10.0, (2.0 * i, 2.0 * j, 5.0)) for i in range(7) for j in range(7)
        ),
        erp=0.0,
    )


def heap(n: int = 6, time_step: float = 1e-3) -> Scene:
    """Return SimBenchmark's 666: n x n x n frictionless balls falling on each other."""
    return Scene(f'{n}{n}{n}', time_step, _SMOOTH, solids=_lattice(n, 0.21, lift=0.101), erp=0.0)


def bin_of_balls(n: int, time_step: float = 1e-3) -> Scene:
    """Return n x n x n rough balls that fall into a square bin and stay there as a pile."""
    half = 0.5 * 0.21 * n
    middle = 0.5 * 0.21 * (n - 1)
    walls = tuple(
        Plane(position=middle * np.array([1.0, 1.0, 0.0]) - half * normal, normal=normal)
        for normal in (*np.eye(3)[:2], *-np.eye(3)[:2])
    )
    return Scene(
        f'bin of {n**3} balls',
        time_step,
        {(ANYTHING, ANYTHING): Surface(0.5)},
        planes=(Plane(), *walls),
        solids=_lattice(n, 0.21, lift=0.101),
    )


def tumbling_boxes(n: int, time_step: float = 5e-4) -> Scene:
    """Return scpeters' n boxes thrown up side by side, 1.8 m apart; they touch nothing."""
    inertia = np.diag([0.80833333, 0.68333333, 0.14166667])
    return Scene(
        f'{n} boxes',
        time_step,
        _SMOOTH,
        planes=(),
        solids=tuple(
            Solid(
                Box((0.1, 0.4, 0.9)),
                10.0,
                inertia,
                np.array([0.0, 1.8 * i, 0.0]),
                linear=np.array([-2.0, 2.0, 8.0]),
                angular=np.array([0.1, 5.0, 0.1]),
            )
            for i in range(n)
        ),
        gravity=np.array([0.0, 0.0, -9.8]),
    )


def stack(n: int = 10, gap: float = 0.0, time_step: float = 1e-3) -> Scene:
    """Return a tower with n equal boxes, each `gap` above the one below."""
    size = (0.4, 0.3, 0.2)
    heights = [(i + 0.5) * size[2] + (i + 1) * gap for i in range(n)]
    return Scene(
        f'stack of {n} boxes',
        time_step,
        {(ANYTHING, ANYTHING): Surface(0.6)},
        solids=tuple(_solid(Box(size), 10.0, (0.0, 0.0, z)) for z in heights),
    )


def unequal_pair(ratio: float = 1000.0, time_step: float = 1e-3) -> Scene:
    """Return a heavy box resting on a light one with the same size."""
    size, light = (0.4, 0.4, 0.2), 1.0
    return Scene(
        f'mass ratio 1:{ratio:g}',
        time_step,
        {(ANYTHING, ANYTHING): Surface(0.6)},
        solids=(
            _solid(Box(size), light, (0.0, 0.0, 0.1)),
            _solid(Box(size), ratio * light, (0.0, 0.0, 0.3)),
        ),
    )


def slope(friction: float = 0.5, directions: int = 16, time_step: float = 1e-3) -> Scene:
    """Return flat blocks on the ground, one for each tilt direction."""
    places = [(4.0 * (i % 4), 4.0 * (i // 4), 0.05) for i in range(directions)]
    return Scene(
        'slope',
        time_step,
        {(ANYTHING, ANYTHING): Surface(friction)},
        solids=tuple(_solid(Box((0.4, 0.4, 0.1)), 5.0, place) for place in places),
    )


_ANYMAL_ANGLES = {
    'LF': (0.03, 0.4, -0.8),
    'RF': (-0.03, 0.4, -0.8),
    'LH': (0.03, -0.4, 0.8),
    'RH': (-0.03, -0.4, 0.8),
}


def anymal_angles(mechanism: Mechanism) -> np.ndarray:
    """Return the initial joint positions of SimBenchmark's ANYmal."""
    return np.array(
        [
            _ANYMAL_ANGLES[joint[:2]][('HAA', 'HFE', 'KFE').index(joint[3:])]
            for joint in mechanism.joint_names
        ]
    )


def anymals(rows: int = 1, time_step: float = 5e-3) -> Scene:
    """Return rows x rows of SimBenchmark's standing ANYmals, 2 m apart."""
    mechanism = real_robot('anymal_b', shapes=True)
    rest = anymal_angles(mechanism)
    machines = [
        Machine(
            mechanism,
            replace(zero_state(mechanism), q=rest, position=np.array([2.0 * i, 2.0 * j, 0.54])),
            stiffness=40.0,
            damping=1.0,
            rest=rest,
        )
        for i in range(rows)
        for j in range(rows)
    ]
    return Scene(
        f'{rows**2} ANYmal',
        time_step,
        {(ANYTHING, ANYTHING): Surface(0.8)},
        machines=tuple(machines),
    )


def quadruped(time_step: float = 1e-3) -> Scene:
    """Return this package's quadruped on its four feet, held by 100 N m/rad springs."""
    mechanism = our_robot('quadruped', shapes=True)
    angles = {'haa': 0.0, 'hfe': 0.8, 'kfe': -1.6}
    rest = np.array([angles[joint[-3:]] for joint in mechanism.joint_names])
    state = replace(zero_state(mechanism), q=rest, position=np.array([0.0, 0.0, 0.3146]))
    return Scene(
        'quadruped',
        time_step,
        {(ANYTHING, ANYTHING): Surface(0.8)},
        machines=(Machine(mechanism, state, stiffness=100.0, damping=2.0, rest=rest),),
    )


def _solid(
    shape: Sphere | Box, mass: float, position: Sequence[float], material: str = ANYTHING
) -> Solid:
    return Solid(
        shape, mass, inertia_of(shape, mass), np.array(position, dtype=float), material=material
    )


def _lattice(n, gap, lift):
    """Set n x n x n balls (0.1 m, 10 kg) in a lattice, each moved by up to 1 mm."""
    rng = np.random.default_rng(42)
    return tuple(
        _solid(
            Sphere(0.1), 10.0, gap * np.array([i, j, k]) + 1e-3 * rng.random(3) + [0.0, 0.0, lift]
        )
        for i in range(n)
        for j in range(n)
        for k in range(n)
    )
