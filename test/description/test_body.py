"""Choreonoid's body files: content and findings."""

from __future__ import annotations

import math
from pathlib import Path
import textwrap

import numpy as np
import pinocchio
import pytest

import sim_bridge as sb
from sim_bridge.description import check_description, load_description
from sim_bridge.description.model import JointType
from sim_bridge.description.sensor_kinds import ACCELEROMETER, GYRO, IMU, LIDAR

HEADER = 'format: ChoreonoidBody\nformatVersion: 1.0\n'
# the same tree in both formats, written by hand
ARM = (
    HEADER
    + """
name: arm
links:
  - name: BASE
    jointType: fixed
  - name: LOWER
    parent: BASE
    translation: [0.1, 0.2, 0.3]
    rotation: [[0, 0, 1, 90], [1, 0, 0, 30]]
    jointType: revolute
    jointAxis: [0, 2, 0]
    jointRange: [-90, 45]
    maxJointVelocity: 180
    jointId: 1
    rotorInertia: 0.001
    gearRatio: 10
    elements:
      - type: RigidBody
        centerOfMass: [0, 0, 0.1]
        mass: 2.0
        inertia: [0.02, 0, 0, 0, 0.02, 0, 0, 0, 0.01]
      - type: Transform
        translation: [0, 0, 0.2]
        rotation: [0, 1, 0, 90]
        elements:
          RigidBody:
            centerOfMass: [0.1, 0, 0]
            mass: 1.0
            inertia: [0.003, 0, 0, 0.002, 0, 0.001]
  - name: SLIDE
    parent: LOWER
    translation: [0, 0, 0.4]
    jointType: prismatic
    jointAxis: -Z
    jointRange: [-0.2, unlimited]
    jointId: 0
    joint_name: lift
    mass: 0.7
    centerOfMass: [0.01, 0.02, 0.03]
    inertia: [0.002, 0.0001, 0, 0.003, 0, 0.0015]
"""
)
TWIN = f"""<robot name="arm"><link name="world"/><link name="LOWER"/><link name="a"><inertial>
<origin xyz="0 0 0.1"/><mass value="2"/>
<inertia ixx="0.02" iyy="0.02" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="b"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
<inertia ixx="0.003" iyy="0.002" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="SLIDE"><inertial><origin xyz="0.01 0.02 0.03"/><mass value="0.7"/>
<inertia ixx="0.002" ixy="0.0001" ixz="0" iyy="0.003" iyz="0" izz="0.0015"/></inertial></link>
<joint name="LOWER" type="revolute"><parent link="world"/><child link="LOWER"/>
<origin xyz="0.1 0.2 0.3" rpy="{math.pi / 6} 0 {math.pi / 2}"/><axis xyz="0 1 0"/>
<limit lower="{-math.pi / 2}" upper="{math.pi / 4}" effort="1" velocity="{math.pi}"/></joint>
<joint name="la" type="fixed"><parent link="LOWER"/><child link="a"/></joint>
<joint name="lb" type="fixed"><parent link="LOWER"/><child link="b"/>
<origin xyz="0 0 0.2" rpy="0 {math.pi / 2} 0"/></joint>
<joint name="lift" type="prismatic"><parent link="LOWER"/><child link="SLIDE"/>
<origin xyz="0 0 0.4"/><axis xyz="0 0 -1"/>
<limit lower="-0.2" upper="1e9" effort="1" velocity="1"/></joint></robot>"""


def body(tmp_path, text):
    """Return the path of a body file."""
    path = tmp_path / 'given.body'
    path.write_text(textwrap.dedent(text))
    return path


def one_link(tmp_path, keys, more=''):
    """Return a file with one free link and further keys."""
    inner = textwrap.indent(textwrap.dedent(keys), '    ')
    return body(tmp_path, f'{HEADER}{more}links:\n  - name: LINK\n    jointType: free\n{inner}')


def test_kinematics_and_masses_are_those_of_a_urdf_twin(tmp_path):
    """Compare frames and the mass matrix with Pinocchio, using a twin written by hand."""
    model = pinocchio.buildModelFromXML(TWIN)
    data = model.createData()
    robot = sb.World(gravity=(0, 0, 0)).load_body(body(tmp_path, ARM))
    assert robot.fixed_base
    assert robot.joint_names == ['lift', 'LOWER']
    order = [model.idx_vs[model.getJointId(name)] for name in robot.joint_names]
    rng = np.random.default_rng(0)
    for _ in range(5):
        q = rng.uniform((-0.2, -1.5), (0.5, 0.7))
        for name, position in zip(robot.joint_names, q, strict=True):
            robot.joint(name).q = position
        of_twin = np.empty(2)
        of_twin[order] = q
        pinocchio.framesForwardKinematics(model, data, of_twin)
        expected = pinocchio.crba(model, data, of_twin)[np.ix_(order, order)]
        expected = np.triu(expected) + np.triu(expected, 1).T
        # gear ratio 10, squared
        expected[1, 1] += 0.1
        assert sb.dynamics.mass_matrix(robot) == pytest.approx(expected, abs=1e-12)
        frame = data.oMf[model.getFrameId('SLIDE')]
        assert robot.link('SLIDE').p == pytest.approx(frame.translation, abs=1e-12)
        assert pytest.approx(frame.rotation, abs=1e-12) == robot.link('SLIDE').R


