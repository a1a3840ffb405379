"""Topic with the broken joints."""

from __future__ import annotations

import json

import numpy as np
from std_msgs.msg import String

import sim_bridge as sb
from sim_bridge.ros.publish.topic_pool import TopicPool

TOPIC = 'joints/broken'


class BrokenJoints:
    """
    Publishes the broken joints, between robots and in closed loops, as JSON, transient local.

    A message gives the break time by joint name, {"hook": 1.234}. It goes out at each
    change, in worlds with constraint joints. A reset repairs the joints.
    """

    def __init__(self, pool: TopicPool, world: sb.World) -> None:
        """Open no topic before a joint can break."""
        self._pool, self._world = pool, world
        self._present = np.zeros(0, np.int64)
        self._has_joints = False
        self.told: dict[str, float] = {}
        """Break time by joint name [s]; replaced, never changed."""

    def renew(self) -> None:
        """Publish the present state, after robots were added or removed."""
        self._has_joints = len(self._world.simulation.registry.constraints) > 0
        if self._has_joints or self._pool.has_latched(TOPIC):
            self._tell(self._world.time)

    def publish(self, time_ns: int) -> None:
        """Publish if the broken joints have changed. time_ns: message time [ns]."""
        if self._has_joints and not np.array_equal(self._world.state.loop_broken, self._present):
            self._tell(time_ns * 1e-9)

    def _tell(self, time: float) -> None:
        self._present = self._world.state.loop_broken.copy()
        names = self._world.broken_joints
        self.told = {name: self.told.get(name, time) for name in names}
        self._pool.latch(TOPIC, String, String(data=json.dumps(self.told)))
