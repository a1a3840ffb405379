"""Contacts of bodies with compliant joints: kernels stay within their arrays."""

from __future__ import annotations

from kernel_joint_scenarios import on_springs, pushed_against_springs
from kernel_records import Recorder
import pytest

from sim_bridge.engine.contact.rows import drop_rounding
from sim_bridge.engine.contact.solve import settles
from sim_bridge.engine.data.contact_problem import Rows


@pytest.mark.parametrize(
    ('scenario', 'kernel'),
    [(on_springs, settles), (pushed_against_springs, drop_rounding)],
    ids=['resting', 'immobile'],
)
def test_kernels_stay_within_their_arrays(scenario, kernel, monkeypatch):
    """
    Take a step in CPython, which raises IndexError for an index out of range.

    Compliant joint rows add coordinates behind the velocities to the contact rows. A kernel that
    read a velocity there got memory of another array: equal worlds took different steps.
    """
    recorder = Recorder()
    with recorder.attached(monkeypatch):
        scenario(recorder.watching)
    assert recorder.wrong == []
    (record, *_) = recorder.records[kernel]
    (rows,) = [each for each in record.before if isinstance(each, Rows)]
    assert rows.support.max() >= len(rows.whitening), 'no compliant joint row'
