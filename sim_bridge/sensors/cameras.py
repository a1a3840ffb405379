"""
Cameras: devices that keep their sample's poses, and render them when a picture is read.

A sample has the frames of all links and sensors in the world, in rows of 18: rotation by rows, the
origin [m], then angular and linear velocity in world axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_bridge.description.camera_info import camera_info
from sim_bridge.description.cameras import BOXES, CameraDescription, frame_name
from sim_bridge.description.model import SensorDescription
from sim_bridge.description.sensor_kinds import CAMERA
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import StateError, UnknownNameError
from sim_bridge.sensors.camera_pictures import (
    check_output,
    draw_at,
    expose,
    FRAME_SIZE,
    made_renderer,
    optical_frame,
    optics_of,
    picture_of,
    POSE_SIZE,
)
from sim_bridge.sensors.devices import Device, Memory, Saved
from sim_bridge.sensors.noise import noise_generator
from sim_bridge.sensors.step_and_sample import UNSAMPLED
from sim_bridge.sight.boxes import BoxFinder, ObjectBox
from sim_bridge.sight.lamps import Surroundings
from sim_bridge.sight.optics import Optics
from sim_bridge.sight.renderer import Renderer

Kept = tuple[tuple[str, ...], int, Memory, FloatArray, int]
"""A sample: frames, the camera's own one, the arrays with values, and the step."""


