"""Backend for a world joint that carries a robot's base."""

from __future__ import annotations

import numpy as np

from sim_bridge.robots.joints.joint import Joint
from sim_bridge.robots.joints.spec import JointSpec
from sim_bridge.robots.joints.tree import PARAMETERS, TreeJointBackend

_COMMANDS = ('v', 'u', 'hold', 'control', 'target', 'course', 'mode')


class MountedJointBackend(TreeJointBackend):
    """
    Backend for a joint from `World.add_joint` that closes no loop.

    joint: the public joint.
    """

    def __init__(self, spec: JointSpec, by_second: bool):
        """
        Mount one link's robot on the other link.

        by_second: whether the second link's robot is mounted on the first link.
        """
        carrier, own = spec.sides(by_second)
        super().__init__(own.robot, spec.mount(by_second), carrier, own.robot.root_link)
        self.spec = spec
        self.by_second = by_second
        self.key = spec.name
        self.place = f'joint {spec.name!r}'
        self.frames = spec.frames
        self.joint = Joint(self)

    def turn(self, by_second: bool) -> None:
        """
        Mount one link's robot on the other link.

        by_second: whether the second link's robot is mounted on the first link.
        """
        carrier, own = self.spec.sides(by_second)
        self.by_second = by_second
        self.hang(own.robot, self.spec.mount(by_second), carrier, own.robot.root_link)

    def values(self) -> list[np.ndarray]:
        """Return copied coordinates, parameters and commands, for `restore`."""
        return [array.copy() for array in self._arrays()]

    def restore(self, kept: list[np.ndarray]) -> None:
        """Set coordinates, parameters and commands from `values`."""
        positions, *others = kept
        self.set_positions(slice(None), positions)
        for field, values in zip((*PARAMETERS, *_COMMANDS), others, strict=True):
            self.write(field, slice(None), values)

    def _arrays(self) -> list[np.ndarray]:
        return [self.positions(), *map(self.parameters, PARAMETERS), *map(self.states, _COMMANDS)]
