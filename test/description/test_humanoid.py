"""OpenHRP's models in VRML97 are read like equivalent body files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.description import check_description, load_description
from sim_bridge.description.model import ConstraintType, JointType
from sim_bridge.description.sensor_kinds import FORCE_TORQUE, GYRO

SHIPPED = Path(__file__).resolve().parents[2] / 'urdf' / 'closed_link.wrl'
# the prototypes are written as in the shipped model
PROTOS = (
    SHIPPED.read_text()
    .partition('DEF GRAY')[0]
    .replace(
        'exposedField SFFloat    gearRatio        1',
        """exposedField SFFloat gearRatio 1
  exposedField MFFloat climit [] exposedField SFFloat torqueConst 1
  exposedField SFFloat equivalentInertia 0 """,
    )
    .replace(
        'PROTO ForceSensor',
        """PROTO RangeSensor [ exposedField SFVec3f translation 0 0 0
  exposedField SFRotation rotation 0 0 1 0 field SFFloat scanAngle 3.14 field SFFloat scanStep 0.1
  field SFFloat scanRate 10 field SFFloat maxDistance 10 ] { Transform { } }
PROTO VisionSensor [ field SFString type "COLOR" ] { Group { } }
PROTO Surface [ field MFNode visual [] field MFNode collision [] ] { Group { children IS visual } }
PROTO ForceSensor""",
    )
)


def model(tmp_path, joints, more=''):
    """Return a file with a robot of one root joint."""
    path = tmp_path / 'model.wrl'
    path.write_text(f'{PROTOS}DEF ROBOT Humanoid {{ humanoidBody [ {joints} ] }} {more}')
    return path


def test_the_shipped_model_swings_as_a_four_bar_linkage():
    """Keep the loop closed, its bar lengths and its energy during a fall."""
    assert check_description(SHIPPED).findings == ()
    world = sb.World()
    robot = world.load_body('closed_link')
    assert robot.fixed_base
    assert robot.joint_names == ['CRANK', 'COUPLER', 'ROCKER']
    assert (robot.joint('ROCKER').lower, robot.joint('ROCKER').upper) == (-1.5, 1.5)
    # gear ratio 10, squared
    assert robot.joint('CRANK').armature == pytest.approx(0.01)
    assert [each.kind for each in robot.description.sensors] == [FORCE_TORQUE, GYRO]
    begun = world.energy().total
    world.step(300)
    coupler, rocker = robot.link('COUPLER'), robot.link('ROCKER')
    tip = coupler.p + coupler.R @ [0.3, 0, 0.2]
    assert tip == pytest.approx(rocker.p + rocker.R @ [0, 0, 0.2], abs=1e-6)
    assert np.linalg.norm(tip - [0.4, 0, 0.3]) == pytest.approx(0.2, abs=1e-6)
    assert abs(robot.joint('CRANK').q) > 0.3
    assert world.energy().total == pytest.approx(begun, abs=1e-3)


def test_segments_add_up(tmp_path):
    """Combine the masses of two segments, one rotated and moved, about their centre."""
    robot = load_description(
        model(
            tmp_path,
            """DEF L Joint { jointType "free" translation 1 2 3
      children [ DEF A Segment { mass 2 centerOfMass 0 0 1 momentsOfInertia [1 0 0 0 2 0 0 0 3] }
        Transform { translation 0 1 0 rotation 0 0 1 1.5707963267948966 children
          DEF B Segment { mass 1 centerOfMass 1 0 0
            momentsOfInertia [4 0 0 0 5 0 0 0 6] } } ] }""",
        )
    )
    own = robot.links['L'].inertial
    a, b = np.array([0, 0, 1.0]), np.array([0, 2.0, 0])
    center = (2 * a + b) / 3
    expected = np.diag([1.0, 2, 3]) + np.diag([5.0, 4, 6])
    for mass, at in ((2, a), (1, b)):
        arm = at - center
        expected += mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    assert (own.mass, own.pose.position) == (3, pytest.approx(center))
    assert own.inertia == pytest.approx(expected)
    assert robot.base_pose.position.tolist() == [1, 2, 3]


@pytest.mark.parametrize('track', ['pseudoContinuousTrack', 'crawler'])
def test_joints_limits_and_motors(tmp_path, track):
    """Read every joint kind, its axis as letter or vector, and limits given as lists."""
    child = (
        'DEF {0} Joint {{ jointType "{1}" jointId {2} {3} children [ DEF S{0} Segment '
        '{{ mass 1 momentsOfInertia [1 0 0 0 1 0 0 0 1] }} ] }}'
    )
    root = 'DEF R Joint { jointType "fixed" children ['
    robot = load_description(
        model(
            tmp_path,
            root
            + ' '.join(
                (
                    child.format(
                        'T',
                        'rotate',
                        1,
                        'jointAxis "Y" llimit -1 ulimit [2] lvlimit [-3] uvlimit 3 '
                        'climit [4] torqueConst 0.5 gearRatio 10',
                    ),
                    child.format('S', 'slide', 0, 'jointAxis 0 0 -2 equivalentInertia 7'),
                    child.format('F', 'free', -1, ''),
                    child.format('C', track, 2, 'jointAxis 0 1 0'),
                )
            )
            + ']}',
        )
    )
    assert list(robot.joints) == ['S', 'T', 'C', 'F']
    turn, slide = robot.joints['T'], robot.joints['S']
    assert (turn.axis.tolist(), turn.limits.lower, turn.limits.upper) == ([0, 1, 0], -1, 2)
    assert (turn.limits.velocity, turn.limits.effort) == (3, 20)
    assert (slide.type, slide.axis.tolist(), slide.dynamics.armature) == (
        JointType.PRISMATIC,
        [0, 0, -1],
        7,
    )
    assert robot.joints['F'].type is JointType.FLOATING
    assert [each.name for each in robot.crawlers] == ['C']
    assert robot.joint_ids == {'T': 1, 'S': 0, 'C': 2}


def test_shapes_devices_and_surfaces(tmp_path):
    """Draw the segments' shapes, collide with Surface's own, measure with moving devices."""
    robot = load_description(
        model(
            tmp_path,
            """DEF L Joint { jointType "free" children [
      DEF A Segment { mass 1 momentsOfInertia [1 0 0 0 1 0 0 0 1] children [
        Shape { geometry Cylinder { radius 1 height 3 } }
        Surface { visual Shape { geometry Sphere { } } collision Shape { geometry Box { } } } ] }
      Transform { translation 0 0 1 children DEF G Gyro { translation 0 1 0 } }
      DEF SCAN RangeSensor { scanAngle 1 scanStep 0.5 }
      DEF EYE VisionSensor { } ] }""",
        )
    )
    link = robot.links['L']
    assert [each.kind for each in link.visuals] == ['cylinder', 'sphere']
    assert [(each.kind, each.size) for each in link.collisions] == [('box', (2, 2, 2))]
    sensors = {each.name: each for each in robot.sensors}
    assert sensors['G'].pose.position.tolist() == [0, 1, 1]
    scan = sensors['SCAN'].settings
    assert (scan.samples, scan.max_angle, scan.minimum) == (3, pytest.approx(0.5), 0.01)
    assert [each.message for each in robot.report.findings] == ['cameras are not simulated']


def test_extra_joints_and_scenery(tmp_path):
    """Close loops with balls and pistons; read a file of shapes as a body with one link."""
    closed = load_description(
        model(
            tmp_path,
            """DEF A Joint { jointType "free" children [
        DEF SA Segment { mass 1 momentsOfInertia [1 0 0 0 1 0 0 0 1] }
        DEF B Joint { jointType "rotate" jointId 0 translation 1 0 0 children
          DEF SB Segment { mass 1 momentsOfInertia [1 0 0 0 1 0 0 0 1] } } ] }""",
            """DEF AB ExtraJoint { link1Name "A" link2Name "B" link1LocalPos 1 0 2
        jointType "piston" jointAxis 0 0 1 }""",
        )
    )
    [joint] = closed.constraints
    assert (joint.name, joint.type) == ('AB', ConstraintType.PISTON)
    assert (joint.position1.tolist(), joint.axis.tolist()) == ([1, 0, 2], [0, 0, 1])
    path = tmp_path / 'floor.wrl'
    path.write_text(
        '#VRML V2.0 utf8\nTransform { translation 0 0 -1 children '
        'Shape { geometry Box { size 9 9 2 } } }'
    )
    floor = load_description(path)
    assert (floor.is_welded, list(floor.links)) == (True, ['Root'])
    assert floor.links['Root'].collisions[0].pose.position.tolist() == [0, 0, -1]


@pytest.mark.parametrize(
    ('text', 'line', 'found'),
    [
        ('Shape { }', 1, 'neither a Humanoid nor a shape'),
        ('Group {\n children Shpe { } }', 3, "no node of type 'Shpe'"),
        (f'{PROTOS}DEF R Humanoid {{ humanoidBody [ ] }}', None, 'must hold one Joint'),
        (
            f'{PROTOS}Humanoid {{ humanoidBody DEF R Joint {{ jointType "turn" }} }}',
            None,
            'the types are rotate, slide, free',
        ),
        (
            f'{PROTOS}Humanoid {{ humanoidBody DEF R Joint {{ jointType "fixed" children '
            'Transform { children DEF C Joint { jointType "fixed" } } } }',
            None,
            'among the children of another',
        ),
    ],
)
def test_defects_are_named_with_their_line(tmp_path, text, line, found):
    """Report an unreadable model, with the line in the file."""
    path = tmp_path / 'bad.wrl'
    path.write_text(text if text.startswith('#') else f'#VRML V2.0 utf8\n{text}')
    report = check_description(path)
    assert found in report.to_text()
    assert line is None or report.errors[0].line == line


def test_massless_links_are_reported(tmp_path):
    """Warn about a moving link without a segment, with the line of its joint."""
    path = model(
        tmp_path,
        """DEF R Joint { jointType "fixed" children
        DEF L Joint { jointType "rotate" jointId 0 } }""",
    )
    _, finding = check_description(path).findings
    assert 'moves no inertia' in finding.message
    assert 'DEF L' in path.read_text().splitlines()[finding.line - 1]
