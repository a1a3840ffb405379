"""A node of the test's own, to listen, command and call, and to wait for what is to happen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import signal
import subprocess
import time

from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import DescribeParameters, GetParameterTypes, ListParameters, SetParameters
import rclpy
from rclpy.action import ActionClient
from rclpy.client import Client
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions

# A bound on what is bound to come: discovery in a second, after a first start compilation in
# minutes where many share few processors. Nothing is measured by it.
PATIENCE_S = 280.0

# Queues in which everything waits for a process that stalls. A node's own hold a second of its
# messages: of what comes faster than it is taken, the oldest is lost.
_ALL = 100_000


def keeping(*topics: str) -> dict[str, int]:
    """Return the parameters of a node that loses no messages of topics to one who stalls."""
    return {f'qos_overrides.{topic}.publisher.depth': _ALL for topic in topics}


class Graph:
    """Use it as a context, in a test that has `ros_environment`."""

    def __init__(self, processes: Sequence[subprocess.Popen] = ()) -> None:
        """
        Prepare.

        processes: of the test; there may be more later. Nothing is waited for in vain once one of
        them has failed.
        """
        self._processes = processes
        self._heard = 0

    def __enter__(self) -> Graph:
        """Join the test's ROS domain."""
        self._context = Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self.node = Node('test', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        return self

    def __exit__(self, *exception: object) -> None:
        """Leave."""
        self._executor.shutdown()
        self.node.destroy_node()
        self._context.try_shutdown()

    def listen(self, kind: type, topic: str, qos: QoSProfile | int = 1000) -> list:
        """Return the list that all messages of a topic are appended to from now on."""
        messages: list = []

        def take(message: object) -> None:
            messages.append(message)
            self._heard += 1

        self.node.create_subscription(kind, topic, take, qos)
        return messages

    def listen_to_all(self, kind: type, topic: str) -> list:
        """Listen to a topic of a node that has the parameters `keeping` returns."""
        return self.listen(kind, topic, QoSProfile(depth=_ALL))

    def advertise(self, kind: type, topic: str):
        """Return a publisher that somebody listens to."""
        publisher = self.node.create_publisher(kind, topic, 10)
        self.wait(lambda: publisher.get_subscription_count() > 0, f'a subscriber of {topic}')
        return publisher

    def wait(
        self, condition: Callable[[], object], what: str, also: Callable[[], None] = lambda: None
    ) -> None:
        """Spin, calling `also` now and again, until the condition holds; fail if it never does."""
        end = time.monotonic() + PATIENCE_S
        while not condition():
            codes = [process.poll() for process in self._processes]
            assert time.monotonic() < end, (
                f'waited {PATIENCE_S:g} s in vain for {what}; exit codes of processes: {codes}'
            )
            failed = [
                process
                for process, code in zip(self._processes, codes, strict=True)
                if (code or 0) > 0
            ]
            assert not failed, f'waiting for {what}: {failed[0].communicate()[0]}'
            also()
            self._executor.spin_once(timeout_sec=0.02)

    def wait_for_next(self, messages: list, count: int = 1) -> list:
        """Wait for so many more messages in a list, and give these."""
        before = len(messages)
        self.wait(lambda: len(messages) >= before + count, f'{count} more messages')
        return messages[before : before + count]

    def wait_for_standstill(self, states: list, clock: list) -> int:
        """Wait until /clock stands still, and all states up to then have come; give the time."""
        begun = len(clock)

        def stands() -> bool:
            times = {nanoseconds(tick.clock) for tick in clock[-3:]}
            return len(clock) >= begun + 3 and times == {nanoseconds(states[-1].header.stamp)}

        self.wait(stands, 'a clock that stands still')
        return nanoseconds(clock[-1].clock)

    def drain(self) -> None:
        """Take in what has arrived."""
        before = -1
        while before < self._heard:
            before = self._heard
            # one spin takes one message, of any of the entities
            for _ in range(50):
                self._executor.spin_once(timeout_sec=0.0)

    def call(self, kind: type, service: str, request: object) -> object:
        """Call a service, and give its response."""
        client = self.client(kind, service)
        future = client.call_async(request)
        self.wait(future.done, f'a response of {service}')
        self.node.destroy_client(client)
        return future.result()

    def client(self, kind: type, service: str) -> Client:
        """Return a client of a node's service, for whoever must not wait for the response."""
        client = self.node.create_client(kind, service)
        self.wait(client.service_is_ready, f'service {service}')
        self.meet(service.rpartition('/')[0])
        return client

    def action_client(self, kind: type, action: str, node: str) -> ActionClient:
        """Return a client of a node's action."""
        client = ActionClient(self.node, kind, action)
        self.wait(client.server_is_ready, f'action {action}')
        self.meet(node)
        return client

    def meet(self, node: str) -> None:
        """
        Wait until a node has discovered all that was made here.

        What a node sends before it has discovered a client or a subscription is lost, and these
        cannot tell. What is made later is discovered later: so a client made now asks the node for
        something until it responds.
        """
        probe = self.node.create_client(GetParameterTypes, f'{node}/get_parameter_types')
        self.wait(probe.service_is_ready, f'the parameters of {node}')
        asked: list = []

        def ask() -> None:
            if not asked or time.monotonic() - asked[-1][0] > 0.5:
                asked.append((time.monotonic(), probe.call_async(GetParameterTypes.Request())))

        self.wait(lambda: any(future.done() for _, future in asked), f'{node}', ask)
        self.node.destroy_client(probe)

    def services_of(self, name: str, namespace: str = '/') -> dict[str, list[str]]:
        """Return the services of a node with their types, as far as they are discovered."""
        if (name, namespace) not in self.node.get_node_names_and_namespaces():
            return {}
        return dict(self.node.get_service_names_and_types_by_node(name, namespace))

    def set_parameter(self, node: str, name: str, value: object) -> object:
        """Set a parameter of a node; give the result with its fields successful and reason."""
        message = ParameterMessage(
            name=name, value=Parameter(name, value=value).get_parameter_value()
        )
        response = self.call(
            SetParameters, f'{node}/set_parameters', SetParameters.Request(parameters=[message])
        )
        return response.results[0]

    def describe_parameters(self, node: str) -> dict[str, object]:
        """Return the descriptors of all parameters of a node, by name."""
        names = self.call(
            ListParameters, f'{node}/list_parameters', ListParameters.Request()
        ).result.names
        request = DescribeParameters.Request(names=names)
        response = self.call(DescribeParameters, f'{node}/describe_parameters', request)
        return {descriptor.name: descriptor for descriptor in response.descriptors}


def nanoseconds(stamp: object) -> int:
    """Return a stamp in ns."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def end(process: subprocess.Popen, number: int = signal.SIGINT) -> tuple[int, str]:
    """End a process by a signal; give its exit code and all it said."""
    process.send_signal(number)
    output, _ = process.communicate(timeout=PATIENCE_S)
    return process.returncode, output
