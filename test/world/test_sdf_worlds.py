"""Worlds in SDF: models, includes, lights, populations, actors and joints between models."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.foreign.fuel import cached
from sim_bridge.ros.params.robot_parameters import robots_of, world_parameters

MASS = '<inertial><mass>2</mass></inertial>'
BOX = '<geometry><box><size>1 1 1</size></box></geometry>'
COLLISION = f'<collision name="c">{BOX}</collision>'
GROUND = (
    '<model name="ground"><static>true</static><link name="l"><collision name="c"><geometry>'
    '<plane><normal>0 0 1</normal></plane></geometry></collision></link></model>'
)
BODY = f'<link name="l">{MASS}{COLLISION}</link>'


@pytest.fixture
def load(tmp_path):
    """Return a function that loads a world's contents; the world and the scene."""

    def loaded(content, version='1.11'):
        path = tmp_path / 'w.sdf'
        path.write_text(f'<sdf version="{version}"><world name="w">{content}</world></sdf>')
        world = sb.World()
        return world, world.load_scene(path)

    return loaded


def box(name, pose='0 0 0 0 0 0', more='', link=BODY):
    return f'<model name="{name}"><pose>{pose}</pose>{link}{more}</model>'


def codes(scene):
    return [finding.code for finding in scene.report.findings]


def test_a_box_comes_to_rest_on_the_ground(load):
    """Drop a box 0.2 m: it rests with its lower face on the plane."""
    world, scene = load(GROUND + box('b', '0 0 0.7 0 0 0'))
    assert not scene.report.findings
    assert scene.robots[0].is_object and scene.robots[1].is_object
    world.step(1000)
    assert world.robots['b'].root_link.p[2] == pytest.approx(0.5, abs=1e-3)
    assert world.robots['ground'].motion == 'static'
    np.testing.assert_array_equal(world.gravity, [0, 0, -9.8])


def test_physics_gravity_and_place_are_those_of_the_file(load):
    """Read the default profile's step, gravity, and the place on the Earth."""
    _, scene = load(
        '<physics name="a"><max_step_size>0.01</max_step_size></physics>'
        '<physics name="b" default="true"><max_step_size>0.002</max_step_size>'
        '<real_time_factor>2</real_time_factor></physics><gravity>0 0 -3.7</gravity>'
        '<spherical_coordinates><latitude_deg>47</latitude_deg><longitude_deg>19</longitude_deg>'
        '</spherical_coordinates>'
    )
    assert scene.gravity == (0, 0, -3.7)
    assert (scene.time_step, scene.real_time_factor) == (0.002, 2.0)
    assert (scene.origin.latitude, scene.origin.longitude) == (47, 19)


def test_frames_of_the_world_place_models_as_in_sdformat(load):
    """Place models on frames and models, with the values of sdformat's world_frame_relative_to."""
    link = f'<link name="L">{MASS}</link>'
    world, _ = load(
        '<frame name="F0"><pose>1 0 0 0 0 0</pose></frame>'
        '<frame name="F1"><pose relative_to="F0">2 0 0 0 0 0</pose></frame>'
        f'<model name="M2"><pose>0 0 4 0 0 0</pose>{link}</model>'
        f'<model name="M3"><pose relative_to="M2">0 0 5 0 0 0</pose>{link}</model>'
        f'<model name="M4"><pose relative_to="F1">0 0 6 0 0 0</pose>{link}</model>'
    )
    for name, expected in (('M2', (0, 0, 4)), ('M3', (0, 0, 9)), ('M4', (3, 0, 6))):
        np.testing.assert_allclose(world.robots[name].root_link.p, expected, atol=1e-12)


def test_includes_come_from_the_paths_and_the_cache_of_fuel(load, tmp_path, monkeypatch):
    """Include one model by three addresses; a missing one is a warning with its line."""
    files = {
        'models/crate': 'models',
        'fuel/fuel.gazebosim.org/someone/models/big crate/1': 'fuel',
        'fuel/fuel.gazebosim.org/someone/models/big crate/3': 'fuel',
    }
    for number, folder in enumerate(files):
        path = tmp_path / folder
        path.mkdir(parents=True)
        (path / 'model.config').write_text(
            '<model><sdf version="1.4">old.sdf</sdf><sdf version="1.9">new.sdf</sdf></model>'
        )
        mass = f'<inertial><mass>{number + 1}</mass></inertial>'
        (path / 'new.sdf').write_text(
            f'<sdf version="1.9"><model name="crate"><link name="l">{mass}</link></model></sdf>'
        )
    monkeypatch.setenv('GZ_SIM_RESOURCE_PATH', str(tmp_path / 'models'))
    monkeypatch.setenv('GZ_FUEL_CACHE_PATH', str(tmp_path / 'fuel'))
    server = 'https://fuel.gazebosim.org/1.0/Someone/models'
    world, scene = load(
        '<include><uri>model://crate</uri><pose>1 0 0 0 0 0</pose></include>'
        f'<include><name>newest</name><uri>{server}/Big Crate</uri></include>'
        f'<include><name>first</name><uri>{server}/Big Crate/1</uri></include>'
        '<include><name>beside</name><uri>models/crate</uri></include>\n'
        f'<include><uri>{server}/Missing</uri></include>'
    )
    masses = {name: robot.mass for name, robot in world.robots.items()}
    assert masses == {'crate': 1.0, 'newest': 3.0, 'first': 2.0, 'beside': 1.0}
    assert world.robots['crate'].root_link.p[0] == 1.0
    (missing,) = scene.report.findings
    assert (missing.code, missing.line) == ('include-not-found', 2)
    assert cached(f'{server}/../../secret') is None


