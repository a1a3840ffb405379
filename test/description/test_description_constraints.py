"""Loop joints and crawlers, in all forms used in files."""

from __future__ import annotations

import math

import numpy as np
import pytest
import robots

from sim_bridge.description import add_extra_joints, DescriptionError, link_poses, load_description
from sim_bridge.description.mechanism.constraints import TYPES
from sim_bridge.description.model import ConstraintType, JointDynamics, JointLimits

QUARTER = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
RIGHT = math.pi / 2


def robot(*more: str) -> str:
    """
    Return a robot world -lift- low -turn- high, world -swing- beam, with further elements.

    At 0 low is at (1, 2, 3), high 0.5 m above it and a quarter turned about z, beam at the origin.
    """
    return robots.robot(
        robots.link('world', 0.0),
        robots.link('low'),
        robots.link('high'),
        robots.link('beam'),
        robots.joint('lift', 'world', 'low', xyz=(1, 2, 3)),
        robots.joint('turn', 'low', 'high', xyz=(0, 0, 0.5), rpy=(0, 0, RIGHT)),
        robots.joint('swing', 'world', 'beam', axis=(0, 1, 0)),
        *more,
    )


def load(*more: str, **options):
    """Return the robot with this element, which must raise no finding."""
    description = load_description(robot(*more), **options)
    assert description.report.findings == ()
    return description


def constraint(kind: str, more: str = '', link1='name="high"', link2='name="beam"', **options):
    """Return the only loop joint in a `<sim_bridge>` element."""
    ends = f'<link1 {link1}/><link2 {link2}/>'
    element = f'<joint name="loop" type="{kind}">{ends}{more}</joint>'
    (one,) = load(f'<sim_bridge>{element}</sim_bridge>', **options).constraints
    return one


def gazebo(kind: str, more: str = '', parent='high', child='beam'):
    """Return the only loop joint in a `<gazebo>` element."""
    ends = f'<parent>{parent}</parent><child>{child}</child>'
    element = f'<gazebo><joint name="loop" type="{kind}">{ends}{more}</joint></gazebo>'
    (one,) = load(element).constraints
    return one


def in_world(description, link, vector, is_place=True):
    """Return a point or a direction on a link in the root's frame, all joints at 0."""
    pose = link_poses(description)[link]
    return pose.rotation @ vector + (pose.position if is_place else 0.0)


def test_a_description_without_loops_has_none():
    """Leave constraints and crawlers empty."""
    description = load()
    assert (description.constraints, description.crawlers) == ((), ())


def test_every_key_of_the_extension():
    """Read a hinge with all keys."""
    one = constraint(
        'hinge',
        '<axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="3" velocity="4"/>'
        '<dynamics damping="5" friction="6" stiffness="7" reference="8"/>'
        '<compliance erp="0.2" cfm="1e-6"/>',
        f'name="high" xyz="1 2 3" rpy="0 0 {RIGHT}"',
        'name="beam" xyz="4 5 6" quat_xyzw="0 0 0 1"',
    )
    assert (one.name, one.type, one.line) == ('loop', ConstraintType.HINGE, 1)
    assert (one.link1, one.link2) == ('high', 'beam')
    assert one.position1.tolist() == [1.0, 2.0, 3.0]
    assert one.position2.tolist() == [4.0, 5.0, 6.0]
    assert one.axis == pytest.approx([-1.0, 0.0, 0.0], abs=1e-15)
    assert one.rotation == pytest.approx(QUARTER, abs=1e-15)
    assert (one.axis2, one.distance) == (None, None)
    assert one.limits == JointLimits(-1.0, 2.0, 3.0, 4.0)
    assert one.dynamics == JointDynamics(5.0, 6.0, 0.0, 7.0, 8.0)
    assert (one.erp, one.cfm) == (0.2, 1e-6)
    for array in (one.position1, one.position2, one.axis, one.rotation):
        assert not array.flags.writeable


