"""`sim_bridge node`: run the simulator node in this process."""

from __future__ import annotations

import argparse
import sys

from sim_bridge.cli.environment import require_ros, set_prefix, set_threads
from sim_bridge.cli.help import HelpFormatter
from sim_bridge.cli.simulated import (
    add_simulated,
    arguments_beside_robot,
    check_simulated,
    ros_arguments,
)
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.params.node_arguments import words_without_parameters

_EPILOG = """\
for example:
  sim_bridge node pendulum --rate 500
  sim_bridge node --world config/world_table.yaml -p real_time_factor:=0
  sim_bridge node --ros-args -p robot:=pendulum --params-file my.yaml -r __ns:=/left
  sim_bridge node arm --managed

With a robot or a --world, arm.params.yaml beside arm.urdf is read as by `run`.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'node',
        help='run the simulator node alone',
        usage='sim_bridge node [options] [robot] [--ros-args ...]',
        description='Run the simulator node alone. It also takes ROS arguments, after --ros-args.',
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    add_simulated(parser)
    parser.add_argument(
        '--managed',
        action='store_true',
        help='run as a managed node: load when configured, run when activated',
    )
    parser.set_defaults(run=run, forwards=True)


def run(args: argparse.Namespace) -> int:
    """
    Run the node until it is asked to end; return its exit code.

    Raises MissingRosError without ROS 2, InvalidValueError or UnknownNameError for an unknown
    robot or parameter, and for arguments that ROS does not accept.
    """
    require_ros('sim_bridge node')
    set_prefix()
    set_threads()
    check_simulated(args)
    from sim_bridge.ros.process import realtime

    # before the imports below: they take most of the starting time
    realtime.begin_process()
    from rclpy.utilities import remove_ros_args

    from sim_bridge.ros.node.main import main, MANAGED

    own = ros_arguments(args, arguments_beside_robot(args) if args.robot else ())
    arguments = [sys.argv[0], *(['--ros-args', *own, '--'] if own else []), *args.forwarded]
    expected = 'ROS arguments, after --ros-args, such as -p robot:=arm'
    try:
        others = remove_ros_args(words_without_parameters(arguments))[1:]
    except RuntimeError as err:  # base class of rclpy's errors; the classes themselves are private
        raise InvalidValueError('arguments', ' '.join(args.forwarded), expected, str(err)) from err
    if others:
        raise InvalidValueError('arguments', ' '.join(others), expected)
    return main([*arguments, MANAGED] if args.managed else arguments)
