"""File locations, and xacro files."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sim_bridge import World
from sim_bridge.description import (
    check_description,
    DescriptionError,
    find_robot,
    load_description,
    resolve_uri,
    share_directory,
)
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError

VARIABLES = (
    'AMENT_PREFIX_PATH',
    'GZ_SIM_RESOURCE_PATH',
    'IGN_GAZEBO_RESOURCE_PATH',
    'GAZEBO_MODEL_PATH',
    'ROS_PACKAGE_PATH',
)
XACRO = """<?xml version="1.0"?>
<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="mass" default="1"/>
  <xacro:property name="half" value="${0.5 * 3}"/>
  <link name="l">
    <inertial><mass value="$(arg mass)"/>
    <inertia ixx="${half}" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
</robot>"""


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch):
    """Hide ROS and Gazebo installations on the machine."""
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def mesh(tmp_path):
    """Return a mesh in a package `bot`, in a folder with a space in its name."""
    path = tmp_path / 'my ws' / 'share' / 'bot' / 'meshes' / 'a.stl'
    path.parent.mkdir(parents=True)
    path.touch()
    return path


@pytest.mark.parametrize(
    'uri',
    ['package://bot/meshes/a.stl', 'model://bot/meshes/a.stl', 'package:///bot/meshes/a.stl'],
)
@pytest.mark.parametrize('depth', [0, 1, 2], ids=['package', 'share', 'prefix'])
def test_package_paths(mesh, uri, depth):
    """Accept the package itself, its parent folder, or the prefix."""
    assert resolve_uri(uri) is None
    assert resolve_uri(uri, package_paths=[mesh.parents[1 + depth]]) == mesh
    assert resolve_uri(uri, package_paths=['/nowhere', str(mesh.parents[1 + depth])]) == mesh


@pytest.mark.parametrize(
    ('variable', 'depth'),
    [
        ('AMENT_PREFIX_PATH', 2),
        ('GZ_SIM_RESOURCE_PATH', 1),
        ('IGN_GAZEBO_RESOURCE_PATH', 1),
        ('GAZEBO_MODEL_PATH', 1),
        ('ROS_PACKAGE_PATH', 1),
        ('ROS_PACKAGE_PATH', 0),
    ],
)
def test_environment(mesh, monkeypatch, variable, depth):
    """Find a package by each environment variable."""
    monkeypatch.setenv(variable, f'/nowhere::{mesh.parents[1 + depth]}')
    assert resolve_uri('package://bot/meshes/a.stl') == mesh


def test_folders_above_the_description(mesh):
    """Find a package in a source checkout: around the description, or beside it."""
    for base in (mesh.parents[1] / 'urdf', mesh.parents[2] / 'other' / 'urdf'):
        assert resolve_uri('package://bot/meshes/a.stl', base=base) == mesh


def test_folders_beside_the_description_stand_for_packages(mesh):
    """Find package://meshes in the description's folder, after folders above it."""
    base = mesh.parents[1]
    assert resolve_uri('package://meshes/a.stl', base=base) == mesh
    above = base.parent / 'meshes' / 'a.stl'
    above.parent.mkdir()
    above.touch()
    assert resolve_uri('package://meshes/a.stl', base=base) == above


def test_given_paths_come_first(mesh, tmp_path, monkeypatch):
    """Prefer a package path to the environment."""
    other = tmp_path / 'other' / 'bot' / 'meshes' / 'a.stl'
    other.parent.mkdir(parents=True)
    other.touch()
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(mesh.parents[3]))
    assert resolve_uri('package://bot/meshes/a.stl') == mesh
    assert resolve_uri('package://bot/meshes/a.stl', package_paths=[tmp_path / 'other']) == other


def test_files_and_relative_paths(mesh):
    """Resolve file URIs, escaped or not, and paths, absolute or relative to the description."""
    assert resolve_uri(mesh.as_uri()) == mesh
    assert resolve_uri(f'file://{mesh}') == mesh
    assert resolve_uri(str(mesh)) == mesh
    assert resolve_uri('meshes/a.stl', base=mesh.parents[1]) == mesh
    assert resolve_uri('file://meshes/a.stl', base=mesh.parents[1]) == mesh


@pytest.mark.parametrize(
    'uri',
    [
        'package://',
        'package://bot',
        'package:///a',
        'http://a/b.stl',
        'file://',
        '',
        '\0',
        'a' * 5000,
        'file://\0',
    ],
)
def test_wrong_uris_resolve_to_none(mesh, uri):
    """Return None for any wrong URI."""
    assert resolve_uri(uri, package_paths=[mesh.parents[2]]) is None


