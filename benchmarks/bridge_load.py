"""
The other side of a bridge that is measured: somebody who commands, somebody who listens.

    python -m benchmarks.bridge_load command --arms 2
    python -m benchmarks.bridge_load listen --arms 2 --process PID
    python -m benchmarks.bridge_load drain --arms 2
    python -m benchmarks.bridge_load hear --arms 2
    python -m benchmarks.bridge_load watch --process PID

All are the same for every bridge and, but for `hear`, which has an executor make messages of what
comes, as cheap as Python lets them be. The listener waits for a report of the bridge on
/diagnostics, lets another come, and prints what lay between the two; so does `watch`, which
listens to nothing else and looks at the physics thread.
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
# of the efforts, which sway the arms gently [N m]
_AMPLITUDE = np.array([4.0, 4.0, 2.0, 2.0, 1.0, 0.5, 0.5])
# how often what has come is taken, as a recorder would
_DRAIN_PERIOD_S = 0.01
# how long everything has to run before it is measured
_SETTLE_S = 1.0
_PATIENCE_S = 120.0


def names_of(arms: int) -> list[str]:
    """Return the namespaces of so many arms."""
    return [f'arm_{number + 1}' for number in range(arms)]


def processor_time(process: int) -> float:
    """Return the seconds that all threads of a process have run; Linux tells."""
    fields = Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def physics_time(process: int) -> float:
    """Return the seconds that the physics thread of a process was on a processor; Linux tells."""
    for task in Path(f'/proc/{process}/task').iterdir():
        if (task / 'comm').read_text().strip() == 'physics':
            return 1e-9 * int((task / 'schedstat').read_text().split()[0])
    raise RuntimeError(f'process {process} has no thread of the name physics')


def hear(arms: int) -> None:
    """Have an executor take all messages of the robots, as most nodes do, until killed."""
    node = rclpy.create_node('hear')
    for name in names_of(arms):
        for topic, kind in TOPICS.items():
            node.create_subscription(kind, f'/{name}/{topic}', lambda message: None, 1000)
    parent = os.getppid()
    while os.getppid() == parent:
        rclpy.spin_once(node, timeout_sec=_PATIENCE_S)


def command(arms: int) -> None:
    """Send every arm its efforts at 1 kHz until killed, or alone."""
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
    """Takes every message of a bridge, serialized, now and then all that have come."""

    def __init__(self, node: Node, arms: int) -> None:
        """Subscribe to all topics of so many arms, and /clock; with none, to neither."""
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
        """Take what comes until killed, or alone."""
        parent = os.getppid()
        while os.getppid() == parent:
            self._drain()

    def measure(self, process: int) -> dict[str, float]:
        """
        Return what lies between two reports, once everything runs.

        process: id of the bridge's.
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
        """Return what the physics thread of a process does between two reports."""
        # whoever is beside it has been found by then
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
        """Wait for the next report; give it with the processor time and what has come."""
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

    def _await(self, condition, what: str) -> None:
        end = time.monotonic() + _PATIENCE_S
        while not condition():
            if time.monotonic() > end:
                sys.exit(f'waited {_PATIENCE_S:g} s in vain for {what}')
            self._drain()

    def _drain(self) -> None:
        time.sleep(_DRAIN_PERIOD_S)
        for topic, (kind, subscription) in self._subscriptions.items():
            self.counts[topic] += sum(1 for _ in self._take(kind, subscription))

    def _take(self, kind, subscription):
        # without an executor, which would take more of the machine than the bridges do
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
