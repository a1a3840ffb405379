"""Times at which camera frames are sent: latency, requests, jumps back in time."""

from __future__ import annotations

import os

import numpy as np
import pytest
import rclpy
from robots import link, robot

import sim_bridge as sb
from sim_bridge.description import sensors_from_mapping
from sim_bridge.ros.camera.channel import Counts, make_sockets, receive, Scene, WANTED
from sim_bridge.ros.camera.feed import CameraFeed, Carrier
from sim_bridge.ros.process.polling import PollingNode

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

MS = 1_000_000


@pytest.fixture
def node(ros_environment):
    """Provide a node in the test's own domain."""
    context = rclpy.Context()
    rclpy.init(context=context)
    made = PollingNode('sim_bridge', context=context)
    yield made
    made.destroy_node()
    context.try_shutdown()


class Receiver:
    """The camera process's end: frames by the time of their arrival."""

    def __init__(self, node, **keys):
        """Feed a camera of 100 Hz on one link."""
        camera = {'type': 'camera', 'link': 'head', 'update_rate': 100, **keys}
        self.world = sb.World()
        self.body = self.world.load_urdf(
            robot(link('head', 1.0)), sensors=sensors_from_mapping({'eye': camera})
        )
        self.feed = CameraFeed(self.world, node, is_reliable=True, waits=lambda: False)
        # stands in for the process
        own, self.end = make_sockets()
        memory = os.memfd_create('counts')
        self.counts = Counts(os.dup(memory))
        self.feed._end, self.feed._counts, self.feed._process = own, Counts(memory), None
        self.feed.renew([Carrier(self.body, '', '')])
        scene, self.ring = receive(self.end)
        assert isinstance(scene, Scene)
        self.counts.values[:, WANTED] = 1
        self.end.settimeout(0.0)

    def run(self, milliseconds):
        """Step; return pairs of a frame's time of arrival and stamp [ms]."""
        found = []
        for _ in range(milliseconds):
            self.world.step()
            time = self.world.step_count * MS
            self.feed.publish(time)
            found += [(time // MS, frame.stamp // MS) for frame in self.ring.read()]
        return found

    def close(self):
        """Close both ends."""
        self.feed._end.close()
        self.end.close()
        self.feed._announced.close()


@pytest.fixture
def receiving(node):
    """Return a function making receivers."""
    made = []

    def make(**keys):
        made.append(Receiver(node, **keys))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_frames_come_after_their_latency(receiving):
    """Send poses of the stamp's instant, 25 ms later; forget them when time goes back."""
    assert receiving().run(45) == [(10, 10), (20, 20), (30, 30), (40, 40)]
    late = receiving(latency=0.025)
    assert late.run(60) == [(35, 10), (45, 20), (55, 30)]
    late.world.reset(time=True)
    assert late.run(40) == [(35, 10)]


def test_requests_give_one_picture_each(receiving):
    """Send the first sample after a request, once, and wait for a listener."""
    triggered = receiving(trigger=True)
    assert triggered.run(30) == []
    (fed,) = triggered.feed._fed
    assert triggered.feed._request(fed)
    assert triggered.run(40) == [(40, 40)]
    triggered.counts.values[:, WANTED] = 0
    assert not triggered.feed._request(fed)
    assert triggered.run(20) == []
    triggered.counts.values[:, WANTED] = 1
    assert triggered.run(30) == [(100, 100)]


def test_poses_are_those_of_the_stamp(receiving):
    """Keep a falling link's height while its frame waits."""
    late = receiving(latency=0.03)
    heights = {}
    for _ in range(60):
        late.world.step()
        heights[late.world.step_count] = late.body.root_link.p[2]
        late.feed.publish(late.world.step_count * MS)
    frames = late.ring.read()
    assert len(frames) == 3
    for frame in frames:
        assert heights[frame.stamp // MS] == pytest.approx(frame.poses[0, 11])
    assert np.ptp([frame.poses[0, 11] for frame in frames]) > 1e-3
