"""Processes started by the launch file, and arguments refused before any start."""

from __future__ import annotations

import re

import pytest

from sim_bridge.cli.launch_plan import ARGUMENTS, plan
from sim_bridge.description.controllers import CONTROLLERS, NO_CONTROLLER
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, UnknownNameError

DEFAULTS = {each.name: each.default for each in ARGUMENTS}


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """Return a function making only the given ROS packages known."""
    index = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    return lambda *names: [(index / name).touch() for name in names]


def planned(**chosen: str):
    """Return the processes by name, and the remarks."""
    found = plan({**DEFAULTS, **chosen})
    return {each.name: each for each in found.processes}, found.remarks


def values_of(process) -> dict:
    """Return the parameters given as values, not files."""
    return {
        name: value
        for each in process.parameters
        if isinstance(each, dict)
        for name, value in each.items()
    }


def test_a_scene_of_the_gallery_is_launched_by_its_name(repository):
    """Give the nodes its parameters; start no controller for robots without one."""
    processes, _ = planned(world='gallery/grasp')
    file = str(repository / 'gallery' / 'grasp.params.yaml')
    assert processes['sim_bridge'].parameters[-2] == file
    assert file in processes['pd_controller'].parameters
    assert list(planned(world='gallery/rover_swarm')[0]) == ['sim_bridge']


def test_a_simulator_and_a_controller_are_started_by_default():
    """Run both as modules, the simulator first, with the default parameter file."""
    processes, remarks = planned()
    assert list(processes) == ['sim_bridge', 'pd_controller']
    assert processes['sim_bridge'].arguments == ['sim_bridge', 'node']
    assert values_of(processes['sim_bridge']) == {'paused': False, 'frame_prefix': ''}
    assert not remarks
    assert values_of(planned(view='true')[0]['sim_bridge'])['view'] is True


@pytest.mark.parametrize(
    ('argument', 'package'),
    [('rviz', 'rviz2'), ('robot_state_publisher', 'robot_state_publisher')],
)
def test_packages_are_looked_up_first(packages, argument, package):
    """Refuse missing packages before anything runs; `launch` would find out only later."""
    with pytest.raises(InvalidValueError, match=f'{argument}.*{package} to be installed'):
        planned(**{argument: 'true'})
    packages(package)
    assert package in planned(**{argument: 'true'})[0]


def test_frames_are_published_once_and_in_time(packages, tmp_path):
    """Give robot_state_publisher the rate of /tf, and disable the node's own frames."""
    packages('robot_state_publisher')
    file = tmp_path / 'mine.yaml'
    file.write_text(
        '/**/sim_bridge:\n  ros__parameters:\n    tf_rate: 250.0\n    publish_link_tf: true\n'
    )
    processes, remarks = planned(robot_state_publisher='true', params=str(file), namespace='left')
    publisher = values_of(processes['robot_state_publisher'])
    assert publisher['publish_frequency'] == 250.0
    assert publisher['frame_prefix'] == 'left/'
    assert values_of(processes['sim_bridge'])['publish_link_tf'] is False
    assert [remark.split(':')[0] for remark in remarks] == ['publish_link_tf is switched off']
    assert (
        values_of(planned(robot_state_publisher='true')[0]['robot_state_publisher'])[
            'publish_frequency'
        ]
        == 100.0
    )


def test_the_prefix_of_frames_is_the_namespace_unless_given(tmp_path):
    """Use the argument, else the parameter file's prefix, else the namespace."""
    file = tmp_path / 'mine.yaml'
    file.write_text('/**:\n  ros__parameters:\n    frame_prefix: lab/\n')
    for chosen, expected in (
        ({'namespace': 'a/b'}, 'a/b/'),
        ({'namespace': 'a', 'frame_prefix': ''}, ''),
        ({'namespace': 'a', 'params': str(file)}, 'lab/'),
        ({'params': str(file), 'frame_prefix': 'mine/'}, 'mine/'),
    ):
        assert values_of(planned(**chosen)[0]['sim_bridge'])['frame_prefix'] == expected


