"""Arguments of verbs that read or simulate robots, and the corresponding node parameters."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from sim_bridge.cli import completers
from sim_bridge.cli.completers import completed
from sim_bridge.description.controllers import NO_CONTROLLER
from sim_bridge.description.resources import find_robot, find_scene
from sim_bridge.description.scene.reader import is_world
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.params.node_arguments import node_of, parameter_in, parameter_words
from sim_bridge.ros.params.parameter_files import parameters_in
from sim_bridge.ros.params.parameter_names import check_parameter_name
from sim_bridge.ros.params.parameter_text import as_argument
from sim_bridge.ros.params.robot_parameters import (
    DEFAULT_ROBOT,
    parameter_file_beside,
    parameter_file_of_scene,
    robots_of,
    world_parameters,
)

ROBOT_HELP = 'a shipped robot by name, a URDF, xacro, SDF, MJCF, USD or OpenPLX file by path or as package://…'

_ROS_ARGS = '--ros-args'


class _RobotOrScene(argparse.Action):
    """Takes a robot, or a scene as the world."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        namespace.scene = None
        if isinstance(values, str) and is_world(values):
            if namespace.world:
                parser.error(f'--world {namespace.world} and the scene {values}: give one')
            namespace.world = namespace.scene = scene_argument(values)
        else:
            namespace.robot = values


def scene_argument(text: str) -> str:
    """Return the file of the scene named by an argument; raises UnknownNameError."""
    return str(find_scene(text)) if text else ''


