"""`sim_bridge identify`: robot parameters from bags with recorded motion."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
import sys
from typing import TYPE_CHECKING

from sim_bridge.cli import completers
from sim_bridge.cli.completers import completed
from sim_bridge.cli.console import Console
from sim_bridge.cli.environment import require_ros, set_prefix, set_threads
from sim_bridge.cli.help import HelpFormatter
from sim_bridge.cli.outputs import need_folder
from sim_bridge.cli.progress import Work
from sim_bridge.cli.simulated import add_description
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.names import counted

if TYPE_CHECKING:
    from sim_bridge.identification.result import Identification

DONE, UNFINISHED = 0, 1
SUFFIXES = ('.urdf', '.yaml', '.yml', '.json')
_WIDTH = 99  # width if the output is not a terminal

_EPILOG = """\
Parameters: joint friction, damping and armature; link mass, centre and inertia; effort delay.
KIND:NAME+NAME fits some joints or links only. docs/identification.md explains how to record
informative motion, and the columns.

exit status:
  0  the fit converged
  1  the fit was stopped after too many rounds
  2  wrong usage, or an unsuitable bag or robot

for example:
  sim_bridge identify swing arm
  sim_bridge identify bag.mcap robot.urdf --what friction,damping,armature,mass -o fitted.urdf
  sim_bridge identify monday tuesday robot.urdf --what mass:tool,centre:tool --input states
  sim_bridge identify bag.mcap robot.urdf --json | jq .misfit
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'identify',
        help='fit friction, damping and masses of a robot to bags with recorded motion',
        description='Fit parameters of a fixed-base robot to recorded motion: least squares '
        'between simulated and recorded joint states, with errors and cross-validation.',
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    completed(
        parser.add_argument(
            'bag', nargs='+', metavar='BAG', help='bags (folders, .mcap files) with joint states'
        ),
        completers.files,
    )
    completed(
        parser.add_argument(
            'robot', metavar='ROBOT', help='a shipped robot by name, or a URDF or xacro file'
        ),
        completers.robots,
    )
    completed(
        parser.add_argument(
            '--what',
            default='friction,damping,armature',
            metavar='KIND,…',
            help='parameters to fit (default: friction,damping,armature)',
        ),
        completers.fitted,
    )
    completed(
        parser.add_argument(
            '-o',
            '--output',
            action='append',
            default=[],
            metavar='FILE',
            help='write the robot with the fitted values (.urdf), or the values with errors '
            '(.yaml, .json); may be repeated',
        ),
        completers.files,
    )
    parser.add_argument('--force', action='store_true', help='overwrite existing files')
    parser.add_argument('--json', action='store_true', help='print JSON')
    parser.add_argument(
        '--input',
        choices=('auto', 'commands', 'states'),
        default='auto',
        help='source of the efforts: joint_commands, or the efforts in joint_states; auto: '
        'commands if they contain only efforts',
    )
    parser.add_argument(
        '--states', default='joint_states', metavar='TOPIC', help='joint state topic'
    )
    parser.add_argument(
        '--commands', default='joint_commands', metavar='TOPIC', help='command topic'
    )
    parser.add_argument(
        '--from', dest='begin', type=float, default=-math.inf, metavar='S', help='begin [s]'
    )
    parser.add_argument(
        '--to', dest='end', type=float, default=math.inf, metavar='S', help='end [s]'
    )
    parser.add_argument(
        '--window',
        type=float,
        metavar='S',
        help='length of the simulated windows [s] (default: 0.5, or as long as errors do not '
        'grow)',
    )
    parser.add_argument(
        '--folds',
        type=int,
        default=4,
        metavar='N',
        help='cross-validation folds, 0 for none (default: 4)',
    )
    parser.add_argument(
        '--loss',
        choices=('linear', 'soft_l1', 'huber', 'cauchy'),
        default='linear',
        help='residual loss: linear, or robust against outliers (default: linear)',
    )
    parser.add_argument(
        '--gradients',
        choices=('analytic', 'batch'),
        default='analytic',
        help='analytic derivatives, or differences between many simulated worlds (default: '
        'analytic)',
    )
    parser.add_argument(
        '--step', type=float, default=1e-3, metavar='S', help='time step [s] (default: 0.001)'
    )
    parser.add_argument(
        '--gravity',
        type=float,
        nargs=3,
        default=(0.0, 0.0, -9.81),
        metavar=('X', 'Y', 'Z'),
        help='gravity in base axes [m/s²] (default: 0 0 -9.81)',
    )
    add_description(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """
    Identify; return the exit code.

    Raises MissingRosError, and the errors of `read_joint_motion` and `identify`.
    """
    require_ros('sim_bridge identify')
    set_prefix()
    set_threads()
    from sim_bridge.description import find_robot, load_description

    path = find_robot(args.robot, package_paths=args.package_path)
    outputs = [Path(each) for each in args.output]
    _check(outputs, path, args.force)
    from sim_bridge.identification.identify import identify
    from sim_bridge.identification.plant import Plant
    from sim_bridge.ros.bag.joint_motion import read_joint_motion
    from sim_bridge.ros.bag.reader import Bag

    description = load_description(
        path,
        xacro_args=dict(text.split(':=', 1) for text in args.xacro_arg),
        package_paths=args.package_path,
    )
    joints = Plant(description).joint_names
    console, recordings = Console(sys.stderr), []
    for each in args.bag:
        with Work(console, f'of {each} read', Bag(Path(each)).duration) as work:
            recording = read_joint_motion(
                Path(each),
                joints,
                work,
                states=args.states,
                commands=args.commands,
                inputs=args.input,
            )
        recordings.append(recording.between(args.begin, args.end))
    with Work(console, 'done', None, ' steps') as work:
        steps = iter(range(1, 1000))
        found = identify(
            description,
            recordings,
            args.what,
            window=args.window,
            folds=args.folds,
            loss=args.loss,
            gradients=args.gradients,
            time_step=args.step,
            gravity=args.gravity,
            progress=lambda text: work(next(steps), text),
        )
    for file in outputs:
        _write(found, file)
    if args.json:
        print(json.dumps(found.as_plain(), indent=2, ensure_ascii=False))
    else:
        _show(found)
        for file in outputs:
            print(f'{file}: written')
    return DONE if found.is_converged else UNFINISHED


def _check(outputs: list[Path], robot: Path, force: bool) -> None:
    for file in outputs:
        if file.suffix.lower() not in SUFFIXES:
            raise InvalidValueError(
                '--output', str(file), f'a file ending in {", ".join(SUFFIXES)}'
            )
        need_folder(file)
        if file.exists() and file.samefile(robot):
            raise InvalidValueError(
                '--output',
                str(file),
                'a file other than the robot: the next fit would overwrite the fitted values',
            )
        if file.exists() and not force:
            raise InvalidValueError(
                '--output', str(file), 'a file that does not exist, or --force'
            )


def _write(found: Identification, file: Path) -> None:
    kind = file.suffix.lower()
    if kind == '.urdf':
        text = found.urdf()
    elif kind == '.json':
        text = json.dumps(found.as_plain(), indent=2, ensure_ascii=False) + '\n'
    else:
        text = found.yaml()
    try:
        # bytes: line endings are written unchanged
        file.write_bytes(text.encode())
    except OSError as err:
        raise InvalidValueError(
            '--output', str(file), f'a file that can be written ({err.strerror})'
        ) from err


def _show(found: Identification) -> None:
    """Print tables of the results."""
    # late imports: take 0.1 s
    from rich.box import SIMPLE_HEAD
    from rich.console import Console as RichConsole
    from rich.table import Table

    from sim_bridge.identification.confidence import LEVEL

    out = RichConsole(
        width=None if sys.stdout.isatty() else _WIDTH,
        highlight=False,
        markup=False,
        soft_wrap=not sys.stdout.isatty(),
    )
    out.print(
        f'{found.robot}: {counted(found.windows, "window")} of {found.window_length:g} s from '
        + ', '.join(found.recordings)
    )
    if found.left_out > found.window_length:
        out.print(f'left out at gaps and stops: {found.left_out:.3g} s')
    table = Table(box=SIMPLE_HEAD, show_edge=False)
    table.add_column('parameter', overflow='fold')
    for title in ('in the file', 'found', f'± {100 * LEVEL:.0f} %'):
        table.add_column(title, justify='right')
    table.add_column('unit')
    for each in found.estimates.values():
        reach = each.high - each.value
        table.add_row(
            each.name,
            f'{each.before:.5g}',
            *(
                (_to_error(each.value, reach), f'{reach:.2g}')
                if each.is_identifiable
                else (f'({each.value:.5g})', 'not identifiable')
            ),
            each.unit,
        )
    out.print(table)
    if found.combinations:
        out.print('identifiable in combination only (± standard error):')
        for combination in found.combinations:
            out.print(f'  {combination}')
    untold = [each.name for each in found.estimates.values() if not each.is_identifiable]
    if untold and not found.combinations:
        out.print(f'not identifiable from this motion: {", ".join(untold)}')
    table = Table(box=SIMPLE_HEAD, show_edge=False)
    table.add_column('rms of simulated - recorded', overflow='fold')
    columns = {'file': found.before, 'found': found.after, 'held out': found.held_out}
    shown = {title: each for title, each in columns.items() if each is not None}
    for title in shown:
        table.add_column(title, justify='right')
    table.add_row(
        'times the noise of the sensors', *(f'{each.ratio:.3g}' for each in shown.values())
    )
    for number, joint in enumerate(found.joint_names):
        unit = 'm' if found.plant.robot.joint(joint).is_linear else 'rad'
        table.add_row(
            f'{joint} [{unit}]', *(f'{each.positions[number]:.3g}' for each in shown.values())
        )
    out.print(table)
    for note in found.notes:
        out.print(f'note: {note}')
    if not found.is_converged:
        out.print('warning: the fit was stopped before it converged')
    out.print(found.verdict)


def _to_error(value: float, reach: float) -> str:
    """Return a value with the digits justified by its error, and one more."""
    if not reach > 0.0 or value == 0.0:
        return f'{value:.5g}'
    digits = math.floor(math.log10(abs(value))) - math.floor(math.log10(reach)) + 2
    return f'{value:.{min(max(digits, 1), 12)}g}'
