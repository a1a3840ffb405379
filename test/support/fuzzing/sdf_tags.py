"""
Robots with random SDF tags in `<gazebo>` elements.

A sound robot has valid values. Each of its tags must act: without the tag, or with a meaningless
value, the description or a finding changes. A damaged robot only needs to be read or refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
import dataclasses
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import numpy as np

from fuzzing.damage import damaged_xml
from fuzzing.stepping import step_on
from sim_bridge import World
from sim_bridge.description.load import examine_description

_LINK = (
    '<link name="{0}"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    '<collision name="{0}_box"><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>'
)
_JOINT = (
    '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><axis xyz="0 1 0"/>'
    '<limit lower="-1" upper="1" effort="5" velocity="3"/></joint>'
)
LINKS, WHEELS = ('base', 'arm', 'hand', 'track'), ('left', 'right', 'front', 'rear')
BODY = (
    '<robot name="r">\n',
    *(_LINK.format(name) for name in (*LINKS, *(f'{wheel}_link' for wheel in WHEELS))),
    _JOINT.format('turn', 'revolute', 'base', 'arm'),
    _JOINT.format('slide', 'prismatic', 'arm', 'hand'),
    _JOINT.format('weld', 'fixed', 'base', 'track'),
    *(
        _JOINT.format(wheel, kind, 'base', f'{wheel}_link')
        for wheel, kind in zip(
            WHEELS, ('continuous', 'continuous', 'revolute', 'revolute'), strict=True
        )
    ),
)
_GZ = 'http://gazebosim.org/schema'
ElementTree.register_namespace('gz', _GZ)
_SOUND = 'sound'
# no reader takes it for a number, a truth value, a name or a vector
_MEANINGLESS = '\u2021'
# valid tags without effect here, or at the values made here; docs/howto/from_gazebo.md
_MAY_BE_SILENT = frozenset(
    {
        *('always_on', 'visualize', 'enable_metrics', 'visibility_mask', 'geometry'),
        *('material', 'visual', 'light', 'laserRetro', 'implicitSpringDamper', 'provideFeedback'),
        *('maxContacts', 'stopErp', 'stopCfm', 'fudgeFactor', 'preserveFixedJoint'),
        *('tf_topic', 'ros', 'publish_odom', 'publish_wheel_tf', 'odometry_source'),
        *('max_wheel_torque', 'robot_namespace', 'publish_wheel_joint_state'),
        # of Gazebo's stops
        *('stiffness', 'dissipation', 'initial_position'),
        # only the named plugin and its parameters count
        *('hardware_type', 'robot_param'),
    }
)


@dataclasses.dataclass(frozen=True)
class Tag:
    """
    A tag: valid texts, attributes with their valid values, and tags inside.

    most: greatest number of inner tags, each at most once. always: inner tags without which the
    element is refused.
    """

    name: str
    texts: tuple[str, ...] = ()
    attributes: tuple[tuple[str, tuple[str, ...]], ...] = ()
    inside: tuple[Tag, ...] = ()
    most: int = 3
    always: tuple[Tag, ...] = ()

    def made(self, rng: Random) -> ElementTree.Element:
        """Return a random valid element."""
        element = ElementTree.Element(self.name)
        for name, values in self.attributes:
            if values:
                element.set(name, rng.choice(values))
        if self.texts:
            element.text = rng.choice(self.texts)
        for inner in self.always:
            element.append(inner.made(rng))
        count = min(len(self.inside), rng.randint(1, self.most)) if self.inside else 0
        for number in sorted(rng.sample(range(len(self.inside)), count)):
            element.append(self.inside[number].made(rng))
        return element


def _numbers(*names: str, texts: tuple[str, ...] = ('0.3', '0.7')) -> tuple[Tag, ...]:
    return tuple(Tag(name, texts) for name in names)


_FLAG = ('true', 'false', '1', '0')
_POSE = Tag('pose', ('0.1 0 0.2 0 0.3 0', '1 2 3 0 0 0'))
_NOISE = Tag(
    'noise',
    attributes=(('type', ('gaussian', 'gaussian_quantized')),),
    inside=_numbers(
        'mean',
        'stddev',
        'bias_mean',
        'bias_stddev',
        'dynamic_bias_stddev',
        'dynamic_bias_correlation_time',
        'precision',
    ),
)
_AXES = tuple(Tag(axis, inside=(_NOISE,)) for axis in 'xyz')


def _noisy(*names: str) -> tuple[Tag, ...]:
    return tuple(Tag(name, inside=_AXES) for name in names)


_COMMON = (
    Tag('update_rate', ('50', '200')),
    Tag('topic', ('somewhere', '/else')),
    _POSE,
    Tag('always_on', _FLAG),
    Tag('visualize', _FLAG),
    Tag('gz_frame_id', ('frame',)),
)
_ANGLES = (Tag('samples', ('3', '9')), Tag('min_angle', ('-0.5',)), Tag('max_angle', ('0.5',)))
_LIDAR = (
    Tag(
        'scan',
        inside=(
            Tag('horizontal', inside=_ANGLES, most=len(_ANGLES)),
            Tag('vertical', inside=_ANGLES, most=len(_ANGLES)),
        ),
    ),
    Tag('range', inside=(Tag('min', ('0.1',)), Tag('max', ('8',)), Tag('resolution', ('0.01',)))),
    _NOISE,
)


def _sensor(word: str, *inside: Tag) -> Tag:
    """Return a sensor tag with its own element."""
    return Tag(
        'sensor',
        attributes=(('name', ('s', 't', 'u')), ('type', (word,))),
        inside=_COMMON,
        always=inside,
    )


_IMU = Tag(
    'imu',
    inside=(
        *_noisy('angular_velocity', 'linear_acceleration'),
        Tag('enable_orientation', ('false', '0')),
        Tag('orientation_reference_frame', inside=(Tag('localization', ('NED', 'CUSTOM')),)),
    ),
)
_WRENCH = Tag(
    'force_torque',
    inside=(
        Tag('frame', ('child', 'parent')),
        Tag('measure_direction', ('parent_to_child',)),
        *_noisy('force', 'torque'),
    ),
)
_PARTS = ('horizontal', 'vertical')
_OF_LINK = (
    *_numbers('mu1', 'mu2', 'kp', 'kd', 'maxVel', 'minDepth'),
    Tag('fdir1', ('1 0 0', '0 1 0'), ((f'{{{_GZ}}}expressed_in', ('arm', 'hand')),)),
    Tag('selfCollide', _FLAG),
    Tag('gravity', ('false', '0')),
    Tag('turnGravityOff', ('true', '1')),
    Tag('kinematic', ('true',)),
    Tag('enable_wind', ('true',)),
    Tag('dampingFactor', ('0.1',)),
    Tag('velocity_decay', inside=_numbers('linear', 'angular')),
    Tag('material', ('Gazebo/Red',)),
    Tag('collision', inside=(Tag('max_contacts', ('3',)),)),
    Tag('mu', ('0.5',)),
    _sensor('imu', _IMU),
    _sensor('magnetometer', Tag('magnetometer', inside=_AXES)),
    _sensor(
        'altimeter',
        Tag(
            'altimeter',
            inside=tuple(
                Tag(name, inside=(_NOISE,)) for name in ('vertical_position', 'vertical_velocity')
            ),
        ),
    ),
    _sensor(
        'air_pressure',
        Tag(
            'air_pressure',
            inside=(Tag('reference_altitude', ('100',)), Tag('pressure', inside=(_NOISE,))),
        ),
    ),
    *(
        _sensor(
            kind,
            Tag(
                kind,
                inside=tuple(
                    Tag(sensing, inside=tuple(Tag(part, inside=(_NOISE,)) for part in _PARTS))
                    for sensing in ('position_sensing', 'velocity_sensing')
                ),
            ),
        )
        for kind in ('navsat', 'gps')
    ),
    _sensor('contact', Tag('contact', inside=(Tag('collision', ('base_box', 'arm_box')),))),
    _sensor('gpu_lidar', Tag('lidar', inside=_LIDAR)),
    _sensor('ray', Tag('ray', inside=_LIDAR)),
    _sensor(
        'sonar',
        Tag('sonar', inside=(Tag('min', ('0.3',)), Tag('max', ('2',)), Tag('radius', ('0.4',)))),
    ),
    _sensor('camera', Tag('camera', inside=_numbers('horizontal_fov'))),
)
_OF_JOINT = (
    *_numbers('springStiffness', 'springReference'),
    Tag('initial_joint_position', ('0.2',)),
    Tag('implicitSpringDamper', _FLAG),
    Tag('provideFeedback', _FLAG),
    *_numbers('stopErp', 'stopCfm', 'fudgeFactor'),
    _sensor('force_torque', _WRENCH),
)
_AXIS = (
    Tag('xyz', ('0 0 1', '1 0 0'), (('expressed_in', ('__model__', 'arm')),)),
    Tag('limit', inside=_numbers('lower', texts=('-0.5',)) + _numbers('upper', 'effort')),
    Tag('dynamics', inside=_numbers('damping', 'friction', 'spring_stiffness')),
)
_ENDS = (Tag('parent', ('base', 'base', 'track', 'world')), Tag('child', ('hand', 'arm')))


def _joint(types: tuple[str, ...], axis: tuple[Tag, ...]) -> Tag:
    """Return a joint that closes a loop. axis: tags inside its axes."""
    return Tag(
        'joint',
        attributes=(('name', ('loop', 'other')), ('type', types)),
        inside=(
            Tag('pose', ('0 0 0.1 0 0 0',), (('relative_to', ('arm', 'turn')),)),
            Tag('axis', inside=axis),
            Tag('axis2', inside=axis),
            Tag('physics', inside=(Tag('ode', inside=_numbers('erp', 'cfm')),)),
            Tag('thread_pitch', ('1',)),
        ),
        most=5,
        always=_ENDS,
    )


_JOINTS = (
    _joint(('revolute', 'prismatic', 'universal', 'revolute2'), _AXIS),
    # exporters write a direction for these types too
    _joint(('ball', 'fixed', 'screw'), _AXIS[1:]),
)
_LIMITS = tuple(
    Tag(f'{end}{middle}_{quantity}', ('-0.5' if end == 'min' else '0.5',))
    for end in ('min', 'max')
    for middle in ('', '_linear', '_angular')
    for quantity in ('velocity', 'acceleration')
)
_TOPICS = (
    *(Tag(tag, ('somewhere',)) for tag in ('topic', 'odom_topic', 'frame_id', 'child_frame_id')),
    Tag('odom_publish_frequency', ('20',)),
    Tag('tf_topic', ('tf',)),
    Tag('publish_wheel_tf', _FLAG),
    Tag('wheel_colour', ('red',)),
)


def _drive(filename: str, joints: Iterable[str], *sizes: str) -> Tag:
    always = tuple(Tag(tag, (joint,)) for tag, joint in zip(joints, WHEELS, strict=False))
    inside = (*_numbers(*sizes), *_LIMITS, *_TOPICS)
    attributes = (('filename', (filename,)), ('name', ('drive',)))
    return Tag('plugin', (), attributes, inside, most=9, always=always)


_PLUGINS = (
    _drive(
        'gz-sim-diff-drive-system',
        ('left_joint', 'right_joint'),
        'wheel_separation',
        'wheel_radius',
    ),
    _drive(
        'libgazebo_ros_diff_drive.so',
        ('left_joint', 'right_joint'),
        'wheel_separation',
        'wheel_diameter',
        'max_wheel_acceleration',
    ),
    _drive(
        'gz-sim-ackermann-steering-system',
        ('left_joint', 'right_joint', 'left_steering_joint', 'right_steering_joint'),
        'wheel_separation',
        'wheel_radius',
        'kingpin_width',
        'wheel_base',
        'steering_limit',
    ),
    Tag(
        'plugin',
        attributes=(('filename', ('gz-sim-track-controller-system',)), ('name', ('track',))),
        inside=(Tag('track_orientation', ('0 0 1.5',)),),
        always=(Tag('link', ('track',)),),
    ),
    Tag('plugin', attributes=(('filename', ('libfly.so',)), ('name', ('fly',)))),
)
_OF_ROBOT = (
    *_PLUGINS,
    *_JOINTS,
    Tag('self_collide', _FLAG),
    Tag('static', ('true',)),
    Tag('pose', ('0 0 1 0 0 0',)),
    # misplaced
    *_numbers('mu1', 'springStiffness'),
    Tag('gravity', ('false',)),
)
_PARTS: tuple[tuple[tuple[str, ...], tuple[Tag, ...]], ...] = (
    (LINKS, _OF_LINK),
    (('turn', 'slide', 'weld'), _OF_JOINT),
    (('',), _OF_ROBOT),
    # a reference to another kind of part, and to nothing
    (('turn',), _OF_LINK),
    (('arm',), _OF_JOINT),
    (('elbow',), (*_OF_LINK, *_OF_JOINT)),
)
_MOST_PARTS, _MOST_TAGS = 3, 3


def make(rng: Random) -> bytes:
    """Return a sound robot, or a damaged one."""
    root = ElementTree.fromstring(''.join((*BODY, '</robot>')))
    for _ in range(rng.randint(1, _MOST_PARTS)):
        references, tags = rng.choice(_PARTS)
        reference = rng.choice(references)
        gazebo = ElementTree.SubElement(
            root, 'gazebo', {'reference': reference} if reference else {}
        )
        for tag in rng.sample(tags, rng.randint(1, min(_MOST_TAGS, len(tags)))):
            gazebo.append(tag.made(rng))
    if rng.randrange(2):
        root.append(ElementTree.Comment(_SOUND))
        return _lines(root)
    return damaged_xml(rng, ElementTree.tostring(root))


def run(case: bytes, folder: Path) -> None:
    """Read and simulate a robot; each tag of a sound one must act."""
    if case.rstrip().endswith(f'<!--{_SOUND}--></robot>'.encode()):
        check_tags(case)
    path = folder / 'robot.urdf'
    path.write_bytes(case)
    world = World()
    world.load_urdf(path)
    step_on(world)


def check_tags(case: bytes) -> None:
    """Raise AssertionError for a tag in `<gazebo>` without any effect or finding."""
    seen = _seen(case)
    if seen is None:
        return
    content, findings, lines = seen
    root = ElementTree.fromstring(case.decode())
    for element, line, above in _tags(root, case):
        if element.tag in _MAY_BE_SILENT or lines.intersection((line, *above)):
            continue
        if all(_seen_parts(changed) == (content, findings) for changed in _changed(root, element)):
            raise AssertionError(f'line {line}: <{element.tag}> has no effect and no finding')


def _changed(root: ElementTree.Element, element: ElementTree.Element) -> Iterator[bytes]:
    """Yield the robot without an element, and with a meaningless value in it."""
    for change in (_without, _meaningless):
        copy = deepcopy(root)
        places = dict(zip(root.iter(), copy.iter(), strict=True))
        parents = {child: parent for parent in copy.iter() for child in parent}
        change(parents[places[element]], places[element])
        yield ElementTree.tostring(copy)


def _without(parent: ElementTree.Element, element: ElementTree.Element) -> None:
    parent.remove(element)


def _meaningless(_: ElementTree.Element, element: ElementTree.Element) -> None:
    element.text = _MEANINGLESS


def _tags(
    root: ElementTree.Element, case: bytes
) -> Iterator[tuple[ElementTree.Element, int, tuple[int, ...]]]:
    """Yield the tags in `<gazebo>`, with their lines and those of the elements around them."""
    line = 1

    def walk(
        element: ElementTree.Element, above: tuple[int, ...]
    ) -> Iterator[tuple[ElementTree.Element, int, tuple[int, ...]]]:
        nonlocal line
        for child in element:
            line += 1
            own = line
            if above:
                yield child, own, above
            if child.tag == 'gazebo' or above:
                yield from walk(child, (*above, own))

    yield from walk(root, ())


def _lines(root: ElementTree.Element) -> bytes:
    """Return a robot with each tag in `<gazebo>` at the beginning of a line."""
    text = ElementTree.tostring(root, encoding='unicode').replace('\n', '')
    start, gazebo, rest = text.partition('<gazebo')
    start = start.replace('><link', '>\n<link').replace('><joint', '>\n<joint')
    body, comment, end = rest.rpartition('<!--')
    inner = (gazebo + body).replace('</', '\0').replace('<', '\n<').replace('\0', '</')
    return f'{start}{inner}{comment}{end}'.encode()


def _seen_parts(case: bytes) -> tuple[Any, Any] | None:
    seen = _seen(case)
    return None if seen is None else seen[:2]


def _seen(case: bytes) -> tuple[Any, Any, set[int]] | None:
    """Return a description's content, its findings and their lines; None if it is refused."""
    description, report = examine_description(case.decode())
    if description is None or not report.ok:
        return None
    findings = sorted(
        (
            each.severity,
            each.code,
            each.element,
            each.name,
            each.attribute,
            each.value,
            each.message,
        )
        for each in report.findings
    )
    return _content(description), findings, {each.line for each in report.findings}


def _content(value: Any) -> Any:
    """Return plain data for a description, without lines, texts and files."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _content(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if field.name not in ('line', 'xml', 'report', 'source')
        }
    if isinstance(value, np.ndarray):
        return value.tolist()
    if hasattr(value, 'items'):
        return {key: _content(inner) for key, inner in value.items()}
    return [_content(inner) for inner in value] if isinstance(value, (list, tuple)) else value
