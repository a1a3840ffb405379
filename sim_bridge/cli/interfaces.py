"""`sim_bridge interfaces`: generate the message packages missing from the ROS wheels."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time

from sim_bridge.cli.environment import require_ros, set_prefix
from sim_bridge.cli.help import HelpFormatter

_EPILOG = """\
for example:
  sim_bridge interfaces               # generates them if necessary
  eval "$(sim_bridge interfaces)"     # lets this shell and its programs, such as ros2, find them
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'interfaces',
        help='generate the message packages missing from the ROS wheels',
        description='Generate the required parts of control_msgs, controller_manager_msgs, '
        'simulation_interfaces, tf2_msgs, ros_gz_interfaces, actuator_msgs and vision_msgs, parts '
        'of ROS 2 but not available as wheels, and print shell commands for other programs to '
        'find them: PYTHONPATH and AMENT_PREFIX_PATH. Nodes of sim_bridge find them by '
        'themselves. Needs a C++ compiler and the Python headers. The generated packages are kept '
        'beside the compiled kernels and shared by all environments with the same wheels.',
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Generate; return the exit code. Raises MissingRosError, InterfaceBuildError."""
    require_ros('sim_bridge interfaces')
    from sim_bridge.ros.interfaces import build, store

    start = time.perf_counter()
    prefix, is_new = build.build()
    took = f'generated in {time.perf_counter() - start:.0f} s' if is_new else 'generated before'
    print(took, file=sys.stderr)
    set_prefix()
    store.append('PYTHONPATH', store.python_path(prefix))
    for variable in ('PYTHONPATH', 'AMENT_PREFIX_PATH'):
        print(f'export {variable}={shlex.quote(os.environ[variable])}')
    return 0
