"""Descriptions: real robots against Pinocchio, the rest by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pinocchio
import pytest

from sim_bridge.description import check_description, load_description
from sim_bridge.description.mechanism import inertia, tree
from sim_bridge.description.mechanism.inertia import STAND_IN_ARMATURE
from sim_bridge.description.model import JointType, Mimic
from sim_bridge.description.report import DescriptionError
from sim_bridge.foundation.errors import InvalidValueError

BALL = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="2" effort="10" velocity="3"/>'
# ur3.urdf in example-robot-data is a robot without a link, which Pinocchio refuses
EMPTY = 'ur3'


def chain(*joints: str, extra: str = '', body: str = BALL) -> str:
    """Return a robot with links l0, l1, … and joints j1, j2, …, given as attributes|content."""
    parts = [f'<link name="l0">{body}</link>']
    for number, text in enumerate(joints, 1):
        attributes, _, content = text.partition('|')
        parts.append(f'<link name="l{number}">{body}</link><joint name="j{number}" {attributes}>')
        parts.append(f'<parent link="l{number - 1}"/><child link="l{number}"/>{content}</joint>')
    return f'<robot name="chain">{"".join(parts)}{extra}</robot>'


def revolute(content: str = '') -> str:
    """Return a revolute joint's attributes and content for `chain`."""
    return f'type="revolute"|{content}{LIMIT}'


def moving(description):
    """Return the moving joints."""
    return [joint for joint in description.joints.values() if joint.type is not JointType.FIXED]


def test_example_robot_equals_pinocchios(example_robot):
    """Load a real robot without error and compare names, masses, frames, axes and limits."""
    description = load_description(example_robot)
    if example_robot.stem == EMPTY:
        assert [finding.code for finding in description.report.warnings][1] == 'no-links'
        return
    model = pinocchio.buildModelFromUrdf(str(example_robot))
    data = model.createData()
    pinocchio.framesForwardKinematics(model, data, pinocchio.neutral(model))

    assert {joint.name for joint in moving(description)} == set(model.names) - {'universe'}
    # Pinocchio omits the mass of links fixed to the root; its universe body holds it
    mass = sum(link.inertial.mass for link in description.links.values() if link.inertial)
    assert mass == pytest.approx(sum(body.mass for body in model.inertias), rel=1e-12)

    place = {description.root: (np.zeros(3), np.eye(3))}
    for joint in in_order(description):
        p, R = place[joint.parent]
        p, R = p + R @ joint.origin.position, R @ joint.origin.rotation
        place[joint.child] = (p, R)
        frame = data.oMf[model.getFrameId(joint.child, pinocchio.BODY)]
        assert p == pytest.approx(frame.translation, abs=1e-12)
        assert pytest.approx(frame.rotation, abs=1e-12) == R
    for joint in moving(description):
        compare_joint(joint, model)


def in_order(description):
    """Yield the joints parents first, found in a slow and obvious way."""
    reached, left = {description.root}, list(description.joints.values())
    while left:
        ready = [joint for joint in left if joint.parent in reached]
        assert ready
        yield from ready
        reached.update(joint.child for joint in ready)
        left = [joint for joint in left if joint not in ready]


def compare_joint(joint, model):
    """Compare a one-axis joint's limits, damping and friction with Pinocchio's."""
    index = model.getJointId(joint.name)
    v = model.idx_vs[index]
    if joint.type in (JointType.REVOLUTE, JointType.PRISMATIC) and np.isfinite(joint.limits.lower):
        q = model.idx_qs[index]
        assert joint.limits.lower == pytest.approx(model.lowerPositionLimit[q], abs=1e-12)
        assert joint.limits.upper == pytest.approx(model.upperPositionLimit[q], abs=1e-12)
    for ours, theirs in (
        (joint.limits.effort, model.upperEffortLimit[v]),
        (joint.limits.velocity, model.upperVelocityLimit[v]),
    ):
        # for 0 or no value in the file, there is no limit here; Pinocchio uses 0
        if np.isfinite(ours):
            assert ours == pytest.approx(theirs, rel=1e-12)
        else:
            assert theirs == 0.0 or not np.isfinite(theirs)
    assert joint.dynamics.damping == pytest.approx(model.damping[v], rel=1e-12)
    assert joint.dynamics.friction == pytest.approx(model.upperDryFrictionLimit[v], rel=1e-12)


