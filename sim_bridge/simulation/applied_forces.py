"""Applied forces on each rigid body in the last step, without contacts and constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sim_bridge.engine.data.model import CENTRE, immobile_bodies, LIFTED, Model, POINT
from sim_bridge.engine.data.workspace import Workspace
from sim_bridge.simulation.slots import LinkSlot

_NONE = np.zeros(6)
_NO_PUSHES = np.zeros((0, 6))

SavedForces = np.ndarray | tuple[np.ndarray, np.ndarray]
"""(n, 6) for links in order; or the wrenches (nb, 6) and poses (nb, 12) for bodies in a step."""


class AppliedForces:
    """
    Force and torque applied to each link's body in the last step: gravity, fields and pushes.

    They are computed at the first request, from the step's workspace.
    """

    def __init__(self) -> None:
        """Begin before the first step."""
        self.clear()

    def clear(self) -> None:
        """Forget the last step."""
        self._left: tuple[np.ndarray, np.ndarray] | None = None
        self._rows: Mapping[LinkSlot, np.ndarray] = {}
        self._pushes = _NO_PUSHES

    def look(self, ws: Workspace) -> None:
        """Copy the last step's wrenches and poses; ws: the workspace for steps."""
        left = ws.wrench.copy(), ws.pose.copy()
        pushes = _lines(*left)
        self._left, self._pushes = left, pushes

    @property
    def is_unread(self) -> bool:
        """Whether `find` has not been called since the last step."""
        return self._left is not None

    def find(self, links: Sequence[LinkSlot], model: Model) -> None:
        """Compute the applied forces; links and model must be the same as in the step."""
        if self._left is not None:
            rows = _applied(model, *self._left)
            of_links = {link: rows[link.body] for link in links}
            self._rows, self._left = of_links, None

    def pushes(self) -> np.ndarray:
        """
        Return (n, 6) a point [m] and the force [N], world axes, for each pushed body.

        Fields push too, gravity does not. The point on the force's line is nearest to the body's
        origin. Pure torques have no line.
        """
        return self._pushes

    def of(self, link: LinkSlot) -> np.ndarray:
        """Return (6,) force [N] and torque about the body's mass centre [N m], world axes."""
        return self._rows.get(link, _NONE)

    def save(self, links: Sequence[LinkSlot]) -> SavedForces:
        """Return the snapshot data for `restore`."""
        if self._left is not None:
            return self._left
        return np.array([self.of(link) for link in links]).reshape(-1, 6)

    def restore(self, links: Sequence[LinkSlot], saved: SavedForces) -> None:
        """Restore data from `save`."""
        self.clear()
        if isinstance(saved, tuple):
            self._left = saved
        else:
            self._rows = dict(zip(links, saved, strict=True))


def _lines(wrench: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Return (n, 6) the force lines; wrench: (nb, 6) torque about the origin, force."""
    pushed = np.flatnonzero(wrench[:, 3:].any(axis=1))
    if not len(pushed):
        return _NO_PUSHES
    torque, force = wrench[pushed, :3], wrench[pushed, 3:]
    squares = np.einsum('ij,ij->i', force, force)[:, None]
    return np.hstack([pose[pushed, 9:12] + np.cross(force, torque) / squares, force])


def _applied(model: Model, wrench: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Return (nb, 6) force and torque about the mass centres."""
    rotation, uniform = pose[:, :9].reshape(-1, 3, 3), model.gravity[:3]
    arm = np.einsum('nij,nj->ni', rotation, model.inertia[:, CENTRE : CENTRE + 3])
    torque = wrench[:, :3] - np.cross(arm, wrench[:, 3:])
    force = wrench[:, 3:] + model.inertia[:, :1] * uniform
    for body, row in zip(model.medium_body, model.medium, strict=True):
        lift = -row[LIFTED] * uniform
        force[body] += lift
        point = rotation[body] @ row[POINT : POINT + 3]
        torque[body] += np.cross(point - arm[body], lift)
    rows = np.hstack([force, torque])
    rows[immobile_bodies(model)] = 0.0
    return rows
