"""Every kernel of the package, compiled and in CPython, on what it is given in simulations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernel_joint_scenarios import ALL_SCENARIOS
from kernel_pairs import compile_together, Machine
from kernel_records import all_kernels, Copier, differences, Record, Recorder
import numpy as np
import pytest

from sim_bridge.compiler.kernel import Kernel
from sim_bridge.compiler.reference import Reference

# perturbed are calls that consist of fewer calls of kernels
SMALL = 60
# random factors of all floats: near 1, and far from it
SPREADS = (1e-6, 0.3, 3.0)


@pytest.fixture(scope='module')
def recorder():
    """Return what all scenarios have recorded."""
    made = Recorder()
    with pytest.MonkeyPatch.context() as patch, made.attached(patch):
        for scenario in ALL_SCENARIOS:
            scenario(made.watching)
    return made


@pytest.fixture(scope='module')
def machines(recorder):
    """Return each kernel as machine code of its own, by the kinds of arguments it was given."""
    wanted = list(dict.fromkeys(
        (kernel, record.kinds) for kernel, records in recorder.records.items()
        for record in records))
    return dict(zip(wanted, compile_together(wanted, is_inlined=False), strict=True))


def given_to(recorder: Recorder) -> Iterator[tuple[str, Kernel, Record]]:
    """List all records by the names of their kernels."""
    for name, kernel in all_kernels().items():
        for record in recorder.records.get(kernel, ()):
            yield name, kernel, record


def outcome(machine: Machine, arguments: tuple, result: object, after: tuple) -> Iterable[str]:
    """Run machine code on arguments; name what is not as expected."""
    found = machine(*arguments)
    yield from differences(found, result, 'result')
    yield from differences(arguments, after, 'argument')


def test_scenarios_reach_every_kernel(recorder):
    """Name the kernels that no scenario calls: they need one."""
    assert not [name for name, kernel in all_kernels().items() if not recorder.records.get(kernel)]


def test_entries_do_what_they_do_in_cpython(recorder):
    """Give the same results and arrays, to the bit, as whole units with all they call."""
    assert recorder.wrong == []


def test_every_kernel_does_what_it_does_in_cpython(recorder, machines):
    """Give the same results and arrays, to the bit, each kernel alone."""
    wrong = []
    for name, kernel, record in given_to(recorder):
        arguments = Copier().copy(record.before)
        wrong += [f'{name}: {each}' for each in outcome(
            machines[kernel, record.kinds], arguments, record.result, record.after)]
    assert wrong == []


def test_every_small_kernel_does_so_for_other_numbers(recorder, machines):
    """Return the same for floats that are scaled by random factors, at random places by none."""
    wrong, rng, reference = [], np.random.default_rng(5), Reference()
    tried = set()
    for name, kernel, record in given_to(recorder):
        if record.size > SMALL:
            continue
        for spread in SPREADS:
            def scaled(values, spread=spread):
                return values * np.exp(rng.normal(0.0, spread, values.shape))

            changed = Copier(scaled).copy(record.before)
            arguments, theirs = Copier().copy(changed), Copier().copy(changed)
            try:
                result = reference(kernel)(*theirs)
            except IndexError:
                # of numbers that are no longer within bounds nothing is demanded
                continue
            tried.add(name)
            wrong += [f'{name}, spread {spread}: {each}' for each in outcome(
                machines[kernel, record.kinds], arguments, result, theirs)]
    assert wrong == []
    assert len(tried) > 0.8 * len(all_kernels())