def test_limits_are_in_radians_unless_the_file_says_so(tmp_path):
    """Read ranges in degrees, in radians, as one number, and unlimited ones."""
    limits = load_description(body(tmp_path, ARM)).joints['LOWER'].limits
    assert (limits.lower, limits.upper) == pytest.approx((-math.pi / 2, math.pi / 4))
    assert limits.velocity == pytest.approx(math.pi)
    lift = load_description(body(tmp_path, ARM)).joints['lift'].limits
    assert (lift.lower, lift.upper) == (-0.2, math.inf)
    text = (
        ARM.replace('name: arm', 'name: arm\nangleUnit: radian')
        .replace('[-90, 45]', '1.5')
        .replace('180', '3')
    )
    turned = load_description(body(tmp_path, text)).joints['LOWER'].limits
    assert (turned.lower, turned.upper, turned.velocity) == (-1.5, 1.5, 3.0)


def test_missing_link_values_are_choreonoids_defaults(tmp_path):
    """Give a free link without mass 1 kg, warn about it, and place it as in the file."""
    description = load_description(one_link(tmp_path, 'translation: [1, 2, 3]\n'))
    link = description.links['LINK']
    assert (link.inertial.mass, link.inertial.inertia.tolist()) == (1.0, np.eye(3).tolist())
    assert [each.code for each in description.report.findings] == ['missing-inertial']
    robot = sb.World().load_body(description.source)
    assert robot.root_link.p.tolist() == [1, 2, 3]
    assert not robot.fixed_base


def test_shapes_of_every_kind_stand_where_they_are_put(tmp_path):
    """Rotate cylinders from y to z, scale shapes, and separate visual from collision shapes."""
    path = one_link(
        tmp_path,
        """\
        mass: 1
        elements:
          - type: Transform
            translation: [1, 0, 0]
            rotation: [0, 0, 1, 90]
            scale: [2, 2, 2]
            elements:
              - {type: Collision, shape: {geometry: {type: Cylinder, radius: 1, height: 3}}}
              - {type: Collision, shape: {geometry: {type: Cone, radius: 1, height: 3}}}
              - type: Visual
                elements: {Shape: {translation: [1, 0, 0], geometry: {type: Sphere, radius: 1}}}
        """,
    )
    link = load_description(path).links['LINK']
    assert [(each.kind, each.size) for each in link.collisions] == [
        ('cylinder', (2.0, 6.0)),
        ('cone', (2.0, 6.0)),
    ]
    # the transform's y is the link's -x
    assert link.collisions[1].pose.rotation[:, 2] == pytest.approx([-1, 0, 0], abs=1e-12)
    assert link.visuals[0].pose.position == pytest.approx([1, 2, 0], abs=1e-12)


def test_devices_are_sensors(tmp_path):
    """Read IMU, gyro, accelerometer and range sensor, rotated so that x is ahead."""
    path = one_link(
        tmp_path,
        """\
        mass: 1
        inertia: [1, 0, 0, 1, 0, 1]
        elements:
          - {type: IMU, name: imu, id: 0}
          - {type: RateGyroSensor, translation: [0, 0, 1]}
          - {type: AccelerationSensor, name: acc, on: true}
          - {type: RangeSensor, name: scan, scanAngle: 90, scanStep: 1, maxDistance: 5}
          - {type: Camera, name: eye}
        """,
    )
    description = load_description(path)
    sensors = {each.name: each for each in description.sensors}
    assert [each.kind for each in sensors.values()] == [IMU, GYRO, ACCELEROMETER, LIDAR]
    scan = sensors['scan']
    assert scan.settings.samples == 91
    assert (scan.settings.min_angle, scan.settings.maximum) == pytest.approx((-math.pi / 4, 5))
    # it looks along -z, y is up
    assert scan.pose.rotation[:, 0].tolist() == [0, 0, -1]
    assert scan.pose.rotation[:, 2].tolist() == [0, 1, 0]
    assert [each.code for each in description.report.findings] == ['not-simulated']


def test_shipped_bodies_are_sound():
    """Find no defect in the shipped body files."""
    files = sorted(Path(__file__).resolve().parents[2].glob('urdf/*.body'))
    assert len(files) == 3
    for path in files:
        assert check_description(path).findings == ()


