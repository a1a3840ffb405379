"""`sim_bridge run`: start simulator and controllers as processes, and end them together."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
import math
import os
import shutil
import sys
import time
from typing import TYPE_CHECKING

from sim_bridge.cli import completers
from sim_bridge.cli.completers import completed
from sim_bridge.cli.console import Console
from sim_bridge.cli.environment import require_extra, require_ros, set_prefix, set_threads
from sim_bridge.cli.help import HelpFormatter
from sim_bridge.cli.page_address import PageAddress
from sim_bridge.cli.simulated import (
    add_simulated,
    arguments_beside_robot,
    check_simulated,
    controlled,
    namespace_arguments,
    params_arguments,
    ros_arguments,
)
from sim_bridge.cli.status_screen import screen
from sim_bridge.cli.supervisor import describe_exit, is_clean_exit, Supervisor
from sim_bridge.description.controllers import CONTROLLERS, NO_CONTROLLER
from sim_bridge.foundation.names import counted
from sim_bridge.ros.params.robot_parameters import DEFAULT_CONTROLLER, DEFAULT_ROBOT
from sim_bridge.ros.process.discovery import discovery_defaults
from sim_bridge.ros.process.domain_lock import domain_lock
from sim_bridge.trust.child import python_module

if TYPE_CHECKING:
    from sim_bridge.cli.watch import Progress, Watch

# The first start compiles kernels: up to a minute if many processes share few processors.
START_LIMIT_S = 300.0
# longer than a start without compilation
_WAITING_S = 5.0

_PERIOD_S = 0.1
_STATUS_PERIOD_S = 0.5
# by then the rate is known, and the node has published its diagnostics
_FIRST_STATUS_S = 1.5

_EPILOG = """\
quadruped.params.yaml beside quadruped.urdf contains the node parameters for this robot; a file
beside a scene does the same. --params and -p override them. Every robot of a scene is controlled
in its namespace.
Only nodes on this machine are discovered; ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET opens discovery.

The exit code is 0 if all processes ended on request; if one ended by
itself, it is that process's exit code.

for example:
  sim_bridge run                                         # the robot arm, held by a PD controller
  sim_bridge run quadruped --paused
  ros2 service call /sim_bridge/pause std_srvs/srv/SetBool '{data: false}'    # runs it
  sim_bridge run your.urdf --controller none -p publish_truth:=true
  sim_bridge run package://bot/urdf/bot.xacro --package-path ~/src --xacro-arg arm:=left
  sim_bridge run gallery/dominoes                        # sim_bridge gallery lists these scenes
  sim_bridge run --world config/world_table.yaml --duration 10
  sim_bridge run quadruped --view                        # and look at it in a browser
  sim_bridge run arm -- --ros-args --log-level debug     # arguments after -- go to the simulator
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'run',
        help='run the simulator with a controller in a second process',
        description='Run the simulator, and a controller process for each robot; Ctrl-C ends all.',
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    add_simulated(parser)
    parser.add_argument(
        '--controller',
        choices=(*CONTROLLERS, NO_CONTROLLER),
        help='default: the one named in the scene, or the one configured in the parameter file '
        f'beside the robot, else {DEFAULT_CONTROLLER}',
    )
    parser.add_argument(
        '--real-time-factor',
        type=float,
        metavar='X',
        help='simulated seconds per second; 0: as fast as possible',
    )
    parser.add_argument('--paused', action='store_true', help='start paused')
    parser.add_argument(
        '--duration',
        type=float,
        metavar='S',
        help='end this many seconds after the first command; with --controller none, --paused or '
        'a robot without joints after the first message',
    )
    completed(
        parser.add_argument(
            '--record',
            metavar='BAG',
            help='record all topics and commands to this folder; numbered if it exists',
        ),
        completers.folders,
    )
    parser.add_argument('--view', action='store_true', help='open the live page, in a browser')
    add_page(parser)
    parser.set_defaults(run=run, forwards=True)


