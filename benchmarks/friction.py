"""
Coulomb's cone: tilt at which a block begins to slip, in all directions, and its drift below.

Sixteen flat blocks lie on the ground; each is tilted in its own direction. A tilt is a
force at the centre of mass: the difference between tilted and upright gravity. Bisection finds the
slip angle for each block; a block held with a force within the cone should not move.
"""

from __future__ import annotations

import numpy as np

from benchmarks.contest import add_rows, best, finish, OURS, present, race, say, TIME, value
from benchmarks.peers import build_scene, ContactPeer
from benchmarks.report import Report, Target
from benchmarks.scene import Scene
from benchmarks.scenes import slope

ENGINES = (
    OURS,
    'MuJoCo',
    'MuJoCo implicitfast',
    'MuJoCo noslip',
    'MuJoCo PGS noslip',
    'ODE dWorldStep',
    'ODE dWorldQuickStep',
    'Bullet',
    'Bullet 1000 iterations',
)

COEFFICIENT = 0.5
DIRECTIONS = 16
CONE = float(np.degrees(np.arctan(COEFFICIENT)))
# angle below the cone at which drift is measured, and the target for the slip angle [deg]
MARGIN = 0.1

# a friction pyramid is off by a factor between 1 / sqrt(2) and sqrt(2)
_LOWEST, _HIGHEST = 16.0, 40.0
_HALVINGS = 12  # down to 0.006 deg
_SETTLE, _WATCH = 0.2, 0.5
# speed gained by a slipping block in _WATCH at 0.01 deg above the cone; creep gains nothing
_GAIN = 1e-3

WORST = 'worst angle [deg]'
LEAST, GREATEST = 'least [deg]', 'greatest [deg]'
DRIFT = 'drift in 10 s [m]'


def run(duration_scale: float = 1.0, engines: tuple[str, ...] = ENGINES) -> Report:
    """Tilt the blocks in all engines; `duration_scale` shortens the observed and timed motion."""
    report = Report('friction')
    scene, names = slope(COEFFICIENT, DIRECTIONS), present(engines)
    rows, angles = {}, {}
    for name in names:
        say(f'slope in {name}')
        peer = build_scene(name, scene)
        angles[name] = slip_angles(peer, scene, max(2, round(_HALVINGS * duration_scale)))
        rows[name] = {
            WORST: np.abs(angles[name] - CONE).max(),
            LEAST: angles[name].min(),
            GREATEST: angles[name].max(),
            DRIFT: drift(peer, scene, CONE - MARGIN, 10.0 * duration_scale),
        }
    times = race(
        scene,
        names,
        2.0 * duration_scale,
        20,
        lambda peer: tilt(peer, scene, np.full(DIRECTIONS, CONE - MARGIN)),
    )
    rows = {name: {**row, TIME: 1e6 * float(np.median(times[name]))} for name, row in rows.items()}
    add_rows(
        report,
        f'Blocks on a slope, friction {COEFFICIENT}: tilt at which they slip, exact '
        f'{CONE:.3f} deg, in {DIRECTIONS} directions',
        rows,
        notes=f'Drift: the greatest of all directions, {MARGIN:g} deg below the cone.',
    )
    report.data['angles'] = {name: found.tolist() for name, found in angles.items()}
    report.add_targets(
        [
            Target('slip angle: error [deg]', value(rows, OURS, WORST), MARGIN),
            Target('drift below the cone in 10 s [m]', value(rows, OURS, DRIFT), 1e-6),
            Target('time [us], fastest of the others', value(rows, OURS, TIME), best(rows, TIME)),
        ]
    )
    return finish(report)


def directions(count: int = DIRECTIONS) -> np.ndarray:
    """Return (count, 3) horizontal unit vectors, evenly spread, the first along x."""
    angles = 2.0 * np.pi * np.arange(count) / count
    return np.column_stack([np.cos(angles), np.sin(angles), np.zeros(count)])


def tilt(peer: ContactPeer, scene: Scene, angles: np.ndarray) -> None:
    """Tilt gravity for each block, by `angles` [deg], in the block's own direction."""
    g = np.linalg.norm(scene.gravity)
    for i, (along, angle) in enumerate(
        zip(directions(len(angles)), np.radians(angles), strict=True)
    ):
        tilted = g * (np.sin(angle) * along - np.cos(angle) * np.array([0.0, 0.0, 1.0]))
        peer.push(i, scene.solids[i].mass * (tilted - scene.gravity))


def slip_angles(peer: ContactPeer, scene: Scene, halvings: int = _HALVINGS) -> np.ndarray:
    """Return the tilts [deg] at which the blocks begin to slip, one for each direction."""
    count = len(scene.solids)
    low, high = np.full(count, _LOWEST), np.full(count, _HIGHEST)
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        slips = _slips(peer, scene, middle)
        low, high = np.where(slips, low, middle), np.where(slips, middle, high)
    return 0.5 * (low + high)


def drift(peer: ContactPeer, scene: Scene, angle: float, duration: float) -> float:
    """Return the greatest creep [m] among all blocks at a tilt below the slip angle."""
    peer.reset()
    _step(peer, scene, _SETTLE)
    tilt(peer, scene, np.full(len(scene.solids), angle))
    _step(peer, scene, _SETTLE)
    start = peer.motion().com
    _step(peer, scene, duration)
    return float(np.linalg.norm(peer.motion().com - start, axis=1).max())


def _slips(peer, scene, angles):
    """Return a mask for blocks gaining speed at these tilts."""
    along = directions(len(angles))
    peer.reset()
    _step(peer, scene, _SETTLE)
    tilt(peer, scene, angles)
    speeds = []
    for _ in range(2):
        _step(peer, scene, _WATCH)
        speeds.append(np.einsum('ni,ni->n', peer.motion().velocity, along))
    return speeds[1] - speeds[0] > _GAIN


def _step(peer, scene, duration):
    peer.step(max(1, round(duration / scene.time_step)))
