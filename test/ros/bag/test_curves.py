"""Curves of recorded fields: read by name, computed like numpy, drawn on a page."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from bags import messages_on, no_progress, read_bag, start_recording
from geometry_msgs.msg import WrenchStamped
import matplotlib.image
from nav_msgs.msg import Odometry
import numpy as np
import pytest
from sensor_msgs.msg import Imu, JointState, LaserScan

from sim_bridge.cli.curves import Curve, labelled, Panel
from sim_bridge.cli.main import main
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, UnknownNameError
from sim_bridge.ros.bag.expressions import Expression, Reference, Series
from sim_bridge.ros.bag.fields import read_series
from sim_bridge.ros.bag.units import unit_of_field

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

T = np.linspace(0.0, 1.0, 101)
FAST, SLOW = np.sin(3.0 * T), T[::10] ** 2


@pytest.fixture(scope='module')
def bag(tmp_path_factory) -> Path:
    """Provide a bag with a swinging pendulum."""
    folder = tmp_path_factory.mktemp('curves')
    run = start_recording(
        folder / 'swing', hold_until_first_command=False, initial_positions=[0.5, -0.3]
    )
    run.run(0.3, no_progress)
    return folder / 'swing'


@pytest.fixture(scope='module')
def states(bag) -> list[JointState]:
    """Provide the joint states in the bag, read by another reader."""
    return messages_on(read_bag(bag), '/joint_states', JointState)


def curves(bag: Path, text: str) -> dict[str, Series]:
    """Return an expression's curves."""
    expression = Expression(text)
    data, warning = read_series(bag, expression.references, no_progress)
    assert not warning
    return dict(expression.evaluate(data))


def calculated(text: str) -> Series:
    """Evaluate an expression of `/a.x`, 101 samples, and `/b.y`, 11 samples in the same second."""
    ((_, series),) = Expression(text).evaluate(
        {
            Reference('/a', ('x',)): Series(T, FAST[:, None]),
            Reference('/b', ('y',)): Series(T[::10], SLOW[:, None]),
        }
    )
    return series


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('/a.x*2', 2.0 * FAST),
        ('-/a.x/2+1e-1', -FAST / 2.0 + 0.1),
        ('2**/a.x % 3 - (1 - /a.x)', 2.0**FAST % 3 - (1.0 - FAST)),
        ('/a.x/ /a.x', FAST / np.where(FAST == 0.0, np.nan, FAST)),
        ('hypot(/a.x, cos(pi * /a.x))', np.hypot(FAST, np.cos(np.pi * FAST))),
        ('max(abs(/a.x), degrees(0.01))', np.maximum(np.abs(FAST), np.degrees(0.01))),
        ('/a.x - /b.y', FAST - np.interp(T, T[::10], SLOW)),
        ('d(/a.x)', np.gradient(FAST, T, edge_order=2)),
        ('integral(/a.x)', np.append(0.0, np.cumsum(0.005 * (FAST[1:] + FAST[:-1])))),
    ],
)
def test_expressions_are_those_of_numpy(text, expected):
    """Evaluate with one topic and with two topics at different rates."""
    series = calculated(text)
    np.testing.assert_array_equal(series.times, T)
    np.testing.assert_allclose(series.values[:, 0], expected, rtol=1e-9, atol=1e-12)


def test_derivatives_are_those_of_calculus():
    """Compare with the derivative and the integral of a sine."""
    np.testing.assert_allclose(
        calculated('d(/a.x)').values[:, 0], 3.0 * np.cos(3.0 * T), atol=2e-3
    )
    np.testing.assert_allclose(
        calculated('integral(/a.x)').values[:, 0], (1.0 - np.cos(3.0 * T)) / 3.0, atol=1e-4
    )


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('', 'expression'),
        ('2 + 3', 'at least one field'),
        ('/a.x +', 'expected topic fields'),
        ('(((/a.x', 'expected topic fields'),
        ("__import__('os').x", 'not'),
        ('/a.x if 1 else 2', 'not'),
        ('f(/a.x)', "unknown function 'f'"),
        ('pie * /a.x', "Did you mean 'pi'?"),
        ('sin(/a.x, 1)', 'arguments of sin = 2'),
        ('sin * /a.x', 'parentheses after sin'),
        ('d(2) + /a.x', 'a field over time'),
        ('/a.x' * 1000, 'at most 2000'),
    ],
)
def test_invalid_expressions_are_refused(text, words):
    """Refuse everything but arithmetic; name the expected syntax."""
    with pytest.raises(SimBridgeError, match=r'.') as caught:
        calculated(text)
    assert words in str(caught.value)


