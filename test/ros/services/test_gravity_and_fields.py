"""Gravity and force fields of a running node, set by parameters; and exceptions in hooks."""

from __future__ import annotations

import pytest
from ros_graph import end
from sensor_msgs.msg import JointState

from sim_bridge.ros.bag.replay import replay

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")


def test_gravity_and_fields_are_set_while_the_node_runs(graph, start_node, tmp_path):
    """Reverse gravity, refuse invalid fields, add wind, and replay to the same bits."""
    bag = tmp_path / 'bag'
    process = start_node(
        robot='pendulum',
        record=bag,
        record_hash_period=0.1,
        force_fields="'{still: {type: drag, linear: 2.0, angular: 2.0}}'",
    )
    states = graph.listen(JointState, '/joint_states')
    publisher = graph.advertise(JointState, '/joint_commands')
    joint = graph.wait_for_next(states, 50)[0].name[0]

    def command() -> None:
        # the robot is held until its first command
        publisher.publish(JointState(name=[joint], effort=[0.0]))

    name = '/sim_bridge'
    assert graph.set_parameter(name, 'gravity', [3.0, 0.0, 0.0]).successful
    graph.wait(
        lambda: abs(states[-1].position[0]) > 0.5, 'the pendulum in the other gravity', command
    )
    for wrong, why in (
        ('{a: {type: gale}}', 'must be one of uniform'),
        ('[', 'no YAML'),
        ('{a: {type: drag, linear: -1.0}}', 'at least 0'),
        ('{a: {type: drag, links: [nobody]}}', "unknown robot or robot/link 'nob"),
        ('{a: {type: drag, links: [pendulum/rud]}}', "Did you mean 'rod'?"),
    ):
        refused = graph.set_parameter(name, 'force_fields', wrong)
        assert not refused.successful and why in refused.reason
    refused = graph.set_parameter(name, 'gravity', [0.0, 0.0, 1e300])
    assert not refused.successful and "parameter 'gravity'" in refused.reason
    assert graph.set_parameter(
        name, 'force_fields', '{push: {type: uniform, force: [-300.0, 0, 0]}}'
    ).successful
    graph.wait(lambda: abs(states[-1].velocity[0]) > 8.0, 'a speed of no other force', command)
    code, output = end(process)
    assert code == 0 and 'Traceback' not in output, output
    verdict = replay(bag)
    assert verdict.is_same, verdict.difference
