"""All kernels in the package, compiled and in CPython, on arguments from simulations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernel_joint_scenarios import ALL_SCENARIOS
from kernel_pairs import compile_together, Machine
from kernel_records import all_kernels, Copier, differences, Record, Recorder
import numpy as np
import pytest

from sim_bridge.compiler.kernel import Kernel
from sim_bridge.compiler.kinds import Kind
from sim_bridge.compiler.reference import Reference

# only calls consisting of fewer kernel calls than this are perturbed
SMALL = 60
# memory for all records [bytes]: a worker runs other tests in the same process
MOST_MEMORY = 500_000_000
# spreads of the random factors for all floats: near 1, and far from it
SPREADS = (1e-6, 0.3, 3.0)

Machines = dict[tuple[Kernel, tuple[Kind, ...]], Machine]


def recorded() -> Recorder:
    """Return all scenarios' records."""
    made = Recorder()
    with pytest.MonkeyPatch.context() as patch, made.attached(patch):
        for scenario in ALL_SCENARIOS:
            scenario(made.watching)
    return made


def machines_of(recorder: Recorder) -> Machines:
    """Return each kernel as separate machine code, by its argument kinds."""
    wanted = list(
        dict.fromkeys(
            (kernel, record.kinds)
            for kernel, records in recorder.records.items()
            for record in records
        )
    )
    return dict(zip(wanted, compile_together(wanted, is_inlined=False), strict=True))


def given_to(recorder: Recorder) -> Iterator[tuple[str, Kernel, Record]]:
    """List all records with their kernels' names."""
    for name, kernel in all_kernels().items():
        for record in recorder.records.get(kernel, ()):
            yield name, kernel, record


def outcome(machine: Machine, arguments: tuple, result: object, after: tuple) -> Iterable[str]:
    """Run machine code on arguments; name unexpected results."""
    found = machine(*arguments)
    yield from differences(found, result, 'result')
    yield from differences(arguments, after, 'argument')


def wrong_alone(recorder: Recorder, machines: Machines) -> list[str]:
    """Name single kernels' results differing from CPython's."""
    wrong = []
    for name, kernel, record in given_to(recorder):
        arguments = Copier().copy(record.before)
        wrong += [
            f'{name}: {each}'
            for each in outcome(
                machines[kernel, record.kinds], arguments, record.result, record.after
            )
        ]
    return wrong


def wrong_for_others(recorder: Recorder, machines: Machines) -> tuple[list[str], set[str]]:
    """
    Name small kernels' results differing from CPython's for randomly scaled floats.

    Also returns the tried kernels' names.
    """
    wrong, rng, reference = [], np.random.default_rng(5), Reference()
    tried = set()
    for name, kernel, record in given_to(recorder):
        if record.size > SMALL:
            continue
        for spread in SPREADS:

            def scaled(values, spread=spread):
                # output arrays hold previous memory content
                with np.errstate(over='ignore'):
                    return values * np.exp(rng.normal(0.0, spread, values.shape))

            changed = Copier(scaled).copy(record.before)
            arguments, theirs = Copier().copy(changed), Copier().copy(changed)
            try:
                result = reference(kernel)(*theirs)
            except IndexError:
                # once indices are out of bounds, no result is required
                continue
            tried.add(name)
            wrong += [
                f'{name}, spread {spread}: {each}'
                for each in outcome(machines[kernel, record.kinds], arguments, result, theirs)
            ]
    return wrong, tried


# takes five minutes on a busy machine
@pytest.mark.timeout(1200)
def test_every_kernel_equals_cpython():
    """
    Compare results and arrays bit by bit: whole units, single kernels, and scaled numbers.

    The scenarios reach all kernels. It is one test, because recording takes longer than the rest.
    """
    recorder = recorded()
    assert not [name for name, kernel in all_kernels().items() if not recorder.records.get(kernel)]
    assert recorder.wrong == [], 'whole units with all they call'
    assert recorder.size < MOST_MEMORY
    machines = machines_of(recorder)
    assert wrong_alone(recorder, machines) == []
    wrong, tried = wrong_for_others(recorder, machines)
    assert wrong == []
    assert len(tried) > 0.75 * len(all_kernels())
