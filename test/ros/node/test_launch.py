"""The launch file, run by the real `launch` if it is installed, else by a stand-in."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
import select
import signal
import subprocess
import sys

import pytest
from ros_graph import nanoseconds, PATIENCE_S
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings('ignore::DeprecationWarning')

INDEX = Path('share', 'ament_index', 'resource_index', 'packages')


@pytest.fixture
def start_launch(start_process, repository):
    """Return a function starting the launch file with arguments."""

    def start(*arguments: str, **options: object) -> subprocess.Popen:
        file = repository / 'launch' / 'sim_bridge.launch.py'
        runner = repository / 'test' / 'support' / 'launch_stand_in.py'
        return start_process(runner, file, *arguments, **options)

    return start


@pytest.fixture
def tools(tmp_path) -> Path:
    """Return the folder of a ROS installation."""
    folder = tmp_path / 'tools'
    (folder / INDEX).mkdir(parents=True)
    return folder


def add_program(tools: Path, package: str, program: str, text: str) -> None:
    """Add an executable Python program of a ROS package to a ROS installation."""
    (tools / INDEX / package).touch()
    path = tools / program
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!{sys.executable}\n{text}')
    path.chmod(0o755)


def with_tools(tools: Path) -> dict[str, str]:
    """Return the environment in which a ROS installation is sourced."""
    prefixes = [str(tools), *filter(None, [os.environ.get('AMENT_PREFIX_PATH', '')])]
    return {
        **os.environ,
        'AMENT_PREFIX_PATH': os.pathsep.join(prefixes),
        'PATH': f'{tools}{os.pathsep}{os.environ["PATH"]}',
    }


# until a signal, whose number it leaves beside itself
WAITING = """
import signal
def end(number, frame):
    with open(__file__ + '.end', 'w') as file:
        file.write(str(number))
    raise SystemExit
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, end)
print('it waits', flush=True)
while True:
    signal.pause()
