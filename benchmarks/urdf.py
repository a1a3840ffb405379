"""
URDF to `Mechanism` and back, so that every engine gets exactly the same masses and axes.

Reading merges links connected by fixed joints. It keeps only masses, joints and, on request,
collision shapes; it drops meshes, limits, friction, damping and mimic. Writing gives the same as
URDF.
"""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from benchmarks.mechanism import Body, FREE, Mechanism, PRISMATIC, REVOLUTE, rotation_about
from benchmarks.shapes import Box, Cylinder, Placed, Sphere

_X, _Y, _Z = np.eye(3)
# limits for a joint without limits: wide, because URDF requires them, and finite for the parsers
_FAR = {REVOLUTE: '1e6', PRISMATIC: '1e4'}


def example_robot(path: str) -> Path:
    """Find a URDF in the PyPI package example-robot-data by its path below `robots/`."""
    wheel = metadata.distribution('example-robot-data')
    return Path(wheel.locate_file('cmeel.prefix/share/example-robot-data/robots')) / path


def read_urdf(
    path: Path, name: str = '', *, free_root: bool = False, shapes: bool = False
) -> Mechanism:
    """
    Read a URDF file's tree.

    free_root: let the root link fly; otherwise it belongs to the ground, with all links fixed to
    it. shapes: read the collision shapes too. Raises ValueError for joints other than fixed,
    revolute, continuous or prismatic, and for shapes other than box, sphere or cylinder.
    """
    robot = ElementTree.parse(path).getroot()
    links = {link.get('name'): link for link in robot.findall('link')}
    if not shapes:
        for link in links.values():
            for collision in link.findall('collision'):
                link.remove(collision)
    joints = robot.findall('joint')
    children: dict[str, list[ElementTree.Element]] = {link: [] for link in links}
    for joint in joints:
        children[joint.find('parent').get('link')].append(joint)
    carried = {joint.find('child').get('link') for joint in joints}
    (root,) = (link for link in links if link not in carried)

    bodies: list[Body] = []
    if free_root:
        _grow(bodies, links, children, root, {'joint_name': 'root', 'parent': -1, 'joint': FREE})
    else:
        for joint, position, rotation in _merge(links, children, root)[2]:
            _grow(
                bodies,
                links,
                children,
                joint.find('child').get('link'),
                _read_joint(joint, -1, position, rotation),
            )
    return Mechanism(name=name or path.stem, bodies=tuple(bodies))


def write_urdf(mechanism: Mechanism) -> str:
    """Write the bare tree and its closures; the ground is the link `world`."""
    robot = ElementTree.Element('robot', name=mechanism.name)
    if not mechanism.is_free:
        ElementTree.SubElement(robot, 'link', name='world')
    for body in mechanism.bodies:
        link = ElementTree.SubElement(robot, 'link', name=body.name)
        inertial = ElementTree.SubElement(link, 'inertial')
        ElementTree.SubElement(inertial, 'origin', xyz=_text(body.com))
        ElementTree.SubElement(inertial, 'mass', value=repr(float(body.mass)))
        i = body.inertia
        ElementTree.SubElement(
            inertial,
            'inertia',
            {
                'ixx': repr(float(i[0, 0])),
                'ixy': repr(float(i[0, 1])),
                'ixz': repr(float(i[0, 2])),
                'iyy': repr(float(i[1, 1])),
                'iyz': repr(float(i[1, 2])),
                'izz': repr(float(i[2, 2])),
            },
        )
        for placed in body.shapes:
            _write_collision(link, placed)
    for body in mechanism.bodies:
        if body.joint == FREE:
            continue
        parent = 'world' if body.parent < 0 else mechanism.bodies[body.parent].name
        joint = ElementTree.SubElement(robot, 'joint', name=body.joint_name, type=body.joint)
        ElementTree.SubElement(joint, 'parent', link=parent)
        ElementTree.SubElement(joint, 'child', link=body.name)
        ElementTree.SubElement(
            joint, 'origin', xyz=_text(body.position), rpy=_text(_rpy_from(body.rotation))
        )
        ElementTree.SubElement(joint, 'axis', xyz=_text(body.axis))
        far = _FAR[body.joint]
        ElementTree.SubElement(
            joint, 'limit', lower=f'-{far}', upper=far, effort='1e6', velocity='1e6'
        )
    _write_closures(robot, mechanism)
    ElementTree.indent(robot)
    return ElementTree.tostring(robot, encoding='unicode')


def _write_closures(robot, mechanism):
    """Add the element for loop-closing joints."""
    if not mechanism.closures:
        return
    extension = ElementTree.SubElement(robot, 'sim_bridge')
    for number, closure in enumerate(mechanism.closures):
        joint = ElementTree.SubElement(
            extension,
            'joint',
            name=f'closure_{number}',
            type='ball' if closure.axis is None else 'hinge',
        )
        for end, body, position in (
            ('link1', closure.first, closure.position),
            ('link2', closure.second, closure.position2),
        ):
            ElementTree.SubElement(
                joint, end, name=mechanism.bodies[body].name, xyz=_text(position)
            )
        if closure.axis is not None:
            ElementTree.SubElement(joint, 'axis', xyz=_text(closure.axis))


