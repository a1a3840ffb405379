"""Worlds in MJCF: robots, objects, scenery, contacts, light; loops, couplings and devices."""

import math

import mujoco
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.description import check_description
from sim_bridge.description.formats import MJCF
from sim_bridge.description.model import ConstraintType
from sim_bridge.description.scene.load import read_scene
from sim_bridge.description.scene.reader import is_world

_WORLD = """
<mujoco model="shop">
  <option timestep="0.004" gravity="0 0 -5"/>
  <default><geom friction="0.6"/></default>
  <asset><hfield name="hill" nrow="3" ncol="3" size="1 2 0.5 0.1"
    elevation="0 0 0 0 1 0 0 0 0"/></asset>
  <worldbody>
    <light name="sun" type="directional" dir="0 1 -1" diffuse="0.6 0.5 0.4" castshadow="false"/>
    <light name="lamp" pos="0 0 3" dir="0 0 -1" cutoff="30" type="spot"/>
    <camera name="overview" pos="0 -3 2" xyaxes="1 0 0 0 0.5 1"/>
    <geom name="floor" type="plane" size="0 0 1"/>
    <geom name="hill" type="hfield" hfield="hill" pos="5 0 0"/>
    <geom name="wall" type="box" size="0.1 2 1" pos="-2 0 1" rgba="1 0 0 1"/>
    <body name="shelf" pos="0 2 0"><geom type="box" size="0.5 0.2 0.5" pos="0 0 0.5"/></body>
    <body name="arm" pos="1 0 0"><geom type="cylinder" size="0.1 0.1" pos="0 0 0.1"/>
      <body name="upper" pos="0 0 0.3"><joint name="lift" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0 0 0.4" size="0.05" friction="0.9"/></body></body>
    <body name="cube" pos="0 0 0.05"><freejoint/><geom type="box" size="0.05 0.05 0.05"/></body>
    <body name="goal" mocap="true" pos="0 0 2">
      <geom size="0.1" contype="0" conaffinity="0"/></body>
  </worldbody>
</mujoco>"""


@pytest.fixture
def shop(tmp_path):
    """Return the path to a world with a robot, an object and scenery."""
    path = tmp_path / 'shop.xml'
    path.write_text(_WORLD)
    return path


def test_a_world_has_its_robots_objects_and_scenery(shop):
    """Load a world: one robot, one free object, static scenery, a kinematic body, gravity."""
    assert is_world(shop)
    world = sb.World()
    scene = world.load_scene(shop)
    assert scene.report.ok, scene.report.to_text()
    assert scene.time_step == 0.004 and world.gravity.tolist() == [0.0, 0.0, -5.0]
    assert {name: robot.motion for name, robot in world.robots.items()} == {
        'floor': 'static',
        'hill': 'static',
        'goal': 'kinematic',
        'scenery': 'static',
        'shelf': 'static',
        'shop': 'static',
        'cube': 'dynamic',
    }
    arm = world.robots['shop']
    assert arm.joint_names == ['lift'] and arm.description.format == MJCF.name
    np.testing.assert_allclose(arm.link('arm').p, [1.0, 0.0, 0.0])
    np.testing.assert_allclose(arm.link('upper').p, [1.0, 0.0, 0.3])
    assert [each.name for each in scene.robots if not each.is_object] == ['scenery', 'shop']
    assert [each.namespace for each in scene.robots if each.name == 'shop'] == ['']
    world.step(200)
    np.testing.assert_allclose(world.robots['cube'].root_link.p, [0.0, 0.0, 0.05], atol=1e-4)


def test_rays_meet_planes_and_height_fields_where_mujoco_meets_them(shop):
    """Have MuJoCo's ground: a plane, and a height field."""
    model = mujoco.MjModel.from_xml_path(str(shop))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    world = sb.World()
    world.load_scene(shop)
    down, met = np.array([0.0, 0.0, -1.0]), np.zeros(1, np.int32)
    for x, y in ((0.5, 0.3), (5.2, 0.4), (4.6, -0.8), (4.9, 1.5)):
        start = np.array([x, y, 4.0])
        theirs = mujoco.mj_ray(model, data, start, down, None, 1, -1, met)
        assert world.raycast(start, start + 5.0 * down).distance == pytest.approx(theirs, abs=1e-6)


