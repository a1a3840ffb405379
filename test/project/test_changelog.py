"""Changelog fragments: read by `changes/collect.py`, written for catkin_pkg."""

from pathlib import Path
import runpy

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
CHANGELOG = """^^^^
Changelog
^^^^

0.2.0 (2026-11-29)
------------------
* Added:

  * Robots.
"""


@pytest.fixture
def collect():
    """Return the functions of the script by name."""
    return runpy.run_path(str(REPOSITORY / 'changes' / 'collect.py'))


def test_all_fragments_are_valid(collect):
    """Read every fragment: a known group and one paragraph."""
    collect['read_fragments'](REPOSITORY / 'changes')


def test_fragments_become_a_section_above_the_newest(collect, tmp_path):
    """Group the lines, join wrapped ones, and keep older sections."""
    (tmp_path / 'gps.added.rst').write_text('Sensor ``gps``\n  with noise.\n')
    (tmp_path / 'arm.fixed.rst').write_text('The arm stops.\n')
    lines = collect['read_fragments'](tmp_path)
    text = collect['insert'](CHANGELOG, collect['section']('0.3.0', '2026-12-24', lines))
    assert text.index('0.3.0 (2026-12-24)\n------------------\n* Added:') < text.index('0.2.0')
    assert '\n  * Sensor ``gps`` with noise.\n* Fixed:\n\n  * The arm stops.\n' in text
    assert text.endswith('* Added:\n\n  * Robots.\n')


@pytest.mark.parametrize(
    ('name', 'text', 'message'),
    [
        ('gps.new.rst', 'A sensor.', "group 'new'; the groups are added, changed, faster"),
        ('gps.added.rst', 'One.\n\nTwo.', 'expected one paragraph'),
        ('gps.added.rst', ' \n', 'expected one paragraph'),
    ],
)
def test_wrong_fragments_are_refused_by_name(collect, tmp_path, name, text, message):
    """Name the file and the defect."""
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=f'^{name}: {message}'):
        collect['read_fragments'](tmp_path)


def test_the_changelog_has_the_version_of_the_package():
    """Describe the version in package.xml."""
    version = (REPOSITORY / 'package.xml').read_text().split('<version>')[1].split('<')[0]
    assert f'\n{version} (' in (REPOSITORY / 'CHANGELOG.rst').read_text()


@pytest.mark.parametrize('arguments', [[], ['--help'], ['0.3'], ['0.3.0', '0.4.0']])
def test_only_a_version_releases(collect, arguments):
    """Change nothing without a version."""
    with pytest.raises(SystemExit, match='usage: python changes/collect.py VERSION'):
        collect['main'](arguments)
