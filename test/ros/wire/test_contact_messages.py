"""Messages about contacts, objects and shapes, as read by a subscriber."""

from __future__ import annotations

from dataclasses import dataclass, field
import json
from types import SimpleNamespace

from geometry_msgs.msg import TransformStamped, Wrench
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import MultiDOFJointState, PointCloud2, PointField
from std_msgs.msg import Header, String, UInt32
from visualization_msgs.msg import Marker, MarkerArray

import sim_bridge as sb
from sim_bridge.ros.publish.frames import FramesMessage
from sim_bridge.ros.wire.contact_messages import (
    CONTACT,
    ContactCloud,
    GazeboContacts,
    geometry_table,
    point_fields,
)
from sim_bridge.ros.wire.markers import ContactMarkers, ShapeMarkers
from sim_bridge.ros.wire.messages import pack_stamp, PoseStateMessage

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

STAMP_NS = 3_000_000_007
TURNED = (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5))  # by a quarter about z


class FakeContacts(SimpleNamespace):
    """A stand-in for `sb.Contacts`."""

    def __len__(self) -> int:
        return len(self.depths)


def contacts_of(count: int) -> FakeContacts:
    """Return contacts with distinct numbers, two points for each pair."""
    numbers = np.random.default_rng(count).normal(size=(count, 13))
    pairs = [[number // 2, 5] for number in range(count)]
    return FakeContacts(
        indices=np.array(pairs, dtype=int).reshape(count, 2),
        positions=numbers[:, :3],
        normals=numbers[:, 3:6],
        depths=numbers[:, 6],
        forces=numbers[:, 7:10],
        torques=numbers[:, 10:],
    )


def geometries_of(*names: str) -> list[SimpleNamespace]:
    """Return geometries on robots with these names."""
    return [
        SimpleNamespace(
            name=f'{name}_box',
            link=SimpleNamespace(name=f'{name}_link', robot=SimpleNamespace(name=name)),
        )
        for name in names
    ]


def read_cloud(message: PointCloud2) -> np.ndarray:
    """Read a cloud by its own description, like any program."""
    kinds = {PointField.FLOAT32: 'f4', PointField.UINT32: 'u4', PointField.FLOAT64: 'f8'}
    dtype = np.dtype(
        {
            'names': [f.name for f in message.fields],
            'formats': [kinds[f.datatype] for f in message.fields],
            'offsets': [f.offset for f in message.fields],
            'itemsize': message.point_step,
        }
    )
    return np.frombuffer(bytes(message.data), dtype)


@pytest.mark.parametrize('count', [0, 1, 2, 7])
def test_a_cloud_equals_the_message_of_rclpy(count):
    """Return the exact bytes of a PointCloud2 built by hand, also after one with another size."""
    cloud = ContactCloud()
    cloud.fill(contacts_of(3))
    cloud.stamped(pack_stamp(1))
    contacts = contacts_of(count)
    cloud.fill(contacts)
    by_hand = PointCloud2(
        height=1,
        width=count,
        fields=point_fields(),
        is_bigendian=False,
        point_step=CONTACT.itemsize,
        row_step=count * CONTACT.itemsize,
        is_dense=True,
        data=cloud.points.tobytes(),
    )
    by_hand.header.frame_id = 'world'
    by_hand.header.stamp.sec, by_hand.header.stamp.nanosec = 3, 7
    data = cloud.stamped(pack_stamp(STAMP_NS))
    assert deserialize_message(data, PointCloud2) == by_hand
    assert len(data) == len(serialize_message(by_hand))

    points = read_cloud(deserialize_message(data, PointCloud2))
    for axis, name in enumerate('xyz'):
        np.testing.assert_allclose(points[name], contacts.positions[:, axis], rtol=1e-7)
        np.testing.assert_allclose(points[f'normal_{name}'], contacts.normals[:, axis], rtol=1e-7)
        np.testing.assert_array_equal(points[f'force_{name}'], contacts.forces[:, axis])
        np.testing.assert_array_equal(points[f'torque_{name}'], contacts.torques[:, axis])
    np.testing.assert_array_equal(points['depth'], contacts.depths)
    np.testing.assert_array_equal(points['geometry_a'], contacts.indices[:, 0])
    np.testing.assert_array_equal(points['geometry_b'], contacts.indices[:, 1])


def test_published_clouds_do_not_change():
    """Return bytes unaffected by later filling."""
    cloud = ContactCloud()
    cloud.fill(contacts_of(2))
    published = cloud.stamped(pack_stamp(1))
    before = bytes(published)
    cloud.fill(contacts_of(4))
    cloud.stamped(pack_stamp(2))
    assert published == before


def test_the_table_names_robot_link_and_geometry():
    """List the names for the indices in a cloud."""
    assert json.loads(geometry_table(geometries_of('a', 'b')).data) == [
        {'robot': 'a', 'link': 'a_link', 'geometry': 'a_box'},
        {'robot': 'b', 'link': 'b_link', 'geometry': 'b_box'},
    ]


@dataclass
class Entity:
    """A stand-in for ros_gz_interfaces/Entity."""

    COLLISION = 5
    id: int = 0
    name: str = ''
    type: int = 0


@dataclass
class JointWrench:
    """A stand-in for ros_gz_interfaces/JointWrench."""

    header: Header
    body_1_name: String
    body_1_id: UInt32
    body_2_name: String
    body_2_id: UInt32
    body_1_wrench: Wrench
    body_2_wrench: Wrench


@dataclass
class GazeboContact:
    """A stand-in for ros_gz_interfaces/Contact."""

    collision1: Entity
    collision2: Entity
    positions: list
    normals: list
    depths: list
    wrenches: list


@dataclass
class GazeboMessage:
    """A stand-in for ros_gz_interfaces/Contacts."""

    header: Header
    contacts: list[GazeboContact] = field(default_factory=list)


def xyz(vector: object) -> list[float]:
    """Return a Vector3 or Point as a list."""
    return [vector.x, vector.y, vector.z]


def test_gazebos_message_has_one_entry_for_each_pair():
    """Group the points by pair; scoped names; the force on the first, and its opposite."""
    messages = SimpleNamespace(
        Entity=Entity, JointWrench=JointWrench, Contact=GazeboContact, Contacts=GazeboMessage
    )
    gazebo = GazeboContacts(messages, geometries_of(*'abcdef'))
    contacts = contacts_of(5)
    gazebo.fill(contacts)
    message = gazebo.stamped(pack_stamp(STAMP_NS))
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (3, 7)
    assert message.header.frame_id == 'world'
    assert [(c.collision1.name, c.collision2.name, len(c.depths)) for c in message.contacts] == [
        ('a::a_link::a_box', 'f::f_link::f_box', 2),
        ('b::b_link::b_box', 'f::f_link::f_box', 2),
        ('c::c_link::c_box', 'f::f_link::f_box', 1),
    ]
    second = message.contacts[1]
    assert second.collision1.type == Entity.COLLISION
    assert [xyz(p) for p in second.positions] == contacts.positions[2:4].tolist()
    assert [xyz(n) for n in second.normals] == contacts.normals[2:4].tolist()
    assert second.depths == contacts.depths[2:4].tolist()
    wrench = second.wrenches[1]
    assert (wrench.body_1_name.data, wrench.body_1_id.data) == ('b::b_link::b_box', 1)
    assert xyz(wrench.body_1_wrench.force) == contacts.forces[3].tolist()
    assert xyz(wrench.body_2_wrench.force) == (-contacts.forces[3]).tolist()
    assert xyz(wrench.body_2_wrench.torque) == (-contacts.torques[3]).tolist()


def test_frames_carry_names_and_poses():
    """Fill a TFMessage twice; read the second contents."""
    messages = SimpleNamespace(TFMessage=lambda transforms: SimpleNamespace(transforms=transforms))
    frames = FramesMessage(messages, [('world', 'crate'), ('world', 'left/base')])
    frames.fill(np.zeros((2, 7)))
    frames.fill(np.arange(14.0).reshape(2, 7))
    transforms = frames.stamped(pack_stamp(STAMP_NS)).transforms
    assert all(isinstance(each, TransformStamped) for each in transforms)
    assert [each.child_frame_id for each in transforms] == ['crate', 'left/base']
    last = transforms[1]
    assert (last.header.frame_id, last.header.stamp.nanosec) == ('world', 7)
    assert xyz(last.transform.translation) == [7.0, 8.0, 9.0]
    q = last.transform.rotation
    assert [q.x, q.y, q.z, q.w] == [10.0, 11.0, 12.0, 13.0]


@pytest.mark.parametrize('names', [[], ['a'], ['crate', 'ball', 'quadruped']])
def test_object_states_carry_poses_and_twists(names):
    """Read poses and twists back by name."""
    n = len(names)
    message = PoseStateMessage(names)
    message.poses[:] = np.arange(7.0 * n).reshape(n, 7)
    message.twists[:] = 100.0 + np.arange(6.0 * n).reshape(n, 6)
    read = deserialize_message(message.stamped(pack_stamp(STAMP_NS)), MultiDOFJointState)
    assert (read.joint_names, read.header.frame_id, read.wrench) == (names, 'world', [])
    for index in range(n):
        p, q = read.transforms[index].translation, read.transforms[index].rotation
        assert [*xyz(p), q.x, q.y, q.z, q.w] == list(np.arange(7.0) + 7 * index)
        twist = read.twist[index]
        read_back = [*xyz(twist.linear), *xyz(twist.angular)]
        assert read_back == list(100.0 + np.arange(6.0) + 6 * index)


def markers_of(shape: sb.Shape, **pose: object) -> list[Marker]:
    """Return the markers for a static body with one shape."""
    world = sb.World()
    body = world.add_body(shape, 'thing', motion='static', **pose)
    markers = ShapeMarkers([body])
    markers.fill()
    return markers.stamped(pack_stamp(STAMP_NS)).markers


@pytest.mark.parametrize(
    ('shape', 'kind', 'scale'),
    [
        (sb.Box((0.1, 0.2, 0.3)), Marker.CUBE, [0.1, 0.2, 0.3]),
        (sb.Sphere(0.5), Marker.SPHERE, [1.0, 1.0, 1.0]),
        (sb.Cylinder(0.5, 3.0), Marker.CYLINDER, [1.0, 1.0, 3.0]),
        (sb.Ellipsoid((0.1, 0.2, 0.3)), Marker.SPHERE, [0.2, 0.4, 0.6]),
    ],
)
def test_primitives_are_drawn_in_full_size_where_they_are(shape, kind, scale):
    """Draw one marker of the shape's kind, in the world."""
    (marker,) = markers_of(shape, position=(1.0, 2.0, 3.0), orientation=TURNED)
    assert (marker.type, marker.action, marker.ns) == (kind, Marker.ADD, 'thing')
    assert marker.header.frame_id == 'world'
    assert xyz(marker.scale) == pytest.approx(scale)
    assert xyz(marker.pose.position) == pytest.approx([1.0, 2.0, 3.0])
    q = marker.pose.orientation
    assert [q.x, q.y, q.z, q.w] == pytest.approx(TURNED)
    assert marker.color.a == 1.0


def test_a_capsule_is_drawn_with_both_its_ends():
    """Put two balls to the ends of a cylinder, along the capsule's turned axis."""
    lying = (0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5))  # z of the shape along x of the world
    tube, *ends = markers_of(sb.Capsule(0.1, 2.0), orientation=lying)
    assert (tube.type, xyz(tube.scale)) == (Marker.CYLINDER, pytest.approx([0.2, 0.2, 2.0]))
    assert [xyz(end.pose.position) for end in ends] == [
        pytest.approx([1.0, 0.0, 0.0]),
        pytest.approx([-1.0, 0.0, 0.0]),
    ]
    assert len({marker.id for marker in (tube, *ends)}) == 3


def test_ground_is_drawn_up_to_its_height():
    """Draw a thin plate with its upper face on the plane."""
    (marker,) = markers_of(sb.Plane(), position=(0.0, 0.0, 0.5))
    assert marker.type == Marker.CUBE
    assert marker.pose.position.z + 0.5 * marker.scale.z == pytest.approx(0.5)
    assert marker.scale.x > 10.0


@pytest.mark.parametrize(
    ('shape', 'volume', 'tolerance'),
    [
        (sb.ConvexHull([[x, y, z] for x in (0, 2) for y in (0, 1) for z in (0, 1)]), 2.0, 1e-12),
        # for a cone with 32 sides
        (sb.Cone(0.5, 3.0), np.pi * 0.25, 0.01),
        (sb.Cone(0.5, 3.0, 0.25), np.pi * 0.4375, 0.01),
        (sb.HollowCylinder(0.5, 3.0, 0.25), np.pi * 0.5625, 0.01),
        (sb.HollowCone(0.5, 3.0, 0.25), np.pi * 0.1875, 0.01),
    ],
    ids=['hull', 'cone', 'truncated cone', 'hollow cylinder', 'hollow cone'],
)
def test_other_solids_are_drawn_as_closed_surfaces_from_outside(shape, volume, tolerance):
    """Enclose the shape's volume by triangles, counter-clockwise from outside."""
    (marker,) = markers_of(shape)
    assert marker.type == Marker.TRIANGLE_LIST
    assert xyz(marker.scale) == [1.0, 1.0, 1.0]
    a, b, c = np.array([xyz(p) for p in marker.points]).reshape(-1, 3, 3).swapaxes(0, 1)
    assert np.einsum('ij,ij->', a, np.cross(b, c)) / 6.0 == pytest.approx(volume, rel=tolerance)


def test_a_line_is_drawn_between_its_ends():
    """Draw one line, in the shape's frame."""
    (marker,) = markers_of(sb.Line((0.0, 0.1, 0.2), (1.0, 2.0, 3.0)))
    assert marker.type == Marker.LINE_LIST and marker.scale.x > 0.0
    assert [xyz(point) for point in marker.points] == [[0.0, 0.1, 0.2], [1.0, 2.0, 3.0]]


def test_heights_are_drawn_as_they_were_set_last():
    """Draw the current heights of a changed field."""
    world = sb.World()
    field = world.add_body(sb.HeightField(np.zeros((3, 3)), (2.0, 2.0)), motion='static')
    field.geometries[0].set_heights([[0.5]], row=1, column=2)
    markers = ShapeMarkers([field])
    markers.fill()
    (marker,) = markers.stamped(pack_stamp(STAMP_NS)).markers
    assert {tuple(xyz(p)) for p in marker.points if p.z} == {(1.0, 0.0, 0.5)}


def test_a_height_field_is_drawn_from_above():
    """Draw two triangles for each cell, with normals upwards and corners on the grid."""
    heights = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])
    (marker,) = markers_of(sb.HeightField(heights, (4.0, 1.0)))
    corners = np.array([xyz(p) for p in marker.points]).reshape(-1, 3, 3)
    a, b, c = corners.swapaxes(0, 1)
    normals = np.cross(b - a, c - a)
    assert len(corners) == 4
    assert (normals[:, 2] > 0.0).all()
    assert normals[:, 2].sum() / 2.0 == pytest.approx(4.0), 'of the area seen from above'
    assert {tuple(p) for p in corners.reshape(-1, 3).tolist()} == {
        (x, y, heights[row, column])
        for column, x in enumerate((-2.0, 0.0, 2.0))
        for row, y in enumerate((-0.5, 0.5))
    }


