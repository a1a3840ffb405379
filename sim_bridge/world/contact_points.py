"""Points where geometries touch or nearly touch, with contact frames, found without a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple, overload

import numpy as np

from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly
from sim_bridge.foundation.names import counted
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.link import Link
from sim_bridge.robots.robot import Robot


class ContactFrame(NamedTuple):
    """
    Contact frame pose in the world or in a link.

    p: (3,) origin [m]. R: (3, 3) rotation, takes vectors in the frame's axes to the axes of the
    world or link; its columns are x, y and z. z is the contact normal.
    """

    p: np.ndarray
    R: np.ndarray


@dataclass(frozen=True, eq=False)
class ContactPoint:
    """
    A pair of witness points of two geometries. All vectors are (3,), in world axes.

    point_a, point_b: on each geometry's surface [m]. normal: unit vector from b to a. gap:
    signed distance along the normal, negative for overlap [m]: point_a - point_b = gap normal.
    frame_a, frame_b: contact frames at these points, in the world. Both have the same axes: z is
    the normal; x and y are an arbitrary pair that changes as little as possible with z.
    placement_a, placement_b: the same frames in link axes, at query time.
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
    robot_a = ReadOnly[Robot]('geometry_a.link.robot', 'The robot of the first geometry.')
    robot_b = ReadOnly[Robot]('geometry_b.link.robot', 'The robot of the second geometry.')

    @property
    def position(self) -> np.ndarray:
        """(3,) midpoint between both points [m], world."""
        return 0.5 * (self.point_a + self.point_b)

    def __repr__(self) -> str:
        """Show the links and the gap."""
        links = (self.link_b, self.link_a)
        names = ' to '.join(f'{link.robot.name}/{link.name}' for link in links)
        return f'<ContactPoint: {names}, gap {self.gap + 0.0:.3g} m>'


class _Kept(NamedTuple):
    """Arrays for n points; placement arrays are (n, 2, …), for a and b."""

    indices: np.ndarray
    points_a: np.ndarray
    points_b: np.ndarray
    normals: np.ndarray
    gaps: np.ndarray
    axes: np.ndarray
    origins_in_links: np.ndarray
    axes_in_links: np.ndarray


