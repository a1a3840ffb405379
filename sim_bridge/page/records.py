"""What the page is told of a simulation, as plain data."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sim_bridge.foundation.arrays import FloatArray

Color = tuple[float, float, float, float]
"""Red, green, blue, opacity, each 0 to 1."""


class Mesh(NamedTuple):
    """vertices: (n, 3) float32 [m]. triangles: (m, 3) uint32, counterclockwise from outside."""

    vertices: np.ndarray
    triangles: np.ndarray


class MeshFile(NamedTuple):
    """A surface and what it looks like, in a file that the page reads."""

    path: str


class Part(NamedTuple):
    """
    A surface that moves with a link.

    role: 'visual', 'collision' or 'both'. link: its place in `Structure.links`. mesh: in
    `Structure.meshes`. position (3,), rotation (3, 3): of the mesh in the link's frame. scale:
    (3,) along the mesh's axes, negative where it mirrors. color: of what has none of its own.
    """

    role: str
    name: str
    link: int
    mesh: int
    position: FloatArray
    rotation: FloatArray
    scale: tuple[float, float, float]
    color: Color


class Reshaping(NamedTuple):
    """Another surface for a mesh of `Structure.meshes`, by its number."""

    mesh: int
    surface: Mesh


class LinkRecord(NamedTuple):
    """
    A link. center: (3,) centre of mass, in its frame [m].

    box: (3,) edges of the box with the same inertia [m], (0, 0, 0) without mass; its axes are the
    columns of principal_axes (3, 3), in the link's frame. motion: 'dynamic' where a joint that can
    move is between it and the world, else 'static' or 'kinematic'.
    """

    name: str
    robot: str
    mass: float
    center: FloatArray
    box: FloatArray
    principal_axes: FloatArray
    motion: str

    @property
    def is_movable(self) -> bool:
        """Whether a push moves it."""
        return self.motion == 'dynamic'


class JointRecord(NamedTuple):
    """
    A joint with one axis.

    row: of its position in `Frame.q`. v_row: of its velocity and effort. link: its child link's
    place in `Structure.links`; axis: (3,) in that link's frame. Limits are infinite where there
    are none. controls: the names of what can be commanded.
    """

    name: str
    robot: str
    row: int
    v_row: int
    link: int
    axis: FloatArray
    is_turning: bool
    lower: float
    upper: float
    velocity: float
    effort: float
    controls: tuple[str, ...]


class SensorRecord(NamedTuple):
    """
    A sensor, and what of its values is drawn.

    link: the place of what carries it in `Structure.links`; position (3,), rotation (3, 3): its
    frame there. kind: 'force' (force and torque on it, in axes that are rotation_of (3, 3) in the
    frame of link_of), 'rays' or ''. row, size: of its values in `Frame.readings`. directions:
    (n, 3) of rays, in its frame; where there is one value, it is that of all. reach: the greatest
    distance [m].
    """

    name: str
    robot: str
    kind: str
    link: int
    position: FloatArray
    rotation: FloatArray
    link_of: int
    rotation_of: FloatArray
    row: int
    size: int
    directions: FloatArray
    reach: float


class LoopRecord(NamedTuple):
    """
    A joint beside the tree, between points of two links, (3,) in their frames [m].

    Where a link is -1, it is the world.
    """

    name: str
    links: tuple[int, int]
    points: tuple[FloatArray, FloatArray]


class BeltRecord(NamedTuple):
    """
    A surface that runs: a belt or a track.

    link: its place in `Structure.links`. outline: (m, 3) what it runs along, in the link's frame,
    in the order in which it goes at a positive speed; the last point is before the first.
    half_width: (3,) from there to its edge, across.
    """

    link: int
    outline: FloatArray
    half_width: FloatArray


class Mark(NamedTuple):
    """Something that happened in a recording at a time [s]."""

    time: float
    kind: str
    text: str


class TapeRecord(NamedTuple):
    """A recording: times of its first and last frame [s], and what happened."""

    begin: float
    end: float
    marks: tuple[Mark, ...]


class Structure(NamedTuple):
    """
    What there is to see, until something is added or removed.

    abilities: names of the requests that the simulator takes (see `Request`). time_step [s]. tape:
    of a recording.
    """

    title: str
    meshes: tuple[Mesh | MeshFile, ...]
    parts: tuple[Part, ...]
    links: tuple[LinkRecord, ...]
    joints: tuple[JointRecord, ...]
    signals: tuple[str, ...]
    time_step: float
    abilities: frozenset[str]
    sensors: tuple[SensorRecord, ...] = ()
    loops: tuple[LoopRecord, ...] = ()
    belts: tuple[BeltRecord, ...] = ()
    tape: TapeRecord | None = None

    @property
    def force_scale(self) -> float:
        """
        Length of arrows of forces [m/N].

        The weight of the heaviest robot that moves is half as long again as the edge of a cube of
        water that weighs as much.
        """
        masses: dict[str, float] = {}
        for link in self.links:
            if link.is_movable:
                masses[link.robot] = masses.get(link.robot, 0.0) + link.mass
        heaviest = max(masses.values(), default=1.0)
        return float(f'{1.5 * (heaviest / 1000.0) ** (1.0 / 3.0) / (9.81 * heaviest):.2g}')


class Request(NamedTuple):
    """
    A wish of somebody at the page.

    name: one of `Structure.abilities`; values: its arguments, plain JSON data.
    """

    name: str
    values: dict[str, Any]


class Notice(NamedTuple):
    """
    What the page tells about the simulator, in words.

    kind: 'progress' (what is being compiled or loaded), 'warning', 'error', 'snapshots' (their
    names in `values`), or 'status' (in `values` a line for each part of the simulator, which
    begins with 'ok ', 'warning ' or 'error ').
    """

    kind: str
    text: str
    values: tuple[str, ...] = ()
