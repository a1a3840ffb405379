"""xacro files running code, revealing secrets or looking for packages."""

from __future__ import annotations

import pytest

from sim_bridge.description import check_description, load_description

XACRO = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{}<link name="l"/></robot>'

# expressions leading to all Python classes: each one passes xacro's own name filter
REACHING = [
    '${[c for c in [().__class__.__base__]][0]}',
    '${(lambda: ().__class__)()}',
    '$(eval [c.__class__ for c in [1]])',
    '${[x.gi_frame.f_back.f_builtins for x in [(y for y in [1])]]}',
    '$(eval (lambda g: g.gi_frame.f_back)[0])',
    "${python.vars(python.type(''))}",
    "${python.type('').mro()}",
    "${python.type('T', (), dict())}",
]


def said(content: str, source=None, **options: object) -> str:
    """Return the reason for refusing a xacro text."""
    report = check_description(source or XACRO.format(content), **options)
    assert [finding.code for finding in report.errors] == ['xacro'], report.to_text()
    return report.errors[0].message


@pytest.mark.parametrize('expression', REACHING)
def test_expressions_reach_no_object_of_python(expression):
    """Refuse paths from a value to Python's classes, frames and functions."""
    assert 'cannot be expanded' in said(f'<link name="{expression}"/>')


@pytest.mark.parametrize('expression', REACHING[:2])
def test_nested_expressions_are_searched(expression):
    """Name the refused part inside a comprehension and a lambda."""
    assert "invalid name '__" in said(f'<link name="{expression}"/>')


def test_expressions_of_robots_still_work():
    """Permit formats, comprehensions, dictionaries, names with underscores."""
    content = (
        '<xacro:property name="d" value="${dict(f_max=2, _x=3)}"/>'
        '<xacro:property name="n" value="${[a * 2 for a in range(4) if a]}"/>'
        '<xacro:property name="two" value="{:02d}"/>'
        '<link name="${two.format(n[1])}${len(n)}__${d[\'_x\']}"/>'
        '<joint name="${\'a__b\' + \'c\'}" type="fixed"><parent link="l"/>'
        '<child link="043__3"/></joint>'
    )
    assert set(load_description(XACRO.format(content)).joints) == {'a__bc'}


def test_the_environment_is_not_revealed(monkeypatch):
    """Omit environment values from errors and warnings."""
    monkeypatch.setenv('SOME_KEY', 'hunter2secret')
    content = (
        '<xacro:property name="a" value="${xacro.warning(\'have $(optenv SOME_KEY)\')}"/>'
        '<link name="${a}${int(\'$(env SOME_KEY)\')}"/>'
    )
    report = check_description(XACRO.format(content))
    assert 'invalid literal' in report.to_text()
    assert 'hunter2' not in report.to_text()


def test_files_are_not_revealed(tmp_path):
    """Read YAML files only, and quote nothing from other files."""
    (tmp_path / 'secrets').write_text('a: hunter2secret')
    (tmp_path / 'link.yaml').symlink_to(tmp_path / 'secrets')
    (tmp_path / 'broken.yaml').write_text('a: 1\nhunter2secret: [1, "')
    for name, reason in (
        ('secrets', 'reads .yaml'),
        ('link.yaml', 'reads .yaml'),
        ('broken.yaml', 'is not YAML'),
        ('/proc/self/environ', 'reads .yaml|regular|cannot be expanded'),
    ):
        path = tmp_path / name
        message = said(f'<link name="${{xacro.load_yaml(\'{path}\')}}"/>')
        assert any(word in message for word in reason.split('|')), message
        assert 'hunter2' not in message


def test_yaml_of_robots_is_read(tmp_path):
    """Read a robot's own YAML, with units."""
    (tmp_path / 'sizes.yaml').write_text('arm: {name: elbow, angle: !degrees 180}')
    content = (
        f'<xacro:property name="y" value="${{xacro.load_yaml(\'{tmp_path}/sizes.yaml\')}}"/>'
        '<link name="${y.arm.name}${int(y.arm.angle)}"/>'
        '<joint name="j" type="fixed"><parent link="l"/><child link="elbow3"/></joint>'
    )
    assert 'elbow3' in load_description(XACRO.format(content)).links


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return a package `bot` whose robot includes files from itself and from `parts`."""
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    for name, folder in (('bot', 'one'), ('parts', 'two')):
        (tmp_path / folder / name / 'urdf').mkdir(parents=True)
    part = '<x xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="{}"/>{}</x>'
    joint = '<joint name="j{0}" type="fixed"><parent link="l"/><child link="{0}"/></joint>'
    (tmp_path / 'one/bot/urdf/near.xacro').write_text(part.format('near', joint.format('near')))
    (tmp_path / 'two/parts/urdf/far.xacro').write_text(
        part.format(
            'far', f'{joint.format("far")}<xacro:include filename="$(dirname)/deep.xacro"/>'
        )
    )
    (tmp_path / 'two/parts/urdf/deep.xacro').write_text(part.format('deep', joint.format('deep')))
    robot = tmp_path / 'one/bot/urdf/bot.xacro'
    robot.write_text(
        XACRO.format(
            '<xacro:include filename="$(dirname)/near.xacro"/>'
            '<xacro:include filename="$(find parts)/urdf/far.xacro"/>'
        )
    )
    return robot


def test_packages_are_found_without_ros(package, tmp_path):
    """Find a package by a package path, and the folder of the requesting file."""
    description = load_description(package, package_paths=[tmp_path / 'two'])
    assert set(description.links) == {'l', 'near', 'far', 'deep'}
    message = said('', source=package)
    assert message.count("package 'parts' is not found; name its folder with a package path") == 1


def test_a_text_has_no_folder():
    """Report that a text has no file."""
    assert 'comes from no file' in said('<link name="$(dirname)"/>')
