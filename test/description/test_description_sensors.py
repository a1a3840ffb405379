"""Sensor declarations in all forms used in files."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.description import (
    add_sensors,
    DescriptionError,
    load_description,
    sensors_from_mapping,
)
from sim_bridge.description.model import NoiseDescription
from sim_bridge.description.sensor_kinds import (
    ACCELEROMETER,
    FORCE_TORQUE,
    GYRO,
    IMU,
    ImuSettings,
    NoSettings,
    WrenchSettings,
)

BALL = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
QUARTER = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def robot(extra: str = '') -> str:
    """Return a robot base -shoulder- arm -tool_joint (fixed)- tool."""
    return (
        f'<robot name="r"><link name="base">{BALL}</link><link name="arm">{BALL}</link>'
        f'<link name="tool">{BALL}</link>'
        '<joint name="shoulder" type="continuous"><parent link="base"/><child link="arm"/></joint>'
        '<joint name="tool_joint" type="fixed"><parent link="arm"/><child link="tool"/></joint>'
        f'{extra}</robot>'
    )


def load(extra: str, **options):
    """Return the sensors of a robot with this element, which must raise no finding."""
    description = load_description(robot(extra), **options)
    assert description.report.findings == ()
    return description.sensors


def gazebo(reference: str, kind: str, content: str = '', name: str = 's') -> str:
    """Return a Gazebo sensor."""
    sensor = f'<sensor name="{name}" type="{kind}">{content}</sensor>'
    return f'<gazebo reference="{reference}">{sensor}</gazebo>'


def axis_noise(stddev: float) -> str:
    """Return a noise element."""
    return f'<noise type="gaussian"><mean>0</mean><stddev>{stddev}</stddev></noise>'


def test_gazebo_force_torque_with_every_key():
    """Read frame, direction, pose, rate and the noise of single axes."""
    (sensor,) = load(
        gazebo(
            'tool_joint',
            'force_torque',
            f"""
        <always_on>true</always_on><visualize>false</visualize><update_rate>500</update_rate>
        <topic>ft</topic><gz_frame_id>ft_frame</gz_frame_id><pose>1 2 3 0 0 {math.pi / 2}</pose>
        <force_torque><frame>sensor</frame><measure_direction>parent_to_child</measure_direction>
        <force><x>{axis_noise(0.1)}</x><z>{axis_noise(0.3)}</z></force>
        <torque><y>{axis_noise(0.5)}</y></torque></force_torque>""",
        )
    )
    assert (sensor.name, sensor.kind) == ('s', FORCE_TORQUE)
    assert (sensor.joint, sensor.link) == ('tool_joint', 'tool')
    assert sensor.update_rate == 500.0
    assert (sensor.topic, sensor.frame_id) == ('ft', 'ft_frame')
    assert (sensor.frame, sensor.settings.measure_direction) == ('sensor', 'parent_to_child')
    assert sensor.pose.position.tolist() == [1.0, 2.0, 3.0]
    assert sensor.pose.rotation == pytest.approx(QUARTER, abs=1e-15)
    assert {channel: noise.stddev for channel, noise in sensor.noise.items()} == {
        'force.x': 0.1,
        'force.z': 0.3,
        'torque.y': 0.5,
    }


def test_gazebo_force_torque_defaults():
    """Omit everything optional; use the parent joint if a link is named."""
    for reference, joint, link in (
        ('shoulder', 'shoulder', 'arm'),
        ('tool', 'tool_joint', 'tool'),
    ):
        (sensor,) = load(gazebo(reference, 'force_torque'))
        assert (sensor.joint, sensor.link) == (joint, link)
        assert (sensor.frame, sensor.settings.measure_direction) == ('sensor', 'child_to_parent')
        assert sensor.pose.is_identity
        assert sensor.update_rate == 0.0
        assert dict(sensor.noise) == {}


def test_gazebo_imu_with_every_noise_key():
    """Read all of SDF's noise keys, and density, axis by axis."""
    keys = {
        'mean': 1.0,
        'stddev': 2.0,
        'bias_mean': 3.0,
        'bias_stddev': 4.0,
        'dynamic_bias_stddev': 5.0,
        'dynamic_bias_correlation_time': 6.0,
        'precision': 7.0,
        'density': 8.0,
    }
    noise = ''.join(f'<{key}>{value}</{key}>' for key, value in keys.items())
    (sensor,) = load(
        gazebo(
            'arm',
            'imu',
            f"""
        <imu><enable_orientation>false</enable_orientation>
        <orientation_reference_frame><localization>ENU</localization></orientation_reference_frame>
        <angular_velocity><y><noise type="gaussian_quantized">{noise}</noise></y>
        </angular_velocity>
        <linear_acceleration><x><noise type="none">{noise}</noise></x>
        </linear_acceleration></imu>""",
        )
    )
    assert (sensor.kind, sensor.link, sensor.joint) == (IMU, 'arm', '')
    assert sensor.settings.enable_orientation is False
    assert dict(sensor.noise) == {
        'angular_velocity.y': NoiseDescription(kind='gaussian_quantized', **keys)
    }


