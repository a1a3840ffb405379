"""The test's own ROS node, to listen, command, call, and wait for expected events."""

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

# Bound on expected events: discovery takes a second, compilation after a first start minutes if
# many share few processors. Nothing is measured by it.
PATIENCE_S = 280.0

# Queues large enough while a process stalls. A node's own queues hold one second of its messages;
# if messages arrive faster than they are read, the oldest are lost.
_ALL = 100_000


def keeping(*topics: str) -> dict[str, int]:
    """Return node parameters that keep all messages on topics for a stalling reader."""
    return {f'qos_overrides.{topic}.publisher.depth': _ALL for topic in topics}


class Graph:
    """A ROS node as a context manager, for a test with `ros_environment`."""

    def __init__(self, processes: Sequence[subprocess.Popen] = ()) -> None:
        """
        Prepare.

        processes: the test's processes; more may follow. A wait fails once one of them has failed.
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
        """Return a list to which all later messages on a topic are appended."""
        messages: list = []

        def take(message: object) -> None:
            messages.append(message)
            self._heard += 1

        self.node.create_subscription(kind, topic, take, qos)
        return messages

    def listen_to_all(self, kind: type, topic: str) -> list:
        """Listen to a topic from a node with the parameters from `keeping`."""
        return self.listen(kind, topic, QoSProfile(depth=_ALL))

    def advertise(self, kind: type, topic: str):
        """Return a publisher with at least one subscription."""
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
        """Wait for `count` more messages in a list, and return them."""
        before = len(messages)
        self.wait(lambda: len(messages) >= before + count, f'{count} more messages')
        return messages[before : before + count]

    def wait_for_standstill(self, states: list, clock: list) -> int:
        """Wait until /clock and all earlier states have stopped; return the time."""
        begun = len(clock)

        def stands() -> bool:
            times = {nanoseconds(tick.clock) for tick in clock[-3:]}
            return len(clock) >= begun + 3 and times == {nanoseconds(states[-1].header.stamp)}

        self.wait(stands, 'a clock that stands still')
        return nanoseconds(clock[-1].clock)

    def drain(self) -> None:
        """Take all messages that have arrived."""
        before = -1
        while before < self._heard:
            before = self._heard
            # one spin takes one message, from any of the entities
            for _ in range(50):
                self._executor.spin_once(timeout_sec=0.0)

    def call(self, kind: type, service: str, request: object) -> object:
        """Call a service, and return its response."""
        client = self.client(kind, service)
        future = client.call_async(request)
        self.wait(future.done, f'a response of {service}')
        self.node.destroy_client(client)
        return future.result()

    def client(self, kind: type, service: str) -> Client:
        """Return a client for a node's service, for calls without waiting for the response."""
        client = self.node.create_client(kind, service)
        self.wait(client.service_is_ready, f'service {service}')
        self.meet(service.rpartition('/')[0])
        return client

    def action_client(self, kind: type, action: str, node: str) -> ActionClient:
        """Return a client for a node's action."""
        client = ActionClient(self.node, kind, action)
        self.wait(client.server_is_ready, f'action {action}')
        self.meet(node)
        return client

    def meet(self, node: str) -> None:
        """
        Wait until a node has discovered all entities made here.

        Messages sent by a node before it has discovered a client or a subscription are lost, and
        these cannot notice. Later entities are discovered later, so a new client calls the node
        until it responds.
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
        """Return a node's services with their types, as far as they are discovered."""
        if (name, namespace) not in self.node.get_node_names_and_namespaces():
            return {}
        return dict(self.node.get_service_names_and_types_by_node(name, namespace))

    def set_parameter(self, node: str, name: str, value: object) -> object:
        """Set a node's parameter; return the result with its fields successful and reason."""
        message = ParameterMessage(
            name=name, value=Parameter(name, value=value).get_parameter_value()
        )
        response = self.call(
            SetParameters, f'{node}/set_parameters', SetParameters.Request(parameters=[message])
        )
        return response.results[0]

    def describe_parameters(self, node: str) -> dict[str, object]:
        """Return the descriptors of a node's parameters, by name."""
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
    """End a process by a signal; return its exit code and all its output."""
    process.send_signal(number)
    output, _ = process.communicate(timeout=PATIENCE_S)
    return process.returncode, output