def test_missing_values_follow_from_the_initial_pose():
    """Use link1's origin, and None for values defined by the initial pose."""
    one = constraint('ball')
    assert one.position1.tolist() == [0.0, 0.0, 0.0]
    assert (one.position2, one.rotation, one.axis) == (None, None, None)
    assert (one.erp, one.cfm) == (None, None)
    assert one.limits == JointLimits()


@pytest.mark.parametrize('kind', TYPES)
def test_every_type(kind):
    """Read the values for each type."""
    more = ''
    if kind not in ('ball', 'fixed', 'distance'):
        more += '<axis xyz="0 0 1"/>'
    if kind in ('universal', 'hinge2'):
        more += '<axis2 xyz="1 0 0"/>'
    if kind == 'distance':
        more += '<distance value="0.3"/>'
    one = constraint(kind, more, link2='name="beam" xyz="0 0 1"')
    assert one.type.value == kind
    assert (one.axis is not None) == ('<axis ' in more)
    assert (one.axis2 is not None) == ('<axis2 ' in more)
    assert one.distance == (0.3 if kind == 'distance' else None)


def test_axes_are_in_the_joint_frame_of_their_link():
    """Rotate the first axis by link1's rpy, the second by link2's."""
    one = constraint(
        'hinge2',
        '<axis xyz="1 0 0"/><axis2 xyz="0 1 0"/>',
        f'name="high" rpy="0 0 {RIGHT}"',
        f'name="beam" rpy="{RIGHT} 0 0"',
    )
    assert one.axis == pytest.approx([0.0, 1.0, 0.0], abs=1e-15)
    assert one.axis2 == pytest.approx([0.0, 0.0, 1.0], abs=1e-15)


def test_the_world_as_the_second_link():
    """Use a link called world if there is one, else the world itself."""
    assert constraint('ball', link2='name="world"').link2 == 'world'
    free = robots.robot(
        robots.link('trunk'),
        '<sim_bridge><joint name="tether" type="ball"><link1 name="trunk" xyz="0 0 1"/>'
        '<link2 name="world"/></joint></sim_bridge>',
    )
    (one,) = load_description(free).constraints
    assert (one.link1, one.link2, one.position2) == ('trunk', '', None)


def test_limits_of_zero_are_not_known():
    """Read an effort and a velocity of 0 as no limit, as URDF files mean it."""
    one = constraint('slider', '<axis xyz="0 0 1"/><limit effort="0" velocity="0" upper="1"/>')
    assert one.limits == JointLimits(upper=1.0)


def test_several_elements_add_up():
    """Read all `<sim_bridge>` elements, in order."""
    joint = '<joint name="{}" type="ball"><link1 name="high"/><link2 name="beam"/></joint>'
    description = load(*(f'<sim_bridge>{joint.format(name)}</sim_bridge>' for name in 'ba'))
    assert [one.name for one in description.constraints] == ['b', 'a']


def test_gazebo_joint_is_placed_from_its_child():
    """Read SDF's pose in the child's frame; both anchors coincide with all joints at 0."""
    one = gazebo(
        'revolute', '<pose>0.1 0.2 0.3 0 0 0</pose><axis><xyz>0 0 1</xyz></axis>', 'beam', 'high'
    )
    description = load()
    assert (one.type, one.link1, one.link2) == (ConstraintType.HINGE, 'beam', 'high')
    assert one.position2 == pytest.approx([0.1, 0.2, 0.3])
    place = (1.0 - 0.2, 2.0 + 0.1, 3.5 + 0.3)
    assert in_world(description, 'beam', one.position1) == pytest.approx(place)
    assert in_world(description, 'high', one.position2) == pytest.approx(place)
    assert one.axis == pytest.approx([0.0, 0.0, 1.0])
    # beam's axes are the root's, and high's are rotated by a quarter turn
    assert one.rotation == pytest.approx(QUARTER, abs=1e-15)


