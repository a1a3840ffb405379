"""Composed body files: sub-bodies, tracks, point geometry, parts of mesh files."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.description import check_description, load_description
from sim_bridge.description.model import ConstraintType, JointType
from sim_bridge.description.urdf.write import urdf_text

HEADER = 'format: ChoreonoidBody\nformatVersion: 2.0\n'
ARM = (
    HEADER
    + """angleUnit: radian
links:
  - name: BASE
    translation: [0, 0, 9]
    elements: {Shape: {geometry: {type: Box, size: [1, 1, 1]}}}
  - {name: HAND, joint_name: wrist, parent: BASE, jointType: revolute, jointId: 0, jointAxis: Y,
     translation: [1, 0, 0], mass: 1, inertia: [1, 0, 0, 1, 0, 1], jointRange: [-1, 1],
     elements: [{type: RateGyroSensor, name: gyro}, {type: Resource, uri: hand.wrl}]}
extraJoints:
  - {name: tie, link1Name: BASE, link2Name: HAND, jointType: ball, link1LocalPos: [1, 0, 0],
     link2LocalPos: [0, 0, 0]}
"""
)
TWO = (
    HEADER
    + """angleUnit: radian
links:
  - {name: ROOT, jointType: free, mass: 2, inertia: [1, 0, 0, 1, 0, 1]}
  - {type: SubBody, uri: parts/arm.body, prefix: L_, parent: ROOT, jointType: fixed,
     translation: [0, 1, 0], jointIdOffset: 4}
  - {type: SubBody, uri: parts/arm.body, prefix: R_, suffix: _2, devicePrefix: right_,
     parent: ROOT, translation: [0, -1, 0], rotation: [0, 0, 1, 3],
     elements: {Shape: {geometry: {type: Sphere, radius: 1}}}}
"""
)


def body(tmp_path, text, name='robot.body'):
    """Return the path of a body file."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_sub_bodies_are_taken_whole(tmp_path):
    """Use a file twice, with other names, ids and poses; its paths start at its folder."""
    body(tmp_path, ARM, 'parts/arm.body')
    (tmp_path / 'parts' / 'hand.wrl').write_text('Shape { geometry Box { } }')
    robot = load_description(body(tmp_path, TWO))
    assert list(robot.links) == ['ROOT', 'L_BASE', 'L_HAND', 'R_BASE_2', 'R_HAND_2']
    # by ids: 0 in the second, 4 in the first
    assert list(robot.joints)[:2] == ['R_wrist_2', 'L_wrist']
    assert robot.joints['L_BASE'].origin.position.tolist() == [0, 1, 0]
    assert robot.joints['R_BASE_2'].origin.rotation[0, 0] == pytest.approx(math.cos(3))
    assert robot.joints['L_wrist'].limits.upper == 1
    assert [each.name for each in robot.sensors] == ['L_gyro', 'right_gyro']
    assert [each.kind for each in robot.links['R_BASE_2'].collisions] == ['box', 'sphere']
    mesh = robot.links['L_HAND'].collisions[0]
    assert mesh.path == str(tmp_path / 'parts' / 'hand.wrl')
    assert [(each.name, each.link1, each.link2) for each in robot.constraints] == [
        ('L_tie', 'L_BASE', 'L_HAND'),
        ('R_tie_2', 'R_BASE_2', 'R_HAND_2'),
    ]
    assert sorted(robot.files) == sorted(
        map(str, (tmp_path / 'parts' / 'arm.body', tmp_path / 'robot.body'))
    )


@pytest.mark.parametrize(
    ('text', 'found'),
    [
        (HEADER + 'links:\n  - {type: SubBody, uri: robot.body}', 'the file contains itself'),
        (HEADER + 'links:\n  - {type: SubBody}', 'uri: missing'),
        (HEADER + 'links:\n  - {type: Lnk, name: A}', 'ContinuousTrack, SubBody, Link and Skip'),
        (
            TWO.replace('angleUnit: radian', 'angleUnit: degree'),
            'two files have different angle units',
        ),
        (TWO.replace('prefix: R_, suffix: _2', 'prefix: L_'), 'has this name'),
    ],
)
def test_defects_of_sub_bodies_are_named(tmp_path, text, found):
    """Report sub-bodies that cannot be composed."""
    body(tmp_path, ARM, 'parts/arm.body')
    assert found in check_description(body(tmp_path, text)).to_text()


def test_defects_within_a_sub_body_name_its_file(tmp_path):
    """Name the file of the line."""
    body(tmp_path, ARM.replace('mass: 1', 'mass: -1'), 'parts/arm.body')
    text = check_description(body(tmp_path, TWO)).to_text()
    assert 'HAND of arm.body' in text
    assert 'at least 0' in text