def test_fields_are_read_by_name(bag, states):
    """Read joints by name and number, times, all joints, parts of vectors."""
    elbow = states[0].name.index('elbow')
    position = np.array([state.position[elbow] for state in states])
    assert np.ptp(position) > 1e-3  # the pendulum swings
    for text in (
        '/joint_states.position[elbow]',
        'joint_states.position[elbow]',
        f'joint_states.position[{elbow}]',
    ):
        (series,) = curves(bag, text).values()
        np.testing.assert_array_equal(series.values[:, 0], position)
    np.testing.assert_allclose(
        series.times,
        [s.header.stamp.sec + 1e-9 * s.header.stamp.nanosec for s in states],
        atol=1e-12,
    )
    both = curves(bag, 'joint_states.velocity')
    assert list(both) == ['joint_states.velocity shoulder', 'joint_states.velocity elbow']
    difference = curves(bag, 'd(joint_states.position[elbow]) - joint_states.velocity[elbow]')
    (series,) = difference.values()
    assert (
        np.abs(series.values).max()
        < 0.05 * np.abs(both['joint_states.velocity elbow'].values).max()
    )
    (stamps,) = curves(bag, '/clock.clock').values()
    np.testing.assert_allclose(stamps.values[:, 0], stamps.times, atol=1e-12)


@pytest.mark.parametrize(
    ('text', 'kind', 'words'),
    [
        ('/joint_state.position', UnknownNameError, "Did you mean '/joint_states'?"),
        ('/joint_states.positon', UnknownNameError, "Did you mean 'position'?"),
        ('/joint_states.position[elbo]', UnknownNameError, "Did you mean 'elbow'?"),
        ('/joint_states.position.elbow', InvalidValueError, 'in brackets'),
        ('/joint_states', InvalidValueError, 'header, name, position'),
        ('/joint_states.header.frame_id', InvalidValueError, 'numbers'),
    ],
)
def test_unknown_names_come_with_alternatives(bag, text, kind, words):
    """Name the unknown topic, field or item, and a known one."""
    with pytest.raises(kind) as caught:
        curves(bag, text)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ('text', 'unit'),
    [
        ('joint_states.position', 'rad'),
        ('joint_states.velocity[0]', 'rad/s'),
        ('joint_states.effort[elbow]', 'N m'),
        ('d(joint_states.position[elbow]) - joint_states.velocity[elbow]', 'rad/s'),
        ('d(d(joint_states.position))', 'rad/s²'),
        ('integral(joint_states.velocity[elbow])', 'rad'),
        ('degrees(joint_states.velocity)', '°/s'),
        ('radians(degrees(joint_states.position))', 'rad'),
        ('norm(joint_states.effort)', 'N m'),
        ('-2 * abs(joint_states.position[elbow]) + 1', 'rad'),
        ('joint_states.effort[elbow] * joint_states.velocity[elbow]', 'N m rad/s'),
        ('1 / joint_states.velocity[elbow]', 's/rad'),
        ('sqrt(joint_states.velocity[elbow] ** 2)', 'rad/s'),
        ('sqrt(joint_states.velocity[elbow])', ''),
        ('joint_states.position[elbow] + joint_states.velocity[elbow]', ''),
        ('sin(joint_states.position[elbow])', ''),
        ('atan2(joint_states.position[elbow], 2)', 'rad'),
        ('/clock.clock', 's'),
        ('/clock.clock.sec', 's'),
        ('/joint_states.header.stamp', 's'),
    ],
)
def test_units_follow_fields_and_arithmetic(bag, text, unit):
    """Take field units from their types, joint units from the robot's description."""
    for series in curves(bag, text).values():
        assert str(series.unit(0) or '') == unit


def test_units_of_joints_are_those_of_their_types(tmp_path):
    """Distinguish slide and hinge by the description; no unit if one number covers both."""
    urdf = tmp_path / 'crane.urdf'
    joint = """<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><axis xyz="0 0 1"/>
      <limit lower="-1" upper="1" effort="9" velocity="9"/></joint>"""
    mass = """<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
      iyz="0"/></inertial>"""
    urdf.write_text(
        f'<robot name="crane"><link name="world"/><link name="cab">{mass}</link>'
        f'<link name="trolley">{mass}</link>{joint.format("turn", "revolute", "world", "cab")}'
        f'{joint.format("slide", "prismatic", "cab", "trolley")}</robot>'
    )
    run = start_recording(tmp_path / 'run', robot=str(urdf))
    run.run(0.02, no_progress)
    bag = tmp_path / 'run'
    units = {
        name.rpartition(' ')[2]: [str(series.unit(0))]
        for name, series in curves(bag, 'joint_states.position').items()
    }
    for name, series in curves(bag, 'joint_states.effort').items():
        units[name.rpartition(' ')[2]].append(str(series.unit(0)))
    assert units == {'turn': ['rad', 'N m'], 'slide': ['m', 'N']}
    (series,) = curves(bag, 'norm(joint_states.position)').values()
    assert series.unit(0) is None