@pytest.mark.parametrize(
    ('text', 'found'),
    [
        ('format: other\n', 'must be ChoreonoidBody'),
        ('modelFile: robot.wrl\n', 'refers to robot.wrl'),
        ('format: ChoreonoidBody\nformatVersion: 3\n', 'must be 1.0 to 2.0'),
        (HEADER, 'holds no link'),
        (HEADER + 'links: [', 'is no YAML'),
        (HEADER + 'links: [3]', 'must be a mapping'),
        (HEADER + 'links:\n  - {name: A}\n  - {name: A, parent: A}', 'line 4 has this name'),
        (HEADER + 'links:\n  - {name: A}\n  - {name: B}', 'the root link is A'),
        (HEADER + 'links:\n  - {name: A}\n  - {name: B, parent: AA}', "did you mean 'A'"),
        (
            HEADER + 'links:\n  - {name: A}\n  - {name: B, parent: C}\n  - {name: C, parent: B}',
            'cycle of links',
        ),
        (HEADER + 'rootLink: B\nlinks: [{name: A}]', 'no link has this name'),
        (HEADER + 'links:\n  - {name: A, jointType: revolut}', "did you mean 'revolute'"),
        (HEADER + 'links:\n  - {name: A, jointAxis: W}', '-X, -Y, -Z'),
        (HEADER + 'links:\n  - {name: A, jointAxis: [0, 0, 0]}', 'has no direction'),
        (HEADER + 'links:\n  - {name: A, mass: .nan}', 'finite number'),
        (HEADER + 'links:\n  - {name: A, mass: 1e308}', '1e+30 at most'),
        (
            HEADER + 'links:\n  - {name: A, mass: 1, inertia: [1e308, 0, 0, 1, 0, 1]}',
            'up to 1e+30',
        ),
        (HEADER + 'links:\n  - {name: A, mass: -1}', 'at least 0'),
        (HEADER + 'links:\n  - {name: A, rotation: [1, 0, 0]}', 'list of 4 finite'),
        (HEADER + 'links:\n  - {name: A, inertia: [1, 2]}', '6 or 9'),
        (HEADER + 'links:\n  - {name: A, jointRange: [1, -1]}', 'below the upper'),
        (HEADER + 'links:\n  - {type: SubBody, uri: a.body}', 'cannot be read'),
        (HEADER + 'links:\n  - {name: A, elements: {Bx: {}}}', 'the types are Group'),
        (HEADER + 'links:\n  - {name: A, elements: {Shape: {}}}', 'missing'),
        (
            HEADER
            + 'links:\n  - {name: A, elements: {Shape: {geometry: {type: Box, size: [1, 2]}}}}',
            '3 numbers above 0',
        ),
        (
            HEADER + 'links:\n  - {name: A, elements: {Shape: {geometry: {type: Torus}}}}',
            'the geometries are Box',
        ),
        (HEADER + 'links:\n  - {name: A, elements: {ForceSensor: {}}}', 'no parent joint'),
        (
            HEADER + 'links: [{name: A}]\nextraJoints:\n  - {link1Name: A, link2Name: B, '
            'jointType: ball}',
            'no link has this name',
        ),
    ],
)
def test_defects_are_named(tmp_path, text, found):
    """Report content that cannot be simulated, and name the accepted values."""
    report = check_description(body(tmp_path, text))
    assert not report.ok
    assert found in report.to_text()


def test_unknown_keys_are_reported_with_their_line(tmp_path):
    """Warn about an unread key; Choreonoid keeps it for its plugins."""
    [finding] = check_description(
        one_link(tmp_path, 'mass: 1\ninertia: [1, 0, 0, 1, 0, 1]\nmotorParams: 3\n')
    ).findings
    assert (finding.severity, finding.attribute, finding.line) == ('warning', 'motorParams', 8)


def test_joint_ids_given_twice_are_reported(tmp_path):
    """Warn about each joint with a repeated id; the joints keep their file order."""
    moving = 'parent: A, jointType: revolute, mass: 1, inertia: [1, 0, 0, 1, 0, 1], jointId: 4'
    text = HEADER + (
        'links:\n  - {name: A, jointType: fixed}\n'
        f'  - {{name: B, {moving}}}\n  - {{name: C, {moving}}}\n'
    )
    findings = check_description(body(tmp_path, text)).findings
    assert [(each.code, each.line) for each in findings] == [
        ('duplicate-id', 5),
        ('duplicate-id', 6),
    ]
    assert list(load_description(body(tmp_path, text)).joints) == ['B', 'C']


def test_merged_keys_are_overridden(tmp_path):
    """Copy a link by YAML's merge key, and refuse a key given twice."""
    text = HEADER + (
        'links:\n  - &a {name: A, jointType: fixed}\n  - {<<: *a, name: B, parent: A}\n'
    )
    description = load_description(body(tmp_path, text))
    assert list(description.joints) == ['B']
    assert description.joints['B'].type is JointType.FIXED
    twice = text.replace('name: B', 'name: B, name: C')
    assert 'is given twice' in check_description(body(tmp_path, twice)).to_text()
