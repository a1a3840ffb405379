"""Parameters: accepted values, refusals and their messages; file and ROS descriptions agree."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
import re

import pytest
from rcl_interfaces.msg import ParameterType
import rclpy
from rclpy.parameter import Parameter
import yaml

from sim_bridge.control.parameter_file import parameter_file, TABLES
from sim_bridge.control.pd_controller import PdParameters
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.ros.params.declaration import declare
from sim_bridge.ros.params.node_arguments import read_arguments
from sim_bridge.ros.params.parameter_names import names_of_nodes
from sim_bridge.ros.params.parameter_table import (
    BLOCK,
    checked,
    from_flat,
    parameter,
    refused_values,
    specifications,
)
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.process.guarded_node import GuardedNode

# from a parser imported by the message packages at first use
pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

BLOCKS = {'sensors', 'control', 'gains', 'trajectory_controllers', 'drives', 'origin'}


@pytest.fixture
def make_node(ros_environment):
    """Provide a function creating a node with parameters given as on its command line."""
    context = rclpy.Context()
    rclpy.init(context=context)
    nodes = []

    def make(*arguments: str) -> GuardedNode:
        given = read_arguments(['--ros-args', *arguments], 'sim_bridge')
        node = GuardedNode(
            'sim_bridge', context=context, cli_args=list(given.words), given=given.given
        )
        nodes.append(node)
        return node

    yield make
    for node in nodes:
        node.destroy_node()
    context.try_shutdown()


@pytest.mark.parametrize('table', TABLES.values(), ids=TABLES)
def test_every_default_is_accepted_and_described(table):
    """Check each default against its own specification; every parameter has a description."""
    for name, spec in specifications(table).items():
        assert spec.check(spec.default) == getattr(table(), name)
        assert len(spec.description) > 10
        assert spec.descriptor.description.startswith(spec.description)


@pytest.mark.parametrize(
    ('name', 'value', 'accepted'),
    [
        ('rate', 0.0, 'at least 1.0 and at most 20000.0 [Hz]'),
        ('rate', 'fast', 'a finite number'),
        ('rate', float('nan'), 'a finite number'),
        ('rate', True, 'a finite number'),
        ('substeps', 1.5, 'a whole number'),
        ('substeps', True, 'a whole number'),
        ('paused', 1, 'true or false'),
        ('robot', 7, 'a text'),
        ('real_time_factor', -1.0, '0 or at least 1e-06'),
        ('seed', -1, 'at least 0'),
        ('position', (0.0, 0.0), 'a list of 0 or 3 finite numbers [m]'),
        ('position', (0.0, 0.0, float('inf')), 'a list of 0 or 3 finite numbers'),
        ('position', 'here', 'a list of 0 or 3 finite numbers'),
        ('joints', ('a', 1), 'a list of texts'),
        ('joints', 'elbow', 'a list of texts'),
        ('base', 'floating', "one of 'file', 'auto', 'fixed', 'free'"),
        ('command_timeout_policy', 'stop', "one of 'zero', 'hold', 'last'"),
        ('orientation', (0.0, 0.0, 0.0, 0.0), 'a unit quaternion'),
        ('xacro_args', ('prefix=a',), 'name:=value'),
        ('sensors', 'imu', 'a block of named values'),
        ('seed', 2**63, 'a whole number'),
        ('contact_events', ('began',), "'begin', 'persist'"),
    ],
)
def test_a_bad_value_is_refused_with_name_value_and_accepted_values(name, value, accepted):
    """Name the parameter, its value and the accepted values."""
    with pytest.raises(InvalidValueError) as refusal:
        checked(SimulatorParameters, {name: value})
    message = str(refusal.value)
    assert repr(name) in message
    assert accepted in message


def test_an_unknown_name_is_refused_with_a_hint():
    """Suggest the probably meant name."""
    with pytest.raises(UnknownNameError, match="Did you mean 'command_timeout'"):
        checked(SimulatorParameters, {'comand_timeout': 1.0})


def test_integers_and_empty_lists_are_accepted():
    """Take 500 for 500.0, and ROS's three forms of an empty list."""
    values = checked(SimulatorParameters, {'rate': 500, 'position': [1, 2, 3]})
    assert values.rate == 500.0
    assert isinstance(values.rate, float)
    assert values.position == (1.0, 2.0, 3.0)
    assert checked(SimulatorParameters, {'joints': ['']}).joints == ()
    assert checked(SimulatorParameters, {'joints': None}).joints == ()
    assert checked(SimulatorParameters, {'initial_positions': []}).initial_positions == ()


