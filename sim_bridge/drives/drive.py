"""Drive of a robot in a world: its motors follow a commanded twist."""

from __future__ import annotations

from collections.abc import Sequence
import math
from typing import NamedTuple, Protocol, TYPE_CHECKING

import numpy as np

from sim_bridge.drives.base_motion import base_pose, BaseMotion, SavedBaseMotion
from sim_bridge.drives.kinematics import kinematics_of, Twist
from sim_bridge.drives.limiter import SpeedLimiter
from sim_bridge.drives.odometry import motion_between, Odometry, PlanarPose, SavedOdometry
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.foundation.validation import finite_vector

if TYPE_CHECKING:
    from sim_bridge.description.drives import DriveDescription
    from sim_bridge.robots.crawler import Crawler
    from sim_bridge.robots.robot import Robot

_REST: Twist = (0.0, 0.0, 0.0)
# speed share more than a right angle off the steering angle, as in tricycle_controller
_CREEP = 0.01


class SavedDrive(NamedTuple):
    """
    Drive state.

    wanted, others: commanded twist, as in `Drive.command`. limited: velocity and acceleration of
    each limiter. true_pose: base pose at the latest odometry. base: None for drives with wheels.
    """

    wanted: Twist
    others: Twist
    limited: tuple[tuple[float, float], ...]
    odometry: SavedOdometry
    positions: FloatArray
    angles: FloatArray
    true_pose: PlanarPose
    base: SavedBaseMotion | None


