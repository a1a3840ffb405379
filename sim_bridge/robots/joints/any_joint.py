"""What all joints have in common, whether they are part of a tree or close a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sim_bridge.foundation.errors import StateError
from sim_bridge.robots.joints.axis import Axis
from sim_bridge.robots.joints.feedback import Feedback, feedback_of

if TYPE_CHECKING:
    from sim_bridge.description.model import Mimic
    from sim_bridge.robots.link import Link


class AnyJoint(Axis):
    """
    A joint: with a single axis it is that axis, of others see `axes`.

    A base of joints' classes before that of their axes, whose parameters it lets through where
    there is one axis only.
    """

    is_tree: bool
    """Whether it is part of a tree, and so exact; else it is solved for as rows."""
    name: str
    axes: tuple[Axis, ...]
    """One for each coordinate that turns about, or slides along, an axis."""
    link1: Link | None
    """The first link, a tree joint's parent; None for the world."""
    link2: Link | None
    """The second link, a tree joint's child; None for the world."""
    anchor: np.ndarray
    """(3,) where it is on the first link [m], world; after ODE."""
    anchor2: np.ndarray
    """(3,) where it is on the second link [m], world."""
    axis: np.ndarray
    """(3,) its axis on the first link, world."""
    axis2: np.ndarray
    """(3,) its second axis, or only one, on the second link; world."""
    rotation: np.ndarray
    """(3, 3) its frame on the first link, world."""
    error: tuple[float, float]
    """By how much it is not closed: way [m], and sine of an angle."""
    reaction: tuple[np.ndarray, np.ndarray]
    """Force [N] and torque [N m] of the first link on the second, about `anchor2`; world axes."""

    @property
    def mimic(self) -> Mimic | None:
        """The law that makes this joint follow another."""
        return None

    @property
    def followed(self) -> str | None:
        """The joint that this one mimics, if any."""
        return None if self.mimic is None else self.mimic.joint

    @property
    def is_linear(self) -> bool:
        """Whether it slides; else it turns. Raises StateError unless it has one axis."""
        self.check_axis()
        return super().is_linear

    @property
    def direction(self) -> np.ndarray:
        """(3,) unit vector of its axis, world. Raises StateError unless it has one axis."""
        self.check_axis()
        return super().direction

    @property
    def potential_energy(self) -> float:
        """Energy of the springs of its axes [J]."""
        return sum(
            0.5 * axis.stiffness * (axis.q - axis.reference) ** 2
            for axis in self.axes if axis.stiffness > 0.0)

    @property
    def has_user_axes(self) -> bool:
        """Whether each of its axes acts for itself; else none does work along the others."""
        return False

    def feedback(
        self, frame: str = 'world', about: str = 'center_of_mass', part: str = 'all'
    ) -> Feedback:
        """Return what the joint does to both its links; see `feedback.feedback_of`."""
        return feedback_of(self, frame, about, part)

    def parameter_rows(self, array: str, of_balls: bool = False) -> np.ndarray:
        """Return the rows of an array of parameters; see Axis."""
        self.check_axis(of_balls)
        return super().parameter_rows(array, of_balls)

    def state_rows(self, array: str) -> np.ndarray:
        """Return the row of one of State's arrays by velocity; see Motor."""
        self.check_axis()
        return super().state_rows(array)

    def check_axis(self, of_balls: bool = False) -> None:
        """Raise StateError unless it has a single axis; of_balls: a tree's ball joint may pass."""
        if self.axes != (self,):
            has = 'its `axes` have' if self.axes else 'only one-axis joints and axes have'
            raise StateError(f'{self.place} is {self._type_name}: {has} such parameters')

    _type_name: str
