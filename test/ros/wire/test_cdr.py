"""Serialized messages without old memory contents."""

from __future__ import annotations

import contextlib

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Point, Transform, Twist
import pytest
from rcl_interfaces.msg import ParameterValue
from rclpy.serialization import deserialize_message
from rosbags.typesys import get_typestore, Stores
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState, PointCloud2, PointField
from std_msgs.msg import ColorRGBA, Float64MultiArray, Header
from visualization_msgs.msg import Marker, MarkerArray

from sim_bridge.ros.bag.definitions import type_name
from sim_bridge.ros.wire import cdr

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

STORE = get_typestore(Stores.ROS2_JAZZY)

MESSAGES = [
    JointState(name=['a', 'bcd', ''], position=[1.0, 2.0], effort=[3.0]),
    Imu(angular_velocity_covariance=[float(n) for n in range(9)], header=Header(frame_id='a')),
    PointCloud2(fields=[PointField(name='x', datatype=7)], data=[1, 2, 3], is_dense=True),
    MultiDOFJointState(joint_names=['x'], transforms=[Transform()], twist=[Twist()]),
    MarkerArray(
        markers=[
            Marker(ns='abc', text='hi', points=[Point(x=1.0), Point(y=2.0)]),
            Marker(ns='seven77', colors=[ColorRGBA(r=0.5)], frame_locked=True),
        ]
    ),
    DiagnosticArray(status=[DiagnosticStatus(name='x', values=[KeyValue(key='a', value='bcd')])]),
    ParameterValue(string_array_value=['a', 'bb'], integer_array_value=[1], bool_value=True),
    Float64MultiArray(data=[1.0]),
]


@pytest.mark.parametrize('message', MESSAGES, ids=lambda message: type(message).__name__)
def test_padding_is_zero(message, monkeypatch):
    """Return the same bytes as `rosbags` for a message, whatever lies between its fields."""
    name = type_name(type(message))

    def rewritten(data: bytes) -> bytes:
        return bytes(STORE.serialize_cdr(STORE.deserialize_cdr(data, name), name))

    expected = rewritten(cdr.serialize_cleanly(message))
    dirty = bytearray(expected)
    for place in range(4, len(expected)):
        changed = bytearray(expected)
        changed[place] = 255
        with contextlib.suppress(Exception):  # an impossible length or text
            if not expected[place] and rewritten(bytes(changed)) == expected:
                dirty[place] = 255
    monkeypatch.setattr(cdr, 'serialize_message', lambda _: bytes(dirty) + bytes([255, 255]))
    assert dirty != expected
    assert cdr.serialize_cleanly(message) == expected
    assert deserialize_message(expected, type(message)) == message
