"""Batteries, as plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BatteryDescription:
    """
    Battery with a voltage linear in its charge, and constant loads (gz-sim's LinearBatteryPlugin).

    Voltage: constant + slope (1 - charge / capacity) - resistance times the current; the current
    follows power over voltage with first order.

    name: unique on the robot. topic: for the state. constant, slope: open-circuit voltage [V].
    capacity, charge: full and initial charge [A h]. resistance: [Ω]. time_constant: the current's
    [s]. voltage: initial [V]. power: total load [W]. is_draining: whether the loads act from
    the start; they also do from the first joint command, or a message on drain_topics,
    until one on stop_topics. charging_time: from empty to full [h], 0 if it is
    never charged. start_topic, end_topic: for charging, '' for none. is_inverted: whether a
    draining current is negative in messages.
    """

    name: str
    topic: str
    constant: float = 0.0
    slope: float = 0.0
    capacity: float = 1.0
    charge: float = 1.0
    resistance: float = 0.0
    time_constant: float = 1.0
    voltage: float = 0.0
    power: float = 0.0
    is_draining: bool = False
    drain_topics: tuple[str, ...] = ()
    stop_topics: tuple[str, ...] = ()
    charging_time: float = 0.0
    start_topic: str = ''
    end_topic: str = ''
    is_inverted: bool = False
    line: int = 0
