"""Robots in USD: kinematics and dynamics beside the sources of converted files, joints, masses."""

import math
from pathlib import Path
import subprocess
import sys

import numpy as np
from pxr import Usd, UsdPhysics
import pytest
from usd_files import body, joint, write
from usd_twins import differences

import sim_bridge as sb
from sim_bridge.description.load import examine_description, load_description
from sim_bridge.description.mechanism.loops import link_poses
from sim_bridge.description.model import ConstraintType, JointType
from sim_bridge.foundation.rotation import matrix_from_rpy

# the converters' files hold positions and limits in single precision
_SINGLE = 1e-6
_FOLDER = Path(__file__).parent / 'usd'
_JOINTS = """
<mujoco model="joints">
  <compiler angle="degree"/>
  <option gravity="0.3 -0.4 -9.81"/>
  <default><geom type="capsule" size="0.04 0.1" density="800"/></default>
  <worldbody>
    <body name="post" pos="0.2 0 1" euler="10 20 30">
      <geom type="box" size="0.05 0.1 0.03" pos="0.02 0.01 0" euler="0 40 0"/>
      <body name="rod" pos="0 0.3 0.1" euler="0 0 50">
        <joint name="swing" axis="0 1 0" pos="0.02 0 0" range="-60 80" damping="0.2"
          armature="0.03" frictionloss="0.1"/>
        <geom/>
        <body name="ball" pos="0 0.2 0">
          <joint name="shoulder" type="ball" damping="0.05"/>
          <geom type="sphere" size="0.07"/>
        </body>
        <body name="slider" pos="0.1 0 0">
          <joint name="reach" type="slide" axis="1 1 0" range="-1 1" armature="0.2"
            stiffness="30" damping="2"/>
          <geom type="cylinder" size="0.05 0.06"/>
          <body name="disc" pos="0 0 0.2">
            <joint name="first" axis="0 0 1" damping="0.1"/>
            <joint name="second" axis="1 0 0" pos="0 0.03 0.01" damping="0.1"/>
            <geom mass="0.7"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <position name="servo" joint="swing" kp="20" kv="1" forcerange="-5 5"/>
    <motor name="push" joint="reach" gear="3"/>
  </actuator>
</mujoco>"""


def codes(report):
    """Return a report's codes."""
    return {finding.code for finding in report.findings}


# --- converted files ---------------------------------------------------------------------------


@pytest.mark.parametrize('name', ['arm', 'hand'])
def test_a_urdf_converted_to_usd_is_the_same_robot(name):
    """Have a URDF's mass matrix, bias force, poses and path in its converted USD file."""
    own, other = load_description(name), load_description(_FOLDER / f'{name}.usdc')
    assert not other.report.findings
    found = differences(own, other)
    assert max(found.values()) < _SINGLE, found
    for joint_name, theirs in other.joints.items():
        mine = own.joints[joint_name]
        assert mine.type is theirs.type
        for key in ('lower', 'upper', 'effort', 'velocity'):
            expected = getattr(mine.limits, key)
            assert getattr(theirs.limits, key) == pytest.approx(expected, rel=_SINGLE)
        for key in ('damping', 'friction'):
            expected = getattr(mine.dynamics, key)
            assert getattr(theirs.dynamics, key) == pytest.approx(expected, rel=_SINGLE)
        if mine.mimic is not None:
            assert theirs.mimic.joint == mine.mimic.joint
            assert theirs.mimic.multiplier == pytest.approx(mine.mimic.multiplier, rel=_SINGLE)


def test_an_mjcf_converted_to_usd_is_the_same_robot():
    """Have all joint kinds, several joints on a body and geom masses as read from MJCF."""
    own, other = load_description(_JOINTS), load_description(_FOLDER / 'joints.usdc')
    assert not other.report.findings
    found = differences(own, other)
    assert max(found.values()) < _SINGLE, found
    for name, theirs in other.joints.items():
        mine = own.joints[name]
        assert mine.type is theirs.type
        for key in ('damping', 'friction', 'armature', 'stiffness', 'reference'):
            expected = getattr(mine.dynamics, key)
            assert getattr(theirs.dynamics, key) == pytest.approx(expected, rel=_SINGLE)


