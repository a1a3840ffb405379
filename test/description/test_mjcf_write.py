"""Robots written as MJCF, loaded by MuJoCo: equal trees, dynamics, loops, shapes and sensors."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from joint_robots import describe, joint, link
import mujoco
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge import dynamics
from sim_bridge.description.actuators import (
    ActuatorDescription,
    CouplingDescription,
    CouplingTransmission,
    CrankTransmission,
    JointTransmission,
    SiteFrame,
    SiteTransmission,
)
from sim_bridge.description.mjcf.write.robot import mjcf_text
from sim_bridge.description.model import (
    ConstraintDescription,
    ConstraintType,
    GeometryDescription,
    JointDynamics,
    JointLimits,
    Mimic,
    Pose,
)
from sim_bridge.foundation.rotation import matrix_from_axis_angle, matrix_from_quaternion

TREES = ('arm', 'rover', 'quadruped', 'hand', 'double_pendulum', 'floating_box', 'biped')
X, Y, Z = np.eye(3)
TILTED = Pose(np.array([0.1, -0.2, 0.3]), matrix_from_axis_angle(np.array([0.6, 0.0, 0.8]), 0.7))


def in_mujoco(description, folder, **options):
    """Return MuJoCo's model and data of a written robot, without contacts."""
    text, report = mjcf_text(description, folder=folder, **options)
    assert text is not None, report.to_text()
    path = folder / 'robot.xml'
    path.write_text(text, encoding='utf-8')
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    return model, mujoco.MjData(model)


def body_pose(model, data, name):
    """Return position and rotation of a body."""
    body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)
    assert body >= 0, name
    return data.xpos[body], data.xmat[body].reshape(3, 3)


def assert_same_poses(robot, model, data, size=1e-12):
    """Compare all link frames."""
    for link_ in robot.links:
        if link_.name != 'world':
            p, rotation = body_pose(model, data, link_.name)
            np.testing.assert_allclose(link_.p, p, atol=size)
            np.testing.assert_allclose(link_.R, rotation, atol=size)


def at_random_state(robot, model, data, rng):
    """Put both into one random state; return the matrix from our velocities to MuJoCo's."""
    columns = {}
    if not robot.fixed_base:
        quat, (position, linear, angular) = rng.normal(size=4), rng.normal(size=(3, 3))
        quat /= np.linalg.norm(quat)
        robot.set_base_pose(position, quat)
        robot.set_base_velocity(linear, angular)
        turn = matrix_from_quaternion(quat)
        data.qpos[:7] = *position, quat[3], *quat[:3]
        data.qvel[:6] = *linear, *(turn.T @ angular)
    for number, name in enumerate(robot.joint_names):
        own = robot.joint(name)
        own.q = rng.uniform(max(own.lower, -2.0), min(own.upper, 2.0))
        own.dq = rng.uniform(-1.0, 1.0)
        its = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name)
        data.qpos[model.jnt_qposadr[its]] = own.q
        data.qvel[model.jnt_dofadr[its]] = own.dq
        columns[number] = model.jnt_dofadr[its]
    to_mujoco = np.zeros((model.nv, model.nv))
    first = 0 if robot.fixed_base else 6
    if first:
        to_mujoco[:3, :3], to_mujoco[3:6, 3:6] = np.eye(3), turn.T
    for number, row in columns.items():
        to_mujoco[row, first + number] = 1.0
    mujoco.mj_forward(model, data)
    return to_mujoco