def test_example_robots_are_all_there(example_robots):
    """Count the compared robots."""
    assert len(example_robots) == 69


@pytest.mark.parametrize('name', ['panda/panda', 'tiago/tiago_dual', 'talos_data/talos_full_v2'])
def test_inertia_of_a_tree_is_pinocchios(example_robots, name):
    """Compare every joint's inertia with the diagonal of Pinocchio's mass matrix."""
    path = example_robots[name]
    description = load_description(path)
    model = pinocchio.buildModelFromUrdf(str(path))
    data = model.createData()
    mass_matrix = pinocchio.crba(model, data, pinocchio.neutral(model))
    rigid = {
        name: inertia._spatial_inertia(link.inertial) for name, link in description.links.items()
    }
    for joint in reversed(tree.parents_first(description)):
        if joint.type is not JointType.FIXED:
            subspace = inertia.motion_subspace(joint)
            v = model.idx_vs[model.getJointId(joint.name)]
            met = (subspace.T @ rigid[joint.child] @ subspace).item()
            assert met == pytest.approx(mass_matrix[v, v], rel=1e-9)
        shift = inertia._to_inner(joint.origin)
        rigid[joint.parent] += shift.T @ rigid[joint.child] @ shift


def test_joint_types_and_orders():
    """Read one joint of every type, in file order."""
    kinds = ['revolute', 'continuous', 'prismatic', 'fixed', 'floating', 'planar']
    description = load_description(chain(*(f'type="{kind}"|{LIMIT}' for kind in kinds)))
    assert [joint.type.value for joint in description.joints.values()] == kinds
    assert list(description.links) == [f'l{number}' for number in range(7)]
    assert description.root == 'l0'
    assert description.name == 'chain'


def test_limits_by_joint_type():
    """Give stops only to revolute and prismatic joints, effort and velocity limits to all axes."""
    kinds = ['revolute', 'continuous', 'prismatic', 'fixed', 'floating', 'planar']
    description = load_description(chain(*(f'type="{kind}"|{LIMIT}' for kind in kinds)))
    limits = {joint.type.value: joint.limits for joint in description.joints.values()}
    got = {kind: (own.lower, own.upper, own.effort, own.velocity) for kind, own in limits.items()}
    free = (-math.inf, math.inf, math.inf, math.inf)
    assert got == {
        'revolute': (-1.0, 2.0, 10.0, 3.0),
        'continuous': (-math.inf, math.inf, 10.0, 3.0),
        'prismatic': (-1.0, 2.0, 10.0, 3.0),
        'fixed': free,
        'floating': free,
        'planar': free,
    }


def test_infinite_and_zero_limits_are_none():
    """Read inf as no limit, and 0 effort and velocity as not given."""
    text = chain(
        'type="revolute"|<limit lower="-inf" upper="inf" effort="0" velocity="Infinity"/>'
    )
    limits = load_description(text).joints['j1'].limits
    assert (limits.lower, limits.upper) == (-math.inf, math.inf)
    assert (limits.effort, limits.velocity) == (math.inf, math.inf)