def test_mujocos_actuators_in_usd_exert_the_forces_of_mjcf():
    """Follow the MJCF robot's path under equal controls."""
    paths = []
    for source in (_JOINTS, _FOLDER / 'joints.usdc'):
        world = sb.World(time_step=0.001)
        robot = world.add_robot(load_description(source), collisions='none')
        robot.actuators['servo'].control, robot.actuators['push'].control = 0.4, 2.0
        world.step(300)
        order = np.argsort([name or '' for name in robot.joint_names])
        paths.append(np.asarray(robot.q)[order])
    assert np.abs(paths[0] - paths[1]).max() < _SINGLE
    assert np.abs(paths[0]).max() > 0.1


def test_usd_cores_own_parser_finds_the_same_bodies_and_joints():
    """Have the bodies, limits and joint frames of usd-core's parser of physics."""
    path = _FOLDER / 'joints.usdc'
    description = load_description(path)
    stage = Usd.Stage.Open(str(path))
    parsed = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, ['/'])
    bodies, _ = parsed[UsdPhysics.ObjectType.RigidBody]
    names = {link.name for link in description.links.values() if link.inertial is not None}
    assert {each.name for each in bodies} == names
    paths, joints = parsed[UsdPhysics.ObjectType.RevoluteJoint]
    assert {each.name for each in paths} == {'swing', 'first', 'second'}
    swing = joints[[each.name for each in paths].index('swing')]
    own = description.joints['swing']
    assert math.degrees(own.limits.lower) == pytest.approx(swing.limit.lower, rel=_SINGLE)
    assert math.degrees(own.limits.upper) == pytest.approx(swing.limit.upper, rel=_SINGLE)
    assert own.origin.position == pytest.approx(np.array(swing.localPose0Position), abs=_SINGLE)
    inner = np.array(swing.localPose1Position)
    assert own.child_pose.inverse.position == pytest.approx(inner, abs=_SINGLE)


# --- units, frames -----------------------------------------------------------------------------

_PENDULUM = body('post') + body('rod', at='{0}, 0, 0') + joint(
    'FixedJoint', 'hold', '', 'post'
) + joint(
    'RevoluteJoint',
    'swing',
    'post',
    'rod',
    """    uniform token physics:axis = "Y"
    point3f physics:localPos1 = (-{0}, 0, 0)
    float physics:lowerLimit = -90
    float physics:upperLimit = 45""",
)  # fmt: skip


def test_units_of_length_and_mass_are_those_of_the_stage(tmp_path):
    """Read a stage in centimetres and grams as the same stage in metres and kilograms."""
    text = _PENDULUM.replace('{0}', '0.5')
    small = (
        _PENDULUM.replace('{0}', '50')
        .replace('mass = 2', 'mass = 2000')
        .replace('(0.1, 0.2, 0.3)', '(1e6, 2e6, 3e6)')
    )
    own = load_description(write(tmp_path, text))
    other = load_description(
        write(tmp_path, small, meters=0.01, kilograms=0.001, name='small.usda')
    )
    found = differences(own, other)
    assert max(found.values()) < 1e-9, found
    limits = other.joints['swing'].limits
    assert (limits.lower, limits.upper) == pytest.approx((-math.pi / 2, math.pi / 4))


def test_a_stage_with_y_up_stands_upright(tmp_path):
    """Turn a stage with y up, so that its height is along z."""
    text = body('box', at='1, 2, 3')
    path = write(tmp_path, text, up='Y')
    assert load_description(path).base_pose.position.tolist() == [1.0, -3.0, 2.0]


