"""Joint law rows: stops, friction, motors, holds, springs and dampers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.engine.data.joint_laws import (
    BACK_COULOMB,
    COULOMB,
    HARD,
    HIGH,
    INERTIA,
    LEAST,
    LOW,
    MOST,
    MOTOR,
    SERVO,
    SERVO_DAMPING,
    SERVO_EFFORT,
    SERVO_SLOPE,
    STOP,
    STOP_EFFORT,
    STOP_SLOPE,
    TARGET,
)
from sim_bridge.engine.data.model import DAMPING, STIFFNESS
from sim_bridge.engine.data.state import HELD

STOP_ROW, FRICTION_ROW, MOTOR_ROW = 'stop', 'friction', 'motor'
HOLD_ROW, PASSIVE_ROW = 'hold', 'passive'


class JointLaws(NamedTuple):
    """
    Rows w = jacobian v⁺ + softness ν - target for k joint laws, with bounded impulses ν.

    least <= ν <= most; w >= 0 where ν is the least, w <= 0 where it is the most, else w = 0.

    types: (k) 'stop', 'friction', 'motor', 'hold', or 'passive': the change in springs and dampers
    within the step, beside their effort at its start. names: (k) joint names, 'robot/joint'.
    jacobian: (k, nv). target: (k,) [m/s, rad/s]. softness: (k,) velocity per impulse. least, most:
    (k,) [N s, N m s], infinite without a bound.
    """

    types: list[str]
    names: list[str]
    jacobian: np.ndarray
    target: np.ndarray
    softness: np.ndarray
    least: np.ndarray
    most: np.ndarray

    def chosen(self, mask: np.ndarray) -> JointLaws:
        """Return the rows selected by a mask (k,)."""
        kept = np.flatnonzero(mask).tolist()
        return JointLaws(
            [self.types[row] for row in kept],
            [self.names[row] for row in kept],
            self.jacobian[mask],
            self.target[mask],
            self.softness[mask],
            self.least[mask],
            self.most[mask],
        )

    @property
    def is_bounded(self) -> np.ndarray:
        """(k,) False for rows with unbounded impulses: these are equations."""
        return np.isfinite(self.least) | np.isfinite(self.most)


class _Rows:
    """Gathered rows; each acts along one coordinate, with a sign."""

    def __init__(self) -> None:
        self.types: list[str] = []
        self._parts: list[np.ndarray] = []

    def add(
        self,
        kind: str,
        at: np.ndarray,
        target: np.ndarray,
        softness: np.ndarray | float = 0.0,
        least: np.ndarray | float = -np.inf,
        most: np.ndarray | float = np.inf,
        sign: np.ndarray | float = 1.0,
    ) -> None:
        """Add rows of one type; each array has an entry for each coordinate in `at`."""
        if len(at):
            self.types += [kind] * len(at)
            values = np.empty((6, len(at)))
            for row, value in enumerate((at, target, softness, least, most, sign)):
                values[row] = value
            self._parts.append(values)

    def laws(self, names: list[str], nv: int) -> JointLaws:
        """Return the rows; names: (nv) coordinate names."""
        values = np.concatenate([np.zeros((6, 0)), *self._parts], axis=1)
        at = values[0].astype(int)
        _, target, softness, least, most, sign = values
        jacobian = np.zeros((len(at), nv))
        jacobian[np.arange(len(at)), at] = sign
        return JointLaws(
            self.types, [names[k] for k in at], jacobian, target, softness, least, most
        )


def joint_law_rows(
    law: np.ndarray,
    mode: np.ndarray,
    passive: np.ndarray,
    velocity: np.ndarray,
    h: float,
    names: list[str],
) -> JointLaws:
    """
    Return the joint law rows for a step with duration h [s].

    law, mode: (nv, …) from `current_joint_laws`. passive: the model's. velocity: (nv,)
    at the start. names: (nv) joint names by coordinate, '' without laws.
    """
    has_law = np.array([bool(name) for name in names], bool)
    is_held = (mode == HELD) & has_law
    acts = has_law & ~is_held
    rows = _Rows()
    rows.add(HOLD_ROW, np.flatnonzero(is_held), np.zeros(is_held.sum()))
    for bound, sign in ((HIGH, -1.0), (LOW, 1.0)):
        at = np.flatnonzero(acts & np.isfinite(law[:, bound]))
        rows.add(STOP_ROW, at, sign * law[at, bound], least=0.0, sign=sign)
    at = np.flatnonzero(acts & (law[:, STOP] != 0.0))
    inwards = -law[at, STOP]
    rows.add(
        STOP_ROW,
        at,
        inwards * _unloaded(law[at], velocity[at], STOP_EFFORT, STOP_SLOPE),
        1.0 / (h * law[at, STOP_SLOPE]),
        least=0.0,
        sign=inwards,
    )
    at = np.flatnonzero(acts & ((law[:, COULOMB] > 0.0) | (law[:, BACK_COULOMB] > 0.0)))
    rows.add(
        FRICTION_ROW,
        at,
        np.zeros(len(at)),
        least=-h * law[at, COULOMB],
        most=h * law[at, BACK_COULOMB],
    )
    at = np.flatnonzero(acts & (law[:, MOTOR] == HARD))
    rows.add(MOTOR_ROW, at, law[at, TARGET], least=h * law[at, LEAST], most=h * law[at, MOST])
    is_servo = acts & (law[:, MOTOR] == SERVO) & (law[:, SERVO_SLOPE] > 0.0)
    at = np.flatnonzero(is_servo)
    rows.add(
        MOTOR_ROW,
        at,
        _unloaded(law[at], velocity[at], SERVO_EFFORT, SERVO_SLOPE),
        1.0 / (h * law[at, SERVO_SLOPE]),
        h * law[at, LEAST],
        h * law[at, MOST],
    )
    implicit = _implicit_inertia(law, passive, is_servo, h)
    at = np.flatnonzero(acts & (implicit > 0.0))
    rows.add(PASSIVE_ROW, at, velocity[at], 1.0 / implicit[at])
    return rows.laws(names, len(velocity))


def _unloaded(law: np.ndarray, velocity: np.ndarray, effort: int, slope: int) -> np.ndarray:
    """Return the velocities after the step at which law elements exert no effort."""
    return velocity + law[:, effort] / law[:, slope]


def _implicit_inertia(
    law: np.ndarray, passive: np.ndarray, is_servo: np.ndarray, h: float
) -> np.ndarray:
    """Return the inertia added by springs and dampers, as `articulated.implicit_inertia`."""
    own = h * passive[:, DAMPING]
    all_dampers = own + h * np.where(is_servo, law[:, SERVO_DAMPING], 0.0)
    inertia = law[:, INERTIA]
    weight = np.divide(
        3.0 * inertia + all_dampers,
        6.0 * inertia + all_dampers,
        out=np.zeros_like(own),
        where=all_dampers > 0.0,
    )
    return own * weight + 0.25 * h * h * passive[:, STIFFNESS]