@pytest.mark.parametrize(
    ('axis', 'direction'),
    [
        ('<xyz>1 0 0</xyz>', (0, 0, -1)),
        ('<xyz expressed_in="">1 0 0</xyz>', (0, 0, -1)),
        ('<xyz expressed_in="__model__">1 0 0</xyz>', (1, 0, 0)),
        ('<xyz expressed_in="high">1 0 0</xyz>', (0, 1, 0)),
        ('<xyz expressed_in="turn">1 0 0</xyz>', (0, 1, 0)),
        ('<xyz>1 0 0</xyz><use_parent_model_frame>1</use_parent_model_frame>', (1, 0, 0)),
        ('<xyz>1 0 0</xyz><use_parent_model_frame>false</use_parent_model_frame>', (0, 0, -1)),
        ('', (1, 0, 0)),
    ],
)
def test_gazebo_axis_in_all_its_frames(axis, direction):
    """Read an axis in the joint's frame, which is rotated here, or in a named frame."""
    one = gazebo('prismatic', f'<pose>0 0 0 0 {RIGHT} 0</pose><axis>{axis}</axis>')
    assert one.type is ConstraintType.SLIDER
    given = in_world(load(), 'high', one.axis, is_place=False)
    assert given == pytest.approx(direction, abs=1e-15)


@pytest.mark.parametrize(
    ('pose', 'place'),
    [
        ('', (0, 0, 0)),
        ('<pose>0 0 1 0 0 0</pose>', (0, 0, 1)),
        ('<pose relative_to="beam">0 0 1 0 0 0</pose>', (0, 0, 1)),
        ('<pose relative_to="high">1 0 0 0 0 0</pose>', (1, 3, 3.5)),
        ('<pose relative_to="__model__">0 0 2 0 0 0</pose>', (0, 0, 2)),
        ('<pose degrees="true" relative_to="turn">0 1 0 0 0 90</pose>', (0, 2, 3.5)),
    ],
)
def test_gazebo_pose_in_all_its_frames(pose, place):
    """Read a pose in the child's frame, or in a named frame."""
    one = gazebo('ball', pose)
    assert in_world(load(), 'high', one.position1) == pytest.approx(place)
    assert in_world(load(), 'beam', one.position2) == pytest.approx(place)


def test_gazebo_joint_with_every_key():
    """Read limits, dynamics and compliance; huge old limits mean no limit."""
    axis = (
        '<axis><xyz>0 0 1</xyz><limit><lower>-1e16</lower><upper>2</upper><effort>-1</effort>'
        '<velocity>4</velocity></limit><dynamics><damping>5</damping><friction>6</friction>'
        '<spring_stiffness>7</spring_stiffness><spring_reference>8</spring_reference></dynamics>'
        '</axis>'
    )
    ode = '<implicit_spring_damper>1</implicit_spring_damper><erp>0.3</erp><cfm>1e-5</cfm>'
    one = gazebo('revolute', f'{axis}<physics><ode>{ode}</ode></physics>')
    assert one.limits == JointLimits(-math.inf, 2.0, math.inf, 4.0)
    assert one.dynamics == JointDynamics(5.0, 6.0, 0.0, 7.0, 8.0)
    assert (one.erp, one.cfm) == (0.3, 1e-5)


@pytest.mark.parametrize(
    ('word', 'kind'),
    [
        ('revolute', 'hinge'),
        ('continuous', 'hinge'),
        ('prismatic', 'slider'),
        ('ball', 'ball'),
        ('fixed', 'fixed'),
        ('universal', 'universal'),
        ('revolute2', 'hinge2'),
    ],
)
def test_gazebo_types(word, kind):
    """Map SDF's types to ODE's names; exporters write an axis for joints without axes too."""
    second = '<axis2><xyz>1 0 0</xyz></axis2>' if kind in ('universal', 'hinge2') else ''
    one = gazebo(word, f'<axis><xyz>0 0 1</xyz></axis>{second}')
    assert one.type.value == kind
    assert (one.axis is None) == (kind in ('ball', 'fixed'))
    assert (one.axis2 is None) == (kind not in ('universal', 'hinge2'))


