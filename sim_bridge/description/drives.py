"""Drives in a description as plain data: wheels, steering, limits and odometry."""

from __future__ import annotations

from dataclasses import dataclass
import math


@dataclass(frozen=True)
class WheelDescription:
    """
    Wheel or track of a drive.

    joint: name of the joint that turns the wheel, or of the crawler. position: x, y of the ground
    contact in the drive's frame [m]. radius: m; 1 for a track, whose speed is in m/s. heading:
    drive direction at positive speeds, an angle about z from x [rad]. roller: angle from the
    heading to the free direction [rad]: the direction in which the rollers move; sideways for a
    wheel without rollers. steering: steering joint name, '' for none. effort: greatest motor
    torque [N m], replacing the joint's effort limit; None for the joint's own.
    """

    joint: str
    position: tuple[float, float]
    radius: float
    heading: float = 0.0
    roller: float = 0.5 * math.pi
    steering: str = ''
    effort: float | None = None


@dataclass(frozen=True)
class SteeringDescription:
    """Steering joint. position: x, y of its axis in the drive's frame [m]."""

    joint: str
    position: tuple[float, float]


@dataclass(frozen=True)
class SpeedLimits:
    """
    Limits on one velocity component of a drive, as in diff_drive_controller.

    Units: m or rad, and s. All except min_velocity are at least 0; infinite for no limit.
    max_acceleration, max_deceleration: rates of speed change at positive velocities; with
    `_reverse`, at negative velocities. max_jerk: rate at which an acceleration may rise. min_jerk:
    rate at which it may fall, as a positive number.
    """

    min_velocity: float = -math.inf
    max_velocity: float = math.inf
    max_acceleration: float = math.inf
    max_deceleration: float = math.inf
    max_acceleration_reverse: float = math.inf
    max_deceleration_reverse: float = math.inf
    max_jerk: float = math.inf
    min_jerk: float = math.inf


@dataclass(frozen=True)
class BaseMotionDescription:
    """
    Motion of a robot's base at the commanded twist, without wheels; as Gazebo's plugins do it.

    The base gets the twist's velocity before each control step; contacts and joints act on it
    within the step. is_spatial: whether all six components are commanded, in the base frame's
    axes. Otherwise these are forward, left and yaw rate in the horizontal plane, and the base
    falls, rises and tilts by forces. level_period: time between two resets, when roll and pitch
    rate become zero [s]; 0 for every control step. initial: twist at the start: forward, left,
    yaw rate, up, roll rate, pitch rate [m/s, rad/s].
    """

    is_spatial: bool = False
    level_period: float = 0.0
    initial: tuple[float, ...] = (0.0,) * 6


NO_SPEED_LIMITS = (SpeedLimits(), SpeedLimits(), SpeedLimits())
# variances for x, y, z, roll, pitch, yaw; 1e6 for the components not measured by wheels
ODOMETRY_COVARIANCE = (1e-3, 1e-3, 1e6, 1e6, 1e6, 1e-2)


@dataclass(frozen=True)
class DriveDescription:
    """
    Wheels or tracks driving a robot by a commanded twist, or a base moved without wheels.

    name: unique on the robot. kind: drive type, for people. wheels: driven wheels.
    steering: steering joints; the vehicle's other wheels are on its frame's y axis. Empty for
    other vehicles.
    The drive's frame has x forward, y left and its origin midway between the wheels; for steered
    vehicles, in the middle of the axle without steering.
    offset: x, y of that origin in the base frame [m]. separation_multiplier: factor on the wheels'
    distances from the middle, for wheels turning the vehicle less than their positions imply.
    limits: for the forward velocity, the left velocity and the yaw rate. timeout: time until a
    command expires [s], None for the robot's command timeout, 0 for never.
    open_loop: whether odometry integrates commands instead of measurements. position_feedback:
    whether odometry measures positions instead of velocities. velocity_window: steps averaged for
    the odometry twist. rate: odometry message rate [Hz], 0 for every step. pose_covariance,
    twist_covariance: (6,) diagonals. provides_tf: whether odometry gives the robot's pose in the
    odom frame on tf.
    odom_frame, base_frame, command_topic, odom_topic: '' for the default. is_stamped: whether
    commands are TwistStamped, None for the default. steering_limit: greatest steering angle [rad],
    in addition to the joint limits. curvature_limit: greatest curvature of a steered vehicle's
    path [1/m]. steers_by_angle: whether the command's yaw component is the steering angle in the
    middle of the steered axle [rad]. waits_for_steering: whether the wheels slow down while the
    steering is far from its angle, as in tricycle_controller. is_true: whether odometry is the
    base's true planar pose and twist. base_motion: motion without wheels, None for a drive with
    wheels. reference_topic, odometry_topic: further topics of ros2_control's controllers, for
    commands as TwistStamped and for odometry; '' for none.
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
    reference_topic: str = ''
    odometry_topic: str = ''
    steering_limit: float = math.inf
    curvature_limit: float = math.inf
    steers_by_angle: bool = False
    waits_for_steering: bool = False
    is_true: bool = False
    base_motion: BaseMotionDescription | None = None
    line: int = 0

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the drive's joints and crawlers."""
        return (*(wheel.joint for wheel in self.wheels), *(each.joint for each in self.steering))