def test_times_are_whole_nanoseconds():
    """Split the control step into equal physics steps."""
    values = checked(SimulatorParameters, {'rate': 300.0, 'substeps': 7})
    assert values.time_step_ns == round(1e9 / 2100)
    assert values.tick_ns == 7 * values.time_step_ns


def test_the_parameter_file_equals_the_tables(repository):
    """Fail if config/sim_bridge.yaml was not regenerated after an edit of a table."""
    assert (repository / 'config' / 'sim_bridge.yaml').read_text() == parameter_file()


def test_the_parameter_file_holds_every_default(repository):
    """Read the file as YAML: every value is its table's default."""
    nodes = yaml.safe_load((repository / 'config' / 'sim_bridge.yaml').read_text())
    assert set(nodes) == {f'/**/{name}' for name in TABLES}
    for name, table in TABLES.items():
        values = nodes[f'/**/{name}']['ros__parameters']
        assert checked(table, values) == table()
        blocks = {key for key, spec in specifications(table).items() if spec.kind == BLOCK}
        assert set(values) | blocks == set(specifications(table))


def test_a_node_loads_the_parameter_file(make_node, repository):
    """Start a node with the whole file: the values arrive."""
    file = repository / 'config' / 'sim_bridge.yaml'
    node = make_node('--params-file', str(file), '-r', '__ns:=/left')
    assert len(node.given) == len(specifications(SimulatorParameters)) - len(BLOCKS)
    assert declare(node, SimulatorParameters) == SimulatorParameters()


@pytest.mark.parametrize('block', sorted(BLOCKS))
@pytest.mark.parametrize('value', [5, 'velocity', None, [1, 2], True])
def test_a_block_needs_members(block, value):
    """Refuse a scalar, a text and a list for a block; a block is never dropped."""
    expected = rf"parameter '{block}' = .*: expected a block of named values"
    with pytest.raises(InvalidValueError, match=expected):
        from_flat(SimulatorParameters, {block: value, f'{block}.a.b': 1}, pytest.fail)
    ((name, error),) = refused_values(SimulatorParameters, {block: value})
    assert name == block
    assert re.match(expected, str(error))


def test_the_first_error_is_that_of_the_table():
    """Name the same of several wrong values, in whatever order they are given."""
    given = {'seed': -1, 'rate': 'x', 'sensors': 5, 'rat': 1}
    for names in (given, reversed(given)):
        with pytest.raises(InvalidValueError, match="parameter 'sensors' = 5"):
            from_flat(SimulatorParameters, {name: given[name] for name in names}, str)
    found = [name for name, _ in refused_values(SimulatorParameters, given)]
    assert found == ['sensors', 'rate', 'seed']


@pytest.mark.parametrize('given', [{'rate': 5, 'rate.a': 1}, {'rate.a': 1, 'rate': 5}])
def test_a_value_has_no_members(given):
    """Refuse members beside a value, in either order."""
    with pytest.raises(InvalidValueError, match="parameter 'rate' = {'a': 1}: expected a finite"):
        from_flat(SimulatorParameters, given, pytest.fail)


@pytest.mark.parametrize('names', [('drives.a', 'drives.a.b'), ('drives.a.b', 'drives.a')])
def test_a_member_is_a_value_or_a_block(names):
    """Refuse a member with a value and with members, in either order."""
    with pytest.raises(InvalidValueError, match=r"parameter 'drives\.a"):
        from_flat(SimulatorParameters, dict.fromkeys(names, 1), pytest.fail)


def test_switches_and_numbers_may_be_written_like_in_rcl():
    """Accept the letters of rcl for switches, and exponents without a point."""
    values = checked(SimulatorParameters, {'paused': 'y', 'ground': 'N', 'rate': '2e2'})
    assert (values.paused, values.ground, values.rate) == (True, False, 200.0)


