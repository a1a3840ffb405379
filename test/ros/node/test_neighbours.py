"""Nodes in conflict with a simulator: it warns of each once."""

from __future__ import annotations

import pytest
from rcl_interfaces.msg import Log
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_graph import end
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from sim_bridge.ros.node.neighbours import Neighbours

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

# includes messages from before the listener's discovery
LATCHED_LOGS = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def test_two_simulators_in_a_domain_cause_a_warning(graph, start_node):
    """Warn about the name and about /clock, at the start and later; about each once."""
    log = graph.listen(Log, '/rosout', LATCHED_LOGS)
    first = start_node(robot='pendulum')
    states = graph.listen(JointState, '/joint_states')
    graph.wait_for_next(states)
    # another /clock publisher, which comes and goes until two warnings are seen

    def told(since: int) -> bool:
        return any('/clock is also published by /test:' in each.msg for each in log[since:])

    count = 0
    while count < 2:
        before, begun = len(log), len(states)
        publisher = graph.node.create_publisher(Clock, '/clock', 1)
        # longer than two queries of the graph
        graph.wait(
            lambda before=before, begun=begun: told(before) or len(states) > begun + 2500,
            'a warning, or time for it',
        )
        count += told(before)
        graph.node.destroy_publisher(publisher)
        graph.wait_for_next(states, 2500 if count < 2 else 0)
    second = start_node(robot='pendulum')
    graph.wait(
        lambda: sum('another node has the name /sim_bridge' in each.msg for each in log) >= 2,
        'both warnings',
    )
    graph.wait(
        lambda: sum('/clock is also published by /sim_bridge:' in each.msg for each in log) >= 2,
        'both',
    )
    outputs = [end(process)[1] for process in (first, second)]
    assert [output.count('another node has the name') for output in outputs] == [1, 1]


class Publisher:
    """A publisher on a topic, as described by the graph."""

    def __init__(self, node_name: str) -> None:
        self.node_name, self.node_namespace = node_name, '/'


class LonelyNode:
    """A node on a graph defined by the test."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.publishers = {'/clock': ['sim_bridge'], '/tf': ['sim_bridge']}
        self.warning = self.warnings.append

    def get_fully_qualified_name(self) -> str:
        """Return its name."""
        return '/sim_bridge'

    def get_node_names_and_namespaces(self) -> list[tuple[str, str]]:
        """Return itself."""
        return [('sim_bridge', '/')]

    def get_publishers_info_by_topic(self, topic: str) -> list[Publisher]:
        """Return the publishers on a topic."""
        return [Publisher(name) for name in self.publishers[topic]]

    def get_logger(self) -> LonelyNode:
        """Return the object with the method `warning`."""
        return self

    def create_timer(self, *given: object, **options: object) -> None:
        """Do nothing; the test calls the query."""


@pytest.mark.parametrize('publishes_links', [False, True])
def test_links_published_twice_cause_a_warning(publishes_links):
    """Warn if robot_state_publisher publishes the same links as publish_link_tf, and only then."""
    node = LonelyNode()
    neighbours = Neighbours(node, publishes_links)
    neighbours.look()
    assert not node.warnings
    node.publishers['/tf'].append('robot_state_publisher')
    neighbours.look()
    neighbours.look()
    assert len(node.warnings) == publishes_links
    assert all('/robot_state_publisher' in warning for warning in node.warnings)
