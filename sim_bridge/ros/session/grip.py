"""What somebody has in hand: a point of a link, which a spring pulls to a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sim_bridge as sb
    from sim_bridge.view.drag import Drag


class Grip:
    """
    Pulls in each physics step. Nobody has anything in hand after a reset or a restored snapshot.

    is_holding: whether there is a link in hand.
    """

    def __init__(self, world: sb.World) -> None:
        """Begin with nothing in hand."""
        self._world = world
        self._drag: Drag | None = None
        self.is_holding = False

    def pull(
        self, robot: str, link: str, point: Sequence[float] | None, target: Sequence[float]
    ) -> None:
        """
        Pull a link from the next step on, instead of the one in hand.

        point: (3,) in the link's frame [m]; None for the one in hand. target: (3,) in the world
        [m]. Raises UnknownNameError, or InvalidValueError for a link that cannot move or numbers
        that are not finite.
        """
        if self._drag is None:
            # imported here, since few simulations are looked at
            from sim_bridge.view.drag import Drag

            self._drag = Drag(self._world)
        self._drag.pull(self._world.robots[robot].link(link), point, target)
        self.is_holding = self._drag.link is not None

    def drop(self) -> None:
        """Let go."""
        if self._drag is not None:
            self._drag.drop()
        self.is_holding = False

    def push(self) -> None:
        """Push what is in hand, in the next physics step."""
        assert self._drag is not None
        self._drag.push()
        self.is_holding = self._drag.link is not None
