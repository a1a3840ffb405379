"""Conversions between MJCF, SDF, URDF and OpenPLX: kept properties, and names of lost ones."""

from __future__ import annotations

from dataclasses import fields, replace

from joint_robots import describe, joint, link
import mujoco
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.description.collision_bits import are_apart, bits_of
from sim_bridge.description.keyframes import KeyframeDescription
from sim_bridge.description.losses import Format, note_losses, STRUCTURE
from sim_bridge.description.mjcf.write.robot import FORMAT as MJCF
from sim_bridge.description.mjcf.write.robot import mjcf_text
from sim_bridge.description.model import (
    ContactDescription,
    GeometryDescription,
    JointDynamics,
    JointLimits,
    Pose,
    SensorDescription,
)
from sim_bridge.description.openplx.write.left_out import FORMAT as OPENPLX
from sim_bridge.description.openplx.write.robot import openplx_text
from sim_bridge.description.report import Findings
from sim_bridge.description.sdf_model.write.robot import FORMAT as SDF
from sim_bridge.description.sdf_model.write.robot import sdf_text
from sim_bridge.description.sensor_kinds import FORCE_TORQUE, WrenchSettings
from sim_bridge.description.urdf.file_text import FORMAT as URDF
from sim_bridge.description.urdf.file_text import urdf_file_text

FORMATS = (MJCF, SDF, URDF, OPENPLX)
WRITERS = {'MJCF': mjcf_text, 'SDF': sdf_text, 'URDF': urdf_file_text, 'OpenPLX': openplx_text}
ROBOT = """
<mujoco model="arm">
  <option gravity="0 0 -9.81"/>
  <worldbody>
    <body name="base" pos="0 0 0.5" euler="10 20 30">
      <geom name="foot" type="box" size="0.1 0.1 0.1" friction="0.4 0.02 0.003" condim="6"/>
      <body name="upper" pos="0 0 0.2">
        <joint name="lift" type="slide" axis="0 0.6 0.8" ref="0.07"/>
        <joint name="shoulder" axis="0 1 0" pos="0.01 0 0.02" ref="25" range="-90 90"
          stiffness="3" springref="10"/>
        <geom name="arm" type="capsule" fromto="0 0 0 0 0 0.3" size="0.03" contype="2"
          conaffinity="4"/>
        <site name="eye" pos="0 0 0.3" euler="0 30 0"/>
        <body name="lower" pos="0 0 0.3">
          <joint name="elbow" axis="0 1 0" pos="0 0 0.05"/>
          <geom name="hand" type="capsule" fromto="0 0 0 0 0 0.3" size="0.02" contype="-2147483648"
            conaffinity="6"/>
          <body name="wrist" pos="0 0 0.3">
            <joint name="turn" type="ball"/><geom name="tip" size="0.05" contype="0"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <equality><joint joint1="elbow" joint2="shoulder" polycoef="0.1 0.5 0 0 0"/></equality>
  <actuator><motor name="drive" joint="shoulder"/></actuator>
  <sensor>
    <gyro name="g" site="eye" noise="0.2"/><accelerometer name="a" site="eye" noise="0.3"/>
    <force name="f" site="eye" noise="0.4"/>
  </sensor>
  <keyframe>
    <key name="home" qpos="0.1 0.2 0.3 0.6 0 0.8 0" qvel="1 2 3 4 5 6" ctrl="0.7"/>
  </keyframe>
</mujoco>"""


def test_properties_of_mjcf_survive_being_written_again():
    """Compare initial state, rules, keyframe, noise and contact masks in MuJoCo itself."""
    text, report = mjcf_text(sb.load_description(ROBOT))
    assert text is not None and not report.findings, report.to_text()
    one, other = map(mujoco.MjModel.from_xml_string, (ROBOT, text))
    for name in ('qpos0', 'key_qpos', 'key_qvel', 'key_ctrl', 'qpos_spring', 'jnt_range'):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), atol=1e-12)
    np.testing.assert_allclose(other.eq_data[:, :5], one.eq_data[:, :5], atol=1e-12)
    for name in ('foot', 'arm', 'hand', 'tip'):
        mine, its = (model.geom(name) for model in (other, one))
        for field in ('contype', 'conaffinity', 'condim'):
            assert getattr(mine, field) == getattr(its, field), (name, field)
        size = its.condim[0] // 2
        np.testing.assert_allclose(mine.friction[:size], its.friction[:size])
    noise = [other.sensor(name).noise[0] for name in ('eye_gyro', 'eye_accelerometer', 'f_force')]
    assert noise == [0.2, 0.3, 0.4]
    rng = np.random.default_rng(3)
    datas = [mujoco.MjData(model) for model in (one, other)]
    for _ in range(3):
        q = rng.uniform(-1.0, 1.0, one.nq)
        q[3:] /= np.linalg.norm(q[3:])
        v = rng.uniform(-1.0, 1.0, one.nv)
        for model, data in zip((one, other), datas, strict=True):
            data.qpos[:], data.qvel[:] = q, v
            mujoco.mj_forward(model, data)
        for name in ('qfrc_bias', 'qfrc_passive'):
            first, second = (getattr(data, name) for data in datas)
            np.testing.assert_allclose(second, first, atol=1e-10)
        for name in ('base', 'upper', 'lower', 'wrist'):
            first, second = (data.body(name) for data in datas)
            np.testing.assert_allclose(second.xpos, first.xpos, atol=1e-10)
            np.testing.assert_allclose(second.xmat, first.xmat, atol=1e-10)


