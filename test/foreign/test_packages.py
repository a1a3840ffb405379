"""Files belonging to a package: none behind an absolute path or a link leading out."""

from __future__ import annotations

import pytest

from sim_bridge.description import resolve_uri
from sim_bridge.description.resources import explain_unresolved


@pytest.fixture
def package(tmp_path):
    """Return the folder of a package `bot`, with a file outside beside it."""
    folder = tmp_path / 'share' / 'bot'
    folder.mkdir(parents=True)
    (tmp_path / 'secret.stl').write_text('solid')
    return folder


@pytest.mark.parametrize(
    'uri',
    [
        'package://bot/{0}/secret.stl',
        'package://bot/{0}/../secret.stl',
        'model://bot/{0}/secret.stl',
        'package://bot/../../secret.stl',
    ],
)
def test_paths_that_lead_out_are_refused(package, tmp_path, uri):
    """Refuse a path that is absolute inside the package, or leads upwards."""
    uri = uri.format(tmp_path)
    assert resolve_uri(uri, package_paths=[package]) is None
    assert "leads out of package 'bot'" in explain_unresolved(uri, package_paths=[package])


@pytest.mark.parametrize('target', ['../../secret.stl', '{0}/secret.stl'])
def test_links_that_lead_out_are_refused(package, tmp_path, target):
    """Refuse a link to files of no package, also in a linked folder."""
    (package / 'a.stl').symlink_to(target.format(tmp_path))
    (package / 'meshes').symlink_to(tmp_path)
    for uri in ('package://bot/a.stl', 'package://bot/meshes/secret.stl'):
        assert resolve_uri(uri, package_paths=[package]) is None
        assert 'is a symbolic link that leads out of package' in explain_unresolved(
            uri, package_paths=[package]
        )


def test_links_into_the_same_package_are_followed(package, tmp_path):
    """Follow an installation's links to the package's source and build folders."""
    source, build = tmp_path / 'src' / 'any_name', tmp_path / 'build' / 'bot'
    for folder in (source, build):
        folder.mkdir(parents=True)
        (folder / 'mesh.stl').write_text('solid')
    (source / 'package.xml').write_text('<package><name>bot</name></package>')
    (package / 'source.stl').symlink_to(source / 'mesh.stl')
    (package / 'build.stl').symlink_to(build / 'mesh.stl')
    (package / 'inside.stl').symlink_to(package / 'source.stl')

    def is_found(name):
        return resolve_uri(f'package://bot/{name}.stl', package_paths=[package]) is not None

    assert is_found('source')
    assert is_found('inside')
    assert not is_found('build')
    (build.parent / 'COLCON_IGNORE').touch()
    assert is_found('build')
    (source / 'package.xml').write_text('<package><name>other</name></package>')
    assert not is_found('source')
