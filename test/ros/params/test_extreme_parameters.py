"""Extremes of accepted numbers: the simulator computes with all that the table accepts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
import sys

import pytest

from sim_bridge.control.parameter_file import TABLES
from sim_bridge.description.gravity import gravity_row
from sim_bridge.foundation.errors import SimBridgeError
from sim_bridge.ros.bag.offline import OfflineRun
from sim_bridge.ros.params.parameter_table import checked, Specification, specifications
from sim_bridge.ros.params.parameters import SimulatorParameters

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

_GREATEST, _LEAST = sys.float_info.max, 5e-324
_KNOWN = specifications(SimulatorParameters)


def extremes(spec: Specification) -> Iterator[object]:
    """Yield the accepted extremes of a number, or of a list of numbers."""
    bounds = (spec.low, spec.high, spec.least, _GREATEST, -_GREATEST, _LEAST, -_LEAST)
    numbers = [number for number in bounds if number is not None]
    if spec.kind == 'int':
        numbers = [*(int(number) for number in (spec.low, spec.high or 2**63 - 1))]
    for number in numbers:
        value = number if spec.kind in ('int', 'float') else [number] * max(spec.sizes)
        try:
            yield spec.check(value)
        except SimBridgeError:
            continue


@pytest.mark.parametrize(
    'name',
    [
        name
        for name, spec in _KNOWN.items()
        if spec.kind in ('int', 'float') or (spec.kind == 'tuple[float, ...]' and spec.sizes)
    ],
)
def test_accepted_numbers_can_be_simulated(tmp_path, name):
    """Record some steps with each extreme."""
    given = checked(SimulatorParameters, {'robot': 'pendulum'})
    values = set(extremes(_KNOWN[name]))
    assert values or name == 'orientation'
    for number, value in enumerate(values):
        bag = tmp_path / f'bag_{number}'
        parameters = replace(given, record=str(bag), **{name: value})
        OfflineRun(parameters).run(3.0 / parameters.rate, lambda time: None)
        assert (bag / 'metadata.yaml').is_file()


@pytest.mark.parametrize('table', TABLES.values(), ids=TABLES)
def test_accepted_gravity_is_accepted_by_the_world(table):
    """Have the bounds of the world in all tables."""
    known = specifications(table)
    if 'gravity' in known:
        assert [gravity_row(value)[:3].tolist() for value in extremes(known['gravity'])]
        with pytest.raises(SimBridgeError, match=r"parameter 'gravity'.* at most 1000000000"):
            known['gravity'].check([0.0, 0.0, 1.1e9])
