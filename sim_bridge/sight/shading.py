"""Light at the pixels of an image: translucent layers, shadows, and samples at edges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sim_bridge.engine.data.geometry import PLANE
from sim_bridge.engine.data.lighting import DIRECTIONAL, Lighting, SPOT
from sim_bridge.engine.data.pencil import IGNORED, Mask, SPAN_SIZE
from sim_bridge.engine.image.cover import clear
from sim_bridge.engine.image.edge import average_samples, list_edges, make_samples, mark_edges
from sim_bridge.engine.image.look import gather_rays, see
from sim_bridge.engine.image.make_view import FACES, make_picture
from sim_bridge.engine.image.mask import BOX_SIZE, mark_mask
from sim_bridge.engine.image.pencil import walk
from sim_bridge.engine.image.shade import blend, find_opacity, orient, settle, shade
from sim_bridge.engine.image.shadow import darken, light_points
from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.sight.bands import Band
from sim_bridge.sight.canvas import Canvas, MOST_LAYERS
from sim_bridge.sight.lines import Lines, PLAIN, WITH_PAST
from sim_bridge.sight.optics import Optics
from sim_bridge.sight.scenery import Scenery

_MASK_SIDE = 128
_MOST_LINES = 400_000
"""Lines walked at once."""
_MOST_EDGES = 8192
"""Pixels sampled at once."""
_NARROW = np.cos(np.radians(60.0))
"""Cosine of half a spot's cone that fits into one view."""
_FACE_REACH, _CONE_REACH = 1.0, 1.75
NO_MASK = Mask(np.zeros((0, 0)), np.zeros(SPAN_SIZE))
_NO_PAST = make_picture(0, 0)


@dataclass(frozen=True)
class _Views:
    """
    Pencils from one place.

    frames: (n, 12) world. local: the same in the camera frame, without offset. is_parallel: 0 or
    1. across: as in `Pencil`. reach: greatest |x| and |y|. masks: by pencil.
    """

    frames: FloatArray
    local: FloatArray
    is_parallel: int
    across: float
    reach: float
    masks: tuple[Mask, ...]


