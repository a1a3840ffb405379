"""Pictures: a scenery seen through a camera."""

from __future__ import annotations

import numpy as np

from sim_bridge.engine.image.cover import clear, cover, finish, POLYGON_SIZE
from sim_bridge.engine.image.depth import fill_depth, fill_millimetres, fill_points
from sim_bridge.engine.image.encode import fill_bayer, fill_colors, fill_mono8, fill_mono16
from sim_bridge.engine.image.make_view import make_picture
from sim_bridge.engine.image.shade import shade, smooth_edges
from sim_bridge.engine.image.sightline import place_visuals
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.srgb import srgb_from_linear
from sim_bridge.sight.bands import Band, Bands
from sim_bridge.sight.lamps import Surroundings
from sim_bridge.sight.optics import Optics
from sim_bridge.sight.scenery import Scenery

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
_ALL = np.zeros(0, np.int64)


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
    ):
        """
        Compute the camera's rays.

        threads: at least 1, with the calling one. surroundings: lamps and sky; None: the default
        ones. samples: colour samples in pixels at edges: 1, 4, 9 or 16.
        """
        if samples not in _GRIDS:
            raise InvalidValueError('samples', samples, 'one of 1, 4, 9, 16')
        if threads < 1:
            raise InvalidValueError('threads', threads, 'an integer from 1')
        self.scenery, self.optics = scenery, optics
        self.picture = make_picture(optics.width, optics.height)
        """Distance, visual and face seen by each pixel, see `engine.data.picture`."""
        self._bands = Bands(optics.height, threads, _ROWS)
        self._polygons = [np.zeros((POLYGON_SIZE, 3)) for _ in range(self._bands.threads)]
        self._rays = optics.rays
        self._lighting = (surroundings or Surroundings()).arrays()
        self._side = _GRIDS[samples]
        self._camera = np.zeros((1, 12))
        count, shape = len(scenery.visuals), (optics.height, optics.width, 3)
        self._placed, self._balls = np.zeros((count, 12)), np.zeros((count, 4))
        self._light, self._normals = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self._lit = np.zeros(shape[:2], np.int32)
        self._is_shaded = False

    @property
    def visual(self) -> np.ndarray:
        """(height, width) int32 visual seen by each pixel, -1 for none; until the next picture."""
        return self.picture.item

    def render(self, camera: FloatArray, poses: FloatArray) -> None:
        """
        Find the surface seen by each pixel.

        camera: (12,) optical frame in the world: rotation by rows, origin [m]; z
        forward, x right, y down. poses: (n, 12) body poses in the same layout. Raises
        InvalidValueError for arrays with other shapes or numbers that are not finite.
        """
        camera = np.ascontiguousarray(camera, float).reshape(1, -1)
        poses = np.ascontiguousarray(poses, float)
        if camera.shape != (1, 12) or not np.isfinite(camera).all():
            raise InvalidValueError('camera', camera, '12 finite numbers')
        if poses.ndim != 2 or poses.shape[1] != 12 or len(poses) < self.scenery.bodies:
            raise InvalidValueError(
                'poses', f'array of shape {poses.shape}', f'({self.scenery.bodies}, 12) numbers'
            )
        geometry, optics = self.scenery.geometry, self.optics
        self._camera, self._is_shaded = camera, False
        place_visuals(geometry, poses, self._placed, self._balls)

        def work(thread: int, band: Band) -> None:
            clear(*band, optics.far, self.picture)
            for view in optics.views:
                cover(
                    geometry,
                    poses,
                    camera,
                    _ALL,
                    optics.lens,
                    view,
                    *band,
                    self.picture,
                    self._polygons[thread],
                )
            for view in optics.views:
                finish(*band, optics.lens, view, self.picture)

        self._bands.run(work)

    def depth(self, out: np.ndarray | None = None) -> np.ndarray:
        """Return (height, width) float32 depth along the optical axis [m], see `fill_depth`."""
        found = self._array(np.float32, out)
        near, rays = self.optics.near, self._rays
        self._bands.run(lambda _, band: fill_depth(*band, self.picture, rays, near, found))
        return found

    def millimetres(self, out: np.ndarray | None = None) -> np.ndarray:
        """Return (height, width) uint16 depth [mm], 0 for none, see `fill_millimetres`."""
        found = self._array(np.uint16, out)
        near, rays = self.optics.near, self._rays
        self._bands.run(lambda _, band: fill_millimetres(*band, self.picture, rays, near, found))
        return found

    def points(self, out: np.ndarray | None = None) -> np.ndarray:
        """
        Return (height, width, 3) float32 points in the optical frame [m], nan for none.

        out: (height, width, 3) or wider; further columns stay as they are.
        """
        found = self._array(np.float32, out, 3 if out is None else out.shape[-1])
        near, rays = self.optics.near, self._rays
        self._bands.run(lambda _, band: fill_points(*band, self.picture, rays, near, found))
        return found

    def image(self, encoding: str = 'rgb8', out: np.ndarray | None = None) -> np.ndarray:
        """
        Return the image in one of `ENCODINGS`; raises InvalidValueError for another one.

        Shape (height, width, channels) or (height, width), uint8, for mono16 uint16.
        """
        if encoding not in ENCODINGS:
            raise InvalidValueError('encoding', encoding, f'one of {", ".join(ENCODINGS)}')
        light = self.light()
        if encoding in _COLORS:
            red, channels = _COLORS[encoding]
            found = self._array(np.uint8, out, channels)
            self._bands.run(lambda _, band: fill_colors(*band, light, _TONE, red, found))
        elif encoding in _BAYER:
            place, found = _BAYER[encoding], self._array(np.uint8, out)
            self._bands.run(lambda _, band: fill_bayer(*band, light, _TONE, *place, found))
        elif encoding == 'mono16':
            found = self._array(np.uint16, out)
            self._bands.run(lambda _, band: fill_mono16(*band, light, _TONE, found))
        else:
            found = self._array(np.uint8, out)
            self._bands.run(lambda _, band: fill_mono8(*band, light, _TONE, found))
        return found

    def light(self) -> np.ndarray:
        """Return (height, width, 3) float32 linear light; until the next picture."""
        self._shade()
        return self._light

    def normals(self) -> np.ndarray:
        """Return (height, width, 3) float32 unit normals towards the camera, world; 0: none."""
        self._shade()
        return self._normals

    def _shade(self) -> None:
        """Compute light and normals, once for each picture."""
        if self._is_shaded:
            return
        scenery, optics = self.scenery, self.optics
        scene = (
            scenery.geometry,
            self._placed,
            self._balls,
            scenery.appearance,
            scenery.paint,
            self._lighting,
            self._camera,
        )

        def work(_: int, band: Band) -> None:
            shade(*scene, self._rays, *band, self.picture, self._light, self._normals, self._lit)

        def smooth(_: int, band: Band) -> None:
            smooth_edges(
                *scene,
                optics.lens,
                self._rays,
                *band,
                self.picture,
                self._normals,
                self._lit,
                self._side,
                optics.far,
                self._light,
            )

        self._bands.run(work)
        if self._side > 1:
            self._bands.run(smooth)
        self._is_shaded = True

    def labels(self) -> np.ndarray:
        """Return (height, width) uint16 semantic label by pixel, 0 for background."""
        return self._of_visuals(self.scenery.label)

    def instances(self) -> np.ndarray:
        """Return (height, width) uint16 instance by pixel, 0 for none."""
        return self._of_visuals(self.scenery.instance)

    def close(self) -> None:
        """End the threads."""
        self._bands.close()

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
