"""A parameter value accepted by one verb is accepted by all; a refused one gets the same text."""

from __future__ import annotations

from pathlib import Path

import pytest
from rcl_interfaces.srv import GetParameters
from sensor_msgs.msg import JointState
from studies import swept, write_study

from sim_bridge.cli.check import DEFECTIVE
from sim_bridge.cli.main import main, USAGE_ERROR

pytest_plugins = ['node_fixtures']
pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

# lines of a parameter file for the simulator, and a part of the refusal
REFUSED = {
    'sensors: 5': "parameter 'sensors' = 5: expected a block of named values",
    'control: velocity': "parameter 'control' = 'velocity': expected a block of named values",
    'gains: 3.0': "parameter 'gains' = 3.0: expected a block of named values",
    'drives: x': "parameter 'drives' = 'x': expected a block of named values",
    'trajectory_controllers: [a]': (
        "parameter 'trajectory_controllers' = ['a']: expected a block of named values"
    ),
    'sensors:': "parameter 'sensors' = None: expected a block of named values",
    'control: {shoulder: fast}': (
        "parameter 'control.shoulder' = 'fast': expected 'effort' or 'velocity' or 'position' or "
        "'servo'"
    ),
    'gains: {shoulder: {p: -1}}': (
        "parameter 'gains.shoulder.p' = -1: expected a finite number, at least 0.0"
    ),
    'sensors: {a: {type: gyro}}': 'missing: where the sensor sits',
    'sensors: {a: {type: gryo, link: lower_rod}}': 'must be one of',
    'drives: {a: {type: differntial}}': "did you mean 'differential'?",
    'drives: {a: 5}': 'must be a mapping',
    'trajectory_controllers: {a: {joints: 5}}': (
        "parameter 'trajectory_controllers.a.joints' = 5: expected a list of texts"
    ),
    'trajectory_controllers: {a: {constraints: {elbow: {goal: -1}}}}': (
        "parameter 'trajectory_controllers.a.constraints.elbow.goal' = -1: expected a finite"
    ),
    "record_topics: ['[']": "parameter 'record_topics' = '[': expected regular expressions",
    'gravity: [0, 0]': "parameter 'gravity' = [0, 0]: expected a list of 3 finite numbers",
    'gravity: [0, 0, x]': "parameter 'gravity' = [0, 0, 'x']: expected a list of 3 finite numbers",
    'rate: [1, 2.5]': "parameter 'rate' = [1, 2.5]: expected a finite number",
    'rate: {a: 5}': "parameter 'rate' = {'a': 5}: expected a finite number",
    'world_values: {a.b: 1}': (
        "parameter 'world_values' = {'a': {'b': 1}}: expected a text; write YAML in quotes"
    ),
    'rate: 1_000': "parameter 'rate' = '1_000': expected a finite number",
    'rate: 0x1G': "parameter 'rate' = '0x1G': expected a finite number",
    'robot_name: 1e3': "parameter 'robot_name' = 1000.0: expected a text",
    'contact_events: [begin, ended]': "parameter 'contact_events' = 'ended'",
    'orientation: [0, 0, 0, 2]': 'expected a unit quaternion x y z w',
    'force_fields: "{a: {type: drog}}"': "parameter 'force_fields'",
    'xacro_args: [a=b]': "parameter 'xacro_args' = 'a=b': expected texts of the form",
    'world_values: "[1]"': "parameter 'world_values' = '[1]'",
}
MIXED = """\
/**/sim_bridge:
  ros__parameters:
    rate: 1e3
    gravity: [0, 0, -9.81]
    initial_positions: [0, 0.5]
    hold_until_first_command: no
    sensors:
      a: {type: accelerometer, link: lower_rod, position: [0, 0, -0.5]}
    gains: {elbow: {p: 20, d: 0}}
    control: {elbow: servo}
"""


def write(folder: Path, *lines: str) -> Path:
    """Write a parameter file with lines for the simulator."""
    file = folder / 'p.params.yaml'
    file.write_text('\n    '.join(['/**/sim_bridge:\n  ros__parameters:', *lines]) + '\n')
    return file


def record(folder: Path, file: Path) -> int:
    """Record a moment with a parameter file; return the exit code."""
    bag = ['-o', str(folder / 'bag'), '--duration', '0.01']
    return main(['record', 'double_pendulum', '--params', str(file), *bag])


