"""
The other side of a measured bridge: a commander and a listener.

    python -m benchmarks.bridge_load command --arms 2
    python -m benchmarks.bridge_load listen --arms 2 --process PID
    python -m benchmarks.bridge_load drain --arms 2
    python -m benchmarks.bridge_load hear --arms 2
    python -m benchmarks.bridge_load watch --process PID

All modes are the same for every bridge. They are as cheap as Python allows, except `hear`: its
executor makes message objects. The listener waits for a bridge report on /diagnostics, then for
the next one, and prints the data between the two. So does `watch`, which listens to nothing else
and observes the physics thread.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
import json
import os
from pathlib import Path
import sys
import time

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState

from sim_bridge.ros.process.realtime import settle_thread
from sim_bridge.ros.wire.messages import EffortCommandMessage, pack_stamp

JOINTS = [f'joint_{number}' for number in range(1, 8)]
TOPICS = {
    'joint_states': JointState,
    'wrist_ft/wrench': WrenchStamped,
    'imu/imu': Imu,
    'imu/gyro': Imu,
    'imu/accel': Imu,
}
_COMMAND_PERIOD_NS = 1_000_000
# effort amplitudes; they sway the arms gently [N m]
_AMPLITUDE = np.array([4.0, 4.0, 2.0, 2.0, 1.0, 0.5, 0.5])
# period for taking received messages, as a recorder would
_DRAIN_PERIOD_S = 0.01
# time for which everything runs before the measurement
_SETTLE_S = 1.0
_PATIENCE_S = 120.0


def names_of(arms: int) -> list[str]:
    """Return the namespaces for this many arms."""
    return [f'arm_{number + 1}' for number in range(arms)]


def processor_time(process: int) -> float:
    """Return the seconds that all threads of a process have run, from Linux."""
    fields = Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def physics_time(process: int) -> float:
    """Return the seconds that the physics thread of a process was on a processor, from Linux."""
    for task in Path(f'/proc/{process}/task').iterdir():
        if (task / 'comm').read_text().strip() == 'physics':
            return 1e-9 * int((task / 'schedstat').read_text().split()[0])
    raise RuntimeError(f'process {process} has no thread named physics')


def hear(arms: int) -> None:
    """Take all robot messages with an executor, as most nodes do, until killed."""
    node = rclpy.create_node('hear')
    for name in names_of(arms):
        for topic, kind in TOPICS.items():
            node.create_subscription(kind, f'/{name}/{topic}', lambda message: None, 1000)
    parent = os.getppid()
    while os.getppid() == parent:
        rclpy.spin_once(node, timeout_sec=_PATIENCE_S)


def command(arms: int) -> None:
    """Send every arm its efforts at 1 kHz until killed or orphaned."""
    node = rclpy.create_node('command')
    message = EffortCommandMessage(JOINTS)
    publishers = [
        node.create_publisher(JointState, f'{name}/joint_commands', 10) for name in names_of(arms)
    ]
    settle_thread('command')
    parent, start = os.getppid(), time.monotonic_ns()
    deadline = start
    while os.getppid() == parent:
        time.sleep(max(deadline - time.monotonic_ns(), 0) * 1e-9)
        elapsed = time.monotonic_ns() - start
        message.effort[:] = _AMPLITUDE * np.sin(2.0 * np.pi * 1e-9 * elapsed)
        data = message.stamped(pack_stamp(0))
        for publisher in publishers:
            publisher.publish(data)
        deadline += (1 + max(time.monotonic_ns() - deadline, 0) // _COMMAND_PERIOD_NS) * (
            _COMMAND_PERIOD_NS
        )


class Listener:
    """Takes every bridge message, serialized, in batches."""

    def __init__(self, node: Node, arms: int) -> None:
        """Subscribe to all topics of this many arms and to /clock; with no arms, to nothing."""
        kinds = {
            f'/{name}/{topic}': kind for name in names_of(arms) for topic, kind in TOPICS.items()
        }
        if arms:
            kinds['/clock'] = Clock
        self._subscriptions = {
            topic: (
                kind,
                node.create_subscription(
                    kind, topic, lambda data: None, QoSProfile(depth=1000), raw=True
                ),
            )
            for topic, kind in kinds.items()
        }
        self._diagnostics = node.create_subscription(
            DiagnosticArray, '/diagnostics', lambda message: None, 10, raw=True
        )
        self.counts = dict.fromkeys(kinds, 0)

    def drain(self) -> None:
        """Take messages until killed or orphaned."""
        parent = os.getppid()
        while os.getppid() == parent:
            self._drain()

    def measure(self, process: int) -> dict[str, float]:
        """
        Return the measurements between two reports, once everything runs.

        process: the bridge's process id.
        """
        self._await(lambda: all(self.counts.values()), 'a message on every topic')
        self._settle()
        first, last = self._mark(process), self._mark(process)
        seconds = last['at'] - first['at']
        processor = last['processor'] - first['processor']
        ticks = last['ticks since start'] - first['ticks since start']
        received = {
            topic: count - first['counts'][topic] for topic, count in last['counts'].items()
        }
        return {
            'cpu': processor / seconds,
            'rate': ticks / seconds,
            'cpu per tick': processor / ticks,
            'received': sum(n for topic, n in received.items() if topic != '/clock')
            / (ticks * (len(received) - 1)),
            **{
                f'lateness {name}': 1e-3 * last[f'tick lateness {name} [ms]']
                for name in ('p50', 'p99', 'max')
            },
        }

    def watch(self, process: int) -> dict[str, float]:
        """Return the activity of a process's physics thread between two reports."""
        # the node has found all its neighbours by then
        self._mark(process)
        self._settle()
        first, last = self._mark(process, physics_time), self._mark(process, physics_time)
        ticks = last['ticks since start'] - first['ticks since start']
        return {
            'cpu per tick': (last['processor'] - first['processor']) / ticks,
            'rate': ticks / (last['at'] - first['at']),
            **{
                f'lateness {name}': 1e-3 * last[f'tick lateness {name} [ms]']
                for name in ('p50', 'p99')
            },
            'duration p50': 1e-3 * last['tick duration p50 [ms]'],
        }

    def _settle(self) -> None:
        settled = time.monotonic() + _SETTLE_S
        self._await(lambda: time.monotonic() > settled, 'the end of the start')

    def _mark(self, process: int, measure: Callable[[int], float] = processor_time) -> dict:
        """Wait for the next report; return it with processor time and message counts."""
        found: dict = {}

        def look() -> bool:
            for data in self._take(DiagnosticArray, self._diagnostics):
                for status in deserialize_message(data, DiagnosticArray).status:
                    if status.name.endswith(': pacing'):
                        found.update(
                            {
                                pair.key: float(pair.value)
                                for pair in status.values
                                if pair.key.startswith(('tick lateness', 'tick dur', 'ticks'))
                            },
                            at=time.monotonic(),
                            processor=measure(process),
                            counts=dict(self.counts),
                        )
            return bool(found)

        look()
        found.clear()
        self._await(look, 'a report on /diagnostics')
        return found

    def _await(self, condition, event: str) -> None:
        end = time.monotonic() + _PATIENCE_S
        while not condition():
            if time.monotonic() > end:
                sys.exit(f'waited {_PATIENCE_S:g} s in vain for {event}')
            self._drain()

    def _drain(self) -> None:
        time.sleep(_DRAIN_PERIOD_S)
        for topic, (kind, subscription) in self._subscriptions.items():
            self.counts[topic] += sum(1 for _ in self._take(kind, subscription))

    def _take(self, kind, subscription):
        # without an executor, which would load the machine more than the bridges do
        with subscription.handle:
            while (taken := subscription.handle.take_message(kind, True)) is not None:
                yield taken[0]


def main() -> None:
    """Command or listen."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('role', choices=('command', 'drain', 'hear', 'listen', 'watch'))
    parser.add_argument('--arms', type=int, default=1)
    parser.add_argument('--process', type=int, help='id of the bridge, for `listen` and `watch`')
    options = parser.parse_args()
    rclpy.init()
    try:
        if options.role == 'command':
            command(options.arms)
            return
        if options.role == 'hear':
            hear(options.arms)
            return
        arms = 0 if options.role == 'watch' else options.arms
        listener = Listener(rclpy.create_node(options.role), arms)
        if options.role == 'watch':
            print(json.dumps(listener.watch(options.process)))
        elif options.role == 'drain':
            listener.drain()
        else:
            print(json.dumps(listener.measure(options.process)))
    except KeyboardInterrupt:
        pass


if __name__ == '__main__':
    main()
