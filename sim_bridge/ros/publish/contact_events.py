"""Contact events: pairs beginning, continuing and ceasing to touch, in each physics step."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from sensor_msgs.msg import PointCloud2

import sim_bridge as sb
from sim_bridge.engine.data.state import State
from sim_bridge.ros.publish.topic_pool import TopicPool
from sim_bridge.ros.wire.contact_messages import BEGIN, CONTACT_EVENT, END, PERSIST, PointsMessage

EVENTS = {'begin': BEGIN, 'persist': PERSIST, 'end': END}
TOPIC = 'contacts/events'


class ContactEvents:
    """
    Topic with contact events; nothing is compared without subscribers.

    A message has the events in one control step, and goes out if there are any. A pair that begins
    or continues has a row for each point. A pair that ends has a row for each last point,
    without impulse.
    """

    def __init__(
        self, pool: TopicPool, world: sb.World, kinds: Collection[str], rate_hz: float
    ) -> None:
        """Open the topic. kinds: published keys from EVENTS. rate_hz: control steps per second."""
        self._world = world
        self._kinds = [EVENTS[kind] for kind in kinds]
        self._message, self._rows = PointsMessage(CONTACT_EVENT), list[np.ndarray]()
        self.streams = [pool.stream(TOPIC, PointCloud2, self._message, rate_hz=rate_hz)]

    @property
    def is_wanted(self) -> bool:
        """Whether `step` has to take the steps one by one."""
        return self.streams[0].is_wanted

    def step(self) -> None:
        """Take a physics step, and note its events."""
        state = self._world.state
        before = _points(state)
        self._world.step()
        state = self._world.state
        if not len(before) and not state.contact_size[0]:
            return
        now = _points(state)
        now['impulse'] = state.contact_impulse[: len(now), :3]
        was, stays = _held(before, now)
        now['event'] = np.where(was, PERSIST, BEGIN)
        before['event'] = END
        events = np.concatenate([now, before[~stays]])
        events['step'] = self._world.step_count & 0xFFFFFFFF
        self._rows.append(events[np.isin(events['event'], self._kinds)])

    def publish(self, stamp: bytes) -> None:
        """Publish the events since the last call, if any. stamp: packed time."""
        if self._rows:
            points = np.concatenate(self._rows)
            self._rows.clear()
            if len(points):
                self._message.points = points
                self.streams[0].publish(stamp)


def _points(state: State) -> np.ndarray:
    """Return the last step's contact points, without events and impulses."""
    count = int(state.contact_size[0])
    points = np.zeros(count, CONTACT_EVENT)
    points['position'] = state.contact_point[:count]
    points['normal'] = state.contact_normal[:count]
    points['depth'] = -state.contact_gap[:count]
    points['geometry_a'], points['geometry_b'] = state.contact_geometry[:count].T
    return points


def _held(before: np.ndarray, now: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return masks: points in `now` whose pair was in `before`, and the reverse."""
    keys = [
        each['geometry_a'].astype(np.uint64) << 32 | each['geometry_b'] for each in (before, now)
    ]
    return np.isin(keys[1], keys[0]), np.isin(keys[0], keys[1])
