"""Batches beside worlds stepped alone: calls in any order, with wrong arguments."""

from __future__ import annotations

from functools import cache
import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from shipped import path_of

from fuzzing.damage import VALUES
from fuzzing.judge import check_words
import sim_bridge as sb
from sim_bridge.description import sensors_from_mapping

_MOST_WORLDS, _MOST_CALLS, _MOST_STEPS = 6, 8, 20
_SENSORS = {
    'gyro': {'type': 'gyro', 'link': 'lower_rod', 'noise': {'angular_velocity': {'stddev': 0.1}}}
}
_ARRAYS = ('q', 'dq', 'u')
_WRONG = [each for each in VALUES if not isinstance(each, str)]


@cache
def _pattern() -> sb.World:
    """Return a world with a noisy sensor, contacts and a loop."""
    world = sb.World(sleep=sb.Sleep(steps=5))
    world.add_ground()
    sensors = sensors_from_mapping(_SENSORS)
    world.add_robot(sb.load_description(path_of('double_pendulum'), extra_sensors=sensors))
    world.load_urdf(path_of('four_bar'), position=(3.0, 0.0, 1.0))
    box = world.add_body(sb.Box((0.1, 0.1, 0.1)), 'box', position=(1.0, 0.0, 0.06))
    world.add_joint('ball', None, box, (1.0, 0.0, 0.2), tree=False, erp=0.3, cfm=1e-4)
    return world


def make(rng: Random) -> bytes:
    """Return the batch's numbers, then calls with a mask, and the right or a wrong argument."""
    n = rng.randint(1, _MOST_WORLDS)
    calls = []
    for _ in range(rng.randint(1, _MOST_CALLS)):
        name = rng.choice(('step', 'step', 'reset', 'array', 'world', 'take', 'observe'))
        mask = [rng.random() < 0.6 for _ in range(n)] if rng.randrange(2) else None
        wrong = rng.randrange(len(_WRONG)) if not rng.randrange(4) else None
        number = rng.randrange(1000)
        calls.append([name, mask, wrong, number])
    return json.dumps([n, rng.randint(1, 4), rng.randrange(5), rng.randrange(2), calls]).encode()


def run(case: bytes, folder: Path) -> None:
    """Make the calls on a batch and, one by one, on its worlds; compare all their states."""
    n, threads, seed, varies, calls = json.loads(case)
    vary = _vary if varies else None
    batch = sb.Batch(_pattern(), n, seed=seed, vary=vary, threads=threads, raises=False)
    alone = [batch.world(k) for k in range(n)]
    started = [world.save() for world in alone]
    for name, mask, wrong, number in calls:
        value = None if wrong is None else _WRONG[wrong]
        _make_call(batch, alone, started, name, mask, value, number, wrong is not None)
    for k, world in enumerate(alone):
        if not batch.failed[k]:
            assert batch.world(k).state_hash() == world.state_hash(), f'world {k} differs'


def _vary(world: sb.World, rng: np.random.Generator) -> None:
    world.robots['double_pendulum'].q = rng.uniform(-1.0, 1.0, 2)
    world.robots['box'].root_link.m = rng.uniform(0.5, 2.0)


def _make_call(
    batch: sb.Batch,
    alone: list[sb.World],
    started: list[Any],
    name: str,
    mask: list[bool] | None,
    wrong: Any,
    number: int,
    is_wrong: bool,
) -> None:
    """Make a call; a refused one changes nothing."""
    chosen = [k for k in range(batch.n) if mask is None or mask[k]]
    where = None if mask is None else np.array(mask)
    before = [batch.world(k).state_hash() for k in range(batch.n)] if is_wrong else []
    try:
        if name == 'step':
            steps = wrong if is_wrong else number % _MOST_STEPS
            if isinstance(steps, int) and steps > _MOST_STEPS:
                return
            batch.step(steps, where)
            _step(batch, alone, chosen, int(steps))
        elif name == 'reset':
            batch.reset(wrong if is_wrong and wrong is not None else where)
            for k in chosen if not is_wrong or wrong is None else ():
                _reset(batch, alone, started, k)
        elif name == 'array':
            _write(batch, alone, number, wrong, is_wrong)
        elif name == 'world':
            batch.world(wrong if is_wrong else number % batch.n)
        elif name == 'take':
            batch.take_parameters(wrong if is_wrong else _pattern(), where)
            raise AssertionError('taken') if is_wrong else _Taken
        else:
            assert np.isfinite(batch.robots['box'].links['box'].p).all()
    except _Taken:
        # resets keep these parameters
        for k in range(batch.n):
            alone[k], started[k] = batch.world(k), None
    except sb.SimBridgeError as err:
        check_words(err)
        assert before == [batch.world(k).state_hash() for k in range(batch.n)], f'{name} changed'


class _Taken(Exception):
    """Parameters were taken."""


def _step(batch: sb.Batch, alone: list[sb.World], chosen: list[int], steps: int) -> None:
    for k in chosen:
        if not batch.failed[k]:
            alone[k].step(steps)


def _reset(batch: sb.Batch, alone: list[sb.World], started: list[Any], k: int) -> None:
    if started[k] is None:
        alone[k] = batch.world(k)
    else:
        alone[k].restore(started[k])


def _write(
    batch: sb.Batch, alone: list[sb.World], number: int, wrong: Any, is_wrong: bool
) -> None:
    field, robot = _ARRAYS[number % len(_ARRAYS)], 'double_pendulum'
    values = wrong if is_wrong else np.random.default_rng(number).normal(size=(batch.n, 2))
    setattr(batch.robots[robot], field, values)
    for k, world in enumerate(alone):
        setattr(world.robots[robot], field, getattr(batch.robots[robot], field)[k])