def test_gazebo_imu_on_a_fixed_joint_sits_on_its_child():
    """Let a reference name a joint, as Gazebo lumps fixed joints."""
    (sensor,) = load(gazebo('tool_joint', 'imu'))
    assert (sensor.link, sensor.joint) == ('tool', '')


def test_classic_imu_noise_holds_for_all_axes():
    """Read SDF 1.4's single noise element."""
    (sensor,) = load(
        gazebo(
            'arm',
            'imu',
            """
        <imu><noise><type>gaussian</type>
        <rate><mean>0</mean><stddev>2e-4</stddev><bias_mean>7.5e-6</bias_mean></rate>
        <accel><stddev>0.017</stddev></accel></noise></imu>""",
        )
    )
    assert sorted(sensor.noise) == [
        f'{quantity}.{axis}'
        for quantity in ('angular_velocity', 'linear_acceleration')
        for axis in 'xyz'
    ]
    rate = NoiseDescription(kind='gaussian', stddev=2e-4, bias_mean=7.5e-6)
    assert sensor.noise['angular_velocity.z'] == rate
    assert sensor.noise['linear_acceleration.x'] == NoiseDescription(kind='gaussian', stddev=0.017)


@pytest.mark.parametrize(
    'pose',
    [
        '<pose degrees="true">0 0 1 0 0 90</pose>',
        f'<pose>0 0 1 0 0 {math.pi / 2}</pose>',
        '<pose rotation_format="quat_xyzw">0 0 1 0 0 0.7071 0.7071</pose>',
        '<pose relative_to="">0 0 1 0 0 1.5707963267948966</pose>',
    ],
)
def test_poses_in_all_of_sdfs_forms(pose):
    """Rotate a quarter turn about z, one metre up."""
    (sensor,) = load(gazebo('arm', 'imu', pose))
    assert sensor.pose.position.tolist() == [0.0, 0.0, 1.0]
    assert sensor.pose.rotation == pytest.approx(QUARTER, abs=1e-12)


def test_frame_of_the_plugin_inside_a_sensor():
    """Use the frame given to classic Gazebo's ROS plugin."""
    for tag in ('frameName', 'frame_name'):
        (sensor,) = load(gazebo('arm', 'imu', f'<plugin name="p"><{tag}>f</{tag}></plugin>'))
        assert sensor.frame_id == 'f'


def test_names_taken_on_another_link_get_the_link_in_front():
    """Keep two sensors with one name, which SDF allows on two links."""
    description = load_description(robot(gazebo('arm', 'imu') + gazebo('tool', 'imu')))
    assert [sensor.name for sensor in description.sensors] == ['s', 'tool_s']


def test_sensors_under_robot():
    """Read iDynTree's form, with its origin and its kinds."""
    origin = '<origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/>'
    sensors = load(
        f'<sensor name="a" type="accelerometer"><parent link="arm"/>{origin}</sensor>'
        '<sensor name="g" type="gyroscope"><parent link="arm"/></sensor>'
        '<sensor name="f" type="force_torque"><parent joint="shoulder"/>'
        '<force_torque><frame>child</frame></force_torque></sensor>'
    )
    assert [sensor.kind for sensor in sensors] == [ACCELEROMETER, GYRO, FORCE_TORQUE]
    assert sensors[0].pose.position.tolist() == [1.0, 2.0, 3.0]
    assert sensors[0].pose.rotation == pytest.approx(QUARTER, abs=1e-15)
    assert (sensors[2].joint, sensors[2].frame) == ('shoulder', 'child')


def test_one_device_declared_twice_is_one_device(example_robots):
    """Read iCub, which declares its six force-torque sensors for Gazebo and for iDynTree."""
    sensors = load_description(example_robots['icub/icub']).sensors
    assert len(sensors) == 6
    assert {sensor.kind for sensor in sensors} == {FORCE_TORQUE}