def test_friction_and_masks_of_mjcf_are_those_of_the_written_sdf(tmp_path):
    """Read a model from MJCF back from SDF: friction by material, and the touching pairs."""
    sixteen = ROBOT.replace('-2147483648', '8')
    one = sb.load_description(sixteen)
    text, report = sdf_text(one, folder=tmp_path)
    assert 'rolling friction' in report.to_text() and 'keyframe' in report.to_text()
    path = tmp_path / 'arm.sdf'
    path.write_text(text)
    other = sb.load_description(path)
    foot = other.links['base'].collisions[0]
    assert foot.contact.friction == 0.4
    assert foot.contact.spinning_friction == pytest.approx(0.02, rel=1e-12)
    model = mujoco.MjModel.from_xml_string(sixteen)
    shapes = {
        shape.name: next(iter(shape.groups))
        for each in other.links.values()
        for shape in each.collisions
    }
    for a, first in shapes.items():
        assert bits_of(first) == (model.geom(a).contype[0], model.geom(a).conaffinity[0])
        for b, second in shapes.items():
            types = [int(model.geom(each).contype[0]) for each in (a, b)]
            masks = [int(model.geom(each).conaffinity[0]) for each in (a, b)]
            touch = bool(types[0] & masks[1] or types[1] & masks[0])
            assert are_apart(first, second) is not touch
            # read alone, the robot keeps the rule
            listed = {frozenset(pair) for pair in other.apart}
            assert (frozenset((first, second)) in listed) is not touch


def test_a_locked_joint_is_held_where_mujoco_holds_it():
    """Hold a joint by the equality of one joint, from its reference on."""
    text = """
      <mujoco><worldbody><body name="a"><joint name="j" axis="0 1 0" ref="40"/>
        <geom size="0.1" pos="0.3 0 0"/></body></worldbody>
        <equality><joint joint1="j" polycoef="0.3 0 0 0 0"/></equality></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    description = sb.load_description(text)
    limits = description.joints['j'].limits
    assert limits.lower == limits.upper
    data.qpos[0] = limits.lower
    mujoco.mj_forward(model, data)
    assert data.efc_pos[0] == pytest.approx(0.0, abs=1e-12)
    # and through a file of ours
    again = sb.load_description(mjcf_text(description)[0])
    assert again.joints['j'].limits.lower == pytest.approx(limits.lower, abs=1e-12)


@pytest.mark.parametrize('direction', ['parent_to_child', 'child_to_parent'])
def test_a_written_force_sensor_names_another_sign(direction):
    """Compare the reading of a loaded joint with MuJoCo's; warn where the sign differs."""
    settings = WrenchSettings('sensor', direction)
    sensor = SensorDescription('f', FORCE_TORQUE, 'body', 'a', settings=settings)
    robot = describe(
        [link('world', 0.0), link('body')], [joint('a', 'prismatic', axis=(1.0, 0.0, 0.0))]
    )
    robot = replace(robot, sensors=(sensor,))
    world = sb.World(gravity=(0.0, 0.0, -9.81))
    own = world.add_robot(robot)
    world.step()
    text, report = mjcf_text(robot)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    sign = 1.0 if direction == 'parent_to_child' else -1.0
    [device] = own.devices()
    np.testing.assert_allclose(sign * np.array(device.f), data.sensordata[:3], atol=1e-9)
    assert ('opposite sign' in report.to_text()) is (sign < 0.0)


def full_robot():
    """Return a robot with a value in each property missing in a format."""
    contact = ContactDescription(
        friction=0.5, friction2=0.3, direction=(1.0, 0.0, 0.0), stiffness=1e4, damping=10.0,
        max_velocity=0.2, layer=0.001, rolling_slip=(0.1, 0.0), restitution=0.5, slip=0.01,
        spinning_friction=0.02, is_sensor=True, enabled=False,
    )  # fmt: skip
    material = sb.Material(
        'felt', friction=0.7, friction2=0.2, restitution=0.1, rolling_friction=0.01,
        spinning_friction=0.02, slip=0.01, youngs_modulus=1e5, damping=0.1, adhesion=1.0,
        adhesive_overlap=0.001, surface_layer=0.002, max_correcting_velocity=0.5,
    )  # fmt: skip
    shape = GeometryDescription('box', (0.1, 0.1, 0.1), Pose(), 'shell', is_terrain=True)
    rough = replace(shape, contact=contact)
    felt = replace(shape, material=material, groups=frozenset({'walls'}))
    seen = replace(shape, texture='cloth.png', color=(1.0, 0.0, 0.0, 1.0))
    body = replace(
        link('body'), collisions=(rough, felt), visuals=(seen,), enable_wind=True, label=3,
        material='wood',
    )  # fmt: skip
    limits = JointLimits(-1.0, 1.0, 5.0, 2.0, lower_effort=-3.0)
    dynamics = JointDynamics(0.1, 0.2, 0.3, 0.4, 0.5, back_friction=0.1, bearing=0.6)
    swing = joint('swing', 'revolute', limits=limits, dynamics=dynamics)
    return replace(
        describe([link('world', 0.0), body], [swing]),
        positions={'swing': 0.2},
        format='SDF',
        keyframes=(KeyframeDescription('home', {'swing': np.array([0.1])}),),
    )