@pytest.mark.parametrize('name', TREES)
def test_trees_have_the_dynamics_of_the_original(name, tmp_path):
    """Compare frames, mass matrix and bias force with MuJoCo at random states."""
    description = sb.load_description(name)
    robot = sb.World(gravity=(0.0, 0.0, -9.81)).add_robot(description)
    model, data = in_mujoco(description, tmp_path)
    assert model.nv == len(dynamics.mass_matrix(robot))
    rng = np.random.default_rng(1)
    for _ in range(3):
        turn = at_random_state(robot, model, data, rng)
        assert_same_poses(robot, model, data)
        theirs = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, theirs)
        theirs = turn.T @ theirs @ turn
        np.testing.assert_allclose(
            dynamics.mass_matrix(robot), theirs, rtol=0, atol=1e-9 * theirs.max()
        )
        bias = turn.T @ data.qfrc_bias
        np.testing.assert_allclose(
            dynamics.bias_forces(robot), bias, rtol=0, atol=1e-9 * np.abs(bias).max()
        )


KINDS = {
    'revolute': {},
    'prismatic': {},
    'ball': {},
    'floating': {},
    'planar': {},
    'piston': {},
    'universal': {'axis2': Y},
    'hinge2': {'axis2': Y, 'suspension': JointDynamics(stiffness=50.0, damping=0.3)},
}


@pytest.mark.parametrize('kind', KINDS)
def test_joints_of_all_types_move_as_the_original(kind, tmp_path):
    """Let a tree with displaced frames fall from one state; compare the motion."""
    inertia = np.diag([0.02, 0.03, 0.04])
    arm = link('arm', 1.5, (0.1, 0.0, 0.2), inertia)
    body = link('body', 0.8, (0.0, 0.1, -0.3), inertia)
    turned = Pose(np.array([0.0, 0.05, 0.1]), matrix_from_axis_angle(X, 0.4))
    joints = [
        joint('shoulder', 'revolute', 'world', 'arm', TILTED, X),
        joint('wrist', kind, 'arm', 'body', TILTED, Z, child_pose=turned, **KINDS[kind]),
    ]
    description = describe([link('world', 0.0), arm, body], joints)
    world = sb.World(time_step=1e-4, gravity=(0.0, 0.0, -9.81))
    robot = world.add_robot(description)
    model, data = in_mujoco(description, tmp_path)
    model.opt.timestep, model.opt.integrator = 1e-4, mujoco.mjtIntegrator.mjINT_RK4
    mujoco.mj_forward(model, data)
    assert_same_poses(robot, model, data)
    world.step(3000)
    for _ in range(3000):
        mujoco.mj_step(model, data)
    mujoco.mj_forward(model, data)
    assert np.abs(robot.link('body').v).max() > 0.1
    assert_same_poses(robot, model, data, 2e-6)


def test_limits_and_passive_forces_are_kept(tmp_path):
    """Compare range, effort, damping, friction, armature and spring of a joint."""
    limits = JointLimits(-0.5, 0.75, 12.0)
    passive = JointDynamics(0.3, 0.2, 0.1, 5.0, 0.25)
    half = JointLimits(lower=-1.0)
    joints = [
        joint('a', 'revolute', 'world', 'one', limits=limits, dynamics=passive),
        joint('b', 'prismatic', 'one', 'two', limits=half),
        joint('c', 'continuous', 'two', 'three', mimic=Mimic('a', 2.0, 0.1)),
    ]
    links = [link('world', 0.0), link('one'), link('two'), link('three')]
    model, data = in_mujoco(describe(links, joints), tmp_path)
    np.testing.assert_array_equal(model.jnt_range[0], (-0.5, 0.75))
    np.testing.assert_array_equal(model.jnt_actfrcrange[0], (-12.0, 12.0))
    assert list(model.jnt_limited) == [1, 1, 0]
    assert model.jnt_range[1, 0] == -1.0
    assert model.jnt_range[1, 1] >= 1e9
    assert model.dof_damping[0] == 0.3
    assert model.dof_frictionloss[0] == 0.2
    assert model.dof_armature[0] == 0.1
    assert model.jnt_stiffness[0] == 5.0
    assert model.qpos_spring[0] == 0.25
    # the follower has a rule instead of a motor
    names = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, k) for k in range(model.nu)]
    assert names == ['a', 'b']
    np.testing.assert_array_equal(model.actuator_ctrlrange[0], (-12.0, 12.0))
    data.qpos[:] = 0.3, 0.0, 2.0 * 0.3 + 0.1
    mujoco.mj_forward(model, data)
    assert abs(data.efc_pos[0]) < 1e-12


