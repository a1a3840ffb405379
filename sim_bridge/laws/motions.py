"""Coupling between leading joints and robot coordinates, and the state for control laws."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from sim_bridge.engine.data.model import FREE, KINEMATIC
from sim_bridge.foundation.arrays import FloatArray, Matrix, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_rows, finite_vector, is_floats
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation.robot_dynamics import RobotDynamics
from sim_bridge.world.operations import operations_of

Numbers = Vector | Matrix
"""Numbers for one configuration, or rows for many."""


class Coupling:
    """
    The n joints of `robot.joint_names` among the robot's coordinates; mimic joints follow others.

    leads: (n,) whether each joint leads. G: (nv, n), from velocities of leading joints to
    velocities of all coordinates; follower columns are zero, and so are the rows of a free base
    and of joints with several axes. in_q, in_dq: joint slices in q and dq. passive: coordinate
    indices of the base and of joints with several axes. base: number of base
    coordinates.
    """

    def __init__(self, robot: Robot, nv: int) -> None:
        """Read the mimic rules."""
        names = robot.joint_names
        n = len(names)
        kinds = robot.slot.blueprint.model.kind
        self.base, first_q = (6, 7) if len(kinds) and kinds[0] >= FREE else (0, 0)
        first = self.base
        self.in_q, self.in_dq = slice(first_q, first_q + n), slice(first, first + n)
        self.passive = np.delete(np.arange(nv), self.in_dq)
        rules = [robot.joint(name).mimic for name in names]
        self.leads = np.array([rule is None for rule in rules], bool)
        self._leaders = np.array(
            [at if rule is None else names.index(rule.joint) for at, rule in enumerate(rules)], int
        )
        self._multipliers, self._offsets = (
            np.array([value if rule is None else getattr(rule, name) for rule in rules], float)
            for name, value in (('multiplier', 1.0), ('offset', 0.0))
        )
        self.G = np.zeros((nv, n))
        self.G[first + np.arange(n), self._leaders] = self._multipliers
        self.has_followers = not self.leads.all()

    def positions(self, joint_q: FloatArray) -> FloatArray:
        """Return positions (n,) with followers at their leaders' values; or rows."""
        if not self.has_followers:
            return joint_q
        return self._multipliers * joint_q[..., self._leaders] + self._offsets


_COUPLINGS: WeakKeyDictionary[RobotDynamics, Coupling] = WeakKeyDictionary()


class Motions:
    """
    Robot at a state, and its joint motions.

    place: for error messages. q, dq: (nq,), (nv,) as in `sb.dynamics`, with followers at their
    leaders' values; or rows, if allowed. joint_q, joint_dq: (n,) views of the joints' entries. All
    are read-only by convention: they may be the given arrays, or the robot's own.
    """

    def __init__(
        self, robot: Robot, q: Numbers | None, dq: Numbers | None, *, many: bool = False
    ) -> None:
        """Use the present state for None; many: allow rows. Raises InvalidValueError."""
        operations = operations_of(robot)
        coupling = _COUPLINGS.get(operations)
        if coupling is None:
            coupling = _COUPLINGS[operations] = Coupling(robot, operations.nv)
        self.robot, self.coupling, self.place = robot, coupling, operations.place
        self.size, self.G, self.leads = len(coupling.leads), coupling.G, coupling.leads
        self._take, self._count = finite_rows if many else finite_vector, 1
        state = operations.state
        self.q = state['q'][0] if q is None else self._rows('q', q, operations.nq)
        self.dq = state['dq'][0] if dq is None else self._rows('dq', dq, operations.nv)
        if coupling.has_followers:
            self.q, self.dq = self.q.copy(), self.dq.copy()
        self.joint_q, self.joint_dq = self.q[..., coupling.in_q], self.dq[..., coupling.in_dq]
        if coupling.has_followers:
            self.joint_q[:] = coupling.positions(self.joint_q)
            self.joint_dq[:] = self.joint_dq @ self.G[coupling.in_dq].T

    def at(self, joint_q: FloatArray) -> FloatArray:
        """Return the configuration (nq,) at joint positions (n,), followers included."""
        q = self.q.copy()
        q[self.coupling.in_q] = self.coupling.positions(joint_q)
        return q

    def vector(self, what: str, value: Numbers | None) -> float | FloatArray:
        """Return a value for each joint (n,), or rows; 0 for None. Raises InvalidValueError."""
        return 0.0 if value is None else self._rows(what, value, self.size)

    def _rows(self, what: str, value: Numbers, size: int) -> FloatArray:
        if is_floats(value, size):
            return value
        array = self._take(what, value, size, self.place)
        if array.ndim == 2:
            if self._count not in (1, len(array)) and len(array) != 1:
                raise InvalidValueError(
                    f'rows of {what}',
                    len(array),
                    f'{self._count} rows, as in the other arguments, or 1',
                    self.place,
                )
            self._count = max(self._count, len(array))
        return array

    def efforts_of(self, full: FloatArray) -> FloatArray:
        """Project efforts for all coordinates (nv,) on the leading joints (n,)."""
        return full @ self.G if self.coupling.has_followers else full[..., self.coupling.in_dq]

    def of_leaders(self, efforts: FloatArray) -> FloatArray:
        """Return efforts (n,) with 0 at followers."""
        return np.where(self.leads, efforts, 0.0) if self.coupling.has_followers else efforts

    @property
    def passive(self) -> np.ndarray:
        """Coordinate indices without joint effort: base, joints with several axes."""
        # a kinematic base follows its given velocity
        kinds = operations_of(self.robot).model.kind
        is_kinematic = self.coupling.base and kinds[0] == KINEMATIC
        return self.coupling.passive[self.coupling.base if is_kinematic else 0 :]