def test_joints_count_from_their_frames_and_start_where_the_bodies_are(tmp_path):
    """Read a hinge whose bodies are 30 degrees apart, from either of its ends."""
    turned = """    float xformOp:rotateY = 30
    uniform token[] xformOpOrder = ["xformOp:rotateY"]"""
    inner = """    uniform token physics:axis = "Y"
    point3f physics:localPos0 = (0, 0, 0)
    point3f physics:localPos1 = (0, 0, 0)"""
    bodies = body('post') + body('rod').replace(
        """    double3 xformOp:translate = (0, 0, 0)
    uniform token[] xformOpOrder = ["xformOp:translate"]""",
        turned,
    )
    hold = joint('FixedJoint', 'hold', '', 'post')
    for ends, sign in ((('post', 'rod'), 1.0), (('rod', 'post'), -1.0)):
        path = write(tmp_path, bodies + hold + joint('RevoluteJoint', 'hinge', *ends, inner))
        found = load_description(path)
        assert found.joints['hinge'].parent == 'post'
        assert found.positions['hinge'] == pytest.approx(sign * math.radians(30.0))
        pose = link_poses(found, found.positions)['rod']
        expected = matrix_from_rpy((0.0, math.radians(30.0), 0.0))
        assert pose.rotation == pytest.approx(expected, abs=1e-6)


def test_frames_on_scaled_bodies_are_scaled(tmp_path):
    """Scale a joint's place, a mass centre and a collider with their body."""
    scaled = body(
        'rod',
        """    float3 xformOp:scale = (2, 3, 4)
    def Cube "cube" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        double size = 0.1
    }""",
    ).replace('["xformOp:translate"]', '["xformOp:translate", "xformOp:scale"]')
    scaled = scaled.replace('centerOfMass = (0, 0, 0)', 'centerOfMass = (0.1, 0.1, 0.1)')
    hinge = joint('RevoluteJoint', 'hinge', '', 'rod', '    point3f physics:localPos1 = (1, 0, 0)')
    found = load_description(write(tmp_path, scaled + hinge))
    assert found.joints['hinge'].child_pose.inverse.position == pytest.approx([2.0, 0.0, 0.0])
    link = found.links['rod']
    assert link.inertial.pose.position == pytest.approx([0.2, 0.3, 0.4])
    assert link.collisions[0].size == pytest.approx((0.2, 0.3, 0.4))


# --- joints ------------------------------------------------------------------------------------


def generic(locked, limits=''):
    """Return a generic joint between two bodies, with some motions locked."""
    schemas = ', '.join(f'"PhysicsLimitAPI:{name}"' for name in locked)
    inner = ''.join(
        f'    float limit:{name}:physics:low = 1\n    float limit:{name}:physics:high = -1\n'
        for name in locked
    )
    bodies = body('post') + body('rod') + joint('FixedJoint', 'hold', '', 'post')
    return bodies + joint('Joint', 'free', 'post', 'rod', inner + limits, schemas)


_SLIDES, _TURNS = ('transX', 'transY', 'transZ'), ('rotX', 'rotY', 'rotZ')


@pytest.mark.parametrize(
    ('locked', 'types'),
    [
        ((*_SLIDES, *_TURNS), [JointType.FIXED]),
        ((*_SLIDES, 'rotX', 'rotZ'), [JointType.CONTINUOUS]),
        (('transX', 'transY', *_TURNS), [JointType.PRISMATIC]),
        (_SLIDES, [JointType.BALL]),
        ((*_SLIDES, 'rotY'), [JointType.CONTINUOUS, JointType.CONTINUOUS]),
        (('transZ', 'rotX', 'rotY'), [JointType.PRISMATIC] * 2 + [JointType.CONTINUOUS]),
    ],
)
def test_generic_joints_have_the_motions_that_are_not_locked(tmp_path, locked, types):
    """Read generic joints as their single motions in series."""
    found = load_description(write(tmp_path, generic(locked)))
    assert [each.type for each in found.joints.values()] == types


