"""Depths by Embree's rays, one for each pixel, through embreex."""

from __future__ import annotations

from embreex import __version__
from embreex.mesh_construction import TriangleMesh
from embreex.rtcore_scene import EmbreeScene
import numpy as np

from benchmarks.shots import FAR, Shot
from sim_bridge.engine.data.lens import BROWN, PINHOLE
from sim_bridge.engine.image.lens import fill_rays
from sim_bridge.engine.image.make_lens import make_lens

_GROUND = 50.0  # half a side [m]


class EmbreeCamera:
    """Scene in Embree, and the rays of the camera."""

    has_lenses, has_colors = True, False
    version = __version__

    def __init__(self, shot: Shot, samples: int):
        """Build the tree; the rays are computed once, by our lens."""
        del samples
        self._scene = EmbreeScene()
        for each in shot.meshes:
            corners = each.vertices[each.triangles] + np.array(each.position)
            TriangleMesh(self._scene, corners.astype(np.float32))
        a, b, c, d = [
            (x * _GROUND, y * _GROUND, 0.0) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))
        ]
        TriangleMesh(self._scene, np.array([[a, b, c], [a, c, d]], np.float32))
        width, height = shot.size
        rays = np.zeros((height, width, 3))
        middle = 0.5 * (width - 1), 0.5 * (height - 1)
        model = BROWN if shot.distortion else PINHOLE
        fill_rays(make_lens(model, (shot.focal, shot.focal, *middle), shot.distortion), rays)
        rays = rays.reshape(-1, 3) @ shot.axes
        self._shape = (height, width)
        self._ways = np.ascontiguousarray(rays, np.float32)
        self._starts = np.tile(np.array(shot.eye, np.float32), (len(rays), 1))

    def depth(self) -> np.ndarray:
        """Return the depths: rays have length 1 along the axis."""
        found = self._scene.run(self._starts, self._ways, query='DISTANCE').reshape(self._shape)
        return np.where(found < FAR, found, np.inf)
