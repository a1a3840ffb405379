"""Every kind's damaged and hostile inputs are read or refused with a message; nothing is left."""

from __future__ import annotations

from random import Random

from fuzzing.judge import judge, nothing_left
from fuzzing.kinds import KINDS
from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from sim_bridge.foreign.reader_process import sharing

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")


@pytest.mark.parametrize('name', KINDS)
def test_damaged_inputs_are_read_or_refused(name, tmp_path, monkeypatch, ros_environment):
    """Read some inputs, equal in each run; `make fuzz` reads others."""
    kind = KINDS[name]
    outcomes = set()
    monkeypatch.chdir(tmp_path)

    @settings(
        max_examples=kind.count,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.randoms(use_true_random=False).map(kind.make))
    def read(case: bytes) -> None:
        outcomes.add(judge(kind.run, case, tmp_path))

    # imports, compilation and caches that stay afterwards
    judge(kind.run, kind.make(Random(0)), tmp_path)
    with nothing_left(kind.keeps), sharing():
        read()
    assert True in outcomes, 'nothing was simulated'
