"""A fixed joint that a program closes and opens between two links."""

from __future__ import annotations

from sim_bridge.robots.joints.spec import JointSpec
from sim_bridge.robots.owners import Link, World


class Latch:
    """Fixed joint between two links; a world constraint under its name while closed."""

    def __init__(self, world: World, name: str) -> None:
        """Begin open. name: unique among the world's joints."""
        self._world, self._name = world, name

    @property
    def is_closed(self) -> bool:
        """Whether the links are joined; a removed robot opens it."""
        return self._name in self._world.joints

    def close(self, first: Link, second: Link) -> None:
        """Join two links at their present poses; raises InvalidValueError for one rigid body."""
        self._world.add_joint('fixed', first, second, name=self._name, tree=False)

    def open(self) -> None:
        """Part the links, unless it is open."""
        if self.is_closed:
            self._world.remove_joint(self._world.joints[self._name])

    def save(self) -> JointSpec | None:
        """Return the joint for `restore`; None if open."""
        backend = self._world.simulation.registry.constraints.get(self._name)
        return None if backend is None else backend.spec

    def restore(self, saved: JointSpec | None) -> None:
        """Join the links as they were, to the bit, or part them."""
        if saved is self.save():
            return
        self.open()
        if saved is None or saved.first.link is None or saved.second.link is None:
            return
        self._world.tree.constrain(self._name, saved)
        self._world.exclude(saved.first.link, saved.second.link)
