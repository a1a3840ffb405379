"""`sim_bridge node`: run the simulator node in this process."""

from __future__ import annotations

import argparse
import sys

from sim_bridge.cli.environment import require_ros, set_prefix, set_threads
from sim_bridge.foundation.errors import InvalidValueError

_EPILOG = """\
for example:
  sim_bridge node --ros-args -p robot:=pendulum -p rate:=500
  sim_bridge node --ros-args --params-file my.yaml -r __ns:=/left
  sim_bridge node --managed
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'node',
        help='run the simulator node alone',
        usage='sim_bridge node [-h] [--managed] [--ros-args ...]',
        description='Run the simulator node alone. It takes ROS arguments, after --ros-args.',
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        '--managed', action='store_true',
        help='be a managed node: load when configured, run when activated')
    parser.set_defaults(run=run, forwards_unknown=True)


def run(args: argparse.Namespace) -> int:
    """
    Run the node until it is told to end; return its exit code.

    Raises MissingRosError without ROS 2, InvalidValueError for other arguments than ROS takes.
    """
    require_ros('sim_bridge node')
    set_prefix()
    set_threads()
    from sim_bridge.ros.process import realtime

    # before the imports below, which take most of the start
    realtime.begin_process()
    from rclpy.utilities import remove_ros_args

    from sim_bridge.ros.node.main import main, MANAGED

    arguments = [sys.argv[0], *args.forwarded]
    expected = 'ROS arguments, after --ros-args, such as -p robot:=arm'
    try:
        others = remove_ros_args(arguments)[1:]
    except RuntimeError as err:  # the base of rclpy's errors, whose own classes are private
        raise InvalidValueError('arguments', ' '.join(args.forwarded), expected, str(err)) from err
    if others:
        raise InvalidValueError('arguments', ' '.join(others), expected)
    return main([*arguments, MANAGED] if args.managed else arguments)