def test_a_track_is_a_ring_of_shoes(tmp_path):
    """Attach a closed chain to a body; it stays closed and keeps its length during a fall."""
    count = 8
    path = body(
        tmp_path,
        HEADER
        + f"""links:
  - {{name: BODY, jointType: fixed}}
  - type: ContinuousTrack
    name: SHOE
    parent: BODY
    numJoints: {count}
    jointAxis: Y
    jointOffset: [0.1, 0, 0]
    initialJointAngles: [{', '.join(['45'] * (count - 1))}]
    mass: 0.5
    centerOfMass: [0.05, 0, 0]
    inertia: [0.001, 0, 0, 0.001, 0, 0.001]
    elements:
      Shape: {{translation: [0.05, 0, 0], geometry: {{type: Box, size: [0.09, 0.2, 0.01]}}}}
""",
    )
    robot = sb.World().load_body(path)
    description = robot.description
    assert list(description.links)[1:] == [f'SHOE{k}' for k in range(count)]
    assert description.joints['SHOE0'].type is JointType.FLOATING
    [closing] = description.constraints
    assert (closing.name, closing.type) == ('SHOE_closing', ConstraintType.HINGE)
    world = robot.world
    world.step(100)
    ends = [robot.link(f'SHOE{k}').p for k in range(count)]
    steps = np.diff([*ends, ends[0]], axis=0)
    assert np.linalg.norm(steps, axis=1) == pytest.approx(np.full(count, 0.1), abs=1e-6)
    # nothing carries it: its centre falls freely, and it began as a regular polygon
    assert np.mean(ends, axis=0)[2] == pytest.approx(
        -0.05 / math.tan(math.pi / count) - 0.5 * 9.81 * 0.1**2, abs=1e-4
    )
    for key, value, message in (
        ('numJoints', '2', 'from 3 to 1000'),
        ('jointOffset', '[0, 0, 0]', 'from a shoe to the next'),
    ):
        text = path.read_text().splitlines()
        wrong = '\n'.join(f'    {key}: {value}' if key in line else line for line in text)
        assert message in check_description(body(tmp_path, wrong, 'b.body')).to_text()


def surfaces(tmp_path, geometry, place=''):
    """Return a file with one welded link and a geometry, and its first collision shape."""
    path = body(
        tmp_path,
        f'{HEADER}links:\n  - name: A\n    elements:\n      Shape: '
        f'{{{place} geometry: {{{geometry}}}}}\n',
    )
    return path, check_description(path)


@pytest.mark.parametrize(
    ('geometry', 'expected'),
    [
        (
            'type: Extrusion, crossSection: [0, 0, 0, 2, 1, 2, 1, 1, 3, 1, 3, 0, 0, 0], '
            'spine: [0, 0, 0, 0, 3, 0]',
            12.0,
        ),
        (
            'type: Extrusion, spine: [0, 0, 0, 0, 3, 0], scale: [1, 1, 0.5, 0.5, 7], '
            'orientation: [0, 1, 0, 90]',
            7.0,
        ),
        (
            'type: TriangleMesh, vertices: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], '
            'faces: [0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2]',
            1 / 6,
        ),
        (
            'type: IndexedFaceSet, coordinate: [0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0.5, 0.5, 3], '
            'coordIndex: [0, 3, 2, 1, -1, 0, 1, 4, -1, 1, 2, 4, -1, 2, 3, 4, -1, 3, 0, 4]',
            1.0,
        ),
    ],
)
def test_surfaces_collide_as_hulls_or_triangles(tmp_path, geometry, expected):
    """Read each kind of point geometry, even obliquely scaled, as a solid with its volume."""
    place = 'translation: [1, 0, 0], rotation: [0, 0, 1, 30], scale: [2, 1, 1],'
    path, report = surfaces(tmp_path, geometry, place)
    assert report.ok
    shape = sb.World().load_body(path, collisions='mesh').geometries[0].shape
    assert shape.mass_properties(1.0).mass == pytest.approx(2 * expected)
    hull = sb.World().load_body(path).geometries[0].shape
    assert hull.mass_properties(1.0).mass >= 2 * expected * (1 - 1e-12)
    xml = urdf_text(load_description(path), mesh_folder=tmp_path / 'drawn')
    assert xml.count('.stl') == 2


@pytest.mark.parametrize(
    ('geometry', 'found'),
    [
        ('type: ElevationGrid, xDimension: 2, zDimension: 2, height: [1, 2, 3]', '2 × 2 heights'),
        ('type: IndexedFaceSet, vertices: [0, 0, 0], faces: [0, 1, 2]', 'not among the 1 points'),
        ('type: IndexedFaceSet, vertices: [0, 0, 0]', 'faces (coordIndex) are missing'),
        ('type: TriangleMesh, vertices: [0, 0, 0], faces: [0, 0]', 'are no triangles'),
        ('type: Extrusion, spine: [0, 0, 0]', 'at least 2 points'),
        ('type: Extrusion, spine: [0, 0, 0, 0, 1, 0], scale: [1, 1, 1, 1, 2, 2]', '1 or 2 scales'),
        ('type: Extrusion, spine: [0, 0, x]', '3 numbers for each'),
        ('type: Resource, uri: a.stl, node: B', 'supported for .wrl files only'),
        ('type: Resource, uri: a.yaml', 'cannot be read'),
    ],
)
def test_defects_of_surfaces_are_named(tmp_path, geometry, found):
    """Report geometry that has no surface."""
    assert found in surfaces(tmp_path, geometry)[1].to_text()


