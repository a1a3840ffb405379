"""
Contacts as messages.

The common interfaces of ROS 2 have no contact message. A point cloud holds any numbers for each
point, and RViz displays it. Gazebo's own message is published too where it is installed
(docs/decisions/0011-contacts-as-a-point-cloud.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
import json
import struct
import sys
from types import ModuleType

from geometry_msgs.msg import Vector3, Wrench
import numpy as np
from sensor_msgs.msg import PointCloud2, PointField
from std_msgs.msg import Header, String, UInt32

import sim_bridge as sb
from sim_bridge.ros.wire.cdr import serialize_cleanly
from sim_bridge.ros.wire.messages import STAMP, unpack_stamp, WORLD_FRAME

# One contact point. Position and normal have the names and the 32-bit size expected by RViz and
# PCL; the other values keep full precision.
CONTACT = np.dtype(
    [
        ('position', 'f4', 3),
        ('geometry_a', 'u4'),
        ('normal', 'f4', 3),
        ('geometry_b', 'u4'),
        ('depth', 'f8'),
        ('force', 'f8', 3),
        ('torque', 'f8', 3),
    ]
)
# one contact point between two geometries; event: BEGIN, PERSIST or END
CONTACT_EVENT = np.dtype(
    [
        ('position', 'f4', 3),
        ('geometry_a', 'u4'),
        ('normal', 'f4', 3),
        ('geometry_b', 'u4'),
        ('event', 'u4'),
        ('step', 'u4'),
        ('depth', 'f8'),
        ('impulse', 'f8', 3),
    ]
)
BEGIN, PERSIST, END = 1, 2, 3
_DATATYPES = {'f4': PointField.FLOAT32, 'u4': PointField.UINT32, 'f8': PointField.FLOAT64}

# searched for in the serialized bytes
_WIDTH_MARK = 0x5EAF00D5
_WIDTH = struct.Struct('=I')
# a serialized cloud ends with row_step [bytes], data size [bytes], the data, and is_dense
_SIZES = struct.Struct('=II')
_IS_DENSE = b'\x01'


def point_fields(kind_of_point: np.dtype[np.void] = CONTACT) -> list[PointField]:
    """Return the fields for a point type like `CONTACT`: x, y, z, geometry_a … torque_z."""
    fields = []
    for name, (kind, offset, *_) in dict(kind_of_point.fields or {}).items():
        base = kind.base
        prefix = '' if name == 'position' else f'{name}_'
        names = [f'{prefix}{axis}' for axis in 'xyz'] if kind.shape else [name]
        fields += [
            PointField(
                name=each,
                offset=offset + index * base.itemsize,
                datatype=_DATATYPES[base.str[1:]],
                count=1,
            )
            for index, each in enumerate(names)
        ]
    return fields


class PointsMessage:
    """A sensor_msgs/PointCloud2, serialized except for point count and values."""

    def __init__(self, kind: np.dtype[np.void]) -> None:
        """Serialize a cloud without points. kind: point type, see `point_fields`."""
        self._nothing = np.zeros(0, kind)
        message = PointCloud2(
            height=1,
            width=_WIDTH_MARK,
            fields=point_fields(kind),
            point_step=kind.itemsize,
            is_bigendian=sys.byteorder == 'big',
            is_dense=True,
        )
        message.header.frame_id = WORLD_FRAME
        buffer = serialize_cleanly(message)
        self._head = bytearray(buffer[: -_SIZES.size - len(_IS_DENSE)])
        self._width_at = self._head.index(_WIDTH.pack(_WIDTH_MARK))
        self.points = self._nothing

    def clear(self) -> None:
        """Remove all points."""
        self.points = self._nothing

    def stamped(self, stamp: bytes) -> bytes:
        """Return the current message with this stamp (see `messages.pack_stamp`)."""
        self._head[STAMP] = stamp
        _WIDTH.pack_into(self._head, self._width_at, len(self.points))
        data = self.points.tobytes()
        return b''.join((self._head, _SIZES.pack(len(data), len(data)), data, _IS_DENSE))


class ContactCloud(PointsMessage):
    """The contact points after a step; see `sb.Contact` for the fields."""

    def __init__(self) -> None:
        """Start without contacts."""
        super().__init__(CONTACT)

    def fill(self, contacts: sb.Contacts) -> None:
        """Store a step's contacts as points."""
        points = np.zeros(len(contacts), CONTACT)
        points['position'], points['normal'] = contacts.positions, contacts.normals
        points['geometry_a'], points['geometry_b'] = contacts.indices.T
        points['depth'] = contacts.depths
        points['force'], points['torque'] = contacts.forces, contacts.torques
        self.points = points


def geometry_table(geometries: Iterable[sb.Geometry]) -> String:
    """Return a JSON list of geometry names; contacts hold indices into this list."""
    return String(
        data=json.dumps(
            [
                {
                    'robot': geometry.link.robot.name,
                    'link': geometry.link.name,
                    'geometry': geometry.name,
                }
                for geometry in geometries
            ]
        )
    )


class GazeboContacts:
    """A ros_gz_interfaces/Contacts with one entry per geometry pair, as in Gazebo."""

    _contacts: sb.Contacts

    def __init__(self, messages: ModuleType, geometries: Sequence[sb.Geometry]) -> None:
        """
        Start without contacts.

        messages: module ros_gz_interfaces.msg. geometries: all geometries in the world.
        """
        self._messages = messages
        self._entities = [
            messages.Entity(id=number, name=_scoped_name(geometry), type=messages.Entity.COLLISION)
            for number, geometry in enumerate(geometries)
        ]

    def fill(self, contacts: sb.Contacts) -> None:
        """Store a step's contacts."""
        self._contacts = contacts

    def stamped(self, stamp: bytes) -> object:
        """Return the message with this stamp (see `messages.pack_stamp`)."""
        header = Header(stamp=unpack_stamp(stamp), frame_id=WORLD_FRAME)
        pairs = self._contacts.indices.tolist()
        # contacts are sorted by pair
        return self._messages.Contacts(
            header=header,
            contacts=[
                self._pair(header, pair, list(rows))
                for pair, rows in groupby(range(len(pairs)), key=pairs.__getitem__)
            ],
        )

    def _pair(self, header: Header, pair: list[int], rows: list[int]) -> object:
        contacts = self._contacts
        return self._messages.Contact(
            collision1=self._entities[pair[0]],
            collision2=self._entities[pair[1]],
            positions=[_vector(contacts.positions[row]) for row in rows],
            normals=[_vector(contacts.normals[row]) for row in rows],
            depths=contacts.depths[rows].tolist(),
            wrenches=[self._wrench(header, pair, row) for row in rows],
        )

    def _wrench(self, header: Header, pair: list[int], row: int) -> object:
        force, torque = self._contacts.forces[row], self._contacts.torques[row]
        first, second = (self._entities[number] for number in pair)
        return self._messages.JointWrench(
            header=header,
            body_1_name=String(data=first.name),
            body_1_id=UInt32(data=first.id),
            body_2_name=String(data=second.name),
            body_2_id=UInt32(data=second.id),
            body_1_wrench=Wrench(force=_vector(force), torque=_vector(torque)),
            body_2_wrench=Wrench(force=_vector(-force), torque=_vector(-torque)),
        )


def _scoped_name(geometry: sb.Geometry) -> str:
    """Return a geometry's name in Gazebo's format."""
    return f'{geometry.link.robot.name}::{geometry.link.name}::{geometry.name}'


def _vector(values: np.ndarray) -> Vector3:
    x, y, z = values.tolist()
    return Vector3(x=x, y=y, z=z)
