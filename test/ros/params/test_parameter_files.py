"""Parameter files without a node: the same values as in rcl."""

from __future__ import annotations

import pytest

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.params.node_arguments import parameter_in
from sim_bridge.ros.params.parameter_files import parameters_in
from sim_bridge.ros.params.parameter_table import from_flat
from sim_bridge.ros.params.parameters import SimulatorParameters


@pytest.mark.parametrize(
    ('name', 'node', 'is_meant'),
    [
        ('/**', '/left/sim_bridge', True),
        ('/**/sim_bridge', '/sim_bridge', True),
        ('/**/sim_bridge', '/a/b/sim_bridge', True),
        ('/*/sim_bridge', '/a/sim_bridge', True),
        ('/*/sim_bridge', '/sim_bridge', False),
        ('sim_bridge', '/sim_bridge', True),
        ('/left/sim_bridge', '/right/sim_bridge', False),
        ('/**/pd_controller', '/sim_bridge', False),
    ],
)
def test_names_of_nodes_are_patterns(tmp_path, name, node, is_meant):
    """Take the blocks with a matching name, like ROS."""
    file = tmp_path / 'p.yaml'
    file.write_text(f'{name}:\n  ros__parameters:\n    rate: 500\n')
    assert parameters_in(file, node) == ({'rate': 500} if is_meant else {})


def test_nested_names_and_later_blocks(tmp_path):
    """Join nested names by dots; prefer later blocks; nest nodes, too."""
    file = tmp_path / 'p.yaml'
    file.write_text(
        '/**:\n  ros__parameters: {rate: 1, gains: {elbow: {p: 3.0}}}\n'
        'left:\n  sim_bridge:\n    ros__parameters: {rate: 2}\n'
    )
    assert parameters_in(file, '/left/sim_bridge') == {'rate': 2, 'gains.elbow.p': 3.0}


def test_the_shipped_file_gives_the_defaults(repository):
    """Read config/sim_bridge.yaml: all values equal the table's."""
    values = parameters_in(repository / 'config' / 'sim_bridge.yaml', '/sim_bridge')
    assert from_flat(SimulatorParameters, values, pytest.fail) == SimulatorParameters()


def test_words_are_yaml():
    """Accept 'name:=value' like the command line of ROS."""
    assert parameter_in('rate:=500') == {'rate': 500}
    assert parameter_in('joints:=[a, b]') == {'joints': ['a', 'b']}
    for word in ('rate', ':=5', 'a:=[1'):
        with pytest.raises(InvalidValueError, match='NAME:=VALUE'):
            parameter_in(word)


@pytest.mark.parametrize(
    'text', ['[1, 2]', 'a: [', 'rate: 5\n', '/**:\n  rate: 5\n', '/**:\n  ros__parameters: 5\n']
)
def test_other_files_are_no_parameter_files(tmp_path, text):
    """Name the file and the expected contents."""
    file = tmp_path / 'p.yaml'
    file.write_text(text)
    with pytest.raises(InvalidValueError, match=r'p\.yaml.*ros__parameters'):
        parameters_in(file, '/sim_bridge')
    with pytest.raises(InvalidValueError, match='missing'):
        parameters_in(tmp_path / 'missing', '/sim_bridge')