def test_a_range_of_one_position_is_held(tmp_path):
    """Write an equality, since MuJoCo refuses the range."""
    limits = JointLimits(0.2, 0.2)
    description = describe(
        [link('world', 0.0), link('body')], [joint('a', 'revolute', limits=limits)]
    )
    model, data = in_mujoco(description, tmp_path)
    assert (model.neq, model.jnt_limited[0]) == (1, 0)
    data.qpos[0] = 0.2
    mujoco.mj_forward(model, data)
    assert data.efc_pos[0] == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize(('name', 'rows'), [('four_bar', 6), ('crank_slider', 6), ('delta', 15)])
def test_loops_of_shipped_robots_are_closed_where_ours_are(name, rows, tmp_path):
    """Put MuJoCo into our closed configuration: no equality has an error."""
    description = sb.load_description(name)
    robot = sb.World().add_robot(description)
    model, data = in_mujoco(description, tmp_path)
    for name_ in robot.joint_names:
        its = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, name_)
        data.qpos[model.jnt_qposadr[its]] = robot.joint(name_).q
    mujoco.mj_forward(model, data)
    assert data.ne == rows
    np.testing.assert_allclose(data.efc_pos[: data.ne], 0.0, atol=1e-9)
    data.qpos[0] += 0.1
    mujoco.mj_forward(model, data)
    assert np.abs(data.efc_pos[: data.ne]).max() > 1e-3


@pytest.mark.parametrize(
    ('kind', 'parts', 'rows'),
    [
        ('ball', {}, 3),
        ('fixed', {}, 6),
        ('hinge', {'axis': Y}, 6),
        ('distance', {'position2': np.array([0.0, 0.0, 0.4]), 'distance': 0.9}, 1),
    ],
)
def test_loop_joints_measure_our_gap(kind, parts, rows, tmp_path):
    """Displace one of two free sliders: the equality's error is the displacement."""
    links = [link('world', 0.0), link('one'), link('two')]
    joints = [
        joint('a', 'prismatic', 'world', 'one', TILTED, Z),
        joint('b', 'prismatic', 'world', 'two', Pose(), Z),
    ]
    anchor = np.array([0.2, 0.1, 0.0])
    loop = ConstraintDescription('loop', ConstraintType(kind), 'one', 'two', anchor, **parts)
    description = replace(describe(links, joints), constraints=(loop,))
    model, data = in_mujoco(description, tmp_path)
    mujoco.mj_forward(model, data)
    assert data.ne == rows
    if kind == 'distance':
        first = TILTED.position + TILTED.rotation @ anchor
        apart = np.linalg.norm(first - (0.0, 0.0, 0.4))
        assert abs(data.efc_pos[0]) == pytest.approx(abs(apart - 0.9), abs=1e-12)
        return
    np.testing.assert_allclose(data.efc_pos[:rows], 0.0, atol=1e-12)
    data.qpos[1] = 0.05
    mujoco.mj_forward(model, data)
    assert np.linalg.norm(data.efc_pos[:3]) == pytest.approx(0.05, rel=1e-9)


def test_a_loop_without_counterpart_is_refused():
    """Name the joint and its type; write nothing."""
    loop = ConstraintDescription('track', ConstraintType.PLANAR, 'body', '', np.zeros(3), axis=Z)
    description = describe([link('world', 0.0), link('body')], [joint('a', 'revolute')])
    text, report = mjcf_text(replace(description, constraints=(loop,)))
    assert text is None
    assert "'planar'" in report.to_text()
    assert "'track'" in report.to_text()


