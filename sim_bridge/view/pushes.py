"""Pushes from the page: constant forces for a given time."""

from __future__ import annotations

from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_vector, number_from
from sim_bridge.robots.body_type import motion_of_link
from sim_bridge.robots.link import Link
from sim_bridge.world.world import World

_LONGEST = 60.0  # s


class Pushes:
    """Pushes on links at their centres of mass, each with a constant force for some steps."""

    def __init__(self, world: World):
        """Start without pushes."""
        self._world = world
        self._left: list[tuple[Link, FloatArray, int]] = []

    def __len__(self) -> int:
        """Return how many pushes are active."""
        return len(self._left)

    def add(self, link: Link, force: Vector, seconds: float) -> None:
        """
        Push a link from the next step on.

        force: (3,) in world axes [N]. seconds: simulated time, at least one step, at most 60 s.
        Raises InvalidValueError for other values, and for an immovable link.
        """
        force = finite_vector('force', force, 3, 'push')
        seconds = number_from(
            'seconds', seconds, 0.0, _LONGEST, 'push', f'a number from 0 to {_LONGEST:g} [s]'
        )
        if motion_of_link(self._world.simulation, link.slot) != 'dynamic':
            raise InvalidValueError(
                'link', link.name, 'a link that can move', f'robot {link.robot.name!r}'
            )
        steps = max(1, round(seconds / self._world.time_step))
        self._left.append((link, force, steps))

    def apply(self) -> None:
        """Apply all pushes to the next step."""
        left, self._left = self._left, []
        for link, force, steps in left:
            if link.slot.robot.is_removed:
                continue
            link.add_force(force)
            if steps > 1:
                self._left.append((link, force, steps - 1))

    def clear(self) -> None:
        """End all pushes."""
        self._left = []
