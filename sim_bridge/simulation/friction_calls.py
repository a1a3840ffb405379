"""Calls to Python friction functions from within a compiled step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sim_bridge.engine.data.contact_materials import (
    CONE,
    CONSTANT,
    ContactMaterials,
    CUSTOM,
    MU,
    MU2,
    PYRAMID,
    SIDE,
    SLIP2,
)
from sim_bridge.engine.data.contact_points import Contacts, COUNT
from sim_bridge.engine.data.contact_problem import Bound, Laws, NO_LAW, Response, Row
from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.engine.data.model import Model, Options
from sim_bridge.engine.data.state import LINEAR_IMPULSE, State
from sim_bridge.engine.data.workspace import Workspace
from sim_bridge.engine.data.world_table import Handle
from sim_bridge.engine.math.spatial import ANGULAR, LINEAR, ORIGIN
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import instance_of, real_array
from sim_bridge.shapes.friction_functions import FrictionFunction, PairFriction, TouchingPair
from sim_bridge.simulation.python_calls import PythonCalls

# a practically infinite coefficient; the solvers multiply it by forces, perhaps 0
_STICKS = 1e6
# a direction along the normal
_ALONG = 1e-6

Names = tuple[str, str, str]


class FrictionCalls:
    """
    Asks the touching pairs' functions for their friction.

    address: for `call_stage`; `bind` sets the calling handle.
    """

    def __init__(
        self, functions: Mapping[int, FrictionFunction], names: Sequence[Names], calls: PythonCalls
    ):
        """
        Keep the functions.

        functions: by ContactMaterials.law row. names: robot, link and geometry names, by the
        engine's number.
        """
        self._functions, self._names = functions, names
        # kept alive as long as its address is used
        self._callback = calls.callback(self._ask)
        self.address = self._callback.address

    def bind(self, handle: Handle) -> None:
        """Take the calling handle's arrays."""
        self._contacts, self._laws = handle.part(Contacts), handle.part(Laws)
        self._contact_materials, self._geometry = (
            handle.part(ContactMaterials),
            handle.part(Geometry),
        )
        self._state, self._pose = handle.part(State), handle.part(Workspace).pose
        self._root, self._twist = handle.part(Model).root, handle.part(Response).twist
        self._time_step = handle.part(Options).time_step

    def _ask(self, phase: int) -> None:
        """Ask for each touching geometry pair's friction, and set its laws."""
        count = int(self._contacts.size[COUNT])
        law, pairs = self._laws.law[:count], self._contacts.geometry[:count]
        is_custom = (law != NO_LAW) & (self._contact_materials.refine[law] & CUSTOM != 0)
        ends = np.flatnonzero((np.diff(pairs, axis=0) != 0).any(axis=1)) + 1
        for rows in np.split(np.arange(count), ends):
            rows = rows[is_custom[rows]]
            if len(rows):
                pair = self._pair(rows)
                found = self._functions[int(law[rows[0]])](pair)
                if found is not None:
                    self._set(rows, pair, found)

    def _pair(self, rows: np.ndarray) -> TouchingPair:
        """Return a friction function's argument: contacts in some rows, between two geometries."""
        numbers, law = self._contacts.geometry[rows[0]], int(self._laws.law[rows[0]])
        points, normals = self._contacts.point[rows], self._contacts.normal[rows]
        one, other = self._geometry.body[numbers].tolist()
        velocities = self._velocities(one, points) - self._velocities(other, points)
        velocities -= self._belts(rows)
        a, b = (self._names[number] for number in numbers)
        if self._contact_materials.refined[law, SIDE] < 0.0:
            a, b, normals, velocities = b, a, -normals, -velocities
        mu, mu2 = self._contact_materials.law[law, [MU, MU2]].tolist()
        return TouchingPair(
            a,
            b,
            points,
            -self._contacts.gap[rows],
            normals,
            velocities,
            self._last_forces(rows),
            mu,
            mu2,
            self._time_step,
        )

    def _velocities(self, body: int, points: np.ndarray) -> np.ndarray:
        """Return (n, 3) a body's velocities at points, at the step's start."""
        if body < 0:
            return np.zeros_like(points)
        x, y, z = self._twist[body, ANGULAR : ANGULAR + 3].tolist()
        arms = points - self._pose[self._root[body], ORIGIN : ORIGIN + 3]
        turning = np.array([(0.0, z, -y), (-z, 0.0, x), (y, -x, 0.0)])
        return np.asarray(self._twist[body, LINEAR : LINEAR + 3] + arms @ turning)

    def _belts(self, rows: np.ndarray) -> np.ndarray:
        """Return (n, 3) the relative velocities wanted by moving surfaces."""
        frame, target = self._laws.frame[rows].reshape(-1, 3, 3), self._laws.target[rows]
        if not target[:, 1:].any():
            return np.zeros((len(rows), 3))
        stretch = (frame[:, 2] ** 2).sum(axis=1, keepdims=True)
        second = np.divide(frame[:, 2], stretch, out=np.zeros_like(frame[:, 2]), where=stretch > 0)
        return np.asarray(
            target[:, [Row.TANGENT]] * frame[:, 1] + target[:, [Row.TANGENT2]] * second
        )

    def _last_forces(self, rows: np.ndarray) -> np.ndarray:
        """Return (n,) the last step's normal forces, 0 for new contacts [N]."""
        state = self._state
        count = int(state.contact_size[COUNT])
        same = np.flatnonzero(
            (state.contact_geometry[:count] == self._contacts.geometry[rows[0]]).all(axis=1)
        )
        impulses = state.contact_impulse[same, LINEAR_IMPULSE : LINEAR_IMPULSE + 3]
        forces = (impulses * state.contact_normal[same]).sum(axis=1) / self._time_step
        by_feature = dict(zip(state.contact_feature[same].tolist(), forces.tolist(), strict=True))
        return np.array(
            [by_feature.get(each, 0.0) for each in self._contacts.feature[rows].tolist()]
        )

    def _set(self, rows: np.ndarray, pair: TouchingPair, found: PairFriction) -> None:
        """Set the contact laws from a friction function's result."""
        laws = self._laws
        place = f'friction of geometry {"/".join(pair.a)} on {"/".join(pair.b)}'
        instance_of('result', found, PairFriction, 'a PairFriction or None')
        first = second = _numbers('friction', found.friction, len(rows), place)
        model = CONSTANT if found.is_force else CONE
        if found.friction2 is not None:
            second = _numbers('friction2', found.friction2, len(rows), place)
            model = CONSTANT if found.is_force else PYRAMID
        share, most = (self._time_step, np.inf) if found.is_force else (1.0, _STICKS)
        laws.model[rows], laws.rows[rows] = model, np.maximum(laws.rows[rows], 3)
        laws.radius[rows, Bound.TANGENT] = share * np.minimum(first, most)
        laws.radius[rows, Bound.TANGENT2] = share * np.minimum(second, most)
        if found.direction is not None or pair.friction != pair.friction2:
            self._turn(rows, found.direction, place)

    def _turn(self, rows: np.ndarray, direction: Any, place: str) -> None:
        """Set the contact frames, without the stretch in an ellipse; None: as they are."""
        laws, belts = self._laws, self._belts(rows)
        frame = laws.frame[rows].reshape(-1, 3, 3)
        normal, first = frame[:, 0], frame[:, 1]
        if direction is not None:
            first = _directions(direction, normal, first, place)
        second = np.cross(normal, first)
        laws.frame[rows] = np.stack([normal, first, second], axis=1).reshape(-1, 9)
        laws.target[rows, Row.TANGENT] = (belts * first).sum(axis=1)
        laws.target[rows, Row.TANGENT2] = (belts * second).sum(axis=1)
        slip = self._contact_materials.law[laws.law[rows[0]], SLIP2]
        laws.softness[rows, Row.TANGENT2] = slip / self._time_step


def _numbers(what: str, value: Any, count: int, place: str) -> np.ndarray:
    """Return (count,) numbers >= 0; infinite numbers are allowed."""
    expected = f'a number of at least 0, or {count} of them, one for each point'
    array = real_array(what, value, expected, place)
    if array.shape not in ((), (count,)) or not (array >= 0.0).all():
        raise InvalidValueError(what, value, expected, place)
    return np.broadcast_to(array, (count,))


def _directions(value: Any, normal: np.ndarray, otherwise: np.ndarray, place: str) -> np.ndarray:
    """Return (n, 3) unit vectors along the surface; vectors along the normal keep the others."""
    expected = f'3 finite numbers, or {len(normal)} times 3, one for each point'
    array = real_array('direction', value, expected, place)
    if array.shape not in ((3,), normal.shape) or not np.isfinite(array).all():
        raise InvalidValueError('direction', value, expected, place)
    along = array - (array * normal).sum(axis=1, keepdims=True) * normal
    length = np.linalg.norm(along, axis=1, keepdims=True)
    is_none = length <= _ALONG
    return np.where(is_none, otherwise, along / np.where(is_none, 1.0, length))
