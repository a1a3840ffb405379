"""
Depth and colour pictures, compared with Embree, MuJoCo and VTK in one run.

All engines see the 13 meshes of Cassie above the ground, on one thread without a GPU. The last
table has ours on two threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from benchmarks.peers import CAMERA_ENTRIES, MissingPeerError
from benchmarks.peers.camera_process import CameraProcess
from benchmarks.report import Report, Target
from benchmarks.shots import Shot, shots

OURS, EMBREE, MUJOCO, VTK = CAMERA_ENTRIES
DEPTH, COLOR = 'depth', 'color'
_SAMPLES = 4
_COLORED = ('robot', 'robot, close')
_FAR_APART = 1e-3  # relative difference between depths of different surfaces

_DEPTH_NOTES = """Processor time for a depth picture in metres, from Python; least of {rounds}
rounds in turns, each engine in its own process. Ours includes the poses; Embree has a static
tree, and is called once for all rays of a picture. OpenGL is the system's, in software on one
thread."""
_COLOR_NOTES = """As above, in colour: one lamp with shadows (VTK: none), {samples} samples
(ours: at edges only)."""
_AGREEMENT_NOTES = """Pixels in which only one engine sees something, or depths differ by more than
0.1 %: outlines, for single precision. Median: of relative differences elsewhere."""
_THREAD_NOTES = """Elapsed time; the pictures have the same bits."""


def run(rounds: int = 9, scale: float = 1.0) -> Report:
    """Measure all pictures; scale: factor for their sizes."""
    report, missing, versions = Report('cameras'), {}, {}
    pictures = shots(scale)
    depth, agreement, color, threads = {}, {}, {}, {}
    for name, shot in pictures.items():
        with _cameras(shot, 1, missing, versions) as cameras:
            depth[name], taken = _measure(cameras, DEPTH, rounds)
        agreement[name] = {
            peer: _compare(taken[OURS], found) for peer, found in taken.items() if peer != OURS
        }
    for name in _COLORED:
        with _cameras(pictures[name], _SAMPLES, missing, versions, is_colored=True) as cameras:
            color[name], _ = _measure(cameras, COLOR, rounds)
        threads[name] = _threads(pictures[name], rounds)
    _add_times(report, 'Depth pictures [ms]', depth, _DEPTH_NOTES.format(rounds=rounds))
    _add_times(report, 'Colour pictures [ms]', color, _COLOR_NOTES.format(samples=_SAMPLES))
    report.add_table(
        'Pixels that differ from ours; median difference of depths',
        ['picture', 'pixels', *[peer for peer in CAMERA_ENTRIES if peer != OURS]],
        [
            [name, str(pictures[name].size[0] * pictures[name].size[1])]
            + [_difference(row.get(peer)) for peer in CAMERA_ENTRIES if peer != OURS]
            for name, row in agreement.items()
        ],
        _AGREEMENT_NOTES,
    )
    report.add_table(
        'Ours on threads [ms]',
        ['picture', 'one', 'two', 'ratio'],
        [
            [name, f'{1e3 * row[1]:.2f}', f'{1e3 * row[2]:.2f}', f'{row[1] / row[2]:.2f}']
            for name, row in threads.items()
        ],
        _THREAD_NOTES,
    )
    report.add_targets(_targets(depth, color, threads))
    report.add_missing(missing)
    report.add_versions(versions)
    report.data.update(
        unit='s', depth=depth, color=color, threads=threads, agreement=agreement, rounds=rounds
    )
    return report


@contextmanager
def _cameras(
    shot: Shot,
    samples: int,
    missing: dict[str, str],
    versions: dict[str, str],
    *,
    is_colored: bool = False,
) -> Iterator[dict[str, CameraProcess]]:
    """Yield the cameras that can take a picture; notes missing engines, and versions."""
    found: dict[str, CameraProcess] = {}
    try:
        for name in CAMERA_ENTRIES:
            if name in missing:
                continue
            try:
                camera = CameraProcess(name, shot, samples)
            except MissingPeerError as err:
                missing[name] = str(err)
                continue
            versions[name] = camera.version
            has_all = (camera.has_colors or not is_colored) and (
                camera.has_lenses or not shot.distortion
            )
            if has_all:
                found[name] = camera
            else:
                camera.close()
        yield found
    finally:
        for camera in found.values():
            camera.close()


def _measure(
    cameras: dict[str, CameraProcess], picture: str, rounds: int
) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Return each engine's least processor time, and its picture."""
    taken = {name: camera.take(picture)[2] for name, camera in cameras.items()}
    best = dict.fromkeys(cameras, np.inf)
    for _ in range(rounds):
        for name, camera in cameras.items():
            # the caches hold another engine's data at the first picture of a turn
            for _ in range(3):
                best[name] = min(best[name], camera.take(picture)[0])
    return best, taken


