"""Test documents for xacro before ROS Melodic, without prefixes."""

from __future__ import annotations

import pytest

from sim_bridge.description import check_description, load_description

ROBOT = """<robot name="old" xmlns:xacro="http://playerstage.sourceforge.net/gazebo/#interface">
{properties}
<xacro:include filename="arm.xacro"/>
<link name="${{root}}"/>
{call}
</robot>"""
PROPERTIES = '<property name="width" value="0.4"/><property name="root" value="base"/>'
CALL = '<arm side="left" x="${width / 2}"/>'
ARM = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
<macro name="arm" params="side x"><hand name="${side}"/>
<joint name="${side}_joint" type="fixed"><origin xyz="${x} ${height} 0"/><parent link="base"/>
<child link="${side}"/></joint></macro>
<property name="height" value="0.5"/>
<macro name="hand" params="name"><link name="${name}"/></macro>
</robot>"""


@pytest.fixture
def file(tmp_path):
    """Return a function writing a robot's file beside the macros; it returns the path."""

    def write(properties, call):
        (tmp_path / 'arm.xacro').write_text(ARM)
        path = tmp_path / 'r.urdf.xacro'
        path.write_text(ROBOT.format(properties=properties, call=call))
        return path

    return write


def test_elements_without_prefix_are_read(file):
    """Read properties, macros and calls, also of an included file; tell so in a warning."""
    description = load_description(file(PROPERTIES, CALL))
    assert list(description.links) == ['base', 'left']
    assert list(description.joints['left_joint'].origin.position) == [0.2, 0.5, 0.0]
    assert any('before ROS Melodic' in each.message for each in description.report.warnings)


def test_documents_that_expand_stay_as_they_are(tmp_path):
    """Leave elements without prefix alone where nothing needs them."""
    path = tmp_path / 'r.urdf.xacro'
    path.write_text('<robot name="r"><link name="a"/><property name="b" value="1"/></robot>')
    report = check_description(path)
    assert [each.element for each in report.warnings if each.code == 'unknown-tag'] == ['property']
    assert not any('before ROS Melodic' in each.message for each in report.findings)


def test_missing_names_are_still_named(file):
    """Name a property missing in all documents."""
    [error] = check_description(file('', CALL)).errors
    assert "'root' is not defined" in error.message