def ros2_control(name: str, interfaces: list[str], **parameters: str) -> str:
    """Return a sensor in ros2_control."""
    content = ''.join(f'<state_interface name="{name}"/>' for name in interfaces)
    content += ''.join(f'<param name="{key}">{value}</param>' for key, value in parameters.items())
    sensor = f'<sensor name="{name}">{content}</sensor>'
    return f'<ros2_control name="x" type="system">{sensor}</ros2_control>'


@pytest.mark.parametrize(
    ('interfaces', 'kind', 'settings'),
    [
        (['force.x', 'torque.z'], FORCE_TORQUE, WrenchSettings()),
        (
            ['force.x', 'angular_velocity.z', 'linear_acceleration.x'],
            FORCE_TORQUE,
            WrenchSettings(),
        ),
        (['angular_velocity.x'], GYRO, NoSettings()),
        (['linear_acceleration.z'], ACCELEROMETER, NoSettings()),
        (['orientation.x', 'angular_velocity.x'], IMU, ImuSettings(True)),
        (['angular_velocity.x', 'linear_acceleration.z'], IMU, ImuSettings(False)),
        (['orientation.x', 'angular_velocity.x', 'linear_acceleration.z'], IMU, ImuSettings(True)),
    ],
)
def test_ros2_control_kind_follows_from_the_interfaces(interfaces, kind, settings):
    """Tell the four kinds of sensors by their state interfaces."""
    (sensor,) = load(ros2_control('s', interfaces, link='tool', update_rate='250', frame_id='f'))
    assert (sensor.kind, sensor.link) == (kind, 'tool')
    assert sensor.settings == settings
    assert (sensor.update_rate, sensor.frame_id) == (250.0, 'f')


@pytest.mark.parametrize(
    ('name', 'parameters', 'joint', 'link'),
    [
        ('s', {'joint': 'tool_joint'}, 'tool_joint', 'tool'),
        ('s', {'link': 'arm'}, 'shoulder', 'arm'),
        ('s', {'frame_id': 'tool'}, 'tool_joint', 'tool'),
        ('shoulder', {}, 'shoulder', 'arm'),
        ('tool', {'frame_id': 'elsewhere'}, 'tool_joint', 'tool'),
    ],
)
def test_ros2_control_place(name, parameters, joint, link):
    """Find a force-torque sensor's joint: by its parameters, else by its name."""
    (sensor,) = load(ros2_control(name, ['force.x'], **parameters))
    assert (sensor.joint, sensor.link) == (joint, link)


def test_ros2_control_repeats_what_gazebo_declares():
    """Create one sensor for both elements, like gz_ros2_control, with Gazebo's settings."""
    (sensor,) = load(
        gazebo('tool_joint', 'force_torque', '<update_rate>100</update_rate>')
        + ros2_control('s', ['force.x'])
    )
    assert sensor.update_rate == 100.0


def test_yaml_with_every_key():
    """Read the settings in the module's docstring."""
    (sensor,) = sensors_from_mapping(
        {
            'wrist': {
                'type': 'force_torque',
                'joint': 'tool_joint',
                'position': [1, 2.0, 3],
                'rpy': [0, 0, math.pi / 2],
                'update_rate': 500,
                'frame': 'child',
                'measure_direction': 'parent_to_child',
                'noise': {
                    'force': {'stddev': 0.1, 'z': {'stddev': 0.3, 'bias_mean': 1}},
                    'torque': {
                        'x': {'type': 'gaussian', 'precision': 0.5},
                        'y': {'precision': 0.5},
                    },
                },
                'frame_id': 'f',
                'topic': 't',
                'truth': True,
            }
        }
    )
    assert (sensor.name, sensor.kind, sensor.joint) == ('wrist', FORCE_TORQUE, 'tool_joint')
    assert sensor.pose.position.tolist() == [1.0, 2.0, 3.0]
    assert sensor.pose.rotation == pytest.approx(QUARTER, abs=1e-15)
    assert (sensor.update_rate, sensor.truth) == (500.0, True)
    assert (sensor.frame, sensor.settings.measure_direction) == ('child', 'parent_to_child')
    assert (sensor.frame_id, sensor.topic) == ('f', 't')
    common = NoiseDescription(kind='gaussian', stddev=0.1)
    assert dict(sensor.noise) == {
        'force.x': common,
        'force.y': common,
        'force.z': NoiseDescription(kind='gaussian', stddev=0.3, bias_mean=1.0),
        'torque.x': NoiseDescription(kind='gaussian', precision=0.5),
        'torque.y': NoiseDescription(kind='gaussian_quantized', precision=0.5),
    }