def add_description(parser: argparse.ArgumentParser) -> None:
    """Add `--package-path` and `--xacro-arg`."""
    completed(
        parser.add_argument(
            '--package-path',
            action='append',
            default=[],
            metavar='DIR',
            help='a folder with packages, or a package, searched first for package:// and '
            '$(find); may be repeated',
        ),
        completers.folders,
    )
    parser.add_argument(
        '--xacro-arg',
        action='append',
        default=[],
        metavar='NAME:=VALUE',
        type=_xacro_argument,
        help='an argument of the xacro file; may be repeated',
    )
    parser.add_argument(
        '--strict',
        action='store_true',
        help='refuse a robot with a defect in a sensor, drive, controller or collision, instead '
        'of leaving out this part',
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add `--model`."""
    parser.add_argument(
        '--model',
        metavar='NAME',
        help='the model in a file with several (OpenPLX: by default the last one)',
    )


def add_simulated(parser: argparse.ArgumentParser) -> None:
    """Add `robot`, `--world`, `--params`, `-p`, `--rate`, `--namespace`, description options."""
    completed(
        parser.add_argument(
            'robot',
            nargs='?',
            action=_RobotOrScene,
            help=f'{ROBOT_HELP}; or a scene: gallery/NAME, a YAML file, an SDF, MJCF or USD world '
            'or a Choreonoid project '
            f'(default: {DEFAULT_ROBOT}, or none with --world)',
        ),
        completers.robots,
    )
    completed(
        parser.add_argument(
            '--world',
            metavar='FILE',
            type=scene_argument,
            help='scene file: ground, objects, materials and robots; gallery/NAME; an SDF, MJCF '
            'or USD world; or a Choreonoid project',
        ),
        completers.scenes,
    )
    completed(
        parser.add_argument(
            '--params', metavar='FILE', help='YAML file with parameters of the nodes'
        ),
        completers.yaml_files,
    )
    completed(
        parser.add_argument(
            '-p',
            '--parameter',
            action='append',
            default=[],
            metavar='NAME:=VALUE',
            help='a parameter of the simulator; may be repeated',
        ),
        completers.parameters,
    )
    parser.add_argument('--rate', type=float, metavar='HZ', help='steps per simulated second')
    parser.add_argument('--namespace', default='', metavar='NAME', help='namespace of all topics')
    parser.set_defaults(scene=None)
    add_description(parser)
    add_model(parser)


def check_simulated(args: argparse.Namespace) -> None:
    """
    Check arguments before a world is built: robot, parameter file, parameter names.

    Raises InvalidValueError or UnknownNameError.
    """
    if args.scene not in (None, args.world):
        raise InvalidValueError(
            '--world', args.world, f'no world together with the scene {args.scene}'
        )
    if args.robot:
        find_robot(args.robot, package_paths=args.package_path)
    if args.params:
        # otherwise each process would report the file's errors in the middleware's words
        parameters_in(args.params, '')
    for word in (*args.parameter, *parameter_words([_ROS_ARGS, *args.forwarded])):
        if node_of(word).rpartition('/')[2] in ('', 'sim_bridge'):
            for name in parameter_in(word):
                check_parameter_name(name, 'sim_bridge')


def parameters_of(args: argparse.Namespace) -> dict[str, object]:
    """Return the simulator parameters given by options, without those of `-p`."""
    given = {
        'world': args.world,
        'robot': args.robot or None,
        'rate': args.rate,
        'model': args.model,
        'package_paths': args.package_path or None,
        'xacro_args': args.xacro_arg or None,
        'strict': args.strict or None,
    }
    return {name: value for name, value in given.items() if value is not None}


def ros_arguments(
    args: argparse.Namespace, beside: Sequence[str] = (), **more: object
) -> list[str]:
    """
    Return a simulator node's ROS arguments, without --ros-args.

    beside: arguments for the parameter files beside robots; the scene's and the user's files
    override them. more: further parameters; None for missing ones.
    """
    values = {**parameters_of(args), **{k: v for k, v in more.items() if v is not None}}
    words = [f'{name}:={as_argument(value)}' for name, value in values.items()]
    project = [
        item
        for name, value in world_parameters(args.world or '').items()
        for item in ('-p', f'{name}:={as_argument(value)}')
    ]
    return [
        *namespace_arguments(args.namespace),
        *project,
        *beside,
        *params_arguments(parameter_file_of_scene(args.world or '')),
        *params_arguments(args.params),
        *(item for word in (*words, *args.parameter) for item in ('-p', word)),
    ]


def arguments_beside_robot(args: argparse.Namespace) -> list[str]:
    """Return the arguments giving a node the parameter file beside the robot, not the scene's."""
    robot = args.robot or ('' if args.world else DEFAULT_ROBOT)
    return params_arguments(parameter_file_beside(robot, args.package_path)) if robot else []


def namespace_arguments(name: str) -> list[str]:
    """Return the arguments putting a node into a namespace; none for ''."""
    return ['-r', f'__ns:=/{name.strip("/")}'] if name else []


def params_arguments(file: str | Path | None) -> list[str]:
    """Return the arguments giving a node a parameter file; none for None."""
    return ['--params-file', str(file)] if file else []


def controlled(
    args: argparse.Namespace, controller: str | None = None
) -> Iterator[tuple[str, str, list[str]]]:
    """
    Yield namespace, controller and parameter file arguments of every controlled robot.

    controller: for all robots; None for each robot's own (possibly NO_CONTROLLER).
    """
    world = args.world or ''
    # a robot of the scene may be without a namespace
    has_own = bool(args.robot or not world)
    for each in robots_of(world, args.robot or '', args.package_path):
        is_none = NO_CONTROLLER in (controller, each.controller)
        kind = NO_CONTROLLER if is_none else controller or each.controller
        yield (
            each.namespace,
            kind,
            [
                *params_arguments(parameter_file_beside(each.source, args.package_path)),
                *params_arguments(
                    parameter_file_of_scene(world) if each.namespace or not has_own else None
                ),
            ],
        )


def _xacro_argument(text: str) -> str:
    if ':=' not in text:
        raise argparse.ArgumentTypeError(
            str(InvalidValueError('xacro argument', text, 'NAME:=VALUE'))
        )
    return text