def test_the_greater_friction_of_two_geoms_acts(shop):
    """Combine friction as MuJoCo: the greater number, not the mean."""
    world = sb.World()
    world.load_scene(shop)
    one = world.robots['shop'].link('upper').geometries[0].material
    other = world.robots['cube'].geometries[0].material
    assert (one.friction, other.friction) == (0.9, 0.6)
    assert world.materials.contact_material(one, other).friction == 0.9
    assert world.materials.contact_material(other, other).friction == 0.6


def test_lights_and_cameras_of_the_world_are_there(shop):
    """Make lamps from lights, and a device from a camera fixed to the world."""
    world = sb.World()
    world.load_scene(shop)
    sun, lamp = world.surroundings.lamps
    assert (sun.kind, sun.color, sun.cast_shadows) == (
        'directional',
        pytest.approx((0.6, 0.5, 0.4)),
        False,
    )
    assert lamp.kind == 'spot' and lamp.outer == pytest.approx(math.radians(60.0))
    camera = world.robots['scenery'].device('overview')
    assert camera.description.settings.size == (640, 480)
    focal = camera.description.settings.pixel_intrinsics[1]
    assert 2.0 * math.atan(240.0 / focal) == pytest.approx(math.radians(45.0))


_LINKAGE = """
<mujoco><compiler angle="radian"/><option gravity="2 0 -9.8"/><worldbody>
  <body name="base">
    <geom size="0.05" contype="0" conaffinity="0"/>
    <body name="crank" pos="0 0 0"><joint name="a" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.02" contype="0" conaffinity="0"/>
      <body name="rod" pos="0 0 0.3"><joint name="b" axis="0 1 0" ref="0.2"/>
        <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.02" contype="0" conaffinity="0"/>
      </body></body>
    <body name="rocker" pos="0.5 0 0"><joint name="c" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.02" contype="0" conaffinity="0"/>
    </body>
    <body name="dial" pos="0 1 0"><joint name="d" axis="0 1 0" ref="0.1"/>
      <geom size="0.05" contype="0" conaffinity="0"/></body>
    <body name="bell" pos="0 2 0"><joint name="e" axis="0 1 0"/>
      <geom size="0.05" contype="0" conaffinity="0"/>
      <site name="spot" pos="0.1 0.2 0.3" euler="0.3 0.2 0.1"/></body>
    <body name="held" pos="0.1 2.2 0.3" euler="0.3 0.2 0.1">
      <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
      <joint type="slide" axis="0 0 1"/>
      <joint name="f" type="ball"/>
      <geom type="box" size="0.1 0.05 0.02" contype="0" conaffinity="0"/></body>
  </body></worldbody>
  <equality>
    <connect name="pin" body1="rod" body2="rocker" anchor="0.5 0 0"/>
    <joint name="gear" joint1="d" joint2="b" polycoef="0.3 -2 0 0 0"/>
    <weld name="glue" body1="bell" body2="held"/>
    <joint name="cam" joint1="e" joint2="a" polycoef="0 0 1 0 0"/>
  </equality>
</mujoco>"""


