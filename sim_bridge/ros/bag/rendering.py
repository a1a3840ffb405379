"""Pictures from recorded runs: by the recorded cameras, or by other ones, in the replay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from sim_bridge.description.model import SensorDescription
from sim_bridge.description.report import DescriptionError, Findings
from sim_bridge.description.sensor_kinds import CAMERA
from sim_bridge.description.yaml.file import read_mapping
from sim_bridge.description.yaml.sensors import sensors_from_mapping
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.ros.bag.replay import replay, Verdict
from sim_bridge.sensors.camera_pictures import check_output
from sim_bridge.sensors.cameras import CameraSensor
from sim_bridge.sensors.step_and_sample import UNSAMPLED
from sim_bridge.view.camera_files import CameraPicture
from sim_bridge.world.visuals import Viewpoint
from sim_bridge.world.world import World

Take = Callable[[CameraPicture], None]

_WORLD = 'world'
# of a period; a step's time is rounded to nanoseconds
_ROUNDING = 1e-6


def render(
    bag: str | Path,
    camera: str,
    output: str,
    take: Take,
    progress: Callable[[float], None] = lambda time_s: None,
) -> Verdict:
    """
    Replay a bag, and render a camera's pictures at its update rate.

    camera: recorded camera by name, 'eye' or 'robot/eye'; or a YAML file with one camera, in the
    form of the parameter `sensors`. output: 'image', 'depth' or 'points'.

    Raises ReplayError as `replay`, UnknownNameError for an unknown camera, link or output,
    DescriptionError for a wrong file.
    """
    eye = _Added(_described(camera), output, take) if _is_file(camera) else None
    watch = (eye or _Recorded(camera, output, take)).look
    return replay(bag, progress, watch)


def _is_file(camera: str) -> bool:
    return Path(camera).suffix.lower() in ('.yaml', '.yml')


def _described(file: str) -> SensorDescription:
    """Return the camera in a file; raises DescriptionError, InvalidValueError."""
    findings = Findings()
    content = read_mapping(Path(file), findings)
    if content is None:
        raise DescriptionError(findings.report(file))
    sensors = sensors_from_mapping(content, file)  # type: ignore[arg-type]
    if len(sensors) != 1 or sensors[0].kind is not CAMERA:
        found = ', '.join(f'{each.name} ({each.kind.word})' for each in sensors) or 'no sensor'
        raise InvalidValueError('camera', found, 'one camera', file)
    return sensors[0]


class _Recorded:
    """A camera that took part in the recorded run."""

    def __init__(self, name: str, output: str, take: Take) -> None:
        self._name, self._output, self._take = name, output, take
        self._step = UNSAMPLED

    def look(self, world: World, time: float) -> None:
        """Take a picture of each new sample."""
        device = self._device(world)
        check_output(device.settings, self._output, device.name)
        if device.sample_step not in (UNSAMPLED, self._step):
            self._take(_picture(world, time, getattr(device, self._output), device.description))
        self._step = device.sample_step

    def _device(self, world: World) -> CameraSensor:
        known = {
            name: device
            for robot in world.robots.values()
            for device in robot.devices(CameraSensor)
            for name in (f'{robot.name}/{device.name}', device.name)
        }
        if self._name not in known:
            raise UnknownNameError('camera', self._name, known, 'the recording')
        return known[self._name]


class _Added:
    """A camera that the recorded run did not have."""

    def __init__(self, description: SensorDescription, output: str, take: Take) -> None:
        check_output(description.settings, output, description.name)
        self._description, self._output, self._take = description, output, take
        rate = description.update_rate
        self._period = 1.0 / rate if rate > 0.0 else 0.0
        self._count = 0
        self._view: Viewpoint | None = None

    def look(self, world: World, time: float) -> None:
        """Take a picture in each period."""
        if time < (self._count - _ROUNDING) * self._period:
            return
        self._count += 1
        if self._view is None:
            self._view = self._viewpoint(world)
        pixels = self._view.render(self._output)
        self._take(_picture(world, time, pixels, self._description))

    def _viewpoint(self, world: World) -> Viewpoint:
        own = self._description
        if own.link in ('', _WORLD):
            return Viewpoint(world, own.settings, own.pose)
        robot, _, name = own.link.rpartition('/')
        links = {
            name: link
            for each in world.robots.values()
            for link in each.links
            for name in (f'{each.name}/{link.name}', link.name)
            if not robot or each.name == robot
        }
        if own.link not in links:
            raise UnknownNameError('link', own.link, links, f'camera {own.name!r}')
        return Viewpoint(world, own.settings, own.pose, links[own.link])


def _picture(
    world: World, time: float, pixels: np.ndarray, camera: SensorDescription
) -> CameraPicture:
    rate = camera.update_rate or 1.0 / world.time_step
    return CameraPicture(time, pixels, camera.settings.format, rate)
