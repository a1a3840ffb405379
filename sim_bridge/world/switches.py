"""
Enabling and disabling OpenPLX interactions in a running scene.

A disabled interaction has no effect on its axis, or its joint is broken. The arrays of the world
therefore tell whether it is enabled, as for all signals.
"""

from __future__ import annotations

import math

from sim_bridge.description.openplx.mapping.records import AxisSettings, Motor
from sim_bridge.foundation.errors import StateError
from sim_bridge.robots.joints.axis import Axis
from sim_bridge.robots.joints.joint import ConstraintJoint, Joint
from sim_bridge.simulation.rollback import all_or_nothing
from sim_bridge.world.owners import OpenPlxScene

ENABLE = 'EnableInteractionInput'
MATES = ('Hinge', 'Prismatic', 'Cylindrical', 'Ball', 'Lock', 'Distance')


class Switch:
    """An interaction's enabled state: a mate, or an interaction along an axis."""

    def __init__(self, scene: OpenPlxScene, source: str, model: str):
        """Find an interaction by its path; model: its OpenPLX model without namespace."""
        self._source, self._model, self._simulation = source, model, scene.simulation
        self._joints = scene.parts(source) if model in MATES else []
        if not self._joints:
            self._axis = scene.axis(source)[0]
            self._settings = scene.settings(source)
            self._motor = motor_of(self._settings, source)

    @property
    def is_fixed(self) -> bool:
        """Whether the interaction cannot be disabled: a mate that is a tree joint."""
        return bool(self._joints) and self._joints[0].is_tree

    def is_on(self) -> bool:
        """Return whether the interaction is enabled; a broken mate is not."""
        if self._joints:
            joint = self._joints[0]
            return isinstance(joint, Joint) or not joint.is_broken
        axis = self._axis
        if self._motor is not None:
            return is_driven(axis)
        if self._source not in self._company:
            return False
        if self._model.endswith('Spring'):
            own = self._settings.dynamics
            if own.stiffness > 0.0:
                return axis.stiffness > 0.0
            return axis.damping >= own.damping
        if self._model.endswith('Range'):
            return not (math.isinf(axis.lower) and math.isinf(axis.upper))
        return axis.effort_limit > 0.0 or axis.lower_effort_limit < 0.0

    def set(self, is_on: bool) -> None:
        """Enable or disable the interaction; raise StateError if it is merged or a tree joint."""
        with all_or_nothing(self._simulation):
            self._set(is_on)

    def _set(self, is_on: bool) -> None:
        if is_on == self.is_on():
            return
        if not self._is_alone:
            raise StateError(
                f'{self._place}: it acts along {self._axis.place} together with others, as one. '
                'Springs with effort limits (min_effort, max_effort) act separately'
            )
        if self._joints:
            if self.is_fixed:
                raise StateError(
                    f'{self._place}: it is a tree joint and cannot be disabled. Name its '
                    'enable_interaction_input in a SignalInterface'
                )
            for joint in self._joints:
                if isinstance(joint, ConstraintJoint):
                    joint.is_broken = not is_on
        elif self._motor is not None:
            set_gains(self._axis, self._motor, is_on)
        elif self._model.endswith('Spring'):
            self._set_spring(is_on)
        elif self._model.endswith('Range'):
            self._set_range(is_on)
        else:
            self._set_effort(is_on)

    def restart(self, is_on: bool) -> None:
        """
        Enable or disable the interaction as in the file, where possible.

        For calls within `all_or_nothing`.
        """
        if not self.is_fixed and self._is_alone:
            self._set(is_on)

    @property
    def _place(self) -> str:
        return f'interaction {self._source!r}'

    def _set_spring(self, is_on: bool) -> None:
        (_, stiffness, damping) = self._settings.springs[0]
        axis = self._axis
        axis.stiffness = stiffness if is_on else 0.0
        axis.damping = self._settings.dynamics.damping - (0.0 if is_on else damping)

    def _set_range(self, is_on: bool) -> None:
        limits, axis = self._settings.limits, self._axis
        axis.lower, axis.upper = -math.inf, math.inf
        if is_on:
            axis.lower, axis.upper = limits.lower, limits.upper

    def _set_effort(self, is_on: bool) -> None:
        axis, (lower, upper) = self._axis, self._settings.limits.efforts
        axis.effort_limit = upper if is_on else 0.0
        axis.lower_effort_limit = lower if is_on else 0.0
        axis.u = self._settings.effort if is_on else 0.0

    @property
    def _is_alone(self) -> bool:
        return bool(self._joints) or self._motor is not None or self._company == (self._source,)

    @property
    def _company(self) -> tuple[str, ...]:
        return company_of(self._settings, self._model)


def company_of(settings: AxisSettings, model: str) -> tuple[str, ...]:
    """
    Return the paths of all interactions merged along an axis with one, and its own path.

    Its own path is missing if the file disables it while other interactions act in its place.
    """
    if model.endswith('Spring'):
        return tuple(path for path, *_ in settings.springs)
    if model.endswith('Range'):
        return settings.ranges
    motors = tuple(motor.source for motor in settings.motors)
    return (*(path for path, *_ in settings.efforts), *motors)


def motor_of(settings: AxisSettings, source: str) -> Motor | None:
    """Return an interaction's servo; None if it has none."""
    return next((each for each in settings.motors if each.source == source), None)


def is_driven(axis: Axis) -> bool:
    """Return whether an axis servo has gains."""
    return axis.kp > 0.0 or axis.kd > 0.0


def set_gains(axis: Axis, motor: Motor, is_on: bool = True) -> None:
    """Set the servo gains; a motor with `hold` gets a spring only at target velocity 0."""
    axis.kp, axis.kd = motor.kp, motor.kd
    if motor.hold is not None:
        is_standing = axis.target_velocity == 0.0
        axis.kp, axis.kd = motor.hold if is_standing else (0.0, motor.gain)
        axis.target_position = axis.q
    if not is_on:
        axis.kp, axis.kd = 0.0, 0.0
