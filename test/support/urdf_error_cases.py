"""Malformed descriptions, each with its expected error."""

from __future__ import annotations

from urdf_cases import gazebo, INERTIAL, inertial, joint, LIMIT, link, sensor
from vehicles import plugin

MIMIC = '<mimic joint="elbow"/>'

ERRORS = {
    'drive-joint': [
        (
            {
                9: '\n'
                + plugin(
                    'gz-sim-diff-drive-system',
                    '<left_joint>elbo</left_joint><right_joint>elbow</right_joint>',
                )
                + '</robot>'
            },
            'gazebo/plugin',
            'p',
            '',
            'elbo',
            10,
        )
    ],
    'xml': [({8: '</join>'}, 'document', '', '', '', 8)],
    'not-a-robot': [({1: '<model>', 9: '</model>'}, 'document', '', '', '', 1)],
    'doctype': [
        ({1: '<!DOCTYPE robot [<!ENTITY a "b">]>\n<robot name="r">'}, 'document', '', '', '', 1),
        (
            {1: '<!DOCTYPE r SYSTEM "file:///etc/hostname"><robot name="r">'},
            'document',
            '',
            '',
            '',
            1,
        ),
    ],
    'missing-attribute': [
        ({3: f'<link name="arm">{INERTIAL}</link><link/>'}, 'link', '', 'name', '', 3),
        ({4: '<joint type="revolute">'}, 'joint', '', 'name', '', 4),
        ({4: '<joint name="elbow">'}, 'joint', 'elbow', 'type', '', 4),
        ({5: '<parent/><child link="arm"/>'}, 'joint/parent', 'elbow', 'link', '', 5),
        ({7: '<axis/>'}, 'joint/axis', 'elbow', 'xyz', '', 7),
        ({7: '<mimic multiplier="2"/>'}, 'joint/mimic', 'elbow', 'joint', '', 7),
        ({3: link('arm', inertial(iyy=None))}, 'link/inertial/inertia', 'arm', 'iyy', '', 3),
        ({7: '<safety_controller/>'}, 'joint/safety_controller', 'elbow', 'k_velocity', '', 7),
        (
            {3: link('arm', INERTIAL + '<collision><geometry><box/></geometry></collision>')},
            'link/collision/geometry/box',
            'arm',
            'size',
            '',
            3,
        ),
        ({9: gazebo('<sensor type="imu"/>', 'arm')}, 'sensor', '', 'name', '', 9),
    ],
    'empty': [({3: link('arm') + '<link name=" "/>'}, 'link', ' ', 'name', '', 3)],
    'missing-tag': [
        ({5: '<parent link="base"/>'}, 'joint/child', 'elbow', '', '', 4),
        (
            {3: link('arm', '<inertial><mass value="1"/></inertial>')},
            'link/inertial/inertia',
            'arm',
            '',
            '',
            3,
        ),
        (
            {3: link('arm', inertial().replace('<mass value="1"/>', ''))},
            'link/inertial/mass',
            'arm',
            '',
            '',
            3,
        ),
        (
            {3: link('arm', INERTIAL + '\n<collision/>')},
            'link/collision/geometry',
            'arm',
            '',
            '',
            4,
        ),
    ],
    'not-a-number': [
        ({3: link('arm', inertial('heavy'))}, 'link/inertial/mass', 'arm', 'value', 'heavy', 3),
        ({3: link('arm', inertial('1,5'))}, 'link/inertial/mass', 'arm', 'value', '1,5', 3),
        ({3: link('arm', inertial('\u0661'))}, 'link/inertial/mass', 'arm', 'value', '\u0661', 3),
        ({3: link('arm', inertial('1_0'))}, 'link/inertial/mass', 'arm', 'value', '1_0', 3),
        ({3: link('arm', inertial('nan'))}, 'link/inertial/mass', 'arm', 'value', 'nan', 3),
        ({3: link('arm', inertial('inf'))}, 'link/inertial/mass', 'arm', 'value', 'inf', 3),
        ({3: link('arm', inertial('1e999'))}, 'link/inertial/mass', 'arm', 'value', '1e999', 3),
        ({3: link('arm', inertial(ixy='0x1'))}, 'link/inertial/inertia', 'arm', 'ixy', '0x1', 3),
        ({7: '<axis xyz="0 0 z"/>'}, 'joint/axis', 'elbow', 'xyz', '0 0 z', 7),
        ({7: '<origin rpy="0, 0, 0"/>'}, 'joint/origin', 'elbow', 'rpy', '0, 0, 0', 7),
        ({6: LIMIT.replace('"-1"', '"nan"')}, 'joint/limit', 'elbow', 'lower', 'nan', 6),
        ({7: '<dynamics damping="low"/>'}, 'joint/dynamics', 'elbow', 'damping', 'low', 7),
        (
            {9: gazebo('\n<springStiffness>stiff</springStiffness>')},
            'gazebo/springStiffness',
            'elbow',
            '',
            'stiff',
            10,
        ),
        (
            {9: sensor('\n<update_rate>fast</update_rate>')},
            'sensor/update_rate',
            's',
            '',
            'fast',
            10,
        ),
        (
            {
                9: sensor(
                    '<imu><angular_velocity><x>\n<noise type="gaussian">\n'
                    '<stddev>big</stddev></noise>'
                    '</x></angular_velocity></imu>'
                )
            },
            'sensor/imu/angular_velocity/x/noise/stddev',
            's',
            '',
            'big',
            11,
        ),
    ],
    'wrong-count': [
        ({7: '<axis xyz="0 1"/>'}, 'joint/axis', 'elbow', 'xyz', '0 1', 7),
        ({7: '<origin xyz="0 0 0 0"/>'}, 'joint/origin', 'elbow', 'xyz', '0 0 0 0', 7),
        ({7: '<origin xyz=""/>'}, 'joint/origin', 'elbow', 'xyz', '', 7),
        ({3: link('arm', inertial('1 2'))}, 'link/inertial/mass', 'arm', 'value', '1 2', 3),
        ({9: sensor('<pose>0 0 0</pose>')}, 'sensor/pose', 's', '', '0 0 0', 9),
    ],
    'out-of-range': [
        ({3: link('arm', inertial('1e31'))}, 'link/inertial/mass', 'arm', 'value', '1e31', 3),
        ({7: '<dynamics friction="-1"/>'}, 'joint/dynamics', 'elbow', 'friction', '-1', 7),
        (
            {
                3: link(
                    'arm',
                    INERTIAL + '<collision><geometry><sphere radius="0"/></geometry></collision>',
                )
            },
            'link/collision/geometry/sphere',
            'arm',
            'radius',
            '0',
            3,
        ),
        ({9: sensor('<update_rate>-5</update_rate>')}, 'sensor/update_rate', 's', '', '-5', 9),
    ],
    'one-of': [
        (
            {3: link('arm', INERTIAL + '<collision><geometry/></collision>')},
            'link/collision/geometry',
            'arm',
            '',
            '',
            3,
        ),
        (
            {3: link('arm', INERTIAL + '<collision><geometry><cone/></geometry></collision>')},
            'link/collision/geometry',
            'arm',
            '',
            '',
            3,
        ),
    ],
    'joint-type': [
        ({4: '<joint name="elbow" type="hinge">'}, 'joint', 'elbow', 'type', 'hinge', 4)
    ],
    'duplicate-name': [
        ({3: link('arm') + link('arm')}, 'link', 'arm', 'name', 'arm', 3),
        ({8: f'</joint>{link("hand")}\n{joint("elbow")}'}, 'joint', 'elbow', 'name', 'elbow', 9),
    ],
    'unknown-link': [
        (
            {5: '<parent link="bas"/><child link="arm"/>'},
            'joint/parent',
            'elbow',
            'link',
            'bas',
            5,
        ),
        (
            {5: '<parent link="base"/>\n<child link="leg"/>'},
            'joint/child',
            'elbow',
            'link',
            'leg',
            6,
        ),
    ],
    'two-parents': [
        ({8: f'</joint>\n{joint("wrist", child="arm")}'}, 'joint/child', 'wrist', 'link', 'arm', 9)
    ],
    'cycle': [
        (
            {8: f'</joint>{joint("back", parent="arm", child="base")}'},
            'joint',
            'elbow',
            'child',
            'arm',
            4,
        ),
        ({5: '<parent link="arm"/><child link="arm"/>'}, 'joint', 'elbow', 'child', 'arm', 4),
    ],
    'several-roots': [({8: f'</joint>\n{link("lost")}'}, 'link', 'lost', '', '', 9)],
    'zero-axis': [({7: '<axis xyz="0 0 0"/>'}, 'joint/axis', 'elbow', 'xyz', '0 0 0', 7)],
    'two-rotations': [
        (
            {7: '<origin rpy="0 0 1" quat_xyzw="0 0 0 1"/>'},
            'joint/origin',
            'elbow',
            'quat_xyzw',
            '0 0 0 1',
            7,
        )
    ],
    'zero-quaternion': [
        ({7: '<origin quat_xyzw="0 0 0 0"/>'}, 'joint/origin', 'elbow', 'quat_xyzw', '0 0 0 0', 7)
    ],
    'lower-above-upper': [
        ({6: LIMIT.replace('"-1"', '"2"')}, 'joint/limit', 'elbow', 'lower', '2', 6)
    ],
    'mimic-type': [
        (
            {7: '<mimic joint="weld"/>', 8: f'</joint>{link("hand")}{joint("weld", "fixed")}'},
            'joint/mimic',
            'elbow',
            'joint',
            'weld',
            4,
        ),
        (
            {
                4: '<joint name="elbow" type="floating">',
                6: '<mimic joint="slide"/>',
                8: f'</joint>{link("hand")}{joint("slide", "prismatic")}',
            },
            'joint/mimic',
            'elbow',
            'joint',
            'slide',
            6,
        ),
    ],
    'mimic-cycle': [
        ({7: '<mimic joint="elbow"/>'}, 'joint/mimic', 'elbow', 'joint', 'elbow', 4),
        (
            {
                7: '<mimic joint="wrist"/>',
                8: f'</joint>{link("hand")}{joint("wrist", more=LIMIT + MIMIC)}',
            },
            'joint/mimic',
            'elbow',
            'joint',
            'wrist',
            4,
        ),
    ],
    'negative-mass': [({3: link('arm', inertial('-1'))}, 'link/inertial', 'arm', 'mass', '-1', 3)],
    'negative-inertia': [({3: link('arm', inertial(izz='-1'))}, 'joint', 'elbow', '', '', 4)],
    'no-inertia': [
        (
            {3: link('arm', ''), 4: '<joint name="elbow" type="planar">', 6: ''},
            'joint',
            'elbow',
            '',
            '',
            4,
        ),
        (
            {3: link('arm', ''), 4: '<joint name="elbow" type="floating">', 6: ''},
            'joint',
            'elbow',
            '',
            '',
            4,
        ),
    ],
    'unknown-reference': [
        ({9: sensor('', reference='leg')}, 'sensor', 's', 'link', 'leg', 9),
        ({9: sensor('', 'force_torque', 'ankle')}, 'sensor', 's', 'joint', 'ankle', 9),
    ],
    'unplaced-sensor': [({9: sensor('', 'force_torque', 'base')}, 'sensor', 's', '', '', 9)],
    'bad-value': [
        (
            {
                9: sensor(
                    '<force_torque>\n<frame>world</frame></force_torque>', 'force_torque', 'elbow'
                )
            },
            'sensor/force_torque/frame',
            's',
            '',
            'world',
            10,
        ),
        (
            {9: sensor('<imu><enable_orientation>maybe</enable_orientation></imu>')},
            'sensor/imu/enable_orientation',
            's',
            '',
            'maybe',
            9,
        ),
    ],
    'duplicate-sensor': [
        (
            {
                9: '<gazebo reference="arm">'
                + '\n<sensor name="s" type="imu"/>' * 3
                + '</gazebo></robot>'
            },
            'sensor',
            's',
            'name',
            's',
            12,
        )
    ],
}