def test_origin_axis_and_dynamics():
    """Read a joint with all elements, numbers by hand."""
    description = load_description(
        chain(
            revolute(
                '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><axis xyz="0 3 4"/>'
                '<dynamics damping="0.1" friction="0.2" armature="0.3"/>'
                '<safety_controller k_velocity="5" k_position="6" '
                'soft_lower_limit="-0.5" soft_upper_limit="0.7"/>'
            ),
            extra=(
                '<gazebo reference="j1"><springStiffness>7</springStiffness>'
                '<springReference>-0.3</springReference>'
                '<implicitSpringDamper>1</implicitSpringDamper></gazebo>'
            ),
        )
    )
    joint = description.joints['j1']
    assert joint.origin.position.tolist() == [1.0, 2.0, 3.0]
    assert joint.origin.rotation == pytest.approx(
        np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]), abs=1e-15
    )
    assert joint.axis == pytest.approx([0.0, 0.6, 0.8])
    dynamics = joint.dynamics
    assert (dynamics.damping, dynamics.friction, dynamics.armature) == (0.1, 0.2, 0.3)
    assert (dynamics.stiffness, dynamics.reference) == (7.0, -0.3)
    safety = joint.safety
    assert (safety.lower, safety.upper, safety.k_position, safety.k_velocity) == (
        -0.5,
        0.7,
        6.0,
        5.0,
    )
    assert [finding.code for finding in description.report.findings] == ['not-normalised']


def test_defaults_are_those_of_the_specification():
    """Omit everything optional."""
    joint = load_description(chain(revolute())).joints['j1']
    assert joint.axis.tolist() == [1.0, 0.0, 0.0]
    assert joint.origin.is_identity
    assert joint.mimic is None
    assert joint.safety is None


def test_old_gazebo_writes_values_as_attributes():
    """Read a spring in Gazebo 1's form."""
    text = chain(revolute(), extra='<gazebo reference="j1"><springStiffness value="7"/></gazebo>')
    assert load_description(text).joints['j1'].dynamics.stiffness == 7.0


@pytest.mark.parametrize('axis', ['0 0 1e-200', '0 0 1e20', '1e-320 0 0', '0 -0 1'])
def test_axes_of_any_length_are_normalised_exactly(axis):
    """Keep directions along an axis exact, whatever the number's size."""
    direction = load_description(chain(revolute(f'<axis xyz="{axis}"/>'))).joints['j1'].axis
    assert sorted(np.abs(direction)) == [0.0, 0.0, 1.0]


def test_quaternion_origins():
    """Read URDF 1.2's quat_xyzw, of any length, for joints, inertials and shapes."""
    turn = '<origin xyz="1 0 0" quat_xyzw="0 0 2 2"/>'
    body = (
        f'<inertial>{turn}<mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        f'</inertial><collision>{turn}<geometry><sphere radius="1"/></geometry></collision>'
    )
    description = load_description(chain(revolute(turn), body=body))
    quarter = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    link = description.links['l1']
    for pose in (description.joints['j1'].origin, link.inertial.pose, link.collisions[0].pose):
        assert pose.position.tolist() == [1.0, 0.0, 0.0]
        assert pose.rotation == pytest.approx(quarter, abs=1e-15)


def test_rpy_is_roll_then_pitch_then_yaw_about_fixed_axes():
    """Compare with Pinocchio's own reading of roll, pitch, yaw."""
    rpy = [0.3, -1.2, 2.5]
    text = chain(revolute(f'<origin rpy="{rpy[0]} {rpy[1]} {rpy[2]}"/>'))
    expected = pinocchio.rpy.rpyToMatrix(*rpy)
    assert load_description(text).joints['j1'].origin.rotation == pytest.approx(
        expected, abs=1e-15
    )


def test_geometry_of_every_kind():
    """Keep kind, size, pose, name and file for every shape, in order."""
    shapes = {
        '<box size="1 2 3"/>': ('box', (1.0, 2.0, 3.0), ''),
        '<sphere radius="4"/>': ('sphere', (4.0,), ''),
        '<cylinder radius="5" length="6"/>': ('cylinder', (5.0, 6.0), ''),
        '<capsule radius="7" length="8"/>': ('capsule', (7.0, 8.0), ''),
        '<mesh filename="a.stl"/>': ('mesh', (1.0, 1.0, 1.0), 'a.stl'),
        '<mesh filename="b.stl" scale="1 -1 2"/>': ('mesh', (1.0, -1.0, 2.0), 'b.stl'),
    }
    for tag in ('visual', 'collision'):
        body = BALL + ''.join(
            f'<{tag} name="n"><origin xyz="0 0 1"/><geometry>{shape}</geometry></{tag}>'
            for shape in shapes
        )
        link = load_description(f'<robot name="r"><link name="l">{body}</link></robot>').links['l']
        read = link.visuals if tag == 'visual' else link.collisions
        assert [(shape.kind, shape.size, shape.filename) for shape in read] == list(
            shapes.values()
        )
        assert all(shape.name == 'n' and shape.pose.position[2] == 1.0 for shape in read)