def test_gazebo_joint_to_the_world_keeps_the_sign_of_its_coordinate():
    """Make the world the second link, and reverse the axis."""
    text = robots.robot(
        robots.link('base'),
        robots.link('arm'),
        robots.joint('elbow', 'base', 'arm', xyz=(0, 0, 1), rpy=(0, 0, RIGHT)),
        '<gazebo><joint name="rail" type="prismatic"><parent>world</parent><child>arm</child>'
        '<pose>0 0 1 0 0 0</pose><axis><xyz>1 0 0</xyz><limit><lower>0</lower></limit></axis>'
        '</joint></gazebo>',
    )
    description = load_description(text)
    (one,) = description.constraints
    assert description.report.findings == ()
    assert (one.link1, one.link2) == ('arm', '')
    assert one.position1.tolist() == [0.0, 0.0, 1.0]
    assert (one.position2, one.rotation) == (None, None)
    assert one.axis == pytest.approx([-1.0, 0.0, 0.0])
    assert one.limits.lower == 0.0


YAML = """\
joints:
  - name: loop
    type: hinge
    link1: high
    link2: beam
    position1: [1, 2, 3]
    position2: [4, 5, 6]
    rpy1: [0, 0, 1.5707963267948966]
    orientation2: [0, 0, 0, 2]
    axis: [0, 3, 0]
    limits: {lower: -1, upper: .inf, effort: 3, velocity: 4}
    dynamics: {damping: 5, friction: 6, stiffness: 7, reference: -8}
    erp: 0.2
    cfm: 1e-6
"""


def test_yaml_with_every_key(tmp_path):
    """Read a file; keep the URDF's report, and the file's lines."""
    path = tmp_path / 'joints.yaml'
    path.write_text(YAML.replace('[0, 0, 0, 2]', '[0, 0, 0, 1]'))
    (one,) = load(extra_joints=path).constraints
    assert (one.name, one.type, one.line) == ('loop', ConstraintType.HINGE, 2)
    assert (one.link1, one.link2) == ('high', 'beam')
    assert one.position1.tolist() == [1.0, 2.0, 3.0]
    assert one.position2.tolist() == [4.0, 5.0, 6.0]
    assert one.axis == pytest.approx([-1.0, 0.0, 0.0], abs=1e-15)
    assert one.rotation == pytest.approx(QUARTER, abs=1e-15)
    assert one.limits == JointLimits(-1.0, math.inf, 3.0, 4.0)
    assert one.dynamics == JointDynamics(5.0, 6.0, 0.0, 7.0, -8.0)
    assert (one.erp, one.cfm) == (0.2, 1e-6)


@pytest.mark.parametrize('style', ['snake', 'camel'])
def test_choreonoid_extra_joints_are_taken_as_they_are(style):
    """Read a Choreonoid body's keys, new and old, and name the joint by its links."""
    words = {
        'link1_name': 'high',
        'link2_name': 'beam',
        'link1_local_pos': [0.2, 0, 0],
        'link2_local_pos': [0, 0.1, 0],
        'joint_type': 'piston',
        'axis': [0, 0, 1],
    }
    name = 'extra_joints'
    if style == 'camel':
        words = {
            'link1Name': 'high',
            'link2Name': 'beam',
            'link1LocalPos': [0.2, 0, 0],
            'link2LocalPos': [0, 0.1, 0],
            'jointType': 'piston',
            'jointAxis': [0, 0, 1],
        }
        name = 'extraJoints'
    (one,) = load(extra_joints={name: [words]}).constraints
    assert (one.name, one.type) == ('high_beam', ConstraintType.PISTON)
    assert one.position1.tolist() == [0.2, 0.0, 0.0]
    assert one.position2.tolist() == [0.0, 0.1, 0.0]
    assert one.axis.tolist() == [0.0, 0.0, 1.0]


def test_extra_joints_add_to_those_of_the_description():
    """Keep both, the description's first; a warning from the second file has no line here."""
    joint = '<joint name="a" type="ball"><link1 name="high"/><link2 name="beam"/></joint>'
    description = load_description(
        robot(f'<sim_bridge>{joint}</sim_bridge>'),
        extra_joints={
            'joints': [
                {'name': 'b', 'type': 'ball', 'link1': 'low', 'link2': 'world', 'axis': [0, 0, 1]}
            ]
        },
    )
    assert [one.name for one in description.constraints] == ['a', 'b']
    (finding,) = description.report.warnings
    assert (finding.code, finding.name, finding.line) == ('ignored-tag', 'b', 0)