class Drive:
    """
    Drives a robot by its base frame's twist, and computes wheel odometry.

    Wheels are joints with control 'velocity' (or crawlers); steering joints have control
    'position'. The motors respect the joints' effort limits. If a joint's velocity limit does not
    permit the twist, the whole twist is slowed down; the path stays the same. A drive without
    wheels moves the base itself.
    """

    _wanted: Twist
    _others: Twist
    _positions: FloatArray
    _angles: FloatArray
    _true_pose: PlanarPose

    def __init__(self, robot: Robot, description: DriveDescription):
        """
        Find the joints, and set their controls.

        Raises UnknownNameError for an unknown joint, InvalidValueError for an undrivable joint or
        for wheels unable to drive.
        """
        self.robot, self.description = robot, description
        self.name = description.name
        crawlers = {crawler.name: crawler for crawler in robot.crawlers}
        wheels = [wheel.joint for wheel in description.wheels]
        self._motors: _Motors = (
            _Tracks([crawlers[name] for name in wheels])
            if all(name in crawlers for name in wheels)
            else _Joints(robot, description)
        )
        self._kinematics = kinematics_of(description, self._motors.steering_limits)
        self._limiters = tuple(SpeedLimiter(limits) for limits in description.limits)
        motion = description.base_motion
        self._base = None if motion is None else BaseMotion(robot, motion)
        self._command_initially()
        # last twist commanded to the motors; None if unknown
        self._driven: Twist | None = None
        self.odometry = Odometry(description.velocity_window)
        """Odometry of the drive frame, computed from the wheels."""
        self._start_odometry()

    @property
    def is_lasting(self) -> bool:
        """Whether the drive also acts without commands: it keeps its base at rest."""
        return self._base is not None

    @property
    def is_spatial(self) -> bool:
        """Whether commands have six components."""
        motion = self.description.base_motion
        return motion is not None and motion.is_spatial

    @property
    def can_drive(self) -> bool:
        """Whether the drive moves the robot: without wheels, the base must be free."""
        return self._base is None or self._base.can_move

    @property
    def pose(self) -> PlanarPose:
        """
        Base frame pose: x, y [m], yaw [rad].

        By wheel odometry since the start; the true pose in the world if the drive's odometry is
        true.
        """
        x, y, yaw = self.odometry.pose
        dx, dy = self.description.offset
        c, s = math.cos(yaw), math.sin(yaw)
        return PlanarPose(x + dx - c * dx + s * dy, y + dy - s * dx - c * dy, yaw)

    @property
    def reckoned_twist(self) -> Twist:
        """Base frame twist, from wheel odometry [m/s, m/s, rad/s]."""
        return self._of_base(self.odometry.twist)

    @property
    def is_at_rest(self) -> bool:
        """Whether the drive stands and is commanded to stand."""
        return self._wanted == self._others == _REST and not any(
            limiter.velocity or limiter.acceleration for limiter in self._limiters
        )

    @property
    def twist(self) -> Twist:
        """Commanded base frame twist within the limits [m/s, m/s, rad/s]."""
        x, y, yaw_rate = (limiter.velocity for limiter in self._limiters)
        return x, y, yaw_rate

    def command(self, forward: float, left: float, yaw_rate: float, others: Twist = _REST) -> None:
        """
        Set the base frame's target twist [m/s, m/s, rad/s].

        yaw_rate: the steering angle [rad] for a drive steered by angle. others: up, roll rate and
        pitch rate, for a spatial drive. Raises InvalidValueError for non-finite numbers.
        """
        x, y, yaw, up, roll, pitch = finite_vector(
            'twist',
            (forward, left, yaw_rate, *others),
            6,
            f'drive {self.name!r}',
            'finite numbers [m/s, m/s, rad/s]',
        ).tolist()
        self._wanted, self._others = (x, y, yaw), (up, roll, pitch)

    def renew(self) -> None:
        """Command the motors again in the next step, after something else has commanded them."""
        self._driven = None

    def start(self) -> None:
        """Take over wheels driven by something else, at their present twist."""
        self.renew()
        if self._base is not None:
            return
        speeds, angles = self._motors.velocities(), self._motors.measure()[1]
        twist = self._of_base(self._kinematics.twist(speeds, angles))
        for limiter, velocity in zip(self._limiters, twist, strict=True):
            limiter.start(velocity)

    def advance(self, elapsed: float) -> None:
        """Command the motors for a step; elapsed: step length [s]."""
        for limiter, wanted in zip(self._limiters, self._wanted, strict=True):
            limiter.step(wanted, elapsed)
        twist = self.twist
        if self._base is not None:
            self._base.move(twist, self._others, elapsed)
            return
        if twist == self._driven:
            return
        speeds, angles = self._kinematics.motion(self._for_wheels(twist))
        excess = float((np.abs(speeds) / self._motors.limits).max())
        share = self._share_for_steering(angles)
        self._motors.drive(share * (speeds / excess if excess > 1.0 else speeds), angles)
        self._driven = twist if share == 1.0 else None

    def _share_for_steering(self, angles: FloatArray | None) -> float:
        """Return the wheel speeds' share until the steering reaches its angles."""
        if angles is None or not self.description.waits_for_steering:
            return 1.0
        missing = float(np.abs(angles - self._motors.measure()[1]).max())
        if missing > 0.5 * math.pi:
            return _CREEP
        return 1.0 if missing < math.pi / 6.0 else math.cos(missing)

    def observe(self, elapsed: float) -> None:
        """Update the odometry after a step; elapsed: step length [s]."""
        if elapsed <= 0.0:
            return
        if self.description.is_true:
            twist = self._true_twist(elapsed)
        else:
            twist = self._wheel_twist(elapsed)
        self.odometry.advance(twist, elapsed)

    def _true_twist(self, elapsed: float) -> Twist:
        """Return the drive frame's mean twist in the last step from the base's true motion."""
        pose = base_pose(self.robot)
        x, y, yaw = (each / elapsed for each in motion_between(self._true_pose, pose))
        self._true_pose = pose
        if self._base is not None:
            self._base.observe(self.twist, (x, y, yaw), elapsed)
        return self._of_wheels((x, y, yaw))

    def _wheel_twist(self, elapsed: float) -> Twist:
        """Return the drive frame's twist in the last step from commands or the wheels."""
        positions, angles = self._motors.measure(elapsed)
        if self.description.open_loop:
            twist = self._kinematics.possible(self._for_wheels(self.twist))
        else:
            speeds = (
                (positions - self._positions) / elapsed
                if self.description.position_feedback
                else self._motors.velocities()
            )
            twist = self._kinematics.twist(speeds, 0.5 * (self._angles + angles))
        self._positions, self._angles = positions, angles
        return twist

    def _of_wheels(self, twist: Twist) -> Twist:
        """Return the drive frame's twist from the base frame's."""
        (x, y, yaw_rate), (dx, dy) = twist, self.description.offset
        return x - yaw_rate * dy, y + yaw_rate * dx, yaw_rate

    def _for_wheels(self, twist: Twist) -> Twist:
        """Return a commanded twist for the drive frame; a steering angle has no offset."""
        return twist if self.description.steers_by_angle else self._of_wheels(twist)

    def _start_odometry(self) -> None:
        """Start odometry at the origin, or at the true pose."""
        self._positions, self._angles = self._motors.measure()
        self._true_pose = base_pose(self.robot)
        if not self.description.is_true:
            self.odometry.restart()
            return
        # the drive frame's pose that makes `pose` the true one
        x, y, yaw = self._true_pose
        dx, dy = self.description.offset
        c, s = math.cos(yaw), math.sin(yaw)
        self.odometry.restart(PlanarPose(x - dx + c * dx - s * dy, y - dy + s * dx + c * dy, yaw))

    def _command_initially(self) -> None:
        """Set the twist at the start: rest, unless the description has another."""
        motion = self.description.base_motion
        x, y, yaw, up, roll, pitch = (0.0,) * 6 if motion is None else motion.initial
        self._wanted, self._others = (x, y, yaw), (up, roll, pitch)

    def _of_base(self, twist: Twist) -> Twist:
        """Return the base frame's twist from the drive frame's."""
        (x, y, yaw_rate), (dx, dy) = twist, self.description.offset
        return x + yaw_rate * dy, y - yaw_rate * dx, yaw_rate

    def restart(self) -> None:
        """Start again at rest and at the origin, after a robot reset."""
        self.renew()
        self._command_initially()
        for limiter in self._limiters:
            limiter.start(0.0)
        if self._base is not None:
            self._base.restart()
        self._start_odometry()

    def save(self) -> SavedDrive:
        """Return the state for `restore`."""
        return SavedDrive(
            self._wanted,
            self._others,
            tuple((one.velocity, one.acceleration) for one in self._limiters),
            self.odometry.save(),
            self._positions.copy(),
            self._angles.copy(),
            self._true_pose,
            None if self._base is None else self._base.save(),
        )

    def restore(self, saved: SavedDrive) -> None:
        """Return to a saved state; the robot must be in its state at that time."""
        self.renew()
        self._wanted, self._others = saved.wanted, saved.others
        for limiter, (velocity, acceleration) in zip(self._limiters, saved.limited, strict=True):
            limiter.start(velocity, acceleration)
        self.odometry.restore(saved.odometry)
        self._positions, self._angles = saved.positions.copy(), saved.angles.copy()
        self._motors.resume(self._positions)
        self._true_pose = saved.true_pose
        if self._base is not None and saved.base is not None:
            self._base.restore(saved.base)


