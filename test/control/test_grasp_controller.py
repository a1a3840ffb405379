"""Controller in docs/grasp_over_topics.md: lifts a box through a running node's topics."""

from __future__ import annotations

import re

from geometry_msgs.msg import WrenchStamped
import numpy as np
import pytest
from ros_graph import end, keeping, nanoseconds
from sensor_msgs.msg import JointState, MultiDOFJointState

import sim_bridge as sb

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

DIGITS = 'index', 'middle', 'ring', 'thumb'
LIFTED = 0.1  # m
BOX, G = 0.3, 9.81  # kg, m/s^2


@pytest.fixture
def controller(repository, tmp_path):
    """Return the file with the document's program."""
    text = (repository / 'docs' / 'grasp_over_topics.md').read_text()
    (code,) = re.findall(r'```python\n(.*?)```', text, re.DOTALL)
    (tmp_path / 'grasp_controller.py').write_text(code)
    return tmp_path / 'grasp_controller.py'


def test_a_box_is_lifted_over_topics(graph, start_node, start_process, repository, controller):
    """Grasp with friction: the box does not slip, and the tip sensors bear its weight."""
    config = repository / 'config'
    topics = {digit: f'/{digit}_tip/wrench' for digit in DIGITS}
    node = start_node(
        '--params-file',
        str(config / 'hand_servos.yaml'),
        robot='hand',
        world=str(config / 'world_grasp.yaml'),
        lockstep=['joint_commands'],
        real_time_factor=0.0,
        **keeping('/joint_states', '/object_states', *topics.values()),
    )
    states = graph.listen_to_all(JointState, '/joint_states')
    objects = graph.listen_to_all(MultiDOFJointState, '/object_states')
    wrenches = {
        digit: graph.listen_to_all(WrenchStamped, topic) for digit, topic in topics.items()
    }
    program = start_process(controller, cwd=repository)
    graph.wait(lambda: objects and height(objects[-1]) > 0.035 + LIFTED - 5e-4, 'a lifted box')
    up = nanoseconds(objects[-1].header.stamp)
    # another half second for coming to rest
    graph.wait(
        lambda: (
            min(nanoseconds(each[-1].header.stamp) for each in (*wrenches.values(), objects))
            > up + 500_000_000
        ),
        'a box that hangs',
    )

    hand = sb.World().load_urdf('hand')
    by_time = {nanoseconds(state.header.stamp): state for state in states}
    apart = {}
    for message in objects:
        state = by_time.get(nanoseconds(message.header.stamp))
        if state is not None:
            pose(hand, state)
            apart[nanoseconds(state.header.stamp)] = place(message) - hand.link('palm').p
    risen = {nanoseconds(each.header.stamp) for each in objects if height(each) > 0.036}
    rising = [each for time, each in apart.items() if time in risen]
    assert len(rising) > 30
    assert np.abs(np.array(rising) - rising[0]).max() < 5e-4, 'the box slips'

    latest = {
        digit: {nanoseconds(each.header.stamp): each for each in messages}
        for digit, messages in wrenches.items()
    }
    last = max(set.intersection(*(set(each) for each in latest.values()), set(by_time)))
    pose(hand, by_time[last])
    borne, own = np.zeros(3), 0.0
    for digit, messages in latest.items():
        tip, force = hand.link(f'{digit}_tip'), messages[last].wrench.force
        borne += tip.R @ (force.x, force.y, force.z)
        own += tip.m
    np.testing.assert_allclose(borne, [0.0, 0.0, -G * (BOX + own)], atol=0.01 * G * BOX)
    assert program.poll() is None
    code, output = end(node)
    assert code == 0, output
    assert 'refused' not in output, output


def pose(hand, state):
    """Set a hand's joints to a message's positions."""
    hand.q = [state.position[state.name.index(name)] for name in hand.joint_names]


def place(message):
    """Return the box position [m]."""
    p = message.transforms[message.joint_names.index('object')].translation
    return np.array((p.x, p.y, p.z))


def height(message):
    """Return the box height [m]."""
    return place(message)[2]
