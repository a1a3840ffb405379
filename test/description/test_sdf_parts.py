"""Shapes, contact parameters, appearance, sensors and plugins of models in SDF."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.compilation.collisions import read_shapes
from sim_bridge.description.report import Findings
from sim_bridge.shapes.polyhedra import HeightField, TriangleMesh
from sim_bridge.shapes.shapes import Plane

MASS = '<inertial><mass>1</mass></inertial>'
SPHERE = '<geometry><sphere><radius>0.5</radius></sphere></geometry>'


def model(content, version='1.11'):
    return f'<sdf version="{version}"><model name="m">{content}</model></sdf>'


def link(content, name='a'):
    return f'<link name="{name}">{MASS}{content}</link>'


def collision(geometry, more=''):
    return f'<collision name="c">{more}<geometry>{geometry}</geometry></collision>'


def shapes_of(description, meshes='hull'):
    findings = Findings()
    shapes = read_shapes(description, findings, meshes)
    assert not findings.found
    return [shape.placed for shape in shapes]


def material_of(surface):
    """Return a ball's material with a `<surface>`, and the findings' codes."""
    text = model(link(f'<collision name="c">{SPHERE}<surface>{surface}</surface></collision>'))
    description = sb.load_description(text)
    (placed,) = shapes_of(description)
    return placed, [each.code for each in description.report.findings]


# --- shapes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('geometry', 'volume'),
    [
        ('<box><size>1 2 3</size></box>', 6.0),
        ('<box size="1 2 3"/>', 6.0),
        ('<sphere><radius>0.5</radius></sphere>', math.pi / 6.0),
        ('<cylinder><radius>0.5</radius><length>2</length></cylinder>', math.pi / 2.0),
        ('<capsule><radius>0.5</radius><length>2</length></capsule>', math.pi * 2.0 / 3.0),
        ('<cone><radius>0.5</radius><length>3</length></cone>', math.pi / 4.0),
        ('<ellipsoid><radii>0.5 1 1.5</radii></ellipsoid>', math.pi),
        (
            '<polyline><point>0 0</point><point>2 0</point><point>2 1</point><point>0 1</point>'
            '<height>0.5</height></polyline>',
            1.0,
        ),
        (
            # an L, clockwise and closed
            '<polyline><point>0 0</point><point>0 2</point><point>1 2</point><point>1 1</point>'
            '<point>2 1</point><point>2 0</point><point>0 0</point><height>2</height></polyline>',
            6.0,
        ),
    ],
)
def test_shapes_have_their_volume(geometry, volume):
    """Compare with closed forms."""
    (placed,) = shapes_of(sb.load_description(model(link(collision(geometry)))))
    assert placed.shape.mass_properties(1.0).mass == pytest.approx(volume)


def test_a_concave_polyline_keeps_its_triangles():
    """Collide with the triangles instead of the convex hull."""
    corners = ((0, 0), (2, 0), (2, 2), (1, 0.5), (0, 2))
    points = ''.join(f'<point>{x} {y}</point>' for x, y in corners)
    text = model(link(collision(f'<polyline>{points}<height>1</height></polyline>')))
    (placed,) = shapes_of(sb.load_description(text))
    assert isinstance(placed.shape, TriangleMesh)


def test_a_plane_lies_across_its_normal_and_is_static():
    """Turn the plane's z along the normal; leave it out in a moving model."""
    plane = collision('<plane><normal>0 1 1</normal><size>5 5</size></plane>')
    (placed,) = shapes_of(sb.load_description(model('<static>1</static>' + link(plane))))
    assert isinstance(placed.shape, Plane)
    np.testing.assert_allclose(placed.rotation[:, 2], [0, math.sqrt(0.5), math.sqrt(0.5)])
    moving = sb.load_description(model(link(plane)))
    assert not moving.links['a'].collisions
    assert [each.code for each in moving.report.findings] == ['not-simulated']


def test_a_height_map_has_the_heights_of_its_picture(tmp_path):
    """Read a picture with two by two pixels: white is the height in `size`."""
    (tmp_path / 'h.pgm').write_bytes(b'P5 2 2 255\n' + bytes([0, 255, 0, 51]))
    (tmp_path / 'm.sdf').write_text(
        model(
            '<static>1</static>'
            + link(
                collision(
                    '<heightmap><uri>h.pgm</uri><size>4 6 10</size><pos>0 0 1</pos></heightmap>'
                )
            )
        )
    )
    (placed,) = shapes_of(sb.load_description(tmp_path / 'm.sdf'))
    assert isinstance(placed.shape, HeightField)
    assert placed.shape.size == (4, 6) and placed.position == (0, 0, 1)
    np.testing.assert_allclose(placed.shape.heights, [[0, 2], [0, 10]], atol=1e-9)