def test_loops_are_closed_by_the_joints_beyond_the_tree(tmp_path):
    """Close a four-bar linkage; its motion keeps both joint frames together."""
    bars = (
        body('left', at='0, 0, 0.5') + body('top', at='0.5, 0, 1') + body('right', at='1, 0, 0.5')
    )
    axis = '    uniform token physics:axis = "Y"\n'

    def hinge(name, body0, body1, place0, place1):
        places = (
            f'    point3f physics:localPos0 = {place0}\n    point3f physics:localPos1 = {place1}'
        )
        return joint('RevoluteJoint', name, body0, body1, axis + places)

    text = bars + ''.join(
        (
            hinge('a', '', 'left', (0, 0, 0), (0, 0, -0.5)),
            hinge('b', 'left', 'top', (0, 0, 0.5), (-0.5, 0, 0)),
            hinge('c', 'top', 'right', (0.5, 0, 0), (0, 0, 0.5)),
            hinge('d', '', 'right', (1, 0, 0), (0, 0, -0.5)),
        )
    )
    found = load_description(write(tmp_path, text))
    assert [each.type for each in found.constraints] == [ConstraintType.HINGE]
    world = sb.World(time_step=0.001)
    robot = world.add_robot(found, collisions='none')
    world.step(500)
    links = {link.name: link for link in robot.links}
    left, right = (links[name].p for name in ('left', 'right'))
    # both bars stay parallel, one metre apart
    assert right - left == pytest.approx([1.0, 0.0, 0.0], abs=1e-6)
    assert abs(left[0]) < 1.0


def test_joints_left_out_of_the_articulation_are_loop_joints(tmp_path):
    """Hold a body by a fixed loop joint instead of a joint of the tree."""
    flag = '    bool physics:excludeFromArticulation = true'
    text = body('post') + body('rod', at='1, 0, 0')
    text += joint('FixedJoint', 'hold', '', 'post')
    text += joint(
        'FixedJoint', 'weld', 'post', 'rod', flag + '\n    point3f physics:localPos0 = (1, 0, 0)'
    )
    found = load_description(write(tmp_path, text))
    assert [each.type for each in found.constraints] == [ConstraintType.FIXED]
    world = sb.World(time_step=0.001)
    robot = world.add_robot(found, collisions='none')
    world.step(300)
    links = {link.name: link for link in robot.links}
    assert links['rod'].p == pytest.approx([1.0, 0.0, 0.0], abs=1e-6)


def test_a_distance_joint_keeps_its_distance(tmp_path):
    """Swing a body at a constant distance from the world; name a range of distances."""
    inner = '    float physics:minDistance = {0}\n    float physics:maxDistance = 1'
    text = body('bob', at='1, 0, 0') + joint('DistanceJoint', 'rope', '', 'bob', inner)
    found = load_description(write(tmp_path, text.replace('{0}', '1')))
    world = sb.World(time_step=0.001)
    robot = world.add_robot(found, collisions='none')
    world.step(300)
    assert np.linalg.norm(robot.links[-1].p) == pytest.approx(1.0, abs=1e-6)
    assert robot.links[-1].p[2] < -0.3
    report = examine_description(write(tmp_path, text.replace('{0}', '0.5')))[1]
    assert 'not-simulated' in codes(report)


@pytest.mark.parametrize('kind', ['force', 'acceleration'])
def test_a_drive_is_a_spring_to_its_target(tmp_path, kind):
    """Rest where gravity and the spring of a drive are in balance."""
    drive = f"""    uniform token physics:axis = "Y"
    point3f physics:localPos1 = (-0.5, 0, 0)
    uniform token drive:angular:physics:type = "{kind}"
    float drive:angular:physics:stiffness = 2
    float drive:angular:physics:damping = 0.5
    float drive:angular:physics:targetPosition = -20"""
    text = body('rod', at='0.5, 0, 0')
    text += joint('RevoluteJoint', 'hinge', '', 'rod', drive, '"PhysicsDriveAPI:angular"')
    world = sb.World(time_step=0.001, gravity=(0.0, 0.0, -9.81))
    robot = world.add_robot(load_description(write(tmp_path, text)), collisions='none')
    world.step(6000)
    angle = float(robot.q[0])
    inertia = 0.2 + 2.0 * 0.5**2
    stiffness = 2.0 * 180.0 / math.pi * (1.0 if kind == 'force' else inertia)
    torque = 2.0 * 9.81 * 0.5 * math.cos(angle)
    assert torque == pytest.approx(stiffness * (angle - math.radians(-20.0)), rel=1e-4)