"""


def descendants(pid: int) -> list[int]:
    """Return the children of a process, and theirs."""
    children = Path(f'/proc/{pid}/task/{pid}/children').read_text().split()
    return [each for child in map(int, children) for each in (child, *descendants(child))]


def end(process: subprocess.Popen) -> str:
    """End the launch like Ctrl-C in a terminal, nodes included; return all output."""
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE_S)
    return output


def test_the_launch_file_runs_simulator_and_controller(graph, start_launch):
    """Launch with a robot, a rate and a namespace; both nodes work and end cleanly."""
    process = start_launch(
        'robot:=double_pendulum', 'rate:=500', 'namespace:=left', 'controller:=pd'
    )
    states = graph.listen(JointState, '/left/joint_states')
    commands = graph.listen(JointState, '/left/joint_commands')
    graph.wait_for_next(states, 100)
    graph.wait_for_next(commands, 10)
    stamps = [nanoseconds(state.header.stamp) for state in states]
    # a busy machine may lose a message
    assert min(late - early for early, late in itertools.pairwise(stamps)) == 2_000_000
    both = {('sim_bridge', '/left'), ('pd_controller', '/left')}
    graph.wait(lambda: both <= set(graph.node.get_node_names_and_namespaces()), 'both names')
    output = end(process)
    assert output.count('process has finished cleanly') == 2, output
    # each node's output is marked with its name
    assert '[pd_controller-2]' in output


def test_the_launch_file_starts_paused_and_without_controller(graph, start_launch, tmp_path):
    """Take a parameter file, and leave out unwanted nodes."""
    parameters = tmp_path / 'mine.yaml'
    parameters.write_text(
        '/**/sim_bridge:\n  ros__parameters:\n    robot: pendulum\n    clock_rate: 50.0\n'
    )
    process = start_launch(
        f'params:={parameters}', 'paused:=true', 'controller:=none', 'real_time_factor:=2'
    )
    clock = graph.listen(Clock, '/clock')
    graph.wait_for_next(clock, 3)
    assert {nanoseconds(message.clock) for message in clock} == {1}

    def names() -> list[str]:
        return [name for name, _ in graph.node.get_node_names_and_namespaces()]

    graph.wait(lambda: 'sim_bridge' in names(), 'the node')
    assert names().count('sim_bridge') == 1
    assert 'pd_controller' not in names()
    assert end(process).count('process has finished cleanly') == 1


@pytest.mark.parametrize(
    ('argument', 'said'),
    [
        ('rate:=fast', "launch argument 'rate' = 'fast': expected a number"),
        (
            'params:=/nowhere.yaml',
            "parameter file = '/nowhere.yaml': expected a YAML parameter file",
        ),
        ('robot:=amr', "unknown robot 'amr'"),
        ('rviz:=true', "launch argument 'rviz' = 'true': expected the package rviz2"),
    ],
)
def test_bad_arguments_are_named(start_launch, tmp_path, argument, said):
    """Launch nothing, and name the wrong argument in one line."""
    nothing = {**os.environ, 'AMENT_PREFIX_PATH': str(tmp_path)}
    process = start_launch(argument, env=nothing)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode != 0
    assert sum(said in line for line in output.splitlines()) == 1, output
    assert 'Traceback' not in output
    assert 'process started' not in output


def test_the_launch_file_records(graph, start_launch, tmp_path):
    """Record with record:=true to a folder named after the time, else to the given folder."""
    process = start_launch(
        'robot:=pendulum', f'record:={tmp_path / "bag"}', 'controller:=none', 'paused:=true'
    )
    graph.wait_for_next(graph.listen(Clock, '/clock'))
    end(process)
    assert {path.name for path in (tmp_path / 'bag').iterdir()} == {'bag_0.mcap', 'metadata.yaml'}
    process = start_launch(
        'robot:=pendulum', 'record:=true', 'controller:=none', 'paused:=true', cwd=tmp_path
    )
    graph.wait(lambda: [*tmp_path.glob('sim_bridge_2*/metadata.yaml')], 'a bag')
    end(process)


def test_the_end_of_one_node_ends_all(start_launch, tmp_path):
    """Leave no controller running when the simulator refuses; fail like it."""
    file = tmp_path / 'joints.yaml'
    file.write_text('/**/sim_bridge:\n  ros__parameters:\n    joints: [elbow]\n')
    process = start_launch(f'params:={file}')
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "'elbow'" in output
    assert 'sim_bridge has ended with exit code 2' in output


def test_a_failed_recorder_ends_the_launch(start_launch, tools, tmp_path):
    """Name the missing recording and fail; the other processes end."""
    add_program(tools, 'ros2bag', 'ros2', 'raise SystemExit("no storage plugin")')
    bag = tmp_path / 'bag'
    process = start_launch(
        'robot:=pendulum', 'controller:=none', f'rosbag:={bag}', env=with_tools(tools)
    )
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1, output
    assert 'no storage plugin' in output
    assert f"rosbag2 has ended with exit code 1: the recording '{bag}' is" in output
    assert output.count('process has finished cleanly') == 1


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_launch_leaves_no_orphans(graph, start_launch, tools, tmp_path, number):
    """Tell nodes, recorder and foreign programs to end, as Ctrl-C does."""
    add_program(tools, 'ros2bag', 'ros2', WAITING)
    name = 'robot_state_publisher'
    add_program(tools, name, f'lib/{name}/{name}', WAITING)
    process = start_launch(
        'robot:=pendulum',
        'controller:=pd',
        'robot_state_publisher:=true',
        f'rosbag:={tmp_path / "bag"}',
        env=with_tools(tools),
    )
    graph.wait_for_next(graph.listen(JointState, '/joint_states'))
    lines = []
    while ''.join(lines).count('it waits') < 2:  # the foreign programs
        lines.append(process.stdout.readline())
        assert lines[-1], ''.join(lines)
    pids = descendants(process.pid)
    assert len(pids) == 6, pids  # two nodes, and two foreign programs with their wrappers
    ends = [os.pidfd_open(pid) for pid in pids]
    process.send_signal(number)
    for each in ends:
        readable, _, _ = select.select([each], [], [], PATIENCE_S)
        os.close(each)
        assert readable
    told = [Path(f'{tools / each}.end').read_text() for each in ('ros2', f'lib/{name}/{name}')]
    assert told == [str(int(signal.SIGINT))] * 2
