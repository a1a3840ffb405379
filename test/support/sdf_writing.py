"""SDF written from URDF files, element by element, for comparisons."""

from __future__ import annotations

import xml.etree.ElementTree as ET


def sdf_of_urdf(text: str) -> str:
    """
    Return an SDF model with a URDF's links and joints.

    Each link's pose is relative to its joint, so no pose is computed here.
    """
    robot = ET.fromstring(text)
    sdf = ET.Element('sdf', version='1.11')
    model = ET.SubElement(sdf, 'model', name=robot.get('name'))
    carried = {joint.find('child').get('link'): joint for joint in robot.findall('joint')}
    for link in robot.findall('link'):
        if link.get('name') != 'world':
            _link(model, link, carried.get(link.get('name')))
    for joint in robot.findall('joint'):
        _joint(model, joint)
    return ET.tostring(sdf, encoding='unicode')


def _link(model, link, joint):
    element = ET.SubElement(model, 'link', name=link.get('name'))
    if joint is not None:
        _pose(element, joint.find('origin'), joint.find('parent').get('link'))
    inertial = link.find('inertial')
    if inertial is None:
        inertial = ET.fromstring(
            '<inertial><mass value="0"/><inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/>'
            '</inertial>'
        )
    own = ET.SubElement(element, 'inertial')
    _pose(own, inertial.find('origin'))
    ET.SubElement(own, 'mass').text = inertial.find('mass').get('value')
    moments = ET.SubElement(own, 'inertia')
    for name, value in inertial.find('inertia').attrib.items():
        ET.SubElement(moments, name).text = value
    for number, shape in enumerate(link.findall('collision')):
        collision = ET.SubElement(element, 'collision', name=f'c{number}')
        _pose(collision, shape.find('origin'))
        geometry = ET.SubElement(collision, 'geometry')
        kind = shape.find('geometry')[0]
        inner = ET.SubElement(geometry, kind.tag)
        for name, value in kind.attrib.items():
            ET.SubElement(inner, 'uri' if name == 'filename' else name).text = value


def _joint(model, joint):
    kind = joint.get('type')
    if kind == 'floating':
        return
    element = ET.SubElement(model, 'joint', name=joint.get('name'), type=kind)
    for end in ('parent', 'child'):
        ET.SubElement(element, end).text = joint.find(end).get('link')
    if kind == 'fixed':
        return
    axis = ET.SubElement(element, 'axis')
    given = joint.find('axis')
    ET.SubElement(axis, 'xyz').text = '1 0 0' if given is None else given.get('xyz')
    for tag in ('limit', 'dynamics'):
        inner = joint.find(tag)
        if inner is not None:
            own = ET.SubElement(axis, tag)
            for name, value in inner.attrib.items():
                if name != 'armature':
                    ET.SubElement(own, name).text = value
    mimic = joint.find('mimic')
    if mimic is not None:
        own = ET.SubElement(axis, 'mimic', joint=mimic.get('joint'))
        for name in ('multiplier', 'offset'):
            if mimic.get(name):
                ET.SubElement(own, name).text = mimic.get(name)


def _pose(element, origin, relative_to=''):
    values = ['0 0 0', '0 0 0']
    if origin is not None:
        values = [origin.get('xyz', values[0]), origin.get('rpy', values[1])]
    pose = ET.SubElement(element, 'pose')
    pose.text = ' '.join(values)
    if relative_to and relative_to != 'world':
        pose.set('relative_to', relative_to)
