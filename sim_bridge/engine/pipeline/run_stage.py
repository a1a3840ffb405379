"""Stages called from Python."""

from __future__ import annotations

from sim_bridge.compiler.argument_table import Table
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.stage import call_stage


@entry
def run_stage(table: Table, address: int, phase: int):
    """Run one phase of the stage at an address, with a handle's table."""
    return call_stage(address, table, phase)
