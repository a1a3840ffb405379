"""One questionable description per warning, which names element, name, value and line."""

from __future__ import annotations

import re

from loop_cases import LOOP_ERRORS, LOOP_WARNINGS
import pytest
from urdf_cases import (
    cases,
    ENDS,
    find,
    gazebo,
    INERTIAL,
    inertial,
    joint,
    LIMIT,
    link,
    robot,
    ros2_control,
    sensor,
)
from urdf_error_cases import ERRORS
from vehicles import plugin

from sim_bridge.description import check_description, load_description

WARNINGS = {
    'missing-attribute': [
        ({1: '<robot>'}, 'robot', '', 'name', '', 1),
        (
            {3: link('arm', INERTIAL + '\n<visual><geometry><mesh/></geometry></visual>')},
            'link/visual/geometry/mesh',
            'arm',
            'filename',
            '',
            4,
        ),
    ],
    'unknown-version': [
        ({1: '<robot name="r" version="2.0">'}, 'robot', 'r', 'version', '2.0', 1)
    ],
    'no-links': [(dict.fromkeys(range(2, 9), ''), 'robot', 'r', '', '', 1)],
    'unknown-tag': [
        ({7: '<friction/>'}, 'joint/friction', 'elbow', '', '', 7),
        ({8: '</joint>\n<motor name="m"/>'}, 'motor', 'm', '', '', 9),
        ({9: sensor('<colour/>')}, 'sensor/colour', 's', '', '', 9),
        ({9: gazebo('<mu>1</mu>', 'arm')}, 'gazebo/mu', 'arm', '', '', 9),
        ({9: gazebo('<joint:hinge/>', '')}, 'gazebo/joint:hinge', '', '', '', 9),
    ],
    'duplicate-tag': [({7: LIMIT}, 'joint/limit', 'elbow', '', '', 7)],
    'unknown-attribute': [
        ({7: '<axis xyz="0 0 1" frame="base"/>'}, 'joint/axis', 'elbow', 'frame', 'base', 7),
        ({1: '<robot name="r" colour="red">'}, 'robot', 'r', 'colour', 'red', 1),
    ],
    'missing-limit': [
        ({6: ''}, 'joint/limit', 'elbow', '', '', 4),
        (
            {6: '<limit lower="-1" upper="1" effort="1"/>'},
            'joint/limit',
            'elbow',
            'velocity',
            '',
            6,
        ),
    ],
    'zero-limit': [({6: LIMIT.replace('"10"', '"0"')}, 'joint/limit', 'elbow', 'effort', '0', 6)],
    'negative-limit': [
        ({6: LIMIT.replace('"10"', '"-10"')}, 'joint/limit', 'elbow', 'effort', '-10', 6)
    ],
    'topic-name': [({9: sensor('<topic>a-b</topic>')}, 'sensor/topic', 's', '', 'a-b', 9)],
    'duplicate-topic': [
        (
            {
                9: '<gazebo reference="arm">'
                '<sensor name="s" type="imu"><topic>t</topic></sensor>'
                '<sensor name="u" type="imu"><topic>"t"</topic></sensor></gazebo></robot>'
            },
            'sensor/topic',
            'u',
            '',
            't',
            9,
        )
    ],
    'reversed-rays': [
        (
            {
                9: '<gazebo reference="arm"><sensor name="s" type="ray"><ray><scan><horizontal>'
                '<samples>3</samples><min_angle>1</min_angle><max_angle>-1</max_angle>'
                '</horizontal></scan></ray></sensor></gazebo></robot>'
            },
            'sensor/ray',
            's',
            'max_angle',
            '-1',
            9,
        )
    ],
    'infinite-limit': [
        ({6: LIMIT.replace('"10"', '"inf"')}, 'joint/limit', 'elbow', 'effort', 'inf', 6)
    ],
    'ignored-limit': [
        (
            {4: '<joint name="elbow" type="continuous">'},
            'joint/limit',
            'elbow',
            'lower upper',
            '-1 1',
            6,
        )
    ],
    'no-range': [
        ({6: '<limit effort="1" velocity="1"/>'}, 'joint/limit', 'elbow', 'lower', '0', 6)
    ],
    'not-normalised': [
        ({7: '<axis xyz="0 0 2"/>'}, 'joint/axis', 'elbow', 'xyz', '0 0 2', 7),
        ({7: '<origin quat_xyzw="0 0 0 2"/>'}, 'joint/origin', 'elbow', 'quat_xyzw', '0 0 0 2', 7),
    ],
    'ignored-tag': [
        (
            {4: '<joint name="elbow" type="fixed">', 6: '<mimic joint="other"/>'},
            'joint/mimic',
            'elbow',
            '',
            '',
            6,
        ),
        ({4: '<joint name="elbow" type="planar">'}, 'joint/limit', 'elbow', '', '', 6),
        (
            {
                4: '<joint name="elbow" type="fixed">',
                9: gazebo('<springStiffness>1</springStiffness>'),
            },
            'gazebo/springStiffness',
            'elbow',
            '',
            '',
            9,
        ),
        (
            {9: gazebo('<springStiffness>1</springStiffness>', 'arm')},
            'gazebo/springStiffness',
            'arm',
            '',
            '',
            9,
        ),
        ({9: gazebo('<mu1>1</mu1>')}, 'gazebo/mu1', 'elbow', '', '', 9),
        ({9: gazebo('<kp>1</kp>', '')}, 'gazebo/kp', '', '', '', 9),
        ({9: gazebo('<selfCollide>1</selfCollide>')}, 'gazebo/selfCollide', 'elbow', '', '', 9),
    ],
    'mimic-unknown': [
        ({7: '<mimic joint="elbwo"/>'}, 'joint/mimic', 'elbow', 'joint', 'elbwo', 4)
    ],
    'mimic-limits': [
        (
            {
                3: link('arm') + link('hand'),
                7: '<mimic joint="wrist" offset="5"/>',
                8: f'</joint>{joint("wrist", parent="arm")}',
            },
            'joint/mimic',
            'elbow',
            'joint',
            'wrist',
            4,
        )
    ],
    'missing-inertial': [
        (
            {
                2: link('base') + link('between', ''),
                5: ENDS.replace('base', 'between'),
                8: f'</joint>{joint("first", child="between")}',
            },
            'link/inertial',
            'between',
            '',
            '',
            2,
        )
    ],
    'zero-mass': [({3: link('arm', inertial('0'))}, 'link/inertial', 'arm', 'mass', '0', 3)],
    'tiny-mass': [
        ({3: link('arm', inertial('1e-7'))}, 'link/inertial', 'arm', 'mass', '1e-07', 3)
    ],
    'zero-inertia': [
        (
            {3: link('arm', inertial(origin='<origin xyz="1 0 0"/>', ixx='0', iyy='0', izz='0'))},
            'link/inertial/inertia',
            'arm',
            '',
            '',
            3,
        )
    ],
    'inertia-not-positive': [
        (
            {3: link('arm', inertial(ixx='-1', iyy='2', izz='2'))},
            'link/inertial/inertia',
            'arm',
            '',
            '-1 2 2',
            3,
        )
    ],
    'inertia-triangle': [
        ({3: link('arm', inertial(ixx='3'))}, 'link/inertial/inertia', 'arm', '', '1 1 3', 3)
    ],
    'huge-inertia': [
        (
            {3: link('arm', inertial(ixx='200', iyy='200', izz='200'))},
            'link/inertial/inertia',
            'arm',
            '',
            '200 200 200',
            3,
        )
    ],
    'no-inertia': [({3: link('arm', '')}, 'joint', 'elbow', '', '', 4)],
    'mesh-not-found': [
        (
            {
                3: link(
                    'arm',
                    INERTIAL
                    + '<visual><geometry>\n<mesh filename="package://no/a.stl"/></geometry></visual>',
                )
            },
            'link/visual/geometry/mesh',
            'arm',
            'filename',
            'package://no/a.stl',
            4,
        ),
        (
            {
                3: link(
                    'arm',
                    INERTIAL
                    + '<visual><geometry><mesh filename="http://a/a.stl"/></geometry></visual>',
                )
            },
            'link/visual/geometry/mesh',
            'arm',
            'filename',
            'http://a/a.stl',
            3,
        ),
    ],
    'drive-geometry': [
        (
            {
                3: link('arm') + link('hand'),
                7: '<axis xyz="0 -1 0"/>',
                9: joint('wrist', parent='base', child='hand')
                + '\n'
                + plugin(
                    'gz-sim-diff-drive-system',
                    '<left_joint>elbow</left_joint><right_joint>wrist</right_joint>',
                )
                + '</robot>',
            },
            'gazebo/plugin',
            'p',
            '',
            'elbow',
            10,
        )
    ],
    'unread-controllers': [
        (
            {
                9: plugin('gz_ros2_control-system', '\n<parameters>none.yaml</parameters>')
                + '</robot>'
            },
            'gazebo/plugin/parameters',
            'p',
            '',
            'none.yaml',
            10,
        )
    ],
    'unknown-reference': [
        ({9: gazebo('', 'elbo')}, 'gazebo', 'elbo', 'reference', 'elbo', 9),
        (
            {9: gazebo('<mu1>1</mu1><sensor name="s" type="thermal_camera"/>', 'elbo')},
            'gazebo',
            'elbo',
            'reference',
            'elbo',
            9,
        ),
    ],
    'unknown-joint': [
        (
            {9: '<transmission name="t">\n<joint name="elbw"/></transmission></robot>'},
            'transmission/joint',
            't',
            'name',
            'elbw',
            10,
        )
    ],
    'no-effect': [
        (
            {
                9: '<transmission name="t">\n<mechanicalReduction>5</mechanicalReduction>'
                '</transmission></robot>'
            },
            'transmission/mechanicalReduction',
            't',
            '',
            '5',
            10,
        )
    ],
    'not-simulated': [
        (
            {9: gazebo('<turnGravityOff>true</turnGravityOff>', 'elbow')},
            'gazebo/turnGravityOff',
            'elbow',
            '',
            'true',
            9,
        ),
        (
            {9: gazebo('<dampingFactor>0.05</dampingFactor>', 'arm')},
            'gazebo/dampingFactor',
            'arm',
            '',
            '0.05',
            9,
        ),
        (
            {
                9: gazebo(
                    '<velocity_decay><linear>0.0</linear><angular>0.1</angular></velocity_decay>',
                    'arm',
                )
            },
            'gazebo/velocity_decay',
            'arm',
            '',
            '0.0 0.1',
            9,
        ),
        (
            {9: '<gazebo>\n<plugin filename="libx_robot_mover.so"/></gazebo></robot>'},
            'gazebo/plugin',
            '',
            'filename',
            'libx_robot_mover.so',
            10,
        ),
    ],
    'unsupported-sensor': [
        ({9: sensor('', 'thermal_camera')}, 'sensor', 's', 'type', 'thermal_camera', 9),
        (
            {9: gazebo('\n<plugin name="p" filename="libgazebo_ros_ft_sensor.so"/>')},
            'sensor/plugin',
            'p',
            'filename',
            'libgazebo_ros_ft_sensor.so',
            10,
        ),
        ({9: ros2_control('voltage')}, 'sensor', 's', '', '', 10),
    ],
    'image-format': [
        (
            {9: sensor('<camera><image><format>R_FLOAT16</format></image></camera>', 'camera')},
            'sensor/camera/image/format',
            's',
            '',
            'R_FLOAT16',
            9,
        )
    ],
    'lens-fold': [
        (
            {
                9: sensor(
                    '<camera><horizontal_fov>1.5</horizontal_fov>'
                    '<distortion><k1>-0.5</k1></distortion></camera>',
                    'depth_camera',
                )
            },
            'sensor',
            's',
            'distortion',
            '-0.5 0.0 0.0 0.0 0.0',
            9,
        )
    ],
    'bad-label': [
        (
            {9: gazebo('<plugin filename="label-system" name="p"><label>-1</label></plugin>', '')},
            'gazebo/plugin',
            'p',
            '',
            '',
            9,
        )
    ],
    'unplaced-sensor': [({9: ros2_control('force.x')}, 'sensor', 's', '', '', 10)],
    'duplicate-sensor': [
        (
            {9: gazebo('<sensor name="s" type="imu"/>\n<sensor name="s" type="imu"/>', 'arm')},
            'sensor',
            's',
            'name',
            's',
            10,
        )
    ],
    'noise-type': [
        (
            {9: sensor('<imu><noise><type>pink</type><rate/></noise></imu>')},
            'sensor/imu/noise/rate',
            's',
            'type',
            'pink',
            9,
        )
    ],
    'orientation-frame': [
        (
            {
                9: sensor(
                    '<imu><orientation_reference_frame><localization>NED</localization>'
                    '</orientation_reference_frame></imu>'
                )
            },
            'sensor/imu/orientation_reference_frame',
            's',
            '',
            'NED',
            9,
        )
    ],
    'frame-default': [
        (
            {9: sensor('<pose>0 0 1 0 0 0</pose>', 'force_torque', 'elbow')},
            'sensor/pose',
            's',
            '',
            '',
            9,
        )
    ],
    'pose-reference': [
        (
            {9: sensor('<pose relative_to="base">0 0 1 0 0 0</pose>')},
            'sensor/pose',
            's',
            'relative_to',
            'base',
            9,
        )
    ],
}