def test_a_drive_exerts_at_most_its_greatest_force(tmp_path):
    """Accelerate a body on a slide by its drive's greatest force."""
    drive = """    uniform token physics:axis = "X"
    float drive:linear:physics:stiffness = 1e5
    float drive:linear:physics:targetPosition = 10
    float drive:linear:physics:maxForce = 4"""
    text = body('cart') + joint(
        'PrismaticJoint', 'rail', '', 'cart', drive, '"PhysicsDriveAPI:linear"'
    )
    world = sb.World(time_step=0.001)
    robot = world.add_robot(load_description(write(tmp_path, text)), collisions='none')
    world.step(1000)
    assert float(robot.q[0]) == pytest.approx(0.5 * 4.0 / 2.0, rel=1e-2)
    assert robot.actuators['rail'].force == pytest.approx(4.0)


# --- files -------------------------------------------------------------------------------------


def test_references_and_instances_are_composed(tmp_path):
    """Read a body from another layer, twice, as instances."""
    write(tmp_path, body('post').replace('"post"', '"link"'), name='part.usda')
    reference = '(instanceable = true\n    prepend references = @part.usda@</stage>)'
    text = f'def Xform "one" {reference} {{}}\ndef Xform "two" {reference} {{}}\n'
    text += joint('RevoluteJoint', 'hinge', 'one/link', 'two/link')
    found = load_description(write(tmp_path, text))
    assert list(found.links) == ['link', 'link_2'] and found.joints['hinge'].child == 'link_2'
    assert {Path(each).name for each in found.files} == {'stage.usda', 'part.usda'}


def test_references_out_of_reach_are_named(tmp_path):
    """Name references to the network, to missing files and by absolute paths."""
    write(tmp_path, body('post'), name='part.usda')
    paths = ('https://example.org/a.usd', 'absent.usda', f'{tmp_path}/part.usda')
    text = ''.join(
        f'def Xform "r{number}" (prepend references = @{path}@</stage>) {{}}\n'
        for number, path in enumerate(paths)
    )
    report = examine_description(write(tmp_path, text))[1]
    found = {each.code: each.value for each in report.findings}
    assert found['remote-reference'] == paths[0]
    assert found['missing-reference'] == paths[1]
    assert found['absolute-reference'] == paths[2]


@pytest.mark.parametrize('content', [b'', b'#usda 1.0\n(', b'PXR-USDC' + bytes(100), b'PK\3\4'])
def test_damaged_files_are_refused(tmp_path, content):
    """Refuse damaged files with an error."""
    for suffix in ('usda', 'usdc', 'usdz', 'usd'):
        path = tmp_path / f'damaged.{suffix}'
        path.write_bytes(content)
        description, report = examine_description(path)
        assert description is None and not report.ok


def test_packages_are_read(tmp_path):
    """Read a robot from a package."""
    from pxr import UsdUtils

    path = write(tmp_path, body('post'))
    assert UsdUtils.CreateNewUsdzPackage(str(path), str(tmp_path / 'post.usdz'))
    found = load_description(tmp_path / 'post.usdz')
    assert list(found.links) == ['post'] and found.files == (str(tmp_path / 'post.usdz'),)


def test_without_usd_core_the_command_to_install_it_is_shown():
    """Name the command for pip where usd-core is missing."""
    program = (
        'import importlib.util as u\n'
        'own = u.find_spec\n'
        "u.find_spec = lambda name, *more: None if name == 'pxr' else own(name, *more)\n"
        'from sim_bridge.description.load import examine_description\n'
        f'print(examine_description({str(_FOLDER / "arm.usdc")!r})[1].to_text())\n'
    )
    shown = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, check=True
    ).stdout
    assert "pip install 'sim_bridge[usd]'" in shown


