"""Actuators in MJCF beside MuJoCo: forces, lengths and velocities at random states."""

import mujoco
import numpy as np
import pytest

import sim_bridge as sb

_ARM = """
<mujoco><compiler angle="radian"/><worldbody>
  <site name="mark" pos="0.3 0.1 0.2" euler="0.1 0.2 0.3"/>
  <body name="base" pos="0.2 0 0.1" euler="0 0 0.4">
    <geom size="0.1" contype="0" conaffinity="0"/>
    <body name="upper" pos="0 0 0.3"><joint name="turn" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.04" contype="0" conaffinity="0"/>
      <site name="pin" pos="0.1 0 0.1"/>
      <body name="fore" pos="0.4 0 0"><joint name="reach" type="slide" axis="1 0 0"/>
        <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.03" contype="0" conaffinity="0"/>
        <site name="rail" pos="0.2 0 0" euler="0 1.4 0"/>
        <body name="hand" pos="0.3 0 0"><joint name="wrist" type="ball"/>
          <geom type="box" size="0.05 0.03 0.02" contype="0" conaffinity="0"/>
          <site name="tip" pos="0.05 0 0" euler="0.4 0 0.2"/></body></body></body></body>
  </worldbody>
  <actuator>
    <motor name="motor" joint="turn" gear="3" ctrlrange="-1 0.4"/>
    <position name="servo" joint="reach" kp="40" kv="3" forcerange="-5 6"/>
    <velocity name="speed" joint="turn" kv="0.7" gear="2"/>
    <damper name="brake" joint="turn" kv="0.5" ctrlrange="0 1"/>
    <intvelocity name="creep" joint="reach" kp="9" actrange="-0.2 0.3"/>
    <general name="lag" joint="turn" dyntype="filterexact" dynprm="0.3" gainprm="2"/>
    <cylinder name="piston" joint="reach" timeconst="0.2" area="2" bias="0.1 -0.2 -0.3"/>
    <motor name="twist" joint="wrist" gear="1 -2 0.5"/>
    <motor name="parent" jointinparent="wrist" gear="0.2 1 0.3"/>
    <motor name="thrust" site="tip" gear="1 2 3 0.1 0.2 0.3"/>
    <general name="spring" site="tip" refsite="mark" gear="1 0 0 0 0 0" gainprm="3"
      biastype="affine" biasprm="0.2 -4 -0.1"/>
    <general name="crank" cranksite="pin" slidersite="rail" cranklength="0.5" gear="2"/>
  </actuator></mujoco>"""


@pytest.fixture
def twins():
    """Return the arm in a world and in MuJoCo."""
    model = mujoco.MjModel.from_xml_string(_ARM)
    robot = sb.World().load_urdf(_ARM)
    description = robot.description
    base = description.base_pose
    angle = 0.5 * np.arctan2(base.rotation[1, 0], base.rotation[0, 0])
    robot.set_base_pose(base.position, (0.0, 0.0, np.sin(angle), np.cos(angle)))
    return robot, model, mujoco.MjData(model)


def test_actuators_have_the_force_of_mujocos(twins):
    """Have lengths, velocities and forces of MuJoCo's actuators at random states and controls."""
    robot, model, data = twins
    names = [model.actuator(number).name for number in range(model.nu)]
    assert list(robot.actuators) == names and robot.description.report.ok
    rng = np.random.default_rng(3)
    for _ in range(5):
        data.qpos[:] = model.qpos0
        mujoco.mj_integratePos(model, data.qpos, rng.uniform(-0.5, 0.5, model.nv), 1.0)
        data.qvel[:], data.ctrl[:] = rng.normal(size=model.nv), rng.normal(size=model.nu)
        data.act[:] = rng.uniform(-0.2, 0.2, model.na)
        mujoco.mj_forward(model, data)
        x, y, z, w = data.qpos[[3, 4, 5, 2]]
        turned = np.zeros(9)
        mujoco.mju_quat2Mat(turned, data.qpos[2:6])
        sb.dynamics.set_configuration(
            robot,
            [*data.qpos[:2], x, y, z, w],
            [*data.qvel[:2], *turned.reshape(3, 3) @ data.qvel[2:5]],
        )
        robot.controls = data.ctrl
        for name, own in robot.actuators.items():
            theirs = data.actuator(name)
            if model.actuator(name).actadr[0] >= 0:
                own.activation = data.act[model.actuator(name).actadr[0]]
            numbers = (own.length, own.velocity, own.force)
            expected = [
                float(value[0]) for value in (theirs.length, theirs.velocity, theirs.force)
            ]
            np.testing.assert_allclose(numbers, expected, rtol=1e-9, atol=1e-9, err_msg=name)


def test_actuators_without_counterpart_are_named():
    """Name actuators on bodies and of other laws."""
    description = sb.load_description("""<mujoco><worldbody><body name="a">
      <joint name="j" axis="0 1 0"/><geom size="0.1"/></body></worldbody><actuator>
      <adhesion name="glue" body="a" ctrlrange="0 1" gain="3"/>
      <general name="other" joint="j" dyntype="user" actdim="1"/>
      <motor name="good" joint="j"/></actuator></mujoco>""")
    assert [each.name for each in description.actuators] == ['good']
    named = {each.name: each.message for each in description.report.not_simulated}
    assert named.keys() == {'glue', 'other'}
    assert 'body' in named['glue'] and 'user' in named['other']


