"""The file metadata.yaml of a rosbag2 bag, which describes the bag's storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import json
import os
from pathlib import Path
import textwrap

from rclpy.duration import Duration
from rclpy.qos import LivelinessPolicy, QoSProfile

FILE_NAME = 'metadata.yaml'

# The last version that ROS 2 Humble reads, and all later ones do.
_VERSION = 8

_INFINITE_NS = 2**63 - 1


@dataclass
class Topic:
    """A topic in a bag. qos: the offered profiles in YAML (see `qos_to_yaml`)."""

    name: str
    type_name: str
    type_hash: str
    qos: str


def to_yaml(
    storage: str, topics: Sequence[Topic], counts: Sequence[int], first_ns: int, last_ns: int
) -> str:
    """
    Return the metadata of a bag, as rosbag2 expects it.

    storage: name of the only file. counts: number of messages of each topic. first_ns, last_ns:
    times of the first and the last message [ns].
    """
    # written by hand, since PyYAML takes 10 ms for it and it is written again and again; JSON
    # texts are YAML
    span = [
        f'starting_time: {{nanoseconds_since_epoch: {first_ns}}}',
        f'duration: {{nanoseconds: {last_ns - first_ns}}}',
        f'message_count: {sum(counts)}']
    lines = [
        f'version: {_VERSION}',
        'storage_identifier: mcap',
        'relative_file_paths:',
        f'  - {json.dumps(storage)}',
        *span,
        f'topics_with_message_count:{"" if topics else " []"}',
    ]
    for topic, count in zip(topics, counts, strict=True):
        lines += [
            '  - topic_metadata:',
            f'      name: {topic.name}',
            f'      type: {topic.type_name}',
            '      serialization_format: cdr',
            f'      offered_qos_profiles: {json.dumps(topic.qos)}',
            f'      type_description_hash: "{topic.type_hash}"',
            f'    message_count: {count}']
    lines += [
        'compression_format: ""',
        'compression_mode: ""',
        'files:',
        f'  - path: {json.dumps(storage)}',
        *(f'    {line}' for line in span),
        'custom_data: ~',
        f'ros_distro: "{os.environ.get("ROS_DISTRO", "")}"']
    return '\n'.join(lines) + '\n'


def write(folder: Path, text: str) -> None:
    """Write the metadata file atomically, so that it is always complete; raises OSError."""
    new = folder / f'{FILE_NAME}.new'
    content = textwrap.indent(text, '  ')
    try:
        new.write_text(f'rosbag2_bagfile_information:\n{content}', encoding='utf-8')
        new.replace(folder / FILE_NAME)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def qos_to_yaml(qos: QoSProfile) -> str:
    """Return an offered QoS profile in the format before version 9, which every rosbag2 reads."""
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
    # an unset duration means infinite
    seconds, rest = divmod(duration.nanoseconds or _INFINITE_NS, 1_000_000_000)
    return [f'{name}:', f'  sec: {seconds}', f'  nsec: {rest}']
