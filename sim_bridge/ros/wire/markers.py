"""RViz markers for shapes and for contacts with their forces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from geometry_msgs.msg import Point, Quaternion, Vector3
import numpy as np
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

import sim_bridge as sb
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.robots.body_type import motion_of_link
from sim_bridge.robots.robot import Robot
from sim_bridge.ros.wire.cdr import serialize_cleanly
from sim_bridge.ros.wire.messages import pack_stamp, unpack_stamp, WORLD_FRAME
from sim_bridge.shapes.tessellation import tessellated

# RGBA by motion kind
_COLORS = {
    'static': (0.62, 0.64, 0.66, 1.0),
    'kinematic': (0.35, 0.5, 0.75, 1.0),
    'dynamic': (0.85, 0.6, 0.3, 1.0),
}
_POINT_COLOR = (0.9, 0.15, 0.15, 1.0)
_NORMAL_COLOR = (0.2, 0.5, 0.95, 1.0)
_FORCE_COLOR = (0.15, 0.75, 0.25, 1.0)

# planes are infinite; drawn size [m]
_PLANE_SIZE, _PLANE_THICKNESS = 40.0, 0.002
_CONE_SIDES = 32

_POINT_DIAMETER = 0.012  # m
_NORMAL_LENGTH, _NORMAL_WIDTH = 0.05, 0.003  # m
_SHAFT_DIAMETER, _HEAD_DIAMETER = 0.008, 0.016  # m


# searched for in the serialized bytes
_STAMP_MARK = pack_stamp(1_234_567_890_987_654_321)


class _Part(NamedTuple):
    """
    A shape part drawn by one marker.

    kind: constant of `Marker`. scale: size along each axis [m]. center: in the shape's frame [m].
    corners: (3 n, 3) triangle corners or (2, 3) line ends, in the part's frame [m].
    """

    kind: int
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    corners: np.ndarray | None = None


class ShapeMarkers:
    """A visualization_msgs/MarkerArray with all shapes in the scene, at their poses."""

    def __init__(self, robots: Iterable[Robot]) -> None:
        """Create markers for all collision shapes on these robots."""
        self._message = MarkerArray()
        self._placed: list[tuple[sb.Geometry, np.ndarray]] = []
        for robot in robots:
            parts = [
                (geometry, part)
                for geometry in robot.geometries
                for part in _parts(geometry.shape)
            ]
            for number, (geometry, part) in enumerate(parts):
                marker = _marker(part.kind, robot.name, number, _COLORS[robot.motion])
                marker.scale = _vector(part.scale)
                if part.corners is not None:
                    marker.points = [_point(corner) for corner in part.corners.tolist()]
                self._message.markers.append(marker)
                self._placed.append((geometry, np.array(part.center)))

    def __len__(self) -> int:
        """Return the marker count."""
        return len(self._placed)

    def fill(self) -> None:
        """Update all marker poses."""
        for marker, (geometry, center) in zip(self._message.markers, self._placed, strict=True):
            rotation = geometry.R
            marker.pose.position = _point((geometry.p + rotation @ center).tolist())
            x, y, z, w = quaternion_from_matrix(rotation).tolist()
            marker.pose.orientation = Quaternion(x=x, y=y, z=z, w=w)

    def stamped(self, stamp: bytes) -> MarkerArray:
        """Return the current message with this stamp (see `messages.pack_stamp`)."""
        return _stamp_all(self._message, stamp)


class ContactMarkers:
    """
    A visualization_msgs/MarkerArray with contact points, normals, and an arrow for each force.

    Forces and normals are drawn as they act on the moving body: between foot and ground they point
    into the foot, between finger and table into the finger.
    """

    def __init__(self, geometries: Sequence[sb.Geometry], force_scale: float) -> None:
        """
        Start without contacts.

        geometries: all geometries in the world. force_scale: arrow length per force [m/N].
        """
        self._sign = np.array(
            [
                -1.0
                if motion_of_link(geometry.link.robot.simulation, geometry.link.slot) == 'static'
                else 1.0
                for geometry in geometries
            ]
        )
        self._force_scale = force_scale
        self._points = _marker(Marker.SPHERE_LIST, 'points', 0, _POINT_COLOR)
        self._points.scale = _vector((_POINT_DIAMETER,) * 3)
        self._normals = _marker(Marker.LINE_LIST, 'normals', 0, _NORMAL_COLOR)
        self._normals.scale = _vector((_NORMAL_WIDTH, 0.0, 0.0))
        self._arrows: list[Marker] = []
        self._shown = 0  # arrow count in the latest message
        self._message = MarkerArray(markers=[self._points, self._normals])
        for marker in self._message.markers:
            marker.action = Marker.DELETE
        # serialized in advance, since most robots seldom touch anything
        self._nothing = _Serialized(self._message)
        self._is_nothing = True

    def fill(self, contacts: sb.Contacts) -> None:
        """Draw a step's contacts."""
        self._is_nothing = not len(contacts) and not self._shown
        if self._is_nothing:
            return
        sign = self._sign[contacts.indices[:, :1]]
        starts = contacts.positions
        points = [_point(start) for start in starts.tolist()]
        normal_ends = starts + sign * _NORMAL_LENGTH * contacts.normals
        force_ends = starts + sign * self._force_scale * contacts.forces
        self._points.points = points
        self._normals.points = [
            point
            for start, end in zip(points, normal_ends.tolist(), strict=True)
            for point in (start, _point(end))
        ]
        self._draw_arrows(points, force_ends.tolist())
        for marker in (self._points, self._normals):
            # RViz reports a list without points as an error
            marker.action = Marker.ADD if points else Marker.DELETE

    def _draw_arrows(self, starts: list[Point], ends: list[list[float]]) -> None:
        while len(self._arrows) < len(starts):
            arrow = _marker(Marker.ARROW, 'forces', len(self._arrows), _FORCE_COLOR)
            arrow.scale = _vector((_SHAFT_DIAMETER, _HEAD_DIAMETER, 0.0))
            self._arrows.append(arrow)
        for arrow, start, end in zip(self._arrows, starts, ends, strict=False):
            arrow.action, arrow.points = Marker.ADD, [start, _point(end)]
        # delete arrows for ended contacts, once
        for arrow in self._arrows[len(starts) : self._shown]:
            arrow.action, arrow.points = Marker.DELETE, []
        arrows = self._arrows[: max(len(starts), self._shown)]
        self._message.markers = [self._points, self._normals, *arrows]
        self._shown = len(starts)

    def stamped(self, stamp: bytes) -> MarkerArray | bytes:
        """Return the current message with this stamp; serialized if there are no contacts."""
        if self._is_nothing:
            return self._nothing.stamped(stamp)
        return _stamp_all(self._message, stamp)