_KEYS = """
<mujoco><worldbody>
  <body name="base" pos="0 0 1"><freejoint/><geom size="0.1"/>
    <body name="arm" pos="0.2 0 0"><joint name="turn" axis="0 1 0"/><joint name="slide"
        type="slide"/><geom size="0.05"/>
      <body name="hand" pos="0.2 0 0"><joint name="wrist" type="ball"/><geom size="0.05"/></body>
    </body></body></worldbody>
  <actuator><position name="hold" joint="turn" kp="2"/></actuator>
  <keyframe><key name="home" ctrl="0.7" qpos="1 2 3 0.6 0 0.8 0 0.3 -0.2 0.8 0 0 0.6"
    qvel="1 2 3 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8"/></keyframe></mujoco>"""


def test_keyframes_are_named_states():
    """Set a robot to a keyframe: poses and velocities of all bodies as in MuJoCo, controls."""
    model = mujoco.MjModel.from_xml_string(_KEYS)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    robot = sb.World().load_urdf(_KEYS)
    robot.set_keyframe('home')
    assert robot.controls.tolist() == [0.7]
    for name in ('base', 'arm', 'hand'):
        link, body = robot.link(name), data.body(name)
        np.testing.assert_allclose(link.p, body.xpos, atol=1e-12)
        np.testing.assert_allclose(link.R, body.xmat.reshape(3, 3), atol=1e-12)
        moved = np.zeros(6)
        mujoco.mj_objectVelocity(
            model, data, mujoco.mjtObj.mjOBJ_XBODY, model.body(name).id, moved, 0
        )
        np.testing.assert_allclose(np.concatenate([link.w, link.v]), moved, atol=1e-12)
    with pytest.raises(sb.UnknownNameError, match='home'):
        robot.set_keyframe('hom')


_HAND = """
<mujoco><option timestep="2e-4" integrator="implicit"/><worldbody><body name="palm">
  <geom size="0.05" contype="0" conaffinity="0"/>
  <body name="near" pos="0 0 0.1"><joint name="a" axis="0 1 0" damping="0.02"/>
    <geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.02" contype="0" conaffinity="0"/>
    <body name="far" pos="0.2 0 0"><joint name="b" axis="0 1 0" ref="0.1" damping="0.02"/>
      <geom type="capsule" fromto="0 0 0 0.2 0 0" size="0.02" contype="0" conaffinity="0"/>
    </body></body></body></worldbody>
  <tendon><fixed name="flexor" stiffness="3" damping="0.2" springlength="0.05 0.2">
      <joint joint="a" coef="0.5"/><joint joint="b" coef="-0.3"/></fixed></tendon>
  <actuator><motor name="pull" tendon="flexor" gear="2"/>
    <position name="hold" tendon="flexor" kp="4"/></actuator></mujoco>"""


def test_fixed_tendons_are_couplings_and_move_as_in_mujoco():
    """Have a tendon's length and force, and follow MuJoCo's path with spring and actuators."""
    model = mujoco.MjModel.from_xml_string(_HAND)
    data = mujoco.MjData(model)
    world = sb.World(time_step=2e-4)
    robot = world.load_urdf(_HAND)
    assert robot.description.report.ok and not robot.description.report.findings
    data.qpos[:], data.ctrl[:] = [0.4, -0.3], [0.2, 0.3]
    robot.q, robot.controls = data.qpos, data.ctrl
    mujoco.mj_forward(model, data)
    for name, own in robot.actuators.items():
        theirs = data.actuator(name)
        numbers = (own.length, own.velocity, own.force)
        expected = [float(each[0]) for each in (theirs.length, theirs.velocity, theirs.force)]
        np.testing.assert_allclose(numbers, expected, rtol=1e-9, atol=1e-9)
    mujoco.mj_step(model, data, 1500)
    world.step(1500)
    # MuJoCo is of first order in the step
    np.testing.assert_allclose(robot.q, data.qpos, atol=1e-3)
    assert np.abs(data.qpos - [0.4, -0.3]).max() > 0.1


_FISH = """
<mujoco><option timestep="1e-4" gravity="0 0 0" density="900" viscosity="0.5" wind="0.4 -0.2 0.1"
  integrator="RK4"/><worldbody>
  <body name="body"><freejoint/>
    <geom name="hull" type="ellipsoid" size="0.3 0.1 0.15" fluidshape="ellipsoid"/>
    <body name="tail" pos="-0.3 0 0"><joint name="wag" axis="0 0 1" pos="0.05 0 0"/>
      <geom type="box" size="0.1 0.02 0.05" pos="-0.1 0 0" euler="20 0 30"/>
      <body name="fin" pos="-0.2 0 0" euler="0 0 20">
        <geom type="capsule" fromto="0 0 0 -0.1 0 0.02" size="0.02" fluidshape="ellipsoid"
          fluidcoef="0.4 0.2 1 0.8 0.9"/></body></body></body></worldbody></mujoco>"""


def test_bodies_feel_the_medium_of_mujoco():
    """Swim as MuJoCo's bodies: inertia model and ellipsoids, in moving water."""
    model = mujoco.MjModel.from_xml_string(_FISH)
    data = mujoco.MjData(model)
    world = sb.World(time_step=1e-4, gravity=(0.0, 0.0, 0.0))
    robot = world.load_urdf(_FISH)
    assert robot.description.report.ok and not robot.description.report.findings
    data.qvel[:] = [0.5, 0.3, -0.2, 0.0, 0.0, 1.5, 4.0]
    robot.set_base_velocity(data.qvel[:3], data.qvel[3:6])
    robot.joint('wag').dq = data.qvel[6]
    mujoco.mj_step(model, data, 3000)
    world.step(3000)
    np.testing.assert_allclose(robot.root_link.p, data.qpos[:3], atol=2e-5)
    assert robot.joint('wag').q == pytest.approx(data.qpos[7], abs=2e-4)
    assert np.linalg.norm(data.qpos[:3] - 0.3 * np.array([0.5, 0.3, -0.2])) > 0.02
