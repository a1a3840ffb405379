"""
Closed loops over topics that repeat to the bit: runs in lockstep with a controller process.

    python benchmarks/ros_lockstep.py --runs 5 --seconds 60 --load 3

Each run starts the arm and the PD controller as separate processes, recorded, as fast as the
controller answers, beside purely computing processes. It prints the state hashes at the
start, the middle and the end, and the steps per second, for each run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import time

import rclpy
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from sim_bridge.ros.bag.reader import read_messages

# for the arm, at its usual rate
STEPS_PER_SECOND = 1000


@contextlib.contextmanager
def process(*arguments: str):
    """Run a Python process while the context lasts."""
    started = subprocess.Popen([sys.executable, *arguments], stderr=subprocess.DEVNULL)
    try:
        yield started
    finally:
        started.send_signal(signal.SIGINT)
        started.wait()


def run(node: rclpy.node.Node, bag: Path, seconds: float) -> tuple[dict[int, str], float]:
    """Record a run; return its state hashes by step, and its steps per second."""
    now = [0.0]

    def listen(clock: Clock) -> None:
        now[0] = clock.clock.sec + clock.clock.nanosec * 1e-9

    subscription = node.create_subscription(Clock, '/clock', listen, QoSProfile(depth=10))
    simulator = (
        '-m',
        'sim_bridge',
        'node',
        '--ros-args',
        '-p',
        'robot:=arm',
        '-p',
        'real_time_factor:=0.0',
        '-p',
        "lockstep:=['joint_commands']",
        '-p',
        f'record:={bag}',
    )
    with process(*simulator), process('-m', 'sim_bridge.control.pd_controller'):
        begun_at, begun = 0.0, 0.0
        # slightly longer, so that the bag contains the last step's hash
        while now[0] < seconds + 0.1:
            rclpy.spin_once(node, timeout_sec=0.1)
            if now[0] > 0.0 and not begun:
                begun_at, begun = now[0], time.monotonic()
        rate = (now[0] - begun_at) / (time.monotonic() - begun) * STEPS_PER_SECOND
    node.destroy_subscription(subscription)
    hashes = (
        json.loads(deserialize_message(message.data, String).data)
        for message in read_messages(bag)
        if message.topic.endswith('state_hash')
    )
    return {each['step']: each['hash'] for each in hashes}, rate


def main() -> int:
    """Run and compare; return 1 if a hash differs."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--runs', type=int, default=5, help='how many (5)')
    parser.add_argument('--seconds', type=int, default=60, help='simulated in each (60)')
    parser.add_argument('--load', type=int, default=0, help='computing processes beside it (0)')
    args = parser.parse_args()
    rclpy.init()
    node = rclpy.create_node('ros_lockstep')
    steps = [0, args.seconds // 2 * STEPS_PER_SECOND, args.seconds * STEPS_PER_SECOND]
    found = set()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        for _ in range(args.load):
            stack.enter_context(process('-c', 'while True: pass'))
        for number in range(args.runs):
            hashes, rate = run(node, Path(folder) / str(number), args.seconds)
            found.add(tuple(hashes[step] for step in steps))
            print(
                f'run {number + 1}:',
                *(hashes[step][:16] for step in steps),
                f'{rate:.0f} steps/s',
                flush=True,
            )
    print('equal' if len(found) == 1 else 'DIFFERENT')
    return 0 if len(found) == 1 else 1


if __name__ == '__main__':
    sys.exit(main())
