"""One malformed loop joint or crawler per defect: each finding names where it is."""

from __future__ import annotations

from loop_cases import loop, LOOP_ERRORS, LOOP_WARNINGS
import pytest
from urdf_cases import cases, find, robot

from sim_bridge.description import check_description, DescriptionError, load_description


@pytest.mark.parametrize(
    ('code', 'lines', 'element', 'name', 'attribute', 'value', 'line'), cases(LOOP_ERRORS)
)
def test_error(code, lines, element, name, attribute, value, line):
    """Refuse a description with one defect, reported once, where it is."""
    with pytest.raises(DescriptionError) as caught:
        load_description(robot(lines))
    assert find(caught.value.report.errors, code) == [(element, name, attribute, value, line)]
    assert len(caught.value.report.errors) == 1


@pytest.mark.parametrize(
    ('code', 'lines', 'element', 'name', 'attribute', 'value', 'line'), cases(LOOP_WARNINGS)
)
def test_warning(code, lines, element, name, attribute, value, line):
    """Load a description with a defect one can live with, reported once, where it is."""
    report = load_description(robot(lines)).report
    assert find(report.warnings, code) == [(element, name, attribute, value, line)]


def test_defects_of_the_tree_and_of_a_loop_come_to_light_together():
    """Report an unknown link of a loop beside links that hang together in no tree."""
    lines = {5: '<parent link="base"/><child link="x"/>'}
    report = check_description(robot(lines | loop(link2='<link2 name="leg"/>')))
    assert [finding.value for finding in report.errors] == ['x', 'leg']


def test_messages_name_alternatives():
    """Say which link may have been meant, and which types there are."""
    (finding,) = check_description(robot(loop(link2='<link2 name="amr"/>'))).errors
    assert finding.message == "no link has this name; did you mean 'arm'?"
    (finding,) = check_description(robot(loop('bolt'))).errors
    assert finding.message == (
        'unknown; the types are ball, hinge, slider, universal, hinge2, fixed, piston, planar, '
        'distance')


def test_a_tree_joint_that_closes_a_loop_is_told_where_to_go():
    """Point from a link with two parents to the element that closes loops."""
    second = ('<joint name="again" type="fixed"><parent link="base"/><child link="arm"/></joint>')
    (finding,) = check_description(robot({9: f'{second}</robot>'})).errors
    assert finding.code == 'two-parents'
    assert '<sim_bridge>' in finding.message