SHAPES = {
    'box': (0.2, 0.4, 0.6),
    'sphere': (0.3,),
    'cylinder': (0.1, 0.5),
    'capsule': (0.1, 0.5),
    'cone': (0.2, 0.3),
}


@pytest.mark.parametrize('kind', SHAPES)
def test_shapes_have_their_sizes(kind, tmp_path):
    """Compare MuJoCo's volume, from the mass at unit density, with ours."""
    collision = GeometryDescription(kind, SHAPES[kind], TILTED)
    seen = replace(collision, color=(0.1, 0.2, 0.3, 0.4))
    body = replace(link('body'), collisions=(collision,), visuals=(seen,))
    text, _ = mjcf_text(describe([body], []), folder=tmp_path)
    # MuJoCo computes masses of shapes for bodies without one
    text = text.replace('inertiafromgeom="false"', 'inertiafromgeom="true"')
    (tmp_path / 'robot.xml').write_text(text, encoding='utf-8')
    model = mujoco.MjModel.from_xml_path(str(tmp_path / 'robot.xml'))
    shape = sb.Cone(*SHAPES[kind]) if kind == 'cone' else None
    volumes = {
        'box': 0.2 * 0.4 * 0.6,
        'sphere': 4.0 / 3.0 * np.pi * 0.3**3,
        'cylinder': np.pi * 0.1**2 * 0.5,
        'capsule': np.pi * 0.1**2 * 0.5 + 4.0 / 3.0 * np.pi * 0.1**3,
        'cone': np.pi * 0.2**2 * 0.3 / 3.0,
    }
    size = 1e-2 if shape else 1e-12
    # two shapes, the visual and the collision shape
    assert model.body_mass[1] == pytest.approx(2000.0 * volumes[kind], rel=size)
    visual, touching = model.geom_contype
    assert (visual, touching) == (0, 1)
    np.testing.assert_allclose(model.geom_rgba[0], (0.1, 0.2, 0.3, 0.4), atol=1e-7)
    if kind not in ('cone',):
        np.testing.assert_allclose(model.geom_pos[1], TILTED.position, atol=1e-12)


def test_meshes_that_mujoco_cannot_read_become_stl(tmp_path):
    """Write triangles beside the file, and name them relative to it."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    surface = GeometryDescription('mesh', (1.0, 1.0, 1.0), Pose(), surface=(corners, faces))
    body = replace(link('body'), collisions=(surface,))
    model, _ = in_mujoco(describe([body], []), tmp_path)
    assert model.nmesh == 1
    assert '/' not in (tmp_path / 'robot.xml').read_text().split('file="meshes/')[1].split('"')[0]
    folderless, report = mjcf_text(describe([body], []))
    assert 'mesh' not in folderless.split('<worldbody>')[1]
    assert any('left out' in each.message for each in report.warnings)


def test_gravity_and_excluded_pairs_are_kept(tmp_path):
    """Compensate the gravity of a weightless link; exclude pairs."""
    one, two = link('one'), replace(link('two'), gravity=False)
    three = link('three')
    joints = [joint('a', 'revolute', 'one', 'two'), joint('b', 'revolute', 'two', 'three')]
    model, _ = in_mujoco(describe([one, two, three], joints), tmp_path, apart=[('one', 'three')])
    np.testing.assert_array_equal(model.body_gravcomp[1:], (0.0, 1.0, 0.0))
    assert model.nexclude == 1
    fixed, _ = in_mujoco(describe([one, two, three], joints), tmp_path, fixed_base=True)
    assert (model.nv, fixed.nv) == (8, 2)


def test_sensors_have_the_frames_and_readings_of_the_original(tmp_path):
    """Compare gyro, orientation and the camera's frame and scale at a random state."""
    description = sb.load_description('rover')
    robot = sb.World().add_robot(description)
    model, data = in_mujoco(description, tmp_path)
    at_random_state(robot, model, data, np.random.default_rng(3))
    (imu,) = (each for each in description.sensors if each.kind.word == 'imu')
    carrier = robot.link(imu.link)
    turn = carrier.R @ imu.pose.rotation
    np.testing.assert_allclose(
        data.sensor(f'{imu.name}_gyro').data, turn.T @ carrier.w, atol=1e-12
    )
    w, *xyz = data.sensor(f'{imu.name}_orientation').data
    np.testing.assert_allclose(matrix_from_quaternion([*xyz, w]), turn, atol=1e-12)
    (camera,) = (each for each in description.sensors if each.kind.word == 'camera')
    carrier, its = robot.link(camera.link), data.camera(camera.name)
    axes = its.xmat.reshape(3, 3)
    ahead, left, up = (carrier.R @ camera.pose.rotation).T
    np.testing.assert_allclose(axes.T, (-left, up, -ahead), atol=1e-12)
    width, height = camera.settings.size
    slope = np.tan(0.5 * camera.settings.horizontal_fov) * height / width
    assert np.tan(0.5 * np.radians(model.camera(camera.name).fovy[0])) == pytest.approx(slope)


