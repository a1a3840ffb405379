"""Values in parameter files: rcl, where it reads them, reads the same."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter

from sim_bridge.description.yaml.parameter_values import read_text
from sim_bridge.ros.params.parameter_files import parameters_in
from sim_bridge.ros.params.parameter_text import as_argument, as_ros

# from a parser imported by the message packages at first use
pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

# texts that both readers accept
SHARED = (
    *('5', '-5', '+5', '0', '-0', '0x1F', '-0x1f', '017', '9223372036854775807'),
    *('-9223372036854775808', '9223372036854775808', '08', '99999999999999999999'),
    *('1.5', '-.5', '5.', '1e3', '1E3', '-1.5e-3', '+2e+2', '.inf', '-.INF', '.nan', 'inf', 'NaN'),
    *('true', 'True', 'FALSE', 'yes', 'NO', 'on', 'Off', 'tRue', "'true'", '"5"', "'1e3'"),
    *('1_000', '1:30', '2020-01-01', '2020-99-01', 'a b', 'e5', '0o17', '1.2.3', '1e', '.'),
    *('package://a/b', 'x#y', '!!str 5', '!!str true', '"a\\tb"', "'it''s'", '1e5e5', '+.inf'),
    *('[1, 2]', '[1.0, 2e0]', '[a, b]', "['1', b]", '[true, off]', '[0x10, 010]'),
)


@pytest.fixture(scope='module')
def read_by_rcl(tmp_path_factory):
    """Return a function reading values like any ROS node with a parameter file."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=99)

    def read(file: Path) -> dict[str, object]:
        node = Node(
            'reader',
            context=context,
            use_global_arguments=False,
            cli_args=['--ros-args', '--params-file', str(file)],
            start_parameter_services=False,
            automatically_declare_parameters_from_overrides=True,
        )
        try:
            names = node.list_parameters(['v'], 0).names
            return {name: node.get_parameter(name).value for name in names}
        finally:
            node.destroy_node()

    yield read
    context.try_shutdown()


def test_rcl_reads_the_same(tmp_path, read_by_rcl):
    """Compare types and values for numbers, switches, texts and lists, also as keys."""
    file = tmp_path / 'p.yaml'
    members = ''.join(f'      n{k}: {text}\n' for k, text in enumerate(SHARED))
    keys = ''.join(f'      {key}: 1\n' for key in ('01', '1.5', 'yes', 'y', '1e3', 'null', '0x1'))
    file.write_text(f'/**:\n  ros__parameters:\n    v:\n{members}{keys}')
    theirs = read_by_rcl(file)
    ours = parameters_in(file, '/reader')
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        other = theirs[name]
        if isinstance(value, list):
            other = list(other)
            assert [type(each) for each in value] == [type(each) for each in other], name
        assert type(value) is type(other), (name, value, other)
        assert value == other or math.isnan(value) and math.isnan(other), name


@pytest.mark.parametrize(
    ('text', 'value'),
    [
        ('[0, 0, 0.05]', [0, 0, 0.05]),
        ('[x, y, z]', ['x', 'y', 'z']),
        ('n', 'n'),
        ('null', None),
        ('~', None),
        ('', None),
        ('[]', []),
        ('[[1, 2], [3]]', [[1, 2], [3]]),
        ('{a: {b: 1}}', {'a': {'b': 1}}),
    ],
)
def test_more_than_rcl_is_read(text, value):
    """Read mixed numbers, joints named y and n, missing values, nested lists and blocks."""
    assert read_text(text) == value


@pytest.mark.parametrize(
    'value',
    [
        '5',
        'yes',
        'y',
        'a: b',
        'a',
        '/x/y #',
        '[',
        '',
        'null',
        "it's",
        'a\tb\n',
        7,
        1.5,
        True,
        ['1', 'x'],
        [1, 2],
        [],
    ],
)
def test_arguments_are_read_back(value):
    """Write a value for a command line; reading returns the value with its type."""
    read = read_text(as_argument(value))
    assert read == value
    assert type(read) is type(value)


def test_arguments_for_other_nodes_are_of_one_type():
    """Write floats for mixed numbers: other nodes read them by rcl."""
    assert as_argument([0, 0, 0.05]) == '[0.0, 0.0, 0.05]'
    assert as_argument((1, 2)) == '[1, 2]'
    assert (as_argument('arm.urdf'), as_argument('y')) == ('arm.urdf', '"y"')


@pytest.mark.parametrize(
    'value',
    [
        *(
            0,
            2**63,
            'a',
            0.5,
            True,
            None,
            [],
            ['a'],
            [1, 2],
            [1, 2.5],
            [2**63],
            [1, True],
            [1, 'a'],
        ),
        *([[1], [2]], [None], b'\xff', [{'a': 1}], {1, 2}),
    ],
)
def test_every_value_can_be_declared(value):
    """Give ROS a value of its types; a text for a value that it cannot hold."""
    parameter = Parameter('p', value=as_ros(value))
    message = parameter.to_parameter_msg()
    assert Parameter.from_parameter_msg(message).value is not None or value is None