def add_page(parser: argparse.ArgumentParser) -> None:
    """Add `--port` and `--no-browser`."""
    parser.add_argument(
        '--port', type=int, metavar='N', help='port of the live page (default: any free port)'
    )
    parser.add_argument(
        '--no-browser',
        dest='browser',
        action='store_false',
        help='only print the address of the live page',
    )


def run(args: argparse.Namespace) -> int:
    """
    Run all processes until one ends or a signal arrives; return the exit code.

    Raises MissingRosError, MissingPackageError, DescriptionError for a scene file with errors,
    InvalidValueError or UnknownNameError for an unknown robot or parameter, StateError if another
    `run` is active on this ROS domain.
    """
    require_ros('sim_bridge run')
    if args.view:
        require_extra('the live page', 'view', 'viser')
    set_prefix()
    set_threads()
    os.environ.update(discovery_defaults(os.environ))
    check_simulated(args)
    console = Console(sys.stdout)
    robots = {
        namespace: controller for namespace, controller, _ in controlled(args, args.controller)
    }
    moved = [name for name, controller in robots.items() if controller != NO_CONTROLLER]
    watched = next(iter((*moved, *robots)), '')
    # a paused simulator sends no states, so controllers send no commands
    is_commanded = bool(moved) and not args.paused
    told = args.robot or args.world or DEFAULT_ROBOT
    with domain_lock(told, args.namespace, os.environ):
        return supervise(
            build_commands(args),
            args.namespace,
            args.duration,
            console,
            watched,
            is_commanded,
            opens_browser=args.browser,
        )


def build_commands(args: argparse.Namespace) -> dict[str, list[str]]:
    """
    Return the command of each process, by the name that marks its output.

    Raises DescriptionError for a scene file with errors.
    """
    robots = list(controlled(args, args.controller))
    commands = {
        'simulator': [
            *python_module('sim_bridge', 'node', '--ros-args'),
            *ros_arguments(
                args,
                # the user's parameters come last, so they override the file beside the robot
                arguments_beside_robot(args),
                real_time_factor=args.real_time_factor,
                paused=args.paused or None,
                record=args.record,
                view=args.view or None,
                view_port=args.port,
            ),
            *args.forwarded,
        ]
    }
    for name, controller, own in robots:
        if controller == NO_CONTROLLER:
            continue
        namespace = '/'.join(filter(None, (args.namespace.strip('/'), name)))
        commands[f'{name} controller'.strip()] = [
            *python_module(f'sim_bridge.control.{controller}_controller', '--ros-args'),
            *namespace_arguments(namespace),
            *own,
            *params_arguments(args.params),
        ]
    return commands


def supervise(
    commands: Mapping[str, Sequence[str]],
    namespace: str,
    duration: float | None,
    console: Console,
    robot: str = '',
    is_commanded: bool = False,
    opens_browser: bool = False,
) -> int:
    """
    Run `commands` until one ends, a signal arrives or the time is over; return the exit code.

    namespace: the simulator node's. duration: real time from the first message, or from the first
    command if `is_commanded` [s]; None for no limit. robot: namespace of the watched robot, within
    `namespace`. opens_browser: whether to open the live page, if there is one, in a browser; only
    on a terminal with a display.
    """
    page = PageAddress(console, opens_browser)
    environment = {**os.environ, 'PYTHONUNBUFFERED': '1'}
    if console.is_terminal:
        environment.setdefault('RCUTILS_COLORIZED_OUTPUT', '1')
    with Supervisor(commands, environment, page.line) as supervisor:
        names = ' and '.join(commands)
        console.line(f'starting {names}')
        # late import: the children start meanwhile
        from sim_bridge.cli.watch import Watch

        with Watch(namespace, robot) as watch:
            reason, code = _follow(supervisor, watch, duration, console, is_commanded, page)
        console.end_status()
        console.line(f'{reason}; ending {names}')
        was_loading = not supervisor.is_ready
        told_to_end = [child for child in supervisor.children if child.exit_code is None]
    for child in told_to_end:
        own = child.exit_code
        # a signal may interrupt an import, and Python may report this as a failed import
        is_cut_short = was_loading and own is not None and own > 0
        if own is not None and not is_clean_exit(own) and not is_cut_short:
            console.line(f'{child.name}, asked to end, {describe_exit(own)}')
            code = code or 1
    return code


