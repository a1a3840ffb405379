"""Page data, as plain records."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sim_bridge.foreign.appearance import Color
from sim_bridge.foundation.arrays import FloatArray


class Mesh(NamedTuple):
    """vertices: (n, 3) float32 [m]. triangles: (m, 3) uint32, counterclockwise from outside."""

    vertices: np.ndarray
    triangles: np.ndarray


class MeshFile(NamedTuple):
    """Surface with its appearance, in a file read by the page."""

    path: str


class Part(NamedTuple):
    """
    Surface that moves with a link.

    role: 'visual', 'collision' or 'both'. link: index in `Structure.links`. mesh: index in
    `Structure.meshes`. position (3,) [m], rotation (3, 3): mesh frame in the link's frame. scale:
    (3,) along the mesh's axes, negative for a mirror image. color: default for pieces without one.
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
    """New surface for a mesh, by its index in `Structure.meshes`."""

    mesh: int
    surface: Mesh


class LinkRecord(NamedTuple):
    """
    Link. center: (3,) centre of mass, in its frame [m].

    box: (3,) edges of the box with the same inertia [m], (0, 0, 0) without mass; its axes are the
    columns of principal_axes (3, 3), in the link's frame. motion: 'dynamic' if a movable joint
    is between the link and the world, else 'static' or 'kinematic'.
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
        """Whether a push moves the link."""
        return self.motion == 'dynamic'


class JointRecord(NamedTuple):
    """
    Joint with one axis.

    row: position index in `Frame.q`. v_row: velocity and effort index. link: index of
    its child link in `Structure.links`; axis: (3,) in this link's frame. Missing limits are
    infinite. controls: its command types.
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
    Sensor, with its drawn values.

    link: index in `Structure.links`; position (3,) [m], rotation (3, 3): sensor frame in the link
    frame. kind: 'force' (force and torque, in axes with rotation rotation_of (3, 3) in the frame
    of link_of), 'rays' or ''. row, size: its rows in `Frame.readings`. directions: (n, 3) ray
    directions, in its frame; a single value holds for all rays. reach: greatest distance [m].
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


class CameraRecord(NamedTuple):
    """
    Camera sensor.

    link: index in `Structure.links`; position (3,) [m], rotation (3, 3): optical frame in the link
    frame: z forward, y down. angle: vertical angle of view [rad], of a pinhole of the same focal
    length. aspect: width over height. outputs: names of its pictures.
    """

    name: str
    robot: str
    link: int
    position: FloatArray
    rotation: FloatArray
    angle: float
    aspect: float
    outputs: tuple[str, ...]


class LoopRecord(NamedTuple):
    """
    Constraint joint between points of two links, (3,) in their frames [m].

    Link -1 is the world.
    """

    name: str
    links: tuple[int, int]
    points: tuple[FloatArray, FloatArray]


class BeltRecord(NamedTuple):
    """
    Moving surface: a belt or a track.

    link: index in `Structure.links`. outline: (m, 3) surface path, in the link's frame, in
    the direction of a positive speed; the last point precedes the first. half_width: (3,) from the
    outline to its edge.
    """

    link: int
    outline: FloatArray
    half_width: FloatArray


class Mark(NamedTuple):
    """Event in a recording at a time [s]."""

    time: float
    kind: str
    text: str


class TapeRecord(NamedTuple):
    """Recording: times of its first and last frame [s], and its events."""

    begin: float
    end: float
    marks: tuple[Mark, ...]


class Structure(NamedTuple):
    """
    Scene structure, until parts are added or removed.

    abilities: supported request names (see `Request`). time_step [s]. tape: set for a
    recording. scenery: visuals and lamps, for `Painter`.
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
    cameras: tuple[CameraRecord, ...] = ()
    scenery: bytes = b''

    @property
    def force_scale(self) -> float:
        """
        Force arrow length [m/N].

        The arrow for the heaviest moving robot's weight is 1.5 times the edge of a water cube
        with the same mass.
        """
        masses: dict[str, float] = {}
        for link in self.links:
            if link.is_movable:
                masses[link.robot] = masses.get(link.robot, 0.0) + link.mass
        heaviest = max(masses.values(), default=1.0)
        return float(f'{1.5 * (heaviest / 1000.0) ** (1.0 / 3.0) / (9.81 * heaviest):.2g}')


class Request(NamedTuple):
    """
    Request from the page.

    name: one of `Structure.abilities`. values: its arguments, plain JSON data.
    """

    name: str
    values: dict[str, Any]


class Notice(NamedTuple):
    """
    Message about the simulator, in words.

    kind: 'progress' (of compilation or loading), 'warning', 'error', 'snapshots' (their names in
    `values`), or 'status' (`values` has a line for each part of the simulator, beginning with
    'ok ', 'warning ' or 'error ').
    """

    kind: str
    text: str
    values: tuple[str, ...] = ()
