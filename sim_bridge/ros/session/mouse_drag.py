"""Forces applied by the user: a spring on a link's point, pushes with limited duration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sim_bridge as sb
    from sim_bridge.view.drag import Drag
    from sim_bridge.view.pushes import Pushes


class MouseDrag:
    """
    Applies pulls and pushes in each physics step, until a reset or a restored snapshot.

    is_busy: whether a link is pulled or pushed.
    """

    def __init__(self, world: sb.World) -> None:
        """Start without forces."""
        self._world = world
        self._drag: Drag | None = None
        self._pushes: Pushes | None = None
        self.is_busy = False

    def pull(
        self, robot: str, link: str, point: Sequence[float] | None, target: Sequence[float]
    ) -> None:
        """
        Pull a link from the next step on; it replaces the link pulled before.

        point: (3,) in the link's frame [m]; None for the current point. target: (3,) in the world
        [m]. Raises UnknownNameError, or InvalidValueError for an immovable link or non-finite
        values.
        """
        if self._drag is None:
            # imported here, since few simulations are viewed
            from sim_bridge.view.drag import Drag

            self._drag = Drag(self._world)
        self._drag.pull(self._world.robots[robot].link(link), point, target)
        self._update_busy()

    def push(self, robot: str, link: str, force: Sequence[float], seconds: float) -> None:
        """
        Push a link at its centre of mass from the next step on.

        force: (3,) in world axes [N]. seconds: duration in simulated time [s]. Raises
        UnknownNameError, or InvalidValueError for an immovable link or invalid values.
        """
        if self._pushes is None:
            # imported here, as above
            from sim_bridge.view.pushes import Pushes

            self._pushes = Pushes(self._world)
        self._pushes.add(self._world.robots[robot].link(link), force, seconds)
        self.is_busy = True

    def drop(self) -> None:
        """Stop pulling."""
        if self._drag is not None:
            self._drag.drop()
        self._update_busy()

    def end(self) -> None:
        """Stop pulling and pushing."""
        if self._pushes is not None:
            self._pushes.clear()
        self.drop()

    def apply(self) -> None:
        """Apply pulls and pushes to the next physics step."""
        if self._drag is not None:
            self._drag.push()
        if self._pushes:
            self._pushes.apply()
        self._update_busy()

    def _update_busy(self) -> None:
        self.is_busy = bool(self._pushes) or (
            self._drag is not None and self._drag.link is not None
        )
