"""Error message for a step with a diverging or nonfinite result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import math
from typing import NamedTuple

import numpy as np

from sim_bridge.engine.data.state import BY_EFFORT
from sim_bridge.engine.pipeline.step import FASTEST
from sim_bridge.foundation.names import counted
from sim_bridge.robots.joints.any_joint import AnyJoint
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation.simulation import Simulation

_ENORMOUS = 1e12
_INPUTS = ('u', 'target_position', 'target_velocity', 'kp', 'kd')
_OTHER_CAUSES = 'Reduce the time step, or look for a link without inertia or an enormous effort'
_LIKEWISE = 0.1  # share of the largest velocity change from which other coordinates are named
_NAMED = 3
_MUCH = 30.0  # smallest ratio of carried to own mass that counts as the cause
# bounds for the proposed time step as shares of the current one, and safety factor
_MOST, _LEAST, _SAFE = 0.4, 0.1, 0.4


def describe_divergence(
    simulation: Simulation, robots: Iterable[Robot], velocities: np.ndarray | None
) -> str:
    """
    Return a message: the number that made the step fail or the joints that diverge, cause, remedy.

    velocities: (nv,) after a diverging step; None for a nonfinite result.
    """
    robots, step = list(robots), simulation.run.step_count + 1
    found = _not_finite(robots)
    if found is not None:
        return f'step {step}: {found}'
    result = 'diverges' if velocities is not None else 'gives velocities that are not finite'
    said = f'step {step} of {simulation.run.time_step} s {result}; the state before it is kept'
    enormous = _enormous_input(simulation, robots)
    if enormous:
        return f'{said}. An input is enormous: {enormous}'
    if velocities is None:
        return f'{said}. {_OTHER_CAUSES}'
    return f'{said}: {_Divergence(simulation, robots, velocities).text}'


def _enormous_input(simulation: Simulation, robots: Sequence[Robot]) -> str:
    """Return the greatest input and its place, if it is enormous; otherwise ''."""
    gravity = simulation.run.gravity[:3]
    inputs = [(float(np.abs(gravity).max()), f'gravity = {gravity.tolist()} m/s²')]
    joints: list[AnyJoint] = [joint for robot in robots for joint in robot.joints]
    if robots:
        joints += robots[0].world.joints.values()
    for axis in (axis for joint in joints for axis in joint.axes):
        for name in _INPUTS:
            value = float(getattr(axis, name))
            inputs.append((abs(value), f'{name} = {value:g} at {axis.place}'))
    size, text = max(inputs)
    return text if size > _ENORMOUS else ''


def _not_finite(robots: Sequence[Robot]) -> str | None:
    """Return a message for the first nonfinite number in the current state."""
    for robot in robots:
        for joint in robot.joints:
            values = {'effort u': joint.u, 'position q': joint.q, 'velocity dq': joint.dq}
            for what, value in values.items():
                if not np.isfinite(value).all():
                    return (
                        f'{what} = {value} at {joint.place}. '
                        'Make it finite; the state before the step is kept'
                    )
        if not robot.fixed_base and not np.isfinite(robot.root_link.p).all():
            return (
                f'position = {robot.root_link.p.tolist()} of the '
                f'base of robot {robot.name!r}. Set it with set_base_pose; the state before the '
                'step is kept'
            )
    return None


class _Owner(NamedTuple):
    """Owner for velocity coordinates from `first` on; joint: None for a free base."""

    robot: Robot
    joint: AnyJoint | None
    first: int
    size: int

    @property
    def place(self) -> str:
        """Name for messages, with the robot."""
        if self.joint is None:
            return f'the base of robot {self.robot.name!r}'
        return self.joint.place

    @property
    def name(self) -> str:
        """The joint's name, or the robot's for its base."""
        return repr(self.robot.name if self.joint is None else self.joint.name)


class _Divergence:
    """A diverging step: coordinates, amounts and cause."""

    def __init__(
        self, simulation: Simulation, robots: Sequence[Robot], velocities: np.ndarray
    ) -> None:
        """
        Find the coordinate with the largest velocity change in a step.

        velocities: (nv,) velocities after the step.
        """
        self._simulation, self._state = simulation, simulation.cache.state
        self._after, self._before = velocities, self._state.v
        self._owners = sorted(_owners(robots), key=lambda owner: owner.first)
        self._change = np.abs(self._after - self._before)
        self._worst = int(self._change.argmax())
        fastest = int(np.abs(self._after).argmax())
        if abs(self._after[fastest]) > FASTEST:
            self._worst = fastest
        last = abs(self._state.acceleration[self._worst]) * simulation.run.time_step
        self._growth = self._change[self._worst] / last if last > 0.0 else math.inf

    @property
    def text(self) -> str:
        """The message."""
        owner, at = self._owner(self._worst), self._worst
        unit = self._unit(owner)
        parts = [
            f'the velocity of {owner.place} goes from {self._before[at]:.4g} to '
            f'{self._after[at]:.4g} {unit} in it'
        ]
        if 1.0 < self._growth < math.inf:
            parts.append(f', {self._growth:.3g} times the change of the step before')
        others = self._others(owner)
        if others:
            more = f' and {counted(len(others) - _NAMED, "other")}' if len(others) > _NAMED else ''
            parts.append(f'; likewise {", ".join(each.name for each in others[:_NAMED])}{more}')
        return f'{"".join(parts)}. {self._cause(owner)}{self._remedy(owner)}'

    def _owner(self, at: int) -> _Owner:
        return next(each for each in self._owners if each.first <= at < each.first + each.size)

    def _others(self, owner: _Owner) -> list[_Owner]:
        """List the other owners with nearly as large a change."""
        least = _LIKEWISE * self._change[self._worst]
        return [
            each
            for each in self._owners
            if each is not owner
            and (self._change[each.first : each.first + each.size] > least).any()
        ]

    def _unit(self, owner: _Owner) -> str:
        """Return the worst coordinate's unit."""
        if owner.joint is None:
            return 'm/s' if self._worst - owner.first < 3 else 'rad/s'
        slides = [axis.is_linear for axis in owner.joint.axes]
        at = self._worst - owner.first
        return 'm/s' if at < len(slides) and slides[at] else 'rad/s'

    def _cause(self, owner: _Owner) -> str:
        """Return the cause, as far as known."""
        if abs(self._before[self._worst]) > FASTEST:
            return f'No velocity may exceed {FASTEST:g}. '
        if self._is_driven(owner):
            return (
                f'Its applied effort u = {self._state.u[self._worst]:.4g} drives it to and fro, '
                'ever faster: the gains of a control law are too high for the time step. '
            )
        own, carried, link = self._masses(owner)
        if 0.0 < own * _MUCH < carried:
            return (
                f'Link {link!r} of {own:.3g} kg carries {carried:.3g} kg: so light a link under '
                'a load oscillates faster than the step can follow. '
            )
        return 'Velocity-dependent forces grow faster than the step can follow. '

    def _remedy(self, owner: _Owner) -> str:
        """Return the proposed remedy."""
        if abs(self._before[self._worst]) > FASTEST:
            return 'Set a lower one'
        h = self._simulation.run.time_step
        # amplification by the explicit step for an oscillation: (h ω)² = 2 + r + 1 / r
        growth = min(max(self._growth, 1.0), 1e6)
        share = 2.0 * _SAFE / math.sqrt(2.0 + growth + 1.0 / growth)
        share = min(max(share, _LEAST), _MOST)
        rounded = float(f'{share * h:.1g}')
        more = ''
        if self._is_driven(owner):
            more = ", or lower gains; control = 'servo' is stable for any kp and kd"
        elif self._masses(owner)[1] > _MUCH * self._masses(owner)[0] > 0.0:
            more = ', or give the link more mass, or its joint armature or damping'
        return f'Try a time step of {rounded:g} s{more}'

    def _is_driven(self, owner: _Owner) -> bool:
        """Return whether an applied effort reverses a velocity, as in the step before."""
        at, state = self._worst, self._state
        gain, last = self._after[at] - self._before[at], state.acceleration[at]
        return bool(
            owner.joint is not None
            and state.control[at] == BY_EFFORT
            and state.u[at] * gain > 0.0
            and last * gain < 0.0
        )

    def _masses(self, owner: _Owner) -> tuple[float, float, str]:
        """Return a joint body's mass, the mass it carries [kg], and the link's name."""
        model = self._simulation.cache.model
        bodies = np.flatnonzero(model.v_index == self._worst)
        if owner.joint is None or not len(bodies):
            return 0.0, 0.0, ''
        body = int(bodies[-1])
        carried = 0.0
        for other in range(body + 1, len(model.parent)):
            above = int(model.parent[other])
            while above > body:
                above = int(model.parent[above])
            if above == body:
                carried += float(model.inertia[other, 0])
        local = body - owner.robot.slot.part.at.body
        links = [each.name for each in owner.robot.slot.links if each.placement.body == local]
        return float(model.inertia[body, 0]), carried, links[0] if links else ''


def _owners(robots: Iterable[Robot]) -> Iterable[_Owner]:
    """List the owners of the velocity coordinates."""
    for robot in robots:
        slot = robot.slot
        taken: set[int] = set()
        for joint in robot.joints:
            first = slot.blueprint.joint_v.get(joint.name)
            count = joint.coordinates[1]
            if first is not None and count:
                taken.update(range(first, first + count))
                yield _Owner(robot, joint, slot.part.at.v + first, count)
        rest = sorted(set(range(len(slot.blueprint.model.q_of_v))) - taken)
        if rest:
            yield _Owner(robot, None, slot.part.at.v + rest[0], len(rest))