@pytest.mark.parametrize('name', WRITERS)
def test_every_property_is_written_or_named(name):
    """Name each property outside the format's table, for a robot with all of them."""
    form = next(each for each in FORMATS if each.name == name)
    robot = full_robot()
    _, report = WRITERS[name](robot)
    said = report.to_text()
    own = Findings()
    note_losses(robot, Format(name, {}, form.has_visuals), own)
    everything = {each.message for each in own.report('').findings}
    own = Findings()
    note_losses(robot, form, own)
    lost = {each.message for each in own.report('').findings}
    assert lost < everything
    assert all(message in said for message in lost)
    # the example robot has a value in each property; some share a word: damping
    assert len(everything) >= 31


def test_declared_fields_exist():
    """Find each field of the tables in its class: no table names an old one."""
    for table in (STRUCTURE, *(each.held for each in FORMATS)):
        for own, names in table.items():
            assert names <= {each.name for each in fields(own)}, own


def test_a_robot_that_touches_itself_does_so_in_sdf(tmp_path):
    """Write self_collide for URDF robots: their links touch each other."""
    path = tmp_path / 'arm.sdf'
    robot = describe([link('base'), link('body')], [joint('a', 'revolute', 'base')])
    path.write_text(sdf_text(robot)[0])
    assert all(each.contact.self_collide for each in sb.load_description(path).links.values())


def test_a_written_urdf_has_the_colours(tmp_path):
    """Read the colour of a visual from MJCF back from URDF."""
    text = ROBOT.replace('name="foot"', 'name="foot" rgba="0.1 0.2 0.3 0.4"')
    text = text.replace('type="ball"', '').replace('0.6 0 0.8 0"', '0.4"').replace('5 6"', '"')
    text = text.replace('1 2 3 4 ', '1 2 3 4')
    written, report = urdf_file_text(sb.load_description(text))
    assert written is not None, report.to_text()
    other = sb.load_description(written)
    assert other.links['base'].visuals[0].color == pytest.approx((0.1, 0.2, 0.3, 0.4), abs=1e-7)


@pytest.mark.parametrize('name', WRITERS)
def test_a_robot_fixed_by_its_file_stays_fixed(name, tmp_path):
    """Weld the base of a robot from MJCF in each format, at its place."""
    text = """<mujoco model="post"><worldbody><body name="base" pos="0.1 0.2 0.3" euler="0 0 30">
      <geom size="0.1"/><body name="arm" pos="0 0 0.2"><joint name="swing" axis="0 1 0"/>
      <geom size="0.1" pos="0.2 0 0"/></body></body></worldbody></mujoco>"""
    one = sb.load_description(text)
    written, report = WRITERS[name](one, folder=tmp_path)
    assert written is not None, report.to_text()
    suffix = {'MJCF': 'xml', 'SDF': 'sdf', 'URDF': 'urdf', 'OpenPLX': 'openplx'}[name]
    path = tmp_path / f'post.{suffix}'
    path.write_text(written)
    world = sb.World(gravity=(0.0, 0.0, -9.81))
    if name == 'OpenPLX':
        [robot] = world.load_openplx(path).robots
        [swing] = robot.joint_names
    else:
        robot, swing = world.add_robot(sb.load_description(path)), 'swing'
    other = sb.World(gravity=(0.0, 0.0, -9.81)).add_robot(one)
    assert robot.fixed_base
    robot.joint(swing).q = other.joint('swing').q = 0.4
    for function in (sb.dynamics.mass_matrix, sb.dynamics.bias_forces):
        np.testing.assert_allclose(function(robot), function(other), atol=1e-12)


def test_limits_written_as_the_greatest_number_are_none():
    """Read URDF's numbers for infinity back as no limit."""
    robot = describe([link('base'), link('body')], [joint('a', 'prismatic', 'base')])
    text, _ = urdf_file_text(replace(robot, format='SDF'))
    assert '1.7976931348623157e+308' in text
    assert sb.load_description(text).joints['a'].limits == JointLimits()


def test_sensors_of_the_world_are_named_in_sdf():
    """Name a sensor on the world link; SDF models have none."""
    sensor = SensorDescription('f', FORCE_TORQUE, 'world', settings=WrenchSettings())
    robot = describe([link('world', 0.0), link('body')], [joint('a', 'revolute')])
    _, report = sdf_text(replace(robot, sensors=(sensor,)))
    assert "sensor 'f': it belongs to the world: left out" in report.to_text()