def test_equalities_become_loops_and_mimic_rules(tmp_path):
    """Keep a linkage closed, a joint coupled and two bodies welded; name a cam."""
    path = tmp_path / 'linkage.xml'
    path.write_text(_LINKAGE)
    assert not is_world(path)
    description = sb.load_description(path)
    loops = {each.name: each for each in description.constraints}
    assert {name: each.type for name, each in loops.items()} == {
        'pin': ConstraintType.BALL,
        'glue': ConstraintType.FIXED,
    }
    mimic = description.joints['d'].mimic
    assert (mimic.joint, mimic.multiplier) == ('b', -2.0)
    assert mimic.offset == pytest.approx(0.1 + 0.3 + 2.0 * 0.2)
    assert [(each.name, each.attribute) for each in description.report.not_simulated] == [
        ('cam', 'polycoef')
    ]
    world = sb.World(time_step=1e-3, gravity=(2.0, 0.0, -9.8))
    robot = world.load_urdf(path)
    world.step(300)
    rod, rocker = robot.link('rod'), robot.link('rocker')
    gap = rod.p + rod.R @ [0.5, 0.0, 0.0] - rocker.p - rocker.R @ loops['pin'].position2
    assert np.linalg.norm(gap) < 1e-6 and abs(robot.joint('a').q) > 0.05
    assert robot.joint('d').q == pytest.approx(-2.0 * robot.joint('b').q + mimic.offset, abs=1e-9)
    bell, held = robot.link('bell'), robot.link('held')
    kept = np.linalg.norm(bell.R.T @ (held.p - bell.p) - [0.1, 0.2, 0.3])
    assert kept < 1e-6 and abs(robot.joint('e').q) > 0.05


_SENSORS = """
<mujoco><compiler angle="radian"/><option gravity="0.3 0 -9.8" magnetic="0.1 0.2 -0.4"/>
  <worldbody>
  <body name="base"><geom size="0.1" contype="0" conaffinity="0"/>
    <body name="arm" pos="0 0 1"><joint name="a" axis="0 1 0"/><joint name="b" axis="1 0 0"/>
      <geom type="capsule" fromto="0 0 0 0.5 0.1 0" size="0.05" contype="0" conaffinity="0"/>
      <site name="wrist" pos="0.1 0 0.02" euler="0.1 0.2 0.3"/>
      <site name="head" pos="0.4 0 0" euler="0.5 0.2 0.1"/>
      <site name="nose" pos="0.2 0 0" euler="3.0 0 0.2"/>
      <camera name="eye" pos="0.3 0 0" euler="0.3 0.1 0.2" fovy="50" resolution="64 48"/>
    </body></body></worldbody>
  <sensor>
    <force name="push" site="wrist"/><torque name="twist" site="wrist"/>
    <accelerometer name="acc" site="head"/><gyro name="rate" site="head"/>
    <gyro name="alone" site="wrist"/><magnetometer name="compass" site="head"/>
    <accelerometer name="wrist_acc" site="wrist"/>
    <jointpos joint="a"/><framepos objtype="site" objname="nose"/>
    <velocimeter name="speed" site="head"/>
  </sensor></mujoco>"""


def test_sensors_measure_as_in_mujoco():
    """Measure force, torque, acceleration, turning rate and field as MuJoCo after the step."""
    model = mujoco.MjModel.from_xml_string(_SENSORS)
    data = mujoco.MjData(model)
    world = sb.World(time_step=1e-3, gravity=(0.3, 0.0, -9.8))
    robot = world.load_urdf(_SENSORS)
    robot.q, robot.dq = [0.4, -0.3], [1.5, -0.7]
    world.step()
    data.qpos[:], data.qvel[:] = robot.q, robot.dq
    mujoco.mj_forward(model, data)
    names = [each.name for each in robot.description.sensors]
    assert names == ['push', 'twist', 'head', 'compass', 'wrist', 'eye']
    ours = {
        'push': robot.device('push')['force'],
        'twist': robot.device('twist')['torque'],
        'acc': robot.device('head')['linear_acceleration'],
        'rate': robot.device('head')['angular_velocity'],
        'alone': robot.device('wrist')['angular_velocity'],
        'wrist_acc': robot.device('wrist')['linear_acceleration'],
        'compass': robot.device('compass')['magnetic_field'],
    }
    for name, value in ours.items():
        np.testing.assert_allclose(value, data.sensor(name).data, rtol=1e-9, atol=1e-9)
    codes = [each.code for each in robot.description.report.findings]
    assert sorted(codes) == ['no-device', 'no-device', 'not-simulated']


