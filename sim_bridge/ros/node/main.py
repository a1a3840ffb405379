"""Process entry point: runs the node, plain or managed."""

from __future__ import annotations

from collections.abc import Sequence
import sys

from sim_bridge.ros.node.node import SimBridge
from sim_bridge.ros.process import process, realtime

MANAGED = '--managed'


def main(args: Sequence[str] | None = None) -> int:
    """
    Run the node; return the process's exit code.

    args: process arguments, starting with the program name. Arguments after --ros-args belong to
    ROS; `--managed` selects a managed node.
    """
    realtime.schedule_others()
    given = list(sys.argv if args is None else args)
    if MANAGED not in given:
        return process.run('sim_bridge', SimBridge, given)
    from sim_bridge.ros.node.managed import ManagedSimBridge

    given.remove(MANAGED)
    return process.run('sim_bridge', ManagedSimBridge, given)
