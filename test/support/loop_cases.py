"""
Malformed loop joints and crawlers, for the tests of errors and warnings; see `urdf_cases`.

They stand after the valid robot's joint, from line 10 on.
"""

from __future__ import annotations

from urdf_cases import joint, link

AXIS = '<axis xyz="0 0 1"/>'


def extension(content: str) -> dict[int, str]:
    """Return the lines of a `<sim_bridge>` element; its content begins in line 10."""
    return {9: f'<sim_bridge>\n{content}\n</sim_bridge></robot>'}


def loop(
    kind: str = 'ball',
    more: str = '',
    link1: str = '<link1 name="base"/>',
    link2: str = '<link2 name="arm"/>',
    name: str = 'l',
) -> dict[int, str]:
    """Return a loop joint: itself in line 10, its links in 11 and 12, more in 13."""
    return extension(f'<joint name="{name}" type="{kind}">\n{link1}\n{link2}\n{more}</joint>')


def crawler(attributes: str) -> dict[int, str]:
    """Return a crawler in line 10."""
    return extension(f'<crawler {attributes}/>')


def gazebo_joint(
    more: str = '',
    kind: str = 'revolute',
    parent: str = 'base',
    child: str = 'arm',
    name: str = 'l',
    reference: str = '',
) -> dict[int, str]:
    """Return a Gazebo joint: itself in line 10, its links in 11 and 12, more in 13."""
    where = f' reference="{reference}"' if reference else ''
    ends = f'<parent>{parent}</parent>\n<child>{child}</child>'
    return {
        9: f'<gazebo{where}>\n<joint name="{name}" type="{kind}">\n{ends}\n{more}</joint></gazebo>'
        '</robot>'
    }


def plugin(content: str) -> dict[int, str]:
    """Return a Gazebo track controller, its content in line 11."""
    name = 'gz-sim-track-controller-system'
    return {9: f'<gazebo>\n<plugin filename="{name}">\n{content}</plugin></gazebo></robot>'}


SDF_AXIS = '<axis><xyz>0 0 1</xyz></axis>'
# a third link fixed to the base
TOOL = {3: link('arm') + link('tool') + joint('weld', 'fixed', child='tool', more='')}

