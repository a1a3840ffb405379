"""Standing and straight driving."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from corpus.rows import DriveResult
from sim_bridge.foundation.errors import SimBridgeError
from sim_bridge.ros.command.inputs import Message

if TYPE_CHECKING:
    import sim_bridge as sb
    from sim_bridge.ros.command.drives import CommandedDrive
    from sim_bridge.ros.session.simulator import Simulator

# m/s; slow enough for every public robot
_SPEED = 0.2
# relative to the wheels' greatest speed
_RESERVE = 0.9
# s
_STAND, _RUN_UP, _DRIVE, _STOP = 2.0, 2.0, 4.0, 1.0
# m or rad in the last standing second
_STILL = 1e-3
# cosine for the tilt after a fall
_TILTED = math.cos(math.radians(15.0))


def let_stand(simulator: Simulator) -> str:
    """Let a robot stand 2 s; return 'yes', or the motion in the last second."""
    robot = simulator.interfaces[0].robot
    start = robot.root_link.R
    _run(simulator, _STAND - 1.0)
    before, joints = robot.root_link.p, robot.q.copy()
    _run(simulator, 1.0)
    if float(robot.root_link.R[:, 2] @ start[:, 2]) < _TILTED:
        return 'tips over'
    moved = float(np.linalg.norm(robot.root_link.p - before))
    if moved > _STILL:
        return f'base moves {moved:.3g} m/s'
    turned = np.abs(robot.q - joints).max(initial=0.0)
    return f'joints move {turned:.3g} rad/s' if turned > _STILL else 'yes'


def drive_straight(simulator: Simulator, drive: CommandedDrive) -> DriveResult:
    """Drive 4 s straight after a 2 s run-up; compare distance and odometry with the command."""
    robot, speed = drive.drive.robot, _speed(drive)
    if robot.fixed_base:
        return DriveResult(drive.name, reason='fixed base')
    try:
        _run(simulator, _RUN_UP, drive, speed)
        position, heading = robot.root_link.p, _heading(robot)
        reckoned = drive.drive.pose
        _run(simulator, _DRIVE, drive, speed)
        moved = robot.root_link.p - position
        x, y, _ = drive.drive.pose
        counted = np.array((x - reckoned.x, y - reckoned.y))
        _run(simulator, _STOP, drive, 0.0)
    except SimBridgeError as err:
        return DriveResult(drive.name, reason=str(err))
    distance = speed * _DRIVE
    return DriveResult(
        drive.name, _error(moved[:2], heading, distance), _error(counted, reckoned.yaw, distance)
    )


def _speed(drive: CommandedDrive) -> float:
    """Return a speed within the limits for drive and wheels [m/s]."""
    description, robot = drive.drive.description, drive.drive.robot
    limits = dict(zip(robot.joint_names, robot.velocity_limits.tolist(), strict=True))
    wheels = [
        _RESERVE * limits[wheel.joint] * wheel.radius
        for wheel in description.wheels
        if wheel.joint in limits
    ]
    return min(_SPEED, description.limits[0].max_velocity, *wheels)


def _heading(robot: sb.Robot) -> float:
    """Return the direction for the root link's x axis [rad]."""
    x, y, _ = robot.root_link.R[:, 0]
    return math.atan2(y, x)


def _error(moved: np.ndarray, heading: float, distance: float) -> float:
    """Return the distance from the commanded end point, relative to the commanded distance."""
    end = distance * np.array((math.cos(heading), math.sin(heading)))
    return float(np.linalg.norm(moved - end)) / distance


def _run(
    simulator: Simulator, seconds: float, drive: CommandedDrive | None = None, speed: float = 0.0
) -> None:
    """Take control steps. drive: commanded in each step, None for no command."""
    end_ns = simulator.time_ns + round(seconds * 1e9)
    while simulator.time_ns < end_ns:
        if drive is not None:
            drive.take((speed, 0.0, 0.0), 0, Message('cmd_vel', b''))
        simulator.tick()
