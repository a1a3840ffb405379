"""Relative connector motion in an OpenPLX scene."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sim_bridge.description.openplx.mapping.records import Signal
from sim_bridge.foundation.rotation import rpy_from_matrix
from sim_bridge.world.owners import OpenPlxScene


class _Connector:
    """A connector fixed to a body, or to the scene's world frame."""

    def __init__(self, scene: OpenPlxScene, signal: Signal, number: int):
        frame = signal.frames[number] if number < len(signal.frames) else None
        self._link = scene.link(frame.body) if frame is not None and frame.body else None
        at = None if frame is None else frame.pose
        if at is not None and self._link is None:
            at = scene.place(at)
        self._p = np.zeros(3) if at is None else at.position
        self._R = np.eye(3) if at is None else at.rotation

    @property
    def p(self) -> np.ndarray:
        link = self._link
        return self._p if link is None else link.p + link.R @ self._p

    @property
    def R(self) -> np.ndarray:
        return self._R if self._link is None else self._link.R @ self._R

    @property
    def w(self) -> np.ndarray:
        return np.zeros(3) if self._link is None else self._link.w

    @property
    def v(self) -> np.ndarray:
        link = self._link
        return np.zeros(3) if link is None else link.v + np.cross(link.w, link.R @ self._p)

    @property
    def dw(self) -> np.ndarray:
        return np.zeros(3) if self._link is None else self._link.dw

    @property
    def dv(self) -> np.ndarray:
        link = self._link
        if link is None:
            return np.zeros(3)
        arm, w = link.R @ self._p, link.w
        return link.dv + np.cross(link.dw, arm) + np.cross(w, np.cross(w, arm))


def motion_of_connector(
    scene: OpenPlxScene, signal: Signal, what: str
) -> Callable[[], np.ndarray]:
    """
    Return a reader for connector motion relative to the signal's other connector.

    The result is in the other connector's axes. what: 'p', 'rpy', 'v', 'w', 'dv' or 'dw'.

    Position, velocity and acceleration in a moving frame: Siciliano et al., Robotics, 2009,
    sections 3.1 and 7.1; with Coriolis and Euler terms.
    """
    own, other = _Connector(scene, signal, 0), _Connector(scene, signal, 1)

    def read() -> np.ndarray:
        away = own.p - other.p
        axes = other.R.T
        if what == 'p':
            return axes @ away
        if what == 'rpy':
            return rpy_from_matrix(axes @ own.R)
        w = other.w
        if what == 'w':
            return axes @ (own.w - w)
        v = own.v - other.v - np.cross(w, away)
        if what == 'v':
            return axes @ v
        if what == 'dw':
            return axes @ (own.dw - other.dw - np.cross(w, own.w))
        return axes @ (
            own.dv
            - other.dv
            - np.cross(other.dw, away)
            - np.cross(w, np.cross(w, away))
            - 2.0 * np.cross(w, v)
        )

    return read
