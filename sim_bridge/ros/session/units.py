"""Kernel units for a simulation on the graph."""

from __future__ import annotations

import sim_bridge as sb
from sim_bridge.compiler.unit import Unit
from sim_bridge.ros.command.repeating import take_repeat
from sim_bridge.ros.publish.filling import fill


def message_units() -> list[Unit]:
    """Return the units for processing messages."""
    return [fill.unit, take_repeat.unit]


def units_of(world: sb.World) -> list[Unit]:
    """Return all units needed by a node for a world."""
    return [*world.units, *message_units()]
