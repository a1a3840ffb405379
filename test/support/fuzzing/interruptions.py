"""Public calls with sound arguments, interrupted at any line."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from random import Random

from interrupts import Interrupt

from fuzzing.api_calls import call_member, holders, sound_values, surface_of_holders
from fuzzing.stepping import step_on

_ERRORS = (KeyboardInterrupt, MemoryError)


def make(rng: Random) -> bytes:
    """Return a call as JSON: holder number, member name, share in its lines, error number."""
    surface, _ = surface_of_holders()
    holder, members = rng.choice(surface)
    name, _ = rng.choice(members)
    return json.dumps([holder, name, rng.random(), rng.randrange(len(_ERRORS))]).encode()


def run(case: bytes, folder: Path) -> None:
    """
    Interrupt the call: it has happened or not, and the world can be stepped.

    A call without effect is repeated, to the bits after an undisturbed call.
    """
    holder, name, share, error = json.loads(case)
    whole, broken = holders(), holders()
    before = broken[1].state_hash()
    with Interrupt() as watched:
        call_member(whole[holder], name, {}, sound_values(whole))
    after = whole[1].state_hash()
    lines = len(watched.lines)
    at = int(share * lines) if lines else -1
    with contextlib.suppress(*_ERRORS), Interrupt(at, _ERRORS[error]) as interrupt:
        call_member(broken[holder], name, {}, sound_values(broken))
    found = broken[1].state_hash()
    assert found in (before, after), f'{name} interrupted at {interrupt.place} is torn'
    step_on(whole[1])
    if found == before:
        call_member(broken[holder], name, {}, sound_values(broken))
        assert broken[1].state_hash() == after, f'{name} differs after {interrupt.place}'
    step_on(broken[1])
    assert broken[1].state_hash() == whole[1].state_hash(), f'{name} after {interrupt.place}'
