"""Points where geometries touch or nearly touch, found without a step: with frames on both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np

from sim_bridge.foundation.attributes import ReadOnly
from sim_bridge.foundation.names import counted
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.interfaces import RobotInterface
from sim_bridge.robots.link import Link


class ContactFrame(NamedTuple):
    """
    Placement of a contact frame in the world or in a link.

    p: (3,) origin [m]. R: (3, 3) rotation, takes vectors in the frame's axes to those of the world
    or the link; its columns are x, y and z. z is the contact's normal.
    """

    p: np.ndarray
    R: np.ndarray


@dataclass(frozen=True, eq=False)
class ContactPoint:
    """
    A pair of witness points of two geometries. All vectors are (3,), in world axes.

    point_a, point_b: on the surface of each geometry [m]. normal: unit vector from b to a. gap:
    signed distance along the normal, negative inside [m]: point_a - point_b = gap normal.
    frame_a, frame_b: at these points, in the world; both have the same axes: z is the normal, x
    and y an arbitrary pair that changes as little as possible with z. placement_a, placement_b:
    the same frames in the links' axes, at the time of the query.
    """

    geometry_a: Geometry
    geometry_b: Geometry
    point_a: np.ndarray
    point_b: np.ndarray
    normal: np.ndarray
    gap: float
    frame_a: ContactFrame
    frame_b: ContactFrame
    placement_a: ContactFrame
    placement_b: ContactFrame

    link_a = ReadOnly[Link]('geometry_a.link', 'The link of the first geometry.')
    link_b = ReadOnly[Link]('geometry_b.link', 'The link of the second geometry.')
    robot_a = ReadOnly[RobotInterface]('geometry_a.link.robot', 'The robot of the first geometry.')
    robot_b = ReadOnly[RobotInterface](
        'geometry_b.link.robot', 'The robot of the second geometry.')

    @property
    def position(self) -> np.ndarray:
        """(3,) midway between both points [m], world."""
        return 0.5 * (self.point_a + self.point_b)

    def __repr__(self) -> str:
        """Show the geometries' links and the gap."""
        links = (self.link_b, self.link_a)
        names = ' to '.join(f'{link.robot.name}/{link.name}' for link in links)
        return f'<ContactPoint: {names}, gap {self.gap + 0.0:.3g} m>'


class ContactPoints(Sequence[ContactPoint]):
    """
    Points found by `World.find_contacts` or `World.find_distances`; also as arrays.

    points_a, points_b, normals: (n, 3), gaps: (n,), as in `ContactPoint`. axes: (n, 3, 3) the
    rotations of the contact frames. indices: (n, 2) places of both geometries in
    `world.geometries`. A slice is another `ContactPoints`.
    """

    __slots__ = ('_points', 'axes', 'gaps', 'indices', 'normals', 'points_a', 'points_b')

    def __init__(self, points: Sequence[ContactPoint]):
        """Collect points of one world."""
        self._points = list(points)
        self.indices = np.array(
            [(each.geometry_a.index, each.geometry_b.index) for each in points],
            np.int64).reshape(-1, 2)
        self.points_a = _stacked([each.point_a for each in points])
        self.points_b = _stacked([each.point_b for each in points])
        self.normals = _stacked([each.normal for each in points])
        self.axes = np.array([each.frame_a.R for each in points], float).reshape(-1, 3, 3)
        self.gaps = np.array([each.gap for each in points], float)

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self._points)

    @overload
    def __getitem__(self, index: int) -> ContactPoint: ...

    @overload
    def __getitem__(self, index: slice) -> ContactPoints: ...

    def __getitem__(self, index: int | slice) -> ContactPoint | ContactPoints:
        """Return a point, or several."""
        if isinstance(index, slice):
            return ContactPoints(self._points[index])
        return self._points[index]

    def __iter__(self) -> Iterator[ContactPoint]:
        """Iterate over the points."""
        return iter(self._points)

    def __repr__(self) -> str:
        """Show the number of points and the least gap."""
        least = f', least gap {self.gaps.min() + 0.0:.3g} m' if len(self) else ''
        return f'<ContactPoints: {counted(len(self), "point")}{least}>'

    def patches(self) -> list[ContactPoints]:
        """Return the points of each pair of geometries: the corners of its contact patch."""
        ends = np.flatnonzero(np.diff(self.indices, axis=0).any(axis=1)) + 1
        bounds = [0, *ends.tolist(), len(self)] if len(self) else []
        return [self[first:end] for first, end in zip(bounds, bounds[1:], strict=False)]


def contact_points(
    geometries: Sequence[Geometry], indices: np.ndarray, points_a: np.ndarray,
    points_b: np.ndarray, normals: np.ndarray, gaps: np.ndarray,
) -> ContactPoints:
    """
    Return points of geometries with their frames.

    geometries: of the world. indices: (n, 2) in these. The other arrays are those of
    `ContactPoints`.
    """
    axes = contact_axes(normals)
    poses = {number: geometries[number].link for number in np.unique(indices).tolist()}
    placed = {number: (link.R, link.p) for number, link in poses.items()}

    def frames(side: int, points: np.ndarray, row: int) -> tuple[ContactFrame, ContactFrame]:
        R, p = placed[int(indices[row, side])]
        here = ContactFrame(points[row], axes[row])
        return here, ContactFrame(R.T @ (here.p - p), R.T @ here.R)

    found = []
    for row, (a, b) in enumerate(indices.tolist()):
        frame_a, placement_a = frames(0, points_a, row)
        frame_b, placement_b = frames(1, points_b, row)
        found.append(ContactPoint(
            geometries[a], geometries[b], points_a[row], points_b[row], normals[row],
            float(gaps[row]), frame_a, frame_b, placement_a, placement_b))
    return ContactPoints(found)


def contact_axes(normals: np.ndarray) -> np.ndarray:
    """
    Return (n, 3, 3) rotations with z along normals (n, 3), and the x of the engine's contacts.

    See `engine.contact.prepare.any_tangent`.
    """
    x = np.zeros_like(normals)
    is_steep = np.abs(normals[:, 2]) > 0.7071
    x[is_steep, 1], x[is_steep, 2] = -normals[is_steep, 2], normals[is_steep, 1]
    x[~is_steep, 0], x[~is_steep, 1] = -normals[~is_steep, 1], normals[~is_steep, 0]
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return np.stack([x, np.cross(normals, x), normals], axis=2)


def _stacked(vectors: list[np.ndarray]) -> np.ndarray:
    return np.array(vectors, float).reshape(-1, 3)
