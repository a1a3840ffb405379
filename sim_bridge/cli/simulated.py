"""Arguments of all verbs that simulate: robot, world, parameters, rate and namespace."""

from __future__ import annotations

import argparse

from sim_bridge.ros.params.robot_parameters import DEFAULT_ROBOT


def add_simulated(parser: argparse.ArgumentParser) -> None:
    """Add `robot`, `--world`, `--params`, `--rate` and `--namespace`."""
    parser.add_argument(
        'robot', nargs='?',
        help='name of a shipped robot, or a URDF or xacro file (default: '
        f'{DEFAULT_ROBOT}, or none with --world)')
    parser.add_argument(
        '--world', metavar='FILE', help='scene file: ground, objects, materials and robots')
    parser.add_argument('--params', metavar='FILE', help='YAML file with parameters of the nodes')
    parser.add_argument('--rate', type=float, metavar='HZ', help='steps per simulated second')
    parser.add_argument('--namespace', default='', metavar='NAME', help='namespace of all topics')
