"""The engine's contact solvers and its next step, for comparison with a contact problem."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from sim_bridge.contact_problems.solution import (
    checked_problem,
    ContactSolution,
    reduce_problem,
    ReducedProblem,
    solution_of,
)
from sim_bridge.engine.collision.build import build_geometry
from sim_bridge.engine.contact.given import solve_given
from sim_bridge.engine.contact.newton_stage import NEWTON, SHARE
from sim_bridge.engine.data.contact_materials import CONSTANT, DIRECT, ITERATIVE, SPLIT
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
from sim_bridge.engine.pipeline.join import join_models
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import instance_of, one_of, truth
from sim_bridge.simulation.handles import make_options, make_probe
from sim_bridge.world.contact_problem import ContactProblem, FRICTION_MODELS
from sim_bridge.world.contacts import Contacts
from sim_bridge.world.world import World

_SOLVERS = {'direct': DIRECT, 'iterative': ITERATIVE, 'split': SPLIT}
_MODELS = {name: model for model, name in FRICTION_MODELS.items()}
_ROWS_OF_CONTACT = 6  # with rolling and spinning friction; half as many without
# engine rows along and about x, y and z
_LINEAR, _ANGULAR = [Row.TANGENT, Row.TANGENT2, Row.NORMAL], [Row.ROLL, Row.ROLL2, Row.SPIN]
_TURNING = [row - Row.SPIN for row in _ANGULAR]


class NextStep(NamedTuple):
    """
    Result of the engine's next step.

    velocity: (nv,) over problem coordinates. impulses: (nc, 3) along the problem's axes: each
    engine contact is added to the problem's nearest contact between the same geometries
    [N s]. left_out: greatest engine impulse without a partner in the problem [N s]. contacts: all
    contacts in the step.
    """

    velocity: np.ndarray
    impulses: np.ndarray
    left_out: float
    contacts: Contacts


def solve(
    problem: ContactProblem, solver: str = 'direct', friction: bool = True
) -> ContactSolution:
    """
    Solve a problem with the engine's compiled solvers, starting from zero impulses.

    solver: as in `World`. friction: False leaves out contact friction. A simulation step solves
    joint laws by pivoting, beside the contacts; here the contact solver solves them as additional
    contacts, see `_law_rows`. Raises UnknownNameError or InvalidValueError for another solver.
    """
    kind = _SOLVERS[one_of('solver', solver, _SOLVERS)]
    reduced = reduce_problem(problem, truth('friction', friction))
    shift, sign = _shifts(reduced)
    pushing = len(reduced.which)
    count = pushing + len(sign)
    if not count:
        return solution_of(problem, reduced, np.zeros(0), 0)
    parts = _engine_problem(problem, reduced, shift, sign)
    model, _ = join_models([], (0.0, 0.0, 0.0))
    options: Options = make_options(problem.time_step, kind)
    options = options._replace(newton=NEWTON.address, share=SHARE.address)
    contacts = make_contacts(count)
    contacts.size[COUNT] = count
    contacts.geometry[:pushing] = problem.contacts.indices[reduced.which]
    # a separate pair for each joint law: points in one pair would share a load
    contacts.geometry[pushing:] = -1 - np.arange(len(sign))[:, None]
    probe = make_probe(model, make_state(model), build_geometry([])).handle
    solve_given(probe.replaced(options, contacts, *parts))
    found: Solution = parts.solution
    own = found.impulse[pushing:]
    pushed = shift + sign * np.where(_is_open(reduced), own[:, Row.NORMAL], own[:, Row.TANGENT])
    turning = found.impulse[reduced.turns.at][:, _ANGULAR]
    return solution_of(
        problem,
        reduced,
        np.concatenate([found.impulse[:pushing, _LINEAR].ravel(), turning.ravel(), pushed]),
        int(found.effort[SWEEPS] + found.effort[NEWTONS]),
    )


def next_step(problem: ContactProblem) -> NextStep:
    """
    Return the result of the world's next step, computed on a copy.

    The copy starts from the problem's state. The result differs from a problem solution,
    because the engine finds contacts and evaluates inertias and forces in the middle of the step,
    and because of the effects listed in the problem's `left_out`. From rest and without these
    effects, both agree to rounding. Raises InvalidValueError if problem and world time steps
    differ, or if robots or joints were added or removed since.
    """
    world = instance_of('world', checked_problem(problem).world, World, 'a world')
    if problem.time_step != world.time_step:
        raise InvalidValueError(
            'time_step', problem.time_step, f"the world's, {world.time_step} s"
        )
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
        copy.contacts.indices, copy.contacts.positions, copy.contacts.forces, strict=True
    ):
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


def _is_open(reduced: ReducedProblem) -> np.ndarray:
    """Return whether each law impulse has a single bound (k,), like a normal impulse."""
    return np.isinf(reduced.least) | np.isinf(reduced.most)


def _shifts(reduced: ReducedProblem) -> tuple[np.ndarray, np.ndarray]:
    """
    Return origins (k,) and signs (k,) for law impulses.

    The origin is the middle of two bounds, or a single bound, with the sign towards the allowed
    impulses.
    """
    least, most = reduced.least, reduced.most
    middle = np.where(np.isinf(least), most, np.where(np.isinf(most), least, 0.5 * (least + most)))
    return middle, np.where(np.isinf(least), -1.0, 1.0)


def _law_rows(
    reduced: ReducedProblem, free: np.ndarray, sign: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """
    Return the joint laws as k contacts.

    An impulse with one bound becomes a normal impulse. An impulse with two bounds becomes friction
    with a constant bound; this contact's normal acts on an extra coordinate, with impulse
    1. Returns rows (k, 3, r + k) along x, y and z, bias (k, 3), softness (k, 3) and radius (k,).
    """
    count, size = len(sign), reduced.W.shape[1]
    W, softness = reduced.W[len(reduced.W) - count :], reduced.split(reduced.softness)[2]
    rows = np.zeros((count, 3, size + count))
    biases, soft = np.zeros((count, 3)), np.ones((count, 3))
    place = np.where(_is_open(reduced), 2, 0)
    at = np.arange(count)
    rows[at, place, :size], biases[at, place] = sign[:, None] * W, sign * free
    soft[at, place] = softness
    closed = at[place == 0]
    rows[closed, 2, size + closed], biases[closed, 2], soft[closed, 2] = 1.0, -1.0, 0.0
    radius = np.where(place == 0, 0.5 * (reduced.most - reduced.least), 0.0)
    return rows, biases, soft, radius


def _engine_problem(
    problem: ContactProblem, reduced: ReducedProblem, shift: np.ndarray, sign: np.ndarray
) -> EngineProblem:
    """Return a reduced problem in the engine's arrays."""
    cones, contacts = reduced.cones, len(reduced.which)
    count = contacts + len(sign)
    shifted = np.concatenate([np.zeros(len(reduced.g) - len(shift)), shift])
    # without adhesion: the solver subtracts it itself
    free, turning_free, own_free = reduced.split(
        reduced.free + reduced.W @ (reduced.W.T @ shifted) + reduced.softness * shifted
    )
    own_rows, own_bias, own_softness, own_radius = _law_rows(reduced, own_free, sign)
    of_contacts = np.zeros((contacts, 3, own_rows.shape[2]))
    own_size = reduced.W.shape[1]
    of_contacts[:, :, :own_size] = reduced.W[: 3 * contacts].reshape(contacts, 3, own_size)
    whitened = np.concatenate([of_contacts, own_rows])
    turns, nowhere = reduced.turns, join_models([], (0.0, 0.0, 0.0))[0]
    rows = np.concatenate(
        [
            np.where((cones.friction == 0.0).all(axis=1), 1, _ROWS_OF_CONTACT // 2),
            np.where(_is_open(reduced), 1, _ROWS_OF_CONTACT // 2),
        ]
    )
    rows[turns.at] = _ROWS_OF_CONTACT
    parts = make_problem(nowhere, count, int(rows.sum()), compliant=max(whitened.shape[2], 1))
    laws, own, solution = parts.laws, parts.rows, parts.solution
    laws.rows[:] = rows
    laws.model[:contacts] = [_MODELS[name] for name in cones.models]
    laws.model[contacts:] = CONSTANT
    laws.radius[:contacts, [Bound.TANGENT, Bound.TANGENT2]] = cones.friction
    laws.radius[contacts:, Bound.TANGENT] = own_radius
    laws.softness[:, _LINEAR] = np.concatenate([reduced.split(reduced.softness)[0], own_softness])
    laws.pull[:contacts] = problem.adhesion[reduced.which]
    angular = np.zeros((len(turns.at), 3, whitened.shape[2]))
    angular[:, :, :own_size] = reduced.W[3 * contacts : len(reduced.W) - len(sign)].reshape(
        len(turns.at), 3, own_size
    )
    turning = dict(zip(turns.at.tolist(), angular, strict=True))
    laws.radius[turns.at, Bound.ROLL], laws.radius[turns.at, Bound.SPIN] = turns[1:]
    solution.bias[turns.at[:, None], _ANGULAR] = turning_free
    end = 0
    for contact, three in enumerate(whitened):
        about = turning.get(contact)
        moved = three if about is None else np.concatenate([three, about])
        support = np.flatnonzero(moved.any(axis=0))
        own.first[contact], stop = end, end + len(support)
        own.support[end:stop] = support
        own.linear[_LINEAR, end:stop] = three[:, support]
        if about is not None:
            own.angular[_TURNING, end:stop] = about[:, support]
        end = stop
    own.first[count] = end
    solution.bias[:, _LINEAR] = np.concatenate([free, own_bias])
    _set_islands(parts, end)
    return parts


def _set_islands(parts: EngineProblem, entries: int) -> None:
    """Group contacts with common coordinates into islands."""
    islands, rows = parts.islands, parts.rows
    count, size = len(islands.number), len(parts.solution.z)
    of_entry = np.repeat(np.arange(count), np.diff(rows.first))
    shares = coo_matrix(
        (np.ones(entries), (of_entry, count + rows.support[:entries])),
        shape=(count + size, count + size),
    )
    _, label = connected_components(shares, directed=False)
    _, first, number = np.unique(label[:count], return_index=True, return_inverse=True)
    # ordered by their first contact, as in the engine
    rank = np.argsort(np.argsort(first))
    islands.number[:] = rank[number]
    islands.order[:] = np.argsort(islands.number, kind='stable')
    sizes = np.bincount(islands.number)
    islands.first[1 : len(sizes) + 1] = np.cumsum(sizes)
    parts.solution.effort[ISLANDS] = len(sizes)
