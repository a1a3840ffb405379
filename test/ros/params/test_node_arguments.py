"""Command lines of nodes: parameters read by this package, names remapped as by rcl."""

from __future__ import annotations

import pytest
import rclpy
from rclpy.node import Node

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.params.node_arguments import (
    parameter_in,
    read_arguments,
    words_without_parameters,
)

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")


def test_parameters_are_taken_from_ros_arguments_only():
    """Leave all other words, also equal ones outside --ros-args, to rclpy and the program."""
    line = ['node', '-p', 'a:=1', '--ros-args', '-p', 'rate:=5', '-r', 'x:=y', '--', '-p', 'b:=1']
    read = read_arguments([*line, '--ros-args', '--param', 'seed:=3', '-p'], 'sim_bridge')
    assert read.given == {'rate': 5, 'seed': 3}
    assert list(read.words) == [
        *('node', '-p', 'a:=1', '--ros-args', '-r', 'x:=y', '--', '-p', 'b:=1'),
        *('--ros-args', '-p'),
    ]


def test_later_arguments_override_earlier_ones(tmp_path):
    """Prefer -p to a block for one node, also after a block for all nodes; rcl does not."""
    file = tmp_path / 'p.yaml'
    file.write_text(
        '/**:\n  ros__parameters: {rate: 1, gains: {a: {p: 1}}}\n'
        'sim_bridge:\n  ros__parameters: {rate: 2, seed: 2}\n'
    )
    line = ['--ros-args', '--params-file', str(file), '-p', 'rate:=3', '-p', 'gains:={a: {d: 4}}']
    assert read_arguments(line, 'sim_bridge').given == {
        'rate': 3,
        'seed': 2,
        'gains.a.p': 1,
        'gains.a.d': 4,
    }


@pytest.mark.parametrize(
    'rules',
    [
        (),
        ('__ns:=/left',),
        ('__node:=mine', '__ns:=/a/b'),
        ('__name:=mine',),
        ('other:__node:=mine', 'sim_bridge:__node:=yours', '__node:=late'),
        ('__node:=mine', 'sim_bridge:__ns:=/a', 'mine:__ns:=/b', '__ns:=/c'),
        ('rate:=ns', '/node:=/name'),
    ],
)
def test_names_are_remapped_as_by_rcl(tmp_path, rules, ros_environment):
    """Find the name and namespace that a node of rclpy gets."""
    remap = [item for rule in rules for item in ('-r', rule)]
    context = rclpy.Context()
    rclpy.init(context=context, args=['--ros-args', *remap])
    node = Node('sim_bridge', context=context)
    name = node.get_fully_qualified_name()
    node.destroy_node()
    context.try_shutdown()
    file = tmp_path / 'p.yaml'
    file.write_text(f'{name}:\n  ros__parameters: {{rate: 7}}\n')
    line = ['--ros-args', *remap, '--params-file', str(file)]
    assert read_arguments(line, 'sim_bridge').given == {'rate': 7}


def test_parameters_of_a_named_node():
    """Take NODE:NAME:=VALUE for this node, under its old and new names, and no other."""
    line = ['-p', 'sim_bridge:rate:=5', '-p', 'mine:seed:=1', '-p', 'other:substeps:=2']
    read = read_arguments(['--ros-args', *line, '-r', '__node:=mine'], 'sim_bridge')
    assert read.given == {'rate': 5, 'seed': 1}
    assert read.words == ('--ros-args', '-r', '__node:=mine')


def test_names_of_another_node_in_a_block_for_all_are_left_out(tmp_path):
    """Leave a controller's parameters to it in /**; keep them in the simulator's own block."""
    file = tmp_path / 'p.yaml'
    file.write_text(
        '/**:\n  ros__parameters: {ramp_time: 1.0, unknown: 1}\n'
        'sim_bridge:\n  ros__parameters: {damping_ratio: 2.0}\n'
    )
    line = ['--ros-args', '--params-file', str(file)]
    assert read_arguments(line, 'sim_bridge').given == {'unknown': 1, 'damping_ratio': 2.0}
    assert read_arguments([*line, '-r', '__node:=b'], 'sim_bridge').given == {'unknown': 1}
    assert read_arguments(line, 'pd_controller').given == {'ramp_time': 1.0, 'unknown': 1}


@pytest.mark.parametrize('word', ['rate', ':=5', 'a:=[1', 'a:={[1]: 2}'])
def test_other_words_are_refused(word):
    """Name the word and its form."""
    with pytest.raises(InvalidValueError, match='NAME:=VALUE'):
        parameter_in(word)
    with pytest.raises(InvalidValueError, match='NAME:=VALUE'):
        read_arguments(['--ros-args', '-p', word], 'sim_bridge')
    assert words_without_parameters(['--ros-args', '-p', word]) == ['--ros-args']
