"""Tables shown in notebooks for worlds, robots, links, sensors, bags and viewers."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.foundation.html import table
from sim_bridge.ros.bag.metadata import StoredFile, to_yaml, Topic, write
from sim_bridge.ros.bag.reader import Bag
from sim_bridge.view.notebook import framed

EVIL = '<script>alert("1")</script>&'


class Reader(HTMLParser):
    """Parser for the rows of a table; other elements are errors."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.tags, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert not self.tags

    def handle_starttag(self, tag, attributes):
        assert tag in ('div', 'b', 'table', 'tr', 'td', 'th')
        self.tags.append(tag)
        if tag == 'tr':
            self.rows.append([])

    def handle_endtag(self, tag):
        assert self.tags.pop() == tag

    def handle_data(self, data):
        (self.rows[-1] if self.tags[-1] in ('td', 'th') else self.texts).append(data)


def shown(value):
    """Return an object's table title and rows."""
    reader = Reader(value._repr_html_())
    return ''.join(reader.texts), reader.rows


@pytest.fixture(scope='module')
def world():
    """Return a world with an arm, and an object with a hostile name."""
    world = sb.World()
    world.load_urdf('arm')
    world.add_body(sb.Sphere(0.1), EVIL, mass=1.0, position=(0.0, 2.0, 0.5))
    world.step(3)
    return world


def test_world_and_robot(world):
    """Show a row for each robot and joint, with its current values."""
    title, rows = shown(world)
    assert title.startswith('World at 0.003 s (step 3): 2 robots')
    assert [row[0] for row in rows] == ['name', 'arm', EVIL]
    assert rows[2][1:] == ['dynamic', '0', '1', '0, 2, 0.5']
    arm = world.robots['arm']
    title, rows = shown(arm)
    assert 'Robot' in title
    assert [row[0] for row in rows[1:]] == arm.joint_names
    assert float(rows[2][1]) == pytest.approx(arm.q[1], rel=1e-3)


def test_link_and_sensor(world):
    """Show motion and samples, nan before the first."""
    title, rows = shown(world.robots[EVIL].root_link)
    assert EVIL in title
    assert dict(rows)['mass m [kg]'] == '1'
    title, rows = shown(world.robots['arm'].device('wrist_ft'))
    assert "'wrist_ft'" in title
    assert [row[0] for row in rows] == ['quantity', 'force', 'torque']
    assert len(rows[1][1].split(', ')) == 3


def test_removed_objects_have_a_title():
    """Raise nothing for removed objects."""
    world = sb.World()
    robot = world.add_body(sb.Sphere(0.1), 'ball', mass=1.0)
    link = robot.root_link
    world.remove(robot)
    for value in (robot, link):
        title, rows = shown(value)
        assert 'removed' in title
        assert not rows


def test_tables_are_bounded():
    """Leave out rows and items, say how many, and shorten texts."""
    rows = Reader(table('t', ('a',), [[np.arange(100.0)]] * 50 + [['x' * 10_000]])).rows
    assert len(rows) == 1 + 40 + 1
    assert rows[1] == ['0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 …']
    assert rows[-1] == ['… and 11 more']
    assert Reader(table('t', (), [[np.inf, -0.0, None, 'x' * 10_000]])).rows[0][:3] == [
        '∞',
        '0',
        'None',
    ]
    assert len(table('x' * 10_000, (), [['x' * 10_000]])) < 2000


def test_bag(tmp_path):
    """Show the topics listed in metadata.yaml; without it, only the files."""
    (tmp_path / 'bag_0.mcap').touch()
    topics = [
        Topic('/joint_states', 'sensor_msgs/msg/JointState', '', ''),
        Topic(EVIL, 'T', '', ''),
    ]
    write(tmp_path, to_yaml(topics, [7, 2], [StoredFile('bag_0.mcap', 0, 1, 9)]))
    title, rows = shown(Bag(tmp_path))
    assert title.endswith(': 1 file, 2 topics')
    assert rows[1:] == [['/joint_states', 'sensor_msgs/msg/JointState', '7'], [EVIL, 'T', '2']]
    title, rows = shown(Bag(tmp_path / 'bag_0.mcap'))
    assert title.endswith(': 1 file')


def test_page_in_a_notebook():
    """Frame a local page with few rights; the address cannot escape its attributes."""
    text = framed('http://127.0.0.1:8080/?token=abc')
    assert 'sandbox="allow-scripts allow-same-origin allow-downloads"' in text
    assert 'href="http://127.0.0.1:8080/?token=abc"' in text
    assert 'new URL("http://127.0.0.1:8080/?token=abc")' in text
    evil = framed('http://x/"></script><script>alert(1)')
    assert evil.count('<script>') == evil.count('</script>') == 1
