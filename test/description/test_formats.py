"""The table of file formats, the choice for a file, and the readers' contract."""

import inspect
import os

import pytest

from sim_bridge.description.formats import (
    BODY,
    format_of,
    FORMATS,
    OPENPLX,
    PROJECT,
    root_name,
    URDF,
    YAML,
)
from sim_bridge.description.reader import robot_reader, RobotReader
from sim_bridge.description.scene.reader import is_world, world_reader, WorldReader


@pytest.mark.parametrize(
    ('name', 'expected'),
    [
        ('robot.urdf', URDF),
        ('robot.urdf.xacro', URDF),
        ('robot.BODY', BODY),
        ('robot.wrl', BODY),
        ('crane.openplx', OPENPLX),
        ('scene.yaml', YAML),
        ('scene.yml', YAML),
        ('project.cnoid', PROJECT),
        ('no_suffix', URDF),
        ('missing.xml', URDF),
        ('bad\0name.xml', URDF),
    ],
)
def test_the_suffix_chooses_the_format(name, expected):
    """Choose by suffix in any case; URDF for unknown and missing files."""
    assert format_of(name) is expected


@pytest.mark.parametrize(
    ('text', 'root'),
    [
        ('<robot name="a"/>', 'robot'),
        ('\ufeff <?xml version="1.0"?>\n<!-- <sdf> --><sdf version="1.9">', 'sdf'),
        ('<!DOCTYPE mujoco><mujoco/>', 'mujoco'),
        ('<!-- never ends <robot>', ''),
        ('<', ''),
        ('', ''),
        ('< robot>', ''),
    ],
)
def test_the_root_element_is_found_behind_comments(text, root):
    """Skip comments, instructions and declarations; find nothing in broken text."""
    assert root_name(text) == root


def test_many_comments_before_the_root_take_no_time():
    """Search hostile text in linear time."""
    assert root_name('<!---->' * 100_000) == ''


@pytest.mark.parametrize('encoding', ['utf-8', 'utf-8-sig', 'utf-16', 'utf-16-le', 'latin-1'])
def test_the_root_element_is_found_in_all_encodings(tmp_path, encoding):
    """Decode the head of the file as its reader does."""
    path = tmp_path / 'robot.xml'
    path.write_bytes('<!-- größer --><robot name="a"/>'.encode(encoding))
    assert format_of(path) is URDF


@pytest.mark.parametrize('chosen', FORMATS, ids=lambda each: each.name)
def test_readers_have_the_functions_of_the_contract(chosen):
    """Compare the signatures with the protocols."""
    pairs = []
    if chosen.robots:
        pairs.append((robot_reader(chosen).read_robot, RobotReader.read_robot))
    # YAML scenes also come from mappings, and with values
    if chosen.worlds and chosen is not YAML:
        pairs.append((world_reader(chosen).read_world, WorldReader.read_world))
    if chosen.worlds and chosen.robots:
        pairs.append((world_reader(chosen).holds_world, WorldReader.holds_world))
    for function, declared in pairs:
        names = list(inspect.signature(declared).parameters)[1:]
        assert list(inspect.signature(function).parameters) == names


def test_suffixes_and_roots_belong_to_one_format_each():
    """Keep the choice unique."""
    suffixes = [suffix for each in FORMATS for suffix in each.suffixes]
    roots = [root for each in FORMATS for root in each.roots]
    assert len(set(suffixes)) == len(suffixes)
    assert len(set(roots)) == len(roots)


@pytest.mark.parametrize(
    ('name', 'expected'),
    [('gallery/dominoes', True), ('a.yaml', True), ('a.cnoid', True), ('a.urdf', False)],
)
def test_worlds_are_told_from_robots(name, expected):
    """Tell worlds from robots by their paths."""
    assert is_world(name) is expected


def test_the_format_of_a_pipe_is_that_of_its_suffix(tmp_path):
    """Wait for no writer."""
    os.mkfifo(tmp_path / 'pipe.xml')
    assert format_of(tmp_path / 'pipe.xml') is URDF
