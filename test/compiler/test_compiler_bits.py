"""Simulation bits depend on the source alone, not on processor or optimisation."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.compiler import llvm
from sim_bridge.engine.data.world_table import Handle
from sim_bridge.engine.pipeline.step import step

STEPS = 50

# processor name, features and optimisation level; the first has no fused multiply-add
TARGETS = {
    'no multiply-add': (('x86-64', ''), 1),
    'a common processor': (('x86-64-v3', ''), 1),
    'all optimisation': (None, 3),
    'no optimisation': (None, 0),
}


@pytest.fixture(scope='module')
def handle():
    """Return a handle that steps two freely swinging robots, one on a free base."""
    world = sb.World()
    for number, robot in enumerate(('urdf/arm.urdf', 'urdf/quadruped.urdf')):
        robot = world.load_urdf(
            robot,
            position=(5.0 * number, 0.0, 0.0),
            base='free' if number else 'fixed',
            collisions='none',
        )
        robot.dq = np.linspace(-1.0, 1.0, len(robot.dq))
    world.step()
    return world.simulation.cache.stepper.handle


def copy_of(handle):
    """Copy all arrays."""
    return Handle(
        *(
            part._replace(
                **{
                    name: array.copy()
                    for name, array in part._asdict().items()
                    if isinstance(array, np.ndarray)
                }
            )
            for part in handle.parts
        )
    )


def state_after(handle, run):
    """Return all arrays' bytes after a copy's steps; run: takes a block's address."""
    own = copy_of(handle)
    block = (ctypes.c_int64 * 8)(own.table.ctypes.data, STEPS)
    run(ctypes.addressof(block))
    assert block[3] == STEPS
    return b''.join(
        array.tobytes() for part in own.parts for array in part if isinstance(array, np.ndarray)
    )


@pytest.mark.parametrize('target', TARGETS)
def test_every_processor_and_level_gives_the_same_bits(handle, target):
    """Step to the same arrays, to the last bit, as code compiled for this machine."""
    processor, level = TARGETS[target]
    code = llvm.compile_text(step.unit.emit().llvm, processor, level)
    address = llvm.load(code, 'unit', f'step for {target}')
    other = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)
    ours = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(step.unit.address)
    assert state_after(handle, other) == state_after(handle, ours)