def test_missing_meshes_are_explained(mesh):
    """Distinguish a missing package from a missing file."""

    def message(uri):
        text = (
            '<robot name="r"><link name="l"><collision><geometry>'
            f'<mesh filename="{uri}"/></geometry></collision></link></robot>'
        )
        (finding,) = check_description(text, package_paths=[mesh.parents[2]]).findings
        return finding.message

    assert "'boot' is not found" in message('package://boot/meshes/a.stl')
    assert "'bot' has no such file" in message('package://bot/meshes/b.stl')
    assert message('b.stl') == 'no such file'
    assert 'is not found' in message(f'package://{"a" * 5000}/b.stl')
    assert message('https://a/b.stl') == 'https:// is not read'


def test_meshes_count_from_the_file(mesh):
    """Find a relative mesh beside the description, whatever the working directory."""
    file = mesh.parents[1] / 'r.urdf'
    file.write_text(
        '<robot name="r"><link name="l"><visual><geometry><mesh filename="meshes/a.stl"/>'
        '</geometry></visual></link></robot>'
    )
    assert check_description(file).findings == ()


def test_share_directory_holds_the_robots(repository):
    """Find the checkout if nothing is installed."""
    assert share_directory() == repository


def test_share_directory_of_an_installation(tmp_path, monkeypatch):
    """Prefer the ament index."""
    share = tmp_path / 'share' / 'sim_bridge'
    (share / 'urdf').mkdir(parents=True)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path))
    assert share_directory() == share


def test_find_robot(repository, tmp_path, monkeypatch):
    """Find shipped robots by name and others by path."""
    assert find_robot('arm') == repository / 'urdf' / 'arm.urdf'
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'mine.urdf').touch()
    assert find_robot('mine.urdf').resolve() == tmp_path / 'mine.urdf'
    assert find_robot(tmp_path / 'mine.urdf') == tmp_path / 'mine.urdf'
    assert find_robot('mine.urdf', base=tmp_path).samefile(tmp_path / 'mine.urdf')
    package = tmp_path / 'maker'
    (package / 'urdf').mkdir(parents=True)
    (package / 'urdf' / 'bot.urdf').touch()
    uri = 'package://maker/urdf/bot.urdf'
    assert find_robot(uri, package_paths=[tmp_path]) == package / 'urdf' / 'bot.urdf'
    assert find_robot((package / 'urdf' / 'bot.urdf').as_uri()).samefile(
        package / 'urdf' / 'bot.urdf'
    )


def test_a_scene_is_no_robot(repository):
    """Tell where a scene file belongs instead."""
    with pytest.raises(InvalidValueError, match='name it as the world: by --world'):
        find_robot(repository / 'config' / 'world_table.yaml')


def test_unknown_robots(tmp_path):
    """List the shipped robots for a wrong name, and give the path for a wrong path."""
    with pytest.raises(UnknownNameError, match=r"'amr'.*Did you mean 'arm'"):
        find_robot('amr')
    for path in (
        'amr.urdf',
        tmp_path / 'arm',
        './arm',
        '~nobody/arm',
        tmp_path,
        'a/' + 'b' * 5000,
    ):
        with pytest.raises(
            InvalidValueError, match=r'expected the name of a shipped robot \(arm, biped'
        ):
            find_robot(path)
    with pytest.raises(InvalidValueError, match="package 'nobody' is not found"):
        find_robot('package://nobody/a.urdf')


def test_a_robot_that_was_meant(tmp_path):
    """Suggest a similarly named file beside a missing one, or a shipped robot."""
    (tmp_path / 'gripper.urdf').touch()
    with pytest.raises(InvalidValueError, match=r"did you mean '.*/gripper\.urdf'\?"):
        find_robot(tmp_path / 'griper.urdf')
    with pytest.raises(InvalidValueError, match="did you mean 'rover', which ships"):
        find_robot('rovr.urdf')


def test_xacro_text_and_files(tmp_path):
    """Expand text, .xacro files and .urdf files containing xacro, with arguments."""
    sources = [XACRO]
    for name in ('a.urdf.xacro', 'a.xacro', 'a.urdf'):
        path = tmp_path / name
        path.write_text(XACRO)
        sources += [path, str(path)]
    for source in sources:
        description = load_description(source, xacro_args={'mass': 2.5})
        assert description.links['l'].inertial.mass == 2.5
        assert description.links['l'].inertial.inertia[0, 0] == 1.5
        assert 'xacro:arg' not in description.xml
        assert load_description(source).links['l'].inertial.mass == 1.0