def test_declared_parameters_have_types_and_ranges(make_node):
    """Describe the table's contents to ROS."""
    node = make_node()
    declare(node, SimulatorParameters)
    assert set(specifications(SimulatorParameters)) - BLOCKS <= set(node._parameters)
    factor = node.describe_parameter('real_time_factor')
    assert factor.type == ParameterType.PARAMETER_DOUBLE
    assert (
        factor.floating_point_range[0].from_value,
        factor.floating_point_range[0].to_value,
    ) == (0.0, 1000.0)
    assert not factor.read_only
    substeps = node.describe_parameter('substeps')
    assert (substeps.integer_range[0].from_value, substeps.integer_range[0].to_value) == (1, 1000)
    assert substeps.read_only
    assert node.describe_parameter('joints').type == ParameterType.PARAMETER_STRING_ARRAY


def test_every_parameter_has_the_type_of_its_table(make_node):
    """Describe empty lists with their type, too, and protect read-only parameters."""
    node = make_node()
    declare(node, SimulatorParameters)
    for name, spec in specifications(SimulatorParameters).items():
        if spec.kind == BLOCK:
            continue
        descriptor = node.describe_parameter(name)
        declared = node.get_parameter(name)
        assert descriptor.type == declared.type_.value == spec.ros_type.value, name
        assert descriptor.read_only is spec.read_only
        assert descriptor.description.startswith(spec.description)
    assert node.get_parameter('position').type_ is Parameter.Type.DOUBLE_ARRAY
    assert node.get_parameter('position').value == []


@pytest.mark.parametrize(
    'value', [[0, 0, -9], array('d', [0, 0, -9]), (0.0, 0.0, -9.0), '[0, 0.0, -9]']
)
def test_lists_set_at_run_time_keep_their_type(make_node, value):
    """
    Turn integers into doubles; refuse texts in a list, and keep type and value.

    `ros2 param set` sends a list of mixed numbers as a text.
    """
    node, seen = make_node(), []
    declare(node, SimulatorParameters, lambda values: partial(seen.append, values))
    (result,) = node.set_parameters([Parameter('gravity', value=value)])
    assert result.successful
    assert seen[-1].gravity == (0.0, 0.0, -9.0)
    for refused in (['a', 'b', 'c'], [0.0], [True] * 3, '[0', 'down'):
        (result,) = node.set_parameters([Parameter('gravity', value=refused)])
        assert 'expected a list of 3 finite numbers' in result.reason
    declared = node.get_parameter('gravity')
    assert (declared.type_, declared.value) == (Parameter.Type.DOUBLE_ARRAY, [0.0, 0.0, -9.0])
    assert node.describe_parameter('gravity').type == ParameterType.PARAMETER_DOUBLE_ARRAY


def test_given_values_arrive_in_their_types(make_node):
    """Take values from the command line, integers for floats too."""
    node = make_node('-p', 'rate:=250', '-p', 'joints:=[a, b]', '-p', 'initial_positions:=[1, 2]')
    values = declare(node, SimulatorParameters)
    assert (values.rate, values.joints, values.initial_positions) == (
        250.0,
        ('a', 'b'),
        (1.0, 2.0),
    )
    assert node.get_parameter('rate').value == 250.0


def test_a_block_of_parameters_becomes_a_tree(make_node):
    """Nest the names below `sensors`, and declare each."""
    node = make_node(
        *('-p', 'sensors.wrist.type:=imu', '-p', 'sensors.wrist.link:=hand'),
        *('-p', 'sensors.wrist.position:=[0, 0.5, 1]'),
        *('-p', 'sensors.wrist.noise.angular_velocity.stddev:=0.1'),
    )
    values = declare(node, SimulatorParameters)
    noise = {'angular_velocity': {'stddev': 0.1}}
    assert values.sensors['wrist'] == {
        'type': 'imu',
        'link': 'hand',
        'position': [0.0, 0.5, 1.0],
        'noise': noise,
    }
    assert node.describe_parameter('sensors.wrist.type').read_only
    position = node.get_parameter('sensors.wrist.position')
    assert (position.type_, position.value) == (Parameter.Type.DOUBLE_ARRAY, [0.0, 0.5, 1.0])


def test_an_undeclared_name_is_warned_of(make_node, capfd):
    """Warn the user about a parameter without effect."""
    node = make_node('-p', 'comand_timeout:=1.0', '-p', 'use_sim_time:=false')
    declare(node, SimulatorParameters)
    errors = capfd.readouterr().err
    assert (
        "unknown parameter 'comand_timeout' is ignored. Did you mean 'command_timeout'?" in errors
    )
    assert 'use_sim_time' not in errors


