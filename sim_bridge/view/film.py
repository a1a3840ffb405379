"""Pictures and films from tapes, without a display."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from sim_bridge.foreign.appearance import Piece, read_appearance
from sim_bridge.foreign.reader_process import ReadingError
from sim_bridge.foundation.errors import extra_hint, MissingPackageError
from sim_bridge.page import records
from sim_bridge.page.poses import Poses
from sim_bridge.page.tape import AWAY, extent, Moment, Take, Tape
from sim_bridge.view.picture import ANGLE, Part, save, Stage, View

_CORNERS = 4  # vertex count in the square drawn for a plane


class Camera:
    """Fixed camera for tape pictures; everything that moves is in view."""

    def __init__(self, tape: Tape, pixels: tuple[int, int]):
        """Choose the camera position; pixels: width and height."""
        self._tape = tape
        center, size = extent(tape)
        # the bounding sphere fits, with a margin
        distance = 0.75 * size / np.sin(0.5 * ANGLE) / min(1.0, pixels[0] / pixels[1])
        self._view = View(center + distance * AWAY / np.linalg.norm(AWAY), center, pixels)
        self._stage: Stage | None = None
        self._parts: list[records.Part] = []
        self._take = -1

    def at(self, time: float) -> Stage:
        """Return the stage at a time [s]; raises MissingPackageError without VTK."""
        number, moment = self._tape.at(time)
        take = self._tape.takes[number]
        if self._stage is None or number != self._take:
            self.close()
            surfaces = drawn(take)
            self._parts = [part for part, _ in surfaces]
            self._take, self._stage = number, Stage([each for _, each in surfaces], self._view)
        for k, (rotation, position) in enumerate(places(self._parts, take.moments[moment])):
            self._stage.place(k, rotation, position)
        return self._stage

    def close(self) -> None:
        """Release the stage."""
        if self._stage is not None:
            self._stage.close()
            self._stage = None


def drawn(take: Take) -> list[tuple[records.Part, Part]]:
    """
    Return a take's drawn surfaces, each in its mesh frame, with the part's record.

    Links with unreadable mesh files are drawn by their collision shapes.
    """
    structure = take.structure
    appearances = [_read(mesh) for mesh in structure.meshes]
    bare = {part.link for part in structure.parts if appearances[part.mesh] is None}
    found = []
    for part in structure.parts:
        if part.role == 'collision' and part.link not in bare:
            continue
        for piece in appearances[part.mesh] or ():
            found.append(
                (
                    part,
                    Part(
                        part.name,
                        piece.vertices.astype(float) * part.scale,
                        piece.triangles.astype(np.int64),
                        _faded(piece.mean_color or part.color, part.color[3]),
                        len(piece.vertices) == _CORNERS,
                    ),
                )
            )
    return found


def _read(mesh: records.Mesh | records.MeshFile) -> tuple[Piece, ...] | None:
    """Return a mesh's pieces; None for an unreadable file."""
    if isinstance(mesh, records.Mesh):
        return (Piece(mesh.vertices, mesh.triangles),)
    try:
        return read_appearance(mesh.path).pieces
    except (OSError, ReadingError):
        return None


def _faded(color: records.Color, opacity: float) -> records.Color:
    return (*color[:3], min(color[3], opacity))


def places(parts: list[records.Part], moment: Moment) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return each part's rotation (3, 3) and position (3,) [m]."""
    poses, links = Poses(moment.poses), np.array([part.link for part in parts], int)
    return list(
        zip(
            poses.turned(links, np.array([part.rotation for part in parts]).reshape(-1, 3, 3)),
            poses.points(links, np.array([part.position for part in parts]).reshape(-1, 3)),
            strict=True,
        )
    )


def write_picture(tape: Tape, time: float, pixels: tuple[int, int], file: Path) -> None:
    """Write a PNG file; raises MissingPackageError without VTK, OSError."""
    camera = Camera(tape, pixels)
    try:
        save(camera.at(time), file)
    finally:
        camera.close()


def write_film(
    tape: Tape,
    rate: float,
    speed: float,
    pixels: tuple[int, int],
    file: Path,
    progress: Callable[[float], None] = lambda time: None,
) -> None:
    """
    Write an MP4 file (H.264).

    rate: pictures per film second [Hz]. speed: tape seconds per film second. pixels: even
    numbers. progress: called with each picture's time [s]. Raises MissingPackageError without
    VTK or imageio-ffmpeg, OSError if the file cannot be written.
    """
    try:
        from imageio_ffmpeg import write_frames
    except ImportError as err:
        raise MissingPackageError('a film', extra_hint('film')) from err
    camera = Camera(tape, pixels)
    # check here that the file is writable: imageio-ffmpeg would only report an ended process
    with file.open('wb'):
        pass
    film = write_frames(
        str(file),
        pixels,
        fps=rate,
        codec='libx264',
        macro_block_size=2,
        quality=7,
        ffmpeg_log_level='error',
    )
    film.send(None)
    try:
        count = max(1, round((tape.end - tape.begin) / speed * rate) + 1)
        for time in tape.begin + np.arange(count) * (speed / rate):
            film.send(camera.at(min(float(time), tape.end)).pixels())
            progress(float(time))
    finally:
        film.close()
        camera.close()
