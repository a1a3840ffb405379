"""The recipe with OpenCV's detector in a second process: the arm turns to an AprilTag."""

from __future__ import annotations

from pathlib import Path
import re
import subprocess
import sys

import pytest
from ros_graph import end
from sensor_msgs.msg import JointState

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

DOCS = Path(__file__).parents[3] / 'docs'


def is_small(command):
    """Return whether a command is for a tag less than 2 mm from the middle, at 0.6 m."""
    return any(command.velocity) and max(map(abs, command.velocity)) < 0.6 * 0.003


def test_the_tag_comes_into_the_middle(graph, start_node, start_process, tmp_path):
    """Run the recipe's files until the detector sees the tag within 3 mm of the middle."""
    subprocess.run([sys.executable, str(DOCS / 'make_tag.py'), str(tmp_path)], check=True)
    page = (DOCS / 'howto' / 'servoing.md').read_text()
    parameters = tmp_path / 'servo.yaml'
    parameters.write_text(re.search(r'^```yaml\n(.*?)^```', page, re.MULTILINE | re.DOTALL)[1])
    start_node('--params-file', str(parameters), robot='arm', world=str(tmp_path / 'scene.yaml'))
    states = graph.listen(JointState, '/joint_states')
    commands = graph.listen(JointState, '/joint_commands')
    detector = start_process(str(DOCS / 'servo_to_tag.py'))
    graph.wait(lambda: any(any(each.velocity) for each in commands), 'a tag')
    first = max(abs(v) for each in commands for v in each.velocity)
    assert first > 0.1
    # the velocities are 0.6/s times the angles from the middle
    graph.wait(lambda: all(map(is_small, commands[-15:])), 'the tag in the middle')
    positions = dict(zip(states[-1].name, states[-1].position, strict=True))
    # the tag is 0.12 m to the left, 1.3 m ahead of the base
    assert positions['joint_1'] == pytest.approx(0.092, abs=0.01)
    _, said = end(detector)
    offsets = [tuple(map(int, each)) for each in re.findall(r'(-?\d+) mm right, (-?\d+) mm', said)]
    assert max(map(abs, offsets[-1])) <= 3
