"""Arguments of verbs that read or simulate robots, and the node's parameters they stand for."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
import json
from pathlib import Path

from sim_bridge.cli import completers
from sim_bridge.cli.completers import completed
from sim_bridge.description.resources import find_robot
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.params.parameter_files import check_parameter_name, parameter_in
from sim_bridge.ros.params.robot_parameters import (
    controller_for,
    DEFAULT_ROBOT,
    parameter_file_beside,
    robots_of,
)

ROBOT_HELP = (
    'a shipped robot by its name, a URDF, xacro or OpenPLX file by its path or as package://…')

_ROS_ARGS, _END_OF_ROS_ARGS = '--ros-args', '--'


def add_description(parser: argparse.ArgumentParser) -> None:
    """Add `--package-path` and `--xacro-arg`."""
    completed(parser.add_argument(
        '--package-path', action='append', default=[], metavar='DIR',
        help='folder of packages, or a package: where package:// and $(find) look first; may be '
        'repeated'), completers.folders)
    parser.add_argument(
        '--xacro-arg', action='append', default=[], metavar='NAME:=VALUE', type=_xacro_argument,
        help='an argument of the xacro file; may be repeated')


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add `--model`."""
    parser.add_argument(
        '--model', metavar='NAME', help='the model of an OpenPLX file (default: its last)')


def add_simulated(parser: argparse.ArgumentParser) -> None:
    """Add `robot`, `--world`, `--params`, `-p`, `--rate`, `--namespace`, `add_description`'s."""
    completed(parser.add_argument(
        'robot', nargs='?',
        help=f'{ROBOT_HELP} (default: {DEFAULT_ROBOT}, or none with --world)'), completers.robots)
    completed(parser.add_argument(
        '--world', metavar='FILE', help='scene file: ground, objects, materials and robots'),
        completers.yaml_files)
    completed(parser.add_argument(
        '--params', metavar='FILE', help='YAML file with parameters of the nodes'),
        completers.yaml_files)
    completed(parser.add_argument(
        '-p', '--parameter', action='append', default=[], metavar='NAME:=VALUE',
        help='a parameter of the simulator; may be repeated'), completers.parameters)
    parser.add_argument('--rate', type=float, metavar='HZ', help='steps per simulated second')
    parser.add_argument('--namespace', default='', metavar='NAME', help='namespace of all topics')
    add_description(parser)
    add_model(parser)


def check_simulated(args: argparse.Namespace) -> None:
    """
    Check what can be checked before a world is built: the robot and the names of parameters.

    Raises InvalidValueError or UnknownNameError.
    """
    if args.robot:
        find_robot(args.robot, package_paths=args.package_path)
    for name in (*dict(map(parameter_in, args.parameter)), *_ros_parameters(args.forwarded)):
        check_parameter_name(name, 'sim_bridge')


def parameters_of(args: argparse.Namespace) -> dict[str, object]:
    """Return the simulator's parameters that options stand for, those of `-p` left out."""
    given = {
        'world': args.world, 'robot': args.robot or None, 'rate': args.rate,
        'openplx_model': args.model,
        'package_paths': args.package_path or None, 'xacro_args': args.xacro_arg or None}
    return {name: value for name, value in given.items() if value is not None}


def ros_arguments(
    args: argparse.Namespace, beside: Sequence[str] = (), **more: object
) -> list[str]:
    """
    Return the ROS arguments, without --ros-args, of a simulator node.

    beside: those of the parameter files beside robots, which the user's go before. more: further
    parameters; None for those that are not given.
    """
    values = {**parameters_of(args), **{k: v for k, v in more.items() if v is not None}}
    words = [f'{name}:={_as_yaml(value)}' for name, value in values.items()]
    return [
        *namespace_arguments(args.namespace), *beside, *params_arguments(args.params),
        *(item for word in (*words, *args.parameter) for item in ('-p', word))]


def namespace_arguments(name: str) -> list[str]:
    """Return the arguments that put a node into a namespace; none for ''."""
    return ['-r', f'__ns:=/{name.strip("/")}'] if name else []


def params_arguments(file: str | Path | None) -> list[str]:
    """Return the arguments that give a node a parameter file; none for None."""
    return ['--params-file', str(file)] if file else []


def controlled(args: argparse.Namespace) -> Iterator[tuple[str, str, list[str]]]:
    """Yield namespace, controller and parameter file, as arguments, of every robot to control."""
    for namespace, robot in robots_of(args.world or '', args.robot or ''):
        beside = parameter_file_beside(robot, args.package_path)
        yield namespace, controller_for(robot, args.package_path), params_arguments(beside)


def _ros_parameters(forwarded: Sequence[str]) -> Iterator[str]:
    """Yield the names of the simulator's parameters that are among ROS arguments."""
    is_ros = True
    for word, following in zip(forwarded, [*forwarded[1:], ''], strict=False):
        if word in (_ROS_ARGS, _END_OF_ROS_ARGS):
            is_ros = word == _ROS_ARGS
        elif is_ros and word in ('-p', '--param') and ':=' in following:
            node, _, name = following.partition(':=')[0].rpartition(':')
            if node in ('', 'sim_bridge'):
                yield name


def _as_yaml(value: object) -> str:
    """Return a value as ROS reads it."""
    if isinstance(value, (list, bool)):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _xacro_argument(text: str) -> str:
    if ':=' not in text:
        raise argparse.ArgumentTypeError(
            str(InvalidValueError('xacro argument', text, 'NAME:=VALUE')))
    return text
