"""Linear coupling between a robot's joints in a world: a fixed tendon."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from sim_bridge.description.actuators import CouplingDescription
from sim_bridge.engine.data import actuators as engine
from sim_bridge.foundation.arrays import FloatArray, Number
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_number
from sim_bridge.robots.owners import Robot


class Coupling(DeclaredAttributes):
    """
    Joint positions times factors, summed, with a spring and a damper; see docs/actuators.md.

    Lengths, velocities and forces belong to the present state.
    """

    __slots__ = ('_number', 'description', 'name', 'robot')

    internal_names = DeclaredAttributes.internal_names | {'place'}

    def __init__(self, robot: Robot, number: int, description: CouplingDescription):
        """Make the view; only robots call this. number: the coupling's index."""
        self.robot: Final = robot
        self.description: Final = description
        self.name: Final = description.name
        self._number = number

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the arguments for pickles and copies: the robot and the coupling's name."""
        return _coupling_of, (self.robot, self.name)

    def __repr__(self) -> str:
        """Show coupling and robot name."""
        return f'<Coupling {self.name!r} of {self.robot.name!r}>'

    @property
    def place(self) -> str:
        """Robot and coupling name, for messages."""
        return f'robot {self.robot.name!r}, coupling {self.name!r}'

    @property
    def length(self) -> float:
        """Joint positions times factors, summed [rad or m]."""
        return self._sum(self.robot.q)

    @property
    def velocity(self) -> float:
        """Length rate [rad/s or m/s]."""
        return self._sum(self.robot.dq)

    @property
    def force(self) -> float:
        """Spring and damper force [N m or N]; a joint feels it times its factor."""
        workspace = self.robot.simulation.observation.observer().workspace
        return float(workspace.actuator_force[self._row()])

    @property
    def stiffness(self) -> float:
        """Spring stiffness [N m/rad or N/m]; can be set."""
        return -float(self._law()[engine.BIAS + 1])

    @stiffness.setter
    def stiffness(self, value: Number) -> None:
        self._set_law(engine.BIAS + 1, 'stiffness', value)

    @property
    def damping(self) -> float:
        """Damper coefficient [N m s/rad or N s/m]; can be set."""
        return -float(self._law()[engine.BIAS + 2])

    @damping.setter
    def damping(self, value: Number) -> None:
        self._set_law(engine.BIAS + 2, 'damping', value)

    def _sum(self, values: FloatArray) -> float:
        numbers = [self.robot.joint_names.index(name) for name in self.description.joints]
        return float(np.dot(self.description.factors, values[numbers]))

    def _row(self) -> int:
        # coupling rows follow the robot's actuator rows
        self.robot.simulation.cache.settle()
        slot = self.robot.slot
        return int(slot.part.at.actuator + len(slot.description.actuators) + self._number)

    def _law(self) -> FloatArray:
        row = self._row()
        return self.robot.slot.part.model.actuator_law[row]

    def _set_law(self, column: int, what: str, value: object) -> None:
        number = finite_number(what, value, self.place)
        if number < 0.0:
            raise InvalidValueError(what, number, 'a number of at least 0', self.place)
        slot, index = self.robot.slot, (self._row(), column)
        self.robot.simulation.write(slot.part.model, 'actuator_law', index, -number, (slot,))


def _coupling_of(robot: Robot, name: str) -> Any:
    return robot.couplings[name]
