"""Time to fill and publish a message: as an object, or as bytes rewritten in place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import json
import subprocess
import sys
import time
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import WrenchStamped
import numpy as np
import rclpy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState

from benchmarks.bridge import environment, module, process
from benchmarks.bridge_load import JOINTS
from benchmarks.report import Report, Target
from sim_bridge.ros.wire import qos
from sim_bridge.ros.wire.messages import ClockMessage, FieldMessage, JointStateMessage, pack_stamp

# data in a tick: numbers in arrays, and a time
_Q, _DQ, _U = np.linspace(-1.0, 1.0, 3 * len(JOINTS)).reshape(3, -1)
_A, _B, _QUATERNION = np.arange(3.0), np.arange(3.0), np.array([0.0, 0.0, 0.0, 1.0])
_TIME_NS = 12_345_678_900
_PATIENCE_S = 60.0


def run(rounds: int = 15, messages: int = 500) -> Report:
    """
    Publish to a listener in another process, in turns.

    rounds: rounds over all kinds. messages: consecutive messages of each kind.
    """
    with process(module('bridge_load', 'drain', '--arms', 1)):
        done = subprocess.run(
            module('messages', rounds, messages),
            env=environment(),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    times = json.loads(done.stdout)
    report = Report('messages', data={'rounds': rounds, 'unit': 's', 'rows': times})
    rows, targets = [], []
    for kind, found in times.items():
        ratio = sum(found['bytes']) / sum(found['object'])
        rows.append(
            [
                kind,
                *(f'{1e6 * value:.1f}' for way in ('object', 'bytes') for value in found[way]),
                f'{ratio:.2f}',
            ]
        )
        targets.append(Target(f'{kind}, bytes / object', ratio, 1.0))
    report.add_table(
        'Microseconds of the publishing thread per message, with a listener in another process',
        ['', 'object: fill', 'publish', 'bytes: fill', 'publish', 'bytes / object'],
        rows,
    )
    report.add_targets(targets)
    return report


def _joint_state() -> JointState:
    message = JointState(name=JOINTS)
    message.header.stamp = _stamp()
    message.position, message.velocity, message.effort = _Q.tolist(), _DQ.tolist(), _U.tolist()
    return message


def _wrench() -> WrenchStamped:
    message = WrenchStamped()
    message.header.stamp, message.header.frame_id = _stamp(), 'arm_1/tool_flange'
    f, t = message.wrench.force, message.wrench.torque
    f.x, f.y, f.z = _A.tolist()
    t.x, t.y, t.z = _B.tolist()
    return message


def _imu() -> Imu:
    message = Imu()
    message.header.stamp, message.header.frame_id = _stamp(), 'arm_1/imu_link'
    q, w, a = message.orientation, message.angular_velocity, message.linear_acceleration
    q.x, q.y, q.z, q.w = _QUATERNION.tolist()
    w.x, w.y, w.z = _A.tolist()
    a.x, a.y, a.z = _B.tolist()
    return message


def _clock() -> Clock:
    return Clock(clock=_stamp())


def _stamp() -> Time:
    sec, nanosec = divmod(_TIME_NS, 1_000_000_000)
    return Time(sec=sec, nanosec=nanosec)


def _joint_state_bytes() -> Callable[[], bytes]:
    message = JointStateMessage(JOINTS)

    def fill() -> bytes:
        message.position[:], message.velocity[:], message.effort[:] = _Q, _DQ, _U
        return message.stamped(pack_stamp(_TIME_NS))

    return fill


def _wrench_bytes() -> Callable[[], bytes]:
    message = FieldMessage(
        WrenchStamped, 'arm_1/tool_flange', ['wrench.force', 'wrench.torque'], {}
    )
    force, torque = message.blocks

    def fill() -> bytes:
        force[:], torque[:] = _A, _B
        return message.stamped(pack_stamp(_TIME_NS))

    return fill


def _imu_bytes() -> Callable[[], bytes]:
    fields = ['orientation', 'angular_velocity', 'linear_acceleration']
    unknown = {f'{field}_covariance': np.zeros(3) for field in fields}
    message = FieldMessage(Imu, 'arm_1/imu_link', fields, unknown)
    orientation, angular_velocity, linear_acceleration = message.blocks

    def fill() -> bytes:
        orientation[:] = _QUATERNION
        angular_velocity[:], linear_acceleration[:] = _A, _B
        return message.stamped(pack_stamp(_TIME_NS))

    return fill


def _clock_bytes() -> Callable[[], bytes]:
    message = ClockMessage()
    return lambda: message.stamped(pack_stamp(_TIME_NS))


_WAYS = {
    'JointState': ('/arm_1/joint_states', JointState, _joint_state, _joint_state_bytes),
    'WrenchStamped': ('/arm_1/wrist_ft/wrench', WrenchStamped, _wrench, _wrench_bytes),
    'Imu': ('/arm_1/imu/imu', Imu, _imu, _imu_bytes),
    'Clock': ('/clock', Clock, _clock, _clock_bytes),
}


def _time(fill: Callable[[], Any], publish: Callable[[Any], None], count: int) -> list[float]:
    """Return the seconds this thread takes to fill and to publish, per message."""
    start = time.thread_time()
    for _ in range(count):
        fill()
    filled = time.thread_time()
    message = fill()
    middle = time.thread_time()
    for _ in range(count):
        publish(message)
    return [(filled - start) / count, (time.thread_time() - middle) / count]


def _measure(rounds: int, count: int) -> dict[str, dict[str, list[float]]]:
    """Return the medians for all message kinds, once a subscriber listens."""
    rclpy.init()
    node = rclpy.create_node('messages')
    ways, samples = {}, {}
    for kind, (topic, message_type, fill, prepare) in _WAYS.items():
        publisher = node.create_publisher(message_type, topic, qos.stream_qos(1000.0))
        end = time.monotonic() + _PATIENCE_S
        while not publisher.get_subscription_count():
            if time.monotonic() > end:
                sys.exit(f'waited {_PATIENCE_S:g} s in vain for a subscriber of {topic}')
            time.sleep(0.01)
        ways[kind] = {'object': (fill, publisher.publish), 'bytes': (prepare(), publisher.publish)}
        samples[kind] = {'object': [], 'bytes': []}
    for _ in range(rounds):
        for kind, both in ways.items():
            for way, (fill, publish) in both.items():
                samples[kind][way].append(_time(fill, publish, count))
    return {
        kind: {way: np.median(found, axis=0).tolist() for way, found in both.items()}
        for kind, both in samples.items()
    }


def main(arguments: Sequence[str]) -> None:
    """Measure in this process and print JSON: rounds, messages in a row."""
    print(json.dumps(_measure(*map(int, arguments))))


if __name__ == '__main__':
    main(sys.argv[1:])