def test_a_file_that_includes_itself_ends(tmp_path):
    """Include a file in itself: the repetition is left out with a warning."""
    path = tmp_path / 'a.sdf'
    path.write_text(
        f'<sdf version="1.9"><model name="a">{BODY}<include><name>b</name><uri>a.sdf</uri>'
        '</include></model></sdf>'
    )
    description = sb.load_description(path)
    assert 'not-simulated' in [each.code for each in description.report.findings]


def test_a_defect_in_an_included_file_names_the_file_and_its_line(load, tmp_path):
    """Give the place in the included file."""
    (tmp_path / 'part.sdf').write_text(
        '<sdf version="1.9"><model name="part">\n<link name="l"><pose relative_to="x"/></link>'
        '</model></sdf>'
    )
    with pytest.raises(sb.DescriptionError) as caught:
        load('<include><uri>part.sdf</uri></include>')
    (error,) = caught.value.report.errors
    assert (error.file, error.line) == (str(tmp_path / 'part.sdf'), 2)


def test_populations_have_their_number_and_region(load):
    """Populate by a grid, a line, and at random: equal at each loading, within the region."""
    model = f'<model name="{{}}">{BODY}</model>'
    content = (
        '<population name="p"><model_count>1</model_count><distribution><type>grid</type>'
        f'<rows>2</rows><cols>3</cols><step>2 4 0</step></distribution>{model.format("g")}'
        '</population>'
        '<population name="q"><pose>0 0 9 0 0 0</pose><box><size>4 4 1</size></box>'
        f'<model_count>20</model_count><distribution><type>random</type></distribution>'
        f'{model.format("r")}</population>'
    )
    world, _ = load(content)
    grid = np.array([world.robots[f'g_clone_{k}'].root_link.p for k in range(6)])
    assert sorted(set(grid[:, 0])) == [-2, 0, 2] and sorted(set(grid[:, 1])) == [-2, 2]
    random = np.array([world.robots[f'r_clone_{k}'].root_link.p for k in range(20)])
    assert (np.abs(random - [0, 0, 9]) <= [2, 2, 0.5]).all() and np.ptp(random[:, 0]) > 1.0
    again, _ = load(content)
    np.testing.assert_array_equal(again.robots['r_clone_7'].root_link.p, random[7])


def test_an_actor_moves_through_its_waypoints_and_pushes(load):
    """Walk 2 m in 2 s after a delay, and begin again at the end; the collision is kinematic."""
    points = ''.join(
        f'<waypoint><time>{t}</time><pose>{x} 0 0 0 0 {yaw}</pose></waypoint>'
        for t, x, yaw in ((0, 0, 0), (1, 1, 0), (2, 1, 1.5))
    )
    world, _ = load(
        f'<actor name="a"><pose>0 0 5 0 0 0</pose><link name="l">{COLLISION}</link><script>'
        f'<delay_start>0.5</delay_start><trajectory id="0" type="walk">{points}</trajectory>'
        '</script></actor>'
    )
    robot = world.robots['a']
    assert robot.motion == 'kinematic'
    step = world.time_step

    def at(time):
        world.step(round(time / step) - round(world.time / step))
        return robot.root_link.p[0], math.atan2(robot.root_link.R[1, 0], robot.root_link.R[0, 0])

    assert at(0.5) == pytest.approx((0.0, 0.0), abs=1e-6)
    assert at(1.0) == pytest.approx((0.5, 0.0), abs=1e-6)
    assert at(2.0) == pytest.approx((1.0, 0.75), abs=1e-6)
    assert at(2.75) == pytest.approx((0.25, 0.0), abs=1e-6)