LOOP_ERRORS = {
    'joint-type': [
        (loop('bolt'), 'joint', 'l', 'type', 'bolt', 10),
        (gazebo_joint(SDF_AXIS, kind='hinge'), 'joint', 'l', 'type', 'hinge', 10),
        (gazebo_joint(SDF_AXIS, kind=''), 'joint', 'l', 'type', '', 10),
    ],
    'missing-attribute': [
        (
            extension('<joint type="ball"><link1 name="base"/><link2 name="arm"/></joint>'),
            'joint',
            '',
            'name',
            '',
            10,
        ),
        (
            extension('<joint name="l"><link1 name="base"/><link2 name="arm"/></joint>'),
            'joint',
            'l',
            'type',
            '',
            10,
        ),
        (loop(link2='<link2/>'), 'joint/link2', 'l', 'name', '', 12),
        (loop('hinge', '<axis/>'), 'joint/axis', 'l', 'xyz', '', 13),
        (
            loop('distance', '<distance/>', link2='<link2 name="arm" xyz="0 0 1"/>'),
            'joint/distance',
            'l',
            'value',
            '',
            13,
        ),
        (crawler('link="arm" joint="c"'), 'crawler', 'arm', 'axis', '', 10),
        (crawler('axis="0 1 0"'), 'crawler', '', 'link', '', 10),
        (
            loop(more='<compliance damping="1 1 1 1 1 1"/>'),
            'joint/compliance',
            'l',
            'stiffness',
            '',
            13,
        ),
        (gazebo_joint(SDF_AXIS, name=''), 'joint', '', 'name', '', 10),
    ],
    'missing-tag': [
        (
            extension('<joint name="l" type="ball"><link1 name="base"/></joint>'),
            'joint/link2',
            'l',
            '',
            '',
            10,
        ),
        (loop('hinge'), 'joint/axis', 'l', '', '', 10),
        (loop('universal', AXIS), 'joint/axis2', 'l', '', '', 10),
        (gazebo_joint(), 'joint/axis', 'l', '', '', 10),
        (
            {
                9: (
                    '<gazebo>\n<joint name="l" type="ball"><child>arm</child></joint></gazebo>'
                    '</robot>'
                )
            },
            'joint/parent',
            'l',
            '',
            '',
            10,
        ),
        (plugin(''), 'gazebo/plugin/link', '', '', '', 10),
    ],
    'empty': [(gazebo_joint(SDF_AXIS, child=''), 'joint/child', 'l', '', '', 12)],
    'not-a-number': [
        (loop('hinge', '<axis xyz="0 0 nan"/>'), 'joint/axis', 'l', 'xyz', '0 0 nan', 13),
        (
            loop(link1='<link1 name="base" xyz="0 0 inf"/>'),
            'joint/link1',
            'l',
            'xyz',
            '0 0 inf',
            11,
        ),
        (loop(more='<compliance cfm="soft"/>'), 'joint/compliance', 'l', 'cfm', 'soft', 13),
        (crawler('link="arm" axis="0 y 0" joint="c"'), 'crawler', 'arm', 'axis', '0 y 0', 10),
        (gazebo_joint('<axis><xyz>0 0 z</xyz></axis>'), 'joint/axis/xyz', 'l', '', '0 0 z', 13),
        (
            gazebo_joint(f'{SDF_AXIS}\n<pose>0 0 0 0 0 x</pose>'),
            'joint/pose',
            'l',
            '',
            '0 0 0 0 0 x',
            14,
        ),
        (
            gazebo_joint(f'{SDF_AXIS}\n<physics><ode><erp>x</erp></ode></physics>'),
            'joint/physics/ode/erp',
            'l',
            '',
            'x',
            14,
        ),
        (
            plugin('<link>arm</link><track_orientation>0 0 x</track_orientation>'),
            'gazebo/plugin/track_orientation',
            '',
            '',
            '0 0 x',
            11,
        ),
    ],
    'wrong-count': [
        (loop('hinge', '<axis xyz="0 1"/>'), 'joint/axis', 'l', 'xyz', '0 1', 13),
        (loop(link2='<link2 name="arm" rpy="0 0"/>'), 'joint/link2', 'l', 'rpy', '0 0', 12),
        (
            loop(more='<compliance stiffness="1 2"/>'),
            'joint/compliance',
            'l',
            'stiffness',
            '1 2',
            13,
        ),
    ],
    'out-of-range': [
        (
            loop('hinge', f'{AXIS}\n<dynamics damping="-1"/>'),
            'joint/dynamics',
            'l',
            'damping',
            '-1',
            14,
        ),
        (loop(more='<compliance erp="1.5"/>'), 'joint/compliance', 'l', 'erp', '1.5', 13),
        (
            loop('distance', '<distance value="0"/>', link2='<link2 name="arm" xyz="0 0 1"/>'),
            'joint/distance',
            'l',
            'value',
            '0',
            13,
        ),
        (
            gazebo_joint(
                '<axis><xyz>0 0 1</xyz><dynamics>\n<damping>-1</damping></dynamics></axis>'
            ),
            'joint/axis/dynamics/damping',
            'l',
            '',
            '-1',
            14,
        ),
    ],
    'two-compliances': [
        (
            loop(more='<compliance cfm="1e-6" stiffness="1 1 1 1 1 1"/>'),
            'joint/compliance',
            'l',
            'erp',
            '',
            13,
        )
    ],
    'two-rotations': [
        (
            loop(link1='<link1 name="base" rpy="0 0 0" quat_xyzw="0 0 0 1"/>'),
            'joint/link1',
            'l',
            'quat_xyzw',
            '0 0 0 1',
            11,
        )
    ],
    'zero-quaternion': [
        (
            loop(link1='<link1 name="base" quat_xyzw="0 0 0 0"/>'),
            'joint/link1',
            'l',
            'quat_xyzw',
            '0 0 0 0',
            11,
        )
    ],
    'zero-axis': [
        (loop('slider', '<axis xyz="0 0 0"/>'), 'joint/axis', 'l', 'xyz', '0 0 0', 13),
        (crawler('link="arm" axis="0 0 0" joint="c"'), 'crawler', 'arm', 'axis', '0 0 0', 10),
        (gazebo_joint('<axis><xyz>0 0 0</xyz></axis>'), 'joint/axis/xyz', 'l', '', '0 0 0', 13),
    ],
    'lower-above-upper': [
        (
            loop('hinge', f'{AXIS}\n<limit lower="1" upper="-1"/>'),
            'joint/limit',
            'l',
            'lower',
            '1',
            14,
        ),
        (
            gazebo_joint(
                '<axis><xyz>0 0 1</xyz>\n<limit><lower>1</lower><upper>0</upper></limit></axis>'
            ),
            'joint/axis/limit',
            'l',
            'lower',
            '1',
            14,
        ),
    ],
    'unknown-link': [
        (loop(link2='<link2 name="leg"/>'), 'joint/link2', 'l', 'name', 'leg', 12),
        (loop(link1='<link1 name="world"/>'), 'joint/link1', 'l', 'name', 'world', 11),
        (gazebo_joint(SDF_AXIS, parent='leg'), 'joint/parent', 'l', '', 'leg', 11),
        (gazebo_joint(SDF_AXIS, child='world'), 'joint/child', 'l', '', 'world', 12),
        (crawler('link="leg" axis="0 1 0"'), 'crawler', 'leg', 'link', 'leg', 10),
        (plugin('<link>leg</link>'), 'gazebo/plugin/link', '', '', 'leg', 11),
    ],
    'unknown-frame': [
        (
            gazebo_joint(f'{SDF_AXIS}\n<pose relative_to="leg">0 0 0 0 0 0</pose>'),
            'joint/pose',
            'l',
            'relative_to',
            'leg',
            14,
        ),
        (
            gazebo_joint('<axis><xyz expressed_in="leg">0 0 1</xyz></axis>'),
            'joint/axis/xyz',
            'l',
            'expressed_in',
            'leg',
            13,
        ),
    ],
    'same-link': [(loop(link2='<link2 name="base"/>'), 'joint/link2', 'l', 'name', 'base', 12)],
    'same-body': [
        (TOOL | loop(link2='<link2 name="tool"/>'), 'joint/link2', 'l', 'name', 'tool', 12)
    ],
    'parallel-axes': [
        (loop('hinge2', f'{AXIS}\n<axis2 xyz="0 0 -1"/>'), 'joint/axis2', 'l', 'xyz', '', 14)
    ],
    'one-anchor': [
        (loop('distance', '<distance value="1"/>'), 'joint/link2', 'l', 'name', 'arm', 12)
    ],
    'duplicate-name': [
        (loop(name='elbow'), 'joint', 'elbow', 'name', 'elbow', 10),
        (
            crawler(
                'link="arm" axis="0 1 0" joint="c"/>\n<crawler link="base" axis="0 1 0" joint="c"'
            ),
            'crawler',
            'base',
            'joint',
            'c',
            11,
        ),
        (
            crawler(
                'link="arm" axis="0 1 0" joint="c"/>\n<crawler link="arm" axis="0 1 0" joint="d"'
            ),
            'crawler',
            'arm',
            'link',
            'arm',
            11,
        ),
    ],
    'crawler-joint': [
        (crawler('link="arm" axis="0 1 0" joint="elbow"'), 'crawler', 'arm', 'joint', 'elbow', 10),
        (
            crawler('link="base" axis="0 1 0" joint="elbow"'),
            'crawler',
            'base',
            'joint',
            'elbow',
            10,
        ),
    ],
    'not-simulated': [
        (
            gazebo_joint(
                f'{SDF_AXIS}<axis2><xyz>0 1 0</xyz></axis2>', kind='universal', parent='world'
            ),
            'joint/parent',
            'l',
            '',
            'world',
            11,
        )
    ],
}

