"""
Pictures from a camera's description and sampled frames.

A sample has the frames of all links and sensors in the world, in rows of 18: rotation by rows, the
origin [m], then angular and linear velocity in world axes.
"""

from __future__ import annotations

import numpy as np

from sim_bridge.description.cameras import CameraDescription, OPTICAL_AXES, PICTURES
from sim_bridge.engine.image.make_lens import make_lens
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import UnknownNameError
from sim_bridge.sight.exposure import draw_of, Exposure
from sim_bridge.sight.lamps import Surroundings
from sim_bridge.sight.optics import Optics
from sim_bridge.sight.renderer import Renderer
from sim_bridge.sight.scenery import Scenery
from sim_bridge.sight.shutter import Motion

POSE_SIZE = 12
FRAME_SIZE = 18
"""Numbers of a frame in a sample: pose, angular and linear velocity."""
_OPTICAL = np.array(OPTICAL_AXES)


def optical_frame(sensor: FloatArray) -> FloatArray:
    """
    Return a sensor frame's optical frame (12,): rotation by rows, origin [m].

    sensor: (12,) the same of the sensor frame; more numbers are ignored.
    """
    rotation = sensor[:9].reshape(3, 3) @ _OPTICAL
    return np.concatenate([rotation.ravel(), sensor[9:POSE_SIZE]])


def expose(renderer: Renderer, frames: FloatArray, site: int, draw: int) -> None:
    """
    Render a picture with the motion during its exposure.

    frames: (n, 18) as in a sample. site: number of the camera's own. draw: from `draw_at`.
    """
    velocities = frames[:, POSE_SIZE:]
    motion = Motion(velocities[site], velocities)
    renderer.render(optical_frame(frames[site]), frames[:, :POSE_SIZE], draw, motion)


def optics_of(camera: CameraDescription) -> Optics:
    """Return a camera's rays: size, lens and clipping distances."""
    model = camera.model
    *intrinsics, skew = camera.pixel_intrinsics
    lens = make_lens(
        model.model,
        intrinsics,
        camera.coefficients,
        skew=skew,
        function=model.function,
        cutoff=camera.cutoff,
    )
    return Optics(camera.width, camera.height, lens, *camera.clip)


def draw_at(key: int, step: int, time_step: float) -> int:
    """Return the number for a picture's noise, from its simulated time; key: the camera's."""
    return draw_of(key, round(step * time_step * 1e9))


def check_output(camera: CameraDescription, output: str, name: str) -> None:
    """Raise UnknownNameError unless the camera has this picture; name: the camera's."""
    known = [each for each in camera.outputs if each in PICTURES]
    if output not in known:
        raise UnknownNameError('output', output, known, f'camera {name!r}')


def made_renderer(
    scenery: Scenery,
    light: Surroundings,
    optics: Optics,
    camera: CameraDescription,
    threads: int = 1,
) -> Renderer:
    """Return a renderer for a camera in a scenery; threads: with the calling one."""
    exposure = Exposure(
        camera.gain,
        camera.image_noise,
        camera.depth_noise,
        camera.exposure_time,
        camera.blur_samples,
        camera.readout,
    )
    return Renderer(scenery, optics, threads, light, camera.samples, exposure)


def picture_of(
    renderer: Renderer, output: str, camera: CameraDescription, out: np.ndarray | None = None
) -> np.ndarray:
    """Return the rendered picture's output, in a new array or in `out`."""
    if output == 'image':
        return renderer.image(camera.format, out)
    if output == 'points':
        return renderer.points(out)
    if output in ('labels', 'instances'):
        found = renderer.labels() if output == 'labels' else renderer.instances()
        if out is None:
            return found
        out[:] = found
        return out
    return renderer.millimetres(out) if camera.depth_format == '16UC1' else renderer.depth(out)
