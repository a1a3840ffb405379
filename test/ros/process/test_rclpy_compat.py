"""Uses of rclpy beyond its public interface work as intended."""

from __future__ import annotations

import asyncio
import signal
from types import SimpleNamespace

from action_msgs.msg import GoalStatus
import pytest
import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.qos_overriding_options import QoSOverridingOptions
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.signals import SignalHandlerOptions
from ros_graph import PATIENCE_S
from std_msgs.msg import Int32
from std_srvs.srv import Trigger

from sim_bridge.ros.process import rclpy_compat

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

SPIN_S = 0.01


@pytest.fixture
def bench(ros_environment):
    """Provide a node with a given parameter, and a function spinning it until a condition."""
    context = Context()
    rclpy.init(
        context=context,
        args=['--ros-args', '-p', 'given:=7'],
        signal_handler_options=SignalHandlerOptions.NO,
    )
    node = Node('compat', context=context)
    executor = rclpy.executors.SingleThreadedExecutor(context=context)
    executor.add_node(node)

    def spin_until(condition) -> None:
        for _ in range(round(PATIENCE_S / SPIN_S)):
            if condition():
                return
            executor.spin_once(timeout_sec=SPIN_S)
        pytest.fail('it never came')

    yield SimpleNamespace(node=node, spin_until=spin_until, context=context)
    executor.shutdown()
    node.destroy_node()
    context.try_shutdown()


def test_make_executor_returns_an_executor(ros_environment):
    """Run a node's timer once."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node, called = Node('spun'), []
    node.create_timer(SPIN_S, lambda: called.append(True))
    executor = rclpy_compat.make_executor()
    executor.add_node(node)
    for _ in range(round(PATIENCE_S / SPIN_S)):
        if called:
            break
        executor.spin_once(timeout_sec=SPIN_S)
    executor.shutdown()
    node.destroy_node()
    rclpy.try_shutdown()
    assert called


def test_serialized_messages_go_out_and_come_in(bench):
    """Publish and take bytes without rclpy's message objects; count the publishers."""
    publisher = bench.node.create_publisher(Int32, 'numbers', QoSProfile(depth=5))
    subscription = Node('other', context=bench.context).create_subscription(
        Int32, 'numbers', print, QoSProfile(depth=5), raw=True
    )
    count, take = (
        of(subscription) for of in (rclpy_compat.publisher_count_of, rclpy_compat.raw_take_of)
    )
    bench.spin_until(lambda: count() and publisher.get_subscription_count())
    assert (count(), take()) == (1, None)
    rclpy_compat.raw_publish_of(publisher)(serialize_message(Int32(data=5)))
    taken = []
    bench.spin_until(lambda: taken or taken.extend(each for each in [take()] if each))
    assert deserialize_message(taken[0][0], Int32).data == 5
    assert take() is None


def test_read_only_parameters_are_undeclared(bench):
    """Undeclare a parameter declared by rclpy for a publisher; its public interface refuses."""
    bench.node.create_publisher(
        Int32, 'numbers', 5, qos_overriding_options=QoSOverridingOptions.with_default_policies()
    )
    name = 'qos_overrides./numbers.publisher.depth'
    with pytest.raises(rclpy.exceptions.ParameterImmutableException):
        bench.node.undeclare_parameter(name)
    rclpy_compat.undeclare_read_only(bench.node, name)
    assert not bench.node.has_parameter(name)


def test_responses_are_sent_when_they_are_ready(bench):
    """Leave a request unanswered until the answer is given."""
    service = bench.node.create_service(Trigger, 'later', lambda request, response: request)
    taken = []
    rclpy_compat.take_over_responses(service, lambda *given: taken.append(given))
    client = bench.node.create_client(Trigger, 'later')
    bench.spin_until(client.service_is_ready)
    future = client.call_async(Trigger.Request())
    bench.spin_until(lambda: taken)
    assert not future.done()
    ((request, answer),) = taken
    assert isinstance(request, Trigger.Request)
    answer(Trigger.Response(success=True, message='now'))
    bench.spin_until(future.done)
    assert future.result().message == 'now'


def test_the_callback_of_a_service_is_wrapped(bench):
    """Change a service's answer created by other code."""
    bench.node.create_service(Trigger, '~/guarded', lambda request, response: response)

    def guard(callback):
        def respond(request, response):
            callback(request, response).message = 'guarded'
            return response

        return respond

    rclpy_compat.guard_service(bench.node, '/guarded', guard)
    client = bench.node.create_client(Trigger, '~/guarded')
    bench.spin_until(client.service_is_ready)
    future = client.call_async(Trigger.Request())
    bench.spin_until(future.done)
    assert future.result().message == 'guarded'


