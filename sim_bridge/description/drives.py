"""What a description says of drives, as plain data: wheels, steering, limits and odometry."""

from __future__ import annotations

from dataclasses import dataclass
import math


@dataclass(frozen=True)
class WheelDescription:
    """
    A wheel or a track of a drive.

    joint: name of the joint that turns it, or of the crawler. position: x, y of its contact in the
    drive's frame [m]. radius: m; 1 for a track, whose speed is in m/s.
    heading: the direction in which positive speeds drive, about z from x [rad]. roller: from there
    to the direction in which it moves without turning [rad]: that of its rollers, and for a wheel
    without rollers sideways.
    steering: name of the joint that steers it, '' for none.
    """

    joint: str
    position: tuple[float, float]
    radius: float
    heading: float = 0.0
    roller: float = 0.5 * math.pi
    steering: str = ''


@dataclass(frozen=True)
class SteeringDescription:
    """A joint that steers. position: x, y of its axis in the drive's frame [m]."""

    joint: str
    position: tuple[float, float]


@dataclass(frozen=True)
class SpeedLimits:
    """
    Limits of one component of a drive's velocity, as diff_drive_controller has them.

    All but min_velocity are at least 0, infinite where there is none, in m or rad and s.
    max_acceleration, max_deceleration: of the amount of a positive velocity; with `_reverse`, of
    a negative one. max_jerk: of a rising acceleration, min_jerk: of a falling one, as an amount.
    """

    min_velocity: float = -math.inf
    max_velocity: float = math.inf
    max_acceleration: float = math.inf
    max_deceleration: float = math.inf
    max_acceleration_reverse: float = math.inf
    max_deceleration_reverse: float = math.inf
    max_jerk: float = math.inf
    min_jerk: float = math.inf


NO_SPEED_LIMITS = (SpeedLimits(), SpeedLimits(), SpeedLimits())
# of x, y, z, roll, pitch, yaw: what wheels do not measure is as good as unknown
ODOMETRY_COVARIANCE = (1e-3, 1e-3, 1e6, 1e6, 1e6, 1e-2)


@dataclass(frozen=True)
class DriveDescription:
    """
    Wheels or tracks that drive a robot by a commanded twist.

    name: unique on the robot. kind: what it is called for people. wheels: that are driven.
    steering: empty, or the joints of a vehicle whose other wheels are on its frame's y axis.
    The drive's frame has x forward, y left and its origin in the middle of the wheels; of steered
    vehicles, in the middle of the axle that is not steered.
    offset: x, y of that origin in the base frame [m]. separation_multiplier: factor on the
    distances of the wheels from the middle, for wheels that turn the vehicle less than their
    places say.
    limits: of the velocity forward and left and of the yaw rate. timeout: time after which a
    command ends [s], None for that of the robot's commands, 0 for never.
    open_loop: whether odometry adds up commands instead of measurements. position_feedback:
    whether it measures positions rather than velocities. velocity_window: steps of the mean of its
    twist. rate: of its messages [Hz], 0 for every step. pose_covariance, twist_covariance: (6,)
    diagonals. provides_tf: whether its pose is the robot's frame in the odom frame.
    odom_frame, base_frame, command_topic, odom_topic: '' for the default. is_stamped: whether
    commands are TwistStamped, None for the default. steering_limit: greatest steering angle [rad],
    beside the limits of the joints.
    """

    name: str
    kind: str
    wheels: tuple[WheelDescription, ...]
    steering: tuple[SteeringDescription, ...] = ()
    offset: tuple[float, float] = (0.0, 0.0)
    separation_multiplier: float = 1.0
    limits: tuple[SpeedLimits, SpeedLimits, SpeedLimits] = NO_SPEED_LIMITS
    timeout: float | None = None
    open_loop: bool = False
    position_feedback: bool = True
    velocity_window: int = 1
    rate: float = 0.0
    pose_covariance: tuple[float, ...] = ODOMETRY_COVARIANCE
    twist_covariance: tuple[float, ...] = ODOMETRY_COVARIANCE
    provides_tf: bool = False
    odom_frame: str = ''
    base_frame: str = ''
    command_topic: str = ''
    odom_topic: str = ''
    is_stamped: bool | None = None
    steering_limit: float = math.inf
    line: int = 0

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of its joints and crawlers."""
        return (*(wheel.joint for wheel in self.wheels), *(each.joint for each in self.steering))