def _write_collision(link, placed):
    collision = ElementTree.SubElement(link, 'collision')
    ElementTree.SubElement(
        collision, 'origin', xyz=_text(placed.position), rpy=_text(_rpy_from(placed.rotation))
    )
    geometry = ElementTree.SubElement(collision, 'geometry')
    shape = placed.shape
    if isinstance(shape, Box):
        ElementTree.SubElement(geometry, 'box', size=_text(shape.size))
    else:
        ElementTree.SubElement(
            geometry,
            type(shape).__name__.lower(),
            {key: repr(float(value)) for key, value in vars(shape).items()},
        )


def _grow(bodies, links, children, link, joint):
    """Append the body of `link`, carried by `joint`, and all bodies below it."""
    index = len(bodies)
    parts, shapes, below = _merge(links, children, link)
    mass, com, inertia = _combine(parts)
    bodies.append(
        Body(
            name=link,
            mass=mass,
            com=com,
            inertia=inertia,
            shapes=tuple(_read_collision(*shape) for shape in shapes),
            **joint,
        )
    )
    for element, position, rotation in below:
        _grow(
            bodies,
            links,
            children,
            element.find('child').get('link'),
            _read_joint(element, index, position, rotation),
        )


def _merge(links, children, link):
    """Collect all inertials, collisions and movable joints on links fixed to `link`."""
    parts, shapes, below = [], [], []
    open_links = [(link, np.zeros(3), np.eye(3))]
    while open_links:
        name, position, rotation = open_links.pop(0)
        inertial = links[name].find('inertial')
        if inertial is not None:
            parts.append(_read_inertial(inertial, position, rotation))
        shapes += [
            (collision, position, rotation) for collision in links[name].findall('collision')
        ]
        for joint in children[name]:
            p, r = _read_origin(joint)
            place = position + rotation @ p, rotation @ r
            if joint.get('type') == 'fixed':
                open_links.append((joint.find('child').get('link'), *place))
            else:
                below.append((joint, *place))
    return parts, shapes, below


def _combine(parts):
    """Sum (mass, centre, inertia about it) over rigidly connected parts."""
    mass = sum(m for m, _, _ in parts)
    if mass == 0.0:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    com = sum(m * c for m, c, _ in parts) / mass
    inertia = np.zeros((3, 3))
    for m, c, i in parts:
        d = c - com
        inertia += i + m * (d @ d * np.eye(3) - np.outer(d, d))
    return mass, com, inertia


def _read_joint(element, parent, position, rotation):
    kind = {'revolute': REVOLUTE, 'continuous': REVOLUTE, 'prismatic': PRISMATIC}.get(
        element.get('type')
    )
    if kind is None:
        raise ValueError(
            f'joint {element.get("name")!r} is {element.get("type")!r}: '
            'expected fixed, revolute, continuous or prismatic'
        )
    axis = element.find('axis')
    axis = _X if axis is None else _numbers(axis.get('xyz'))
    return {
        'joint_name': element.get('name'),
        'parent': parent,
        'joint': kind,
        'position': position,
        'rotation': rotation,
        'axis': axis / np.linalg.norm(axis),
    }


def _read_collision(element, position, rotation):
    p, r = _read_origin(element)
    (shape,) = element.find('geometry')
    if shape.tag == 'box':
        kind = Box(tuple(_numbers(shape.get('size'))))
    elif shape.tag == 'sphere':
        kind = Sphere(float(shape.get('radius')))
    elif shape.tag == 'cylinder':
        kind = Cylinder(float(shape.get('radius')), float(shape.get('length')))
    else:
        raise ValueError(f'collision shape {shape.tag!r}: expected box, sphere or cylinder')
    return Placed(kind, position + rotation @ p, rotation @ r)


def _read_inertial(element, position, rotation):
    p, r = _read_origin(element)
    r = rotation @ r
    i = {key: float(value) for key, value in element.find('inertia').attrib.items()}
    inertia = np.array(
        [
            [i['ixx'], i['ixy'], i['ixz']],
            [i['ixy'], i['iyy'], i['iyz']],
            [i['ixz'], i['iyz'], i['izz']],
        ]
    )
    return float(element.find('mass').get('value')), position + rotation @ p, r @ inertia @ r.T


def _read_origin(element):
    origin = element.find('origin')
    if origin is None:
        return np.zeros(3), np.eye(3)
    roll, pitch, yaw = _numbers(origin.get('rpy', '0 0 0'))
    rotation = rotation_about(_Z, yaw) @ rotation_about(_Y, pitch) @ rotation_about(_X, roll)
    return _numbers(origin.get('xyz', '0 0 0')), rotation


def _rpy_from(rotation):
    if abs(rotation[2, 0]) > 1.0 - 1e-12:  # pitch is +-90 deg: only yaw - or + roll is defined
        pitch = np.copysign(np.pi / 2, -rotation[2, 0])
        return np.array([0.0, pitch, np.arctan2(-rotation[0, 1], rotation[1, 1])])
    return np.array(
        [
            np.arctan2(rotation[2, 1], rotation[2, 2]),
            np.arcsin(-rotation[2, 0]),
            np.arctan2(rotation[1, 0], rotation[0, 0]),
        ]
    )


def _numbers(text):
    return np.array([float(word) for word in text.split()])


def _text(values):
    return ' '.join(repr(float(value)) for value in values)