def test_parameters_of_other_nodes_are_not_warned_of(make_node, repository, capfd):
    """Accept the controllers' parameters in a file for all nodes, /**."""
    node = make_node('--params-file', str(repository / 'docs' / 'sinusoid.yaml'))
    declare(node, SimulatorParameters)
    assert 'unknown parameter' not in capfd.readouterr().err
    for name, table in (('sim_bridge', SimulatorParameters), ('pd_controller', PdParameters)):
        assert set(names_of_nodes()[name]) == set(specifications(table))


def test_parameters_change_while_running_if_they_may(make_node):
    """Pass accepted changes on; refuse the others with a reason and change nothing."""
    node = make_node()
    seen = []
    declare(node, SimulatorParameters, lambda values: partial(seen.append, values))

    def attempt(name: str, value: object) -> tuple[bool, str]:
        (result,) = node.set_parameters([Parameter(name, value=value)])
        return result.successful, result.reason

    assert attempt('real_time_factor', 2.5) == (True, '')
    assert attempt('real_time_factor', 3) == (True, '')
    assert [values.real_time_factor for values in seen] == [2.5, 3.0]
    is_set, reason = attempt('real_time_factor', -1.0)
    assert not is_set
    assert 'real_time_factor' in reason
    assert '1000.0' in reason
    assert not attempt('real_time_factor', float('nan'))[0]
    assert not attempt('rate', 100.0)[0]
    for name, value, accepted in (
        ('real_time_factor', 'fast', 'a finite number, 0 or at least 1e-06 and at most 1000.0'),
        ('step_count', 2.5, 'a whole number, at least 1'),
        ('reset_clock', 1, 'true or false'),
        ('snapshot', None, 'a text'),
    ):
        is_set, reason = attempt(name, value)
        assert not is_set
        assert f"parameter '{name}' = {value!r}: expected {accepted}" in reason
    assert len(seen) == 2
    assert node.get_parameter('real_time_factor').value == 3.0


@dataclass(frozen=True)
class _Small:
    gain: float = parameter(1.0, 'A gain for this test', read_only=False)


def test_a_change_can_be_refused_by_its_user(make_node):
    """Return the refusal's reason to the caller setting the parameter; keep the old value."""

    def refuse(values: _Small) -> Callable[[], None]:
        raise InvalidValueError("parameter 'gain'", values.gain, 'something else')

    node = make_node()
    declare(node, _Small, refuse)
    (result,) = node.set_parameters([Parameter('gain', value=2.0)])
    assert not result.successful
    assert 'something else' in result.reason
    assert node.get_parameter('gain').value == 1.0


def test_a_request_is_applied_wholly_or_not_at_all(make_node):
    """Refuse a request by any of several users, before one of them has applied its part."""
    node, applied = make_node(), []

    def user(table: type, name: str) -> None:
        def prepare(values: object) -> Callable[[], None]:
            if getattr(values, name) < 0.0:
                raise InvalidValueError(name, getattr(values, name), 'at least 0')
            return lambda: applied.append(getattr(values, name))

        declare(node, table, prepare)

    @dataclass(frozen=True)
    class Other:
        offset: float = parameter(0.0, 'An offset for this test', read_only=False)

    user(_Small, 'gain')
    user(Other, 'offset')
    for gain, offset in ((2.0, -1.0), (-1.0, 2.0)):
        result = node.set_parameters_atomically(
            [Parameter('gain', value=gain), Parameter('offset', value=offset)]
        )
        assert not result.successful and 'at least 0' in result.reason
        assert not applied
        assert [node.get_parameter(name).value for name in ('gain', 'offset')] == [1.0, 0.0]
    result = node.set_parameters_atomically(
        [Parameter('gain', value=3), Parameter('offset', value=4)]
    )
    assert result.successful and applied == [3.0, 4.0]


def test_the_former_name_of_the_model_is_taken_with_a_warning():
    """Take the model under its former name; the new name needs no warning."""
    assert SimulatorParameters(model='Wheel').chosen_model == 'Wheel'
    with pytest.warns(DeprecationWarning, match="'openplx_model' is now called 'model'"):
        assert SimulatorParameters(openplx_model='Wheel').chosen_model == 'Wheel'
