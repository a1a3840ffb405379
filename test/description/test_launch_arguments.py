"""Values for xacro arguments from launch files, where the robot's file has none."""

from __future__ import annotations

import pytest

from sim_bridge.description import check_description, load_description

LAUNCH = """
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument

def generate_launch_description():
    return LaunchDescription([{}])
"""


def package(folder, launch, content, name='bringup.launch.py'):
    """Write a package with a robot file and a launch file; return the robot file."""
    for each in ('launch', 'urdf'):
        (folder / each).mkdir()
    (folder / 'package.xml').write_text('<package><name>bot</name></package>')
    (folder / 'launch' / name).write_text(launch)
    robot = f'<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{content}</robot>'
    file = folder / 'urdf' / 'r.urdf.xacro'
    file.write_text(robot)
    return file


@pytest.mark.parametrize(
    ('launch', 'name'),
    [
        (LAUNCH.format("DeclareLaunchArgument('side', default_value='left')"), 'a.launch.py'),
        (
            LAUNCH.format("DeclareLaunchArgument(name='side', choices=['left', 'r'])"),
            'a.launch.py',
        ),
        (LAUNCH.format("process_file(path, mappings={'side': 'left'})"), 'launch_robot.py'),
        (LAUNCH.format("Command(['xacro ', path, ' side:=left'])"), 'a.launch.py'),
        ('<launch><arg name="side" default="left"/></launch>', 'a.launch.xml'),
    ],
)
def test_an_argument_without_default_gets_the_value_of_a_launch_file(tmp_path, launch, name):
    """Read defaults, choices, mappings and written arguments; name value and file in a warning."""
    file = package(tmp_path, launch, '<link name="$(arg side)_arm"/>', name)
    description = load_description(file)
    assert list(description.links) == ['left_arm']
    [warning] = description.report.warnings
    assert f'side:=left is used, by {tmp_path / "launch" / name}' in warning.message


def test_given_arguments_and_defaults_come_first(tmp_path):
    """Leave values of the user and of the robot's file alone."""
    launch = LAUNCH.format("DeclareLaunchArgument('side', default_value='left')")
    content = '<xacro:arg name="side" default="right"/><link name="$(arg side)"/>'
    file = package(tmp_path, launch, content)
    assert list(load_description(file).links) == ['right']
    assert list(load_description(file, xacro_args={'side': 'mid'}).links) == ['mid']


_PLACEHOLDER = (
    '<xacro:arg name="kind" default="unset"/>'
    '<xacro:include filename="$(dirname)/$(arg kind)/body.xacro"/>'
)


def kinds(folder, *names):
    """Write an included part for each kind."""
    for name in names:
        part = folder / 'urdf' / name / 'body.xacro'
        part.parent.mkdir()
        part.write_text(f'<robot><link name="{name}"/></robot>')


def test_a_default_that_names_no_file_is_a_placeholder(tmp_path):
    """Take the first choice of the launch file, and name the others."""
    launch = LAUNCH.format("DeclareLaunchArgument('kind', choices=['short', 'long'])")
    file = package(tmp_path, launch, _PLACEHOLDER)
    kinds(tmp_path, 'long', 'short')
    description = load_description(file)
    assert list(description.links) == ['short']
    [warning] = description.report.warnings
    assert "argument 'kind' is 'unset': no such file; kind:=short is used" in warning.message
    assert warning.message.endswith('; also long')


def test_folders_beside_a_missing_one_are_choices(tmp_path):
    """Take the first folder if no launch file knows the argument."""
    file = package(tmp_path, '', _PLACEHOLDER)
    kinds(tmp_path, 'b', 'a')
    assert list(load_description(file).links) == ['a']
    report = check_description(file, xacro_args={'kind': 'c'})
    assert 'No such file' in report.errors[0].message


def test_an_empty_argument_in_a_folder_name_is_a_placeholder(tmp_path):
    """Take a launch file's value if it completes the name of a folder."""
    launch = LAUNCH.format("DeclareLaunchArgument('dof', default_value='7')")
    content = (
        '<xacro:arg name="prefix" default=""/><xacro:arg name="dof" default=""/>'
        '<xacro:include filename="$(dirname)/$(arg dof)dof/body.xacro"/>'
    )
    file = package(tmp_path, launch, content)
    kinds(tmp_path, '6dof', '7dof')
    assert list(load_description(file).links) == ['7dof']


def test_an_argument_that_no_launch_file_knows_is_an_error(tmp_path):
    """Name the argument and its syntax."""
    file = package(tmp_path, LAUNCH.format(''), '<link name="$(arg side)"/>')
    [error] = check_description(file).errors
    assert 'give it as a xacro argument, side:=VALUE' in error.message


def test_a_broken_launch_file_is_passed_over(tmp_path):
    """Search the other files after one with a syntax error."""
    file = package(tmp_path, 'def (side', '<link name="$(arg side)"/>')
    other = LAUNCH.format("DeclareLaunchArgument('side', default_value='left')")
    (tmp_path / 'launch' / 'z.launch.py').write_text(other)
    assert list(load_description(file).links) == ['left']


def test_robots_for_both_generations_of_ros_are_read_as_in_ros_2(tmp_path, monkeypatch):
    """Take the version 2 where no ROS is sourced."""
    monkeypatch.delenv('ROS_VERSION', raising=False)
    content = (
        '<link name="base"/><xacro:if value="${\'$(env ROS_VERSION)\' == \'1\'}">'
        '<link name="base"/></xacro:if>'
    )
    assert list(load_description(package(tmp_path, '', content)).links) == ['base']