HINGE = {'name': 'l', 'type': 'hinge', 'link1': 'high', 'link2': 'beam', 'axis': [0, 0, 1]}


@pytest.mark.parametrize(
    ('changes', 'code', 'attribute', 'value'),
    [
        ({'colour': 'red'}, 'bad-value', 'colour', 'red'),
        ({'type': 'bolt'}, 'joint-type', 'type', 'bolt'),
        ({'type': None}, 'bad-value', 'type', ''),
        ({'link1': None}, 'bad-value', 'link1', ''),
        ({'link1': 'hihg'}, 'unknown-link', 'link1', 'hihg'),
        ({'link1_name': 'high'}, 'bad-value', 'link1_name', 'high'),
        ({'link2': 'high'}, 'same-link', 'link2', 'high'),
        ({'name': 'turn'}, 'duplicate-name', 'name', 'turn'),
        ({'axis': None}, 'missing-tag', '', ''),
        ({'axis': [0, 0, 0]}, 'zero-axis', 'axis', '0 0 0'),
        ({'axis': [0, 1]}, 'bad-value', 'axis', '[0, 1]'),
        ({'axis': [0, 0, math.nan]}, 'bad-value', 'axis', '[0, 0, nan]'),
        ({'position1': 'here'}, 'bad-value', 'position1', 'here'),
        (
            {'rpy1': [0, 0, 0], 'orientation1': [0, 0, 0, 1]},
            'bad-value',
            'orientation1',
            '[0, 0, 0, 1]',
        ),
        ({'orientation1': [0, 0, 0, 0]}, 'zero-quaternion', 'orientation1', '0.0 0.0 0.0 0.0'),
        ({'limits': 3}, 'bad-value', 'limits', '3'),
        ({'limits': {'low': 3}}, 'bad-value', 'low', '3'),
        ({'limits': {'lower': 1, 'upper': 0}}, 'lower-above-upper', 'lower', '1'),
        ({'limits': {'effort': -1}}, 'bad-value', 'effort', '-1.0'),
        ({'limits': {'lower_effort': 1}}, 'out-of-range', 'lower_effort', '1'),
        ({'dynamics': {'damping': math.nan}}, 'bad-value', 'damping', 'nan'),
        ({'dynamics': {'damping': math.inf}}, 'bad-value', 'damping', 'inf'),
        ({'erp': 2.0}, 'out-of-range', 'erp', '2'),
        ({'cfm': -1e-6}, 'bad-value', 'cfm', '-1e-06'),
        ({'distance': 0.0}, 'bad-value', 'distance', '0.0'),
        ({'compliance': {'stiffness': [1, 2]}}, 'bad-value', 'stiffness', '[1. 2.]'),
        ({'compliance': {'stiffness': 'soft'}}, 'bad-value', 'stiffness', 'soft'),
        (
            {'compliance': {'stiffness': [1] * 6, 'damping': [-1] * 6}},
            'bad-value',
            'damping',
            '[-1. -1. -1. -1. -1. -1.]',
        ),
        ({'compliance': {'damping': [1] * 6}}, 'missing-attribute', 'stiffness', ''),
        ({'compliance': {'stiffness': [1] * 6}, 'cfm': 1e-3}, 'two-compliances', 'erp', ''),
    ],
)
def test_yaml_error(changes, code, attribute, value):
    """Refuse a wrong key or value, naming joint, key and value."""
    values = {key: item for key, item in {**HINGE, **changes}.items() if item is not None}
    with pytest.raises(DescriptionError) as caught:
        add_extra_joints(load(), {'joints': [values]})
    (finding,) = caught.value.report.errors
    assert (finding.code, finding.attribute, finding.value) == (code, attribute, value)
    assert finding.name.startswith(values.get('name', ''))