LOOP_WARNINGS = {
    'unknown-attribute': [
        (loop(link1='<link1 name="base" at="0 0 0"/>'), 'joint/link1', 'l', 'at', '0 0 0', 11),
        (
            crawler('link="arm" axis="0 1 0" joint="c" speed="1"'),
            'crawler',
            'arm',
            'speed',
            '1',
            10,
        ),
        ({9: '<sim_bridge version="2"/></robot>'}, 'sim_bridge', '', 'version', '2', 9),
    ],
    'unknown-tag': [
        (extension('<spring/>'), 'sim_bridge/spring', '', '', '', 10),
        (loop(more='<origin xyz="0 0 0"/>'), 'joint/origin', 'l', '', '', 13),
        (gazebo_joint(f'{SDF_AXIS}\n<origin/>'), 'joint/origin', 'l', '', '', 14),
        (
            gazebo_joint('<axis><xyz>0 0 1</xyz>\n<friction/></axis>'),
            'joint/axis/friction',
            'l',
            '',
            '',
            14,
        ),
    ],
    'unsupported-sensor': [
        (
            gazebo_joint(f'{SDF_AXIS}\n<sensor name="s" type="force_torque"/>'),
            'joint/sensor',
            'l',
            '',
            '',
            14,
        )
    ],
    'duplicate-tag': [(loop('hinge', f'{AXIS}\n{AXIS}'), 'joint/axis', 'l', '', '', 14)],
    'ignored-tag': [
        (
            gazebo_joint(
                '<axis><xyz>0 0 1</xyz>\n<dynamics><damping>1</damping></dynamics></axis>',
                kind='ball',
            ),
            'joint/axis/dynamics',
            'l',
            '',
            '',
            14,
        ),
        (loop(more=AXIS), 'joint/axis', 'l', 'xyz', '', 13),
        (loop('hinge', f'{AXIS}\n<axis2 xyz="1 0 0"/>'), 'joint/axis2', 'l', 'xyz', '', 14),
        (loop(more='<limit lower="0" upper="1"/>'), 'joint/limit', 'l', '', '', 13),
        (loop(more='<dynamics damping="1"/>'), 'joint/dynamics', 'l', '', '', 13),
        (loop(more='<distance value="1"/>'), 'joint/distance', 'l', '', '', 13),
        (gazebo_joint(SDF_AXIS, reference='arm'), 'joint', 'l', '', '', 10),
        (
            gazebo_joint(f'{SDF_AXIS}\n<axis2><xyz>0 1 0</xyz></axis2>'),
            'joint/axis2',
            'l',
            '',
            '',
            14,
        ),
        (
            gazebo_joint(
                '<axis><xyz>0 0 1</xyz>\n<limit><effort>5</effort></limit></axis>'
                '<axis2><xyz>0 1 0</xyz></axis2>',
                kind='universal',
            ),
            'joint/axis/limit',
            'l',
            '',
            '',
            14,
        ),
        (
            gazebo_joint(
                '<axis><xyz>0 0 1</xyz>\n<limit><lower>0</lower></limit></axis>'
                '<axis2><xyz>0 1 0</xyz></axis2>',
                kind='universal',
            ),
            'joint/axis/limit',
            'l',
            '',
            '',
            14,
        ),
    ],
    'not-normalised': [
        (loop('hinge', '<axis xyz="0 0 2"/>'), 'joint/axis', 'l', 'xyz', '0 0 2', 13),
        (crawler('link="arm" axis="0 2 0" joint="c"'), 'crawler', 'arm', 'axis', '0 2 0', 10),
        (gazebo_joint('<axis><xyz>0 0 2</xyz></axis>'), 'joint/axis/xyz', 'l', '', '0 0 2', 13),
    ],
    'not-perpendicular': [
        (loop('universal', f'{AXIS}\n<axis2 xyz="0 0.6 0.8"/>'), 'joint/axis2', 'l', 'xyz', '', 14)
    ],
    'not-simulated': [
        (gazebo_joint(SDF_AXIS, kind='screw'), 'joint', 'l', 'type', 'screw', 10),
        (
            gazebo_joint(
                f'{SDF_AXIS}<axis2><xyz>0 1 0</xyz>\n<dynamics><damping>1</damping>'
                '</dynamics></axis2>',
                kind='universal',
            ),
            'joint/axis2/dynamics',
            'l',
            '',
            '',
            14,
        ),
        *(
            (
                gazebo_joint(
                    f'{SDF_AXIS}<axis2><xyz>0 1 0</xyz>\n<limit>{limit}</limit></axis2>',
                    kind='revolute2',
                ),
                'joint/axis2/limit',
                'l',
                '',
                '',
                14,
            )
            for limit in (
                '<lower>-1e16</lower><upper>0</upper>',
                '<lower>-1e16</lower><effort>5</effort>',
            )
        ),
    ],
}
