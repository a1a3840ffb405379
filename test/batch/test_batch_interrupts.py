"""Calls of a batch interrupted at any line: they finish, or leave it unchanged."""

import functools
import signal
import threading

from interrupts import Interrupt
import numpy as np
import pytest
from shipped import path_of

import sim_bridge as sb
from sim_bridge.batch import batch as batch_module

WORLDS, STEPS = 3, 5
# interrupted lines of each call in the standard tests
SAMPLES = 4


@functools.cache
def pattern():
    """Return a world with a noisy sensor, and a box that soon makes contacts."""
    world = sb.World(time_step=1e-3)
    world.add_ground()
    world.load_urdf(path_of('arm'))
    for number in range(6):
        world.add_body(
            sb.Box((0.2, 0.2, 0.1)), mass=1.0, position=(2.0, 0.0, 0.06 + 0.11 * number)
        )
    return world


def made(threads=1, **options):
    """Return a batch after some steps."""
    batch = sb.Batch(pattern(), WORLDS, threads=threads, **options)
    batch.robots['arm'].dq = np.linspace(0.0, 1.0, WORLDS * 7).reshape(WORLDS, 7)
    batch.step(3)
    return batch


@functools.cache
def other():
    """Return a world with other parameters."""
    world = pattern().copy()
    world.robots['arm'].joint('joint_2').damping = 2.0
    world.robots['arm'].link('link_4').m = 3.0
    return world


CALLS = {
    'step': lambda batch: batch.step(1),
    'reset': lambda batch: batch.reset(),
    'take_parameters': lambda batch: batch.take_parameters(other()),
    'world': lambda batch: batch.world(1),
    'observe': lambda batch: batch.robots['arm'].links['link_4'].p,
}


def picture(batch):
    """Return the state that a call changes as a whole or not at all."""
    worlds = [batch.world(k) for k in range(batch.n)]
    return (
        tuple(world.state_hash() for world in worlds),
        tuple(world.robots['arm'].link('link_4').m for world in worlds),
        tuple(world.take_worst() for world in worlds),
        tuple(batch.step_count.tolist()),
        tuple(batch.failed.tolist()),
    )


def pictures(batch):
    """Return the pictures now and after more steps."""
    now = picture(batch)
    batch.step(STEPS)
    return now, picture(batch)


@functools.cache
def ends(name):
    """Return the pictures of a batch before and after a call, each with the one after steps."""
    found = []
    for is_called in (False, True):
        batch = made()
        if is_called:
            CALLS[name](batch)
        found.append(pictures(batch))
    return found


def run_elsewhere(batch):
    """Step the batch by zero steps in another thread; return the error, or None."""
    errors = []

    def step():
        try:
            batch.step(0, np.zeros(batch.n, bool))
        except sb.StateError as error:
            errors.append(error)

    thread = threading.Thread(target=step)
    thread.start()
    thread.join()
    return errors[0] if errors else None


@pytest.mark.parametrize('error', [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize('name', CALLS)
def test_interrupted_call_of_a_batch_finishes_or_does_nothing(name, error):
    """Interrupt calls at some of their lines; other threads can use the batch afterwards."""
    # the first call compiles
    CALLS[name](made())
    batch = made()
    with Interrupt() as watched:
        CALLS[name](batch)
    found = watched.places()
    for at in np.unique(np.linspace(0, len(found) - 1, SAMPLES).astype(int)).tolist():
        batch = made()
        with pytest.raises(error), Interrupt(found[at], error) as interrupt:
            CALLS[name](batch)
        assert run_elsewhere(batch) is None, interrupt.place
        assert pictures(batch) in ends(name), f'{name}, interrupted at {interrupt.place}'


def test_rounds_of_steps_are_one_call(monkeypatch):
    """Take the steps of a call in many rounds: the same bits and solver figures as in one."""
    whole, parts = made(), made(threads=2)
    monkeypatch.setattr(batch_module, '_FEWEST_STEPS', 7)
    parts._round = 0
    whole.step(100)
    parts.step(100)
    assert picture(parts) == picture(whole)


def test_step_interrupted_between_rounds_keeps_worlds_together(monkeypatch):
    """Interrupt a long call: all worlds have made the same steps, and no thread runs on."""
    monkeypatch.setattr(batch_module, '_FEWEST_STEPS', 20)
    batch, alike = made(threads=2), made()
    batch._round = 0
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            batch.step(10**9)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    # a thread that starts late finds no work, and ends at once
    for busy in batch._threads._busy:
        assert busy.acquire(timeout=5.0)
        busy.release()
    (count,) = set(batch.step_count.tolist())
    alike.step(count - 3)
    assert picture(batch) == picture(alike)
    batch.reset()
    alike.reset()
    assert pictures(batch) == pictures(alike)


def test_worlds_of_a_failing_thread_are_finished():
    """An error in a thread beside the calling one is raised after all worlds are advanced."""
    batch, whole, errors = made(threads=3), made(), []
    advance = batch._threads._work_beside

    def fail_once(busy, portions, call, argument):
        if not errors:
            next(portions, None)
            errors.append(MemoryError())
            raise errors[0]
        advance(busy, portions, call, argument)

    batch._threads._work_beside = fail_once
    with pytest.raises(MemoryError):
        batch.step(STEPS)
    whole.step(STEPS)
    assert picture(batch) == picture(whole)


@pytest.mark.parametrize('n', [2**62, 2**63, 10**30, np.uint64(2**63), -1])
def test_step_counts_beyond_64_bits_are_refused(n):
    """Name the limit, for a batch, a world, a world with hooks, and a step count."""
    world, hooked = sb.World(), sb.World()
    hooked.before_step(lambda world: None)
    batch = made()
    calls = [
        lambda: batch.step(n),
        lambda: world.step(n),
        lambda: hooked.step(n),
        lambda: setattr(world, 'step_count', n),
    ]
    for call in calls:
        with pytest.raises(sb.InvalidValueError, match='an integer from 0 to 4611686018427387903'):
            call()
    assert batch.step_count.tolist() == [3] * WORLDS
    assert world.step_count == 0
