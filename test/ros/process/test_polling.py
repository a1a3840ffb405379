"""Subscriptions not served by any executor."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.experimental import EventsExecutor
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from ros_graph import PATIENCE_S
from std_msgs.msg import Int32

from sim_bridge.ros.process.polling import PollingNode

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

QOS = QoSProfile(depth=5)

# later than any time.monotonic_ns()
NEVER = 1 << 63


@pytest.fixture
def spinning(ros_environment):
    """
    Provide a function creating a polling node and a function spinning it once.

    It takes the executor kind and arguments after --ros-args.
    """

    @contextmanager
    def make(kind, *arguments):
        context = Context()
        rclpy.init(
            context=context,
            args=['--ros-args', *arguments],
            signal_handler_options=SignalHandlerOptions.NO,
        )
        node, executor = PollingNode('polling', context=context), kind(context=context)
        executor.add_node(node)
        yield node, lambda: executor.spin_once(timeout_sec=0.01)
        executor.shutdown()
        node.destroy_node()
        context.try_shutdown()

    return make


def publisher_of(node, served: list, spin):
    """Return a function publishing numbers, each after the arrival of the previous one."""
    publisher = node.create_publisher(Int32, 'numbers', QOS)

    def publish(*numbers: int) -> None:
        for number in numbers:
            expected = len(served) + 1
            publisher.publish(Int32(data=number))
            for _ in range(round(PATIENCE_S / 0.01)):
                if len(served) == expected:
                    break
                spin()
            assert len(served) == expected

    return publish


@pytest.mark.parametrize('kind', [EventsExecutor, SingleThreadedExecutor])
def test_messages_wait_until_they_are_polled(spinning, kind):
    """Do not wake the executor; take at most the queue depth, in order."""
    with spinning(kind) as (node, spin):
        polled, served = [], []
        poll = node.create_poll(
            Int32,
            'numbers',
            lambda data: polled.append(deserialize_message(data, Int32).data),
            QOS,
        )
        node.create_subscription(Int32, 'numbers', lambda message: served.append(message), QOS)
        publish = publisher_of(node, served, spin)
        publish(1, 2, 3)
        assert polled == []
        poll(NEVER)
        assert polled == [1, 2, 3]
        poll(NEVER)
        assert polled == [1, 2, 3]
        publish(*range(4, 14))
        poll(NEVER)
        assert polled == [1, 2, 3, *range(9, 14)]


def test_a_few_messages_are_taken_in_any_time(spinning):
    """Leave the others for later, so a flood delays nothing."""
    with spinning(EventsExecutor) as (node, spin):
        polled, served = [], []
        poll = node.create_poll(Int32, 'numbers', polled.append, QoSProfile(depth=20))
        node.create_subscription(Int32, 'numbers', served.append, QOS)
        publisher_of(node, served, spin)(*range(8))
        for count in (3, 6, 8, 8):
            poll(0)
            assert len(polled) == count


def test_polled_subscriptions_are_listed_apart_and_destroyed_like_others(spinning):
    """Show executors only the subscriptions they serve."""
    with spinning(EventsExecutor) as (node, _):
        before = list(node.subscriptions)
        node.create_poll(Int32, 'numbers', lambda data: None, QOS)
        (polled,) = node.polled_subscriptions
        assert list(node.subscriptions) == before
        assert node.count_subscribers('numbers') == 1
        assert node.destroy_subscription(polled)
        assert list(node.polled_subscriptions) == []
        assert list(node.subscriptions) == before


@pytest.mark.filterwarnings('ignore:A zero depth')
@pytest.mark.parametrize('depth', [0, 2, 9])
def test_the_user_overrides_the_qualities_of_service_of_one_topic(spinning, depth):
    """Take all messages kept with that depth, and change no other topic."""
    given = '-p', f'qos_overrides./numbers.subscription.depth:={depth}'
    with spinning(EventsExecutor, *given) as (node, spin):
        polled, served = [], []
        poll = node.create_poll(Int32, 'numbers', polled.append, QOS)
        node.create_poll(Int32, 'others', polled.append, QOS)
        depths = [
            node.get_parameter(f'qos_overrides./{topic}.subscription.depth').value
            for topic in ('numbers', 'others')
        ]
        assert depths == [depth, 5]
        node.create_subscription(Int32, 'numbers', served.append, 20)
        publisher_of(node, served, spin)(*range(12))
        poll(NEVER)
        assert len(polled) == (depth or 1)
