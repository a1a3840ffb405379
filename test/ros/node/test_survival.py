"""A running node survives errors in its callbacks, and reports them on /diagnostics."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray
import pytest
from rclpy.parameter import Parameter
from ros_graph import end
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

# a node with defective callbacks for a service, a command topic and a parameter
DEFECTIVE = """
import sys
from sim_bridge.ros.command.command_inbox import CommandInbox
from sim_bridge.ros.command.command_queue import CommandQueue
from sim_bridge.ros.node.main import main
from sim_bridge.ros.session.simulator import Simulator

def fail(*given):
    raise TypeError('a defect')

Simulator.save = CommandQueue.set_control = fail
sys.exit(main([
    'sim_bridge', '--ros-args', '-p', 'robot:=pendulum', '-p', 'diagnostics_rate:=20.0']))
"""


def test_defects_do_not_end_a_simulation(graph, start_process):
    """Fail on both threads: answer, go on without a pause, log once and count."""
    process = start_process('-c', DEFECTIVE)
    states = graph.listen(JointState, '/joint_states')
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    graph.wait(lambda: states and diagnostics, 'states and diagnostics')
    for _ in range(2):
        answer = graph.call(Trigger, '/sim_bridge/save_snapshot', Trigger.Request())
        assert not answer.success
        assert 'a defect' in answer.message
    refused = graph.set_parameter('/sim_bridge', 'control.pivot', 'velocity')
    assert (refused.successful, refused.reason) == (False, "TypeError: 'a defect'")

    def callbacks() -> dict[str, str]:
        status = next(s for s in diagnostics[-1].status if s.name == 'sim_bridge: callbacks')
        return {each.key: each.value for each in status.values}

    graph.wait(lambda: callbacks()['failed since start'] == '3', 'three failures counted')
    assert [count for key, count in callbacks().items() if 'TypeError' in key] == ['3']
    graph.wait_for_next(states, 100)
    code, output = end(process)
    assert code == 0, output
    assert output.count('Traceback') == 1


def test_parameters_of_a_wrong_type_are_refused_and_change_nothing(graph, start_node):
    """Set a control to a list, a factor to a text, a missing axis."""
    process = start_node(robot='arm')
    states = graph.listen(JointState, '/joint_states')
    graph.wait_for_next(states)
    before = graph.describe_parameters('/sim_bridge')
    refused = graph.set_parameter('/sim_bridge', 'control.joint_1', [1.0, 2.0])
    assert refused.reason.startswith("parameter 'control.joint_1' = array('d', [1.0, 2.0]): ")
    refused = graph.set_parameter('/sim_bridge', 'real_time_factor', 'fast')
    assert refused.reason.startswith("parameter 'real_time_factor' = 'fast': expected")
    unknown = graph.set_parameter('/sim_bridge', 'control.joint1', 'position')
    assert unknown.reason.startswith(
        "unknown parameter 'control.joint1' in node /sim_bridge. Did you mean 'control.joint_1'? "
        'Known: control.joint_1, '
    )
    after = graph.describe_parameters('/sim_bridge')
    assert after == before
    assert after['real_time_factor'].type == Parameter.Type.DOUBLE.value
    graph.wait_for_next(states, 100)
    assert end(process)[0] == 0