def test_xacro_includes_count_from_the_file(tmp_path, monkeypatch):
    """Include a file beside the first one, from another working directory."""
    (tmp_path / 'part.xacro').write_text(
        '<x xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="part"/></x>'
    )
    main = tmp_path / 'main.xacro'
    main.write_text(
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:include filename="part.xacro"/></robot>'
    )
    monkeypatch.chdir('/')
    assert list(load_description(main).links) == ['part']


@pytest.mark.parametrize(
    'broken',
    [
        XACRO.replace('${0.5 * 3}', '${0.5 *}'),
        XACRO.replace('$(arg mass)', '$(arg weight)'),
        XACRO.replace('<link name="l">', '<xacro:no_such_macro/><link name="l">'),
        XACRO.replace(
            '<link name="l">', '<xacro:include filename="/no/such/file.xacro"/><link name="l">'
        ),
    ],
)
def test_xacro_errors(broken, capfd):
    """Report xacro's errors, and print nothing."""
    with pytest.raises(DescriptionError) as caught:
        load_description(broken)
    assert [finding.code for finding in caught.value.report.errors] == ['xacro']
    assert capfd.readouterr() == ('', '')


def test_expanded_files_are_not_expanded_again(monkeypatch):
    """Load a URDF that kept only the namespace, without xacro installed."""
    monkeypatch.setitem(sys.modules, 'xacro', None)
    text = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="l"/></robot>'
    assert list(load_description(text).links) == ['l']


def test_missing_xacro_names_the_package(monkeypatch):
    """Require the package only for a xacro file."""
    monkeypatch.setitem(sys.modules, 'xacro', None)
    (finding,) = check_description(XACRO).errors
    assert finding.code == 'xacro-missing'
    assert 'pip install xacro' in finding.message


def test_a_description_is_read_without_ros_and_xacro():
    """Import neither xacro nor rclpy for a plain URDF."""
    code = (
        'import sys; from sim_bridge.description import load_description;'
        'load_description(\'<robot name="r"><link name="l"/></robot>\');'
        'assert not {"xacro", "rclpy", "ament_index_python"} & set(sys.modules)'
    )
    subprocess.run([sys.executable, '-c', code], check=True)


def test_numbers_at_the_edge_of_floats_are_no_crash():
    """Judge an inertia with large rounding errors, and accept a tiny rate."""
    inertia = '<inertia ixx="1" iyy="{}" izz="1" ixy="0" ixz="0" iyz="0"/>'
    text = (
        '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>'
        f'{inertia}</inertial></link><joint name="j" type="continuous"><parent link="a"/>'
        '<child link="b"/><axis xyz="0 1 0"/></joint><gazebo reference="b">'
        '<sensor name="s" type="imu"><update_rate>{}</update_rate></sensor></gazebo></robot>'
    )
    codes = [finding.code for finding in check_description(text.format('-1e15', 100)).errors]
    assert codes == ['negative-inertia']
    for rate in ('1e-308', '5e-324'):
        world = World()
        (device,) = world.load_urdf(text.format(1, rate), base='fixed').devices()
        world.step()
        assert 0.0 < device.update_rate < 1e-8


@pytest.mark.parametrize('value', ['abc', 5, ['a'], {5: 6}, (('a', 1),)])
@pytest.mark.parametrize('suffix', ['urdf', 'xacro'])
def test_arguments_of_xacro_are_a_mapping(tmp_path, value, suffix):
    """Name a wrong value, for any kind of file."""
    path = tmp_path / f'robot.{suffix}'
    path.write_text('<robot name="a"><link name="b"/></robot>')
    for call in (load_description, check_description):
        with pytest.raises(InvalidValueError, match=r'xacro_args = .*: expected a mapping'):
            call(path, xacro_args=value)


def test_missing_xacro_arguments_are_named(tmp_path):
    """Use the file's name for the robot's; name any other missing argument and its form."""
    file = tmp_path / 'crane.urdf.xacro'
    head = '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="$(arg name)">'
    file.write_text(f'{head}<link name="base"/></robot>')
    description = load_description(file)
    assert description.name == 'crane'
    (found,) = description.report.findings
    assert "argument 'name' is not given; 'crane' is used" in found.message
    assert load_description(file, xacro_args={'name': 'a'}).name == 'a'
    file.write_text(f'{head}<link name="$(arg side)_base"/></robot>')
    (error,) = check_description(file).errors
    assert 'side:=VALUE' in error.message
