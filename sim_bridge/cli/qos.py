"""`sim_bridge qos`: QoS settings for rosbag2 to record a running simulator without loss."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
import shutil
import signal
import sys
import tempfile
import time
from typing import Any, NoReturn

import yaml

from sim_bridge.cli import completers
from sim_bridge.cli.completers import completed
from sim_bridge.cli.environment import require_ros, set_prefix
from sim_bridge.cli.help import HelpFormatter
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.ros.process.discovery import discovery_defaults

# Two seconds of messages at 1 kHz. The recorder's default of 10 messages is 10 ms, and it stalls
# longer than that on busy processors.
DEPTH = 2000

# time without new topics until the graph counts as known, and polling period [s]
_SETTLED_S, _PERIOD_S = 1.0, 0.1
PATIENCE_S = 300.0

_EPILOG = """\
for example:
  sim_bridge qos -o qos.yaml
  ros2 bag record -a --qos-profile-overrides-path qos.yaml
  sim_bridge qos --record run -- --storage-preset-profile fastwrite
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this verb to the command line."""
    parser = subparsers.add_parser(
        'qos',
        help='write QoS overrides for `ros2 bag record`, or start it with them',
        description='Wait for a simulator, and write QoS overrides for all topics of the graph. '
        'With them `ros2 bag record` loses no messages on a busy processor.',
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    completed(
        parser.add_argument(
            '-o', '--output', metavar='FILE', help='file to write; default: print it'
        ),
        completers.files,
    )
    completed(
        parser.add_argument(
            '--record',
            metavar='BAG',
            help='become `ros2 bag record -a -o BAG` with them; arguments after -- are passed on',
        ),
        completers.folders,
    )
    parser.add_argument(
        '--namespace', default='', metavar='NAME', help='namespace of the simulator to wait for'
    )
    parser.set_defaults(run=run, forwards=True)


def run(args: argparse.Namespace) -> int:
    """
    Write the overrides; return the exit code, unless this process becomes the recorder.

    Raises MissingRosError, InvalidValueError, or StateError if no simulator appears.
    """
    require_ros('sim_bridge qos')
    set_prefix()
    os.environ.update(discovery_defaults(os.environ))
    recorder = shutil.which('ros2')
    if args.record and recorder is None:
        raise InvalidValueError('--record', args.record, 'the command ros2, with rosbag2, on PATH')
    if args.record and Path(args.record).exists():
        raise InvalidValueError('--record', args.record, 'a folder that does not exist yet')
    if recorder is None or not args.record:
        text = _overrides(args)
        if not args.output:
            sys.stdout.write(text)
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _become(recorder, args)
    except KeyboardInterrupt:
        # interrupted before the recorder starts: ends like an interrupted recorder
        return 0


def _become(recorder: str, args: argparse.Namespace) -> NoReturn:
    """Wait for the topics, then become `ros2 bag record`; recorder: path of `ros2`."""
    text = _overrides(args)
    os.execv(
        recorder,
        [
            recorder,
            'bag',
            'record',
            '-a',
            '-o',
            args.record,
            '--qos-profile-overrides-path',
            args.output or _temporary(text),
            *args.forwarded,
        ],
    )


def _overrides(args: argparse.Namespace) -> str:
    """Return the overrides as YAML; also write them to `args.output` if it is given."""
    text = yaml.safe_dump(overrides(args.namespace), sort_keys=True)
    if args.output:
        Path(args.output).write_text(text, encoding='utf-8')
    return text


def overrides(namespace: str) -> dict[str, dict[str, Any]]:
    """
    Return a QoS profile for every topic of the graph, in rosbag2's format.

    namespace: namespace of the simulator to wait for. Raises StateError if it does not appear.
    """
    import rclpy
    from rclpy.signals import SignalHandlerOptions

    from sim_bridge.ros.process import realtime

    # rclpy's signal handlers would shut the context down while the graph is inspected
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    with realtime.undisturbed():
        node = rclpy.create_node(
            'sim_bridge_qos', enable_rosout=False, start_parameter_services=False
        )
    try:
        _await_topics(node, '/' + namespace.strip('/'))
        return {
            topic: profile(infos)
            for topic, _ in node.get_topic_names_and_types()
            if (infos := node.get_publishers_info_by_topic(topic))
        }
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def profile(publishers: list[Any]) -> dict[str, Any]:
    """
    Return a subscription QoS profile compatible with all publishers of a topic.

    publishers: TopicEndpointInfo of each. The profile contains every policy, because the parameter
    file of rosbag2's component rejects an incomplete one; durations of 0 mean no limit.
    """
    from rclpy.qos import DurabilityPolicy, ReliabilityPolicy

    offered = [info.qos_profile for info in publishers]
    is_reliable = all(each.reliability == ReliabilityPolicy.RELIABLE for each in offered)
    is_latched = all(each.durability == DurabilityPolicy.TRANSIENT_LOCAL for each in offered)
    return {
        'history': 'keep_last',
        'depth': DEPTH,
        'reliability': 'reliable' if is_reliable else 'best_effort',
        'durability': 'transient_local' if is_latched else 'volatile',
        'deadline': {'sec': 0, 'nsec': 0},
        'lifespan': {'sec': 0, 'nsec': 0},
        'liveliness': 'automatic',
        'liveliness_lease_duration': {'sec': 0, 'nsec': 0},
        'avoid_ros_namespace_conventions': False,
    }


def _await_topics(node: Any, namespace: str) -> None:
    """Wait until a namespace's simulator is present and no topic has appeared for a while."""
    begun = changed = time.monotonic()
    known: set[str] = set()
    while time.monotonic() - changed < _SETTLED_S or not known:
        time.sleep(_PERIOD_S)
        services = {name for name, _ in node.get_service_names_and_types()}
        # the simulator creates its services after its topics
        is_there = any(
            info.node_namespace == namespace
            and f'{namespace.rstrip("/")}/{info.node_name}/reset' in services
            for info in node.get_publishers_info_by_topic('/clock')
        )
        now = {topic for topic, _ in node.get_topic_names_and_types()} if is_there else set()
        if now != known:
            known, changed = now, time.monotonic()
        if time.monotonic() - begun > PATIENCE_S:
            raise StateError(
                f'no simulator in namespace {namespace} publishes /clock within {PATIENCE_S:g} s'
            )


def _temporary(text: str) -> str:
    """Write a text to a new file; return its path. The recorder reads it."""
    handle, path = tempfile.mkstemp(prefix='sim_bridge_qos_', suffix='.yaml')
    with os.fdopen(handle, 'w', encoding='utf-8') as file:
        file.write(text)
    return path
