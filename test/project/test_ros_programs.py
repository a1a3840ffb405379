"""Programs of benchmarks/ and docs/ observing running nodes, in short runs."""

from __future__ import annotations

import json
import re

import pytest
from ros_graph import PATIENCE_S

from sim_bridge.description.resources import gallery_scenes, shipped_robots

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.long


@pytest.fixture
def run(start_process, repository):
    """Return a function running a program of this repository; it returns the output."""

    def finished(path: str, *arguments: object) -> str:
        process = start_process(repository / path, *arguments)
        output, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, output
        return output

    return finished


@pytest.mark.parametrize('name', [*shipped_robots(), *gallery_scenes()])
def test_everything_shipped_runs(start_process, name):
    """Simulate it with its controllers for a second, without errors."""
    process = start_process('-m', 'sim_bridge', 'run', name, '--duration', 1)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, output
    assert '1 s are over' in output
    assert not re.findall(r'\[(?:ERROR|FATAL)\].*|Traceback|is ignored', output), output


def test_runs_in_lockstep_are_equal(run):
    """Find equal hashes under load."""
    output = run('benchmarks/ros_lockstep.py', '--runs', 2, '--seconds', 2, '--load', 1)
    assert output.splitlines()[-1] == 'equal'


def test_nothing_is_lost_at_full_speed(run):
    """Receive all messages, in order."""
    output = run('benchmarks/ros_endurance.py', '--seconds', 10)
    # after the node's own lines, if a short run has any
    found = json.loads('{' + f'\n{output}'.partition('\n{')[2])
    for topic in ('joint_states', '/clock'):
        faults = ('missing', 'out of order', 'stamps off the steps')
        assert [found[topic][each] for each in faults] == [0, 0, 0]


def test_costs_of_sweeps_are_measured(run):
    """Fill every row of the table."""
    output = run('benchmarks/ros_sweep.py', '--runs', 6, '--seconds', 0.1)
    labels = ('in this process', 'by another process', 'by a sweep', 'on Ray, batches of 5')
    assert all(f'\n{label}' in output for label in labels)


def test_rates_of_a_running_node_are_measured(run, start_node, tmp_path):
    """Measure the arm's topics at 1 kHz."""
    start_node(robot='arm', hold_until_first_command=False)
    file = tmp_path / 'timing.json'
    run('benchmarks/ros_timing.py', '--seconds', 5, '--json', file)
    assert '/joint_states' in file.read_text()


def test_the_picture_of_readme_is_drawn(run, start_process, repository, tmp_path):
    """Draw the topics of the arm following sinusoids."""
    parameters = repository / 'docs' / 'sinusoid.yaml'
    options = ('--controller', 'computed_torque', '--params', parameters)
    start_process('-m', 'sim_bridge', 'run', 'arm', *options)
    run('docs/plot_running_arm.py', tmp_path / 'arm.png')
    assert (tmp_path / 'arm.png').stat().st_size > 10_000