def test_lights_and_sky_are_those_of_the_file(load):
    """Read a lamp for each kind, and the colours; leave out a lamp if it is off."""
    world, scene = load(
        '<scene><ambient>0.1 0.2 0.3 1</ambient><background>0 0 1 1</background></scene>'
        '<light name="sun" type="directional"><pose>0 0 10 0 0 0</pose><diffuse>0.8 0.8 0.8 1'
        '</diffuse><intensity>0.5</intensity><direction>0 0 -1</direction></light>'
        '<light name="bulb" type="point"><pose>1 2 3 0 0 0</pose><attenuation><range>7</range>'
        '<constant>0.5</constant><linear>0</linear><quadratic>0.1</quadratic></attenuation></light>'
        '<light name="off" type="point"><light_on>false</light_on></light>'
    )
    assert not scene.report.findings
    sun, bulb = world.surroundings.lamps
    assert (sun.kind, sun.color, sun.direction) == ('directional', (0.4,) * 3, (0, 0, -1))
    assert (bulb.position, bulb.range, bulb.attenuation) == ((1, 2, 3), 7, (0.5, 0, 0.1))
    assert world.surroundings.ambient == (0.1, 0.2, 0.3)
    assert world.surroundings.zenith == (0, 0, 1)


def test_joints_of_the_world_connect_models(load):
    """Hang a box on a static one by a hinge, and fix a third to the world."""
    world, _ = load(
        box('post', '0 0 3 0 0 0', '<static>true</static>')
        + box('arm', '2 0 3 0 0 0')
        + box('held', '9 0 5 0 0 0')
        + '<joint name="j" type="revolute"><pose>-2 0 0 0 0 0</pose><parent>post</parent>'
        '<child>arm</child><axis><xyz>0 1 0</xyz></axis></joint>'
        '<joint name="k" type="fixed"><parent>world</parent><child>held::l</child></joint>'
    )
    world.step(300)
    arm = world.robots['arm'].root_link.p
    assert np.linalg.norm(arm - [0, 0, 3]) == pytest.approx(2.0, abs=1e-3)
    assert arm[2] < 2.99
    np.testing.assert_allclose(world.robots['held'].root_link.p, [9, 0, 5], atol=1e-6)


def test_bit_masks_exclude_contacts(load):
    """Drop boxes with other bits and with no bits through each other; equal bits collide."""

    def masked(name, bits, z):
        surface = (
            f'<surface><contact><collide_bitmask>{bits}</collide_bitmask></contact></surface>'
        )
        collision = f'<collision name="c">{BOX}{surface}</collision>'
        return box(name, f'0 0 {z} 0 0 0', link=f'<link name="l">{MASS}{collision}</link>')

    base = box('base', '0 0 -0.5 0 0 0', '<static>true</static>')
    base = masked('base', '0x01', -0.5).replace('<pose>', '<static>true</static><pose>')
    world, _ = load(
        base + masked('same', '3', 0.6) + masked('other', '0x02', 2) + masked('no', 0, 4)
    )
    world.step(1500)
    heights = {name: world.robots[name].root_link.p[2] for name in ('same', 'other', 'no')}
    assert heights['same'] == pytest.approx(0.5, abs=1e-3)
    # 'other' shares a bit with 'same' alone, and lies on it
    assert heights['other'] == pytest.approx(1.5, abs=1e-2)
    assert heights['no'] < -1.0


def test_a_saved_state_gives_the_poses(load):
    """Restore the saved pose, as Gazebo Classic does."""
    world, _ = load(
        box('b') + '<state world_name="w"><model name="b"><pose>5 6 7 0 0 0</pose></model></state>'
    )
    np.testing.assert_allclose(world.robots['b'].root_link.p, [5, 6, 7])


def test_winds_and_magnetic_fields_are_those_of_the_world(load):
    """Blow by the plugin, measure by a magnetometer; without the plugin there is no wind."""
    sensor = '<sensor name="compass" type="magnetometer"/>'
    link = f'<link name="l"><enable_wind>true</enable_wind>{MASS}{sensor}</link>'
    content = (
        '<wind><linear_velocity>3 0 0</linear_velocity></wind>'
        '<magnetic_field>1e-5 2e-5 3e-5</magnetic_field>' + box('b', link=link)
    )
    plugin = '<plugin filename="gz-sim-wind-effects-system" name="gz::sim::systems::WindEffects"/>'
    speeds = []
    for more in ('', plugin):
        world, _ = load(content + more)
        world.step(500)
        robot = world.robots['b']
        speeds.append(robot.root_link.v[0])
        (found,) = robot.description.sensors
        assert found.settings.magnetic_field == (1e-5, 2e-5, 3e-5)
    assert speeds[0] == 0.0 and speeds[1] > 0.2


def test_buoyancy_of_the_world_acts_on_enabled_models(load):
    """Float a light box under the plugin of the world, for it alone."""
    plugin = (
        '<plugin filename="gz-sim-buoyancy-system" name="gz::sim::systems::Buoyancy">'
        '<uniform_fluid_density>1000</uniform_fluid_density><enable>light</enable></plugin>'
    )
    world, scene = load(box('light') + box('heavy', '5 0 0 0 0 0') + plugin)
    assert not scene.report.findings
    world.step(100)
    assert world.robots['light'].root_link.p[2] > 0.1
    assert world.robots['heavy'].root_link.p[2] < -0.01