def test_meshes_are_found_beside_the_file_with_scale_and_part(tmp_path):
    """Locate a relative mesh file."""
    (tmp_path / 'meshes').mkdir()
    (tmp_path / 'meshes' / 'm.obj').write_text('')
    mesh = (
        '<mesh optimization="convex_hull"><uri>meshes/m.obj</uri><scale>2 3 4</scale><submesh>'
        '<name>part</name></submesh></mesh>'
    )
    (tmp_path / 'm.sdf').write_text(model(link(collision(mesh))))
    description = sb.load_description(tmp_path / 'm.sdf')
    (shape,) = description.links['a'].collisions
    assert (shape.kind, shape.size, shape.part) == ('mesh', (2, 3, 4), 'part')
    assert shape.path == str(tmp_path / 'meshes' / 'm.obj')


@pytest.mark.parametrize(
    'geometry',
    [
        '',
        '<box><size>1 1 0</size></box>',
        '<polyline><point>0 0</point></polyline>',
        '<mesh/>',
        '<image><uri>walls.png</uri></image>',
    ],
)
def test_a_defective_collision_is_left_out_and_named(geometry):
    """Warn instead of refusing the robot."""
    description = sb.load_description(model(link(collision(geometry))))
    assert not description.links['a'].collisions
    assert [each.omits for each in description.report.findings] == ['collision']


def test_an_empty_geometry_has_no_shape():
    """Accept an empty geometry, and tags without effect on motion and pictures."""
    tags = '<laser_retro>1</laser_retro><max_contacts>3</max_contacts>'
    looks = '<cast_shadows>0</cast_shadows><visibility_flags>1</visibility_flags><meta/>'
    visual = f'<visual name="v">{looks}<geometry><empty/></geometry></visual>'
    description = sb.load_description(model(link(collision('<empty/>', tags) + visual)))
    assert not description.links['a'].collisions and not description.links['a'].visuals
    assert not description.report.findings


# --- contact -----------------------------------------------------------------------------------


def test_friction_is_that_of_ode_before_bullet():
    """Prefer the first engine if both are given."""
    bullet = '<bullet><friction>0.1</friction><friction2>0.2</friction2></bullet>'
    ode = '<ode><mu>0.7</mu><mu2>0.4</mu2><fdir1>0 1 0</fdir1></ode>'
    placed, codes = material_of(f'<friction>{ode}{bullet}</friction>')
    assert (placed.material.friction, placed.material.friction2) == (0.7, 0.4)
    assert placed.friction_direction == (0, 1, 0) and not codes
    placed, _ = material_of(f'<friction>{bullet}</friction>')
    assert (placed.material.friction, placed.material.friction2) == (0.1, 0.2)


def test_torsional_friction_is_a_torque_by_the_patch():
    """Compare with Gazebo's law: 3 pi / 16 times coefficient, radius and normal force."""
    placed, _ = material_of(
        '<friction><torsional><coefficient>0.8</coefficient><patch_radius>0.05</patch_radius>'
        '</torsional></friction>'
    )
    assert placed.material.spinning_friction == pytest.approx(3 * math.pi / 16 * 0.8 * 0.05)


def test_slip_bounce_and_springs_are_those_of_the_material():
    """Read the remaining contact parameters."""
    placed, codes = material_of(
        '<friction><ode><slip1>0.01</slip1><slip2>0.01</slip2></ode></friction>'
        '<bounce><restitution_coefficient>0.6</restitution_coefficient></bounce>'
        '<contact><ode><kp>1e5</kp><kd>10</kd><max_vel>0.3</max_vel></ode></contact>'
    )
    material = placed.material
    assert (material.slip, material.restitution) == (0.01, 0.6)
    assert (material.youngs_modulus, material.max_correcting_velocity) == (1e5, 0.3)
    assert not codes


