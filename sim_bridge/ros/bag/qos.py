"""Qualities of service as bags hold them: the YAML of rosbag2's versions before 9, read by all."""

from __future__ import annotations

from rclpy.duration import Duration
from rclpy.qos import LivelinessPolicy, QoSProfile

_INFINITE_NS = 2**63 - 1


def to_yaml(qos: QoSProfile) -> str:
    """Return the text for one offered profile."""
    lines = [
        f'history: {int(qos.history)}',
        f'depth: {qos.depth}',
        f'reliability: {int(qos.reliability)}',
        f'durability: {int(qos.durability)}',
        *_duration('deadline', qos.deadline),
        *_duration('lifespan', qos.lifespan),
        # what a graph makes of the default
        f'liveliness: {int(qos.liveliness) or int(LivelinessPolicy.AUTOMATIC)}',
        *_duration('liveliness_lease_duration', qos.liveliness_lease_duration),
        f'avoid_ros_namespace_conventions: {str(qos.avoid_ros_namespace_conventions).lower()}',
    ]
    return '- ' + '\n  '.join(lines)


def _duration(name: str, duration: Duration) -> list[str]:
    # none given means for ever
    seconds, rest = divmod(duration.nanoseconds or _INFINITE_NS, 1_000_000_000)
    return [f'{name}:', f'  sec: {seconds}', f'  nsec: {rest}']