def test_merged_parts_have_the_names_of_the_model(tmp_path):
    """Merge a model by an include: its links count as the outer model's, at the given pose."""
    (tmp_path / 'base.sdf').write_text(
        f'<sdf version="1.9"><model name="base">{BODY}<frame name="f" attached_to="l">'
        '<pose>0 0 1 0 0 0</pose></frame></model></sdf>'
    )
    (tmp_path / 'm.sdf').write_text(
        '<sdf version="1.9"><model name="m"><include merge="true"><uri>base.sdf</uri>'
        f'<pose>5 0 0 0 0 0</pose></include><link name="mast"><pose relative_to="f"/>{MASS}</link>'
        '<joint name="j" type="fixed"><parent>l</parent><child>mast</child></joint></model></sdf>'
    )
    description = sb.load_description(tmp_path / 'm.sdf')
    assert set(description.links) == {'l', 'mast'}
    np.testing.assert_allclose(description.base_pose.position, [5, 0, 0], atol=1e-12)
    np.testing.assert_allclose(description.joints['j'].origin.position, [0, 0, 1], atol=1e-12)
    assert set(description.files) == {str(tmp_path / name) for name in ('m.sdf', 'base.sdf')}


def test_namespaces_are_those_of_the_names(load):
    """Make a valid namespace from the name."""
    _, scene = load(box('my robot', more='<plugin filename="libx.so" name="x"/>'))
    assert scene.robots[0].namespace == 'my_robot'


def test_numbers_of_other_solvers_are_accepted(load):
    """Accept parameters of solvers, windows and joints without effect."""
    joint = (
        '<link name="k"><inertial><mass>1</mass></inertial></link><joint name="j" type="ball">'
        '<parent>l</parent><child>k</child><physics><ode><cfm_damping>1</cfm_damping></ode>'
        '</physics></joint><allow_auto_disable>0</allow_auto_disable>'
    )
    _, scene = load(
        '<gui fullscreen="0"/><physics type="ode"><max_contacts>9</max_contacts><ode><solver>'
        '<iters>50</iters></solver></ode><real_time_update_rate>0</real_time_update_rate></physics>'
        + box('b', more=joint)
    )
    assert not scene.report.findings


def test_a_skin_is_seen_and_stands_without_waypoints(load, tmp_path):
    """Show the skin at the actor's pose."""
    (tmp_path / 'walk.dae').write_text('')
    world, scene = load(
        '<actor name="a"><pose>1 2 3 0 0 0</pose><skin><filename>walk.dae</filename>'
        '<scale>0.5</scale></skin><animation name="w"><filename>walk.dae</filename></animation>'
        '</actor>'
    )
    (finding,) = scene.report.findings
    assert finding.code == 'not-simulated'
    (visual,) = world.robots['a'].description.links['actor'].visuals
    assert (visual.size, visual.path) == ((0.5,) * 3, str(tmp_path / 'walk.dae'))
    world.step(10)
    np.testing.assert_allclose(world.robots['a'].root_link.p, [1, 2, 3])


def test_parts_that_are_not_simulated_are_named(load):
    """Name an unknown plugin of the world, a road, fog, audio, and another atmosphere."""
    _, scene = load(
        '<plugin filename="libmystery.so" name="m"/><audio><device>default</device></audio>'
        '<atmosphere type="adiabatic"><pressure>5e4</pressure></atmosphere>'
        '<road name="r"><point>0 0 0</point></road><scene><fog><type>linear</type></fog></scene>'
    )
    named = {each.element.rpartition('/')[2] for each in scene.report.not_simulated}
    assert named == {'plugin', 'audio', 'road', 'fog', 'pressure'}


def test_the_nodes_parameters_are_those_of_the_physics(tmp_path):
    """Set rate and real-time factor; leave joints free as in Gazebo; start no controller."""
    arm = (
        f'<model name="arm">{BODY}<link name="k">{MASS}</link><joint name="j" type="revolute">'
        '<parent>l</parent><child>k</child></joint></model>'
    )
    path = tmp_path / 'w.sdf'
    path.write_text(
        '<sdf version="1.9"><world name="w"><physics><max_step_size>0.002</max_step_size>'
        f'<real_time_factor>0.5</real_time_factor></physics>{arm}{GROUND}</world></sdf>'
    )
    assert world_parameters(str(path)) == {
        'rate': pytest.approx(500.0),
        'real_time_factor': 0.5,
        'hold_until_first_command': False,
    }
    (robot,) = robots_of(str(path), '')
    assert (robot.namespace, robot.controller) == ('arm', 'none')
