"""
Malformed descriptions for the tests of errors and warnings: a sound robot with lines changed.

A case is the changed lines by number, then the finding they must give: element, name, attribute,
value, line.
"""

from __future__ import annotations

import pytest

INERTIAL = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="2"/>'
ENDS = '<parent link="base"/><child link="arm"/>'

# the lines of a sound robot; a case replaces or inserts some of them
SOUND = [
    '<robot name="r">',  # 1
    f'<link name="base">{INERTIAL}</link>',  # 2
    f'<link name="arm">{INERTIAL}</link>',  # 3
    '<joint name="elbow" type="revolute">',  # 4
    ENDS,  # 5
    LIMIT,  # 6
    '<axis xyz="0 0 1"/>',  # 7
    '</joint>',  # 8
    '</robot>',  # 9
]


def robot(lines: dict[int, str]) -> str:
    """Return the sound robot with some lines replaced, by number from 1."""
    return '\n'.join(lines.get(number, line) for number, line in enumerate(SOUND, 1))


def joint(
    name: str, kind: str = 'revolute', parent: str = 'base', child: str = 'hand', more: str = LIMIT
) -> str:
    """Return a joint in one line."""
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{more}</joint>'


def link(name: str, content: str = INERTIAL) -> str:
    """Return a link in one line."""
    return f'<link name="{name}">{content}</link>'


def inertial(mass: str = '1', origin: str = '', **moments: str) -> str:
    """Return an inertial element with some values changed."""
    values = {'ixx': '1', 'iyy': '1', 'izz': '1', 'ixy': '0', 'ixz': '0', 'iyz': '0', **moments}
    written = ' '.join(f'{key}="{value}"' for key, value in values.items() if value is not None)
    return f'<inertial>{origin}<mass value="{mass}"/><inertia {written}/></inertial>'


def gazebo(content: str, reference: str = 'elbow') -> str:
    """Return a gazebo element in one line."""
    return f'<gazebo reference="{reference}">{content}</gazebo></robot>'


def sensor(content: str, kind: str = 'imu', reference: str = 'arm') -> str:
    """Return a Gazebo sensor called s in one line."""
    return gazebo(f'<sensor name="s" type="{kind}">{content}</sensor>', reference)


def ros2_control(interface: str) -> str:
    """Return a sensor called s of ros2_control, in the second of two lines."""
    content = f'<sensor name="s"><state_interface name="{interface}"/></sensor>'
    return f'<ros2_control>\n{content}</ros2_control></robot>'


def cases(*tables: dict[str, list[tuple]]) -> list:
    """Flatten tables into test parameters."""
    codes = dict.fromkeys(code for table in tables for code in table)
    return [
        pytest.param(code, *case, id=f'{code}-{number}')
        for code in codes
        for number, case in enumerate(case for table in tables for case in table.get(code, ()))
    ]


def find(findings, code):
    """Return the findings of a code as tuples."""
    return [
        (found.element, found.name, found.attribute, found.value, found.line)
        for found in findings
        if found.code == code
    ]