def test_sensors_have_the_noise_of_the_file():
    """Read a sensor's noise deviation, for each number."""
    text = _SENSORS.replace('name="push"', 'name="push" noise="0.2"')
    found = {each.name: each.noise for each in sb.load_description(text).sensors}
    assert {channel: each.stddev for channel, each in found['push'].items()} == {
        f'force.{axis}': 0.2 for axis in 'xyz'
    }
    assert not found['twist']


def test_rangefinders_look_along_their_site():
    """Measure the distance along a site's z axis, up to the cutoff."""
    world = sb.World()
    world.add_body(sb.Box((1, 1, 1)), motion='static', position=(2.0, 0.0, 0.5))
    robot = world.load_urdf("""<mujoco><worldbody><body name="a" pos="0 0 1">
      <geom size="0.1"/><site name="front" pos="0.2 0 0.5" zaxis="1 0 0"/>
      <site name="up" pos="0 0 0.2"/></body></worldbody>
      <sensor><rangefinder name="front" site="front"/>
      <rangefinder name="up" site="up" cutoff="3"/></sensor></mujoco>""")
    world.step()
    assert robot.device('front')['range'].item() == pytest.approx(1.3)
    assert math.isinf(robot.device('up')['range'].item())


def test_a_camera_has_the_view_of_mujocos():
    """Look along -z in the camera's frame, with the vertical field of view."""
    description = sb.load_description(_SENSORS)
    model = mujoco.MjModel.from_xml_string(_SENSORS)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    (camera,) = [each for each in description.sensors if each.name == 'eye']
    link = sb.World().load_urdf(_SENSORS).link('arm')
    forward = link.R @ camera.pose.rotation @ [1.0, 0.0, 0.0]
    up = link.R @ camera.pose.rotation @ [0.0, 0.0, 1.0]
    axes = data.cam_xmat[0].reshape(3, 3)
    np.testing.assert_allclose(forward, -axes[:, 2], atol=1e-12)
    np.testing.assert_allclose(up, axes[:, 1], atol=1e-12)
    assert camera.settings.size == (64, 48)
    assert camera.settings.pixel_intrinsics[1] == pytest.approx(
        24.0 / math.tan(math.radians(25.0))
    )


def test_a_car_with_a_tendon_is_read():
    """Read a car with a floor, wheels, a rangefinder and a tendon, without a finding."""
    text = """
      <mujoco model="car"><worldbody><geom type="plane" size="3 3 0.1"/>
        <body name="car" pos="0 0 0.03"><freejoint/><geom type="box" size="0.1 0.06 0.01"/>
          <site name="nose" pos="0.1 0 0" zaxis="1 0 0"/>
          <body name="left" pos="0 0.07 0" zaxis="0 1 0"><joint name="left"/>
            <geom type="cylinder" size="0.03 0.01"/></body></body></worldbody>
        <tendon><fixed name="forward"><joint joint="left" coef="0.5"/></fixed></tendon>
        <sensor><rangefinder name="nose" site="nose"/></sensor></mujoco>"""
    report = check_description(text)
    assert report.ok
    assert not report.not_simulated


def test_files_of_a_world_are_listed(tmp_path):
    """List main file and includes, for recordings."""
    (tmp_path / 'box.xml').write_text(
        '<mujoco><worldbody><geom type="box" size="1 1 1"/></worldbody></mujoco>'
    )
    main = tmp_path / 'main.xml'
    main.write_text(
        '<mujoco><include file="box.xml"/><worldbody><body name="a"><freejoint/>'
        '<geom size="0.1"/></body></worldbody></mujoco>'
    )
    assert read_scene(main).files == (str(main), str(tmp_path / 'box.xml'))


