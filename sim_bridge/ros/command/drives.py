"""
A robot's drives, commanded by twists on `cmd_vel`.

The executor's thread or the physics thread takes a command; the physics thread applies it from the
next control step on. A drive and other commands take joints from each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import math
from typing import Any, NamedTuple, TYPE_CHECKING

import numpy as np

from sim_bridge.description import drives_from_mapping
from sim_bridge.drives.drive import Drive, SavedDrive
from sim_bridge.drives.tracks import tracked_drive
from sim_bridge.foundation.errors import InvalidValueError, StateError

if TYPE_CHECKING:
    from sim_bridge.robots.robot import Robot
    from sim_bridge.ros.command.commands import RobotCommands
    from sim_bridge.ros.command.controller_states import ControllerStates
    from sim_bridge.ros.command.inputs import Following, Message
    from sim_bridge.ros.params.parameters import SimulatorParameters

# m/s and rad/s: larger values are mistakes, yet far from overflow
_FASTEST = 1e6
# twist components, as ordered in `CommandedDrive.take`
_COMPONENTS = ('linear x', 'linear y', 'angular z', 'linear z', 'angular x', 'angular y')


class SavedCommandedDrive(NamedTuple):
    """State of a CommandedDrive. age_ns: time since the latest command [ns]."""

    is_active: bool
    is_timed_out: bool
    age_ns: int
    drive: SavedDrive


class CommandedDrive:
    """
    A drive following the latest twist until it times out; then it stops within its limits.

    It is active from a command until it stands still without one, or until another command
    addresses one of its joints. It is one of the `Following`s of the robot's commands.
    """

    def __init__(
        self,
        drive: Drive,
        commands: RobotCommands,
        timeout_ns: int,
        tick_ns: int,
        states: ControllerStates,
    ) -> None:
        """
        Prepare to take twists.

        commands: the robot's commands. timeout_ns: simulated time without a command until the
        drive stops [ns]; 0: never. tick_ns: control step [ns]. states: active and inactive
        controllers; a drive may be one.
        """
        self.drive, self.name, self._states = drive, drive.name, states
        self.is_active = False
        """Whether the drive commands its joints."""
        self.is_timed_out = False
        """Whether the latest command is older than allowed."""
        self._commands, self._timeout_ns, self._step = commands, timeout_ns, tick_ns * 1e-9
        self._commanded_ns = 0
        own = drive.description.joints
        self._rows = np.array([name in own for name in commands.names], bool)
        self._steering = frozenset(each.joint for each in drive.description.steering)
        self._joints = [name for name in own if name in commands.axes]

    def take(
        self,
        twist: Sequence[float],
        stamp_ns: int,
        source: Message,
        companions: Sequence[CommandedDrive] = (),
    ) -> None:
        """
        Follow a twist from the next control step on.

        twist: forward, left and yaw rate [m/s, m/s, rad/s], then up, roll and pitch rate, which
        count for spatial drives only. stamp_ns: simulated time in the stamp [ns]; 0 for none.
        source: input to record. companions: drives with the same topic. Raises InvalidValueError
        for non-finite or absurd values, StateError if a joint's control mode does not accept the
        drive's commands, or if the drive moves a base that is not free.
        """
        drives = (self, *companions)
        try:
            for each in drives:
                each._states.check_active(each.name)
                each._check(each._own_part(twist))
        except (InvalidValueError, StateError):
            self._commands.counts.rejected += 1
            raise
        given = tuple(twist)

        def obey() -> None:
            for each in drives:
                each._obey(each._own_part(given))

        self._commands.queue.submit(obey, source)
        self._commands.timing.arrived(stamp_ns)
        self._commands.counts.accepted += 1

    def advance(self, time_ns: int) -> None:
        """Command the joints for the control step starting at this time [ns]."""
        if not self.is_active:
            if self.drive.is_lasting:
                self.drive.advance(self._step)
            return
        if (
            self._timeout_ns
            and not self.is_timed_out
            and (time_ns - self._commanded_ns >= self._timeout_ns)
        ):
            self.is_timed_out = True
            self._commands.counts.timeouts += 1
            self.drive.command(0.0, 0.0, 0.0)
        self.drive.advance(self._step)
        if self.is_timed_out and self.drive.is_at_rest:
            self.is_active = False

    def end(self) -> None:
        """Stop and release the joints: the controller was deactivated."""
        self.is_active = self.is_timed_out = False
        for name in self._joints:
            self._commands.axes[name].drop_command()

    def observe(self) -> None:
        """Update the odometry after a control step."""
        self.drive.observe(self._step)

    # --- Following -------------------------------------------------------------------------------

    @property
    def is_aside(self) -> bool:
        """Whether the drive has no joint to release."""
        return not self.is_active

    def give_way(self, commanded: np.ndarray, by_effort: np.ndarray) -> None:
        """Release the joints if any of them gets another command; (n,) by command row."""
        if bool((commanded & self._rows).any()):
            self.is_active = self.is_timed_out = False

    def take_rest(self) -> None:
        """Do nothing: a drive has its own timeout."""

    def refresh(self, changed: Iterable[str]) -> None:
        """Release the joints if the control mode of one of them has changed."""
        self.drive.renew()
        if not set(changed).isdisjoint(self._joints) and self._misfit() is not None:
            self.is_active = self.is_timed_out = False

    def shift(self, by_ns: int) -> None:
        """Continue unchanged while the time jumps by this much [ns]."""
        self._commanded_ns += by_ns

    def save(self, time_ns: int) -> SavedCommandedDrive:
        """Return the state for `restore`. time_ns: current time [ns]."""
        return SavedCommandedDrive(
            self.is_active, self.is_timed_out, time_ns - self._commanded_ns, self.drive.save()
        )

    def restore(self, saved: SavedCommandedDrive, time_ns: int) -> None:
        """Return to a saved state. time_ns: current time [ns]."""
        self.is_active, self.is_timed_out = saved.is_active, saved.is_timed_out
        self._commanded_ns = time_ns - saved.age_ns
        self.drive.restore(saved.drive)

    def restart(self, words: str = '') -> None:
        """Release all joints, and restart the odometry."""
        self.is_active = self.is_timed_out = False
        self.drive.restart()

    # --- inside ----------------------------------------------------------------------------------

    def _own_part(self, twist: Sequence[float]) -> Sequence[float]:
        """Return the twist components that the drive has."""
        return twist[: 6 if self.drive.is_spatial else 3]

    def _obey(self, twist: Sequence[float]) -> None:
        """Start following a twist; on the physics thread."""
        if not self._states.is_active(self.name):
            return
        now_ns, is_first = self._commands.queue.time_ns, not self.is_active or self.is_timed_out
        if not self.is_active:
            self.drive.start()
        self._commands.timing.applied(now_ns, None if is_first else self._commanded_ns)
        self.is_active, self.is_timed_out = True, False
        self._commanded_ns = now_ns
        x, y, yaw_rate, *others = twist
        up, roll_rate, pitch_rate = others or (0.0, 0.0, 0.0)
        self.drive.command(x, y, yaw_rate, (up, roll_rate, pitch_rate))

    def _check(self, twist: Sequence[float]) -> None:
        if not all(math.isfinite(each) and abs(each) <= _FASTEST for each in twist):
            raise InvalidValueError(
                ', '.join(_COMPONENTS[: len(twist)]),
                list(twist),
                f'finite numbers [m/s, m/s, rad/s], at most {_FASTEST:g}',
                f'drive {self.name!r} of robot {self.drive.robot.name!r}',
            )
        if not self.drive.can_drive:
            raise StateError(
                f'drive {self.name!r} moves the base of robot {self.drive.robot.name!r}, which is '
                'not free; base:=free lets it go'
            )
        misfit = self._misfit()
        if misfit is not None:
            name, control, wanted = misfit
            raise StateError(
                f'drive {self.name!r} of robot {self.drive.robot.name!r}: the control of joint '
                f'{name!r} is {control!r}. Set parameter control.{name} to {wanted!r}'
            )

    def _misfit(self) -> tuple[str, str, str] | None:
        """Return the first joint with an unsuitable control mode, its mode, and the right one."""
        for name in self._joints:
            control = self._commands.axes[name].control
            wanted = 'position' if name in self._steering else 'velocity'
            if control != wanted and not (control == 'servo' and wanted == 'position'):
                return name, control, wanted
        return None


class Followings:
    """Several `Following`s as one, in order."""

    def __init__(self, *parts: Following) -> None:
        """Join several parts."""
        self._parts = parts

    @property
    def is_active(self) -> bool:
        """Whether any part is active."""
        return any(part.is_active for part in self._parts)

    @property
    def is_aside(self) -> bool:
        """Whether all parts are aside."""
        return all(part.is_aside for part in self._parts)

    def give_way(self, commanded: np.ndarray, by_effort: np.ndarray) -> None:
        """Let all parts give way."""
        for part in self._parts:
            part.give_way(commanded, by_effort)

    def take_rest(self) -> None:
        """Let all parts take rest."""
        for part in self._parts:
            part.take_rest()

    def refresh(self, changed: Iterable[str]) -> None:
        """Refresh all parts."""
        names = list(changed)
        for part in self._parts:
            part.refresh(names)

    def shift(self, by_ns: int) -> None:
        """Shift all parts."""
        for part in self._parts:
            part.shift(by_ns)

    def save(self, time_ns: int) -> tuple[Any, ...]:
        """Return the states of all parts."""
        return tuple(part.save(time_ns) for part in self._parts)

    def restore(self, saved: tuple[Any, ...], time_ns: int) -> None:
        """Restore all parts."""
        for part, state in zip(self._parts, saved, strict=True):
            part.restore(state, time_ns)

    def restart(self, words: str = '') -> None:
        """Restart all parts."""
        for part in self._parts:
            part.restart(words)


def drives_of(
    robot: Robot, parameters: SimulatorParameters, all_joints: Sequence[str]
) -> list[Drive]:
    """
    Return a robot's drives: from its description, from the parameter, and for its tracks.

    all_joints: joint names of all robots. Raises DescriptionError, UnknownNameError or
    InvalidValueError for drives impossible on the robot.
    """
    description = robot.description
    described = () if description is None else description.drives
    block: Mapping[str, Any] = parameters.drives
    if block and description is not None:
        described += drives_from_mapping(block, description, all_joints, "parameter 'drives'")
    tracks = tracked_drive(robot, parameters.track_separation_multiplier)
    return [Drive(robot, each) for each in (*described, *([] if tracks is None else [tracks]))]


def commanded_drives(
    robot: Robot,
    commands: RobotCommands,
    drives: Iterable[Drive],
    parameters: SimulatorParameters,
    states: ControllerStates,
) -> list[CommandedDrive]:
    """Return the drives with their timeouts; the default is the timeout of other commands."""
    usual = 0.0 if parameters.command_timeout_policy == 'last' else parameters.command_timeout
    found = []
    for drive in drives:
        own = drive.description.timeout
        found.append(
            CommandedDrive(
                drive,
                commands,
                round((usual if own is None else own) * 1e9),
                parameters.tick_ns,
                states,
            )
        )
    return found


def from_twist(message: Any) -> tuple[tuple[float, ...], int]:
    """Return a geometry_msgs/Twist as ordered in `CommandedDrive.take`, and 0 for its stamp."""
    v, w = message.linear, message.angular
    return (v.x, v.y, w.z, v.z, w.x, w.y), 0


def from_stamped(message: Any) -> tuple[tuple[float, ...], int]:
    """Return the twist in a geometry_msgs/TwistStamped likewise, and its stamp [ns]."""
    stamp = message.header.stamp
    return from_twist(message.twist)[0], stamp.sec * 1_000_000_000 + stamp.nanosec
