"""Files accepted by Gazebo's XML parser although they are not XML 1.0."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from sim_bridge.description import check_description, load_description

BODY = (
    '<robot name="r">\n<link name="l"/>\n<link name="m" color="red"/>\n'
    '<joint name="j" type="fixed"><parent link="l"/><child link="m"/></joint>\n</robot>'
)


@pytest.mark.parametrize(
    'text',
    [
        f'<?xml version="1.0"?>\n<!-- run: create --name r --->\n{BODY}',
        f'\n\n  <?xml version="1.0" encoding="utf-8"?>{BODY}',
        f'<!-- ours -->\n\n<!-- -- -->\n<?xml version="1.0"?>\n{BODY}',
        f'<?xml version="1.0"?>\n<!-- R&D --->\n{BODY}',
        f'<!-- -- -->{BODY}'.replace('<link name="l"/>', '<gz:note a:b="1">salt & oil</gz:note>'),
    ],
)
def test_what_gazebo_accepts_is_read_with_right_lines(tmp_path, text):
    """Name the line of an unknown attribute as an editor shows it, and pass on valid XML."""
    if 'gz:note' in text:
        text = text.replace('<link name="m"', '<link name="l"/>\n<link name="m"')
    file = tmp_path / 'r.urdf'
    file.write_text(text)
    description = load_description(file)
    (line,) = (
        finding.line for finding in description.report.findings if finding.attribute == 'color'
    )
    assert 'color=' in text.splitlines()[line - 1]
    root = ElementTree.fromstring(description.xml)
    assert [link.get('name') for link in root.iter('link')] == ['l', 'm']
    assert len(description.xml.splitlines()) == len(text.splitlines())


def test_a_lone_ampersand_keeps_its_text():
    """Read an ampersand without an entity as a character, and entities as before."""
    text = '<robot name="salt & oil &lt;3 &amp; more"><link name="l"/></robot>'
    assert load_description(text).name == 'salt & oil <3 & more'


def test_sections_of_plain_text_stay_unchanged():
    """Leave comment marks and ampersands in a CDATA section alone."""
    note = '<gazebo><plugin name="p"><a><![CDATA[<!-- -- & -->]]></a></plugin></gazebo>'
    xml = load_description(f'<robot name="r"><link name="l"/>{note}</robot>').xml
    assert ElementTree.fromstring(xml).findtext('gazebo/plugin/a') == '<!-- -- & -->'


def test_prefixes_declared_inside_stay_as_they_are():
    """Add no declaration of a declared prefix."""
    inner = '<gazebo xmlns:a="urn:a"><a:b/></gazebo>'
    text = f'<robot name="r"><link name="l"/>{inner}</robot>'
    assert load_description(text).xml == text


def test_other_defects_of_xml_are_still_refused():
    """Refuse an open comment and an open element, with their lines."""
    for text, line in (('<robot name="r">\n<!-- --', 2), ('<robot name="r">\n<link>\n', 3)):
        (finding,) = check_description(text).errors
        assert (finding.code, finding.line) == ('xml', line)


def test_elements_beside_the_robot_are_left_out():
    """Ignore empty elements before and after the robot, with a warning; the lines stay."""
    text = (
        '<?xml version="1.0"?>\n<xacro:property name="n" value="1"/>\n<!-- <robot> -->\n'
        '<robot name="a">\n<link name="b"/>\n<link name="b"/></robot>\n<other/>\n'
    )
    report = check_description(text)
    assert 'other-roots' in {each.code for each in report.findings}
    (error,) = report.errors
    assert (error.code, error.line) == ('duplicate-name', 6)
    # the time grows with the length only, however many ways there are to read the comments
    assert not check_description('<robot name="a"></robot>' + '<!-- a -->' * 3000 + '<b>').ok
    assert not check_description('<!-- a -->' * 3000 + '<a><robot name="b"/></a>').ok