def test_bounces_reach_the_height_of_their_coefficient():
    """Drop a ball 1 m with coefficient 0.8: it rises to 0.64 m."""
    surface = '<bounce><restitution_coefficient>0.8</restitution_coefficient></bounce>'
    text = model(link(f'<collision name="c">{SPHERE}<surface>{surface}</surface></collision>'))
    world = sb.World(gravity=(0, 0, -9.81))
    world.add_body(sb.Plane(), motion='static', material=sb.Material('hard', restitution=0.8))
    ball = world.add_robot(sb.load_description(text), position=(0, 0, 1.5))
    fallen, top = False, 0.0
    for _ in range(1200):
        world.step()
        fallen |= ball.root_link.v[2] > 0.0
        top = max(top, ball.root_link.p[2]) if fallen else 0.0
    assert top - 0.5 == pytest.approx(0.64, abs=0.02)


def test_collisions_without_contact_are_sensors():
    """Report contacts without forces."""
    flag = '<contact><collide_without_contact>1</collide_without_contact></contact>'
    placed, _ = material_of(flag)
    assert placed.sensor


def test_collisions_of_one_link_have_their_own_materials():
    """Give a link's two collisions different friction."""
    parts = ''.join(
        f'<collision name="c{mu}">{SPHERE}<surface><friction><ode><mu>{mu}</mu></ode></friction>'
        '</surface></collision>'
        for mu in (0.2, 0.9)
    )
    description = sb.load_description(model(link(parts)))
    assert [each.material.friction for each in shapes_of(description)] == [0.2, 0.9]
    assert sb.World().add_robot(description).name == 'm'


@pytest.mark.parametrize(
    'surface',
    [
        '<friction><ode><slip1>0.1</slip1><slip2>0.2</slip2></ode></friction>',
        '<friction><bullet><rolling_friction>0.5</rolling_friction></bullet></friction>',
        '<bounce><restitution_coefficient>1</restitution_coefficient><threshold>2</threshold>'
        '</bounce>',
        '<contact><elastic_modulus>1e9</elastic_modulus></contact>',
        '<soft_contact><dart/></soft_contact>',
    ],
)
def test_contact_parameters_without_effect_are_named(surface):
    """Warn about each parameter."""
    _, codes = material_of(surface)
    assert codes == ['not-simulated']


@pytest.mark.parametrize(('of_model', 'of_link', 'expected'), [(1, None, 1), (1, 0, 0), (0, 1, 1)])
def test_self_collision_of_a_link_comes_before_that_of_the_model(of_model, of_link, expected):
    """Prefer the nearer tag."""
    own = '' if of_link is None else f'<self_collide>{of_link}</self_collide>'
    text = model(f'<self_collide>{of_model}</self_collide>{link(own)}')
    assert sb.load_description(text).links['a'].contact.self_collide is bool(expected)


def test_gravity_and_wind_are_switches_of_links():
    """Read both switches."""
    text = model('<enable_wind>1</enable_wind>' + link('<gravity>0</gravity>'))
    found = sb.load_description(text).links['a']
    assert (found.gravity, found.enable_wind) == (False, True)


# --- appearance --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('more', 'color'),
    [
        ('<material><diffuse>0.1 0.2 0.3 0.4</diffuse></material>', (0.1, 0.2, 0.3, 0.4)),
        ('<material><diffuse>0.1 0.2 0.3</diffuse></material>', (0.1, 0.2, 0.3, 1.0)),
        ('<material><script><name>Gazebo/Blue</name></script></material>', (0, 0, 1, 1)),
        (
            '<transparency>0.75</transparency><material><diffuse>1 0 0 1</diffuse></material>',
            (1, 0, 0, 0.25),
        ),
    ],
)
def test_colours_are_those_of_the_material(more, color):
    """Read colours by number and by script."""
    text = model(link(f'<visual name="v">{more}{SPHERE}</visual>'))
    (visual,) = sb.load_description(text).links['a'].visuals
    assert visual.color == pytest.approx(color)


def test_the_albedo_map_is_the_texture(tmp_path):
    """Locate a relative picture."""
    (tmp_path / 'wood.png').write_bytes(b'')
    pbr = '<material><pbr><metal><albedo_map>wood.png</albedo_map></metal></pbr></material>'
    (tmp_path / 'm.sdf').write_text(model(link(f'<visual name="v">{pbr}{SPHERE}</visual>')))
    (visual,) = sb.load_description(tmp_path / 'm.sdf').links['a'].visuals
    assert visual.texture_path == str(tmp_path / 'wood.png')


# --- devices -----------------------------------------------------------------------------------