def test_yaml_orientation_is_a_quaternion_x_y_z_w():
    """Rotate a quarter turn about z, with a quaternion of length sqrt(2)."""
    (sensor,) = sensors_from_mapping(
        {'s': {'type': 'gyro', 'link': 'arm', 'orientation': [0, 0, 1, 1]}}
    )
    assert sensor.pose.rotation == pytest.approx(QUARTER, abs=1e-15)


@pytest.mark.parametrize(
    ('settings', 'code', 'attribute', 'value'),
    [
        ({}, 'sensor-type', 'type', ''),
        ({'type': 'eye'}, 'sensor-type', 'type', 'eye'),
        ({'type': ['imu']}, 'sensor-type', 'type', "['imu']"),
        ({'type': 'imu'}, 'unplaced-sensor', 'link', ''),
        ({'type': 'imu', 'link': 'arm', 'colour': 'red'}, 'unknown-key', 'colour', 'red'),
        ({'type': 'imu', 'link': 'arm', 'frame': 'child'}, 'unknown-key', 'frame', 'child'),
        ({'type': 'imu', 'link': 'arm', 'update_rate': -1}, 'out-of-range', 'update_rate', '-1'),
        (
            {'type': 'imu', 'link': 'arm', 'update_rate': True},
            'not-a-number',
            'update_rate',
            'True',
        ),
        ({'type': 'imu', 'link': 'arm', 'position': [1, 2]}, 'wrong-count', 'position', '1 2'),
        (
            {'type': 'imu', 'link': 'arm', 'rpy': [0, 0, math.nan]},
            'not-a-number',
            'rpy',
            '0 0 nan',
        ),
        (
            {'type': 'imu', 'link': 'arm', 'rpy': [0] * 3, 'orientation': [0, 0, 0, 1]},
            'two-rotations',
            'orientation',
            '',
        ),
        (
            {'type': 'imu', 'link': 'arm', 'orientation': [0] * 4},
            'zero-quaternion',
            'orientation',
            '0.0 0.0 0.0 0.0',
        ),
        ({'type': 'imu', 'link': 'arm', 'truth': 'yes'}, 'bad-value', 'truth', 'yes'),
        ({'type': 'imu', 'link': 3}, 'bad-value', 'link', '3'),
        ({'type': 'force_torque', 'joint': 'j', 'frame': 'world'}, 'bad-value', 'frame', 'world'),
        ({'type': 'imu', 'link': 'arm', 'noise': 0.1}, 'bad-value', 'noise', '0.1'),
        ({'type': 'imu', 'link': 'arm', 'noise': {'force': {}}}, 'unknown-key', '', ''),
        ({'type': 'gyro', 'link': 'arm', 'noise': {'angular_velocity': 1}}, 'bad-value', '', '1'),
        (
            {'type': 'gyro', 'link': 'arm', 'noise': {'angular_velocity': {'x': 1}}},
            'bad-value',
            '',
            '1',
        ),
        (
            {'type': 'gyro', 'link': 'arm', 'noise': {'angular_velocity': {'std': 1}}},
            'unknown-key',
            'std',
            '1',
        ),
        (
            {'type': 'gyro', 'link': 'arm', 'noise': {'angular_velocity': {'stddev': -1}}},
            'out-of-range',
            'stddev',
            '-1',
        ),
        (
            {'type': 'gyro', 'link': 'arm', 'noise': {'angular_velocity': {'type': 'pink'}}},
            'noise-type',
            'type',
            'pink',
        ),
        # a key of another kind is as wrong as an unknown one
        (
            {'type': 'gyro', 'link': 'arm', 'enable_orientation': False},
            'unknown-key',
            'enable_orientation',
            'False',
        ),
        ('imu', 'bad-value', '', 'imu'),
    ],
)
def test_yaml_error(settings, code, attribute, value):
    """Refuse a wrong key or value, naming sensor, key and value."""
    with pytest.raises(DescriptionError) as caught:
        sensors_from_mapping({'s': settings}, place='params.yaml')
    (finding,) = caught.value.report.errors
    assert (finding.code, finding.name, finding.attribute, finding.value) == (
        code,
        's',
        attribute,
        value,
    )
    assert 'params.yaml' in str(caught.value)


