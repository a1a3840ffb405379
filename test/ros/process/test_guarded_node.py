"""All kinds of raising callbacks, in a process that goes on."""

from __future__ import annotations

import pytest
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.parameter import Parameter
from ros_graph import end
from std_msgs.msg import String
from std_srvs.srv import Trigger
from test_msgs.action import Fibonacci

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

PROGRAM = """
import sys
from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import String
from std_srvs.srv import Trigger
from test_msgs.action import Fibonacci
from sim_bridge.ros.process import process
from sim_bridge.ros.process.deferred_action import DeferredActionServer
from sim_bridge.ros.process.executor_calls import ExecutorCalls
from sim_bridge.ros.process.polling import PollingNode


class Program:
    node_type = PollingNode

    def __init__(self, node):
        self.node = node
        self.calls = ExecutorCalls(node)
        self.said = node.create_publisher(String, 'said', 100)
        node.create_subscription(String, 'heard', self.hear, 10)
        self.poll = node.create_poll(String, 'polled', self.take, QoSProfile(depth=10))
        node.create_timer(0.02, self.fail_now_and_again)
        node.create_timer(0.02, self.look)
        # as what rclpy itself does may fail, which it logs each time: not more than a pipe holds
        self.failures = 20
        Node.create_timer(node, 0.02, self.fail_unguarded)
        node.create_service(Trigger, '~/ask', self.ask)
        node.create_service(Trigger, '~/count', self.count)
        node.declare_parameter(
            'number', 1.0, ParameterDescriptor(dynamic_typing=True))
        node.declare_parameter('numbers.first', 1)
        node.add_on_set_parameters_callback(self.set)
        DeferredActionServer(node, Fibonacci, 'act', self.check, self.start, self.cancel)

    def hear(self, message):
        if message.data == 'bad':
            raise ValueError('heard')
        self.said.publish(message)

    def take(self, data):
        self.said.publish(String(data='polled'))
        raise ValueError('polled')

    def look(self):
        self.poll(0)

    def fail_now_and_again(self):
        raise ValueError('timer')

    def ask(self, request, response):
        raise TypeError('asked')

    def count(self, request, response):
        response.message = str(sum(self.node.faults.counts.values()))
        return response

    def fail_unguarded(self):
        self.failures -= 1
        if self.failures >= 0:
            raise ValueError('unguarded')

    def set(self, parameters):
        if not isinstance(parameters[0].value, (int, float, str)):
            raise TypeError('unhashable')
        return SetParametersResult(successful=not isinstance(parameters[0].value, str))

    def check(self, goal):
        return 1 // (goal.order - 1) == 1

    def start(self, goal):
        raise ValueError('started')

    def cancel(self, goal):
        pass

    def close(self):
        pass


sys.exit(process.run('guarded', Program))
"""


@pytest.fixture
def program(start_process):
    """Return a node process with raising callbacks."""
    return start_process('-c', PROGRAM)


def test_a_node_outlives_its_callbacks(graph, program):
    """Fail in every kind of callback, answer all the same, and log each place once."""
    said = graph.listen(String, 'said')
    heard, polled = graph.advertise(String, 'heard'), graph.advertise(String, 'polled')
    graph.meet('/guarded')
    for _ in range(3):
        polled.publish(String())
        heard.publish(String(data='bad'))
        heard.publish(String(data='good'))
    # no message is lost with the failed one; polls and executor take theirs at different times
    graph.wait(
        lambda: sorted(each.data for each in said) == 3 * ['good'] + 3 * ['polled'], 'six messages'
    )
    for _ in range(2):
        answer = graph.call(Trigger, '/guarded/ask', Trigger.Request())
        assert (answer.success, answer.message) == (False, "TypeError: 'asked'")
    result = graph.set_parameter('/guarded', 'number', [1.0])
    assert (result.successful, result.reason) == (False, "TypeError: 'unhashable'")
    client = graph.action_client(Fibonacci, 'act', '/guarded')
    rejected = client.send_goal_async(Fibonacci.Goal(order=1))
    graph.wait(rejected.done, 'a rejection')
    assert not rejected.result().accepted
    accepted = client.send_goal_async(Fibonacci.Goal(order=2))
    graph.wait(accepted.done, 'an acceptance')
    ended = accepted.result().get_result_async()
    graph.wait(ended.done, 'a result')
    assert ended.result().status == 6  # aborted
    client.destroy()
    # of messages, polls, requests, parameters and goals, of the timer, and of rclpy's own timer
    least = 3 + 3 + 2 + 1 + 2 + 1 + 20
    counts: list[int] = []

    def count() -> None:
        counted = graph.call(Trigger, '/guarded/count', Trigger.Request())
        counts.append(int(counted.message))

    graph.wait(lambda: counts and counts[-1] >= least, f'{least} failures', count)
    code, output = end(program)
    assert code == 0, output
    for what in (
        "topic 'heard'",
        "topic 'polled'",
        'fail_now_and_again',
        "service '~/ask'",
        "setting 'number'",
        'executor',
    ):
        logged = sum(what in line and 'failed' in line for line in output.splitlines())
        assert logged == 1, f'{what}: {output}'
    assert output.count("action 'act' failed") == 2, output
    assert output.count('Traceback') == 8, output


def test_refused_parameters_leave_no_trace(graph, program):
    """Suggest names for an unknown parameter, types for an unknown one; keep described types."""
    refused = graph.set_parameter('/guarded', 'number', 'fast')
    assert not refused.successful
    assert graph.describe_parameters('/guarded')['number'].type == Parameter.Type.DOUBLE.value
    unknown = graph.set_parameter('/guarded', 'numbers.frist', 2)
    assert unknown.reason == (
        "unknown parameter 'numbers.frist' in node /guarded. Did you mean 'numbers.first'? "
        'Known: numbers.first.'
    )
    message = Parameter('nmber', value=2.0).to_parameter_msg()
    for kind, service in (
        (SetParameters, 'set_parameters'),
        (SetParametersAtomically, 'set_parameters_atomically'),
    ):
        response = graph.call(kind, f'/guarded/{service}', kind.Request(parameters=[message]))
        result = response.results[0] if kind is SetParameters else response.result
        assert "Did you mean 'number'?" in result.reason
    bad = Parameter('number', value=2.0).to_parameter_msg()
    bad.value.type = 77
    good = Parameter('numbers.first', value=3).to_parameter_msg()
    response = graph.call(
        SetParameters, '/guarded/set_parameters', SetParameters.Request(parameters=[bad, good])
    )
    assert [each.successful for each in response.results] == [False, True]
    assert "type of parameter 'number' = 77: expected one of 0 (NOT_SET)" in (
        response.results[0].reason
    )
    together = graph.call(
        SetParametersAtomically,
        '/guarded/set_parameters_atomically',
        SetParametersAtomically.Request(parameters=[good, bad]),
    ).result
    assert (together.successful, together.reason) == (False, response.results[0].reason)
    assert graph.set_parameter('/guarded', 'number', 2).successful
    assert graph.describe_parameters('/guarded')['number'].type == Parameter.Type.INTEGER.value
    assert end(program)[0] == 0
