"""Forked child processes continuing worlds and batches."""

from __future__ import annotations

from functools import cache
import json
import os
from pathlib import Path
from random import Random
import signal
import warnings

from shipped import path_of

import sim_bridge as sb

_CALLS = ('world', 'batch', 'new batch', 'copy', 'reset', 'reset batch', 'body', 'observe')
_PATIENCE_S = 60


@cache
def _pattern() -> sb.World:
    """Return a world with contacts, a loop and a sensor."""
    world = sb.World()
    world.add_ground()
    world.load_urdf(path_of('arm'))
    world.load_urdf(path_of('four_bar'), position=(3.0, 0.0, 1.0))
    world.add_body(sb.Box((0.1, 0.1, 0.1)), 'box', position=(1.0, 0.0, 0.06))
    return world


def make(rng: Random) -> bytes:
    """Return thread and world counts, calls before and after the fork, and fork depth."""
    before, after = (rng.choices(_CALLS, k=rng.randint(0, 5)) for _ in range(2))
    return json.dumps(
        [rng.randint(1, 4), rng.randint(1, 9), before, after, rng.randint(1, 2)]
    ).encode()


class _Worlds:
    """A world and a batch, and calls by name."""

    def __init__(self, threads: int, n: int) -> None:
        self._threads, self._n = threads, n
        self._world = _pattern().copy()
        self._batch = sb.Batch(self._world, n, threads=threads)

    def call(self, name: str) -> None:
        """Make a call."""
        world, batch = self._world, self._batch
        if name == 'world':
            world.step(5)
        elif name == 'batch':
            batch.step(5)
        elif name == 'new batch':
            self._batch = sb.Batch(world, self._n, threads=self._threads)
        elif name == 'copy':
            self._world = world.copy()
        elif name == 'reset':
            world.reset(time=True)
        elif name == 'reset batch':
            batch.reset()
        elif name == 'body':
            world.add_body(sb.Sphere(0.1), position=(len(world.robots), 5.0, 1.0))
        else:
            world.energy()
            _ = batch.robots['box'].links['box'].p

    def state(self) -> str:
        """Return the world's hash, and the hash for the batch's last world."""
        return self._world.state_hash() + self._batch.world(self._n - 1).state_hash()


def run(case: bytes, folder: Path) -> None:
    """Make the later calls in a child process and in this one: to the same bits."""
    threads, n, before, after, depth = json.loads(case)
    worlds = _Worlds(threads, n)
    for name in before:
        worlds.call(name)
    in_child = _forked(worlds, after, depth)
    for name in after:
        worlds.call(name)
    assert in_child == worlds.state(), f'the child has other states: {in_child[:200]}'


def _forked(worlds: _Worlds, calls: list[str], depth: int) -> str:
    """Return the state after calls in a child process; depth: fork count before them."""
    source, target = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of a fork beside threads
        warnings.simplefilter('ignore', DeprecationWarning)
        child = os.fork()
    if child == 0:
        text = 'no state'
        try:
            signal.alarm(_PATIENCE_S)
            os.close(source)
            text = _state_after(worlds, calls, depth)
        except BaseException as err:  # noqa: BLE001 - told to the parent
            text = repr(err)
        finally:
            os.write(target, text.encode()[:4000])
            os._exit(0)
    os.close(target)
    with open(source, 'rb') as answer:
        state = answer.read().decode()
    _, status = os.waitpid(child, 0)
    assert status == 0, f'the child was ended by {status}'
    return state


def _state_after(worlds: _Worlds, calls: list[str], depth: int) -> str:
    if depth > 1:
        return _forked(worlds, calls, depth - 1)
    for name in calls:
        worlds.call(name)
    return worlds.state()