@pytest.mark.parametrize('line', REFUSED)
def test_check_and_record_refuse_alike(line, tmp_path, capsys):
    """Report the text with the line of the parameter; record ends with 2."""
    file = write(tmp_path, 'substeps: 1', line)
    assert main(['check', str(file)]) == DEFECTIVE
    checked = capsys.readouterr().out
    assert f'{file}:4: error' in checked
    assert record(tmp_path, file) == USAGE_ERROR
    recorded = capsys.readouterr().err
    assert REFUSED[line] in ' '.join(recorded.split())
    assert REFUSED[line] in ' '.join(checked.split())


def test_blocks_that_contradict_each_other_are_refused(tmp_path, capsys):
    """Refuse a value and members of one name in two blocks, with the line of the second."""
    file = write(tmp_path, 'control: {elbow: position}')
    with file.open('a') as more:
        more.write('/sim_bridge: {ros__parameters: {control: {elbow: {upper: effort}}}}\n')
    said = "expected 'elbow' to be a block"
    assert main(['check', str(file)]) == DEFECTIVE
    assert said in capsys.readouterr().out
    assert record(tmp_path, file) == USAGE_ERROR
    assert said in capsys.readouterr().err


def test_nodes_refuse_alike(tmp_path, refusals):
    """End each node with exit code 2 and the same text, for a file and for arguments."""
    files, arguments = [], []
    for number, line in enumerate(REFUSED):
        folder = tmp_path / str(number)
        folder.mkdir()
        files.append(('-p', 'robot:=double_pendulum', '--params-file', str(write(folder, line))))
        name, _, value = line.partition(':')
        arguments.append(('-p', 'robot:=double_pendulum', '-p', f'{name}:={value.strip()}'))
    outputs = refusals(*files, *arguments)
    for line, output in zip([*REFUSED, *REFUSED], outputs, strict=True):
        assert REFUSED[line] in ' '.join(output.split()), line


def test_run_and_sweep_refuse_alike(tmp_path, start_process):
    """End `run` with 2; give a row of a sweep the text as its reason."""
    line = 'sensors: 5'
    file = write(tmp_path, line)
    options = ['--controller', 'none', '--params', str(file)]
    run = start_process('-m', 'sim_bridge', 'run', 'double_pendulum', *options)
    output, _ = run.communicate(timeout=60)
    assert run.returncode == USAGE_ERROR
    assert f'sim_bridge: {REFUSED[line]}' in output
    plan = {'robot': 'double_pendulum', 'duration': 0.01}
    study = {
        'vary': {'rate': {'path': 'parameters.rate', 'values': [500.0]}},
        'design': 'list',
        'measure': {'last': 'last(joint_states.position[elbow])'},
    }
    for name, plan_of in (
        ('file', {**plan, 'params': file.name}),
        ('own', {**plan, 'parameters': {'sensors': 5}}),
    ):
        found = write_study(tmp_path, {**study, 'run': plan_of}, f'{name}.yaml')
        (row,) = swept(found, tmp_path / name, 1)
        assert (row.status, row.reason) == ('failed', REFUSED[line])


def test_all_verbs_accept_mixed_numbers(tmp_path, capsys, graph, start_node):
    """Accept integers and floats in one list; the node declares doubles and simulates them."""
    file = tmp_path / 'p.params.yaml'
    file.write_text(MIXED)
    assert main(['check', str(file)]) == 0
    assert record(tmp_path, file) == 0
    capsys.readouterr()
    start_node('--params-file', str(file), '-p', 'gravity:=[0, 0, -1.5]', robot='double_pendulum')
    states = graph.listen(JointState, '/joint_states')
    graph.wait(lambda: states, 'a state')
    names = ['rate', 'gravity', 'sensors.a.position', 'gains.elbow.p', 'initial_positions']
    values = graph.call(
        GetParameters, '/sim_bridge/get_parameters', GetParameters.Request(names=names)
    ).values
    assert values[0].double_value == 1000.0
    assert list(values[1].double_array_value) == [0.0, 0.0, -1.5]
    assert list(values[2].double_array_value) == [0.0, 0.0, -0.5]
    assert values[3].double_value == 20.0
    assert list(values[4].double_array_value) == [0.0, 0.5]
