"""A node of the test's own, to listen, command and call, and to wait for what is to happen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import signal
import subprocess
import time

from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import DescribeParameters, GetParameterTypes, ListParameters, SetParameters
import rclpy
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


class Graph:
    """Use it as a context, in a test that has `ros_environment`."""

    def __init__(self, processes: Sequence[subprocess.Popen] = ()) -> None:
        """
        Prepare.

        processes: of the test; there may be more later. Nothing is waited for in vain once one of
        them has failed.
        """
        self._processes = processes

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
        self.node.create_subscription(kind, topic, messages.append, qos)
        return messages

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
                f'waited {PATIENCE_S:g} s in vain for {what}; exit codes of processes: {codes}')
            failed = [
                process for process, code in zip(self._processes, codes, strict=True)
                if (code or 0) > 0]
            assert not failed, f'waiting for {what}: {failed[0].communicate()[0]}'
            also()
            self._executor.spin_once(timeout_sec=0.02)

    def wait_for_next(self, messages: list, count: int = 1) -> list:
        """Wait for so many more messages in a list, and give these."""
        before = len(messages)
        self.wait(lambda: len(messages) >= before + count, f'{count} more messages')
        return messages[before : before + count]

    def drain(self) -> None:
        """Take in what has arrived."""
        for _ in range(1000):
            self._executor.spin_once(timeout_sec=0.0)

    def call(self, kind: type, service: str, request: object) -> object:
        """Call a service, and give its response."""
        client = self.client(kind, service)
        future = client.call_async(request)
        self.wait(future.done, f'a response of {service}')
        self.node.destroy_client(client)
        return future.result()

    def client(self, kind: type, service: str) -> Client:
        """
        Return a client of a node's service, for whoever must not wait for the response.

        A request to a node that has not discovered the client yet is lost, and the client cannot
        tell. What is made later is discovered later: so it is asked for something until it
        responds.
        """
        client = self.node.create_client(kind, service)
        self.wait(client.service_is_ready, f'service {service}')
        node = service.rpartition('/')[0]
        probe = self.node.create_client(GetParameterTypes, f'{node}/get_parameter_types')
        self.wait(probe.service_is_ready, f'the parameters of {node}')
        asked: list = []

        def ask() -> None:
            if not asked or time.monotonic() - asked[-1][0] > 0.5:
                asked.append((time.monotonic(), probe.call_async(GetParameterTypes.Request())))

        self.wait(lambda: any(future.done() for _, future in asked), f'{node}', ask)
        self.node.destroy_client(probe)
        return client

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