def test_parts_without_counterpart_are_named():
    """Warn about velocity limits, drives, noise and contact parameters."""
    text, report = mjcf_text(sb.load_description('rover'))
    assert text is not None
    shown = report.to_text()
    for part in ('velocity limit', '1 drive'):
        assert part in shown
    assert isinstance(sb.load_description('rover').joints, MappingProxyType)


ROUND = """
<mujoco model="thing">
  <compiler angle="radian"/>
  <worldbody>
    <body name="trunk" pos="0.1 0.2 0.3" quat="0.8 0 0.6 0">
      <freejoint/>
      <geom type="box" size="0.1 0.2 0.3" mass="3"/>
      <body name="arm" pos="0 0 0.4">
        <joint name="turn" pos="0.1 0 0" axis="0 1 0" range="-1 1" damping="0.2" armature="0.03"/>
        <geom type="ellipsoid" size="0.1 0.2 0.3" mass="1" friction="0.4 0.02 0.003" condim="6"/>
        <body name="tip" pos="0 0 0.5" euler="0.1 0.2 0.3">
          <joint name="x" type="slide" axis="1 0 0" stiffness="30" springref="0.1"/>
          <joint name="y" type="hinge" axis="0 0.6 0.8" frictionloss="0.5"/>
          <geom type="capsule" size="0.05 0.2" mass="0.5"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""


def test_a_model_read_from_mjcf_is_written_back_to_an_equal_one(tmp_path):
    """Read MuJoCo's file, write it, and compare both models in MuJoCo."""
    (tmp_path / 'thing.xml').write_text(ROUND, encoding='utf-8')
    first = mujoco.MjModel.from_xml_path(str(tmp_path / 'thing.xml'))
    second, data = in_mujoco(sb.load_description(tmp_path / 'thing.xml'), tmp_path)
    assert (first.nq, first.nv) == (second.nq, second.nv)
    other = mujoco.MjData(first)
    rng = np.random.default_rng(5)
    for _ in range(3):
        other.qpos[:] = data.qpos[:] = mujoco_state(first, rng)
        other.qvel[:] = data.qvel[:] = rng.normal(size=first.nv)
        matrices = []
        for model, each in ((first, other), (second, data)):
            mujoco.mj_forward(model, each)
            matrices.append(np.zeros((model.nv, model.nv)))
            mujoco.mj_fullM(model, each, matrices[-1])
        np.testing.assert_allclose(matrices[1], matrices[0], atol=1e-9)
        np.testing.assert_allclose(data.qfrc_bias, other.qfrc_bias, atol=1e-9)
        np.testing.assert_allclose(data.qfrc_passive, other.qfrc_passive, atol=1e-9)
    geom = mujoco.mjtGeom.mjGEOM_ELLIPSOID
    (at,) = (
        k for k in range(second.ngeom) if second.geom_type[k] == geom and second.geom_group[k] == 3
    )
    np.testing.assert_allclose(second.geom_friction[at], (0.4, 0.02, 0.003), atol=1e-12)
    assert second.geom_condim[at] == 6


