"""Forked child processes: worlds and batches work there, or the error tells how to proceed."""

from __future__ import annotations

import subprocess
import sys

# a child that hangs is ended by the alarm's signal, which the test shows
FORK = """
import os, signal, sys, threading, warnings
import numpy as np
import sim_bridge as sb

# Python 3.12 warns of a fork beside threads
warnings.simplefilter('ignore', DeprecationWarning)

def forked(function):
    child = os.fork()
    if child == 0:
        signal.alarm(100)
        try:
            print(function(), flush=True)
        except sb.SimBridgeError as error:
            print(type(error).__name__, error, flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

def world():
    made = sb.World()
    made.load_urdf('pendulum', joint_positions={'pivot': 0.5})
    return made
"""


def said(program: str) -> list[str]:
    """Run a program that forks; return its lines."""
    done = subprocess.run(
        [sys.executable, '-c', FORK + program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_forked_child_steps_worlds_and_batches():
    """Continue a world, a batch of several threads and its views: to the parent's bits."""
    lines = said("""
alone, batch = world(), sb.Batch(world(), 12, threads=4)
other = sb.Batch(world(), 12, threads=1)
alone.step(10)

def run():
    alone.step(10)
    for each in (batch, other):
        each.step(20)
    assert np.isfinite(batch.robots['pendulum'].links['rod'].p).all()
    new = sb.Batch(world(), 8, threads=4)
    new.step(20)
    return [alone.state_hash(), *(each.world(7).state_hash() for each in (batch, other, new))]

batch.step(0)
forked(run)
batch.step(10)
batch.reset()
forked(run)
forked(lambda: forked(run))
print(run())
""")
    hashes = [line for line in lines if line != 'None']
    assert len(hashes) == 4 and len(set(hashes)) == 1
    assert len({each.strip(" '[]") for each in hashes[0].split(',')[1:]}) == 1


def test_a_world_forked_within_a_step_is_refused():
    """Fork while another thread steps a world, and another one a batch."""
    lines = said("""
inside, goes_on = threading.Event(), threading.Event()

def wait():
    inside.set()
    goes_on.wait()
    return 0, 0, 0

field, hooked = world(), world()
field.add_force_field(lambda p, v, m, t: wait())
hooked.before_step(lambda world: wait())
for each in (field, hooked):
    thread = threading.Thread(target=each.step)
    thread.start()
    inside.wait()
    # in the child the function must not wait
    forked(lambda: goes_on.set() or each.step())
    goes_on.set()
    thread.join()
    each.step()
    forked(each.step)
    inside.clear()
    goes_on.clear()

batch = sb.Batch(world(), 2)
guard = batch._guard
thread = threading.Thread(
    target=lambda: guard.run_alone(lambda: inside.set() or goes_on.wait())
)
thread.start()
inside.wait()
forked(batch.step)
goes_on.set()
thread.join()
batch.step()
""")
    assert 'another thread was stepping or changing this world' in lines[0]
    assert 'Create the world in the child' in lines[0]
    # hooks are called between steps
    assert lines[1:4] == ['None'] * 3
    assert 'another thread was stepping or changing this batch' in lines[4]
    assert len(lines) == 5