def test_terrain_keeps_its_hollows(tmp_path):
    """Let a ball rest in a height grid's dip; a hull would fill it."""
    path, report = surfaces(
        tmp_path,
        'type: ElevationGrid, xDimension: 3, zDimension: 3, height: [1, 1, 1, 1, 0, 1, 1, 1, 1]',
        'rotation: [1, 0, 0, 90],',
    )
    assert report.ok
    world = sb.World()
    world.load_body(path)
    # the grid lies from x 0 to 2 and y -2 to 0
    ball = world.add_body(sb.Sphere(0.2), mass=1, position=(1, -1, 0.6))
    world.step(1500)
    # the dip's faces slope by 45 degrees along an axis, and form a valley between two axes
    assert 0.2 < ball.root_link.p[2] < 0.4
    assert np.linalg.norm(ball.root_link.v) < 1e-3


def test_parts_of_a_mesh_file_by_name(tmp_path):
    """Use a node in a VRML file, independent of its place there."""
    (tmp_path / 'parts.wrl').write_text(
        'DEF HULL Transform { translation 5 0 0 children Shape { geometry Box { size 2 4 6 } } } '
        'DEF WHEEL Shape { geometry Sphere { } }'
    )
    path, report = surfaces(tmp_path, 'type: Resource, uri: parts.wrl, node: HULL')
    assert report.ok
    corners = sb.World().load_body(path).geometries[0].shape.vertices
    assert np.abs(corners).max(axis=0).tolist() == [1, 2, 3]
    path, _ = surfaces(tmp_path, 'type: Resource, uri: parts.wrl, node: HUL')
    with pytest.raises(sb.DescriptionError, match=r"did you mean 'HULL'"):
        sb.World().load_body(path)


def test_parts_of_yaml_files_by_their_anchors(tmp_path):
    """Use nodes at an anchor in another file, whose paths start at its folder."""
    (tmp_path / 'common').mkdir()
    parts = tmp_path / 'common' / 'parts.yaml'
    parts.write_text("""
GYRO: &GYRO {type: RateGyroSensor, name: turn, translation: [0, 0, 1]}
BOTH:
  - &PAIR
    - {type: Shape, geometry: {type: Box, size: [1, 2, 3]}}
    - {type: Resource, uri: wheel.wrl}
LOOP: &LOOP {type: Resource, uri: parts.yaml, node: LOOP}
""")
    text = (
        HEADER
        + """links:
  - name: A
    jointType: free
    mass: 1
    inertia: [1, 0, 0, 1, 0, 1]
    elements:
      - {type: Resource, uri: common/parts.yaml, node: GYRO, translation: [1, 0, 0]}
      - {type: Resource, uri: common/parts.yaml, node: PAIR, rotation: [0, 0, 1, 90]}
"""
    )
    robot = load_description(body(tmp_path, text))
    assert robot.sensors[0].pose.position.tolist() == [1, 0, 1]
    box, wheel = robot.links['A'].collisions
    assert (box.kind, box.pose.rotation[0, 1]) == ('box', pytest.approx(-1))
    assert wheel.filename == 'common/wheel.wrl'
    assert str(parts) in robot.files
    for wrong, message in (('LOOP', 'contains itself'), ('NONE', 'no such anchor')):
        report = check_description(body(tmp_path, text.replace('GYRO', wrong)))
        assert message in report.to_text()


def test_a_hinge_keeps_the_gap_of_its_anchors_along_its_axis(tmp_path):
    """Close a loop whose anchors are apart along the axis, like Choreonoid's ODE plugin."""
    path = body(
        tmp_path,
        HEADER
        + """links:
  - {name: A, jointType: fixed}
  - {name: B, parent: A, jointType: revolute, jointAxis: Z, mass: 1, inertia: [1, 0, 0, 1, 0, 1]}
  - {name: C, parent: A, jointType: revolute, jointAxis: Z, translation: [2, 0, 0], mass: 1,
     inertia: [1, 0, 0, 1, 0, 1]}
extraJoints:
  - {link1Name: B, link2Name: C, jointType: hinge, jointAxis: [0, 0, 1],
     link1LocalPos: [1, 0, 0.04], link2LocalPos: [-1, 0, 0]}
""",
    )
    [finding] = check_description(path).findings
    assert '-0.04 m apart along the axis' in finding.message
    robot = sb.World().load_body(path)
    robot.world.step(10)


def test_materials_of_links_are_those_of_the_world(tmp_path):
    """Use the world's material with the link's material name; warn about an unknown name."""
    path = body(
        tmp_path,
        HEADER + 'links:\n  - {name: A, material: Ice, elements: {Shape: '
        '{geometry: {type: Box, size: [1, 1, 1]}}}}\n',
    )
    world = sb.World()
    plain = world.load_body(path, 'plain')
    assert plain.geometries[0].material.name == 'default'
    assert 'no such material' in plain.description.report.to_text()
    world.materials.add(sb.Material('Ice', friction=0.01))
    icy = world.load_body(path, 'icy')
    assert icy.geometries[0].material.friction == 0.01
    assert icy.description.report.ok