def test_several_robots_are_chosen_by_name(tmp_path):
    """Refuse a stage with two robots by their names; read one of them by its name."""
    text = ''.join(
        body(f'{side}_post') + body(f'{side}_rod')
        + joint('RevoluteJoint', f'{side}_hinge', f'{side}_post', f'{side}_rod')
        for side in ('left', 'right')
    )  # fmt: skip
    path = write(tmp_path, text)
    assert 'several-robots' in codes(examine_description(path)[1])
    found = load_description(path, model='right_post')
    assert list(found.joints) == ['right_hinge']


def test_limits_without_counterpart_are_named(tmp_path):
    """Name cone limits, disabled joints, and MuJoCo's keyframes and tendons."""
    cone = '    float physics:coneAngle0Limit = 30\n    float physics:coneAngle1Limit = 40'
    text = body('post') + body('rod') + joint('SphericalJoint', 'ball', 'post', 'rod', cone)
    text += joint('FixedJoint', 'off', '', 'rod', '    bool physics:jointEnabled = false')
    text += 'def MjcKeyframe "key" {}\ndef MjcTendon "tendon" {}\n'
    text += 'def Xform "tie" (prepend apiSchemas = ["MjcEqualityWeldAPI"]) {}\n'
    description, report = examine_description(write(tmp_path, text))
    assert [each.type for each in description.joints.values()] == [JointType.BALL]
    named = [each.name for each in report.findings if each.code == 'not-simulated']
    expected = {'ball', 'off', 'key', 'tendon', 'tie'}
    assert {each.rpartition('/')[2] for each in named} == expected
    assert len([each for each in named if each.endswith('/ball')]) == 2


def test_physx_mimic_joints_follow_with_the_opposite_sign(tmp_path):
    """Follow a joint by PhysX's equation: position + gearing * leader + offset = 0."""
    rule = """    rel physxMimicJoint:rotX:referenceJoint = </stage/leader>
    float physxMimicJoint:rotX:gearing = -2
    float physxMimicJoint:rotX:offset = 90"""
    text = body('post') + body('one') + body('two')
    text += joint('RevoluteJoint', 'leader', 'post', 'one')
    text += joint('RevoluteJoint', 'follower', 'post', 'two', rule, '"PhysxMimicJointAPI:rotX"')
    mimic = load_description(write(tmp_path, text)).joints['follower'].mimic
    assert (mimic.joint, mimic.multiplier) == ('leader', 2.0)
    assert mimic.offset == pytest.approx(-0.5 * math.pi)


def test_defects_of_joints_and_stages_have_their_codes(tmp_path):
    """Name frames that are apart, joints of one body, unknown robots and stages without any."""
    apart = '    point3f physics:localPos0 = (0, 1, 0)'
    text = body('post') + body('rod') + joint('RevoluteJoint', 'hinge', 'post', 'rod', apart)
    assert codes(load_description(write(tmp_path, text)).report) == {'joint-frames'}
    twice = body('post') + body('rod') + joint('FixedJoint', 'one', 'post', 'rod')
    twice += joint('FixedJoint', 'two', 'post', 'rod')
    found = load_description(write(tmp_path, twice))
    assert codes(found.report) == {'same-body'} and not found.constraints
    report = examine_description(write(tmp_path, text), model='other')[1]
    assert codes(report) == {'unknown-model'}
    report = examine_description(write(tmp_path, 'def Xform "empty" {}\n'))[1]
    assert codes(report) == {'no-links'}
    assert codes(examine_description(tmp_path / 'absent.usda')[1]) == {'unreadable'}


def test_bodies_without_volume_have_the_mass_of_the_others(tmp_path):
    """Name a flat collider, which does not count for the mass."""
    flat = """    def Mesh "flat" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        int[] faceVertexCounts = [3]
        int[] faceVertexIndices = [0, 1, 2]
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
    }
    def Cube "cube" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        double size = 0.2
    }"""
    found = load_description(write(tmp_path, body('post', flat).replace('mass = 2', 'mass = 0')))
    assert found.links['post'].inertial.mass == pytest.approx(8.0)
    assert codes(found.report) == {'no-volume'}
