"""Pictures by `sim_bridge.sight`."""

from __future__ import annotations

import numpy as np

from benchmarks.shots import FAR, Shot, SUN
import sim_bridge as sb
from sim_bridge.engine.data.lens import BROWN, PINHOLE
from sim_bridge.engine.image.make_lens import make_lens
from sim_bridge.foreign.appearance import Piece
from sim_bridge.sight.lamps import Lamp, Surroundings
from sim_bridge.sight.optics import Optics
from sim_bridge.sight.renderer import Renderer
from sim_bridge.sight.scenery import Scenery
from sim_bridge.sight.visual import Visual


class SimBridgeCamera:
    """Renderer on one or several threads."""

    has_lenses, has_colors = True, True
    version = 'here'

    def __init__(self, shot: Shot, samples: int, threads: int = 1):
        """Build the scenery."""
        visuals = [
            Visual(Piece(each.vertices, each.triangles), position=np.array(each.position))
            for each in shot.meshes
        ]
        (width, height), focal = shot.size, shot.focal
        lens = make_lens(
            BROWN if shot.distortion else PINHOLE,
            (focal, focal, 0.5 * (width - 1), 0.5 * (height - 1)),
            shot.distortion,
        )
        self._renderer = Renderer(
            Scenery([*visuals, Visual(sb.Plane())]),
            Optics(width, height, lens, near=0.001, far=FAR),
            threads,
            Surroundings(lamps=(Lamp(direction=SUN),)),
            samples,
        )
        self._camera = np.concatenate([shot.axes.T.ravel(), shot.eye])
        self._poses = np.zeros((0, 12))

    def depth(self) -> np.ndarray:
        """Return the depths."""
        self._renderer.render(self._camera, self._poses)
        return self._renderer.depth()

    def color(self) -> np.ndarray:
        """Return the image."""
        self._renderer.render(self._camera, self._poses)
        return self._renderer.image('rgb8')
