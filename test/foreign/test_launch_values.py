"""Test values for xacro arguments, computed in launch files."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from sim_bridge.description import load_description
from sim_bridge.foreign.launch_values import passed_values

ROBOT = (
    '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="world"/>'
    '<link name="$(arg model)"/><joint name="j" type="fixed"><parent link="world"/>'
    '<child link="$(arg model)"/></joint></robot>'
)
LAUNCH = """
from launch_ros.substitutions import FindPackageShare
models = LaunchConfiguration('models')
twice = 'a'
twice = 'b'
arguments = [DeclareLaunchArgument('models', default_value='etc')]
content = Command([FindExecutable(name='xacro'), ' ', path, ' model:=', {value}])
"""


@pytest.fixture
def package(tmp_path):
    """Return a package with a robot whose argument has no default."""
    folder = tmp_path / 'src' / 'folder'
    for name in ('launch', 'urdf'):
        (folder / name).mkdir(parents=True)
    (folder / 'package.xml').write_text('<package><name>arm</name></package>')
    (folder / 'urdf' / 'r.urdf.xacro').write_text(ROBOT)
    return folder


@pytest.mark.parametrize(
    ('expression', 'inside'),
    [
        ("PathJoinSubstitution([FindPackageShare('arm'), 'etc', 'm.xml'])", 'etc/m.xml'),
        ("PathJoinSubstitution([FindPackageShare('arm'), models, 'm.xml'])", 'etc/m.xml'),
        ("os.path.join(get_package_share_directory('arm'), 'm.xml')", 'm.xml'),
        ("get_package_share_path('arm') / 'm.xml'", 'm.xml'),
        ("FindPackageShare('other')", None),
        ('twice', None),
        ('function()', None),
        ('[1][0]', None),
    ],
)
def test_paths_of_packages_are_read(package, expression, inside):
    """Read joined paths; leave out values known only at run time."""
    nodes = list(ast.walk(ast.parse(LAUNCH.format(value=expression))))
    expected = [] if inside is None else [str(package / inside)]
    assert list(passed_values(nodes, 'model', package / 'launch')) == expected


def test_a_robot_expands_with_the_value_of_its_launch_file(package):
    """Give an argument without a default the launch file's value, and name it."""
    (package / 'launch' / 'r.launch.py').write_text(
        LAUNCH.format(value="PathJoinSubstitution(['left', models])")
    )
    description = load_description(package / 'urdf' / 'r.urdf.xacro')
    assert 'left/etc' in description.links
    assert any('model:=left/etc' in each.message for each in description.report.warnings)


def test_names_that_refer_to_each_other_end():
    """Return nothing for a circle of names."""
    nodes = list(ast.walk(ast.parse("a = b\nb = a\nc = ['model:=', a]")))
    assert list(passed_values(nodes, 'model', Path())) == []