class CameraSensor(Device):
    """
    A camera: image, depth, points, labels and boxes for the visuals in its pixels.

    A picture is rendered when it is read, from the poses at the last sample, and kept until the
    next one. When bodies are added or removed, the camera has no picture until it samples again.

    The optical frame has z forward, x right and y down; pixel centres are whole numbers.
    """

    __slots__ = (
        '_boxes',
        '_finder',
        '_info',
        '_is_rendered',
        '_is_taken_back',
        '_light',
        '_noise_key',
        '_optics',
        '_pictures',
        '_rendered',
        '_renderer',
        '_robot_name',
        '_site',
        '_sites',
    )
    internal_names = Device.internal_names | {
        'keep_poses',
        'kept',
        'take_back',
        'frames',
        'key_for',
        'noise_key',
        'optical_pose',
        'optics',
        'poses',
        'settings',
        'site',
    }

    kind_of_class = CAMERA

    def __init__(self, description: SensorDescription, *arguments: Any):
        """Set the device up; arguments: as in `Device`."""
        super().__init__(description, *arguments)
        self._info = camera_info(description.settings)
        _, robot_name, seed, *_ = arguments
        self._robot_name = robot_name
        self._noise_key = self.key_for(seed)
        self._optics: Optics | None = None
        self._renderer: Renderer | None = None
        self._finder: BoxFinder | None = None
        self._boxes: tuple[ObjectBox, ...] | None = None
        self._light: Surroundings | None = None
        self._site = 0
        self._sites: tuple[str, ...] = ()
        self._is_taken_back = self._is_rendered = False
        self._pictures: dict[str, np.ndarray] = {}
        self._rendered = UNSAMPLED

    def keep_poses(self, sites: tuple[str, ...], own: int) -> None:
        """
        Make room for all link and sensor frames, and drop the sample.

        sites: names of the frames. own: number of the camera's frame. A sample from `take_back`
        stays, if the frames are the same.
        """
        is_same = self._is_taken_back and sites == self._sites
        self._site, self._sites, self._is_taken_back = own, sites, False
        if is_same:
            return
        size = FRAME_SIZE * len(sites)
        if self.memory.sample.shape[1] != size:
            # fixed for users alone: the device table, which has the address, is being rebuilt
            self._set_memory(Memory(np.full((2, size), np.nan), self.memory.step))
        self.memory.step[0] = UNSAMPLED
        self._forget()

    def kept(self) -> Kept:
        """Return the sample for `take_back`."""
        return self._sites, self._site, self.memory, self.memory.sample.copy(), self.sample_step

    def take_back(self, kept: Kept, *, is_joined_anew: bool) -> None:
        """
        Return to a sample after a failed addition.

        is_joined_anew: whether `keep_poses` follows.
        """
        self._sites, self._site, memory, sample, step = kept
        self._set_memory(memory)
        memory.sample[:], memory.step[0] = sample, step
        self._is_taken_back = is_joined_anew
        self._forget()

    def _set_memory(self, memory: Memory) -> None:
        object.__setattr__(self, 'memory', memory)

    @property
    def site(self) -> int:
        """Number of the camera's own frame among the poses."""
        return self._site

    @property
    def settings(self) -> CameraDescription:
        """The camera's description."""
        settings: CameraDescription = self.description.settings
        return settings

    @property
    def frame_id(self) -> str:
        """The pictures' frame: the declared one, else the optical frame."""
        settings = self.settings
        return self.description.frame_id or frame_name(settings, self.name, settings.outputs[0])

    @property
    def K(self) -> FloatArray:
        """(3, 3) intrinsics [px]."""
        return self._info.K

    @property
    def D(self) -> FloatArray:
        """Distortion coefficients in OpenCV's order; none for lenses that OpenCV lacks."""
        return self._info.D

    @property
    def P(self) -> FloatArray:
        """(3, 4) projection, as published in camera_info [px]."""
        return self._info.P

    @property
    def rays(self) -> FloatArray:
        """
        (height, width, 3) each pixel's direction in the optical frame; nan for none.

        z is 1 for pinhole, plumb_bob and rational_polynomial; other lenses have unit vectors.
        """
        return self.optics.rays

    @property
    def time(self) -> float:
        """The sample's simulated time [s], nan before the first."""
        step = self.sample_step
        return float('nan') if step == UNSAMPLED else step * self.time_step

    @property
    def image(self) -> np.ndarray:
        """
        Colours in the camera's format: (height, width, channels), or (height, width) for one.

        uint8; uint16 with mono16. Raises StateError before the first sample.
        """
        return self._picture('image')

    @property
    def depth(self) -> np.ndarray:
        """
        (height, width) depth along the optical axis.

        float32 [m]: -inf before the near plane, inf where nothing is seen; uint16 [mm] with
        `depth_format` 16UC1, 0 in both cases. Raises StateError before the first sample.
        """
        return self._picture('depth')

    @property
    def points(self) -> np.ndarray:
        """
        (height, width, 3) float32 points in the optical frame [m], nan where depth is infinite.

        Raises StateError before the first sample.
        """
        return self._picture('points')

    @property
    def labels(self) -> np.ndarray:
        """
        (height, width) uint16 semantic labels, 0 for background.

        Raises StateError before the first sample.
        """
        return self._picture('labels')

    @property
    def instances(self) -> np.ndarray:
        """
        (height, width) uint16 objects: 1 for the first robot or body in the world, 0 for none.

        Raises StateError before the first sample.
        """
        return self._picture('instances')

    @property
    def boxes(self) -> tuple[ObjectBox, ...]:
        """
        Boxes around all objects with a label in the picture.

        Raises StateError before the first sample, UnknownNameError without this output.
        """
        if BOXES not in self.settings.outputs:
            raise UnknownNameError('output', BOXES, self.settings.outputs, f'camera {self.name!r}')
        renderer = self._rendered_sample()
        if self._boxes is None:
            if self._finder is None:
                self._finder = BoxFinder(renderer.scenery, self.optics)
            self._boxes = self._finder.find(
                renderer.visual, self.optical_pose, self.poses, list(self.link.robot.world.robots)
            )
        return self._boxes

    @property
    def frames(self) -> FloatArray:
        """(n, 18) all link and sensor frames at the sample, with velocities."""
        return self.memory.sample[0].reshape(-1, FRAME_SIZE)

    @property
    def poses(self) -> FloatArray:
        """(n, 12) all link and sensor frames at the sample."""
        return self.frames[:, :POSE_SIZE]

    @property
    def optical_pose(self) -> FloatArray:
        """(12,) optical frame at the sample."""
        return optical_frame(self.poses[self.site])

    def reset(self, seed: int) -> None:
        """Forget the sample, and restart the noise."""
        super().reset(seed)
        self._noise_key = self.key_for(seed)
        self._forget()

    def save(self) -> Saved:
        """Return the sample, for `restore`."""
        measured, truth = self.memory.sample.copy()
        return self.sample_step, {'poses': (measured, truth, None)}

    def restore(self, saved: Saved) -> None:
        """Restore a sample from `save`; one with another frame count is dropped."""
        step, values = saved
        measured, truth, _ = values['poses']
        if len(measured) != self.memory.sample.shape[1]:
            step = UNSAMPLED
        else:
            self.memory.sample[:] = measured, truth
        self.memory.step[0] = step
        self._forget()

    @property
    def optics(self) -> Optics:
        """The camera's rays, computed once."""
        if self._optics is None:
            self._optics = optics_of(self.settings)
        return self._optics

    def render(self, output: str = 'image') -> np.ndarray:
        """
        Return an output at the present state, independent from samples; a new array.

        Raises UnknownNameError for an unknown output.
        """
        check_output(self.settings, output, self.name)
        renderer = self._present_renderer()
        # the renderer no longer has the sample's picture
        self._forget()
        sites = self.link.robot.world.simulation.observation.sites()
        step = self.link.robot.world.simulation.run.step_count
        expose(renderer, sites[:, :FRAME_SIZE], self.site, self._draw(step))
        return picture_of(renderer, output, self.settings)

    def _picture(self, output: str) -> np.ndarray:
        """Return the last sample's output, rendered unless it is known."""
        check_output(self.settings, output, self.name)
        renderer = self._rendered_sample()
        if output not in self._pictures:
            self._pictures[output] = picture_of(renderer, output, self.settings)
        return self._pictures[output]

    def _rendered_sample(self) -> Renderer:
        """Return the renderer with the last sample; raises StateError before the first."""
        step = self.sample_step
        if step == UNSAMPLED:
            raise StateError(f'camera {self.name!r} has no sample yet; step the world')
        if step != self._rendered:
            self._forget()
        renderer = self._present_renderer()
        if not self._is_rendered:
            expose(renderer, self.frames, self.site, self._draw(step))
            self._rendered, self._is_rendered = step, True
        return renderer

    def _forget(self) -> None:
        """Forget the pictures of the last sample."""
        self._pictures.clear()
        self._boxes, self._is_rendered = None, False

    @property
    def noise_key(self) -> int:
        """Number of the camera in its world, for `sight.exposure.draw_of`."""
        return self._noise_key

    def key_for(self, seed: int) -> int:
        """Return the camera's noise key in a world with another seed."""
        generator = noise_generator(seed, self._robot_name, self.name, 'pixels')
        return int(generator.integers(1 << 63))

    def _draw(self, step: int) -> int:
        return draw_at(self._noise_key, step, self.time_step)

    def _present_renderer(self) -> Renderer:
        """Return the renderer for present scenery and light; drop pictures from another one."""
        world = self.link.robot.world
        scenery, light = world.scenery, world.surroundings
        if self._renderer is None or self._renderer.scenery is not scenery or self._light != light:
            self._renderer = made_renderer(scenery, light, self.optics, self.settings)
            self._light = light
            self._finder = None
            self._forget()
        return self._renderer
