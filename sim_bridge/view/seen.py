"""
Pictures of camera sensors for the page: `python -m sim_bridge.view.seen SOCKET`.

SOCKET: descriptor for the connection to the page's process. The page sends a `SeenScene` as bytes,
then (camera, output, poses, time) for each picture, and gets back (height, width, 3) uint8.
"""

from __future__ import annotations

from collections.abc import Mapping
from multiprocessing.connection import Connection
import os
import pickle
import sys
from typing import NamedTuple

import numpy as np

from sim_bridge.description.cameras import CameraDescription, OPTICAL_AXES
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.page.records import CameraRecord
from sim_bridge.sensors.camera_pictures import draw_at, made_renderer, optics_of
from sim_bridge.sensors.cameras import CameraSensor
from sim_bridge.sight.lamps import Surroundings
from sim_bridge.sight.read_visuals import LinkSource
from sim_bridge.sight.renderer import Renderer
from sim_bridge.sight.scenery import Scenery
from sim_bridge.world.visuals import sources_of
from sim_bridge.world.world import World

_DARKEST = 0.1  # grey of infinite depth
_OPTICAL = np.array(OPTICAL_AXES)


class SeenCamera(NamedTuple):
    """Camera on a link. row: of the link's pose. position, rotation: its optical frame there."""

    settings: CameraDescription
    noise_key: int
    row: int
    position: FloatArray
    rotation: FloatArray


class SeenScene(NamedTuple):
    """Visuals and lamps, and the cameras by the names of robot and sensor. time_step [s]."""

    sources: tuple[LinkSource, ...]
    light: Surroundings
    cameras: Mapping[tuple[str, str], SeenCamera]
    time_step: float

    @classmethod
    def of(cls, content: bytes) -> SeenScene:
        """Return the scene in bytes from `cameras_of`."""
        found: SeenScene = pickle.loads(content)
        return found


def cameras_of(world: World, places: Mapping[int, int]) -> tuple[tuple[CameraRecord, ...], bytes]:
    """
    Return the page's records for cameras, and a `SeenScene` as bytes; none without cameras.

    places: pose row of each link, by its site.
    """
    records, cameras = [], {}
    for robot in world.robots.values():
        for device in robot.devices(CameraSensor):
            settings, pose = device.settings, device.description.pose
            row, rotation = places[device.link.slot.site], pose.rotation @ _OPTICAL
            focal = settings.pixel_intrinsics[1]
            records.append(
                CameraRecord(
                    device.name,
                    robot.name,
                    row,
                    pose.position,
                    rotation,
                    2.0 * float(np.arctan(0.5 * settings.height / focal)),
                    settings.width / settings.height,
                    tuple(each for each in settings.outputs if each in _PICTURES) or ('image',),
                )
            )
            cameras[robot.name, device.name] = SeenCamera(
                settings, device.noise_key, row, pose.position, rotation
            )
    if not cameras:
        return (), b''
    sources = sources_of(world, places.__getitem__)
    scene = SeenScene(sources, world.surroundings, cameras, world.time_step)
    return tuple(records), pickle.dumps(scene, pickle.HIGHEST_PROTOCOL)


class Pictures:
    """Pictures of one scene."""

    def __init__(self, scene: SeenScene) -> None:
        """Read the visuals; invisible ones were named by the page."""
        self._scene = scene
        visuals = [each for source in scene.sources for each in source.read(lambda _: None)]
        self._scenery = Scenery(visuals)
        self._renderers: dict[tuple[str, str], Renderer] = {}

    def draw(
        self, camera: tuple[str, str], output: str, poses: FloatArray, time: float
    ) -> np.ndarray:
        """Return a picture; poses: (n, 12) links, rotation by rows and origin. time [s]."""
        seen = self._scene.cameras[camera]
        if camera not in self._renderers:
            self._renderers[camera] = made_renderer(
                self._scenery, self._scene.light, optics_of(seen.settings), seen.settings
            )
        renderer = self._renderers[camera]
        link = poses[seen.row, :9].reshape(3, 3)
        place = poses[seen.row, 9:] + link @ seen.position
        step_s = self._scene.time_step
        renderer.render(
            np.append(link @ seen.rotation, place),
            poses,
            draw_at(seen.noise_key, round(time / step_s), step_s),
        )
        return _PICTURES[output](renderer)


def _image(renderer: Renderer) -> np.ndarray:
    return renderer.image('rgb8')


def _depth(renderer: Renderer) -> np.ndarray:
    """Return grey values by inverse depth: white for the nearest surface, black for none."""
    depth = renderer.depth()
    is_seen = np.isfinite(depth)
    found = np.zeros(depth.shape, np.uint8)
    if is_seen.any():
        share = depth[is_seen].min() / depth[is_seen]
        found[is_seen] = np.round(255.0 * (_DARKEST + (1.0 - _DARKEST) * share))
    return np.repeat(found[:, :, None], 3, axis=2)


_PICTURES = {'image': _image, 'depth': _depth}


def main() -> None:
    """Draw pictures until the page's process ends."""
    end = Connection(int(sys.argv[1]))
    # the simulation goes first
    os.nice(5)
    pictures: Pictures | None = None
    try:
        while True:
            message = end.recv()
            if isinstance(message, bytes):
                pictures = Pictures(SeenScene.of(message))
            elif pictures is not None:
                end.send(pictures.draw(*message))
    except EOFError:
        return


if __name__ == '__main__':
    main()