@pytest.mark.parametrize(
    ('text', 'code', 'line'),
    [
        (YAML.replace('beam', 'beem'), 'unknown-link', 5),
        (YAML.replace('axis: [0, 3, 0]', 'axis: [0, x, 0]'), 'bad-value', 10),
        (YAML.replace('lower: -1', 'low: -1'), 'bad-value', 11),
        (YAML + 'joint: 1\n', 'bad-value', 15),
        (YAML.replace('name:', 'name'), 'not-yaml', 3),
        ('loops: []\n', 'bad-value', 0),
    ],
)
def test_yaml_errors_are_of_the_file(tmp_path, text, code, line):
    """Name file and line for a defect in a YAML file."""
    path = tmp_path / 'joints.yaml'
    path.write_text(text)
    with pytest.raises(DescriptionError) as caught:
        load_description(robot(), extra_joints=path)
    report = caught.value.report
    assert report.source == str(path)
    assert (code, line) in [(finding.code, finding.line) for finding in report.errors]


@pytest.mark.parametrize('source', [[HINGE], 5])
def test_other_sources_than_files_and_mappings_are_refused(source):
    """Name the given value and the accepted ones."""
    with pytest.raises(DescriptionError, match=r'file name or a mapping.*, not [\[5]'):
        load_description(robot(), extra_joints=source)


def test_yaml_files_that_are_not_there():
    """Name the unreadable file."""
    with pytest.raises(DescriptionError, match=r'nowhere\.yaml.*cannot be read'):
        load_description(robot(), extra_joints='nowhere.yaml')


def test_crawler_is_commanded_by_the_joint_that_carries_it():
    """Use a fixed joint's name, a name of its own, or else the link's."""
    weld = robots.joint('weld', 'beam', 'track', 'fixed')
    crawlers = (
        '<crawler link="track" axis="0 2e-1 0.0"/>',
        '<crawler link="high" axis="0 0 1"/>',
        '<crawler link="low" axis="1 0 0" joint="belt"/>',
    )
    description = load_description(
        robot(robots.link('track'), weld, f'<sim_bridge>{"".join(crawlers)}</sim_bridge>')
    )
    named = {one.name: (one.link, one.axis.tolist()) for one in description.crawlers}
    assert named == {
        'weld': ('track', [0.0, 1.0, 0.0]),
        'high': ('high', [0.0, 0.0, 1.0]),
        'belt': ('low', [1.0, 0.0, 0.0]),
    }
    assert [finding.code for finding in description.report.findings] == ['not-normalised']


@pytest.mark.parametrize(
    ('orientation', 'axis'),
    [
        ('', (0, 1, 0)),
        ('<track_orientation>0 0 0</track_orientation>', (0, 1, 0)),
        (f'<track_orientation>0 0 {RIGHT}</track_orientation>', (-1, 0, 0)),
    ],
)
def test_crawlers_of_gazebo(orientation, axis):
    """Read Gazebo's track controllers, whose tracks drive along x."""
    plugin = '<plugin name="gz::sim::systems::TrackController" filename="{}">{}</plugin>'
    files = 'gz-sim-track-controller-system', 'libignition-gazebo-track-controller-system.so'
    elements = [
        plugin.format(file, f'<link>{link}</link>{orientation}<max_velocity>1</max_velocity>')
        for file, link in zip(files, ('low', 'beam'), strict=True)
    ]
    description = load(f'<gazebo>{"".join(elements)}</gazebo>')
    assert [one.link for one in description.crawlers] == ['low', 'beam']
    for one in description.crawlers:
        assert one.axis == pytest.approx(axis, abs=1e-15)


def test_a_crawler_declared_twice_is_one():
    """Prefer `<sim_bridge>` if Gazebo's plugin names the same link."""
    description = load(
        '<gazebo><plugin filename="gz-sim-track-controller-system"><link>low</link></plugin>'
        '</gazebo><sim_bridge><crawler link="low" axis="0 -1 0"/></sim_bridge>'
    )
    (one,) = description.crawlers
    assert one.axis.tolist() == [0.0, -1.0, 0.0]
