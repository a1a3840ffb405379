"""Prepared messages: a subscriber deserializes exactly the written contents."""

from __future__ import annotations

from geometry_msgs.msg import WrenchStamped
import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState

from sim_bridge.ros.wire.cdr import serialize_cleanly
from sim_bridge.ros.wire.messages import (
    ClockMessage,
    EffortCommandMessage,
    FieldMessage,
    JointStateMessage,
    pack_stamp,
)

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

# lengths that give the following fields every alignment
FRAMES = ['', 'a', 'ab', 'abc', 'abcd', 'tool_flange', 'Roboterhand_ß']
STAMP_NS = 3_000_000_007


def numbers(count: int, seed: int) -> np.ndarray:
    """Return numbers of all magnitudes, and special values."""
    values = np.random.default_rng(seed).normal(size=count) * 10.0 ** (np.arange(count) % 9 - 4)
    odd = [0.0, -0.0, np.inf, -np.inf, 5e-324]
    values[: min(count, len(odd))] = odd[:count]
    return values


IMU_FIELDS = ('orientation', 'angular_velocity', 'linear_acceleration')


def wrench(frame_id: str) -> FieldMessage:
    """Return a WrenchStamped."""
    return FieldMessage(WrenchStamped, frame_id, ['wrench.force', 'wrench.torque'], {})


def xyz(vector: object) -> list[float]:
    """Return a Vector3 as a list."""
    return [vector.x, vector.y, vector.z]


@pytest.mark.parametrize(
    'names', [[], ['a'], ['ab', 'c', 'defgh'], [f'joint_{i}' for i in range(40)]]
)
def test_joint_state_carries_names_and_values(names):
    """Fill a message twice; read the second contents."""
    n = len(names)
    message = JointStateMessage(names)
    message.position[:] = 1.0
    message.stamped(pack_stamp(1))
    q, dq, u = numbers(n, 1), numbers(n, 2), numbers(n, 3)
    message.position[:], message.velocity[:], message.effort[:] = q, dq, u
    read = deserialize_message(message.stamped(pack_stamp(STAMP_NS)), JointState)
    assert (read.header.stamp.sec, read.header.stamp.nanosec) == (3, 7)
    assert read.name == names
    np.testing.assert_array_equal(read.position, q)
    np.testing.assert_array_equal(read.velocity, dq)
    np.testing.assert_array_equal(read.effort, u)


@pytest.mark.parametrize('frame_id', FRAMES)
def test_wrench_carries_frame_force_and_torque(frame_id):
    """Read a wrench back."""
    message = wrench(frame_id)
    force, torque = message.blocks
    force[:], torque[:] = (1.0, 2.0, 3.0), (4.0, 5.0, 6.0)
    read = deserialize_message(message.stamped(pack_stamp(STAMP_NS)), WrenchStamped)
    assert read.header.frame_id == frame_id
    assert xyz(read.wrench.force) == [1.0, 2.0, 3.0]
    assert xyz(read.wrench.torque) == [4.0, 5.0, 6.0]


@pytest.mark.parametrize('frame_id', FRAMES)
def test_imu_equals_the_message_built_by_hand(frame_id):
    """Return the exact bytes of rclpy's message object, apart from padding."""
    deviations = ([0.0, 0.0, 0.0], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    covariances = {
        f'{field}_covariance': np.array(each)
        for field, each in zip(IMU_FIELDS, deviations, strict=True)
    }
    message = FieldMessage(Imu, frame_id, IMU_FIELDS, covariances)
    orientation, angular_velocity, linear_acceleration = message.blocks
    orientation[:] = (0.1, 0.2, 0.3, 0.9)
    angular_velocity[:] = (1.5, -2.5, 3.5)
    linear_acceleration[:] = (0.0, -0.0, 9.81)
    by_hand = Imu()
    by_hand.header.frame_id = frame_id
    by_hand.header.stamp.sec, by_hand.header.stamp.nanosec = 3, 7
    q = by_hand.orientation
    q.x, q.y, q.z, q.w = 0.1, 0.2, 0.3, 0.9
    w, a = by_hand.angular_velocity, by_hand.linear_acceleration
    w.x, w.y, w.z = 1.5, -2.5, 3.5
    a.x, a.y, a.z = 0.0, -0.0, 9.81
    by_hand.angular_velocity_covariance = [1.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 9.0]
    by_hand.linear_acceleration_covariance = [16.0, 0.0, 0.0, 0.0, 25.0, 0.0, 0.0, 0.0, 36.0]
    assert message.stamped(pack_stamp(STAMP_NS)) == serialize_cleanly(by_hand)


@pytest.mark.parametrize('measured', ['orientation', 'angular_velocity', 'linear_acceleration'])
def test_imu_marks_unmeasured_fields(measured):
    """Put -1 first into the other fields' covariance, according to REP 145, and only there."""
    covariances = {
        f'{field}_covariance': np.zeros(3) if field == measured else None for field in IMU_FIELDS
    }
    message = FieldMessage(Imu, 'f', [measured], covariances)
    if measured == 'orientation':
        message.blocks[0][:] = (0.0, 0.0, 0.0, 1.0)
    read = deserialize_message(message.stamped(pack_stamp(1)), Imu)
    for field in IMU_FIELDS:
        covariance = getattr(read, f'{field}_covariance').tolist()
        assert covariance == [0.0 if field == measured else -1.0] + [0.0] * 8
    # identity for subscribers that use it nevertheless: zeros are no quaternion
    assert (read.orientation.x, read.orientation.y, read.orientation.z, read.orientation.w) == (
        0,
        0,
        0,
        1,
    )


@pytest.mark.parametrize('time_ns', [0, 1, 999_999_999, 1_000_000_000, 86_400_123_456_789])
def test_stamps_are_exact(time_ns):
    """Split nanoseconds without rounding."""
    clock = deserialize_message(ClockMessage().stamped(pack_stamp(time_ns)), Clock).clock
    assert clock.sec * 1_000_000_000 + clock.nanosec == time_ns
    assert 0 <= clock.nanosec < 1_000_000_000


def test_published_messages_do_not_change():
    """Return bytes unaffected by later filling."""
    message = wrench('f')
    force, _ = message.blocks
    force[:] = 1.0
    published = message.stamped(pack_stamp(1))
    force[:] = 2.0
    message.stamped(pack_stamp(2))
    read = deserialize_message(published, WrenchStamped)
    assert xyz(read.wrench.force) == [1.0, 1.0, 1.0]
    assert read.header.stamp.nanosec == 1


def test_an_effort_command_holds_names_and_efforts_alone():
    """Leave positions and velocities empty: they are not commanded."""
    message = EffortCommandMessage(['a', 'b'])
    message.effort[:] = (1.0, -2.0)
    read = deserialize_message(message.stamped(pack_stamp(STAMP_NS)), JointState)
    assert (read.name, list(read.effort)) == (['a', 'b'], [1.0, -2.0])
    assert not read.position
    assert not read.velocity
    assert (read.header.stamp.sec, read.header.stamp.nanosec) == (3, 7)
