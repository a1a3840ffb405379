"""The seat of a joint that a robot's base is mounted on, added between two links of a tree."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from sim_bridge.robots.joints.joint import Joint
from sim_bridge.robots.joints.tree import TreeSeat

if TYPE_CHECKING:
    from sim_bridge.robots.joints.spec import JointSpec

_PARAMETERS = ('passive', 'limits', 'motor', 'stop')
_COMMANDS = ('v', 'u', 'hold', 'control', 'target', 'course', 'mode')


class MountedSeat(TreeSeat):
    """
    The seat of a joint of `World.add_joint` that closes no loop.

    joint: the joint that sits here, for users.
    """

    def __init__(self, spec: JointSpec, by_second: bool):
        """Sit in the tree of the robot whose base hangs; by_second: the second link's."""
        carrier, own = spec.sides(by_second)
        super().__init__(
            own.robot, spec.mount(by_second).joint, carrier, own.robot.root_link)
        self.spec = spec
        self.by_second = by_second
        self.key = spec.name
        self.place = f'joint {spec.name!r}'
        self.frames = spec.frames
        self.joint = Joint(self)

    def turn(self, by_second: bool) -> None:
        """Let the second link's robot hang on the first's, or the first's on the second's."""
        carrier, own = self.spec.sides(by_second)
        self.by_second = by_second
        self.hang(own.robot, self.spec.mount(by_second).joint, carrier, own.robot.root_link)

    def values(self) -> dict[str, Any]:
        """Return copies of its coordinates, parameters and commands, for `restore`."""
        kept = {array: self.parameters(array).copy() for array in _PARAMETERS}
        kept |= {array: self.states(array).copy() for array in _COMMANDS}
        return kept | {'q': self.positions().copy()}

    def restore(self, kept: dict[str, np.ndarray]) -> None:
        """Take coordinates, parameters and commands that `values` gave."""
        for name in _PARAMETERS:
            self.parameters(name)[:] = kept[name]
        for name in _COMMANDS:
            self.states(name)[:] = kept[name]
        self.positions()[:] = kept['q']
