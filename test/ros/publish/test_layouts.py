"""Foxglove, RViz and PlotJuggler layouts (config/layouts) show published topics."""

from __future__ import annotations

from collections.abc import Iterator
import dataclasses
import json
from pathlib import Path
import re
from types import SimpleNamespace
from typing import Any, NamedTuple
import xml.etree.ElementTree as ElementTree

from bags import no_progress, start_recording
import numpy as np
import pytest
from rosbags.rosbag2 import Reader
from rosbags.typesys import get_types_from_msg, get_typestore, Stores
import yaml

from sim_bridge.ros.process.statistics import TickStatistics
from sim_bridge.ros.session.diagnostics import Diagnostics

# some environments have a message generator whose imports are deprecated in Python 3.11
pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

# message types for RViz displays
SHOWN = {
    'MarkerArray': 'visualization_msgs/msg/MarkerArray',
    'Odometry': 'nav_msgs/msg/Odometry',
    'RobotModel': 'std_msgs/msg/String',
    'Wrench': 'geometry_msgs/msg/WrenchStamped',
}
DIAGNOSTICS = '/diagnostics'


class Published(NamedTuple):
    """Messages published by a robot's node. types, latched, last: by topic."""

    types: dict[str, str]
    latched: dict[str, bool]
    last: dict[str, Any]
    frames: set[str]


@pytest.fixture(scope='module', params=['arm', 'quadruped'])
def robot(request):
    """Return the name of a robot with layouts."""
    return request.param


@pytest.fixture(scope='module')
def published(robot, tmp_path_factory) -> Published:
    """Record a short run, and read it with `rosbags`, an independent reader."""
    bag = tmp_path_factory.mktemp('bag') / robot
    start_recording(bag, robot=robot, publish_tf=True, publish_link_tf=True).run(0.04, no_progress)
    store = get_typestore(Stores.ROS2_JAZZY)
    types, latched, last, frames = {}, {}, {}, set()
    with Reader(bag) as reader:
        for connection in reader.connections:
            (qos,) = connection.ext.offered_qos_profiles
            types[connection.topic] = connection.msgtype
            if connection.msgtype not in store.fielddefs:
                store.register(get_types_from_msg(connection.msgdef.data, connection.msgtype))
            latched[connection.topic] = 'TRANSIENT_LOCAL' in str(qos.durability)
        for connection, _, data in reader.messages():
            message = store.deserialize_cdr(data, connection.msgtype)
            last[connection.topic] = message
            if connection.topic.startswith('/tf'):
                for each in message.transforms:
                    frames |= {each.header.frame_id, each.child_frame_id}
    return Published(types, latched, last, frames)


def layout(repository: Path, robot: str, suffix: str) -> str:
    """Return the text in a layout."""
    return (repository / 'config' / 'layouts' / f'{robot}.{suffix}').read_text()


def numbers(message: Any, path: str) -> Iterator[str]:
    """Yield PlotJuggler's names for the numbers in a message."""
    for field in dataclasses.fields(message):
        value, here = getattr(message, field.name), f'{path}/{field.name}'
        if dataclasses.is_dataclass(value):
            yield from numbers(value, here)
        elif isinstance(value, (int, float)):
            yield here


def value_at(message: Any, path: str) -> Any:
    """Return the value at a Foxglove path, without its topic: .effort[3]."""
    for name, index in re.findall(r'\.(\w+)(?:\[(\d+)\])?', path):
        message = getattr(message, name)
        if index:
            message = message[int(index)]
    return message


def test_foxglove_shows_published_topics(repository, robot, published):
    """Plot existing numbers, joint values under joint names; place every panel once."""
    content = json.loads(layout(repository, robot, 'foxglove.json'))
    panels = content['configById']

    def placed(part: Any) -> list[str]:
        return [part] if isinstance(part, str) else placed(part['first']) + placed(part['second'])

    assert sorted(placed(content['layout'])) == sorted(panels)
    plots = [panel for name, panel in panels.items() if name.startswith('Plot!')]
    assert len(plots) > 3
    for plot in plots:
        for path in plot['paths']:
            topic, field = re.fullmatch(r'([\w/]+)(\..*)', path['value']).groups()
            value = value_at(published.last[topic], field)
            assert isinstance(value, (float, np.floating)), path
            index = re.search(r'\[(\d+)\]', field)
            if index:
                assert published.last[topic].name[int(index[1])] == path['label']
    scene = panels['3D!robot']
    assert all(published.types[topic] == SHOWN['MarkerArray'] for topic in scene['topics'])
    assert scene['followTf'] in published.frames
    assert scene['layers']['grid']['frameId'] in published.frames
    assert published.types[scene['layers']['robot']['topic']] == SHOWN['RobotModel']
    assert panels['DiagnosticSummary!node']['topicToRender'] == DIAGNOSTICS


def test_rviz_shows_published_topics(repository, robot, published):
    """Give each display a topic with its type, the topic's durability, and existing frames."""
    manager = yaml.safe_load(layout(repository, robot, 'rviz'))['Visualization Manager']
    shown = 0
    for display in manager['Displays']:
        kind = display['Class'].removeprefix('rviz_default_plugins/')
        if kind in SHOWN:
            qos = display['Description Topic' if kind == 'RobotModel' else 'Topic']
            topic = f'/{qos["Value"]}'
            assert published.types[topic] == SHOWN[kind], display['Name']
            assert (qos['Durability Policy'] == 'Transient Local') == published.latched[topic]
            shown += 1
    assert shown > 2
    assert manager['Global Options']['Fixed Frame'] in published.frames
    assert manager['Views']['Current']['Target Frame'] in published.frames


def test_plotjuggler_shows_published_topics(repository, robot, published):
    """Plot curves with PlotJuggler's names for published numbers."""
    node = SimpleNamespace(faults=None, get_fully_qualified_name=lambda: '/sim_bridge')
    pacer = SimpleNamespace(
        statistics=TickStatistics(1_000_000), real_time_factor=1.0, error=None, is_paused=False
    )
    diagnostics = Diagnostics(node, pacer, SimpleNamespace(time_ns=1), 0.0)
    pacer.statistics.record(1000, 1000)
    status = diagnostics._pacing()
    names = {
        f'{DIAGNOSTICS}/{status.hardware_id}/{status.name}/{pair.key}' for pair in status.values
    }
    for topic, message in published.last.items():
        if published.types[topic] == 'sensor_msgs/msg/JointState':
            names |= {
                f'{topic}/{joint}/{field}'
                for joint in message.name
                for field in ('position', 'velocity', 'effort')
            }
        names |= set(numbers(message, topic))
    root = ElementTree.fromstring(layout(repository, robot, 'plotjuggler.xml').encode())
    curves = [curve.get('name') for curve in root.iter('curve')]
    assert len(curves) > 10
    assert not [curve for curve in curves if curve not in names]
    for splitter in root.iter('DockSplitter'):
        sizes = splitter.get('sizes').split(';')
        assert len(splitter) == len(sizes) == int(splitter.get('count'))