def test_silenced_entities_do_nothing(bench):
    """Call a timer's and a service's callback like an executor."""
    called = []
    timer = bench.node.create_timer(1e3, lambda: called.append('timer'))
    service = bench.node.create_service(Trigger, 'c', lambda *given: called.append('service'))
    for entity in (timer, service):
        rclpy_compat.silence(entity)
    timer.callback()
    service.send_response(service.callback(None, None), None)
    assert not called


class StandInServer:
    """Stand-in for rclpy's ActionServer, with the parts used to hold goals."""

    action_type = object

    def __init__(self) -> None:
        self._result_futures: dict[bytes, rclpy.Future] = {b'a': rclpy.Future()}
        self.answered, self.sent, self.notified = [], [], []

    def notify_execute(self, goal, execute_callback) -> None:
        self.notified.append(goal)

    async def _execute_get_result_request(self, given) -> None:
        self.answered.append(given)

    async def _execute_goal(self, execute_callback, goal) -> None:
        self._result_futures[bytes(goal.goal_id.uuid)].set_result(execute_callback(goal))

    def _send_result_response(self, header, future) -> None:
        self.sent.append((header, future.result()))


def test_goals_are_concluded_at_once():
    """Answer requests made before a goal's end when it ends, and leave later ones to rclpy."""
    server = StandInServer()
    held = rclpy_compat.HeldGoals(server)
    ended = []
    goal = SimpleNamespace(
        goal_id=SimpleNamespace(uuid=b'a'), succeed=lambda: ended.append('succeed')
    )
    server.notify_execute(goal, None)
    assert not server.notified
    asking = 'header', SimpleNamespace(goal_id=goal.goal_id)
    asyncio.run(server._execute_get_result_request(asking))
    assert (server.answered, server.sent) == ([], [])
    held.conclude(goal, 'succeed', 'result')
    assert (ended, server.sent) == (['succeed'], [('header', 'result')])
    asyncio.run(server._execute_get_result_request(asking))
    assert server.answered == [asking]


def test_action_servers_have_the_private_names_in_use(bench):
    """Find an action server among a node's waitables, with the used private names."""
    from rclpy.action import ActionServer
    from test_msgs.action import Fibonacci

    server = ActionServer(bench.node, Fibonacci, 'count', print)
    assert rclpy_compat.action_servers(bench.node) == [server]
    for name in (
        '_execute_get_result_request',
        '_execute_goal',
        '_send_result_response',
        '_result_futures',
        'notify_execute',
    ):
        assert hasattr(server, name)
    server.destroy()


# action servers with results, some of them created after others were destroyed
MANY_SERVERS = """
import rclpy
from rclpy.action import ActionServer
from rclpy.signals import SignalHandlerOptions
from test_msgs.action import Fibonacci
from sim_bridge.ros.process.guarded_node import GuardedNode
from sim_bridge.ros.process.rclpy_compat import make_executor

rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
node = GuardedNode('many')
executor = make_executor()
executor.add_node(node)

def serve(goal):
    goal.succeed()
    return Fibonacci.Result(sequence=[7])

def create(names):
    clocks = node.expiry_clocks
    return [
        ActionServer(clocks.node_for_server(), Fibonacci, name, serve, result_timeout=0.1)
        for name in names
    ]

def spin():
    for _ in range(50):
        executor.spin_once(timeout_sec=0.01)

create(f'kept_{number}' for number in range(10))
spin()
for _ in range(3):
    servers = create(f'brief_{number}' for number in range(20))
    spin()
    for server in servers:
        server.destroy()
servers = create(f'late_{number}' for number in range(10))
spin()
assert len(node.expiry_clocks._clocks) == 30
print('ready', flush=True)
try:
    while True:
        executor.spin_once(timeout_sec=0.1)
except KeyboardInterrupt:
    executor.shutdown()
    node.destroy_node()
    rclpy.try_shutdown()
"""


def test_many_action_servers_give_no_warning(graph, start_process):
    """Serve goals of many servers, and let results expire, without a word from the executor."""
    from test_msgs.action import Fibonacci

    process = start_process('-c', MANY_SERVERS)
    assert process.stdout.readline() == 'ready\n'
    for name in ('kept_0', 'late_9'):
        client = graph.action_client(Fibonacci, name, '/many')
        accepted = client.send_goal_async(Fibonacci.Goal(order=1))
        graph.wait(accepted.done, 'an answer')
        result = accepted.result().get_result_async()
        graph.wait(result.done, 'a result')
        assert list(result.result().result.sequence) == [7]
        # forgotten after 0.1 s
        again = accepted.result()

        def is_forgotten(again=again) -> bool:
            asked = again.get_result_async()
            graph.wait(asked.done, 'an answer')
            return asked.result().status == GoalStatus.STATUS_UNKNOWN

        graph.wait(is_forgotten, 'the end of the result')
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, output) == (0, '')
