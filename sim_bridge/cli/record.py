"""`sim_bridge record`: simulate into a bag without a ROS graph, as fast as possible."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
import sys
import time
from typing import TYPE_CHECKING

from sim_bridge.cli import completers
from sim_bridge.cli.completers import completed
from sim_bridge.cli.console import Console
from sim_bridge.cli.environment import require_ros, set_prefix
from sim_bridge.cli.help import HelpFormatter
from sim_bridge.cli.progress import Work
from sim_bridge.cli.simulated import add_simulated, check_simulated, parameters_of
from sim_bridge.foundation.errors import InvalidValueError, RecordingError, SimulationError
from sim_bridge.foundation.names import counted
from sim_bridge.ros.params.robot_parameters import world_parameters

if TYPE_CHECKING:
    from sim_bridge.ros.params.parameters import SimulatorParameters

FAILED = 1

_EPILOG = """\
for example:
  sim_bridge record arm -o swing --duration 10 -p hold_until_first_command:=false \\
    -p 'initial_positions:=[0.0, 0.6, 0.0, -1.2, 0.0, 0.8, 0.0]'
  sim_bridge record --world config/world_table.yaml -o drop --duration 3
  sim_bridge record arm -o driven --duration 5 --commands efforts.csv -p publish_truth:=true

A command table has a column `time` [s] and one for each joint: `elbow` or `elbow.effort`,
`elbow.velocity`, `elbow.position`; `left/elbow` for the robot with namespace left. From a bag,
the messages on the robots' command topics are used.
If the disk becomes full, the bag is still readable; the exit code is then 1.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'record',
        help='simulate directly into a bag, without a ROS graph',
        description='Simulate as fast as possible and without a ROS graph. Record the messages '
        'the node would have published, and the commands, to a bag (rosbag2, MCAP).',
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    add_simulated(parser)
    completed(
        parser.add_argument(
            '-o', '--output', metavar='BAG', required=True, help='folder to create; must not exist'
        ),
        completers.folders,
    )
    parser.add_argument(
        '--duration', type=float, metavar='S', required=True, help='simulated time [s]'
    )
    completed(
        parser.add_argument('--commands', metavar='FILE', help='commands: a .csv table, or a bag'),
        completers.files,
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """
    Record; return the exit code.

    Raises MissingRosError, or another SimBridgeError for invalid input.
    """
    require_ros('sim_bridge record')
    set_prefix()
    if not 0.0 < args.duration < float('inf'):
        raise InvalidValueError('--duration', args.duration, 'a time above 0 [s]')
    check_simulated(args)
    from sim_bridge.ros.bag.offline import OfflineRun

    console = Console(sys.stdout)
    commands = Path(args.commands) if args.commands else None
    recording = OfflineRun(_parameters(args, console), args.namespace, commands)
    for text in recording.warnings:
        console.line(f'warning: {text}')
    begun = time.monotonic()

    try:
        with Work(console, 'simulated', args.duration) as work:
            state_hash = recording.run(
                args.duration,
                lambda time_s: work(
                    time_s, f'{time_s / (time.monotonic() - begun):.1f} x real time'
                ),
            )
    except (RecordingError, SimulationError) as err:
        print(f'sim_bridge record: {err}', file=sys.stderr)
        return FAILED
    took, recorder = time.monotonic() - begun, recording.recorder
    console.line(
        f'{args.output}: {args.duration:g} s in {took:.1f} s ({args.duration / took:.1f} x real '
        f'time), {counted(recorder.message_count, "message")}, '
        f'{recorder.byte_count / 1e6:.1f} MB, '
        f'{counted(recording.commands, "command")}, state hash {state_hash}'
    )
    if recording.left_over:
        console.line(
            f'warning: {recording.left_over} of {recording.left_over + recording.commands} '
            f'commands in {args.commands} come after the {args.duration:g} s of --duration, and '
            'were not taken'
        )
    return 0


def _parameters(args: argparse.Namespace, console: Console) -> SimulatorParameters:
    """Return the parameters: beside the robot, then the file, then the command line."""
    from sim_bridge.ros.params.nearby_files import values_nearby
    from sim_bridge.ros.params.node_arguments import parameter_in
    from sim_bridge.ros.params.parameter_table import from_flat
    from sim_bridge.ros.params.parameters import SimulatorParameters

    node = '/'.join(['', *filter(None, args.namespace.split('/')), 'sim_bridge'])
    world = args.world or ''
    values = world_parameters(world)
    values.update(values_nearby(node, world, args.robot or '', args.package_path, args.params))
    values.update(parameters_of(args))
    for word in args.parameter:
        values.update(parameter_in(word))
    values['record'] = os.fspath(args.output)
    return from_flat(SimulatorParameters, values, lambda text: console.line(f'warning: {text}'))
