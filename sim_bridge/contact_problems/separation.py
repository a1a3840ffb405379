"""
Separation of overlapping bodies.

Each step minimises the displacement |dq|² in the mass matrix metric, under the condition
that all near distances reach the target gap to first order: a frictionless contact problem with
displacements instead of velocities.
"""

from __future__ import annotations

import numpy as np

from sim_bridge.contact_problems.frictionless import least_distance
from sim_bridge.foundation.errors import InfeasibleError
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.validation import instance_of, number_from
from sim_bridge.world import dynamics
from sim_bridge.world.contact_points import ContactPoints
from sim_bridge.world.contact_problem import ContactProblem
from sim_bridge.world.world import World

_STEPS = 200
_TOLERANCE = 1e-9  # m
_FARTHEST = 1e3  # greatest allowed gap [m]


def separate(world: World, gap: float = 0.0) -> None:
    """
    Move robots and bodies until each pair with contact forces is at least a gap apart [m].

    Dynamic bodies and joints within their limits move, heavier ones less. Time and velocities
    stay. Sensors and pairs of immovable bodies do not count. Loop-closing constraint joints are
    held to first order; the next step closes them. The motion is a local solution: out of an
    overlap by the nearest side.

    Raises InfeasibleError, and restores the world, if 200 steps do not reach the gap: the message
    names the nearest pair. Raises InvalidValueError unless the arguments are a World and a gap of
    at least 0.
    """
    instance_of('world', world, World, 'a World')
    gap = number_from('gap', gap, 0.0, _FARTHEST, '', f'a number from 0 to {_FARTHEST:g} [m]')
    before = world.save()
    try:
        for _ in range(_STEPS):
            near = _pushing(world, gap)
            least = float(near.gaps.min(initial=np.inf))
            if least >= gap:
                return
            # this step may bring further pairs within the gap
            near = _pushing(world, gap + 2.0 * (gap - least))
            _move(world.contact_problem(near, bias=0.0), gap + _TOLERANCE)
        raise _failure(near, gap, f'{_STEPS} steps')
    except BaseException:
        world.restore(before)
        raise


def _pushing(world: World, margin: float) -> ContactPoints:
    """Return the contacts within a margin that can have contact forces."""
    near = world.find_contacts(margin=margin)
    return near[world.contact_problem(near, bias=0.0).pushes]


def _move(problem: ContactProblem, gap: float) -> None:
    """Move all robots so that the problem's gaps, to first order, are at least the given gap."""
    limits, least = _limits(problem)
    rows = np.concatenate([problem.J, limits]) @ problem.factor
    try:
        shares = least_distance(rows, np.concatenate([gap - problem.gap, least]))
    except InfeasibleError:
        raise _failure(problem.contacts, gap, 'any step') from None
    dq = problem.factor @ (rows.T @ shares)
    for robot, place in problem.coordinates.items():
        change = np.zeros(len(dynamics.velocity(robot)))
        # the entries of a base that is not dynamic come first and stay 0
        change[len(change) - (place.stop - place.start) :] = dq[place]
        dynamics.set_configuration(robot, dynamics.integrate(robot, change))


def _limits(problem: ContactProblem) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (m, nv) for joints with limits, and the least displacement along each."""
    rows, least = [], []
    for robot in problem.coordinates:
        for at, q, lower, upper in zip(
            problem.columns(robot), robot.q, robot.lower, robot.upper, strict=True
        ):
            for side, reach in ((1.0, lower - q), (-1.0, q - upper)):
                if np.isfinite(reach):
                    rows.append(np.zeros(len(problem.v)))
                    rows[-1][at] = side
                    # a joint beyond its limit is not pushed back by this
                    least.append(min(reach, 0.0))
    return np.array(rows).reshape(-1, len(problem.v)), np.array(least)


def _failure(near: ContactPoints, gap: float, tried: str) -> InfeasibleError:
    worst = near[int(np.argmin(near.gaps))]
    names = ' and '.join(f'{link.robot.name}/{link.name}' for link in (worst.link_a, worst.link_b))
    return InfeasibleError(
        f'no configuration without overlap was found by {tried}: {names} are {worst.gap:.3g} m '
        f'apart, {counted(int((near.gaps < gap).sum()), "contact")} nearer than {gap:.3g} m'
    )
