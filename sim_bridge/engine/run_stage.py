"""Stages, called from Python."""

from __future__ import annotations

from sim_bridge.engine.jit import entry
from sim_bridge.engine.stages import call_stage


@entry
def run_stage(table, address, phase):
    """Go through one phase of the stage at an address, with a handle's table."""
    return call_stage(address, table, phase)
