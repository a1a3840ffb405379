"""`sim_bridge run`: a simulator and a controller, as two processes that begin and end together."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import math
import os
import shutil
import sys
import time
from typing import TYPE_CHECKING

from sim_bridge.cli.console import Console
from sim_bridge.cli.environment import discovery_defaults, require_ros, set_prefix
from sim_bridge.cli.supervisor import describe_exit, is_clean_exit, Supervisor

if TYPE_CHECKING:
    from sim_bridge.cli.watch import Progress, Watch

CONTROLLERS = ('pd', 'computed_torque')

# A first start compiles the kernels, which takes half a minute on a slow machine.
START_LIMIT_S = 180.0

_PERIOD_S = 0.1
_STATUS_PERIOD_S = 0.5
# by then there is a rate to show, and the node has published its diagnostics
_FIRST_STATUS_S = 1.5

_EPILOG = """\
What follows a bare -- goes to the simulator node:
  sim_bridge run arm -- --ros-args -p publish_truth:=true

Unless ROS_AUTOMATIC_DISCOVERY_RANGE or its like is set, only nodes on this machine are discovered.
The exit code is 0 if both processes ended as they were told to; if one ended by
itself it is that one's.
"""


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'run',
        help='run the simulator with a controller in a second process',
        description='Run the simulator with a controller in a second process; Ctrl-C ends both.',
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        'robot', nargs='?', help='name of a shipped robot, or a URDF or xacro file (default: arm)'
    )
    parser.add_argument(
        '--controller', choices=(*CONTROLLERS, 'none'), default='pd', help='default: %(default)s'
    )
    parser.add_argument('--params', metavar='FILE', help='YAML file with parameters of the nodes')
    parser.add_argument('--rate', type=float, metavar='HZ', help='steps per simulated second')
    parser.add_argument('--namespace', default='', metavar='NAME', help='namespace of both nodes')
    parser.add_argument(
        '--real-time-factor',
        type=float,
        metavar='X',
        help='simulated seconds per second; 0 for as fast as possible',
    )
    parser.add_argument('--paused', action='store_true', help='start paused')
    parser.add_argument(
        '--duration', type=float, metavar='S', help='end after so many seconds of simulating'
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run both until one ends or a signal comes; give the exit code. Raises MissingRosError."""
    require_ros('sim_bridge run')
    set_prefix()
    os.environ.update(discovery_defaults(os.environ))
    console = Console(sys.stdout)
    return supervise(build_commands(args), args.namespace, args.duration, console)


def build_commands(args: argparse.Namespace) -> dict[str, list[str]]:
    """Give the command of each process, by the name its output is marked with."""
    common = []
    if args.namespace:
        common += ['-r', f'__ns:=/{args.namespace.strip("/")}']
    if args.params:
        common += ['--params-file', args.params]
    parameters = {
        'robot': args.robot,
        'rate': args.rate,
        'real_time_factor': args.real_time_factor,
        'paused': 'true' if args.paused else None,
    }
    simulator = [
        item
        for name, value in parameters.items() if value is not None
        for item in ('-p', f'{name}:={value}')
    ]
    python = [sys.executable, '-m']
    commands = {
        'simulator': [
            *python, 'sim_bridge', 'node', '--ros-args', *common, *simulator, *args.forwarded
        ],
    }
    if args.controller != 'none':
        module = f'sim_bridge.control.{args.controller}_controller'
        commands['controller'] = [*python, module, '--ros-args', *common]
    return commands


def supervise(
    commands: dict[str, Sequence[str]], namespace: str, duration: float | None, console: Console
) -> int:
    """
    Run `commands` until one ends, a signal comes or the time is over; give the exit code.

    namespace: of the simulator node among the commands. duration: in real time, from the first
    message [s]; None for no end.
    """
    environment = {**os.environ, 'PYTHONUNBUFFERED': '1'}
    if console.is_terminal:
        environment.setdefault('RCUTILS_COLORIZED_OUTPUT', '1')
    with Supervisor(commands, environment, console.line) as supervisor:
        names = ' and '.join(commands)
        console.line(f'starting {names}; the first start compiles, which takes a while')
        # imported while the children start
        from sim_bridge.cli.watch import Watch

        with Watch(namespace) as watch:
            reason, code = _follow(supervisor, watch, duration, console)
        console.end_status()
        console.line(f'{reason}; ending {names}')
        told_to_end = [child for child in supervisor.children if child.exit_code is None]
    for child in told_to_end:
        if not is_clean_exit(child.exit_code):
            console.line(f'{child.name}, told to end, {describe_exit(child.exit_code)}')
            code = code or 1
    return code


def _follow(
    supervisor: Supervisor, watch: Watch, duration: float | None, console: Console
) -> tuple[str, int]:
    """Show what goes on until there is a reason to end; give that reason and the exit code."""
    begun, first_message, next_status = time.monotonic(), None, math.inf
    while True:
        supervisor.wait(_PERIOD_S)
        if supervisor.stop_signal:
            return f'received {supervisor.stop_signal.name}', 0
        if console.is_closed:
            return 'nobody reads this any more', 0
        ended = supervisor.first_ended
        if ended:
            code = ended.exit_code
            return f'{ended.name} {describe_exit(code)}', code if code >= 0 else 128 - code
        now = time.monotonic()
        if first_message is None:
            if watch.look().time_s is not None:
                first_message, next_status = now, now + _FIRST_STATUS_S
                console.line(f'running: the first message came after {now - begun:.1f} s')
                console.line(_invitation(watch.namespace))
            elif now - begun > START_LIMIT_S:
                return f'no message within {START_LIMIT_S:g} s', 1
        elif duration is not None and now - first_message >= duration:
            return f'{duration:g} s are over', 0
        elif now >= next_status:
            next_status = now + _STATUS_PERIOD_S
            console.status(describe(watch.look()))


def describe(progress: Progress) -> str:
    """Sum up in one line what has been seen of the simulator."""
    told = progress.pacing
    parts = [
        ', '.join(progress.robots) or 'simulator',
        progress.condition,
        f'{progress.time_s:.1f} s simulated',
        f'joint_states at {progress.rate_hz:.1f} Hz' if progress.rate_hz else None,
        f'real time factor {told["real time factor"]}' if told else None,
        f'{told["missed deadlines since start"]} deadlines missed since start' if told else None,
        f'{progress.topic_count} topics',
        f'{progress.publisher_count} publishers of joint_states: set another ROS_DOMAIN_ID'
        if progress.publisher_count > 1 else None,
    ]
    return ' | '.join(filter(None, parts))


def _invitation(namespace: str) -> str:
    """Say how to look at the graph from another terminal."""
    hint = '' if shutil.which('ros2') else ', with ROS 2 sourced'
    domain = os.environ.get('ROS_DOMAIN_ID')
    settings = f'ROS_DOMAIN_ID={domain} ' if domain else ''
    topic = f'{namespace.rstrip("/")}/joint_states'
    return f'look at it from another terminal{hint}: {settings}ros2 topic echo {topic}'
