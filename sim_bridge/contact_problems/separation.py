"""
Configurations without overlap, found by moving what overlaps apart.

Each step moves everything by the displacement of least |dq|² in the metric of the mass matrix for
which all near distances, to first order, reach the wanted gap: the frictionless problem of
contacts with displacements in the place of velocities.
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
_FARTHEST = 1e3  # a gap that separates anything [m]


def separate(world: World, gap: float = 0.0) -> None:
    """
    Move robots and bodies until no two that push each other are nearer than a gap [m].

    What forces move moves: free bodies and joints within their limits, each the less the heavier
    it is. Time and velocities stay. Sensors do not count, nor pairs of which nothing moves. Joints
    that close loops are held to first order; the next step closes them. The way that is found is a
    local one: out of an overlap by the nearest side.

    Raises InfeasibleError, and leaves the world as it was, if 200 steps do not reach the gap: the
    message names the two that are nearest. Raises InvalidValueError for anything but a world and
    a gap of at least 0.
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
            # what comes near by this step counts, too
            near = _pushing(world, gap + 2.0 * (gap - least))
            _move(world.contact_problem(near, bias=0.0), gap + _TOLERANCE)
        raise _failure(near, gap, f'{_STEPS} steps')
    except BaseException:
        world.restore(before)
        raise


def _pushing(world: World, margin: float) -> ContactPoints:
    """Return the contacts within a margin that push something."""
    near = world.find_contacts(margin=margin)
    return near[world.contact_problem(near, bias=0.0).pushes]


def _move(problem: ContactProblem, gap: float) -> None:
    """Move everything so that the gaps of a problem, to first order, are at least as wanted."""
    limits, least = _limits(problem)
    rows = np.concatenate([problem.J, limits]) @ problem.factor
    try:
        shares = least_distance(rows, np.concatenate([gap - problem.gap, least]))
    except InfeasibleError:
        raise _failure(problem.contacts, gap, 'any step') from None
    dq = problem.factor @ (rows.T @ shares)
    for robot, place in problem.coordinates.items():
        change = np.zeros(len(dynamics.velocity(robot)))
        # a base that forces do not move comes first
        change[len(change) - (place.stop - place.start) :] = dq[place]
        dynamics.set_configuration(robot, dynamics.integrate(robot, change))


def _limits(problem: ContactProblem) -> tuple[np.ndarray, np.ndarray]:
    """Return rows (m, nv) of joints with limits, and the least displacement along each."""
    rows, least = [], []
    for robot in problem.coordinates:
        for at, q, lower, upper in zip(
            problem.columns(robot), robot.q, robot.lower, robot.upper, strict=True
        ):
            for side, reach in ((1.0, lower - q), (-1.0, q - upper)):
                if np.isfinite(reach):
                    rows.append(np.zeros(len(problem.v)))
                    rows[-1][at] = side
                    # one that is beyond its limit is not moved by this
                    least.append(min(reach, 0.0))
    return np.array(rows).reshape(-1, len(problem.v)), np.array(least)


def _failure(near: ContactPoints, gap: float, tried: str) -> InfeasibleError:
    worst = near[int(np.argmin(near.gaps))]
    names = ' and '.join(f'{link.robot.name}/{link.name}' for link in (worst.link_a, worst.link_b))
    return InfeasibleError(
        f'no configuration without overlap was found by {tried}: {names} are {worst.gap:.3g} m '
        f'apart, {counted(int((near.gaps < gap).sum()), "contact")} nearer than {gap:.3g} m'
    )
