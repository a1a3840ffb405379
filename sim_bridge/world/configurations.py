"""
Configurations as Lie group elements: orientations are composed, not added.

A configuration q (nq,) has the coordinates described in `dynamics`, with a unit quaternion for a
free base and for each ball joint. A difference (nv,) is a generalized velocity dq times a time;
rotations are about world axes, or axes of a ball joint's frame. For a world, both are those of its
robots, concatenated in `World.robots` order.

All functions except `set_configuration` leave the world unchanged; they also accept and return
several configurations as rows, (N, nq) and (N, nv). Errors are as in `dynamics`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast, NamedTuple

import numpy as np

from sim_bridge.engine.data.model import LOWER, MULTIPLIER, OFFSET, PRISMATIC, UPPER
from sim_bridge.engine.data.state import State
from sim_bridge.foundation.arrays import FloatArray, Matrix, Number, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import real_array, whole_number
from sim_bridge.robots.owners import World
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation.change import Change
from sim_bridge.simulation.robot_dynamics import check_out, RobotDynamics
from sim_bridge.world.operations import operations_of

# sampling range without a limit, on both sides of 0 or of the other limit
_TURN, _LENGTH = np.pi, 1.0


class IntegrationDerivatives(NamedTuple):
    """
    `integrate` derivatives, (nv, nv) each, or (N, nv, nv).

    q: with respect to the configuration. dq: with respect to the difference. Changes of
    configurations are expressed as differences.
    """

    q: FloatArray
    dq: FloatArray


def configuration(subject: Robot | World) -> FloatArray:
    """Return a robot's or world's current configuration (nq,); a copy."""
    return np.concatenate([each.state['q'][0] for each in _all(subject)] or [np.zeros(0)])


def velocity(subject: Robot | World) -> FloatArray:
    """Return the current generalized velocity (nv,); a copy."""
    return np.concatenate([each.state['dq'][0] for each in _all(subject)] or [np.zeros(0)])


def set_configuration(
    subject: Robot | World, q: Vector | Matrix, dq: Vector | Matrix | None = None
) -> None:
    """Set a robot's or world's configuration, and its velocity dq unless None."""
    parts = _all(subject)
    if q is None:
        size = sum(each.nq for each in parts)
        raise InvalidValueError('q', q, f'{size} finite numbers', _place(subject))
    still = np.zeros(sum(each.nv for each in parts))
    # normalize and check everything before the first robot is changed
    new_q = _split(parts, 'q', integrate(subject, still, q))
    new_dq = _split(parts, 'dq', dq)
    for name, rows in (('q', new_q), ('dq', new_dq)):
        for each, row in zip(parts, rows, strict=True):
            if row is not None and (row.ndim != 1 or not np.isfinite(row).all()):
                raise InvalidValueError(
                    name, row, f'{each.sizes[name]} finite numbers', each.place
                )
    if not parts:
        return
    staleness = parts[0].simulation.staleness
    with Change(staleness):
        for each, position, speed in zip(parts, new_q, new_dq, strict=True):
            staleness.write_view(State, 'q', each.state['q'], 0, position)
            if speed is not None:
                staleness.write_view(State, 'v', each.state['dq'], 0, speed)
        staleness.mark_parameters()


def neutral_configuration(subject: Robot | World) -> FloatArray:
    """Return the configuration (nq,) with all joints at 0 and free bases at the world's origin."""
    return np.concatenate([each.neutral for each in _all(subject)] or [np.zeros(0)])


def random_configuration(
    subject: Robot | World, seed: int | np.random.Generator | None = None, count: int | None = None
) -> FloatArray:
    """
    Return a random configuration (nq,) within the joint limits, or (count, nq) several.

    Uniform: orientations over all rotations; positions between their limits, or from -pi to pi
    [rad] or -1 to 1 [m] without limits. Mimic joints obey their law; loops are not closed. seed:
    an integer or a numpy generator; None for a new seed at each call.
    """
    try:
        rng = np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise InvalidValueError(
            'seed', seed, 'None, an integer of at least 0, or a numpy generator', _place(subject)
        ) from None
    size = 1 if count is None else whole_number('count', count)
    drawn = [_draw(each, rng, size) for each in _all(subject)]
    rows = np.concatenate(drawn or [np.zeros((size, 0))], axis=1)
    return rows[0] if count is None else rows


