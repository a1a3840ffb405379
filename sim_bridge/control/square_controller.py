"""Node that drives a vehicle along a square by `cmd_vel`, based on its odometry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
import sys

from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile

from sim_bridge.control.course import Pace, SquareCourse
from sim_bridge.ros.params.declaration import declare
from sim_bridge.ros.params.parameter_table import parameter
from sim_bridge.ros.process import process, realtime
from sim_bridge.ros.process.guarded_node import GuardedMixin
from sim_bridge.ros.wire.qos import COMMAND_QOS


@dataclass(frozen=True)
class SquareParameters:
    """Parameters of the square controller."""

    odom_topic: str = parameter('odom', 'Topic of the odometry, from wheels or ground truth')
    cmd_vel_topic: str = parameter('cmd_vel', 'Topic of the commands')
    cmd_vel_stamped: bool = parameter(
        False, 'Send geometry_msgs/TwistStamped rather than Twist, as the drive takes it'
    )
    side: float = parameter(1.0, 'Length of a side', unit='m', low=0.0, above=True)
    laps: int = parameter(0, 'Laps until it stops; 0 for ever', low=0)
    speed: float = parameter(0.5, 'Speed on the sides', unit='m/s', low=0.0, above=True)
    yaw_rate: float = parameter(1.0, 'Yaw rate in the corners', unit='rad/s', low=0.0, above=True)
    deceleration: float = parameter(
        0.4,
        'Deceleration before a corner, less than the limit of the drive',
        unit='m/s^2',
        low=0.0,
        above=True,
    )
    yaw_deceleration: float = parameter(
        1.5,
        'Deceleration at the end of a turn, less than the limit of the drive',
        unit='rad/s^2',
        low=0.0,
        above=True,
    )


class SquareController:
    """
    Answers every odometry message with a twist, and sends no other commands.

    If odometry goes back in time, after a reset, the course restarts at the vehicle's pose.
    """

    def __init__(self, node: GuardedMixin) -> None:
        """Declare the parameters and wait for odometry. Raises InvalidValueError."""
        self._node = node
        self._parameters = parameters = declare(node, SquareParameters)
        self._kind = TwistStamped if parameters.cmd_vel_stamped else Twist
        self._course = self._new_course()
        self._latest_ns = 0
        self._commands = node.create_publisher(self._kind, parameters.cmd_vel_topic, COMMAND_QOS)
        # only the newest pose is answered
        node.create_subscription(
            Odometry, parameters.odom_topic, self._answer, QoSProfile(depth=1)
        )
        realtime.settle_process()
        node.get_logger().info(
            f'ready to drive squares of {parameters.side:g} m by {parameters.odom_topic}'
        )

    def close(self) -> None:
        """Do nothing: a controller has no threads."""

    def _new_course(self) -> SquareCourse:
        given = self._parameters
        return SquareCourse(
            given.side,
            given.laps,
            Pace(given.speed, given.yaw_rate, given.deceleration, given.yaw_deceleration),
        )

    def _answer(self, odometry: Odometry) -> None:
        stamp = odometry.header.stamp
        now = stamp.sec * 1_000_000_000 + stamp.nanosec
        if now < self._latest_ns:
            self._course = self._new_course()
        self._latest_ns = now
        p, q = odometry.pose.pose.position, odometry.pose.pose.orientation
        yaw = math.atan2(2.0 * (q.w * q.z + q.x * q.y), 1.0 - 2.0 * (q.y * q.y + q.z * q.z))
        message = self._kind()
        twist = message
        if isinstance(message, TwistStamped):
            message.header.stamp, twist = stamp, message.twist
        twist.linear.x, twist.angular.z = self._course.twist(p.x, p.y, yaw)
        self._commands.publish(message)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the process exit code."""
    return process.run('square_controller', SquareController, args)


if __name__ == '__main__':
    sys.exit(main())