class Shading:
    """One scenery at the poses of one picture, under its lamps."""

    def __init__(self, scenery: Scenery, optics: Optics, lighting: Lighting, side: int):
        """Make room; side: of the grid of samples."""
        self._scenery, self._optics, self._lighting, self._side = scenery, optics, lighting, side
        # a lens whose cutoff lies between its pixels has no views
        self._turns = np.array([each.turn.T for each in optics.views]).reshape(-1, 3, 3)
        domains = np.abs([each.domain for each in optics.views]).reshape(-1, 4)
        greatest = domains.max(axis=0, initial=0.0)
        self._reach = float(greatest.max())
        self._across = float(greatest[:2].max() + greatest[2:].max())
        self._seen = np.zeros((len(scenery.boxes.owner), BOX_SIZE))
        self._placed = np.zeros((len(scenery.visuals), 12))
        self._camera = np.zeros((1, 12))
        self._eyes = self._new_views(len(self._turns), 0, self._across, self._reach)
        self._lamps = [self._lamp_views(lamp) for lamp in range(len(lighting.kind))]
        self._are_lamps_ready = False
        is_plane = scenery.geometry.shape == PLANE
        self._planes = np.flatnonzero(is_plane & (scenery.roles.casters != IGNORED))
        self._has_layered_plane = bool(scenery.roles.layered[is_plane].any())
        self._edge = np.zeros((optics.height, optics.width), np.uint8)

    def begin(self, camera: FloatArray, placed: FloatArray) -> None:
        """Take the poses; camera: (1, 12). placed: (n, 12) visuals."""
        self._camera, self._placed, self._are_lamps_ready = camera, placed, False
        rotation, eye = camera[0, :9].reshape(3, 3), camera[0, 9:]
        for row, local, turn in zip(self._eyes.frames, self._eyes.local, self._turns, strict=True):
            row[:9], row[9:] = (rotation @ turn).ravel(), eye
            local[:9] = turn.ravel()
        if self._scenery.roles.has_layers:
            self._mark(self._eyes, self._scenery.roles.layered)

    # --- translucent layers ---

    def peel(self, canvas: Canvas, rows: Band, lines: Lines) -> None:
        """Find the layers before a canvas's surfaces in some rows, and their opacity."""
        for layer in canvas.layers:
            clear(*rows, np.inf, layer.picture)
        past, columns = _NO_PAST, PLAIN
        for number in range(MOST_LAYERS):
            layer = canvas.layer(number)
            roles = self._scenery.roles.layered
            if not self._look(
                canvas, rows, canvas.picture, past, layer.picture, roles, lines, columns
            ):
                break
            past, columns = layer.picture, WITH_PAST
        scenery = self._scenery
        for layer in canvas.layers:
            self._orient(layer, rows)
            find_opacity(
                scenery.geometry,
                self._placed,
                scenery.appearance,
                scenery.paint,
                self._camera,
                layer.rays,
                layer.block,
                *rows,
                layer.picture,
                layer.flat,
                layer.opacity,
            )

    def settle(self, canvas: Canvas, rows: Band, picture: tuple[np.ndarray, ...]) -> None:
        """Copy some rows to a picture, with layers that are at least half opaque."""
        first, end = rows
        for own, out in zip(canvas.picture, picture, strict=True):
            out[first:end] = own[first:end]
        for layer in reversed(canvas.layers):
            settle(*rows, layer.picture, layer.opacity, picture)

    # --- light ---

    def light(self, canvas: Canvas, rows: Band, lines: Lines) -> None:
        """Compute normals and light in some rows, with layers, without samples at edges."""
        self._orient(canvas, rows)
        self._light_surfaces(canvas, rows, lines)
        for layer in reversed(canvas.layers):
            self._light_surfaces(layer, rows, lines)
            blend(*rows, layer.light, layer.opacity, canvas.light)

    def smooth(self, canvas: Canvas, rows: Band, lines: Lines, samples: list[Canvas]) -> None:
        """
        Average samples in pixels at edges in some rows; the whole image has its light.

        samples: scratch for one thread, filled here.
        """
        if not samples:
            rays = np.zeros((_MOST_EDGES * self._side, self._side, 3))
            samples.append(Canvas(rays, self._side))
        first, end = rows
        self._edge[first:end] = 0
        for each in (canvas, *canvas.layers):
            seen = each.picture, each.normal, each.lit
            mark_edges(self._scenery.geometry, *rows, *seen, self._edge)
        pixel = np.zeros((end - first) * canvas.width, np.int32)
        count = list_edges(*rows, self._edge, canvas.rays, pixel)
        for start in range(0, count, _MOST_EDGES):
            batch = min(count - start, _MOST_EDGES)
            self._sample(samples[0], pixel, start, batch, lines)
            average_samples(pixel, start, batch, samples[0].rays, samples[0].light, canvas.light)

    def _sample(
        self, canvas: Canvas, pixel: np.ndarray, start: int, count: int, lines: Lines
    ) -> None:
        """See and light the samples of some pixels."""
        rows = 0, count * self._side
        optics, roles = self._optics, self._scenery.roles
        make_samples(optics.lens, pixel, start, count, optics.width, canvas.rays)
        clear(*rows, np.inf, canvas.picture)
        self._look(
            canvas, rows, canvas.picture, _NO_PAST, canvas.picture, roles.opaque, lines, PLAIN
        )
        if roles.has_layers:
            self.peel(canvas, rows, lines)
        self.light(canvas, rows, lines)

    def _light_surfaces(self, canvas: Canvas, rows: Band, lines: Lines) -> None:
        """Find the lamps that light a canvas's surfaces, and their light."""
        first, end = rows
        canvas.lit[first:end] = 0
        for lamp, views in enumerate(self._lamps):
            for number in range(len(views.frames)):
                self._find_shadows(canvas, rows, lines, lamp, views, number)
        scenery = self._scenery
        shade(
            scenery.geometry,
            self._placed,
            scenery.appearance,
            scenery.paint,
            self._lighting,
            self._camera,
            canvas.rays,
            canvas.block,
            *rows,
            canvas.picture,
            canvas.flat,
            canvas.normal,
            canvas.lit,
            canvas.light,
        )

    def _find_shadows(
        self, canvas: Canvas, rows: Band, lines: Lines, lamp: int, views: _Views, number: int
    ) -> None:
        """Set or clear one lamp's bit for the points in one of its pencils."""
        scenery = self._scenery
        for part in _parts(canvas, rows):
            given = lines.given((part[1] - part[0]) * canvas.width)
            count = light_points(
                self._placed,
                self._planes,
                self._lighting,
                lamp,
                views.frames,
                number,
                views.masks[number],
                self._camera,
                canvas.rays,
                *part,
                canvas.picture,
                canvas.flat,
                canvas.normal,
                given,
                lines.source,
                lines.span,
                canvas.lit,
            )
            if count:
                pencil = lines.pencil(
                    count, is_parallel=bool(views.is_parallel), across=views.across
                )
                self._walk(scenery.roles.casters, views.frames[number], pencil, lines)
                darken(count, pencil, lamp, canvas.lit)

    def _look(
        self,
        canvas: Canvas,
        rows: Band,
        ahead: tuple[np.ndarray, ...],
        past: tuple[np.ndarray, ...],
        picture: tuple[np.ndarray, ...],
        roles: IntArray,
        lines: Lines,
        columns: int,
    ) -> int:
        """Find the nearest surfaces behind `past` and before `ahead`; return how many rays hit."""
        found, far = 0, self._optics.far
        # planes have no box
        is_masked = roles is self._scenery.roles.layered and not self._has_layered_plane
        for number, frame in enumerate(self._eyes.frames):
            mask = self._eyes.masks[number] if is_masked else NO_MASK
            for part in _parts(canvas, rows):
                given = lines.given((part[1] - part[0]) * canvas.width, columns)
                count = gather_rays(
                    canvas.rays,
                    *part,
                    self._eyes.local,
                    number,
                    far,
                    ahead,
                    past,
                    mask,
                    given,
                    lines.source,
                    lines.span,
                )
                if count:
                    pencil = lines.pencil(count, columns, across=self._across)
                    self._walk(roles, frame, pencil, lines)
                    found += see(count, pencil, canvas.rays, self._eyes.local, number, picture)
        return found

    def _walk(
        self, roles: IntArray, frame: FloatArray, pencil: tuple[object, ...], lines: Lines
    ) -> None:
        scenery = self._scenery
        walk(
            scenery.geometry,
            self._placed,
            roles,
            scenery.cones,
            scenery.appearance.opacity,
            scenery.paint,
            frame[None],
            pencil,
            lines.corners,
        )

    def _orient(self, canvas: Canvas, rows: Band) -> None:
        scenery = self._scenery
        orient(
            scenery.geometry,
            self._placed,
            scenery.appearance,
            self._camera,
            canvas.rays,
            *rows,
            canvas.picture,
            canvas.flat,
            canvas.normal,
        )

    # --- lamps ---

    def prepare(self) -> None:
        """Aim the lamps' pencils, once for each picture; before threads share them."""
        if self._are_lamps_ready:
            return
        eye = self._camera[0, 9:]
        for lamp, views in enumerate(self._lamps):
            if views.is_parallel:
                views.frames[:, 9:] = eye
            if self._lighting.casts[lamp]:
                self._mark(views, self._scenery.roles.casters)
        self._are_lamps_ready = True

    def _lamp_views(self, lamp: int) -> _Views:
        """Return a lamp's pencils: one along its direction, or one for each cube face."""
        lighting = self._lighting
        position, direction = lighting.place[lamp, :3], lighting.place[lamp, 3:]
        is_parallel = lighting.kind[lamp] == DIRECTIONAL
        is_narrow = lighting.kind[lamp] == SPOT and lighting.cone[lamp, 1] > _NARROW
        if is_parallel or is_narrow:
            turns, reach = _along(direction)[None], _CONE_REACH
        else:
            turns, reach = np.swapaxes(FACES, 1, 2), _FACE_REACH
        # points are seen up to the farthest depth, in the widest direction
        most = np.nanmax(np.linalg.norm(self._optics.rays, axis=2), initial=1.0)
        across = 2.0 * self._optics.far * float(most) if is_parallel else 2.0 * reach
        views = self._new_views(len(turns), int(is_parallel), across, reach)
        views.frames[:, :9] = turns.reshape(-1, 9)
        views.frames[:, 9:] = position
        if lighting.casts[lamp]:
            return views
        return _Views(
            views.frames[:1], views.local[:1], views.is_parallel, across, reach, (NO_MASK,)
        )

    def _new_views(self, count: int, is_parallel: int, across: float, reach: float) -> _Views:
        masks = tuple(
            Mask(np.zeros((_MASK_SIDE, _MASK_SIDE)), np.zeros(SPAN_SIZE)) for _ in range(count)
        )
        frames, local = np.zeros((2, count, 12))
        return _Views(frames, local, is_parallel, across, reach, masks)

    def _mark(self, views: _Views, roles: IntArray) -> None:
        """Draw the boxes around surfaces with a role into the masks."""
        for frame, mask in zip(views.frames, views.masks, strict=True):
            mark_mask(
                *self._scenery.boxes,
                self._placed,
                roles,
                frame[None],
                views.is_parallel,
                views.reach,
                self._seen,
                mask,
            )


def _parts(canvas: Canvas, rows: Band) -> Iterator[Band]:
    """Yield parts of some rows, with bounded memory for their lines."""
    step = max(_MOST_LINES // canvas.width, 1)
    for first in range(rows[0], rows[1], step):
        yield first, min(first + step, rows[1])


def _along(direction: FloatArray) -> FloatArray:
    """Return a rotation whose z axis is a unit direction."""
    least = np.eye(3)[np.argmin(np.abs(direction))]
    x = np.cross(least, direction)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(direction, x), direction])
