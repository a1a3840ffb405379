"""How the joints that lead move a robot's coordinates, and a state to compute efforts at."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from sim_bridge.engine.data.model import FREE
from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_vector
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation.robot_dynamics import RobotDynamics
from sim_bridge.world.operations import operations_of


class Coupling:
    """
    The n joints of `robot.joint_names` among its coordinates; mimic joints follow others.

    leads: (n,) whether each joint leads. G: (nv, n), velocities of all coordinates by those of the
    joints that lead; columns of followers are zeros, and rows of a free base and of joints with
    several axes. in_q, in_dq: slices of q and dq that are the joints'. is_free: has a free base.
    """

    def __init__(self, robot: Robot, nv: int) -> None:
        """Read the mimic rules."""
        names = robot.joint_names
        n = len(names)
        kinds = robot.slot.blueprint.model.kind
        self.is_free = bool(len(kinds) and kinds[0] >= FREE)
        first, first_q = (6, 7) if self.is_free else (0, 0)
        self.in_q, self.in_dq = slice(first_q, first_q + n), slice(first, first + n)
        rules = [robot.joint(name).mimic for name in names]
        self.leads = np.array([rule is None for rule in rules], bool)
        self._leaders = np.array([
            at if rule is None else names.index(rule.joint) for at, rule in enumerate(rules)], int)
        self._multipliers, self._offsets = (
            np.array([value if rule is None else getattr(rule, name) for rule in rules], float)
            for name, value in (('multiplier', 1.0), ('offset', 0.0)))
        self.G = np.zeros((nv, n))
        self.G[first + np.arange(n), self._leaders] = self._multipliers
        self.has_followers = not self.leads.all()

    def positions(self, joint_q: FloatArray) -> FloatArray:
        """Return positions (n,) with followers where their leaders put them."""
        if not self.has_followers:
            return joint_q
        return self._multipliers * joint_q[self._leaders] + self._offsets


_COUPLINGS: WeakKeyDictionary[RobotDynamics, Coupling] = WeakKeyDictionary()


class Motions:
    """
    A robot at a state, and how its joints move it.

    place: of errors. q, dq: (nq,), (nv,) of `sb.dynamics`, followers where their leaders put them.
    joint_q, joint_dq: (n,) views of the joints'.
    """

    def __init__(self, robot: Robot, q: Vector | None, dq: Vector | None) -> None:
        """Take the present state for what is None; raises InvalidValueError."""
        operations = operations_of(robot)
        coupling = _COUPLINGS.get(operations)
        if coupling is None:
            coupling = _COUPLINGS[operations] = Coupling(robot, operations.nv)
        self.robot, self.coupling, self.place = robot, coupling, operations.place
        self.size, self.G, self.leads = len(coupling.leads), coupling.G, coupling.leads
        self.q = (operations.state['q'][0].copy() if q is None
                  else finite_vector('q', q, operations.nq, self.place))
        self.dq = (operations.state['dq'][0].copy() if dq is None
                   else finite_vector('dq', dq, operations.nv, self.place))
        self.joint_q, self.joint_dq = self.q[coupling.in_q], self.dq[coupling.in_dq]
        if coupling.has_followers:
            self.joint_q[:] = coupling.positions(self.joint_q)
            self.joint_dq[:] = self.G[coupling.in_dq] @ self.joint_dq

    def at(self, joint_q: FloatArray) -> FloatArray:
        """Return (nq,) the configuration at positions (n,) of the joints, followers following."""
        q = self.q.copy()
        q[self.coupling.in_q] = self.coupling.positions(joint_q)
        return q

    def vector(self, what: str, value: Vector | None) -> FloatArray:
        """Return a value of each joint (n,); zeros for None. Raises InvalidValueError."""
        if value is None:
            return np.zeros(self.size)
        return finite_vector(what, value, self.size, self.place)

    def need_all_actuated(self) -> None:
        """Raise InvalidValueError where efforts of the joints do not move all coordinates."""
        if len(self.dq) > self.size:
            found = 'a free base' if self.coupling.is_free else 'joints with several axes'
            raise InvalidValueError(
                'robot', found, 'a fixed base and joints with one axis: this law needs an effort '
                'for every coordinate; pd does not', self.place)

