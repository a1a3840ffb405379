"""Packages found by package.xml, as colcon finds them."""

from __future__ import annotations

import pytest

from sim_bridge.description import load_description
from sim_bridge.description.resources import resolve_uri
from sim_bridge.foreign import workspaces
from sim_bridge.foreign.packages import find_package

MANIFEST = '<package format="3"><name>{}</name><version>0.0.1</version></package>'


def package(folder, name, mesh='m.stl'):
    """Make a package in a folder, with a file in it."""
    folder.mkdir(parents=True)
    (folder / 'package.xml').write_text(MANIFEST.format(name))
    (folder / mesh).write_text('solid')
    return folder


def test_packages_are_found_at_any_depth_by_their_manifest(tmp_path):
    """Find a package whose folder has another name, below a package path."""
    folder = package(tmp_path / 'ws' / 'src' / 'repo' / 'deep' / 'Folder', 'arm_description')
    assert find_package('arm_description', None, [tmp_path]) == folder
    found = resolve_uri('package://arm_description/m.stl', package_paths=[tmp_path])
    assert found == folder / 'm.stl'
    assert find_package('Folder_description', None, [tmp_path]) is None


@pytest.mark.parametrize('variable', ['ROS_PACKAGE_PATH', 'GAZEBO_MODEL_PATH'])
def test_paths_of_the_environment_are_searched_at_any_depth(tmp_path, monkeypatch, variable):
    """Search the folders in environment variables as rospack does."""
    folder = package(tmp_path / 'a' / 'b', 'hand')
    monkeypatch.setenv(variable, str(tmp_path))
    assert find_package('hand', None, []) == folder


@pytest.mark.parametrize('mark', ['src', '.git'])
def test_the_workspace_of_a_file_is_searched(tmp_path, mark):
    """Find a package in another repository of the same workspace, without any setting."""
    root = tmp_path / 'src' if mark == 'src' else tmp_path
    (tmp_path / mark).mkdir()
    other = package(root / 'one' / 'Other', 'other')
    own = package(root / 'two' / 'Own', 'own')
    assert find_package('other', own / 'urdf', []) == other
    assert find_package('own', own / 'urdf', []) == own


def test_ignored_folders_and_folders_in_packages_hold_no_packages(tmp_path):
    """Skip folders with an ignore mark, hidden ones, builds, and the inside of packages."""
    outer = package(tmp_path / 'outer', 'outer')
    package(outer / 'inner', 'inner')
    (package(tmp_path / 'left' / 'out', 'ignored').parent / 'COLCON_IGNORE').touch()
    package(tmp_path / '.cache' / 'x', 'hidden')
    package(tmp_path / 'build' / 'x', 'built')
    assert set(workspaces.packages_below(tmp_path)) == {'outer'}


def test_new_packages_are_found_and_loops_of_links_end(tmp_path):
    """Search again after a folder has changed; follow links to folders once."""
    (tmp_path / 'src').mkdir()
    (tmp_path / 'src' / 'loop').symlink_to(tmp_path)
    assert find_package('late', None, [tmp_path]) is None
    folder = package(tmp_path / 'src' / 'x', 'late')
    found = find_package('late', None, [tmp_path])
    assert found is not None and found.samefile(folder)


def test_the_number_of_searched_folders_is_limited(tmp_path, monkeypatch):
    """Leave out the deepest folders of an enormous tree."""
    package(tmp_path / 'a', 'near')
    package(tmp_path / 'b' / 'c' / 'd', 'far')
    monkeypatch.setattr(workspaces, 'MOST_FOLDERS', 3)
    assert set(workspaces.packages_below(tmp_path)) == {'near'}


def test_xacro_finds_packages_of_other_repositories(tmp_path):
    """Expand $(find …) of a package in another repository of the workspace."""
    xacro = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
    part = package(tmp_path / 'src' / 'a' / 'Part', 'part_description')
    (part / 'part.xacro').write_text(f'<robot {xacro}><link name="base"/></robot>')
    whole = package(tmp_path / 'src' / 'b' / 'Whole', 'whole_description')
    file = whole / 'r.urdf.xacro'
    file.write_text(
        f'<robot name="r" {xacro}>'
        '<xacro:include filename="$(find part_description)/part.xacro"/></robot>'
    )
    assert list(load_description(file).links) == ['base']


def test_a_package_of_python_modules_is_not_its_inner_folder(tmp_path):
    """Find the folder with package.xml, although a folder inside has the package's name."""
    folder = package(tmp_path / 'bot_description', 'bot_description')
    (folder / 'bot_description').mkdir()
    (folder / 'urdf').mkdir()
    assert find_package('bot_description', folder / 'urdf', []) == folder


def test_installed_paths_are_found_in_the_sources(tmp_path):
    """Find a file whose folder loses its parent when the package is installed, if unique."""
    folder = package(tmp_path / 'src' / 'example', 'demo')
    (folder / 'description' / 'urdf').mkdir(parents=True)
    (folder / 'description' / 'urdf' / 'part.xacro').write_text('<robot><link name="a"/></robot>')
    file = folder / 'description' / 'r.urdf.xacro'
    file.write_text(
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:include filename="$(find demo)/urdf/part.xacro"/></robot>'
    )
    assert list(load_description(file).links) == ['a']
    found = resolve_uri('package://demo/urdf/part.xacro', package_paths=[tmp_path])
    assert found == folder / 'description' / 'urdf' / 'part.xacro'
    (folder / 'other' / 'urdf').mkdir(parents=True)
    (folder / 'other' / 'urdf' / 'part.xacro').touch()
    assert resolve_uri('package://demo/urdf/part.xacro', package_paths=[tmp_path]) is None
