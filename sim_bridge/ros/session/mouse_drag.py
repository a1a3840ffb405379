"""What somebody does by hand: pulls a point of a link by a spring, pushes links for a while."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sim_bridge as sb
    from sim_bridge.view.drag import Drag
    from sim_bridge.view.pushes import Pushes


class MouseDrag:
    """
    Pulls and pushes in each physics step; none of it outlives a reset or a restored snapshot.

    is_busy: whether there is a link in hand, or a push goes on.
    """

    def __init__(self, world: sb.World) -> None:
        """Begin with nothing in hand."""
        self._world = world
        self._drag: Drag | None = None
        self._pushes: Pushes | None = None
        self.is_busy = False

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
        self._update_busy()

    def push(self, robot: str, link: str, force: Sequence[float], seconds: float) -> None:
        """
        Push a link at its centre of mass from the next step on.

        force: (3,) in world axes [N]. seconds: of simulated time. Raises UnknownNameError, or
        InvalidValueError for a link that cannot move and numbers that cannot be.
        """
        if self._pushes is None:
            # as above
            from sim_bridge.view.pushes import Pushes

            self._pushes = Pushes(self._world)
        self._pushes.add(self._world.robots[robot].link(link), force, seconds)
        self.is_busy = True

    def drop(self) -> None:
        """Let go of what is in hand."""
        if self._drag is not None:
            self._drag.drop()
        self._update_busy()

    def end(self) -> None:
        """Let go, and push nothing more."""
        if self._pushes is not None:
            self._pushes.clear()
        self.drop()

    def apply(self) -> None:
        """Push what is in hand or pushed, in the next physics step."""
        if self._drag is not None:
            self._drag.push()
        if self._pushes:
            self._pushes.apply()
        self._update_busy()

    def _update_busy(self) -> None:
        self.is_busy = bool(self._pushes) or (
            self._drag is not None and self._drag.link is not None
        )
