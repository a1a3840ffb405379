"""Test files near the place named by a robot's file."""

from __future__ import annotations

import pytest
from robots import link, robot

from sim_bridge.description import load_description
from sim_bridge.foreign.misplaced import misplaced_file

MESH = (
    '<collision><geometry><mesh filename="file:///home/me/arm/meshes/hand.stl"/></geometry>'
    '</collision></link>'
)
MANIFEST = '<package><name>{}</name></package>'


@pytest.fixture
def repository(tmp_path):
    """Return a repository with the package `arm_description`, a mesh and a robot's folder."""
    package = tmp_path / 'repository' / 'arm'
    for folder in ('meshes', 'urdf/parts'):
        (package / folder).mkdir(parents=True)
    (tmp_path / 'repository' / '.git').mkdir()
    (package / 'package.xml').write_text(MANIFEST.format('arm_description'))
    (package / 'meshes' / 'hand.stl').write_bytes(b'')
    return package


@pytest.mark.parametrize(
    'uri',
    [
        'file:///home/me/ws/install/arm_description/share/arm_description/meshes/hand.stl',
        '/home/me/ws/src/arms/arm_description/meshes/hand.stl',
        'file:///home/me/former%20name/meshes/hand.stl',
        'package://former_name/meshes/hand.stl',
        'package://arm_description/share/meshes/hand.stl',
        './meshes/hand.stl',
        '../meshes/hand.stl',
        'hand.stl/../meshes/hand.stl',
    ],
)
def test_files_near_the_named_place_are_found(repository, uri):
    """Find files of other machines, renamed packages and moved robots' files."""
    found = misplaced_file(uri, repository / 'urdf' / 'parts', [])
    expected = None if '/../' in uri else repository / 'meshes' / 'hand.stl'
    assert found == expected


@pytest.mark.parametrize(
    'uri',
    [
        'package://former_name/hand.stl',
        'file:///home/me/hand.stl',
        'https://example.org/meshes/hand.stl',
        'package://arm_description/../meshes/hand.stl',
        'meshes/foot.stl',
        'meshes/\0hand.stl',
        'package://' + 'a/' * 50 + 'meshes/hand.stl',
        '',
    ],
)
def test_other_files_stay_missing(repository, uri):
    """Take no file by its name alone, and none by a path with parent folders inside."""
    (repository / 'urdf' / 'hand.stl').write_bytes(b'')
    assert misplaced_file(uri, repository / 'urdf', []) is None


def test_files_outside_of_the_package_are_not_taken(repository, tmp_path):
    """Stop at the package, and follow no link out of a folder."""
    (tmp_path / 'meshes').mkdir()
    (tmp_path / 'meshes' / 'foot.stl').write_bytes(b'')
    assert misplaced_file('meshes/foot.stl', repository / 'urdf', []) is None
    (repository / 'meshes' / 'foot.stl').symlink_to(tmp_path / 'meshes' / 'foot.stl')
    assert misplaced_file('meshes/foot.stl', repository / 'urdf', []) is None


def test_a_misplaced_mesh_is_named(repository):
    """Load a robot with a mesh of another machine; name the file taken, and its line."""
    path = repository / 'urdf' / 'r.urdf'
    path.write_text(robot('\n', link('a').replace('</link>', MESH)))
    description = load_description(path)
    mesh = repository / 'meshes' / 'hand.stl'
    assert description.links['a'].collisions[0].path == str(mesh)
    [warning] = [each for each in description.report.warnings if each.code == 'mesh-elsewhere']
    assert warning.line == 2
    assert warning.message == f'no such file; {mesh} is taken'
