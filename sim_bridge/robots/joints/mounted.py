"""A joint that a robot's base hangs on: added between two links, and part of a tree."""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from sim_bridge.robots.joints.tree import Joint

if TYPE_CHECKING:
    from sim_bridge.robots.joints.spec import JointSpec
    from sim_bridge.robots.link import Link

_PARAMETERS = ('passive', 'limits', 'motor', 'stop')
_COMMANDS = ('v', 'u', 'hold', 'control', 'target', 'mode')


class MountedJoint(Joint):
    """
    A joint of `World.add_joint` that closes no loop: exact, and as cheap as a robot's own joints.

    Its coordinates are those of the second link relative to the first, whichever of the two hangs
    on the other.
    """

    @property
    def key(self) -> str:
        """Its name among the world's joints."""
        return self.name

    def __init__(self, spec: JointSpec, by_second: bool):
        """Belong to the robot whose base hangs; by_second: the second link's."""
        self.spec = spec
        self.take_seat(by_second)

    @property
    def place(self) -> str:
        """Where the joint is, for messages."""
        return f'joint {self.name!r}'

    @property
    def link1(self) -> Link | None:
        """The first link; None for the world."""
        return self.spec.first.link

    @property
    def link2(self) -> Link | None:
        """The second link; None for the world."""
        return self.spec.second.link

    @property
    def anchor(self) -> np.ndarray:
        """(3,) where it is on the first link [m], world; after ODE."""
        return self.spec.first.pose[1].copy()

    @property
    def anchor2(self) -> np.ndarray:
        """(3,) where it is on the second link [m], world."""
        return self.spec.second.pose[1].copy()

    @property
    def axis(self) -> np.ndarray:
        """(3,) the first link's axis, world."""
        return self.spec.first.pose[0][:, 2].copy()

    @property
    def axis2(self) -> np.ndarray:
        """(3,) the second link's axis, world."""
        own = self.spec.axis2
        rotation = self.spec.second.pose[0]
        return rotation[:, 2].copy() if own is None else rotation @ own

    @property
    def rotation(self) -> np.ndarray:
        """(3, 3) the joint's frame on the first link, the axis last; world."""
        return self.spec.first.pose[0]

    @property
    def reaction(self) -> tuple[np.ndarray, np.ndarray]:
        """Force [N] and torque [N m] of the first link on the second; about anchor2, world."""
        force, torque = super().reaction
        torque = torque + np.cross(self.child_link.p - self.anchor2, force)
        return (force, torque) if self.by_second else (-force, -torque)

    def take_seat(self, by_second: bool) -> None:
        """Let the second link's robot hang on the first's, or the first's on the second's."""
        self.by_second = by_second
        carrier, own = self.spec.first, self.spec.second
        if not by_second:
            carrier, own = own, carrier
        mount = self.spec.mount(by_second)
        super().__init__(own.link.robot, mount.joint, carrier.link, own.link.robot.root_link)

    def values(self) -> dict[str, Any]:
        """Return copies of its coordinates, parameters and commands, for `restore`."""
        part, rows = self.robot.part, self._velocity_slice()
        kept = {array: getattr(part.model, array)[rows].copy() for array in _PARAMETERS}
        kept |= {array: getattr(part.state, array)[rows].copy() for array in _COMMANDS}
        return kept | {'q': part.state.q[self._own_q()].copy()}

    def restore(self, kept: dict[str, Any]) -> None:
        """Take coordinates, parameters and commands that `values` gave."""
        part, rows = self.robot.part, self._velocity_slice()
        for arrays, names in ((part.model, _PARAMETERS), (part.state, _COMMANDS)):
            for name in names:
                getattr(arrays, name)[rows] = kept[name]
        part.state.q[self._own_q()] = kept['q']

    def _own_q(self) -> slice:
        """Return the position coordinates, without joining arrays that are being rebuilt."""
        start = self._starts()[0]
        return slice(start, start + self.coordinates[0])