def mujoco_state(model, rng):
    """Return random positions with a unit quaternion."""
    q = rng.normal(size=model.nq)
    q[3:7] /= np.linalg.norm(q[3:7])
    return q


def test_actuators_have_the_forces_of_the_original(tmp_path):
    """Compare force, length and activation rate with MuJoCo at random states and controls."""
    site = SiteFrame('two', np.array([0.1, 0.2, 0.3]), TILTED.rotation)
    reference = SiteFrame('one', np.array([0.0, 0.1, 0.0]))
    unbounded = (-np.inf, np.inf)
    actuators = (
        ActuatorDescription('motor', JointTransmission('a'), (2.0,), force_range=(-1.0, 1.5)),
        ActuatorDescription(
            'servo',
            JointTransmission('b'),
            control_range=(-0.5, 0.5),
            gain=(50.0, 0.0, 0.0),
            bias=(0.0, -50.0, -3.0),
        ),
        ActuatorDescription('jet', SiteTransmission(site), (0.0, 1.0, 2.0, 0.3, 0.0, 0.1)),
        ActuatorDescription(
            'wrist', SiteTransmission(site, reference), (1.0, 0.0, 0.0, 0.0, 0.5, 0.0)
        ),
        ActuatorDescription('crank', CrankTransmission(site, reference, 2.0), (1.5,)),
        ActuatorDescription('pull', CouplingTransmission('pair'), (2.0,), bias=(0.0, -3.0, -0.2)),
        ActuatorDescription(
            'slow',
            JointTransmission('a'),
            gain=(3.0, 0.5, -0.2),
            dynamics='filter',
            time_constant=0.4,
            activation_range=(-0.2, unbounded[1]),
        ),
    )
    joints = [
        joint('a', 'revolute', 'world', 'one', TILTED, X),
        joint('b', 'prismatic', 'one', 'two', TILTED, Z),
    ]
    description = replace(
        describe([link('world', 0.0), link('one'), link('two')], joints),
        actuators=actuators,
        couplings=(CouplingDescription('pair', ('a', 'b'), (0.5, -2.0), 3.0, 0.4, (-0.1, 0.2)),),
    )
    robot = sb.World(gravity=(0.0, 0.0, -9.81)).add_robot(description)
    model, data = in_mujoco(description, tmp_path)
    assert (model.nu, model.na, model.ntendon) == (7, 1, 1)
    np.testing.assert_array_equal(model.tendon_lengthspring, [(-0.1, 0.2)])
    rng = np.random.default_rng(8)
    for _ in range(4):
        robot.controls = data.ctrl[:] = rng.normal(size=7)
        robot.actuators['slow'].activation = data.act[0] = rng.uniform(0.0, 1.0)
        at_random_state(robot, model, data, rng)
        for number, actuator in enumerate(robot.actuators.values()):
            close = {'rel': 1e-9, 'abs': 1e-9}
            assert actuator.length == pytest.approx(data.actuator_length[number], **close)
            assert actuator.force == pytest.approx(data.actuator_force[number], **close)


def test_written_robots_have_motors_only_without_actuators(tmp_path):
    """Keep the robot's own actuators alone."""
    actuator = ActuatorDescription('own', JointTransmission('a'))
    description = describe([link('world', 0.0), link('body')], [joint('a', 'revolute')])
    names = []
    for each in (description, replace(description, actuators=(actuator,))):
        model, _ = in_mujoco(each, tmp_path)
        names.append([model.actuator(k).name for k in range(model.nu)])
    assert names == [['a'], ['own']]