def integrate(
    subject: Robot | World,
    dq: Vector | Matrix,
    q: Vector | Matrix | None = None,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return the configuration (nq,) reached from q by dq; q: the current one if None."""
    if type(subject) is Robot:
        return operations_of(subject).integrate.compute(out, q, dq)
    return _of_each(subject, 'integrate', out, q=q, dq=dq)


def difference(
    subject: Robot | World,
    q: Vector | Matrix,
    q2: Vector | Matrix,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """Return the difference (nv,) from q to q2; rotations take the shorter way."""
    if type(subject) is Robot:
        return operations_of(subject).difference.compute(out, q, q2)
    return _of_each(subject, 'difference', out, q=q, q2=q2)


def interpolate(
    subject: Robot | World,
    q: Vector | Matrix,
    q2: Vector | Matrix,
    share: Number | Vector,
    *,
    out: FloatArray | None = None,
) -> FloatArray:
    """
    Return the configuration (nq,) partway from q to q2.

    share: 0 for q, 1 for q2, or outside this range; or (N,) shares, for N configurations.
    """
    shares = real_array('share', share, 'a finite number, or several', _place(subject))
    if shares.ndim > 1 or not np.isfinite(shares).all():
        raise InvalidValueError('share', share, 'a finite number, or several', _place(subject))
    change = difference(subject, q, q2)
    counts = {len(shares), len(change)} if shares.ndim and change.ndim == 2 else set()
    if len(counts - {1}) == 2:
        raise InvalidValueError(
            'rows',
            f'{len(shares)} of share, {len(change)} of q and q2',
            'as many of each, or one',
            _place(subject),
        )
    return integrate(subject, (shares[:, None] if shares.ndim else shares) * change, q, out=out)


def integration_derivatives(subject: Robot | World, dq: Vector | Matrix) -> IntegrationDerivatives:
    """Return `integrate`'s derivatives; they do not depend on q."""
    parts = _all(subject)
    blocks = [
        each.integration_derivatives.compute(None, change)
        for each, change in zip(parts, _split(parts, 'dq', dq), strict=True)
    ]
    if isinstance(subject, Robot):
        both = blocks[0]
    else:
        size = sum(each.nv for each in parts)
        leading = blocks[0].shape[:-2] if blocks else (2,)
        both, at = np.zeros((*leading, size, size)), 0
        for block in blocks:
            end = at + block.shape[-1]
            both[..., at:end, at:end] = block
            at = end
    return IntegrationDerivatives(both[..., 0, :, :], both[..., 1, :, :])


def _all(subject: Robot | World) -> list[RobotDynamics]:
    """Return operations for a robot, or for all robots in a world."""
    if isinstance(subject, Robot):
        return [operations_of(subject)]
    robots = getattr(subject, 'robots', None)
    if isinstance(robots, Mapping):
        return [operations_of(robot) for robot in robots.values()]
    raise InvalidValueError('robot_or_world', subject, 'a robot of a world, or a world')


def _place(subject: Robot | World) -> str:
    return f'robot {subject.name!r}' if isinstance(subject, Robot) else 'world'


def _split(
    parts: Sequence[RobotDynamics], name: str, value: Vector | Matrix | None
) -> list[FloatArray | None]:
    """Return each robot's part from a vector or rows over all robots; None for None."""
    if value is None:
        return [None] * len(parts)
    sizes = [each.sizes[name] for each in parts]
    total, place = sum(sizes), parts[0].place if len(parts) == 1 else 'all robots'
    array = real_array(name, value, f'{total} finite numbers, or rows of as many', place)
    if array.ndim not in (1, 2) or array.shape[-1] != total:
        raise InvalidValueError(
            f'shape of {name}', array.shape, f'({total},) or (N, {total})', place
        )
    return cast(
        'list[FloatArray | None]',
        np.split(array, np.cumsum(sizes, dtype=int)[:-1], axis=-1) if parts else [],
    )


def _of_each(
    subject: Robot | World, name: str, out: FloatArray | None, **inputs: Vector | Matrix | None
) -> FloatArray:
    """Return the concatenated results of an operation for all robots."""
    parts = _all(subject)
    split = [_split(parts, what, value) for what, value in inputs.items()]
    results = [
        getattr(each, name).compute(None, *own) for each, *own in zip(parts, *split, strict=True)
    ]
    joined = np.concatenate(results or [np.zeros(0)], axis=-1)
    if out is None:
        return joined
    check_out(out, joined.shape, _place(subject))
    out[...] = joined
    return out


def _draw(operations: RobotDynamics, rng: np.random.Generator, count: int) -> FloatArray:
    """Return (count, nq) random configurations for a robot."""
    model, nq = operations.model, operations.nq
    q = rng.uniform(-_LENGTH, _LENGTH, (count, nq))
    for at in operations.quaternions:
        quaternion = rng.normal(size=(count, 4))
        q[:, at : at + 4] = quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)
    slides = model.v_index[model.kind == PRISMATIC].tolist()
    for i in np.flatnonzero(model.q_of_v >= 0).tolist():
        span = _LENGTH if i in slides else _TURN
        lower, upper = model.limits[i, LOWER], model.limits[i, UPPER]
        lower = min(-span, upper - 2.0 * span) if lower == -np.inf else lower
        upper = max(span, lower + 2.0 * span) if upper == np.inf else upper
        q[:, model.q_of_v[i]] = lower + (upper - lower) * rng.random(count)
    for (following, followed), law in zip(model.mimic, model.mimic_law, strict=True):
        q[:, model.q_of_v[following]] = (
            law[MULTIPLIER] * q[:, model.q_of_v[followed]] + law[OFFSET]
        )
    return q