class _Serialized:
    """A serialized visualization_msgs/MarkerArray; only the stamps change."""

    def __init__(self, message: MarkerArray) -> None:
        self._between = serialize_cleanly(_stamp_all(message, _STAMP_MARK)).split(_STAMP_MARK)

    def stamped(self, stamp: bytes) -> bytes:
        return stamp.join(self._between)


def _parts(shape: sb.Shape) -> list[_Part]:
    """Return the parts drawn by RViz for a shape."""
    if isinstance(shape, sb.Box):
        return [_Part(Marker.CUBE, shape.size)]
    if isinstance(shape, (sb.Sphere, sb.Ellipsoid, sb.Cylinder)):
        kind = Marker.CYLINDER if isinstance(shape, sb.Cylinder) else Marker.SPHERE
        x, y, z = shape.half_extents
        return [_Part(kind, (2.0 * x, 2.0 * y, 2.0 * z))]
    if isinstance(shape, sb.Capsule):
        width, end = 2.0 * shape.radius, 0.5 * shape.length
        return [
            _Part(Marker.CYLINDER, (width, width, shape.length)),
            _Part(Marker.SPHERE, (width,) * 3, (0.0, 0.0, end)),
            _Part(Marker.SPHERE, (width,) * 3, (0.0, 0.0, -end)),
        ]
    if isinstance(shape, sb.Plane):
        size = (_PLANE_SIZE, _PLANE_SIZE, _PLANE_THICKNESS)
        return [_Part(Marker.CUBE, size, (0.0, 0.0, -0.5 * _PLANE_THICKNESS))]
    if isinstance(shape, sb.Line):
        return [_Part(Marker.LINE_LIST, (_NORMAL_WIDTH, 0.0, 0.0), corners=shape.ends)]
    vertices, triangles = tessellated(shape, _CONE_SIDES)
    return [_Part(Marker.TRIANGLE_LIST, corners=vertices[triangles].reshape(-1, 3))]


def _marker(kind: int, namespace: str, number: int, color: Sequence[float]) -> Marker:
    red, green, blue, alpha = color
    marker = Marker(
        ns=namespace,
        id=number,
        type=kind,
        action=Marker.ADD,
        color=ColorRGBA(r=red, g=green, b=blue, a=alpha),
    )
    marker.header.frame_id = WORLD_FRAME
    return marker


def _stamp_all(message: MarkerArray, stamp: bytes) -> MarkerArray:
    time = unpack_stamp(stamp)
    for marker in message.markers:
        marker.header.stamp = time
    return message


def _point(values: Sequence[float]) -> Point:
    x, y, z = values
    return Point(x=x, y=y, z=z)


def _vector(values: Sequence[float]) -> Vector3:
    x, y, z = values
    return Vector3(x=x, y=y, z=z)
