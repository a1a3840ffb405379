"""Parameter files without a node: the same values as in rcl."""

from __future__ import annotations

import pytest

from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.params.node_arguments import parameter_in
from sim_bridge.ros.params.parameter_files import parameters_in
from sim_bridge.ros.params.parameter_table import from_flat, refused_values
from sim_bridge.ros.params.parameter_text import flattened
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.params.robot_parameters import controller_for


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


def test_an_empty_block_is_a_value(tmp_path):
    """Refuse it for a parameter without members; keep it beside members of a block."""
    file = tmp_path / 'p.yaml'
    file.write_text('/**:\n  ros__parameters:\n    rate: {}\n')
    for given in (parameters_in(file, '/sim_bridge'), parameter_in('rate:={}')):
        with pytest.raises(InvalidValueError, match="parameter 'rate' = {}: expected a finite"):
            from_flat(SimulatorParameters, given, pytest.fail)
        ((name, _),) = refused_values(SimulatorParameters, given)
        assert name == 'rate'
    arm = {'trajectory_controllers': {'arm': {}}}
    file.write_text(f'/**: {{ros__parameters: {arm}}}')
    assert parameters_in(file, '/sim_bridge') == {'trajectory_controllers.arm': {}}
    for given in ({'control': {}, 'control.elbow': 'servo'}, {'control.elbow': 'servo'}):
        assert from_flat(SimulatorParameters, given, pytest.fail).control == {'elbow': 'servo'}
    flat = dict(flattened(arm))
    assert from_flat(SimulatorParameters, flat, pytest.fail).trajectory_controllers == {'arm': {}}
    member = 'trajectory_controllers.arm.joints'
    for given in ({**flat, member: ['a']}, {member: ['a'], **flat}):
        table = from_flat(SimulatorParameters, given, pytest.fail)
        assert table.trajectory_controllers == {'arm': {'joints': ['a']}}
    with pytest.raises(InvalidValueError, match='gains.elbow'):
        from_flat(SimulatorParameters, {'gains.elbow': {}}, pytest.fail)


def test_the_default_controller_is_read_as_nodes_read_it(tmp_path):
    """Find a controller's block under any name pattern, nested or not, and only as a node."""
    robot, file = tmp_path / 'a.urdf', tmp_path / 'a.params.yaml'
    robot.write_text('<robot name="a"><link name="a"/></robot>')
    block = 'velocity_controller: {ros__parameters: {ramp_time: 1.0}}'
    for text in (block, f'/**/{block}', f'left: {{{block}}}', f'left:\n  {block}'):
        file.write_text(text)
        assert controller_for(str(robot)) == 'velocity', text
    for text in ('velocity_controller:', f'other: "\n{block}"', 'a: [', '"/**": {}'):
        file.write_text(text)
        assert controller_for(str(robot)) == 'pd', text


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
