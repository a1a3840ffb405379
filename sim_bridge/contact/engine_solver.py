"""The engine's own contact solvers, and its next step, for comparison with a contact problem."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from sim_bridge.contact.solution import (
    ContactSolution,
    reduce_problem,
    ReducedProblem,
    solution_of,
)
from sim_bridge.engine.collision.build import build_geometry
from sim_bridge.engine.contact.given import solve_given
from sim_bridge.engine.contact.stage import NEWTON, SHARE
from sim_bridge.engine.data.contact_points import COUNT, make_contacts
from sim_bridge.engine.data.contact_problem import (
    Bound,
    ISLANDS,
    make_problem,
    NEWTONS,
    Row,
    Solution,
    SWEEPS,
)
from sim_bridge.engine.data.contact_problem import ContactProblem as EngineProblem
from sim_bridge.engine.data.model import Options
from sim_bridge.engine.data.state import make_state
from sim_bridge.engine.data.surfaces import DIRECT, ITERATIVE, SPLIT
from sim_bridge.engine.pipeline.join import join_models
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import instance_of, one_of, truth
from sim_bridge.simulation.handles import make_options, make_probe
from sim_bridge.world.contact_problem import ContactProblem, FRICTION_MODELS
from sim_bridge.world.contacts import Contacts
from sim_bridge.world.world import World

_SOLVERS = {'direct': DIRECT, 'iterative': ITERATIVE, 'split': SPLIT}
_MODELS = {name: model for model, name in FRICTION_MODELS.items()}
_ROWS_OF_CONTACT = 6  # that the engine has room for
_LINEAR = [Row.TANGENT, Row.TANGENT2, Row.NORMAL]  # the engine's, as x, y and z


class NextStep(NamedTuple):
    """
    What the engine does in the next step.

    velocity: (nv,) over the problem's coordinates. impulses: (nc, 3) along the problem's axes:
    each of the engine's contacts is counted to the nearest of the problem's of the same geometries
    [N s]. left_out: the greatest impulse of those without one [N s]. contacts: of the step.
    """

    velocity: np.ndarray
    impulses: np.ndarray
    left_out: float
    contacts: Contacts


def solve(
    problem: ContactProblem, solver: str = 'direct', friction: bool = True
) -> ContactSolution:
    """
    Solve a problem by the compiled solvers that the engine's steps use, from zero impulses.

    solver: as of `World`. friction: False leaves it out. Rolling and spinning friction are no part
    of the problem. Raises UnknownNameError or InvalidValueError for another solver.
    """
    kind = _SOLVERS[one_of('solver', solver, _SOLVERS)]
    reduced = reduce_problem(problem, truth('friction', friction))
    count = len(reduced.which)
    if not count:
        return solution_of(problem, reduced, np.zeros((0, 3)), 0)
    parts = _engine_problem(problem, reduced)
    model, _ = join_models([], (0.0, 0.0, 0.0))
    options: Options = make_options(problem.time_step, kind)
    if kind != ITERATIVE:
        options = options._replace(newton=NEWTON.address, share=SHARE.address)
    contacts = make_contacts(count)
    contacts.size[COUNT] = count
    contacts.geometry[:] = problem.contacts.indices[reduced.which]
    probe = make_probe(model, make_state(model), build_geometry([])).handle
    solve_given(probe.replaced(options, contacts, *parts))
    found: Solution = parts.solution
    return solution_of(
        problem, reduced, found.impulse[:, _LINEAR],
        int(found.effort[SWEEPS] + found.effort[NEWTONS]))


def next_step(problem: ContactProblem) -> NextStep:
    """
    Return what a step of the problem's world gives, taken by a copy from the problem's state.

    It differs from a solution of the problem by what the engine does besides: it finds contacts
    and evaluates inertias and forces in the middle of the step, and joints have friction, stops
    and motors. From rest, without these, both agree to rounding. Raises InvalidValueError for a
    problem of another time step than the world's, and where robots or joints were added or removed
    since.
    """
    world = instance_of('world', problem.world, World, 'a world')
    if problem.time_step != world.time_step:
        raise InvalidValueError(
            'time_step', problem.time_step, f"the world's, {world.time_step} s")
    copy = world.copy()
    copy.restore(problem.snapshot)
    copy.step()
    velocity = np.zeros(len(problem.v))
    for robot, place in problem.coordinates.items():
        first = copy.robots[robot.name].slot.part.at.v
        size = place.stop - place.start
        skip = 6 if robot.motion == 'kinematic' else 0
        velocity[place] = copy.state.v[first + skip : first + skip + size]
    impulses, left_out = np.zeros((len(problem.gap), 3)), 0.0
    for pair, position, force in zip(
            copy.contacts.indices, copy.contacts.positions, copy.contacts.forces, strict=True):
        impulse = force * problem.time_step
        is_turned = (problem.contacts.indices == pair[::-1]).all(axis=1)
        same = np.flatnonzero(is_turned | (problem.contacts.indices == pair).all(axis=1))
        if not len(same):
            left_out = max(left_out, float(np.linalg.norm(impulse)))
            continue
        middle = 0.5 * (problem.contacts.points_a[same] + problem.contacts.points_b[same])
        nearest = same[np.linalg.norm(middle - position, axis=1).argmin()]
        sign = -1.0 if is_turned[nearest] else 1.0
        impulses[nearest] += problem.axes[nearest].T @ (sign * impulse)
    return NextStep(velocity, impulses, left_out, copy.contacts)


def _engine_problem(problem: ContactProblem, reduced: ReducedProblem) -> EngineProblem:
    """Return a reduced problem as the engine has it."""
    cones, count = reduced.cones, len(reduced.which)
    whitened = reduced.W.reshape(count, 3, -1)
    nowhere, _ = join_models([], (0.0, 0.0, 0.0))
    parts = make_problem(
        nowhere, count, _ROWS_OF_CONTACT * count, yielding=max(whitened.shape[2], 1))
    laws, own, solution = parts.laws, parts.rows, parts.solution
    laws.model[:] = [_MODELS[name] for name in cones.models]
    laws.rows[:] = np.where((cones.friction == 0.0).all(axis=1), 1, 3)
    laws.radius[:, [Bound.TANGENT, Bound.TANGENT2]] = cones.friction
    laws.softness[:, _LINEAR] = reduced.softness.reshape(count, 3)
    laws.pull[:] = problem.adhesion[reduced.which]
    end = 0
    for contact, three in enumerate(whitened):
        support = np.flatnonzero(three.any(axis=0))
        own.first[contact], stop = end, end + len(support)
        own.support[end:stop] = support
        own.linear[_LINEAR, end:stop] = three[:, support]
        end = stop
    own.first[count] = end
    # the solver itself takes the adhesion off
    solution.bias[:, _LINEAR] = reduced.free.reshape(count, 3)
    _set_islands(parts, end)
    return parts


def _set_islands(parts: EngineProblem, entries: int) -> None:
    """Group the contacts that share coordinates."""
    islands, rows = parts.islands, parts.rows
    count, size = len(islands.number), len(parts.solution.z)
    of_entry = np.repeat(np.arange(count), np.diff(rows.first))
    shares = coo_matrix(
        (np.ones(entries), (of_entry, count + rows.support[:entries])),
        shape=(count + size, count + size))
    _, label = connected_components(shares, directed=False)
    _, first, number = np.unique(label[:count], return_index=True, return_inverse=True)
    # by their first contact, as the engine orders them
    rank = np.argsort(np.argsort(first))
    islands.number[:] = rank[number]
    islands.order[:] = np.argsort(islands.number, kind='stable')
    sizes = np.bincount(islands.number)
    islands.first[1 : len(sizes) + 1] = np.cumsum(sizes)
    parts.solution.effort[ISLANDS] = len(sizes)