def test_robots_of_packages_are_found(packages, tmp_path, repository):
    """Accept package:// as a robot, with package folders for all processes reading it."""
    packages('robot_state_publisher')
    folder = tmp_path / 'src' / 'bot' / 'urdf'
    folder.mkdir(parents=True)
    for name in ('rover.urdf', 'rover.params.yaml'):
        (folder / name).write_text((repository / 'urdf' / name).read_text())
    with pytest.raises(InvalidValueError, match="package 'bot' is not found"):
        planned(robot='package://bot/urdf/rover.urdf')
    processes, _ = planned(
        robot='package://bot/urdf/rover.urdf',
        robot_state_publisher='true',
        package_paths=f'{tmp_path / "none"}:{tmp_path / "src"}',
    )
    assert list(processes) == ['sim_bridge', 'square_controller', 'robot_state_publisher']
    assert values_of(processes['sim_bridge'])['package_paths'] == [
        str(tmp_path / 'none'),
        str(tmp_path / 'src'),
    ]
    assert str(folder / 'rover.params.yaml') in processes['square_controller'].parameters


def test_robots_of_openplx_scenes_have_a_state_publisher(packages, tmp_path, repository):
    """Give each its own URDF, in the namespace from the node; no controller."""
    packages('robot_state_publisher')
    processes, _ = planned(robot='excavator', robot_state_publisher='true')
    assert list(processes) == ['sim_bridge', 'robot_state_publisher']
    values = values_of(processes['robot_state_publisher'])
    assert '<joint name="slew" type="continuous">' in values['robot_description']
    assert values_of(processes['sim_bridge'])['publish_robot_description'] is False
    scene = tmp_path / 'scene.yaml'
    scene.write_text(
        f'world: {{openplx: {{mine: {{file: {repository / "urdf" / "clock.openplx"}}}}}}}\n'
    )
    processes, _ = planned(world=str(scene), robot_state_publisher='true', namespace='lab')
    publisher = processes['robot_state_publisher']
    assert publisher.namespace == 'lab/mine'
    assert values_of(publisher)['frame_prefix'] == 'lab/mine/'


def test_rosbag2_records_with_the_qos_of_the_graph(packages, tmp_path):
    """Start the recorder through the verb finding the topics, in the namespace."""
    with pytest.raises(InvalidValueError, match='ros2bag to be installed'):
        planned(rosbag='bag')
    packages('ros2bag')
    recorder = planned(rosbag='bag', namespace='left')[0]['rosbag2']
    assert recorder.arguments == ['sim_bridge', 'qos', '--record', 'bag', '--namespace', 'left']
    assert recorder.parameters is None
    with pytest.raises(InvalidValueError, match="'rosbag' = .*a folder that does not exist yet"):
        planned(rosbag=str(tmp_path))


def test_impossible_starts_are_refused(tmp_path):
    """Name unknown robots, invalid numbers, and files without parameters."""
    with pytest.raises(UnknownNameError, match="'amr'.*Did you mean 'arm'"):
        planned(robot='amr')
    with pytest.raises(InvalidValueError, match="'real_time_factor' = 'fast': expected a number"):
        planned(real_time_factor='fast')
    for number in ('-5', 'nan', '0'):
        with pytest.raises(InvalidValueError, match="parameter 'rate' = .*at least 1.0"):
            planned(rate=number)
    broken = tmp_path / 'broken.yaml'
    broken.write_text('/**:\n  ros__parameters: [\n')
    for params in (broken, tmp_path / 'missing.yaml', tmp_path):
        with pytest.raises(InvalidValueError, match='parameter file'):
            planned(params=str(params))
    with pytest.raises(SimBridgeError):
        planned(world=str(tmp_path / 'missing.yaml'))


def test_arguments_that_launch_ignores_are_remarked():
    """Report a name similar to an argument, and no other: it may be another file's."""
    remarks = plan(DEFAULTS, ['frame_prefx', 'rate', 'arm_count']).remarks
    assert remarks == ["launch argument 'frame_prefx' is ignored. Did you mean 'frame_prefix'?"]


def test_the_document_lists_the_arguments(repository):
    """Name every argument, and the choices of `controller`, in docs/command_line.md."""
    text = (repository / 'docs' / 'command_line.md').read_text().partition('\nArguments: ')[2]
    listed = ' '.join(text.partition('. `--show-args`')[0].split())
    (choices,) = re.findall(r'`controller` \((.*?)\)', listed)
    assert re.findall(r'`(\w+)`', listed) == [each.name for each in ARGUMENTS]
    assert choices.split(', ') == [*CONTROLLERS, NO_CONTROLLER]