def _threads(shot: Shot, rounds: int) -> dict[int, float]:
    """Return the least elapsed time of a colour picture by thread count."""
    cameras = {n: CameraProcess(OURS, shot, _SAMPLES, threads=n) for n in (1, 2)}
    try:
        taken = {n: camera.take(COLOR)[2] for n, camera in cameras.items()}
        assert np.array_equal(taken[1], taken[2])
        best = dict.fromkeys(cameras, np.inf)
        for _ in range(3 * rounds):
            for n, camera in cameras.items():
                best[n] = min(best[n], camera.take(COLOR)[1])
    finally:
        for camera in cameras.values():
            camera.close()
    return best


def _compare(own: np.ndarray, other: np.ndarray) -> tuple[int, float]:
    """Return the count of differing pixels, and the median difference of the others."""
    both = np.isfinite(own) & np.isfinite(other)
    gap = np.abs(own[both] - other[both]) / own[both]
    is_near = gap < _FAR_APART
    differing = int((np.isfinite(own) != np.isfinite(other)).sum() + (~is_near).sum())
    return differing, float(np.median(gap[is_near])) if is_near.any() else np.inf


def _difference(found: tuple[int, float] | None) -> str:
    return '-' if found is None else f'{found[0]}; {found[1]:.1e}'


def _add_times(report: Report, title: str, times: dict[str, dict], notes: str) -> None:
    """Add a table with times, and with the others' relative to ours."""
    report.add_table(
        title,
        [
            'picture',
            *CAMERA_ENTRIES,
            *[f'{peer} / ours' for peer in CAMERA_ENTRIES if peer != OURS],
        ],
        [
            [
                name,
                *_cells(row, CAMERA_ENTRIES, lambda value: f'{1e3 * value:.2f}'),
                *_cells(
                    {peer: value / row[OURS] for peer, value in row.items()},
                    [peer for peer in CAMERA_ENTRIES if peer != OURS],
                    lambda value: f'{value:.1f}',
                ),
            ]
            for name, row in times.items()
        ],
        notes,
    )


def _cells(row: dict[str, float], names, text: Callable[[float], str]) -> list[str]:
    return [text(row[name]) if name in row else '-' for name in names]


def _targets(depth: dict, color: dict, threads: dict) -> list[Target]:
    """Return the aims, ours over the others'."""

    def ratio(times: dict, picture: str, peer: str) -> float:
        row = times[picture]
        return row[OURS] / row[peer] if peer in row else np.nan

    lens, small, ball = list(depth)[2:]
    return [
        Target('depth, robot: over Embree', ratio(depth, 'robot', EMBREE), 0.2),
        Target('depth, robot: over MuJoCo', ratio(depth, 'robot', MUJOCO), 0.5),
        Target(f'depth, {lens}: over Embree', ratio(depth, lens, EMBREE), 0.5),
        Target('colour, robot: over MuJoCo', ratio(color, 'robot', MUJOCO), 2.0 / 3.0),
        Target('colour, robot [ms]', 1e3 * color['robot'][OURS], 25.0),
        Target(
            'colour, robot: two threads over one',
            threads['robot'][2] / threads['robot'][1],
            1 / 1.8,
        ),
        Target(f'depth, {small}: over Embree', ratio(depth, small, EMBREE), 2.0),
        Target(f'depth, {ball} [ms]', 1e3 * depth[ball][OURS], 0.1),
    ]