SENSORS = {
    'imu': 'imu',
    'gpu_lidar': 'lidar',
    'navsat': 'navsat',
    'magnetometer': 'magnetometer',
    'altimeter': 'altimeter',
    'air_pressure': 'air_pressure',
    'contact': 'contact',
    'camera': 'camera',
    'rgbd_camera': 'camera',
}


@pytest.mark.parametrize('word', SENSORS)
def test_sensors_of_links_are_read(word):
    """Read each kind through the `<gazebo>` readers."""
    inner = {
        'gpu_lidar': '<lidar><scan><horizontal><samples>9</samples><min_angle>-1</min_angle>'
        '<max_angle>1</max_angle></horizontal></scan><range><min>0.1</min><max>5</max></range>'
        '</lidar>',
        'contact': '<contact><collision>c</collision></contact>',
    }.get(word, '')
    sensor = (
        f'<sensor name="s" type="{word}"><update_rate>20</update_rate><topic>t</topic>{inner}'
        '</sensor>'
    )
    text = model(link(f'<collision name="c">{SPHERE}</collision>{sensor}'))
    (found,) = sb.load_description(text).sensors
    assert (found.name, found.link, found.update_rate) == ('s', 'a', 20)


def test_a_force_torque_sensor_of_a_joint_is_on_it():
    """Place the sensor on its joint."""
    text = model(
        link('')
        + link('', 'b')
        + '<joint name="j" type="fixed"><parent>a</parent><child>b</child>'
        '<sensor name="s" type="force_torque"/></joint>'
    )
    (found,) = sb.load_description(text).sensors
    assert (found.joint, found.link) == ('j', 'b')


def test_poses_of_sensors_count_from_any_frame():
    """Place a sensor on a frame, and a camera inside it on another."""
    sensor = (
        '<sensor name="s" type="camera"><pose relative_to="f">0 0 1 0 0 0</pose><camera>'
        '<pose relative_to="g">0 0 0 0 0 0</pose></camera></sensor>'
    )
    text = model(
        f'<link name="a"><pose>1 0 0 0 0 0</pose>{MASS}{sensor}</link>'
        '<frame name="f"><pose>3 0 0 0 0 1.5707963267948966</pose></frame>'
        '<frame name="g"><pose>3 5 0 0 0 0</pose></frame>'
    )
    (found,) = sb.load_description(text).sensors
    np.testing.assert_allclose(found.pose.position, [2, 5, 0], atol=1e-12)


def test_a_sensor_on_an_unknown_frame_is_left_out():
    """Warn instead of refusing the robot."""
    sensor = '<sensor name="s" type="imu"><pose relative_to="x">0 0 0 0 0 0</pose></sensor>'
    description = sb.load_description(model(link(sensor)))
    assert not description.sensors
    assert [each.omits for each in description.report.findings] == ['sensor']


def test_sensors_of_nested_models_have_names_of_their_own():
    """Keep equal names apart."""
    sensor = '<sensor name="imu" type="imu"/>'
    inner = ''.join(f'<model name="{name}">{link(sensor)}</model>' for name in ('l', 'r'))
    found = sb.load_description(model(inner)).sensors
    assert [each.link for each in found] == ['l::a', 'r::a']
    assert len({each.name for each in found}) == 2


def test_plugins_of_nested_models_drive_their_own_joints():
    """Read a drive in a nested model, with this model's joints."""
    wheels = ''.join(
        f'<link name="{side}"><pose>0 {y} 0 0 0 0</pose>{MASS}<collision name="c"><pose>0 0 0 '
        '1.5707963267948966 0 0</pose><geometry><cylinder><radius>0.1</radius>'
        '<length>0.05</length></cylinder></geometry></collision></link>'
        f'<joint name="{side}_joint" type="revolute"><parent>a</parent><child>{side}</child><axis>'
        '<xyz>0 1 0</xyz></axis></joint>'
        for side, y in (('left', 0.2), ('right', -0.2))
    )
    plugin = (
        '<plugin filename="gz-sim-diff-drive-system" name="gz::sim::systems::DiffDrive">'
        '<left_joint>left_joint</left_joint><right_joint>right_joint</right_joint>'
        '<wheel_separation>0.4</wheel_separation><wheel_radius>0.1</wheel_radius></plugin>'
    )
    description = sb.load_description(
        model(f'<model name="car">{link("")}{wheels}{plugin}</model>')
    )
    assert not description.report.findings
    (drive,) = description.drives
    assert {wheel.joint for wheel in drive.wheels} == {'car::left_joint', 'car::right_joint'}


