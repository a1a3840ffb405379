"""A world's visuals and link poses, for `sight`."""

from __future__ import annotations

from collections.abc import Callable
import warnings

import numpy as np

from sim_bridge.description.cameras import CameraDescription
from sim_bridge.description.model import Pose
from sim_bridge.description.poses import facing
from sim_bridge.foreign.appearance import Color
from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import matrix_from_quaternion
from sim_bridge.foundation.validation import finite_vector
from sim_bridge.robots.default_colors import color_of, GROUND
from sim_bridge.robots.link import Link
from sim_bridge.robots.owners import World
from sim_bridge.sensors.camera_pictures import (
    check_output,
    made_renderer,
    optical_frame,
    optics_of,
    picture_of,
)
from sim_bridge.shapes.line import Line
from sim_bridge.shapes.shapes import Plane
from sim_bridge.sight.read_visuals import LinkSource
from sim_bridge.sight.renderer import Renderer
from sim_bridge.sight.scenery import Scenery
from sim_bridge.sight.visual import Visual

_CHECKER: Color = (0.74, 0.74, 0.72, 1.0)


class WorldScenery:
    """A world's visuals as arrays, made again after robots, links or shapes have changed."""

    def __init__(self, world: World) -> None:
        """Start without arrays."""
        self._world = world
        self._scenery: Scenery | None = None
        self._seen: tuple[object, object] = (None, None)
        self._warned: set[str] = set()

    @property
    def scenery(self) -> Scenery:
        """Present visuals."""
        cache = self._world.simulation.cache
        # each change to links and shapes replaces these arrays
        seen = cache.sites, cache.geometry
        if self._scenery is None or any(a is not b for a, b in zip(seen, self._seen, strict=True)):
            self._scenery = Scenery(visuals_of(self._world, self._warn))
            self._seen = seen
        return self._scenery

    def _warn(self, text: str) -> None:
        """Name a visual that cannot be seen, once."""
        if text not in self._warned:
            self._warned.add(text)
            warnings.warn(f'cameras do not see all: {text}', stacklevel=2)


def visuals_of(world: World, warn: Callable[[str], None]) -> list[Visual]:
    """
    Return all visuals; links without visuals show their collision shapes, without sensors.

    warn: called with a text for each visual that cannot be seen. The bodies of the visuals are
    rows of `link_poses`. The instance is the robot's or body's number in the world, from 1.
    """
    return [visual for source in sources_of(world) for visual in source.read(warn)]


def sources_of(
    world: World, rows: Callable[[int], int] = lambda site: site
) -> tuple[LinkSource, ...]:
    """
    Return all links with their visuals, whose files are not yet read.

    rows: the pose row of a link, from its row in `link_poses`.
    """
    return tuple(
        LinkSource(
            robot.name,
            robot.description.links.get(link.name),
            rows(link.slot.site),
            color_of(robot, number),
            number + 1,
            _shapes_of(
                link, rows(link.slot.site), color_of(robot, number), _label_of(link), number + 1
            ),
        )
        for number, robot in enumerate(world.robots.values())
        for link in robot.links
    )


def _label_of(link: Link) -> int:
    """Return a link's semantic label."""
    description = link.robot.description.links.get(link.name)
    return 0 if description is None else description.label


def link_poses(world: World) -> FloatArray:
    """Return (n, 12) link poses at the present state: rotation by rows, origin [m]."""
    return np.ascontiguousarray(world.simulation.observation.sites()[:, :12])


def looking(position: Vector, target: Vector, place: str) -> tuple[FloatArray, FloatArray]:
    """
    Return a sensor frame that looks at a target, upright: origin (3,) and rotation (3, 3).

    position, target: (3,) [m]. place: named in errors. Raises InvalidValueError if the target is
    the position, or a value is not finite.
    """
    eye = finite_vector('position', position, 3, place, '3 finite numbers [m]')
    ahead = finite_vector('target', target, 3, place, '3 finite numbers [m]') - eye
    if not ahead.any():
        raise InvalidValueError('target', target, 'another point than the position', place)
    return eye, facing(ahead)


def picture(
    world: World, position: Vector, target: Vector, camera: CameraDescription, output: str
) -> np.ndarray:
    """Return a picture at the present state, see `World.render`."""
    eye, rotation = looking(position, target, 'World.render')
    check_output(camera, output, 'World.render')
    return Viewpoint(world, camera, Pose(eye, rotation)).render(output)


class Viewpoint:
    """A camera's place in a world without a device there."""

    def __init__(
        self, world: World, camera: CameraDescription, pose: Pose, link: Link | None = None
    ) -> None:
        """Compute the rays. pose: sensor frame on the link; in the world if it is None."""
        self._world, self._camera, self._pose, self._link = world, camera, pose, link
        self._optics = optics_of(camera)
        self._renderer: Renderer | None = None
        self._light = world.surroundings

    def render(self, output: str) -> np.ndarray:
        """Return an output at the present state."""
        scenery, light = self._world.scenery, self._world.surroundings
        if self._renderer is None or self._renderer.scenery is not scenery or self._light != light:
            self._renderer = made_renderer(scenery, light, self._optics, self._camera)
            self._light = light
        link, pose = self._link, self._pose
        sensor = pose if link is None else Pose(link.p, link.R) @ pose
        frame = np.append(sensor.rotation, sensor.position)
        self._renderer.render(optical_frame(frame), link_poses(self._world))
        return picture_of(self._renderer, output, self._camera)


def _shapes_of(
    link: Link, body: int, color: Color, label: int, instance: int
) -> tuple[Visual, ...]:
    return tuple(
        Visual(
            each.shape,
            body,
            matrix_from_quaternion(each.orientation),
            each.position,
            color=(*GROUND, 1.0) if isinstance(each.shape, Plane) else color,
            label=label,
            instance=instance,
            checker=(0.5, _CHECKER) if isinstance(each.shape, Plane) else None,
            name=each.name,
        )
        for each in link.geometries
        if not each.sensor and not isinstance(each.shape, Line)
    )
