"""
An hour's simulation at full speed, received by a subscriber in another process.

    python benchmarks/ros_endurance.py --seconds 3600

It starts the node at full speed, subscribes to joint_states and /clock, and prints the growth in
node memory, whether every step's message arrived once and in order, and whether the stamps are
whole multiples of the step to the end.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
import signal
import struct
import subprocess
import sys
import time

import numpy as np
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.experimental.events_executor import EventsExecutor
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

STEP_NS = 1_000_000
# queue depth, for times at which this process gets no processor
DEPTH = 10_000


class Listener:
    """Compares a topic's stamps with the previous ones."""

    def __init__(self, node: rclpy.node.Node, topic: str, kind: type, period_ns: int) -> None:
        self.topic, self.period_ns = topic, period_ns
        self.count = self.missing = self.disorder = self.odd = 0
        self.first_ns = self.last_ns = 0
        # raw: listening should load the machine as little as possible
        self._subscription = node.create_subscription(
            kind, topic, self._take, QoSProfile(depth=DEPTH), raw=True
        )

    def _take(self, serialized: bytes) -> None:
        seconds, rest = struct.unpack_from('<iI', serialized, 4)
        stamp = seconds * 1_000_000_000 + rest
        self.odd += stamp % STEP_NS != 0
        if self.count:
            gap = stamp - self.last_ns
            self.disorder += gap <= 0
            self.missing += max(gap // self.period_ns - 1, 0)
        else:
            self.first_ns = stamp
        self.last_ns = stamp
        self.count += 1

    def summary(self) -> dict:
        """Return statistics for the received messages."""
        return {
            'messages': self.count,
            'missing': self.missing,
            'out of order': self.disorder,
            'stamps off the steps': self.odd,
            'first [s]': self.first_ns * 1e-9,
            'last [s]': self.last_ns * 1e-9,
        }


def memory_mb(pid: int) -> float:
    """Return a process's resident memory [MB]."""
    pages = int(Path(f'/proc/{pid}/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE') * 1e-6


def measure(robot: str, seconds: float) -> dict:
    """Listen for this many simulated seconds."""
    rclpy.init()
    node = rclpy.create_node('ros_endurance')
    states = Listener(node, 'joint_states', JointState, STEP_NS)
    clock = Listener(node, '/clock', Clock, 5 * STEP_NS)
    command = [
        sys.executable,
        '-m',
        'sim_bridge',
        'node',
        '--ros-args',
        '-p',
        f'robot:={robot}',
        '-p',
        'real_time_factor:=0.0',
        '-p',
        'hold_until_first_command:=false',
    ]
    executor = EventsExecutor()
    executor.add_node(node)
    memory: list[tuple[float, float]] = []
    begun = 0.0
    with subprocess.Popen(command) as simulator:
        try:
            while states.last_ns < seconds * 1e9 and simulator.poll() is None:
                executor.spin_once(timeout_sec=0.1)
                if states.count and not begun:
                    begun = time.monotonic()
                if states.last_ns * 1e-9 >= len(memory) * seconds / 360.0 and states.count:
                    memory.append((states.last_ns * 1e-9, memory_mb(simulator.pid)))
        except ExternalShutdownException:
            pass
        elapsed = time.monotonic() - begun
        simulator.send_signal(signal.SIGINT)
    times, sizes = np.array(memory).T
    settled = times > 0.1 * times[-1]
    slope = np.polyfit(times[settled], sizes[settled], 1)[0]
    return {
        'robot': robot,
        'real time factor': (states.last_ns - states.first_ns) * 1e-9 / elapsed,
        'joint_states': states.summary(),
        '/clock': clock.summary(),
        'memory [MB]': {
            'after a tenth': float(sizes[settled][0]),
            'at the end': float(sizes[-1]),
            'largest': float(sizes.max()),
            'growth per simulated hour': float(slope * 3600.0),
        },
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--seconds', type=float, default=3600.0, help='simulated (3600)')
    parser.add_argument('--robot', default='arm', help='name or URDF file (arm)')
    args = parser.parse_args()
    print(json.dumps(measure(args.robot, args.seconds), indent=2))


if __name__ == '__main__':
    main()
