"""Batched access to constraint joint axes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from sim_bridge.engine.data.state import MOTOR_SHARE
from sim_bridge.engine.math.vec3 import add, cross, sub
from sim_bridge.engine.pipeline import observe
from sim_bridge.robots.joints.axis import Axis
from sim_bridge.robots.joints.constraint import ConstraintJointBackend
from sim_bridge.robots.joints.frame import JointFrame
from sim_bridge.robots.joints.free_axes import axis_rate, AxisKinds
from sim_bridge.simulation.simulation import Simulation

# columns in the observed sites
_TURN = slice(observe.SITE_ROTATION, observe.SITE_ROTATION + 9)
_PLACE, _W, _V = (
    slice(start, start + 3) for start in (observe.SITE_POSITION, observe.SITE_W, observe.SITE_V)
)

# the world's site, at rest
_WORLD = np.zeros((1, observe.SITE_SIZE))
_WORLD[0, _TURN] = np.eye(3).ravel()


class LoopAxes:
    """
    Reader for many constraint joint axes in one world.

    Valid until robots or joints are added to the world or removed from it.
    """

    def __init__(self, simulation: Simulation, axes: Sequence[Axis]) -> None:
        """Look up the rows for the axes and the connected links."""
        self._simulation = simulation
        simulation.cache.settle()
        own = [axis.backend for axis in axes if isinstance(axis.backend, ConstraintJointBackend)]
        self._rows = np.array(
            [backend.first_axis + axis.number for backend, axis in zip(own, axes, strict=True)],
            int,
        )
        # sort by kind: equal kinds are computed together
        kinds = [
            tuple(backend.free.kinds.axis_kind[axis.number].tolist())
            for backend, axis in zip(own, axes, strict=True)
        ]
        order = sorted(range(len(axes)), key=lambda row: kinds[row])
        self._order = np.argsort(order)
        frames = [(own[row].frames.first, own[row].frames.second) for row in order]
        self._sites = [np.array([_site(pair[side]) for pair in frames], int) for side in (0, 1)]
        # axes along the last dimension, as `axis_rate` expects
        self._rotations = [
            np.array([pair[side].rotation for pair in frames]).transpose(1, 2, 0)
            for side in (0, 1)
        ]
        self._anchor = np.array([second.position for _, second in frames]).T
        self._groups = []
        for kind, of_kind in groupby(range(len(order)), key=lambda at: kinds[order[at]]):
            rows = list(of_kind)
            self._groups.append(
                (AxisKinds(np.array([kind]), np.zeros((1, 3))), slice(rows[0], rows[-1] + 1))
            )

    @property
    def q(self) -> np.ndarray:
        """(n,) positions after the last step [rad or m]; a copy."""
        return self._simulation.cache.state.axis_q[self._rows]

    @property
    def efforts(self) -> np.ndarray:
        """(n,) applied effort plus the last step's motor effort [N m or N]."""
        state = self._simulation.cache.state
        return state.axis_u[self._rows] + state.axis_effort[self._rows, MOTOR_SHARE]

    @property
    def dq(self) -> np.ndarray:
        """(n,) velocities in the current state [rad/s or m/s]."""
        # the world's site is the last row
        sites = np.concatenate([self._simulation.observation.sites(), _WORLD])
        first, second = (sites[rows].T for rows in self._sites)
        turns = [each[_TURN].reshape(3, 3, -1) for each in (first, second)]
        R_A, R_B = (
            np.einsum('ijn,jkn->ikn', turn, rotation)
            for turn, rotation in zip(turns, self._rotations, strict=True)
        )
        # both links' velocities at the anchor on the second link
        arm = np.einsum('ijn,jn->in', turns[1], self._anchor)
        apart = second[_PLACE] - first[_PLACE] + arm
        moving = np.array(sub(_velocity(second, arm), _velocity(first, apart)))
        turning = second[_W] - first[_W]
        rates = np.concatenate(
            [
                axis_rate(
                    kinds, 0, R_A[:, :, rows], R_B[:, :, rows], moving[:, rows], turning[:, rows]
                )
                for kinds, rows in self._groups
            ]
        )
        return rates[self._order]


def _site(frame: JointFrame) -> int:
    """Return the site row for a frame's link; -1, the last row, for the world."""
    return -1 if frame.link is None else frame.link.slot.site


def _velocity(sites: np.ndarray, arms: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return point velocities at `arms` (3, n) [m] from the sites' origins; world axes."""
    return add(sites[_V], cross(sites[_W], arms))