class ContactPoints(DeclaredAttributes, Sequence[ContactPoint]):
    """
    Points found by `World.find_contacts` or `World.find_distances`; also as arrays.

    points_a, points_b, normals: (n, 3), gaps: (n,), as in `ContactPoint`. axes: (n, 3, 3) contact
    frame rotations. indices: (n, 2) indices of both geometries in `world.geometries`. Indexing
    with a slice, an index list or array, or a mask returns another `ContactPoints`.
    """

    __slots__ = ('_geometries', '_kept')

    indices = ReadOnly[np.ndarray]('_kept.indices', '(n, 2) indices in `world.geometries`.')
    points_a = ReadOnly[np.ndarray]('_kept.points_a', '(n, 3) points on a [m], world.')
    points_b = ReadOnly[np.ndarray]('_kept.points_b', '(n, 3) points on b [m], world.')
    normals = ReadOnly[np.ndarray]('_kept.normals', '(n, 3) normals from b to a, world axes.')
    gaps = ReadOnly[np.ndarray]('_kept.gaps', '(n,) gaps [m], negative for overlap.')
    axes = ReadOnly[np.ndarray]('_kept.axes', '(n, 3, 3) contact frame rotations, world.')

    def __init__(self, geometries: Sequence[Geometry], kept: _Kept):
        """Store points between a world's geometries; only `World` calls this."""
        self._geometries, self._kept = geometries, kept

    @classmethod
    def of(cls, points: Sequence[ContactPoint], geometries: Sequence[Geometry]) -> ContactPoints:
        """Collect single points; geometries: all in their world."""

        def stacked(name: str, *shape: int) -> np.ndarray:
            return np.array([attrgetter(name)(each) for each in points], float).reshape(-1, *shape)

        return cls(
            geometries,
            _Kept(
                np.array(
                    [(each.geometry_a.index, each.geometry_b.index) for each in points], np.int64
                ).reshape(-1, 2),
                stacked('point_a', 3),
                stacked('point_b', 3),
                stacked('normal', 3),
                stacked('gap'),
                stacked('frame_a.R', 3, 3),
                np.stack([stacked('placement_a.p', 3), stacked('placement_b.p', 3)], axis=1),
                np.stack([stacked('placement_a.R', 3, 3), stacked('placement_b.R', 3, 3)], axis=1),
            ),
        )

    def are_among(self, geometries: Sequence[Geometry]) -> bool:
        """Return whether `indices` still hold: no geometry was added or removed since."""
        return self._geometries == geometries

    def __len__(self) -> int:
        """Return the point count."""
        return len(self.gaps)

    @overload
    def __getitem__(self, index: int) -> ContactPoint: ...

    @overload
    def __getitem__(self, index: slice | np.ndarray | Sequence[int]) -> ContactPoints: ...

    def __getitem__(
        self, index: int | slice | np.ndarray | Sequence[int]
    ) -> ContactPoint | ContactPoints:
        """Return one point, or several as `ContactPoints`."""
        kept = self._kept
        if isinstance(index, slice | np.ndarray | list):
            if isinstance(index, list):
                index = np.array(index, None if index else np.int64)
            return ContactPoints(self._geometries, _Kept(*(array[index] for array in kept)))
        a, b = (self._geometries[number] for number in kept.indices[index])
        R, own, turned = kept.axes[index], kept.origins_in_links[index], kept.axes_in_links[index]
        return ContactPoint(
            a,
            b,
            kept.points_a[index],
            kept.points_b[index],
            kept.normals[index],
            float(kept.gaps[index]),
            ContactFrame(kept.points_a[index], R),
            ContactFrame(kept.points_b[index], R),
            ContactFrame(own[0], turned[0]),
            ContactFrame(own[1], turned[1]),
        )

    def __iter__(self) -> Iterator[ContactPoint]:
        """Iterate over the points."""
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        """Show point count and smallest gap."""
        least = f', least gap {self.gaps.min() + 0.0:.3g} m' if len(self) else ''
        return f'<ContactPoints: {counted(len(self), "point")}{least}>'

    def patches(self) -> list[ContactPoints]:
        """Return each geometry pair's points: its contact patch's corners."""
        ends = np.flatnonzero(np.diff(self.indices, axis=0).any(axis=1)) + 1
        bounds = [0, *ends.tolist(), len(self)] if len(self) else []
        return [self[first:end] for first, end in zip(bounds, bounds[1:], strict=False)]


def contact_points(
    geometries: Sequence[Geometry],
    indices: np.ndarray,
    points_a: np.ndarray,
    points_b: np.ndarray,
    normals: np.ndarray,
    gaps: np.ndarray,
) -> ContactPoints:
    """
    Return contact points with their frames.

    geometries: all in the world. indices: (n, 2) indices in `geometries`. The other
    arrays are as in `ContactPoints`.
    """
    axes = contact_axes(normals)
    numbers, row = np.unique(indices, return_inverse=True)
    links = [geometries[number].link for number in numbers]
    row = row.reshape(indices.shape)
    R = np.array([link.R for link in links]).reshape(-1, 3, 3)[row]
    apart = (
        np.stack([points_a, points_b], axis=1)
        - np.array([link.p for link in links]).reshape(-1, 3)[row]
    )
    return ContactPoints(
        geometries,
        _Kept(
            indices,
            points_a,
            points_b,
            normals,
            gaps,
            axes,
            np.einsum('nskj,nsk->nsj', R, apart),
            np.einsum('nskj,nkl->nsjl', R, axes),
        ),
    )


def contact_axes(normals: np.ndarray) -> np.ndarray:
    """
    Return (n, 3, 3) rotations with z along normals (n, 3), and x as in the engine's contacts.

    See `engine.contact.prepare.any_tangent`.
    """
    x = np.zeros_like(normals)
    is_steep = np.abs(normals[:, 2]) > 0.7071
    x[is_steep, 1], x[is_steep, 2] = -normals[is_steep, 2], normals[is_steep, 1]
    x[~is_steep, 0], x[~is_steep, 1] = -normals[~is_steep, 1], normals[~is_steep, 0]
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return np.stack([x, np.cross(normals, x), normals], axis=2)
