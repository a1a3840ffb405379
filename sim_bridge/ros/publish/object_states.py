"""Object and robot base poses and twists in the world."""

from __future__ import annotations

from sensor_msgs.msg import MultiDOFJointState

import sim_bridge as sb
from sim_bridge.ros.publish.base_motion import BaseMotion
from sim_bridge.ros.publish.streams import Stream
from sim_bridge.ros.publish.topic_pool import TopicPool
from sim_bridge.ros.wire.messages import PoseStateMessage


class ObjectStates:
    """
    Publishes object_states.

    The message is one sensor_msgs/MultiDOFJointState. It has poses and twists, by name, for all
    moving objects and all robots with a free base.
    """

    def __init__(self, pool: TopicPool, world: sb.World, rate_hz: float) -> None:
        """
        Create the topic, or reuse the topic in the pool.

        rate_hz: publishing rate [Hz].
        """
        self._moving = [robot for robot in world.robots.values() if not robot.fixed_base]
        motion = BaseMotion(world, self._moving)
        message = PoseStateMessage([robot.name for robot in self._moving])

        def fill() -> None:
            message.poses[:] = motion.poses()
            message.twists[:] = motion.twists()

        self.streams: list[Stream] = []
        if self._moving:
            self.streams.append(
                pool.stream('object_states', MultiDOFJointState, message, fill, rate_hz=rate_hz)
            )