def test_contacts_are_drawn_as_they_act_on_moving_bodies():
    """Reverse the force on the ground; delete arrows once when there are fewer contacts."""
    world = sb.World()
    world.add_body(sb.Box((1.0, 1.0, 1.0)), motion='static')
    for _ in range(5):
        world.add_body(sb.Box((1.0, 1.0, 1.0)), mass=1.0)
    markers = ContactMarkers(world.geometries, 0.01)
    contacts = contacts_of(3)
    markers.fill(contacts)
    points, normals, *arrows = markers.stamped(pack_stamp(STAMP_NS)).markers
    assert (points.type, normals.type) == (Marker.SPHERE_LIST, Marker.LINE_LIST)
    assert len(points.points) == 3 and len(normals.points) == 6
    assert points.header.stamp.nanosec == 7
    assert [arrow.type for arrow in arrows] == [Marker.ARROW] * 3
    for index, sign in enumerate((-1.0, -1.0, 1.0)):
        start, end = (np.array(xyz(p)) for p in arrows[index].points)
        np.testing.assert_allclose(start, contacts.positions[index])
        np.testing.assert_allclose(end - start, sign * 0.01 * contacts.forces[index])

    seen = []
    for count in (1, 1, 0, 0, 1):
        markers.fill(contacts_of(count))
        message = markers.stamped(pack_stamp(STAMP_NS))
        if not count and isinstance(message, bytes):
            message = deserialize_message(message, MarkerArray)
        assert {marker.header.stamp.nanosec for marker in message.markers} == {7}
        seen.append([marker.action for marker in message.markers])
    add, delete = Marker.ADD, Marker.DELETE
    assert seen == [
        [add, add, add, delete, delete],
        [add, add, add],
        [delete, delete, delete],
        [delete, delete],
        [add, add, add],
    ]