def test_the_robot_the_cases_start_from_is_sound():
    """Find no defect in the robot modified by the cases."""
    assert check_description(robot({})).findings == ()


@pytest.mark.parametrize(
    ('code', 'lines', 'element', 'name', 'attribute', 'value', 'line'),
    cases(WARNINGS, LOOP_WARNINGS),
)
def test_warning(code, lines, element, name, attribute, value, line):
    """Load a description with a tolerable defect, reported once, at its place."""
    report = load_description(robot(lines)).report
    assert find(report.warnings, code) == [(element, name, attribute, value, line)]


def test_every_code_of_the_sources_is_tested(repository):
    """Keep the tables complete: a code in the sources also appears in a test."""
    noted = re.compile(r"findings\.(?:error|warning|add)\(\s*'([a-z0-9-]+)'")
    codes = set()
    for file in (repository / 'sim_bridge' / 'description').rglob('*.py'):
        parts = file.relative_to(repository).parts
        own = {'openplx', 'body', 'mjcf', 'sdf_model', 'usd'} & set(parts)
        is_scene = parts[-3:-1] == ('scene', 'sdf') or file.name.startswith('usd_')
        if own or is_scene:
            # these have their own tests
            continue
        codes.update(noted.findall(file.read_text()))
    elsewhere = {
        'unreadable',
        'openplx',
        'xacro',
        'xacro-missing',
        'unknown-key',
        'sensor-type',
        'not-yaml',
        'too-large',
        'encoding',
        'outside-block',
        'deprecated-key',
        'unknown-battery',
        'mimic-replaced',
        'mesh-elsewhere',
        'missing-element',
        'missing-sensor',
        'other-roots',
        'unsupported',
        'camera-frame',
        'optical-link',
        'unknown-coupling',
    }
    assert codes >= elsewhere
    tables = (ERRORS, WARNINGS, LOOP_ERRORS, LOOP_WARNINGS)
    assert codes - elsewhere <= set().union(*tables)


def test_nothing_reaches_the_terminal(capfd):
    """Read silently: files full of urdf-parser-py's warnings, and files it refuses."""
    tables = (WARNINGS, ERRORS, LOOP_WARNINGS, LOOP_ERRORS)
    for listed in (rows for table in tables for rows in table.values()):
        for lines, *_ in listed:
            check_description(robot(lines))
    assert capfd.readouterr() == ('', '')
