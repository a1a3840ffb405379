"""
Rate accuracy for a running simulator, seen from a second process.

Start a simulator (`make run`, or `ros2 launch sim_bridge sim_bridge.launch.py`), then

    python benchmarks/ros_timing.py --seconds 60

For every topic it prints the rate in real time and by the messages' stamps, messages missing
between two stamps, and arrival regularity; then the simulator's own deadline statistics
from /diagnostics. `--respond` also answers each joint state with a zero-effort
command, as a controller would.
"""

from __future__ import annotations

import argparse
from collections import Counter
import json
import struct
import sys
import time

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu, JointState

MEASURED = {
    f'{kind.__module__.split(".")[0]}/msg/{kind.__name__}': kind
    for kind in (Clock, Imu, JointState, WrenchStamped)
}


class Record:
    """One topic's arrival times and stamps, stored on arrival and evaluated afterwards."""

    def __init__(self) -> None:
        self.arrivals_ns: list[int] = []
        self.stamps: list[bytes] = []

    def add(self, serialized: bytes) -> None:
        """Take a serialized message; its stamp comes first."""
        self.arrivals_ns.append(time.monotonic_ns())
        self.stamps.append(serialized[4:12])

    def summary(self) -> dict:
        """Return rates [Hz], missing messages, order, and gap percentiles [ms]."""
        if len(self.stamps) < 3:
            return {'messages': len(self.stamps)}
        stamps = np.array([s * 1_000_000_000 + ns for s, ns in map(_unpack, self.stamps)])
        steps = np.diff(stamps)
        period = Counter(steps.tolist()).most_common(1)[0][0]
        gaps = np.diff(self.arrivals_ns) * 1e-6
        elapsed = (self.arrivals_ns[-1] - self.arrivals_ns[0]) * 1e-9
        return {
            'messages': len(stamps),
            'rate': (len(stamps) - 1) / elapsed,
            'rate by stamps': 1e9 * (len(stamps) - 1) / (stamps[-1] - stamps[0]),
            'missing': int(np.maximum(steps // period - 1, 0).sum()) if period > 0 else 0,
            'out of order': int((steps <= 0).sum()),
            'gap p50': float(np.percentile(gaps, 50)),
            'gap p99': float(np.percentile(gaps, 99)),
            'gap max': float(gaps.max()),
        }


def _unpack(stamp: bytes) -> tuple[int, int]:
    return struct.unpack('=iI', stamp)


class Probe:
    """Subscribes to everything the simulator publishes."""

    def __init__(self, node: Node, respond: bool) -> None:
        self.records: dict[str, Record] = {}
        self.diagnostics: list[dict[str, str]] = []
        self._node = node
        self._subscriptions = [
            node.create_subscription(DiagnosticArray, '/diagnostics', self._diagnose, 10)
        ]
        if respond:
            self._commands = node.create_publisher(JointState, 'joint_commands', 10)
            self._subscriptions.append(
                node.create_subscription(JointState, 'joint_states', self._respond, 1)
            )

    def discover(self) -> None:
        """Subscribe to new topics."""
        for topic, kinds in self._node.get_topic_names_and_types():
            if topic not in self.records and kinds[0] in MEASURED and self._is_published(topic):
                record = self.records[topic] = Record()
                # raw: the measurement should load the machine as little as possible
                self._subscriptions.append(
                    self._node.create_subscription(
                        MEASURED[kinds[0]], topic, record.add, QoSProfile(depth=100), raw=True
                    )
                )

    def clear(self) -> None:
        """Clear all data received so far."""
        for record in self.records.values():
            record.__init__()
        self.diagnostics.clear()

    def _is_published(self, topic: str) -> bool:
        return topic != self._node.resolve_topic_name('joint_commands') and bool(
            self._node.count_publishers(topic)
        )

    def _diagnose(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.endswith(': pacing'):
                self.diagnostics.append({value.key: value.value for value in status.values})

    def _respond(self, state: JointState) -> None:
        self._commands.publish(
            JointState(header=state.header, name=state.name, effort=[0.0] * len(state.name))
        )


def measure(seconds: float, respond: bool, args: list[str] | None) -> dict:
    """Listen for this many seconds; return a summary for each topic, and the simulator's own."""
    rclpy.init(args=args)
    node = rclpy.create_node('ros_timing')
    probe = Probe(node, respond)
    executor = _executor()
    executor.add_node(node)
    deadline = time.monotonic() + 30.0
    while not any(record.stamps for record in probe.records.values()):
        if time.monotonic() > deadline:
            sys.exit('no simulator found within 30 s: is one running in this ROS domain?')
        probe.discover()
        executor.spin_once(timeout_sec=0.1)
    _spin(executor, 3.0, probe.discover)
    probe.clear()
    _spin(executor, seconds)
    result = {
        'topics': {topic: record.summary() for topic, record in sorted(probe.records.items())},
        'simulator': _simulator(probe.diagnostics),
    }
    node.destroy_node()
    rclpy.shutdown()
    return result


def _executor():
    """Return the cheapest executor available, so that the probe disturbs little."""
    try:
        from rclpy.experimental.events_executor import EventsExecutor
    except ImportError:
        from rclpy.executors import SingleThreadedExecutor as EventsExecutor
    return EventsExecutor()


def _spin(executor, seconds: float, also=lambda: None) -> None:
    end = time.monotonic() + seconds
    next_look = 0.0
    while (now := time.monotonic()) < end:
        if now > next_look:
            also()
            next_look = now + 0.5
        executor.spin_once(timeout_sec=0.1)


def _simulator(diagnostics: list[dict[str, str]]) -> dict:
    """Summarize the simulator's reports, one a second; the first covers earlier time."""
    reports = diagnostics[1:]
    if not reports:
        return {}
    ticks = int(reports[-1]['ticks since start']) - int(diagnostics[0]['ticks since start'])
    missed = sum(int(report['missed deadlines']) for report in reports)
    lateness = {
        name: [float(report[f'tick lateness {name} [ms]']) for report in reports]
        for name in ('p50', 'p99', 'p99.9', 'max')
    }
    duration = [float(report['tick duration p50 [ms]']) for report in reports]
    return {
        'ticks': ticks,
        'missed deadlines': missed,
        'missed share': missed / max(ticks, 1),
        'real time factor': float(np.mean([float(r['real time factor']) for r in reports])),
        'lateness p50': float(np.median(lateness['p50'])),
        'lateness p99, median second': float(np.median(lateness['p99'])),
        'lateness p99, worst second': max(lateness['p99']),
        'lateness max': max(lateness['max']),
        'duration p50': float(np.median(duration)),
    }


def print_tables(result: dict) -> None:
    """Print both tables; times in ms."""
    head = (
        f'{"topic":32} {"messages":>8} {"Hz":>9} {"Hz stamps":>10} {"missing":>7} {"disorder":>8}'
    )
    print(head + f' {"gap p50":>8} {"p99":>7} {"max":>8}')
    for topic, s in result['topics'].items():
        if len(s) == 1:
            print(f'{topic:32} {s["messages"]:8}')
            continue
        print(
            f'{topic:32} {s["messages"]:8} {s["rate"]:9.2f} {s["rate by stamps"]:10.2f}'
            f' {s["missing"]:7}'
            f' {s["out of order"]:8} {s["gap p50"]:8.3f} {s["gap p99"]:7.3f} {s["gap max"]:8.3f}'
        )
    print()
    for name, value in result['simulator'].items():
        print(f'{name:32} {value:.5g}')


def main() -> None:
    """Measure, print, and write JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--seconds', type=float, default=10.0, help='how long to measure (10)')
    parser.add_argument(
        '--respond', action='store_true', help='answer every joint state with a command'
    )
    parser.add_argument('--json', metavar='FILE', help='also write the result to this file')
    options, ros_args = parser.parse_known_args()
    result = measure(options.seconds, options.respond, ros_args)
    print_tables(result)
    if options.json:
        with open(options.json, 'w') as file:
            json.dump(result, file, indent=2)


if __name__ == '__main__':
    main()
