"""The axes of joints that close loops, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.engine.data.loops import ALONG, AXES_OF_TYPE, SECOND
from sim_bridge.engine.pipeline.observe import (
    SITE_POSITION,
    SITE_ROTATION,
    SITE_SIZE,
    SITE_V,
    SITE_W,
)
from sim_bridge.robots.joints.constraint_axis import MOTOR_SHARE

if TYPE_CHECKING:
    from sim_bridge.robots.joints.constraint_axis import ConstraintAxis
    from sim_bridge.robots.joints.frame import JointFrame
    from sim_bridge.world.world import World

# columns of sites
_TURN, _PLACE = slice(SITE_ROTATION, SITE_ROTATION + 9), slice(SITE_POSITION, SITE_POSITION + 3)
_W, _V = slice(SITE_W, SITE_W + 3), slice(SITE_V, SITE_V + 3)

# the site of what never moves
_WORLD = np.zeros((1, SITE_SIZE))
_WORLD[0, _TURN] = np.eye(3).ravel()


class LoopAxes:
    """
    Reads what `ConstraintAxis` tells of each axis, of many in the time of one.

    They are those of described joints, in one world; no robot and no joint may come or go there.
    """

    def __init__(self, world: World, axes: Sequence[ConstraintAxis]) -> None:
        """Look up where the axes and the links they connect are."""
        self._world = world
        world.settle()
        first, count = {}, 0
        for joint in world.constraints.values():
            first[joint.key] = count
            count += len(joint.axes)
        self._rows = np.array([first[axis.joint.key] + axis.number for axis in axes], dtype=int)
        kinds = [AXES_OF_TYPE[axis.joint.type][axis.number] for axis in axes]
        frames = [axis.joint.frames for axis in axes]
        self._sites = [np.array([_site(pair[side]) for pair in frames], int) for side in (0, 1)]
        self._anchor = _rows_of([second.position for _, second in frames])
        # the link that an axis is fixed to, and its direction there
        owner = [pair[kind == SECOND] for pair, (kind, _) in zip(frames, kinds, strict=True)]
        self._owner = np.array([_site(frame) for frame in owner], int)
        self._direction = _rows_of([
            frame.rotation[:, column] for frame, (_, column) in zip(owner, kinds, strict=True)])
        self._slides = np.array([kind == ALONG for kind, _ in kinds], bool)
        # of two axes that a joint turns about, each has the other as its partner; else itself
        turns = np.flatnonzero(~self._slides)
        self._partner = np.arange(len(axes))
        for here in turns:
            for there in turns:
                if here != there and axes[here].joint is axes[there].joint:
                    self._partner[here] = there
        self._has_partner = self._partner != np.arange(len(axes))

    @property
    def q(self) -> np.ndarray:
        """Positions after the last step [rad or m]; a copy."""
        return self._world.state.axis_q[self._rows]

    @property
    def efforts(self) -> np.ndarray:
        """What drives each: the applied effort, and the motor's in the last step [N m or N]."""
        state = self._world.state
        return state.axis_u[self._rows] + state.axis_effort[self._rows, MOTOR_SHARE]

    @property
    def dq(self) -> np.ndarray:
        """Velocities at the present state [rad/s or m/s]."""
        # the world's is the last row
        sites = np.concatenate([self._world.observed_sites(), _WORLD])
        first, second = sites[self._sites[0]], sites[self._sites[1]]
        along = _turned(sites[self._owner], self._direction)
        turning = second[:, _W] - first[:, _W]
        rates = _dot(along, turning)
        if self._has_partner.any():
            # turning is a sum of both rates, and the axes need not be at right angles
            partner = along[self._partner]
            cosine = _dot(along, partner)
            with np.errstate(divide='ignore', invalid='ignore'):
                own = (rates - cosine * _dot(partner, turning)) / (1.0 - cosine**2)
            rates = np.where(self._has_partner, own, rates)
        if self._slides.any():
            # of both links, where the second one's anchor is
            arm = _turned(second, self._anchor)
            apart = second[:, _PLACE] - first[:, _PLACE]
            sliding = _velocity(second, arm) - _velocity(first, apart + arm)
            rates = np.where(self._slides, _dot(along, sliding), rates)
        return rates


def _site(frame: JointFrame) -> int:
    """Return the row of a frame's link among all sites; that of the world comes last."""
    link = frame.link
    return -1 if link is None else link.robot.first_site + link.robot.links.index(link)


def _rows_of(vectors: list[np.ndarray]) -> np.ndarray:
    return np.array(vectors).reshape(-1, 3)


def _turned(sites: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Take vectors (n, 3) from the axes of sites (n, 30) to the world's."""
    rotation = sites[:, _TURN].reshape(-1, 3, 3)
    return (rotation @ vectors[:, :, np.newaxis])[:, :, 0]


def _velocity(sites: np.ndarray, arms: np.ndarray) -> np.ndarray:
    """Return the velocities (n, 3) of points at `arms` from the sites' origins [m], world axes."""
    return sites[:, _V] + np.cross(sites[:, _W], arms)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum('ij,ij->i', a, b)