@pytest.mark.parametrize(
    ('kind', 'path', 'unit'),
    [
        (Odometry, 'pose.pose.position.x', 'm'),
        (Odometry, 'pose.pose.orientation.w', ''),
        (Odometry, 'twist.twist.angular.z', 'rad/s'),
        (Odometry, 'twist.covariance', None),
        (Imu, 'linear_acceleration.y', 'm/s²'),
        (Imu, 'header.stamp.nanosec', 'ns'),
        (WrenchStamped, 'wrench.torque.x', 'N m'),
        (LaserScan, 'ranges', 'm'),
        (LaserScan, 'intensities', None),
        (JointState, 'name', None),
    ],
)
def test_fields_of_messages_have_units(kind, path, unit):
    """Follow a field path through nested messages."""
    value, found = kind(), None
    for step in path.split('.'):
        found = unit_of_field(type(value), step, found)
        value = getattr(value, step)
    assert (None if found is None else str(found)) == unit


def plotted(page: str) -> list[dict]:
    """Return the curves in a page, their arrays decoded."""
    begin = page.index('[', page.index('Plotly.newPlot('))
    traces, _ = json.JSONDecoder().raw_decode(page[begin:])
    for trace in traces:
        for axis in 'xy':
            trace[axis] = np.frombuffer(
                base64.b64decode(trace[axis]['bdata']), trace[axis]['dtype']
            )
    return traces


def test_a_page_holds_its_data_and_needs_nothing_else(bag, states, capsys):
    """Draw two bags over each other; decode the page's data."""
    page = bag.parent / 'page.html'
    picture = bag.parent / 'curves.png'
    assert (
        main(
            [
                'plot',
                str(bag),
                str(bag),
                'joint_states.position[elbow]*2',
                'd(/clock.clock)',
                '--html',
                str(page),
                '-o',
                str(picture),
                '--from',
                '0.1',
                '--to',
                '0.2',
            ]
        )
        == 0
    )
    out = capsys.readouterr().out
    assert '4 curves' in out and 'replaced' not in out
    text = page.read_text(encoding='utf-8')
    assert '<title>swing, swing</title>' in text
    assert '<script src=' not in text and '<link' not in text
    traces = plotted(text)
    assert [trace['name'] for trace in traces[:2]] == [
        'swing: joint_states.position[elbow] * 2'
    ] * 2
    assert [trace['yaxis'] for trace in traces] == ['y', 'y', 'y2', 'y2']
    assert '"[rad]"' in text
    elbow = states[0].name.index('elbow')
    np.testing.assert_array_equal(
        traces[0]['y'], [2.0 * each.position[elbow] for each in states][99:200]
    )
    np.testing.assert_allclose(traces[2]['y'], 1.0, atol=1e-6)
    image = matplotlib.image.imread(picture)
    assert main(['plot', str(bag), 'd(/clock.clock)', '-o', str(picture)]) == 0
    assert 'kB, replaced' in capsys.readouterr().out
    # coloured lines on white paper
    assert image.shape[1] == 1080 and np.ptp(image[..., :3], axis=2).max() > 0.3


def test_panels_of_like_units_share_a_label():
    """Show a unit once for neighbours with the same unit, and none if a curve's is unknown."""
    panels = [
        Panel('', [Curve('', T, FAST, unit) for unit in units])
        for units in (['rad'], ['rad', 'rad'], ['rad', ''], ['m', 'rad'], [], ['m'])
    ]
    assert list(labelled(panels)) == [(0, 1, 'rad'), (3, 3, 'm, rad'), (5, 5, 'm')]


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (['nowhere', 'a.b'], 'that exists'),
        ([], 'after the bag'),
        (
            ['joint_states'],
            'a field of this topic: joint_states.header, joint_states.name, joint_sta',
        ),
        (['/joint_states.position', '-o', 'x.gif'], '.png'),
        (['/joint_states.position', '--html', 'x.png'], '.html'),
        (
            ['/joint_states.position', '--from', '9', '--html', '{}/x.html'],
            'it has them from 0.001',
        ),
        (['/joint_states.position', '-o', '{}/none/x.png'], 'can be written'),
    ],
)
def test_wrong_arguments_of_plot(bag, capsys, arguments, words):
    """Name the error in the command line."""
    given = [each.format(bag.parent) for each in arguments]
    first = [] if given[:1] == ['nowhere'] else [str(bag)]
    assert main(['plot', *first, *given]) == 2
    assert words in capsys.readouterr().err
