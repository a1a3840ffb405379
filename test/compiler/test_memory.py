"""Memory access by address in kernels, and calls run by kernels."""

from __future__ import annotations

import numpy as np
import pytest

from sim_bridge.compiler.arrays import IntVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.errors import KernelError
from sim_bridge.compiler.memory import address_of, floats_at, ints_at, run_call


@entry
def double_at(floats: int, ints: int, count: int):
    """Double the values at two addresses; return the last value at each."""
    numbers, whole = floats_at(floats, count), ints_at(ints, count)
    for k in range(count):
        numbers[k] = 2.0 * numbers[k]
        whole[k] = 2 * whole[k]
    return numbers[count - 1], whole[count - 1]


@entry
def add_up(a: int, b: int):
    """Add."""
    return a + b


@entry
def add_up_twice(function: int, block: int, words_inout: IntVector):
    """Run an `add_up` call, then again with its result as first argument."""
    run_call(function, block)
    words_inout[0] = words_inout[2]
    run_call(function, block)
    return words_inout[2]


@entry
def read_nowhere(address: float):
    """Return floats_at for an invalid address."""
    return floats_at(address, 1)[0]


@pytest.mark.parametrize('run', [double_at, double_at.function])
def test_arrays_at_addresses_are_used_in_place(run):
    """Read and write the middle of arrays, compiled and not compiled."""
    floats, ints = np.arange(5.0), np.arange(5)
    assert run(address_of(floats[1:]), address_of(ints[2:]), 2) == (4.0, 6)
    assert floats.tolist() == [0.0, 2.0, 4.0, 3.0, 4.0]
    assert ints.tolist() == [0, 1, 4, 6, 4]


@pytest.mark.parametrize('run', [add_up_twice, add_up_twice.function])
def test_a_kernel_runs_calls_that_were_prepared(run):
    """Set arguments in place, and read results."""
    call = add_up.prepare(1, 10)
    assert run(*call.place, np.frombuffer(call.words, np.int64)) == 21


def test_addresses_are_integers():
    """Refuse to compile other types."""
    with pytest.raises(KernelError, match='takes an address and a number of items'):
        read_nowhere(1.0)


def test_a_short_call_gives_the_same_result():
    """Hold the global interpreter lock, and return the same result."""
    assert add_up.prepare(3, 4, is_short=True)() == add_up.prepare(3, 4)() == 7