def test_yaml_reports_all_defects_together():
    """Refuse a mapping with the defects of all its sensors."""
    with pytest.raises(DescriptionError) as caught:
        sensors_from_mapping({'a': {'type': 'x'}, 'b': {'type': 'imu'}})
    assert [finding.name for finding in caught.value.report.errors] == ['a', 'b']
    with pytest.raises(DescriptionError, match='must be a mapping'):
        sensors_from_mapping(['a'])


def test_extra_sensors_are_placed_and_replace():
    """Add sensors at loading and later; a sensor replaces a declared one by the same name."""
    extra = sensors_from_mapping(
        {
            's': {'type': 'force_torque', 'joint': 'shoulder', 'update_rate': 7},
            'new': {'type': 'gyro', 'link': 'tool'},
        }
    )
    declared = gazebo('tool_joint', 'force_torque')
    at_loading = load(declared, extra_sensors=extra)
    later = add_sensors(load_description(robot(declared)), extra).sensors
    for sensors in (at_loading, later):
        assert [(sensor.name, sensor.joint, sensor.link) for sensor in sensors] == [
            ('s', 'shoulder', 'arm'),
            ('new', '', 'tool'),
        ]
        assert sensors[0].update_rate == 7.0


def test_extra_sensors_on_nothing_are_refused():
    """Name the sensor and the link closest to the wrong one."""
    extra = sensors_from_mapping({'s': {'type': 'gyro', 'link': 'tol'}})
    with pytest.raises(DescriptionError, match="'s'.*did you mean 'tool'"):
        add_sensors(load_description(robot()), extra)
    with pytest.raises(DescriptionError, match="'s'.*did you mean 'tool'"):
        load_description(robot(), extra_sensors=extra)


def test_sensors_of_real_robots(example_robots):
    """Count the sensors on robots that declare them for Gazebo."""
    counts = {
        name: len(load_description(example_robots[name]).sensors)
        for name in ('tiago/tiago', 'hyq/hyq_no_sensors', 'alexander/alexander_v1.lowerBodyOnly')
    }
    assert counts == {
        'tiago/tiago': 3,  # laser, IMU and depth camera
        'hyq/hyq_no_sensors': 9,  # an IMU, and bumpers on shins and feet
        'alexander/alexander_v1.lowerBodyOnly': 9,
    }


@pytest.mark.parametrize(
    ('topic', 'plugin', 'expected'),
    [
        ('imu', '', 'imu'),
        ('"imu"', '', 'imu'),
        (' /chip/imu ', '', '/chip/imu'),
        ('~/imu', '', 'imu'),
        ('__default_topic__', '', ''),
        ('/__default_topic__', '<ros><remapping>~/out:=data</remapping></ros>', 'data'),
        (
            '__default_topic__',
            '<ros><namespace>/imu</namespace><remapping>~/out:=data</remapping></ros>',
            '/imu/data',
        ),
        ('gazebo/chip', '<ros><remapping>~/out:=imu</remapping></ros>', 'imu'),
        ('', '<topicName>imu/raw</topicName>', 'imu/raw'),
    ],
)
def test_topics_are_named_as_gazebo_names_them(topic, plugin, expected):
    """Read topics with quotes, Gazebo's default names and the remappings of its plugins."""
    text = (
        '<robot name="r"><link name="base"/><gazebo reference="base">'
        f'<sensor name="chip" type="imu"><topic>{topic}</topic>'
        f'<plugin filename="libgazebo_ros_imu_sensor.so" name="p">{plugin}</plugin>'
        '</sensor></gazebo></robot>'
    )
    (sensor,) = load_description(text).sensors
    assert sensor.topic == expected


def test_uneven_and_reversed_rays_are_cast():
    """Cast the whole number of rays, clockwise if the angles fall, as Gazebo does."""
    text = (
        '<robot name="r"><link name="base"/><gazebo reference="base">'
        '<sensor name="eye" type="ray"><ray><scan><horizontal><samples>4.5</samples>'
        '<min_angle>1.5</min_angle><max_angle>-1.5</max_angle></horizontal></scan>'
        '<range><min>0.1</min><max>9</max></range></ray></sensor></gazebo></robot>'
    )
    world = sb.World()
    lidar = world.load_urdf(text, base='fixed').devices()[0]
    assert lidar.angles.tolist() == [1.5, 0.5, -0.5, -1.5]
    world.add_body(sb.Box((0.2, 8.0, 2.0)), 'wall', motion='static', position=(2.1, 4.0, 0.0))
    world.step()
    # the wall is on the left, so the first half of the clockwise scan hits it
    assert np.isfinite(lidar.ranges).tolist() == [False, True, False, False]