def _follow(
    supervisor: Supervisor,
    watch: Watch,
    duration: float | None,
    console: Console,
    is_commanded: bool,
    page: PageAddress,
) -> tuple[str, int]:
    """Show the status until there is a reason to end; return the reason and the exit code."""
    begun, first_message, next_status = time.monotonic(), None, math.inf
    # start of the duration
    counted_from: float | None = None
    was_ready = False
    while True:
        supervisor.wait(_PERIOD_S)
        if supervisor.stop_signal:
            return f'received {supervisor.stop_signal.name}', 0
        if console.is_closed:
            return 'the output is no longer read', 0
        ended = supervisor.first_ended
        if ended:
            code = ended.exit_code
            assert code is not None, 'it has ended'
            return f'{ended.name} {describe_exit(code)}', code if code >= 0 else 128 - code
        now = time.monotonic()
        if first_message is None:
            seen = watch.look()
            if supervisor.is_ready and not was_ready:
                was_ready = True
                # earlier messages may come from another simulation
                seen = watch.begin_anew()
            if was_ready and seen.time_s is not None:
                first_message, next_status = now, now + _FIRST_STATUS_S
                console.end_status()
                console.line(f'running: the first message came after {now - begun:.1f} s')
                console.line(
                    _invitation(
                        watch.joint_states
                        if watch.look().publisher_count
                        else watch.object_states,
                        bool(page.url),
                    )
                )
            elif now - begun > START_LIMIT_S:
                return f'no message within {START_LIMIT_S:g} s', 1
            elif seen.compiling:
                console.status(seen.compiling)
            elif now - begun > _WAITING_S:
                console.status(f'no message after {now - begun:.0f} s')
            continue
        if duration is not None:
            if counted_from is None and (not is_commanded or _counts(watch.look())):
                counted_from = now
            if counted_from is not None and now - counted_from >= duration:
                return f'{duration:g} s are over', 0
            if counted_from is None and now - begun > START_LIMIT_S:
                return f'no command within {START_LIMIT_S:g} s', 1
        if now >= next_status:
            next_status = now + _STATUS_PERIOD_S
            seen = watch.look()
            console.status((screen if console.is_terminal else describe)(seen, page.url))


def _counts(progress: Progress) -> bool:
    """Return whether the duration counts from now: a command has come, or none is expected."""
    return progress.is_commanded or progress.is_jointless


def describe(progress: Progress, page: str = '') -> str:
    """Return the simulator's status in one line; page: address of its live page."""
    told = progress.pacing
    parts = [
        ', '.join(progress.robots) or 'simulator',
        page,
        progress.condition,
        f'{progress.time_s:.1f} s simulated',
        f'joint_states at {progress.rate_hz:.1f} Hz' if progress.rate_hz else None,
        f'real time factor {told["real time factor"]}' if told else None,
        counted(int(told['missed deadlines since start']), 'missed deadline') + ' since start'
        if told
        else None,
        counted(progress.topic_count, 'topic'),
        f'{progress.publisher_count} publishers of joint_states: set another ROS_DOMAIN_ID'
        if progress.publisher_count > 1
        else None,
    ]
    return ' | '.join(filter(None, parts))


def _invitation(topic: str, has_page: bool) -> str:
    """Return how to inspect the graph from another terminal, and the robot on a page."""
    domain = os.environ.get('ROS_DOMAIN_ID')
    settings = f'ROS_DOMAIN_ID={domain} ' if domain else ''
    page = '' if has_page else '. On a page in the browser: --view, or VIEW=1 with make'
    if shutil.which('ros2'):
        return f'look at it from another terminal: {settings}ros2 topic echo {topic}{page}'
    return (
        'look at it from another terminal by a program as in docs/topics.md, run by '
        f'{settings}{sys.executable}; or with ROS 2 sourced: {settings}ros2 topic echo {topic}'
        f'{page}'
    )