def test_a_visual_that_cannot_be_read_is_left_out():
    """Keep the other shapes and the link."""
    body = (
        BALL + '<visual><geometry><sphere radius="big"/></geometry></visual>'
        '<visual><geometry><sphere radius="1"/></geometry></visual>'
    )
    description = load_description(f'<robot name="r"><link name="l">{body}</link></robot>')
    assert [shape.size for shape in description.links['l'].visuals] == [(1.0,)]
    assert [finding.code for finding in description.report.warnings] == ['not-a-number']


def test_materials_textures_and_transmissions_stop_nothing():
    """Load elements that urdf-parser-py alone refuses."""
    extra = (
        '<material name="m"><texture/></material><material/>'
        '<transmission name="t"><type>x</type></transmission><gazebo><plugin name="p"/></gazebo>'
    )
    findings = load_description(chain(revolute(), extra=extra)).report.findings
    assert [(each.severity, each.code, each.name) for each in findings] == [
        ('warning', 'not-simulated', 't'),
        ('warning', 'not-simulated', 'p'),
    ]


def test_mimic_chains_are_resolved_to_their_master():
    """Compose multipliers and offsets: q1 = 2 q2 + 3, q2 = 5 q3 + 7, so q1 = 10 q3 + 17."""
    description = load_description(
        chain(
            revolute('<mimic joint="j2" multiplier="2" offset="3"/>'),
            revolute('<mimic joint="j3" multiplier="5" offset="7"/>'),
            revolute(),
            revolute('<mimic joint="j3"/>'),
        )
    )
    mimics = [joint.mimic for joint in description.joints.values()]
    assert mimics == [Mimic('j3', 10.0, 17.0), Mimic('j3', 5.0, 7.0), None, Mimic('j3', 1.0, 0.0)]


def test_a_follower_of_an_unresolved_follower_keeps_following_it():
    """Leave a joint free that follows a missing joint, and keep its follower."""
    description = load_description(
        chain(revolute('<mimic joint="j2"/>'), revolute('<mimic joint="gone"/>'))
    )
    assert description.joints['j1'].mimic == Mimic('j2')
    assert description.joints['j2'].mimic is None


def test_joints_without_inertia_are_given_some():
    """Give an armature to a joint moving no inertia, and to one of two coaxial ones."""
    text = chain(revolute(), revolute('<axis xyz="0 1 0"/>'), body='').replace(
        '<link name="l1"></link>', f'<link name="l1">{BALL}</link>'
    )
    description = load_description(text)
    assert description.joints['j2'].dynamics.armature == STAND_IN_ARMATURE
    assert description.joints['j1'].dynamics.armature == 0.0
    # numbers whose difference is rounding instead of zero
    odd = BALL.replace('"1"', '"300"').replace('<mass', '<origin xyz="0.7 0.1 -0.2"/><mass')
    turned = revolute('<origin xyz="0 0.9 0" rpy="0.3 -1.1 0.7"/><axis xyz="1 2 -3"/>')
    coaxial = chain(turned, revolute('<axis xyz="1 2 -3"/>'), body=odd).replace(
        f'<link name="l1">{odd}</link>', '<link name="l1"/>'
    )
    joints = load_description(coaxial).joints
    armatures = [joint.dynamics.armature for joint in joints.values()]
    assert armatures == [STAND_IN_ARMATURE, 0.0]


def test_armature_is_inertia():
    """Give no warning for a massless joint with a rotor."""
    text = chain(revolute('<dynamics armature="0.01"/>'), body='')
    codes = [finding.code for finding in check_description(text).findings]
    assert codes == ['missing-inertial']