def test_plugins_of_an_include_belong_to_the_model(tmp_path):
    """Name an unknown plugin in an `<include>`."""
    (tmp_path / 'part.sdf').write_text(model(link('')))
    (tmp_path / 'm.sdf').write_text(
        model(
            link('', 'own') + '<include><name>p</name><uri>part.sdf</uri>'
            '<plugin filename="libmystery.so" name="n"/></include>'
        )
    )
    (finding,) = sb.load_description(tmp_path / 'm.sdf').report.findings
    assert (finding.code, finding.value) == ('not-simulated', 'libmystery.so')


def test_parts_of_links_that_are_not_simulated_are_named():
    """Warn about each part."""
    parts = ('light', 'projector', 'audio_sink', 'audio_source', 'particle_emitter')
    more = (
        '<kinematic>1</kinematic><velocity_decay><linear>0.1</linear></velocity_decay>'
        '<inertial><fluid_added_mass><xx>1</xx></fluid_added_mass></inertial>'
    )
    nodes = ''.join(f'<{part} name="{part}"/>' for part in parts)
    text = model(f'<link name="a">{nodes}{more}</link><gripper name="g"/>')
    named = {e.element.rpartition('/')[2] for e in sb.load_description(text).report.not_simulated}
    assert named == {*parts, 'kinematic', 'velocity_decay', 'fluid_added_mass', 'gripper'}


@pytest.mark.parametrize(
    'word', ['logical_camera', 'rfid', 'rfidtag', 'transceiver', 'air_speed', 'thermal']
)
def test_sensors_of_other_types_are_named(word):
    """Warn about each type."""
    description = sb.load_description(model(link(f'<sensor name="s" type="{word}"/>')))
    (finding,) = description.report.findings
    assert (finding.code, finding.value) == ('unsupported-sensor', word)


def test_a_robot_from_sdf_has_a_urdf_for_its_frames():
    """Publish the tree as URDF, with a frame between a joint and a link apart from it."""
    text = model(
        link('')
        + link('', 'b')
        + '<joint name="j" type="revolute"><pose>0 0 1 0 0 0</pose><parent>a</parent>'
        '<child>b</child><axis><xyz>0 0 1</xyz></axis></joint>'
    )
    description = sb.load_description(text)
    again = sb.load_description(description.xml)
    assert (description.format, again.format) == ('SDF', 'URDF')
    assert set(description.links) <= set(again.links) and 'j' in again.joints


def test_several_models_in_a_file_are_chosen_by_name():
    """Load one by name; refuse an open choice."""
    text = (
        '<sdf version="1.11"><world name="w">'
        + ''.join(f'<model name="{name}">{link("", name)}</model>' for name in 'ab')
        + '</world></sdf>'
    )
    assert sb.load_description(text, model='b').root == 'b'
    for each in (text, text.replace('<world name="w">', '').replace('</world>', '')):
        with pytest.raises(sb.DescriptionError, match='several-models'):
            sb.load_description(each)


def test_a_wheel_with_slip_alone_has_the_usual_material():
    """Load a wheel with the plugin for slip and no surface."""
    text = (
        '<sdf version="1.11"><model name="m">'
        + link('', 'base')
        + link(
            '<collision name="c"><geometry><sphere><radius>0.3</radius></sphere></geometry>'
            '</collision>',
            'wheel',
        )
        + '<joint name="j" type="revolute"><parent>base</parent><child>wheel</child><axis>'
        '<xyz>0 1 0</xyz></axis></joint>'
        '<plugin filename="gz-sim-wheel-slip-system" name="gz::sim::systems::WheelSlip">'
        '<wheel link_name="wheel"><slip_compliance_lateral>0.1</slip_compliance_lateral>'
        '<slip_compliance_longitudinal>0.2</slip_compliance_longitudinal>'
        '<wheel_normal_force>10</wheel_normal_force><wheel_radius>0.3</wheel_radius></wheel>'
        '</plugin></model></sdf>'
    )
    description = sb.load_description(text)
    [placed] = shapes_of(description)
    assert placed.material is None
    assert placed.rolling_slip == pytest.approx((0.003, 0.006))
    assert sb.World().add_robot(description).link('wheel').geometries[0].material.name == 'default'
