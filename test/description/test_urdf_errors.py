"""One malformed description per error: each finding has element, name, attribute, value, line."""

from __future__ import annotations

from loop_cases import LOOP_ERRORS
import pytest
from urdf_cases import cases, find, inertial, joint, LIMIT, link, robot
from urdf_error_cases import ERRORS

from sim_bridge.description import check_description, DescriptionError, load_description


@pytest.mark.parametrize(
    ('code', 'lines', 'element', 'name', 'attribute', 'value', 'line'), cases(ERRORS, LOOP_ERRORS)
)
def test_error(code, lines, element, name, attribute, value, line):
    """Refuse a description with one error of this kind, reported once, at its place."""
    with pytest.raises(DescriptionError) as caught:
        load_description(robot(lines), strict=True)
    report = caught.value.report
    assert [found.code for found in report.errors] == [code]
    assert find(report.errors, code) == [(element, name, attribute, value, line)]
    same = {(found.element, found.attribute, found.line) for found in report.errors if found.value}
    assert not same & {(found.element, found.attribute, found.line) for found in report.warnings}
    assert report.errors[0].message in str(caught.value)
    assert check_description(robot(lines)).strict() == report


@pytest.mark.parametrize(
    ('lines', 'part'),
    [
        ({9: '<gazebo><sensor name="s" type="imu"/></gazebo></robot>'}, 'sensor'),
        (
            {
                9: '<gazebo reference="arm"><sensor name="s" type="imu">'
                '<update_rate>x</update_rate></sensor></gazebo></robot>'
            },
            'sensor',
        ),
        (
            {2: link('base', '<collision><geometry><box size="1 1 0"/></geometry></collision>')},
            'collision',
        ),
        (
            {9: '<gazebo><plugin filename="gz-sim-diff-drive-system" name="d"/></gazebo></robot>'},
            'drive',
        ),
        (
            {
                9: '<ros2_control name="c" type="system"><joint name="elbow"><state_interface '
                'name="position"><param name="initial_value">9</param></state_interface></joint>'
                '</ros2_control></robot>'
            },
            'initial value',
        ),
    ],
)
def test_a_defect_beside_the_body_leaves_its_part_out(lines, part):
    """Load the robot without the part, with the line of the defect; refuse it if strict."""
    description = load_description(robot(lines))
    assert list(description.links) == ['base', 'arm']
    assert not description.sensors and not description.drives
    assert not any(each.collisions for each in description.links.values())
    omitted = [found for found in description.report.findings if found.omits]
    assert {found.omits for found in omitted} == {part}
    assert {found.severity for found in omitted} == {'warning'}
    assert {found.line for found in omitted} == set(lines)
    assert f'the {part} is left out' in description.report.to_text()
    with pytest.raises(DescriptionError):
        load_description(robot(lines), strict=True)


def test_all_defects_are_reported_in_one_go():
    """Put many errors into one file and find each of them once, in line order."""
    report = check_description(
        robot(
            {
                2: link('base', inertial('x')),
                3: link('arm', inertial(ixx='1 1')),
                4: '<joint name="elbow" type="hinge">',
                6: LIMIT.replace('"1"', '"one"'),
                7: '<axis xyz="0 0 0 0"/>',
                8: f'</joint>{joint("wrist", child="leg")}',
            }
        )
    )
    assert [(found.code, found.line) for found in report.errors] == [
        ('not-a-number', 2),
        ('wrong-count', 3),
        ('joint-type', 4),
        ('not-a-number', 6),
        ('wrong-count', 7),
        ('unknown-link', 8),
    ]


def test_a_joint_that_cannot_be_read_does_not_make_its_link_a_second_root():
    """Report the cause without its consequences."""
    report = check_description(robot({5: '<parent link="nowhere"/><child link="arm"/>'}))
    assert [found.code for found in report.errors] == ['unknown-link']


def test_lines_are_those_where_tags_start():
    """Write a tag over several lines: its first line counts."""
    report = check_description(robot({7: '<axis\n\n xyz="0 0 0"\n/>'}))
    assert [found.line for found in report.errors] == [7]


def test_names_close_to_the_wrong_one_are_suggested():
    """Misspell a link."""
    report = check_description(robot({5: '<parent link="bse"/><child link="arm"/>'}))
    assert "did you mean 'base'?" in report.errors[0].message


def test_two_rings_are_two_findings():
    """Report each link cycle once, whatever is attached to it."""
    names = ['a', 'b', 'c', 'd', 'tail']
    joints = [('a', 'b'), ('b', 'a'), ('c', 'd'), ('d', 'c'), ('d', 'tail')]
    text = ''.join(link(name) for name in names) + '\n'.join(
        joint(f'{parent}{child}', parent=parent, child=child) for parent, child in joints
    )
    report = check_description(f'<robot name="r">{text}</robot>')
    assert [(found.code, found.line) for found in report.errors] == [('cycle', 1), ('cycle', 3)]


def test_an_entity_bomb_is_refused_at_once():
    """Refuse nested entities before any of them is expanded."""
    entities = ''.join(
        f'<!ENTITY e{number} "{f"&e{number - 1};" * 10 if number else "x" * 10}">'
        for number in range(12)
    )
    text = f'<!DOCTYPE robot [{entities}]><robot name="&e11;"/>'
    assert [found.code for found in check_description(text).errors] == ['doctype']
