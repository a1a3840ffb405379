"""Pictures: a scenery seen through a camera."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sim_bridge.compiler.calls import Call
from sim_bridge.engine.image.cover import clear, cover, finish
from sim_bridge.engine.image.depth import fill_depth, fill_millimetres, fill_points
from sim_bridge.engine.image.encode import fill_bayer, fill_colors, fill_mono8, fill_mono16
from sim_bridge.engine.image.make_view import make_picture
from sim_bridge.engine.image.place import place_visuals
from sim_bridge.engine.image.shade import orient
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.srgb import srgb_from_linear
from sim_bridge.sight.bands import Band, Bands
from sim_bridge.sight.canvas import Canvas
from sim_bridge.sight.exposure import Exposure
from sim_bridge.sight.flow import flow_of
from sim_bridge.sight.lamps import Surroundings
from sim_bridge.sight.lines import Lines
from sim_bridge.sight.optics import Optics
from sim_bridge.sight.scenery import Scenery
from sim_bridge.sight.shading import Shading
from sim_bridge.sight.shutter import Motion, moved, Shutter

_GRIDS = {1: 1, 4: 2, 9: 3, 16: 4}
# (place of red, channels) and places of red in Bayer squares
_COLORS = {'rgb8': (0, 3), 'bgr8': (2, 3), 'rgba8': (0, 4), 'bgra8': (2, 4)}
_BAYER = {
    'bayer_rggb8': (0, 0),
    'bayer_grbg8': (0, 1),
    'bayer_gbrg8': (1, 0),
    'bayer_bggr8': (1, 1),
}
ENCODINGS = (*_COLORS, 'mono8', 'mono16', *_BAYER)
_TONE = np.round(255.0 * srgb_from_linear(np.linspace(0.0, 1.0, 4096))).astype(np.uint8)
_ROWS = 32  # in a band
_PLAIN = Exposure()


class Renderer:
    """
    One scenery seen through one camera, on one or several threads with the same bits.

    `render` finds the surface seen by each pixel. The other methods then compute images from it,
    each into a new array or into `out`. A renderer belongs to one thread at a time.
    """

    def __init__(
        self,
        scenery: Scenery,
        optics: Optics,
        threads: int = 1,
        surroundings: Surroundings | None = None,
        samples: int = 4,
        exposure: Exposure = _PLAIN,
    ):
        """
        Compute the camera's rays.

        threads: at least 1, with the calling one. surroundings: lamps and sky; None: the default
        ones. samples: colour samples in pixels at edges: 1, 4, 9 or 16. exposure: gain, noise
        and times.
        """
        if samples not in _GRIDS:
            raise InvalidValueError('samples', samples, 'one of 1, 4, 9, 16')
        if threads < 1:
            raise InvalidValueError('threads', threads, 'an integer from 1')
        self.scenery, self.optics = scenery, optics
        self._canvas = Canvas(optics.rays, optics.height)
        has_layers = scenery.roles.has_layers
        self.picture = (
            make_picture(optics.width, optics.height) if has_layers else self._canvas.picture
        )
        """Distance, visual and face seen by each pixel, see `engine.data.picture`."""
        self._bands = Bands(optics.height, threads, _ROWS)
        self._lines = [Lines(scenery.geometry) for _ in range(self._bands.threads)]
        self._samples: list[list[Canvas]] = [[] for _ in range(self._bands.threads)]
        self._rays = optics.rays
        self._side = _GRIDS[samples]
        lighting = (surroundings or Surroundings()).arrays()
        self._shading = Shading(scenery, optics, lighting, self._side)
        self._camera, self._poses = np.zeros((1, 12)), np.zeros((scenery.bodies, 12))
        # at the middle of the exposure, and the present instant from there [s]
        self._middle, self._velocities = np.zeros((0, 12)), np.zeros((0, 6))
        self._instant = 0.0
        self._shutter = Shutter(exposure, optics.height)
        self._at_once = Shutter(_PLAIN, optics.height)
        self._instants = self._at_once
        self._placed = np.zeros((len(scenery.visuals), 12))
        self._place = place_visuals.prepare(scenery.geometry, self._poses, self._placed)
        self._covers: dict[tuple[int, Band], list[Call]] = {}
        self._is_shaded = False
        self._exposure = exposure
        self._image_noise, self._depth_noise = exposure.image_noise(0), exposure.depth_noise(0)

    @property
    def visual(self) -> np.ndarray:
        """(height, width) int32 visual seen by each pixel, -1 for none; until the next picture."""
        return self.picture.item

    def render(
        self, camera: FloatArray, poses: FloatArray, draw: int = 0, motion: Motion | None = None
    ) -> None:
        """
        Find the surface seen by each pixel.

        camera: (12,) optical frame in the world: rotation by rows, origin [m]; z
        forward, x right, y down. poses: (n, 12) body poses in the same layout, at
        mid-exposure. draw: from `exposure.draw_of`, for the noise. motion: for blur
        and a rolling shutter; None: all at rest. Raises InvalidValueError for arrays with other
        shapes or numbers that are not finite.
        """
        camera, poses = self._checked(camera, poses)
        self._is_shaded = False
        self._instants = self._at_once
        if motion is not None and not self._shutter.has_one_instant:
            self._velocities = self._checked_motion(motion)
            self._instants = self._shutter
        self._middle = np.vstack([camera, poses])
        self._pose(0.0)
        self._image_noise = self._exposure.image_noise(draw)
        self._depth_noise = self._exposure.depth_noise(draw)
        self._see(0.0)

    def _pose(self, time: float) -> None:
        """Place all at an instant, from mid-exposure [s]."""
        poses = self._middle if time == 0.0 else moved(self._middle, self._velocities, time)
        np.copyto(self._camera, poses[:1])
        np.copyto(self._poses, poses[1:])
        self._instant = time
        self._place()
        self._shading.begin(self._camera, self._placed)

    def _rows_at(self, time: float) -> Iterator[Band]:
        """Yield bands of rows, with all placed at their instants; time: from their middles [s]."""
        for rows, middle in self._instants.rows:
            if middle + time != self._instant:
                self._pose(middle + time)
            yield rows

    def _see(self, time: float) -> None:
        """Find the surfaces; time: from each row's middle instant [s]."""
        for rows in self._rows_at(time):
            self._bands.run(self._see_rows, rows)

    def _see_rows(self, thread: int, band: Band) -> None:
        """Find the surfaces in some rows."""
        if (thread, band) not in self._covers:
            self._covers[thread, band] = self._prepare(thread, band)
        for call in self._covers[thread, band]:
            call()
        if self.scenery.roles.has_layers:
            self._shading.peel(self._canvas, band, self._lines[thread])
            self._shading.settle(self._canvas, band, self.picture)

    def _prepare(self, thread: int, band: Band) -> list[Call]:
        """Return the calls that cover some rows: arguments cost more than a small picture."""
        scenery, optics, picture = self.scenery, self.optics, self._canvas.picture
        place = scenery.geometry, self._poses, self._camera, scenery.roles.opaque, scenery.cones
        corners = self._lines[thread].corners
        return [
            clear.prepare(*band, optics.far, picture),
            *(
                cover.prepare(*place, optics.lens, view, *band, picture, corners)
                for view in optics.views
            ),
            *(finish.prepare(*band, optics.lens, view, picture) for view in optics.views),
        ]

    def depth(self, out: np.ndarray | None = None) -> np.ndarray:
        """Return (height, width) float32 depth along the optical axis [m], see `fill_depth`."""
        found = self._array(np.float32, out)
        seen = self.picture, self._rays, self.optics.near, self._depth_noise
        self._bands.run(lambda _, band: fill_depth(*band, *seen, found))
        return found

    def millimetres(self, out: np.ndarray | None = None) -> np.ndarray:
        """Return (height, width) uint16 depth [mm], 0 for none, see `fill_millimetres`."""
        found = self._array(np.uint16, out)
        seen = self.picture, self._rays, self.optics.near, self._depth_noise
        self._bands.run(lambda _, band: fill_millimetres(*band, *seen, found))
        return found

    def points(self, out: np.ndarray | None = None) -> np.ndarray:
        """
        Return (height, width, 3) float32 points in the optical frame [m], nan for none.

        out: (height, width, 3) or wider; further columns stay as they are.
        """
        found = self._array(np.float32, out, 3 if out is None else out.shape[-1])
        seen = self.picture, self._rays, self.optics.near, self._depth_noise
        self._bands.run(lambda _, band: fill_points(*band, *seen, found))
        return found

    def image(self, encoding: str = 'rgb8', out: np.ndarray | None = None) -> np.ndarray:
        """
        Return the image in one of `ENCODINGS`; raises InvalidValueError for another one.

        Shape (height, width, channels) or (height, width), uint8, for mono16 uint16.
        """
        if encoding not in ENCODINGS:
            raise InvalidValueError('encoding', encoding, f'one of {", ".join(ENCODINGS)}')
        light = self.light(), self._exposure.gain, _TONE, self._image_noise
        if encoding in _COLORS:
            red, channels = _COLORS[encoding]
            found = self._array(np.uint8, out, channels)
            self._bands.run(lambda _, band: fill_colors(*band, *light, red, found))
        elif encoding in _BAYER:
            place, found = _BAYER[encoding], self._array(np.uint8, out)
            self._bands.run(lambda _, band: fill_bayer(*band, *light, *place, found))
        elif encoding == 'mono16':
            found = self._array(np.uint16, out)
            self._bands.run(lambda _, band: fill_mono16(*band, *light, found))
        else:
            found = self._array(np.uint8, out)
            self._bands.run(lambda _, band: fill_mono8(*band, *light, found))
        return found

    def light(self) -> np.ndarray:
        """Return (height, width, 3) float32 linear light; until the next picture."""
        if not self._is_shaded:
            self._shade()
        return self._canvas.light

    def normals(self) -> np.ndarray:
        """Return (height, width, 3) float32 unit normals towards the camera, world; 0: none."""
        flat, found = np.zeros((2, self.optics.height, self.optics.width, 3), np.float32)
        geometry, appearance = self.scenery.geometry, self.scenery.appearance
        place = geometry, self._placed, appearance, self._camera, self._rays
        for rows in self._rows_at(0.0):
            self._bands.run(lambda _, band: orient(*place, *band, self.picture, flat, found), rows)
        return found

    def _shade(self) -> None:
        """Compute the light: the mean over the exposure's samples."""
        times = self._instants.samples
        if len(times) == 1:
            self._light_at(times[0])
        else:
            total = np.zeros(self._canvas.light.shape)
            for time in times:
                self._see(time)
                self._light_at(time)
                total += self._canvas.light
            self._canvas.light[:] = total / len(times)
            # depths and labels belong to mid-exposure
            self._see(0.0)
        self._is_shaded = True

    def _light_at(self, time: float) -> None:
        """Compute the light on the surfaces seen; time: as for `_see`."""
        shading, canvas, lines = self._shading, self._canvas, self._lines
        for rows in self._rows_at(time):
            shading.prepare()
            self._bands.run(lambda thread, band: shading.light(canvas, band, lines[thread]), rows)
        if self._side > 1:
            for rows in self._rows_at(time):
                shading.prepare()
                self._bands.run(
                    lambda thread, band: shading.smooth(
                        canvas, band, lines[thread], self._samples[thread]
                    ),
                    rows,
                )

    def labels(self) -> np.ndarray:
        """Return (height, width) uint16 semantic label by pixel, 0 for background."""
        return self._of_visuals(self.scenery.label)

    def instances(self) -> np.ndarray:
        """Return (height, width) uint16 instance by pixel, 0 for none."""
        return self._of_visuals(self.scenery.instance)

    def flow(self, camera: FloatArray, poses: FloatArray) -> np.ndarray:
        """
        Return (height, width, 2) float32 pixels that surfaces moved right and down since then.

        camera, poses: at an earlier instant, as for `render`. nan: see `flow_of`.
        """
        camera, poses = self._checked(camera, poses)
        found = np.full((self.optics.height, self.optics.width, 2), np.nan, np.float32)
        for first, end in self._rows_at(0.0):
            found[first:end] = flow_of(
                self.scenery.geometry,
                self.optics,
                self.picture,
                (self._camera[0], self._poses),
                (camera[0], poses),
                (first, end),
            )[first:end]
        return found

    def close(self) -> None:
        """End the threads."""
        self._bands.close()

    def _checked(self, camera: FloatArray, poses: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the camera's pose (1, 12) and the bodies' poses; raises as `render`."""
        camera = np.ascontiguousarray(camera, float).reshape(1, -1)
        poses = np.ascontiguousarray(poses, float)
        if camera.shape != (1, 12) or not np.isfinite(camera).all():
            raise InvalidValueError('camera', camera, '12 finite numbers')
        if poses.ndim != 2 or poses.shape[1] != 12 or len(poses) < self.scenery.bodies:
            raise InvalidValueError(
                'poses', f'array of shape {poses.shape}', f'({self.scenery.bodies}, 12) numbers'
            )
        return camera, poses[: self.scenery.bodies]

    def _checked_motion(self, motion: Motion) -> FloatArray:
        """Return the velocities (1 + n, 6), the camera's first; raises as `render`."""
        camera = np.asarray(motion.camera, float).reshape(1, -1)
        bodies = np.asarray(motion.bodies, float)
        count = self.scenery.bodies
        if bodies.ndim != 2 or bodies.shape[1] != 6 or len(bodies) < count or camera.size != 6:
            raise InvalidValueError(
                'motion', f'array of shape {bodies.shape}', f'({count}, 6) numbers, and 6'
            )
        return np.vstack([camera, bodies[:count]])

    def _of_visuals(self, values: np.ndarray) -> np.ndarray:
        """Return a number for each pixel; values: (n,) by visual; 0 without visual."""
        return np.append(values, 0).astype(np.uint16)[self.picture.item]

    def _array(self, dtype: type, out: np.ndarray | None, *columns: int) -> np.ndarray:
        """Return `out`, checked, or a new array."""
        shape = (self.optics.height, self.optics.width, *columns)
        if out is None:
            return np.empty(shape, dtype)
        if out.shape != shape or out.dtype != dtype:
            raise InvalidValueError(
                'out',
                f'{out.dtype} array of shape {out.shape}',
                f'{np.dtype(dtype).name} array of shape {shape}',
            )
        return out