def test_rangefinders_of_cameras_are_named(tmp_path):
    """Leave out the rangefinder of a camera; no site has its number."""
    path = tmp_path / 'w.xml'
    path.write_text("""
      <mujoco><worldbody><geom type="plane" size="1 1 1"/><site name="other"/>
        <body name="a" pos="0 0 1"><joint/><geom size="0.1"/>
          <camera name="eye" resolution="4 4"/></body></worldbody>
        <sensor><rangefinder name="depth" camera="eye"/></sensor></mujoco>""")
    scene = read_scene(path)
    assert "sensor 'depth': only sites have rangefinders here" in scene.report.to_text()
    assert all(
        each.name != 'depth'
        for robot in scene.robots
        for each in (robot.description.sensors if robot.description else ())
    )


def test_a_time_step_of_zero_is_named(tmp_path):
    """Take the usual step."""
    path = tmp_path / 'w.xml'
    path.write_text("""
      <mujoco><option timestep="0"/><worldbody><geom type="plane" size="1 1 1"/>
        <body name="a"><joint/><geom size="0.1"/></body></worldbody></mujoco>""")
    scene = read_scene(path)
    assert scene.time_step is None
    assert 'option timestep="0": must be above 0' in scene.report.to_text()


_JOINED = """
<mujoco model="m">
  <option gravity="0 0 -9.81" timestep="0.001"/>
  <worldbody>
    <body name="hook" mocap="true" pos="0 0 1"/>
    <body name="a" pos="0.3 0 1"><freejoint/><geom size="0.05" mass="1"/>
      <body name="b" pos="0.2 0 0"><joint name="h" axis="0 1 0" damping="0.1"/>
        <geom size="0.05" pos="0.1 0 0" mass="0.5"/></body></body>
    <body name="c" pos="0.5 0.4 1" euler="0 0 30"><freejoint/><geom size="0.05" mass="0.3"/></body>
  </worldbody>
  <equality>
    <weld name="hold" body1="hook" body2="a" solref="0.002 1"/>
    <connect name="chain" body1="b" body2="c" anchor="0.1 0.1 0" solref="0.002 1"/>
  </equality>
</mujoco>"""


def test_equalities_between_robots_are_joints_of_the_world(tmp_path):
    """Hang a robot on a mocap body, and a body on it: fall as in MuJoCo, then be carried."""
    path = tmp_path / 'joined.xml'
    path.write_text(_JOINED)
    world = sb.World(time_step=0.001)
    scene = world.load_scene(path)
    assert not scene.report.findings, scene.report.to_text()
    assert [(each.name, each.kind) for each in scene.joints] == [
        ('hold', 'fixed'),
        ('chain', 'ball'),
    ]
    model = mujoco.MjModel.from_xml_string(_JOINED)
    data = mujoco.MjData(model)
    for _ in range(400):
        world.step()
        mujoco.mj_step(model, data)
    links = {'a': world.robots['m'].link('a'), 'c': world.robots['c'].link('c')}
    for name, link in links.items():
        # MuJoCo's equalities yield by 2 mm here
        np.testing.assert_allclose(link.p, data.body(name).xpos, atol=4e-3)
    assert links['c'].p[2] < 0.7
    hook = world.robots['hook']
    before = links['a'].p.copy()
    for k in range(100):
        hook.move_to((0.001 * (k + 1), 0.0, 1.0))
        world.step()
    np.testing.assert_allclose(links['a'].p - before, (0.1, 0.0, 0.0), atol=1e-3)


def test_open_equalities_between_robots_are_named(tmp_path):
    """Leave out a connect whose anchors are apart at the beginning; name its gap."""
    path = tmp_path / 'open.xml'
    text = _JOINED.replace('<body name="b" pos', '<body name="b" gravcomp="1" pos')
    sites = text.replace('<geom size="0.05" mass="0.3"/>', '<geom size="0.05"/><site name="s2"/>')
    sites = sites.replace('<geom size="0.05" mass="1"/>', '<geom size="0.05"/><site name="s1"/>')
    old = 'body1="b" body2="c" anchor="0.1 0.1 0"'
    path.write_text(sites.replace(old, 'site1="s1" site2="s2"'))
    scene = read_scene(path)
    assert [each.name for each in scene.joints] == ['hold']
    assert "equality 'chain': is open by 0.447 m" in scene.report.to_text()
