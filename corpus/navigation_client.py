"""
Client as Nav2: drives by velocity, and listens to odometry, transforms and scans.

    python -m corpus.navigation_client REQUEST

REQUEST is a JSON object by `clients.request`; the results are one JSON object on stdout.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import LaserScan, PointCloud2
from tf2_msgs.msg import TFMessage

from corpus.joined import AbsentError, Joined

# m/s, m
_SPEED, _DISTANCE = 0.2, 0.5
_KINDS: dict[str, Any] = {
    'geometry_msgs/msg/TwistStamped': TwistStamped,
    'geometry_msgs/msg/Twist': Twist,
}


def main(request: dict[str, Any]) -> dict[str, str]:
    """Drive each drive; return results by name, also for tf, scans and clouds."""
    results = {}
    with Joined('navigation_client', request['patience']) as graph:
        transforms = graph.latest(TFMessage, '/tf', 1000)
        for one in request['drives']:
            try:
                results[one['name']] = _drive(graph, one, transforms)
            except AbsentError as err:
                results[one['name']] = str(err)
        for kind, listen in (('scans', _scan), ('clouds', _cloud)):
            for topic in request[kind]:
                try:
                    results[topic] = listen(graph, topic)
                except AbsentError as err:
                    results[topic] = str(err)
    return results


def _drive(graph: Joined, one: dict[str, Any], transforms: list[TFMessage]) -> str:
    """Drive straight until the odometry has the distance; compare the transform with it."""
    odometry = graph.latest(Odometry, one['odometry'])
    publisher = _publisher(graph, one['command'])
    message = publisher.msg_type()
    twist = message.twist if isinstance(message, TwistStamped) else message
    twist.linear.x = min(_SPEED, one['speed'])

    def drive() -> None:
        if isinstance(message, TwistStamped) and odometry:
            message.header.stamp = odometry[-1].header.stamp
        publisher.publish(message)

    graph.wait(lambda: odometry, f'odometry on {one["odometry"]}', drive)
    start = odometry[-1]
    graph.wait(lambda: _distance(start, odometry[-1]) > _DISTANCE, 'motion by cmd_vel', drive)
    twist.linear.x = 0.0
    drive()
    told = 'drives'
    if one['tf']:
        last = odometry[-1]
        odom = last.header.frame_id
        # a link below the root has a parent already
        ends = {(odom, last.child_frame_id), (odom, one['root'])}
        graph.wait(lambda: _has(transforms, ends), f'transform {odom} → {last.child_frame_id}')
        told += ', tf'
    return told


def _publisher(graph: Joined, topic: str) -> Any:
    """Return a publisher with the type of the topic's subscription."""

    def kind() -> Any:
        types = dict(graph.node.get_topic_names_and_types()).get(topic, ())
        return next((_KINDS[each] for each in types if each in _KINDS), None)

    publisher = graph.node.create_publisher(
        graph.wait(kind, f'subscription on {topic}'), topic, 10
    )
    graph.wait(publisher.get_subscription_count, f'subscription on {topic}')
    return publisher


def _distance(start: Odometry, end: Odometry) -> float:
    """Return the distance between two positions [m]."""
    first, last = start.pose.pose.position, end.pose.pose.position
    return math.hypot(last.x - first.x, last.y - first.y)


def _has(transforms: list[TFMessage], ends: set[tuple[str, str]]) -> bool:
    return any(
        (each.header.frame_id, each.child_frame_id) in ends
        for message in transforms
        for each in message.transforms
    )


def _scan(graph: Joined, topic: str) -> str:
    """Wait for a scan with as many ranges as its angles say."""
    scans = graph.latest(LaserScan, topic, qos_profile_sensor_data)
    graph.wait(lambda: scans, f'scan on {topic}')
    scan = scans[-1]
    count = 1
    if scan.angle_increment:
        count += round((scan.angle_max - scan.angle_min) / scan.angle_increment)
    return 'scans' if len(scan.ranges) == count else f'{len(scan.ranges)} ranges of {count}'


def _cloud(graph: Joined, topic: str) -> str:
    """Wait for a cloud with points."""
    clouds = graph.latest(PointCloud2, topic, qos_profile_sensor_data)
    graph.wait(lambda: clouds, f'cloud on {topic}')
    return 'clouds' if clouds[-1].data else 'no points'


if __name__ == '__main__':
    print(json.dumps(main(json.loads(sys.argv[1]))))
