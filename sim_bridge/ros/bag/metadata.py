"""The file metadata.yaml in a rosbag2 bag, which describes the bag's storage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import json
import os
from pathlib import Path, PurePath
import textwrap
from typing import Any, NamedTuple

from rclpy.duration import Duration
from rclpy.qos import LivelinessPolicy, QoSProfile

from sim_bridge.foreign.yaml_text import load_yaml, YamlTextError
from sim_bridge.foundation.errors import brief, DamagedBagError, ReplayError

FILE_NAME = 'metadata.yaml'

# Jazzy's version; Humble reads up to 8, and any bag after `ros2 bag reindex`
_VERSION = 9

_INFINITE_NS = 2**63 - 1

# ten times the size for 10 000 files and 100 topics
_MOST_BYTES = 16 << 20


@dataclass
class Topic:
    """A topic in a bag. qos: offered profiles in YAML (see `qos_to_yaml`)."""

    name: str
    type_name: str
    type_hash: str
    qos: str


class StoredFile(NamedTuple):
    """A bag file: first and last message time [ns], message count."""

    name: str
    first_ns: int
    last_ns: int
    messages: int


class TopicCount(NamedTuple):
    """A topic listed in the metadata, with its message count."""

    name: str
    type_name: str
    messages: int


@dataclass(frozen=True)
class Metadata:
    """
    Metadata used by bag readers.

    storage: storage format, 'mcap'. compression_mode: rosbag2's own compression. files: file names
    in order. counts: message counts by file name, where known. topics: listed topics.
    duration_ns: from the first message to the last, 0 if unknown.
    """

    storage: str
    compression_mode: str
    files: list[str]
    counts: dict[str, int]
    topics: tuple[TopicCount, ...] = ()
    duration_ns: int = 0


def to_yaml(topics: Sequence[Topic], counts: Sequence[int], files: Sequence[StoredFile]) -> str:
    """
    Return a bag's metadata in rosbag2's format.

    counts: messages per topic. files: at least one.
    """
    # composed by hand, since PyYAML takes 10 ms and the file is written repeatedly; JSON strings
    # are valid YAML
    filled = [each for each in files if each.messages] or files[:1]
    first, last = min(each.first_ns for each in filled), max(each.last_ns for each in filled)
    lines = [
        f'version: {_VERSION}',
        'storage_identifier: mcap',
        'relative_file_paths:',
        *(f'  - {json.dumps(each.name)}' for each in files),
        *_span(StoredFile('', first, last, sum(counts))),
        f'topics_with_message_count:{"" if topics else " []"}',
    ]
    for topic, count in zip(topics, counts, strict=True):
        lines += [
            '  - topic_metadata:',
            f'      name: {topic.name}',
            f'      type: {topic.type_name}',
            '      serialization_format: cdr',
            f'      offered_qos_profiles:{"" if topic.qos else " []"}',
            *(f'        {line}' for line in topic.qos.splitlines()),
            f'      type_description_hash: "{topic.type_hash}"',
            f'    message_count: {count}',
        ]
    lines += ['compression_format: ""', 'compression_mode: ""', 'files:']
    for file in files:
        lines += [f'  - path: {json.dumps(file.name)}', *(f'    {line}' for line in _span(file))]
    lines += ['custom_data: ~', f'ros_distro: "{os.environ.get("ROS_DISTRO", "")}"']
    return '\n'.join(lines) + '\n'


def write(folder: Path, text: str) -> None:
    """Write the metadata file atomically, so it is always complete; raises OSError."""
    new = folder / f'{FILE_NAME}.new'
    content = textwrap.indent(text, '  ')
    try:
        new.write_text(f'rosbag2_bagfile_information:\n{content}', encoding='utf-8')
        new.replace(folder / FILE_NAME)
    except OSError:
        new.unlink(missing_ok=True)
        raise


def read_metadata(path: Path) -> Metadata:
    """
    Return the contents of a metadata file, whatever its version.

    Raises DamagedBagError if it is damaged, ReplayError if it cannot be read.
    """
    try:
        with path.open('rb') as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as err:
        raise ReplayError(f'bag {str(path)!r} cannot be read: {err.strerror}') from err

    def damaged(offset: int, problem: str) -> DamagedBagError:
        return DamagedBagError(
            path,
            offset,
            f'damaged at byte {offset}: {problem}',
            'the .mcap files beside it can be read; `ros2 bag reindex` recreates it',
        )

    if len(data) > _MOST_BYTES:
        raise damaged(_MOST_BYTES, f'more than {_MOST_BYTES} bytes')
    try:
        content = load_yaml(data.decode())['rosbag2_bagfile_information']
        paths = _of(list, content['relative_file_paths'])
        files = [PurePath(_of(str, path)).name for path in paths]
        listed = _of(list, content.get('files') or [])
        counts = {
            PurePath(_of(str, each['path'])).name: _of(int, each['message_count'])
            for each in listed
        }
        if not files or len(set(files)) < len(files):
            raise ValueError(f'relative_file_paths is {brief(files)}, expected different names')
        duration = _of(dict, content.get('duration') or {})
        return Metadata(
            _of(str, content['storage_identifier']),
            _of(str, content.get('compression_mode') or '').lower(),
            files,
            counts,
            tuple(
                TopicCount(
                    _of(str, each['topic_metadata']['name']),
                    _of(str, each['topic_metadata']['type']),
                    _of(int, each['message_count']),
                )
                for each in _of(list, content.get('topics_with_message_count') or [])
            ),
            _of(int, duration.get('nanoseconds', 0)),
        )
    except UnicodeDecodeError as err:
        raise damaged(err.start, err.reason) from err
    except YamlTextError as err:
        line = max(err.line - 1, 0)
        offset = sum(map(len, data.splitlines(keepends=True)[:line]))
        raise damaged(offset, str(err)) from err
    except (KeyError, TypeError, ValueError, AttributeError) as err:
        raise damaged(0, f'not in the format of rosbag2: {brief(err)}') from err


def qos_to_yaml(qos: QoSProfile) -> str:
    """Return an offered QoS profile in the format since version 9."""
    # the graph reports the default as automatic
    liveliness = qos.liveliness or LivelinessPolicy.AUTOMATIC
    lines = [
        f'history: {qos.history.short_key}',
        f'depth: {qos.depth}',
        f'reliability: {qos.reliability.short_key}',
        f'durability: {qos.durability.short_key}',
        *_duration('deadline', qos.deadline),
        *_duration('lifespan', qos.lifespan),
        f'liveliness: {liveliness.short_key}',
        *_duration('liveliness_lease_duration', qos.liveliness_lease_duration),
        f'avoid_ros_namespace_conventions: {str(qos.avoid_ros_namespace_conventions).lower()}',
    ]
    return '- ' + '\n  '.join(lines)


def _of(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(f'{brief(value)} where a {kind.__name__} is expected')
    return value


def _span(file: StoredFile) -> list[str]:
    return [
        f'starting_time: {{nanoseconds_since_epoch: {file.first_ns}}}',
        f'duration: {{nanoseconds: {file.last_ns - file.first_ns}}}',
        f'message_count: {file.messages}',
    ]


def _duration(name: str, duration: Duration) -> list[str]:
    # an unset duration means infinite
    seconds, rest = divmod(duration.nanoseconds or _INFINITE_NS, 1_000_000_000)
    return [f'{name}:', f'  sec: {seconds}', f'  nsec: {rest}']