class _Motors(Protocol):
    """Interface of the wheel actuators."""

    @property
    def limits(self) -> FloatArray:
        """(n,) greatest wheel speeds."""

    @property
    def steering_limits(self) -> Sequence[tuple[float, float]]:
        """Lower and upper angle of each steering joint [rad]."""

    def drive(self, speeds: FloatArray, angles: FloatArray | None) -> None:
        """Set the wheel speeds, and the steering angles unless None."""

    def measure(self, elapsed: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Return wheel positions and steering angles; elapsed: time since the last call [s]."""

    def velocities(self) -> FloatArray:
        """Return the wheel speeds."""

    def resume(self, positions: FloatArray) -> None:
        """Continue from wheel positions, after the robot has returned to its state there."""


class _Joints:
    """Joints with motors."""

    def __init__(self, robot: Robot, description: DriveDescription):
        wheels = [wheel.joint for wheel in description.wheels]
        steering = [each.joint for each in description.steering]
        names = list(robot.joint_names)
        place = f'drive {description.name!r} of robot {robot.name!r}'
        for name in (*wheels, *steering):
            if name not in names:
                raise UnknownNameError('joint', name, names, place)
            mimic = robot.joint(name).mimic
            if mimic is not None:
                raise InvalidValueError(
                    'joint',
                    name,
                    f'one that does not mimic another, as it does {mimic.joint!r}',
                    place,
                )
        for joints, control in ((wheels, 'velocity'), (steering, 'position')):
            for name in joints:
                # a motor already running, as set by a scene, keeps running until the first command
                if robot.joint(name).control != control:
                    robot.joint(name).control = control
        self._robot = robot
        self._wheels = np.array([names.index(name) for name in wheels], int)
        self._steering = np.array([names.index(name) for name in steering], int)
        self._velocity, self._position = np.full((2, len(names)), np.nan)
        self._velocity[self._steering] = 0.0
        self.limits = robot.velocity_limits[self._wheels]
        most = description.steering_limit
        self.steering_limits = [
            (max(lower, -most), min(upper, most))
            for lower, upper in zip(
                robot.lower[self._steering].tolist(),
                robot.upper[self._steering].tolist(),
                strict=True,
            )
        ]

    def drive(self, speeds: FloatArray, angles: FloatArray | None) -> None:
        self._velocity[self._wheels] = speeds
        if angles is None or not len(angles):
            self._robot.set_commands(velocity=self._velocity)
            return
        self._position[self._steering] = angles
        self._robot.set_commands(position=self._position, velocity=self._velocity)

    def measure(self, elapsed: float = 0.0) -> tuple[FloatArray, FloatArray]:
        q = self._robot.q
        return q[self._wheels], q[self._steering]

    def velocities(self) -> FloatArray:
        return self._robot.dq[self._wheels]

    def resume(self, positions: FloatArray) -> None:
        """Do nothing: joints have their positions."""


class _Tracks:
    """Crawlers with commanded surface speeds."""

    def __init__(self, crawlers: Sequence[Crawler]):
        self._crawlers = crawlers
        self._run = np.zeros(len(crawlers))
        self.limits = np.full(len(crawlers), math.inf)
        self.steering_limits: Sequence[tuple[float, float]] = ()

    def drive(self, speeds: FloatArray, angles: FloatArray | None) -> None:
        for crawler, speed in zip(self._crawlers, speeds.tolist(), strict=True):
            crawler.speed = speed

    def measure(self, elapsed: float = 0.0) -> tuple[FloatArray, FloatArray]:
        # a surface has no position: use the distance run since the first call
        self._run = self._run + elapsed * self.velocities()
        return self._run, np.zeros(0)

    def velocities(self) -> FloatArray:
        return np.array([crawler.speed for crawler in self._crawlers])

    def resume(self, positions: FloatArray) -> None:
        self._run = positions