def test_massless_links_between_joints_are_fine():
    """Build a spherical joint from three revolute ones, as in human models."""
    text = chain(
        revolute('<axis xyz="1 0 0"/>'),
        revolute('<axis xyz="0 1 0"/>'),
        revolute('<axis xyz="0 0 1"/>'),
    )
    for name in ('l1', 'l2'):
        text = text.replace(f'<link name="{name}">{BALL}</link>', f'<link name="{name}"/>')
    description = load_description(text)
    assert {finding.code for finding in description.report.findings} == {'missing-inertial'}
    assert all(joint.dynamics.armature == 0.0 for joint in description.joints.values())


def test_a_massless_root_fixed_to_a_base_is_fine():
    """Find no defect in the dummy root of KDL users, and in massless frames."""
    text = chain('type="fixed"|', revolute(), 'type="fixed"|')
    for name in ('l0', 'l3'):
        text = text.replace(f'<link name="{name}">{BALL}</link>', f'<link name="{name}"/>')
    assert check_description(text).findings == ()


def test_arrays_cannot_be_written():
    """Refuse to change a description in place."""
    joint = load_description(chain(revolute())).joints['j1']
    with pytest.raises(ValueError, match='read-only'):
        joint.axis[0] = 2.0
    with pytest.raises(TypeError):
        load_description(chain(revolute())).joints['x'] = joint


def test_text_path_and_encodings(tmp_path):
    """Read the same robot from text and from files in several encodings."""
    text = chain(revolute()).replace('chain', 'é')
    assert load_description('\ufeff\n' + text).name == 'é'
    assert load_description('<?xml version="1.0" encoding="ascii"?>' + text).name == 'é'
    for encoding, declared in (
        ('utf-8', ''),
        ('utf-8-sig', ''),
        ('latin-1', 'latin-1'),
        ('utf-16', 'utf-16'),
    ):
        header = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ''
        path = tmp_path / f'{encoding}.urdf'
        path.write_text(header + text, encoding=encoding)
        for source in (path, str(path)):
            description = load_description(source)
            assert description.name == 'é'
            # the published text no longer has the file's encoding
            published = '<?xml version="1.0" encoding="UTF-8"?>' if declared else ''
            assert description.xml == published + text
            assert description.source == str(path)


@pytest.mark.parametrize(
    'source', ['/no/such/file.urdf', 'robot\0.urdf', '', 'x' * 5000, 'no <xml>', '.']
)
def test_other_sources_than_files_and_xml_are_unreadable(source):
    """Report it as unreadable, with the reason."""
    report = check_description(source)
    assert [finding.code for finding in report.errors] == ['unreadable']


def test_a_missing_file_is_reported_with_a_similar_one(tmp_path):
    """Report that it cannot be read, not that it cannot be simulated."""
    (tmp_path / 'bot.urdf').write_text('<robot name="bot"/>')
    with pytest.raises(DescriptionError, match=r"^the .* cannot be read\n.*bot\.urdf'\?"):
        load_description(tmp_path / 'bott.urdf')


@pytest.mark.parametrize('source', [None, 3, b'<robot/>', ['a']])
def test_a_source_of_a_wrong_type_is_refused(source):
    """Raise an error for a programming mistake."""
    with pytest.raises(InvalidValueError, match='source'):
        check_description(source)


def test_bad_encodings_are_reported(tmp_path):
    """Report bytes that do not match their declared encoding."""
    path = tmp_path / 'bad.urdf'
    for data in (
        b'<?xml version="1.0" encoding="klingon"?><robot/>',
        b'<robot name="\xff"/>',
        b'\xff\xfe<',
    ):
        path.write_bytes(data)
        assert [finding.code for finding in check_description(path).errors] == ['encoding']
    assert [finding.code for finding in check_description('<robot name="\ud800"/>').errors] == [
        'encoding'
    ]


def test_shipped_robots_are_sound(repository):
    """Find no defect in our own robots."""
    for path in sorted(Path(repository, 'urdf').glob('*.urdf')):
        assert check_description(path).findings == (), path.name
