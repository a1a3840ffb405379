"""`sim_bridge qos`: overrides for all topics of a running simulator, and the recorder."""

from __future__ import annotations

import json
import os

import pytest
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    LivelinessPolicy,
    QoSProfile,
    ReliabilityPolicy,
)
from ros_graph import PATIENCE_S
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu
from std_msgs.msg import String
import yaml

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

POLICIES = {
    'history',
    'depth',
    'reliability',
    'durability',
    'deadline',
    'lifespan',
    'liveliness',
    'liveliness_lease_duration',
    'avoid_ros_namespace_conventions',
}

# prints its arguments, and the content of the override file
ROS2 = """#!/usr/bin/env python3
import json, sys, yaml
words = sys.argv[1:]
print(json.dumps([words, sorted(yaml.safe_load(open(words[words.index('-a') + 4])))]))
"""


def test_every_topic_gets_a_profile_that_fits(graph, start_node, start_process, tmp_path):
    """Subscribe with the profiles: to /clock, to latched and to best-effort topics."""
    node = start_node('-r', '__ns:=/left', robot='arm', sensor_qos='sensor_data')
    file = tmp_path / 'qos.yaml'
    process = start_process('-m', 'sim_bridge', 'qos', '-o', file, '--namespace', 'left')
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, output) == (0, '')
    profiles = yaml.safe_load(file.read_text())
    assert all(set(each) == POLICIES for each in profiles.values())
    assert {each['depth'] for each in profiles.values()} == {2000}
    graph.wait(
        lambda: ('sim_bridge', '/left') in graph.node.get_node_names_and_namespaces(), 'the node'
    )
    topics = graph.node.get_publisher_names_and_types_by_node('sim_bridge', '/left')
    assert {topic for topic, _ in topics} <= set(profiles)
    for kind, topic, reliability, durability in (
        (Clock, '/clock', 'reliable', 'volatile'),
        (Imu, '/left/imu/imu', 'best_effort', 'volatile'),
        (String, '/left/robot_description', 'reliable', 'transient_local'),
    ):
        given = profiles[topic]
        assert (given['reliability'], given['durability']) == (reliability, durability)
        heard = graph.listen(
            kind,
            topic,
            QoSProfile(
                depth=given['depth'],
                history=HistoryPolicy.get_from_short_key(given['history']),
                reliability=ReliabilityPolicy.get_from_short_key(given['reliability']),
                durability=DurabilityPolicy.get_from_short_key(given['durability']),
                liveliness=LivelinessPolicy.get_from_short_key(given['liveliness']),
            ),
        )
        graph.wait_for_next(heard)
    assert node.poll() is None


def test_it_becomes_the_recorder(graph, start_node, start_process, tmp_path):
    """Run `ros2 bag record` for all topics with the overrides; refuse an existing bag."""
    command = tmp_path / 'ros2'
    command.write_text(ROS2)
    command.chmod(0o755)
    environment = {**os.environ, 'PATH': f'{tmp_path}{os.pathsep}{os.environ["PATH"]}'}
    arguments = ['-m', 'sim_bridge', 'qos', '--record']
    refused = start_process(*arguments, tmp_path, env=environment)
    output, _ = refused.communicate(timeout=PATIENCE_S)
    assert refused.returncode == 2
    assert 'a folder that does not exist yet' in output
    start_process.started.remove(refused)
    start_node(robot='pendulum')
    process = start_process(
        *arguments, tmp_path / 'bag', '--', '--storage', 'mcap', env=environment
    )
    output, _ = process.communicate(timeout=PATIENCE_S)
    words, topics = json.loads(output)
    assert words[:5] == ['bag', 'record', '-a', '-o', str(tmp_path / 'bag')]
    assert words[-2:] == ['--storage', 'mcap']
    assert {'/clock', '/joint_states', '/diagnostics'} <= set(topics)
