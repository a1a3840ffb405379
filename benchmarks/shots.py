"""Pictures for the cameras in all engines: meshes of a real robot on the ground, one lamp."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.urdf import example_robot
from sim_bridge.foreign.appearance import read_appearance

FAR = 10.0
"""Greatest depth in a picture [m]."""
SUN = (0.3, 0.4, -1.0)
"""Light direction."""
_ROW = 6  # meshes side by side
_SPACING = 0.25  # m
_CORNER = (-0.6, -0.4, 0.3)  # place of the first mesh [m]
_DISTORTION = (-0.28, 0.09, 0.0011, -0.0007, -0.01)
_BALL = (21, 25)  # rings and sectors, 1 000 triangles


@dataclass(frozen=True)
class Mesh:
    """Mesh at a place. vertices: (n, 3) float32 [m]. triangles: (m, 3). position: world [m]."""

    vertices: np.ndarray
    triangles: np.ndarray
    position: tuple[float, float, float]


@dataclass(frozen=True)
class Shot:
    """
    One picture of meshes above the ground, the plane z = 0.

    eye, target: [m]. size: width and height [px]. focal: focal length [px]; the principal point is
    the middle. distortion: k1 k2 p1 p2 k3, empty for a pinhole.
    """

    meshes: tuple[Mesh, ...]
    eye: tuple[float, float, float]
    target: tuple[float, float, float]
    size: tuple[int, int]
    focal: float
    distortion: tuple[float, ...] = ()

    @property
    def axes(self) -> np.ndarray:
        """Rows: the camera's right, down and forward axis, world."""
        ahead = np.subtract(self.target, self.eye)
        ahead /= np.linalg.norm(ahead)
        right = np.cross(ahead, (0.0, 0.0, 1.0))
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(ahead, right), ahead])

    @property
    def vertical_angle(self) -> float:
        """Vertical view angle [rad]."""
        return 2.0 * float(np.arctan(0.5 * self.size[1] / self.focal))


def shots(scale: float = 1.0) -> dict[str, Shot]:
    """Return the shots by name; scale: factor for their sizes."""
    parts = _cassie()
    away = {'eye': (0.0, -2.2, 1.2), 'target': (0.0, 0.0, 0.3)}
    close = {'eye': (-0.1, -0.75, 0.55), 'target': (-0.1, 0.0, 0.3)}
    ball = (_ball((-0.1, 0.0, 0.3)),)

    def size(width: int, height: int) -> dict:
        return {
            'size': (round(scale * width), round(scale * height)),
            'focal': scale * 500.0 * width / 640.0,
        }

    return {
        'robot': Shot(parts, **away, **size(640, 480)),
        'robot, close': Shot(parts, **close, **size(640, 480)),
        'robot, close, plumb_bob': Shot(parts, **close, **size(640, 480), distortion=_DISTORTION),
        'robot, 64 x 64': Shot(parts, **away, **size(64, 64)),
        '1000 triangles, 64 x 64': Shot(ball, **close, **size(64, 64)),
    }


def _cassie() -> tuple[Mesh, ...]:
    """Return Cassie's 13 meshes, side by side."""
    folder = example_robot('cassie_description/meshes')
    found = []
    for number, path in enumerate(sorted(folder.glob('*.stl'))):
        [piece] = read_appearance(path).pieces
        place = (_SPACING * (number % _ROW), _SPACING * (number // _ROW), 0.0)
        x, y, z = np.add(_CORNER, place).tolist()
        found.append(Mesh(piece.vertices, piece.triangles.astype(np.int64), (x, y, z)))
    return tuple(found)


def _ball(position: tuple[float, float, float]) -> Mesh:
    """Return a ball, 0.15 m in radius."""
    rings, sectors = _BALL
    polar, turn = np.meshgrid(
        np.linspace(0.0, np.pi, rings), np.arange(sectors) * 2.0 * np.pi / sectors, indexing='ij'
    )
    across = np.sin(polar)
    vertices = 0.15 * np.stack(
        [across * np.cos(turn), across * np.sin(turn), np.cos(polar)], axis=-1
    )
    ring, sector = np.meshgrid(np.arange(rings - 1), np.arange(sectors), indexing='ij')
    a, b = ring * sectors + sector, ring * sectors + (sector + 1) % sectors
    quads = np.stack([a, a + sectors, b + sectors, b], axis=-1).reshape(-1, 4)
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    return Mesh(vertices.reshape(-1, 3).astype(np.float32), triangles, position)
