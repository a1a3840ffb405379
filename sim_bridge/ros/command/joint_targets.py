"""Commands of one controller for some joints, in force until something else commands them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from sim_bridge.ros.command.command_table import EFFORT, POSITION, QUANTITIES, VELOCITY

if TYPE_CHECKING:
    from sim_bridge.foundation.arrays import FloatArray
    from sim_bridge.robots.robot import Robot
    from sim_bridge.ros.command.commands import RobotCommands


class SavedTargets(NamedTuple):
    """State of JointTargets. values: (3, n) position, velocity, effort; nan for none."""

    is_active: bool
    values: FloatArray


class JointTargets:
    """
    Targets and efforts of one controller; one of the `Following`s of the robot's commands.

    It is active from the first value until another command addresses one of its joints.
    """

    def __init__(self, robot: Robot, commands: RobotCommands, joints: Sequence[str]) -> None:
        """Start without values. joints: names of joints with one axis."""
        names = list(robot.joint_names)
        self.joints = tuple(joints)
        self.columns = np.array([names.index(joint) for joint in joints], int)
        """(k,) indices of the joints in the robot."""
        self.is_active = False
        """Whether it commands its joints."""
        self._robot, self._commands = robot, commands
        self._rows = np.array([name in joints for name in commands.names], bool)
        self._values = np.full((len(QUANTITIES), len(names)), np.nan)
        # whether the robot's motors may have other targets
        self._is_new = False

    def set(self, quantity: int, column: int, value: float) -> None:
        """Set a quantity of the joint with an index in the robot."""
        if self._values[quantity, column] != value:
            self._values[quantity, column] = value
            self._is_new = True

    def start(self) -> None:
        """Command the joints from now on; other commands release them. On the physics thread."""
        if not self.is_active:
            self._commands.following.give_way(self._rows, np.zeros_like(self._rows))
            self.is_active = self._is_new = True

    def write(self) -> None:
        """Write new values for the next control step; motors keep the targets written before."""
        if self.is_active and self._is_new:
            self._is_new = False
            position, velocity, effort = self._values
            # a position without a velocity means rest there
            at_rest = ~np.isnan(position) & np.isnan(velocity)
            self._robot.set_commands(position, np.where(at_rest, 0.0, velocity), effort)

    def end(self) -> None:
        """Release the joints: velocities and efforts end, positions are kept by their motors."""
        if self.is_active:
            self._values[VELOCITY:][~np.isnan(self._values[VELOCITY:])] = 0.0
            self._values[POSITION] = np.nan
            self._is_new = True
            self.write()
        self._release()

    def _release(self) -> None:
        self.is_active = False
        self._values[:] = np.nan

    # --- Following -------------------------------------------------------------------------------

    @property
    def is_aside(self) -> bool:
        """Whether it commands no joint."""
        return not self.is_active

    def give_way(self, commanded: np.ndarray, by_effort: np.ndarray) -> None:
        """Release all joints if one gets another command; (n,) by command row."""
        has_effort = not np.isnan(self._values[EFFORT]).all()
        taken = commanded | by_effort if has_effort else commanded
        if self.is_active and bool((taken & self._rows).any()):
            self._release()

    def take_rest(self) -> None:
        """Do nothing: its commands do not time out."""

    def refresh(self, changed: Iterable[str]) -> None:
        """Release the joints if the control mode of one of them was set; else write again."""
        self._is_new = True
        if not set(changed).isdisjoint(self.joints):
            self._release()

    def shift(self, by_ns: int) -> None:
        """Do nothing: the values have no time."""

    def save(self, time_ns: int) -> SavedTargets:
        """Return the state for `restore`."""
        return SavedTargets(self.is_active, self._values.copy())

    def restore(self, saved: SavedTargets, time_ns: int) -> None:
        """Return to a saved state."""
        self.is_active, self._values = saved.is_active, saved.values.copy()
        self._is_new = True

    def restart(self, words: str = '') -> None:
        """Release all joints."""
        self._release()
